//! Compares the answers of cases with their known cause, root, owners and cycle: `tests/data/answers`. The
//! labels describe the text itself, not the code's result. `scripts/prove answers` prints the table.

mod found;
mod jvm;
mod native;
mod page;
mod running;
mod table;
mod truth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use test_support::art;
use test_support::recorded;
use test_support::scenario;

use answers::answer::{Answer, CauseId};
use answers::dump::Dump;
use exporter::MethodMap;
use serde_json::Value;
use test_support::scenario::Case;
use trace_format::Recording;
use truth::{Compared, NEVER_WRONG, Outcome, Truth};

const ART: [&str; 5] = [
    include_str!("../../data/answers/art-locks.txt"),
    include_str!("../../data/answers/art-pools.txt"),
    include_str!("../../data/answers/art-waits.txt"),
    include_str!("../../data/answers/art-work.txt"),
    include_str!("../../data/answers/art-queue.txt"),
];
const JVM: &str = include_str!("../../data/answers/jvm.txt");
const RECORDINGS: &str = include_str!("../../data/answers/recordings.txt");
const LABELS: &str = include_str!("../../data/answers/labels.txt");
const MADE: &str = include_str!("../../data/causes.txt");

/// The source of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Dump,
    Recording,
    /// A dump of a device.
    Corpus,
}

impl Of {
    fn word(self) -> &'static str {
        ["dump", "recording", "corpus"][self as usize]
    }
}

/// A case and the answer to it.
pub(crate) struct Judged {
    of: Of,
    name: String,
    truth: Truth,
    answer: Value,
    outcome: Outcome,
}

impl Judged {
    fn new(of: Of, name: &str, truth: Truth, answer: Value) -> Self {
        let outcome = truth.judge(&answer);
        Self { of, name: name.to_owned(), truth, answer, outcome }
    }
}

fn art_cases() -> Vec<Case> {
    ART.iter().flat_map(|text| scenario::cases(text).0).collect()
}

fn truth(case: &Case) -> Truth {
    Truth::parse(&case.label, &case.truth)
}

fn read(name: &str, text: &str) -> Dump {
    Dump::read(Path::new(name), text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"))
}

/// The lines of `labels.txt` that start with `word`: name and truth.
fn labels(word: &str) -> Vec<(String, Truth)> {
    let of_word = |words: &&Vec<String>| words[0] == word;
    let (_, lines) = scenario::cases(LABELS);
    lines
        .iter()
        .filter(of_word)
        .map(|words| (words[1].clone(), Truth::parse(&words[2], &words[3..])))
        .collect()
}

/// The generated dumps, and those of `answers/tests/data`.
fn dumps() -> Vec<Judged> {
    let mut judged = Vec::new();
    for case in art_cases() {
        let answer = found::of_dump(&read(&case.name, &art::dump(&case.lines).text));
        judged.push(Judged::new(Of::Dump, &case.name, truth(&case), answer));
    }
    for case in scenario::cases(JVM).0 {
        let answer = found::of_dump(&read(&case.name, &jvm::dump(&case.lines)));
        judged.push(Judged::new(Of::Dump, &case.name, truth(&case), answer));
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("answers/tests/data");
    for (file, truth) in labels("repo") {
        let answer = found::of_dump(&Dump::open(&data.join(&file)).unwrap());
        judged.push(Judged::new(Of::Dump, &file, truth, answer));
    }
    judged
}

/// The described recordings: those beside this test and those of `causes.txt`.
fn recordings() -> Vec<Judged> {
    let mut labels: BTreeMap<String, Truth> = labels("made").into_iter().collect();
    let made = scenario::cases(MADE).0.into_iter().map(|case| {
        let truth = labels.remove(&case.name).unwrap_or_else(|| panic!("{} has no label", case.name));
        (case, truth)
    });
    let own = scenario::cases(RECORDINGS).0.into_iter().map(|case| {
        let truth = truth(&case);
        (case, truth)
    });
    let judge = |(case, truth): (Case, Truth)| {
        let (recording, map) = scenario::recording(&case);
        Judged::new(Of::Recording, &case.name, truth, found::of_recording(&recording, &map))
    };
    let judged = own.chain(made).map(judge).collect();
    assert!(labels.is_empty(), "labels without a case: {:?}", labels.keys());
    judged
}

/// The dumps of devices, if the corpus is given.
fn corpus() -> Vec<Judged> {
    let Some(corpus) = std::env::var_os("ANRSCOPE_CORPUS").map(PathBuf::from) else { return Vec::new() };
    let judge = |(file, truth): (String, Truth)| {
        let paths = [corpus.join("anr").join(&file), corpus.join(&file)];
        let path = paths.into_iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("no {file}"));
        let answer = found::of_dump(&Dump::open(&path).unwrap());
        Judged::new(Of::Corpus, &file, truth, answer)
    };
    labels("real").into_iter().map(judge).collect()
}

/// Writes a dump to the directory given by `ANRSCOPE_ANSWERS`, for inspection or for `anrscope dump`.
fn write(name: &str, text: &str) {
    if let Some(directory) = std::env::var_os("ANRSCOPE_ANSWERS") {
        std::fs::write(Path::new(&directory).join(format!("{name}.txt")), text).unwrap();
    }
}

/// A recording with the same facts of an ANR as the dump.
fn recording_with(dump: &art::Art, elsewhere: bool) -> Recording<Vec<u8>> {
    Recording::open(recorded::with_dump(dump, elsewhere)).unwrap()
}

#[test]
fn the_advice_is_that_of_the_system() {
    for case in art_cases() {
        let cause = Answer::from(&read(&case.name, &art::dump(&case.lines).text)).cause;
        assert_eq!(cause.next, cause.id.next(), "{}", case.name);
    }
    for case in scenario::cases(JVM).0 {
        let cause = Answer::from(&read(&case.name, &jvm::dump(&case.lines))).cause;
        assert_eq!(cause.next, cause.id.next_on_jvm(), "{}", case.name);
    }
}

#[test]
fn every_cause_has_cases_in_dumps_or_recordings() {
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    let (mut art, jvm) = (art_cases(), scenario::cases(JVM).0);
    let recordings = scenario::cases(RECORDINGS).0;
    assert!(art.len() >= 110 && jvm.len() >= 10 && recordings.len() >= 40);
    art.extend(jvm);
    art.extend(recordings);
    let mut names = std::collections::BTreeSet::new();
    for case in &art {
        assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
        *rows.entry(truth(case).row().to_owned()).or_default() += 1;
    }
    for (_, truth) in labels("made").iter().chain(&labels("repo")) {
        *rows.entry(truth.row().to_owned()).or_default() += 1;
    }
    for cause in CauseId::ALL.map(CauseId::word) {
        assert!(rows.get(cause).is_some_and(|n| *n >= 3), "{cause} has {:?}", rows.get(cause));
    }
    labels("real");
}

#[test]
fn the_dumps_that_are_made_are_read_without_a_warning() {
    let mut versions = std::collections::BTreeSet::new();
    for case in art_cases() {
        let art = art::dump(&case.lines);
        let dump = read(&case.name, &art.text);
        let frozen = case.lines.iter().any(|line| line.starts_with("channels "));
        // A warning is due for a process that does not respond and one that the subject means.
        let warned = frozen || case.label == "other-process";
        assert!(warned || dump.warnings.is_empty(), "{}: {:?}\n{}", case.name, dump.warnings, art.text);
        versions.insert(case.lines.iter().find(|line| line.starts_with("android ")).unwrap().clone());
        if !frozen {
            let main = dump.sections[0].main().unwrap_or_else(|| panic!("{}\n{}", case.name, art.text));
            let state = case.lines.iter().find_map(|line| line.strip_prefix("main ")).unwrap();
            assert_eq!(main.state.as_deref(), state.split(' ').next(), "{}", case.name);
            let written = art.text.lines().skip_while(|line| !line.starts_with("\"main\""));
            let frames = ["  at ", "  native: #", "  kernel: "];
            let written = written
                .take_while(|line| !line.is_empty())
                .filter(|line| frames.iter().any(|word| line.starts_with(word)));
            assert_eq!(main.frames.len(), written.count(), "{}\n{}", case.name, art.text);
            let declared = dump.sections[0].declared_threads.map(|n| n as usize);
            assert_eq!(declared, Some(dump.sections[0].threads.len()), "{}", case.name);
        }
        recording_with(&art, false);
        write(&case.name, &art.text);
    }
    assert_eq!(versions.len(), 16, "{versions:?}");
    for case in scenario::cases(JVM).0 {
        let text = jvm::dump(&case.lines);
        let dump = read(&case.name, &text);
        assert!(dump.warnings.is_empty(), "{}: {:?}\n{text}", case.name, dump.warnings);
        write(&case.name, &text);
    }
    for case in scenario::cases(RECORDINGS).0 {
        scenario::recording(&case);
    }
}

#[test]
fn nineteen_answers_in_twenty_are_right_and_none_is_wrong_about_deadlocks_and_idle_mains() {
    let mut judged = dumps();
    judged.extend(recordings());
    judged.extend(corpus());
    println!("{}\n{}", table::markdown(&judged), table::sum(&judged));
    let right = judged.iter().filter(|case| case.outcome == Outcome::Right).count();
    assert!(right * 100 >= judged.len() * 95, "{}", table::sum(&judged));
    let wrong: Vec<&str> = judged
        .iter()
        .filter(|case| case.outcome == Outcome::Wrong)
        .filter(|case| {
            let found = Compared::of(&case.answer).cause;
            NEVER_WRONG.iter().any(|row| case.truth.row() == *row || found == *row)
        })
        .map(|case| &*case.name)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_dump_and_the_report_of_a_recording_with_it_give_the_same_answer() {
    let map = MethodMap::parse(Path::new("map"), Vec::new()).unwrap();
    let mut differ = Vec::new();
    for case in art_cases() {
        let art = art::dump(&case.lines);
        let alone = Compared::of(&found::of_dump(&read(&case.name, &art.text)));
        let recording = recording_with(&art, case.label == "other-process");
        let report = Compared::of(&found::of_recording(&recording, &map));
        if alone != report {
            differ.push(format!("{}: the dump's is `{alone}`, the report's `{report}`", case.name));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
