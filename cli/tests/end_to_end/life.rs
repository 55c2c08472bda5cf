//! The life of an app, on fakes of Android's classes and with the library that the program carries: what the engine
//! and a server that takes Matrix's reports make of its recordings. `ANRSCOPE_KEEP` names a directory for them and
//! their trace, for other proofs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use exporter::MethodMap;

use crate::end_to_end::compile;
use crate::end_to_end::five_questions::answered;
use crate::end_to_end::model_rows::same_in_all_forms;
use test_support::android::Case;
use test_support::android::lifetime::{app_recordings, live};
use test_support::engine;
use test_support::program;
use test_support::schema;
use test_support::temp_dir::TempDir;

/// What each report has besides what all have (Matrix's `Plugin.onDetectIssue` and `DeviceUtil.getDeviceInfo`).
const KEYS: [(&str, &str); 8] = [
    (
        "Trace_StartUp",
        "application_create application_create_scene first_activity_create startup_duration is_warm_start_up",
    ),
    (
        "Trace_FPS",
        "scene dropLevel dropSum fps UNKNOWN_DELAY_DURATION INPUT_HANDLING_DURATION ANIMATION_DURATION \
         LAYOUT_MEASURE_DURATION DRAW_DURATION SYNC_DURATION COMMAND_ISSUE_DURATION SWAP_BUFFERS_DURATION \
         TOTAL_DURATION GPU_DURATION DROP_COUNT REFRESH_RATE",
    ),
    ("NORMAL", "detail cost scene stack stackKey"),
    (
        "ANR",
        "detail cost stackKey scene stack threadStack processPriority processNice isProcessForeground memory",
    ),
    ("LAG", "detail scene threadStack isProcessForeground"),
    ("LAG_IDLE_HANDLER", "detail scene threadStack isProcessForeground"),
    ("LAG_TOUCH", "detail scene threadStack isProcessForeground"),
    ("SIGNAL_ANR", "detail scene threadStack isProcessForeground"),
];

/// The library that the program carries, as a traced run lays it out.
pub(crate) fn library(directory: &TempDir) -> std::path::PathBuf {
    compile("DeepThrow", directory.path());
    let kept = directory.name("kept");
    let shown =
        program::run(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &directory.name(""), "DeepThrow"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    Path::new(&kept).join("runtime/libanrscope.so")
}

#[test]
fn the_life_of_an_app_is_a_clean_trace_and_matrix_reports() {
    let directory = TempDir::new();
    let library = library(&directory);
    let (pid, runs) = live(|| Case::new("AppLife").named("program").library(&library));
    let recordings = app_recordings(&runs);
    let recordings: Vec<&str> = recordings.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(recordings.len(), 3, "{recordings:?}");
    let trace = directory.name("life.pftrace");
    let shown =
        program::run([&["export"], &recordings[..], &["-o", &trace, "--min-perfetto", "52"]].concat());
    assert_eq!(shown.code, Some(0), "{shown:?}");
    check_trace(Path::new(&trace), pid);
    let slices = recordings.iter().map(|path| same_in_all_forms(Path::new(path), &MethodMap::empty()));
    assert!(slices.sum::<u64>() > 100);

    let killed = recordings.iter().find(|path| path.contains(&format!("com.example.app-{pid}."))).unwrap();
    let shown = program::run(["report", "--format", "matrix", killed]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    check_reports(&shown.stdout);

    let shown = program::run([&["report", "--format", "json"], &recordings[..]].concat());
    schema::fits(&serde_json::from_str(&shown.stdout).unwrap());
    let page = program::run(["report", killed]).stdout;
    if let Some(kept) = std::env::var_os("ANRSCOPE_KEEP").map(PathBuf::from) {
        std::fs::create_dir_all(&kept).unwrap();
        for path in recordings.iter().copied().chain([trace.as_str()]) {
            std::fs::copy(path, kept.join(Path::new(path).file_name().unwrap())).unwrap();
        }
    }
    answered("life", &page, false);
}

fn check_trace(trace: &Path, pid: u32) {
    let answer = engine::ask(
        trace,
        &[
            "include perfetto module android.anrs; \
             select process_name, pid, subject from android_anrs order by ts",
            "include perfetto module android.startup.startups; \
             select package, startup_type from android_startups order by ts",
            "select distinct name from process where name glob 'com.example.*' order by name",
            "select count(*) as n from actual_frame_timeline_slice where jank_type = 'App Deadline Missed'",
            // The frame that hung: its stage is open to the end, inside of the message.
            "select s.name, p.name as parent from slice s join slice p on s.parent_id = p.id \
             where s.name = 'traversal' order by s.dur desc limit 1",
            "select count(*) as n from perf_sample",
        ],
    );
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    let [anrs, starts, processes, janks, hung, samples] = &answer.queries[..] else { panic!() };
    let of_signal = anrs.last().expect("an ANR");
    assert_eq!(
        (of_signal["process_name"].as_str(), of_signal["pid"].as_u64()),
        (Some("com.example.app"), Some(pid.into()))
    );
    assert!(of_signal["subject"].as_str().unwrap().ends_with("(SIGQUIT)"), "{anrs:?}");
    let kinds: Vec<_> = starts.iter().map(|start| start["startup_type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["cold", "hot"], "{starts:?}");
    let names: Vec<_> = processes.iter().map(|process| process["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["com.example.app", "com.example.app:push"]);
    assert!(janks[0]["n"].as_u64().unwrap() >= 1, "{janks:?}");
    assert!(hung[0]["parent"].as_str().unwrap().starts_with("Choreographer#doFrame"), "{hung:?}");
    assert!(samples[0]["n"].as_u64().unwrap() >= 10, "{samples:?}");
}

/// Exactly Matrix's keys, and of each the type that a server of its reports expects.
fn check_reports(lines: &str) {
    let mut seen = BTreeSet::new();
    for line in lines.lines() {
        let report: BTreeMap<String, Value> = serde_json::from_str(line).expect(line);
        let kind = report.get("detail").unwrap_or(&report["tag"]).as_str().unwrap().to_owned();
        let (_, own) = KEYS.iter().find(|(known, _)| *known == kind).unwrap_or_else(|| panic!("{line}"));
        let all = "machine cpu_app mem mem_free tag process time";
        let expected: BTreeSet<&str> = all.split(' ').chain(own.split_whitespace()).collect();
        let found: BTreeSet<&str> = report.keys().map(String::as_str).collect();
        assert_eq!(found, expected, "{line}");
        for (key, value) in &report {
            let right = match key.as_str() {
                "machine" | "tag" | "process" | "scene" | "detail" | "stack" | "stackKey" | "threadStack" => {
                    value.is_string()
                }
                "is_warm_start_up" | "isProcessForeground" => value.is_boolean(),
                "dropLevel" | "dropSum" | "memory" => value.is_object(),
                _ => value.is_number(),
            };
            assert!(right, "{key} in {line}");
        }
        seen.insert(kind);
    }
    let all: BTreeSet<String> = KEYS.iter().map(|(kind, _)| (*kind).to_owned()).collect();
    assert_eq!(seen, all);
}
