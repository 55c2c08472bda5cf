//! Reports: exactly Matrix's keys, with its types.

use std::collections::BTreeMap;

use serde_json::Value;
use trace_rules::Rules;
use trace_rules::frame::{DropLevels, Listener, Metric, Sample, SceneReport, Scenes};
use trace_rules::matrix_04::Matrix04Start;
use trace_rules::report::{
    AnrLog, CpuTicks, Device, Envelope, Issue, LagKind, Matrix04Method, Memory, OldView, Priority,
    StackFrame, StackStyle, anr_log, slow_log, thread_stack,
};
use trace_rules::startup::{CreatedBy, Start, StartKind};

const GIB: i64 = 1 << 30;

fn envelope() -> Envelope<'static> {
    let cpu = Some(CpuTicks { app: 1, all: 8 });
    let device = Device { memory: 6 * GIB, free_kib: 2_097_152, cpu_count: 8, cpu };
    Envelope { process: "com.example:push", time_ms: 1_700_000_000_123, device }
}

/// What a key's value is: I a whole number, F one with a fraction, S a text, B true or false, O an object.
fn kinds(object: &Value) -> BTreeMap<String, char> {
    let kind = |value: &Value| match value {
        Value::Number(number) if number.is_f64() => 'F',
        Value::Number(_) => 'I',
        Value::String(_) => 'S',
        Value::Bool(_) => 'B',
        Value::Object(_) => 'O',
        other => panic!("{other}"),
    };
    object.as_object().expect("an object").iter().map(|(key, value)| (key.clone(), kind(value))).collect()
}

fn expect(issue: &Issue<'_>, tag: &str, detail: Option<&str>, keys: &str) -> Value {
    let text = issue.to_json(&envelope());
    assert!(!text.contains('\n'), "one line");
    let object: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let all = format!("tag:S process:S time:I machine:S cpu_app:F mem:I mem_free:I {keys}");
    let mut wanted: BTreeMap<String, char> = all
        .split_whitespace()
        .map(|entry| entry.split_once(':').expect("key:kind"))
        .map(|(key, kind)| (key.to_string(), kind.chars().next().unwrap()))
        .collect();
    if detail.is_some() {
        wanted.insert("detail".into(), 'S');
    }
    assert_eq!(kinds(&object), wanted, "{text}");
    assert_eq!((object["tag"].as_str(), object["detail"].as_str()), (Some(tag), detail));
    object
}

fn scene_report() -> SceneReport {
    let mut scenes = Scenes::new(Listener::default(), DropLevels::default(), Rules::Anrscope).unwrap();
    for n in 0..60u64 {
        let mut metrics = [1_000; 10];
        metrics[Metric::Total as usize] = if n == 30 { 16_666_667 * 11 } else { 9_000_000 };
        scenes.frame(&Sample { scene: 1, intended_ns: n * 16_666_667, refresh_hz: 60.0, metrics }, n * 16);
    }
    scenes.flush()[0]
}

#[test]
fn a_frame_report_is_matrixs() {
    let report = scene_report();
    let levels = "DROPPED_BEST DROPPED_NORMAL DROPPED_MIDDLE DROPPED_HIGH DROPPED_FROZEN";
    let base = "scene:S dropLevel:O dropSum:O fps:F";
    let parts = "UNKNOWN_DELAY_DURATION:I INPUT_HANDLING_DURATION:I ANIMATION_DURATION:I LAYOUT_MEASURE_DURATION:I \
                 DRAW_DURATION:I SYNC_DURATION:I COMMAND_ISSUE_DURATION:I SWAP_BUFFERS_DURATION:I TOTAL_DURATION:I \
                 DROP_COUNT:I REFRESH_RATE:I";
    let fps = |means, api| Issue::Fps { scene: "com.example.Main", report: &report, means, api };
    let object = expect(&fps(false, 23), "Trace_FPS", None, base);
    for key in ["dropLevel", "dropSum"] {
        assert_eq!(kinds(&object[key]), levels.split(' ').map(|level| (level.to_string(), 'I')).collect());
    }
    assert_eq!(
        (&object["dropLevel"]["DROPPED_BEST"], &object["dropLevel"]["DROPPED_MIDDLE"]),
        (&59.into(), &1.into())
    );
    assert_eq!(object["dropSum"]["DROPPED_MIDDLE"], 10);
    assert_eq!(object["fps"].as_f64(), Some(f64::from(report.centi_fps) / 100.0));
    let object = expect(&fps(true, 30), "Trace_FPS", None, &format!("{base} {parts}"));
    assert_eq!((&object["REFRESH_RATE"], &object["SYNC_DURATION"]), (&60.into(), &1_000.into()));
    expect(&fps(true, 31), "Trace_FPS", None, &format!("{base} {parts} GPU_DURATION:I"));
}

#[test]
fn slow_message_and_anr_reports_are_matrixs() {
    let stack = "0,1048574,1,1006\n1,243,1,1000\n";
    let slow = Issue::SlowMessage { cost_ms: 1_006, scene: "a.B", stack, key: "243|" };
    let object = expect(&slow, "Trace_EvilMethod", Some("NORMAL"), "cost:I scene:S stack:S stackKey:S");
    assert_eq!((object["stack"].as_str(), object["stackKey"].as_str()), (Some(stack), Some("243|")));

    let anr = Issue::Anr {
        cost_ms: 5_003,
        scene: "a.B",
        stack,
        key: "243|",
        thread_stack: "at \"x\"\\\u{1}\n",
        foreground: false,
        priority: Priority { priority: 20, nice: -4 },
        memory: Memory { dalvik_heap: 1, native_heap: 2, vm_size: 3 },
    };
    let keys = "cost:I stackKey:S scene:S stack:S threadStack:S processPriority:I processNice:I isProcessForeground:B \
                memory:O";
    let object = expect(&anr, "Trace_EvilMethod", Some("ANR"), keys);
    assert_eq!(object["memory"], serde_json::json!({ "dalvik_heap": 1, "native_heap": 2, "vm_size": 3 }));
    assert_eq!(object["threadStack"], "at \"x\"\\\u{1}\n");
    assert_eq!((&object["processNice"], &object["isProcessForeground"]), (&(-4).into(), &false.into()));
}

#[test]
fn lag_and_signal_reports_are_matrixs() {
    let keys = "scene:S threadStack:S isProcessForeground:B";
    let lag = |kind| Issue::Lag { kind, scene: "a.B", thread_stack: "", foreground: true };
    expect(&lag(LagKind::Message), "Trace_EvilMethod", Some("LAG"), keys);
    expect(&lag(LagKind::IdleHandler), "Trace_EvilMethod", Some("LAG_IDLE_HANDLER"), keys);
    expect(&lag(LagKind::Touch), "Trace_EvilMethod", Some("LAG_TOUCH"), keys);
    let issue = Issue::SignalAnr { scene: "a.B", thread_stack: "", foreground: true };
    expect(&issue, "Trace_EvilMethod", Some("SIGNAL_ANR"), keys);
    let issue = Issue::PriorityModified { thread_stack: "", priority: 10 };
    expect(&issue, "Trace_EvilMethod", Some("PRIORITY_MODIFIED"), "threadStack:S processPriority:I");
    let issue = Issue::TimerSlackModified { thread_stack: "", slack_ns: 50_001 };
    expect(&issue, "Trace_EvilMethod", Some("TIMERSLACK_MODIFIED"), "threadStack:S processTimerSlack:I");
}

#[test]
fn a_start_report_is_matrixs() {
    let start = Start {
        kind: StartKind::Cold,
        application_ms: 300,
        created_by: CreatedBy::TRANSACTION,
        first_screen_ms: 900,
        cost_ms: 10_400,
        slice_from_ns: 0,
        with_stack: true,
        bad: true,
    };
    let keys = "application_create:I application_create_scene:I first_activity_create:I startup_duration:I \
                is_warm_start_up:B";
    let object = expect(&Issue::Startup { start: &start }, "Trace_StartUp", None, keys);
    assert_eq!(
        (&object["application_create_scene"], &object["startup_duration"]),
        (&159.into(), &10_400.into())
    );
    assert_eq!(object["is_warm_start_up"], false);
    let keys = "cost:I stack:S stackKey:S subType:I";
    for (kind, sub_type) in [(StartKind::Cold, 1), (StartKind::Warm, 2)] {
        let start = Start { kind, ..start };
        let issue = Issue::StartupStack { start: &start, stack: "", key: "" };
        assert_eq!(expect(&issue, "Trace_EvilMethod", Some("STARTUP"), keys)["subType"], sub_type);
    }
    let old = Matrix04Start {
        application: 300,
        between: 200,
        activity: 1_100,
        all: 1_600,
        splash: 800,
        warm: false,
    };
    let keys = "application_create:I stage_between_app_and_activity:I first_activity_create:I startup_duration:I \
                splash_activity_duration:I is_warm_start_up:B scene:S";
    expect(&Issue::Matrix04Startup { start: &old, scene: "a.B" }, "Trace_StartUp", None, keys);
}

#[test]
fn matrix_04_method_reports_are_matrixs() {
    let view = OldView { depth: 12, count: 340, activity: "a.B" };
    for (kind, detail) in [(Matrix04Method::Full, "FULL"), (Matrix04Method::Enter(view), "ENTER")] {
        let issue = Issue::Matrix04Method { kind, cost_ms: 3_000, stack: "", key: "" };
        let entered = matches!(kind, Matrix04Method::Enter(_));
        let keys = format!("subType:I cost:I stack:S stackKey:S {}", if entered { "viewInfo:O" } else { "" });
        let object = expect(&issue, "Trace_EvilMethod", Some(detail), &keys);
        assert_eq!(object["subType"], -1);
        if entered {
            let wanted = serde_json::json!({ "viewDeep": 12, "viewCount": 340, "activity": "a.B" });
            assert_eq!(object["viewInfo"], wanted);
        }
    }
}

#[test]
fn a_report_names_the_device_if_it_is_known() {
    let issue = Issue::Lag { kind: LagKind::Message, scene: "", thread_stack: "", foreground: true };
    let read = |device| -> Value {
        let envelope = Envelope { device, ..envelope() };
        serde_json::from_str(&issue.to_json(&envelope)).unwrap()
    };
    let known = read(envelope().device);
    assert_eq!((known["machine"].as_str(), known["cpu_app"].as_f64()), (Some("HIGH"), Some(12.5)));
    assert_eq!((known["mem"].as_i64(), known["mem_free"].as_i64()), (Some(6 * GIB), Some(2_097_152)));
    assert_eq!(
        (&known["process"], &known["time"]),
        (&"com.example:push".into(), &1_700_000_000_123i64.into())
    );
    let unknown = read(Device::UNKNOWN);
    assert_eq!((unknown["machine"].as_str(), unknown["cpu_app"].as_f64()), (Some("UN_KNOW"), Some(0.0)));
    // /proc/stat that says nothing.
    let device = Device { cpu: Some(CpuTicks { app: 5, all: 0 }), ..Device::UNKNOWN };
    assert_eq!(read(device)["cpu_app"].as_f64(), Some(0.0));
    for (memory, cpu_count, name) in [
        (8 * GIB, 1, "BEST"),
        (8 * GIB - 1, 8, "HIGH"),
        (6 * GIB, 1, "HIGH"),
        (4 * GIB, 1, "MIDDLE"),
        (4 * GIB - 1, 4, "MIDDLE"),
        (4 * GIB - 1, 3, "LOW"),
        (2 * GIB, 3, "LOW"),
        (2 * GIB - 1, 8, "BAD"),
        (0, 8, "BAD"),
        (-1, 8, "UN_KNOW"),
    ] {
        let device = read(Device { memory, cpu_count, ..Device::UNKNOWN });
        assert_eq!(device["machine"], name, "{memory} B, {cpu_count} CPUs");
    }
}

#[test]
fn a_threads_stack_has_three_styles() {
    let names: Vec<String> = (0..20).map(|n| format!("m{n}")).collect();
    let frames: Vec<StackFrame<'_>> = names
        .iter()
        .enumerate()
        .map(|(n, method)| StackFrame { class: "a.B", method, file: "B.java", line: n as i32 })
        .collect();
    let lines = |style, rules, count: usize| -> Vec<String> {
        thread_stack(&frames[..count], style, rules).lines().map(str::to_string).collect()
    };
    let simple = lines(StackStyle::Simple, Rules::Anrscope, 20);
    assert_eq!((simple.len(), simple[0].as_str(), simple[1].as_str()), (13, " ", "|*\t\tat a.B:m0(0)"));
    let matrix = lines(StackStyle::Simple, Rules::Matrix, 20);
    assert_eq!((matrix.len(), matrix[1].as_str()), (10, "|*\t\tat a.B:m3(3)"));
    assert_eq!(lines(StackStyle::Simple, Rules::Matrix, 8).len(), 3);
    assert_eq!(thread_stack(&frames[..5], StackStyle::Simple, Rules::Matrix), " \n");
    assert_eq!(thread_stack(&frames[..2], StackStyle::Simple, Rules::Matrix), "");
    assert_eq!(lines(StackStyle::Whole, Rules::Matrix, 20).len(), 20);
    let raw = |frame| thread_stack(&[frame], StackStyle::Raw, Rules::Anrscope);
    assert_eq!(raw(frames[7]), "a.B.m7(B.java:7)\n");
    assert_eq!(raw(StackFrame { line: -2, ..frames[7] }), "a.B.m7(Native Method)\n");
    assert_eq!(raw(StackFrame { line: -1, ..frames[7] }), "a.B.m7(B.java)\n");
    assert_eq!(raw(StackFrame { file: "", ..frames[7] }), "a.B.m7(Unknown Source)\n");
}

#[test]
fn the_log_block_names_the_running_stage() {
    let log = AnrLog {
        cost_ms: 5_003,
        scene: "a.B",
        foreground: true,
        priority: Priority { priority: 20, nice: 0 },
        is_64_bit: true,
        memory: Memory { dalvik_heap: 1, native_heap: 2, vm_size: 3 },
        stages: Some([1_000_000, 2_000_000, 5_000_000_000]),
        state: "RUNNABLE",
        thread_stack: "at a.B:c(1)\n",
        trace: Some(("243|", "|*\t\tTraceStack:\n")),
    };
    let text = anr_log(&log);
    assert!(text.starts_with("-\n>>>>") && text.contains(" maybe happens ANR(5003 ms)! <<<<"));
    for part in [
        "|* [Status]\n|*\t\tScene: a.B\n|*\t\tForeground: true\n|*\t\tPriority: 20\n|*\t\tNice: 0\n|*\t\tis64BitRuntime: true\n",
        "|* [Memory]\n|*\t\tDalvikHeap: 1kb\n|*\t\tNativeHeap: 2kb\n|*\t\tVmSize: 3kb\n",
        "|* [doFrame]\n|*\t\tinputCost:animationCost:traversalCost 1:2:5000 ms\n",
        "|* [Thread]\n|*\t\tState: RUNNABLE\n|*\t\tStack: at a.B:c(1)\n",
        "|* [Trace]\n|*\t\tStackKey: 243|\n|*\t\tTraceStack:\n",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert_eq!(text.lines().last().map(str::len), Some(73));
    assert!(!anr_log(&AnrLog { stages: None, ..log }).contains("[doFrame]"));
    let slow = slow_log(700, "a.B", false, None);
    assert!(
        slow.contains("Jankiness(700 ms)")
            && slow.contains("Foreground: false")
            && slow.contains("nothing is recorded")
    );
}
