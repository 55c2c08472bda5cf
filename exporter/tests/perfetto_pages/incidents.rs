//! `android_anrs`, the ANR track, the messages around it, and lock contention.

use super::*;

#[test]
fn android_anrs_the_anr_track_and_the_log() {
    let anrs = rows("include perfetto module android.anrs; select * from android_anrs");
    let [anr] = &anrs[..] else { panic!("{anrs:?}") };
    assert_eq!((&anr["ts"], &anr["pid"]), (&json!(ASKED), &json!(4242)));
    let slices = rows(
        "select s.ts, s.dur, s.name, extract_arg(s.arg_set_id, 'debug.stage') stage,
           extract_arg(s.arg_set_id, 'debug.stage_for_ms') stage_ms,
           extract_arg(s.arg_set_id, 'debug.foreground') foreground,
           extract_arg(s.arg_set_id, 'debug.state') state, extract_arg(s.arg_set_id, 'debug.cgroup') cgroup,
           extract_arg(s.arg_set_id, 'debug.dalvik_kib') heap,
           extract_arg(s.arg_set_id, 'debug.stage_input_ms') input,
           extract_arg(s.arg_set_id, 'debug.pending_messages') waiting
         from slice s join track t on s.track_id = t.id where t.name = 'ANR'",
    );
    let [slice] = &slices[..] else { panic!("{slices:?}") };
    assert_eq!((&slice["ts"], &slice["dur"]), (&json!(HANG), &json!(ASKED - HANG)));
    assert_eq!((&slice["stage"], &slice["stage_ms"]), (&json!("TRAVERSAL"), &json!(5027)));
    assert_eq!((&slice["foreground"], &slice["state"]), (&json!("1"), &json!("BLOCKED")));
    assert_eq!((&slice["cgroup"], &slice["heap"]), (&json!("top-app"), &json!(20_480)));
    assert_eq!((&slice["input"], &slice["waiting"]), (&json!(1), &json!(2)));
    let logs = rows("select ts, prio, msg from android_logs where prio = 6");
    let [log] = &logs[..] else { panic!("{logs:?}") };
    assert!(log["msg"].as_str().unwrap().contains("in stage TRAVERSAL for 5027 ms"), "{log}");
}

#[test]
fn message_history_and_waiting_messages() {
    let history = rows(
        "select s.ts, s.dur, s.name, extract_arg(s.arg_set_id, 'debug.count') count from slice s
         join track t on s.track_id = t.id where t.name = 'main: messages before an ANR' order by s.ts",
    );
    let last = history.last().unwrap();
    assert_eq!((&last["ts"], &last["dur"]), (&json!(HANG), &json!(6 * S)), "to the last sign of life");
    let names: Vec<_> = history.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"android.os.Handler: com.example.app.Main$Pay"), "{names:?}");
    assert!(names.contains(&"3 messages"), "the frames after the pause: {names:?}");
    let waiting = rows(
        "select s.ts, s.name, extract_arg(s.arg_set_id, 'debug.when') at,
           extract_arg(s.arg_set_id, 'debug.place') place from slice s join track t on s.track_id = t.id
         where t.name = 'MessageQueue' and s.name glob 'waiting: *' order by place",
    );
    let at = 113 * S + 30 * MS;
    assert_eq!(
        waiting,
        [
            json!({"ts": at, "name": "waiting: com.example.app.Sync$H: #3", "at": "-4s900ms", "place": 0}),
            json!({"ts": at, "name": "waiting: android.os.Handler: com.example.app.Save$1", "at": "+40ms", "place": 1})
        ]
    );
}

#[test]
fn monitor_contention_with_its_owner() {
    let found =
        rows("include perfetto module android.monitor_contention; select * from android_monitor_contention");
    let [wait] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&wait["ts"], &wait["dur"]), (&json!(LOCK), &json!(400 * MS)));
    assert_eq!(wait["blocking_thread_name"], "worker-1");
}

/// Chrome's JSON is the lossy form, but what Perfetto can find in it, it finds.
#[test]
fn chrome_json_has_starts_anrs_and_locks_too() {
    let (file, _) = export_to_file(&app().build(), &FORMS[2]);
    let startups = engine::rows(
        &file.0,
        "include perfetto module android.startup.startups;
         select ts, dur, startup_type, package from android_startups",
    );
    let cold = json!({"ts": START, "dur": 800 * MS, "startup_type": "cold", "package": "com.example.app"});
    assert_eq!(startups, [cold]);
    let anrs =
        engine::rows(&file.0, "include perfetto module android.anrs; select ts, pid from android_anrs");
    assert_eq!(anrs, [json!({"ts": ASKED, "pid": 4242})]);
    let waits = engine::rows(
        &file.0,
        "include perfetto module android.monitor_contention; select dur from android_monitor_contention",
    );
    assert_eq!(waits, [json!({"dur": 400 * MS})]);
    let counters = engine::rows(&file.0, "select count() n from counter_track where name glob 'FPS*'");
    assert_eq!(counters, [json!({"n": 1})]);
}
