//! Android behaviour that simple fakes of its classes would not show: no deadlock and no contents of messages by the
//! sampler, no vsync for the library, stages with callbacks posted in INPUT, a launch whose list is hidden, idle handlers under another lock.

use trace_format::Event;

use crate::android_host::work::{Line, Options, Work};
use test_support::android::{Case, Run, events, main_thread, recorded_issues};
use test_support::program;

pub(crate) fn works(options: &Options) -> Vec<Work> {
    type Judge = fn(&Options, u32, &'static str) -> Line;
    // Each with the first API level that has the feature.
    const FINDINGS: [(&str, u32, Judge); 12] = [
        ("deadlock", 21, deadlock),
        ("contents", 21, contents),
        ("contents-redacted", 21, contents),
        ("vsync-60", 21, vsync),
        ("vsync-120", 21, vsync),
        ("posted-in-input", 26, posted),
        ("launch", 21, launch),
        ("idle-handlers", 21, idlers),
        ("no-choreographer", 21, choreographer),
        ("put-off-frames", 24, put_off),
        ("lost-frames", 24, lost),
        ("own-words", 21, named),
    ];
    let of_level = |level: u32| {
        let there = FINDINGS.into_iter().filter(move |(_, first, _)| level >= *first);
        there.map(move |(name, _, run)| Work { level, name, run })
    };
    let mut works: Vec<Work> = options.levels.iter().copied().flat_map(of_level).collect();
    works.push(Work { level: 34, name: "wrapped-context", run: wrapped });
    works
}

fn case(options: &Options, level: u32, name: &str, words: &[&str]) -> Case {
    let case =
        Case::new("FindingLife").named(&format!("{level}-{name}")).sdk(level).library(&options.library);
    words.iter().fold(case, |case, word| case.word(word)).lenient()
}

/// The first line printed that begins with this word, without it.
fn said(run: &Run, word: &str) -> String {
    run.lines(word).next().unwrap_or("nothing").to_owned()
}

fn deadlock(options: &Options, level: u32, name: &'static str) -> Line {
    let rounds = options.rounds.to_string();
    let run = case(options, level, name, &["deadlock", &rounds, "with"]).run();
    // Without the sampler a few runs show as much as many.
    let few = options.rounds.min(3).to_string();
    let without = case(options, level, "deadlock-without", &["deadlock", &few, "without"]).run();
    let ended = said(&run, "ended");
    let good = ended == format!("{rounds} shown 0 arrived {rounds}")
        && said(&without, "ended") == format!("{few} shown 0 arrived {few}");
    let stuck = run.lines("deadlock").next().map_or_else(String::new, |round| format!(", deadlock {round}"));
    Line { good, text: format!("ended {ended} of {rounds}{stuck}") }
}

fn contents(options: &Options, level: u32, name: &'static str) -> Line {
    let redact = if name == "contents" { "0" } else { "1" };
    let run = case(options, level, name, &["pending", redact]).run();
    let count = |bytes: &[u8]| bytes.windows(9).filter(|part| part == b"4111 1111").count();
    let file: usize = run.files().iter().map(|file| count(&std::fs::read(file).unwrap())).sum();
    let (reported, shown) = (count(run.printed.as_bytes()), said(&run, "shown"));
    // The listener must have been called: otherwise the case tested nothing.
    let called = run.lines("listener").count() > 0;
    Line {
        good: file == 0 && reported == 0 && shown == "0" && called,
        text: format!("in the file {file}, in reports and listeners {reported}, toString called {shown}"),
    }
}

fn vsync(options: &Options, level: u32, name: &'static str) -> Line {
    let hz = name.strip_prefix("vsync-").unwrap();
    let still = options.still_ms.to_string();
    let with = case(options, level, name, &["vsync", hz, &still, "with"]).run();
    let without = case(options, level, &format!("{name}-without"), &["vsync", hz, &still, "without"]).run();
    let asked = said(&with, "asked");
    let afterwards = (said(&with, "afterwards"), said(&without, "afterwards"));
    Line {
        good: asked == "0" && afterwards.0.starts_with("20 ") && afterwards.0 == afterwards.1,
        text: format!(
            "vsyncs asked for in {} s: {asked}, main's CPU {} us with us and {} us without; frames afterwards {}, without us {}",
            options.still_ms / 1_000,
            said(&with, "cpu"),
            said(&without, "cpu"),
            afterwards.0,
            afterwards.1
        ),
    }
}

fn posted(options: &Options, level: u32, name: &'static str) -> Line {
    let run = case(options, level, name, &["posted", "20"]).run();
    let file = run.files().remove(0);
    let trace = file.with_extension("json");
    let shown = program::run(["export", file.to_str().unwrap(), "-o", trace.to_str().unwrap()]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap();
    let mut animation: Vec<f64> =
        slices.iter().filter(|s| s["name"] == "animation").filter_map(|s| s["dur"].as_f64()).collect();
    animation.sort_by(f64::total_cmp);
    // By the median: other processes take their time, too. The first frames are the page's.
    let most = &animation[animation.len().saturating_sub(20)..];
    let median = most.get(most.len() / 2).copied().unwrap_or(0.0);
    Line {
        good: most.len() == 20 && median >= 9_900.0,
        text: format!(
            "ANIMATION of 10 ms is {:.1} ms in the median of {} frames",
            median / 1_000.0,
            most.len()
        ),
    }
}

fn launch(options: &Options, level: u32, name: &'static str) -> Line {
    let log = case(options, level, name, &[]).directory().with_extension("exceptions");
    let case = case(options, level, name, &["launch", "20"]);
    let run = case.jvm(&format!("-Xlog:exceptions=info:file={}", log.display())).run();
    let thrown = std::fs::read_to_string(&log).unwrap_or_default();
    // One line where it is thrown; others where it passes.
    let lookups = thrown
        .lines()
        .filter(|line| line.contains("NoSuchFieldException") && line.contains("'getDeclaredField'"));
    let denied = lookups.count();
    let created = said(&run, "created");
    let reports = recorded_issues(&run.recording());
    let scene = reports.iter().find_map(|issue| issue["application_create_scene"].as_u64());
    let expected = if level < 28 { 100 } else { 159 };
    Line {
        good: created == "1" && scene == Some(expected) && denied <= 4,
        text: format!("created {created}, scene {scene:?}, lookups refused in 41 transactions {denied}"),
    }
}

fn idlers(options: &Options, level: u32, name: &'static str) -> Line {
    let run = case(options, level, name, &["idlers", &options.races.to_string()]).run();
    let (failed, late) = (said(&run, "failed"), said(&run, "late"));
    Line {
        good: failed.starts_with("0 lost 0 ") && late == "0",
        text: format!("starts failed {failed} handlers; of one that came late {late}"),
    }
}

fn choreographer(options: &Options, level: u32, name: &'static str) -> Line {
    let run = case(options, level, name, &["choreographer"]).run();
    let asked = said(&run, "asked");
    let page = said(&run, "with a page");
    Line {
        good: asked == "0" && page == "1",
        text: format!("made {asked} before the first page, {page} with it"),
    }
}

fn put_off(options: &Options, level: u32, name: &'static str) -> Line {
    let run = case(options, level, name, &["put-off"]).run();
    let recording = run.recording();
    let all = events(&recording, main_thread(&recording));
    let count = |wanted: fn(&Event) -> bool| all.iter().filter(|(_, event)| wanted(event)).count();
    let begun = count(|event| matches!(event, Event::FrameBegin(_)));
    let begun = begun - count(|event| matches!(event, Event::FrameSkipped));
    let drawn = said(&run, "drawn");
    Line { good: drawn == begun.to_string(), text: format!("frames drawn {drawn}, recorded {begun}") }
}

fn lost(options: &Options, level: u32, name: &'static str) -> Line {
    let run = case(options, level, name, &["lost"]).run();
    let recording = run.recording();
    let dropped = said(&run, "dropped");
    let is_ours = |id| recording.texts().get(id).is_some_and(|text| text == "FrameMetrics dropped");
    let mut reported = 0.0;
    for thread in recording.threads() {
        for (_, event) in events(&recording, thread) {
            if let Event::Counter(id, value) = event
                && is_ours(id)
            {
                reported = value;
            }
        }
    }
    Line {
        good: reported > 0.0 && dropped == reported.to_string(),
        text: format!("dropped {dropped}, recorded {reported}"),
    }
}

fn named(options: &Options, level: u32, name: &'static str) -> Line {
    let run = case(options, level, name, &["named"]).run();
    let recording = run.recording();
    let text = |id| recording.texts().get(id).unwrap_or("").to_owned();
    let odd: Vec<String> =
        events(&recording, main_thread(&recording))
            .into_iter()
            .filter_map(|(_, event)| {
                if let Event::MessageBegin(message) = event { Some(text(message.target)) } else { None }
            })
            .filter(|target| target.contains(['[', ' ', '(']))
            .collect();
    Line { good: odd.is_empty(), text: format!("targets that are no class {odd:?}") }
}

/// Wrapped, the application is found all the same; without one the recording says so.
fn wrapped(options: &Options, level: u32, name: &'static str) -> Line {
    let wrapped = case(options, level, name, &["wrapped", "application"]).run().recording();
    let messages = events(&wrapped, main_thread(&wrapped))
        .iter()
        .filter(|(_, event)| matches!(event, Event::MessageBegin(_)))
        .count();
    let none = case(options, level, "no-application", &["wrapped", "none"]).run().recording();
    let notices = none.service().map_or_else(Vec::new, |service| events(&none, service));
    let said = notices.iter().any(|(_, event)| match event {
        Event::Notice(id) => none.texts().get(*id).is_some_and(|text| text.contains("Application")),
        _ => false,
    });
    Line {
        good: said && messages > 0,
        text: format!("{messages} messages, a notice without one: {}", if said { "yes" } else { "NO" }),
    }
}
