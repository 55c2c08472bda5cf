//! Real dumps, which are not part of the repository: the environment variable ANRSCOPE_CORPUS names a directory
//! with an index. `anr/index.jsonl` has independent counts for each file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use answers::dump::{Dump, LockGraph, LockKind, SectionKind, Subject, Thread, ThreadForm};
use serde_json::Value;

fn corpus() -> Option<PathBuf> {
    std::env::var_os("ANRSCOPE_CORPUS").map(PathBuf::from)
}

fn index(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The threads that the index counts: those with a complete first line of ART, Dalvik or debuggerd.
fn counted(dump: &Dump) -> Vec<&Thread> {
    let threads = dump.sections.iter().flat_map(|section| &section.threads);
    threads.filter(|thread| matches!(thread.form, ThreadForm::Art | ThreadForm::Native)).collect()
}

fn seen(dump: &Dump) -> BTreeMap<&'static str, Value> {
    let threads = counted(dump);
    let attached: Vec<_> = threads.iter().filter(|t| t.attached).collect();
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    for thread in &threads {
        let state = match (&thread.state, thread.form) {
            (Some(state), _) => state.clone(),
            (None, ThreadForm::Native) => "native-only(sysTid".to_owned(),
            (None, _) => "(not".to_owned(),
        };
        *states.entry(state).or_default() += 1;
    }
    let names: std::collections::BTreeSet<_> = threads.iter().filter_map(|t| t.name.as_deref()).collect();
    let waits: Vec<_> =
        threads.iter().flat_map(|t| &t.locks).filter(|lock| lock.kind == LockKind::WaitingToLock).collect();
    let with_holder = waits.iter().filter(|lock| lock.owner.is_some()).count();
    let unknown = waits.iter().filter(|lock| lock.address.is_none()).count();
    let graphs = dump.sections.iter().map(|section| (section, LockGraph::from(section)));
    let edges: usize = graphs.clone().map(|(_, g)| g.edges.iter().filter(|e| !e.inferred).count()).sum();
    assert_eq!(edges, with_holder);
    let cycles: Vec<Value> = graphs
        .flat_map(|(section, graph)| {
            let title =
                |tid: &u32| format!("{tid}:{}", section.thread(*tid).unwrap().name.as_deref().unwrap());
            let cycle = |cycle: &Vec<u32>| {
                serde_json::json!({
                    "pid": section.pid.unwrap().to_string(),
                    "cycle": cycle.iter().map(title).collect::<Vec<_>>(),
                    "self": cycle.len() == 1,
                })
            };
            graph.deadlocks.iter().map(cycle).collect::<Vec<_>>()
        })
        .collect();
    let of = |kind| dump.sections.iter().filter(|s| s.kind == kind && s.time.is_some()).count();
    let mains: std::collections::BTreeSet<_> = threads
        .iter()
        .filter(|t| t.attached && t.tid == Some(1))
        .filter_map(|t| t.state.as_deref())
        .collect();
    BTreeMap::from([
        ("threads_parsed", threads.len().into()),
        ("threads_attached", attached.len().into()),
        ("threads_not_attached", (threads.len() - attached.len()).into()),
        ("distinct_thread_names", names.len().into()),
        ("states", serde_json::to_value(states).unwrap()),
        ("main_states_all", serde_json::to_value(mains).unwrap()),
        ("pid_sections", of(SectionKind::Threads).into()),
        ("waitchan_sections", of(SectionKind::WaitingChannels).into()),
        (
            "dalvik_threads_declared_sum",
            dump.sections.iter().filter_map(|s| s.declared_threads).sum::<u32>().into(),
        ),
        ("waiting_to_lock_edges", waits.len().into()),
        ("waiting_to_lock_with_holder", with_holder.into()),
        ("waiting_to_lock_unknown_object", unknown.into()),
        ("waiting_to_lock_address_no_holder", (waits.len() - with_holder - unknown).into()),
        ("deadlock_cycles", cycles.into()),
    ])
}

/// `anrscope dump --json` agrees with what was read.
fn json_says_the_same(dump: &Dump) {
    let document = dump.to_json("x");
    let sections = document["sections"].as_array().unwrap();
    assert_eq!(sections.len(), dump.sections.len());
    for (json, section) in sections.iter().zip(&dump.sections) {
        let graph = LockGraph::from(section);
        let stated = graph.edges.iter().filter(|edge| !edge.inferred);
        let stated: Vec<Value> = stated.map(|edge| serde_json::json!([edge.from, edge.to])).collect();
        let edges = json["lock_edges"].as_array().unwrap().iter();
        let edges: Vec<Value> = edges.map(|e| serde_json::json!([e["from"], e["to"]])).collect();
        assert_eq!(edges, stated);
        assert_eq!(json["deadlocks"], serde_json::json!(graph.deadlocks));
        let of = |thread: &Thread| serde_json::json!([thread.name, thread.tid, thread.sys_tid, thread.state]);
        let threads: Vec<Value> = section.threads.iter().map(of).collect();
        let found = json["threads"].as_array().unwrap().iter();
        let found: Vec<Value> =
            found.map(|t| serde_json::json!([t["name"], t["tid"], t["sys_tid"], t["state"]])).collect();
        assert_eq!(found, threads);
    }
}

/// Excerpts in forms that the index deliberately does not count: threads, frames, lock lines, counted by hand.
const EXCERPTS: [(&str, [usize; 3]); 6] = [
    ("58-", [1, 12, 1]),
    ("59-", [1, 4, 0]),
    ("61-", [1, 0, 0]),
    ("62-", [2, 13, 0]),
    ("64-", [1, 19, 0]),
    ("65-", [1, 3, 0]),
];

#[test]
fn every_dump_of_the_corpus_is_as_its_index_says() {
    let Some(corpus) = corpus() else {
        eprintln!("ANRSCOPE_CORPUS names no directory: nothing compared");
        return;
    };
    let (mut wrong, mut files) = (Vec::new(), 0);
    for entry in index(&corpus.join("anr/index.jsonl")) {
        let file = entry["file"].as_str().unwrap();
        files += 1;
        let dump = match Dump::open(&corpus.join("anr").join(file)) {
            Ok(dump) => dump,
            Err(error) => {
                wrong.push(format!("{file}: {error}"));
                continue;
            }
        };
        json_says_the_same(&dump);
        let excerpt = EXCERPTS.iter().find(|(begin, _)| file.starts_with(begin));
        if let Some((_, expected)) = excerpt {
            let threads: Vec<_> = dump.sections.iter().flat_map(|s| &s.threads).collect();
            let frames = threads.iter().map(|t| t.frames.len()).sum::<usize>();
            let locks = threads.iter().map(|t| t.locks.len()).sum::<usize>();
            println!("{file}: threads {}, frames {frames}, locks {locks} (excerpt)", threads.len());
            if [threads.len(), frames, locks] != *expected {
                wrong.push(format!("{file}: {:?}, not {expected:?}", [threads.len(), frames, locks]));
            }
            continue;
        }
        let seen = seen(&dump);
        println!(
            "{file}: threads {}, attached {}, sections {}+{}, edges {}, cycles {}",
            seen["threads_parsed"],
            seen["threads_attached"],
            seen["pid_sections"],
            seen["waitchan_sections"],
            seen["waiting_to_lock_with_holder"],
            seen["deadlock_cycles"].as_array().unwrap().len()
        );
        for (key, value) in seen {
            let (mut seen, mut expected) = (value, entry[key].clone());
            if key == "main_states_all" {
                for list in [&mut seen, &mut expected] {
                    list.as_array_mut().unwrap().sort_by_key(ToString::to_string);
                }
            }
            if seen != expected {
                wrong.push(format!("{file}: {key} is {seen}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {files} files:\n{}", wrong.len(), wrong.join("\n"));
    println!("{files} files equal their index");
}

#[test]
fn every_subject_of_the_corpus_has_its_kind() {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    for entry in index(&corpus.join("appexit/subjects.jsonl")) {
        let (text, kind) = (entry["subject"].as_str().unwrap(), entry["kind"].as_str().unwrap());
        let kind = match kind.split(" (").next().unwrap() {
            "bind_application" => "process_start",
            "app_triggered" => "app_requested",
            kind if kind.starts_with("job_service") => "job_service",
            kind => kind,
        };
        let seen = Subject::parse(text).kind.name();
        if seen != kind {
            wrong.push(format!("{seen}, not {kind}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let text = fs::read_dir(corpus.join("appexit")).unwrap().filter_map(Result::ok).map(|entry| entry.path());
    for path in text.filter(|path| path.to_string_lossy().contains("aei-header")) {
        let dump = Dump::open(&path).unwrap();
        assert!(dump.subject.is_some() && !dump.events.is_empty(), "{}", path.display());
    }
}
