//! Processes, threads, the system and the log, as Perfetto's tables have them.

use super::*;

#[test]
fn processes_have_their_pid_uid_name_start_and_parent() {
    let processes = rows(
        "select p.pid, p.name, p.cmdline, p.uid, p.android_appid, p.android_user_id, p.start_ts, parent.pid parent
         from process p left join process parent on p.parent_upid = parent.upid
         where p.name = 'com.example.app'",
    );
    assert_eq!(
        processes,
        [json!({"pid": 4242, "name": "com.example.app", "cmdline": "com.example.app", "uid": 10_123,
            "android_appid": 10_123, "android_user_id": 0, "start_ts": START, "parent": 812})]
    );
    let threads = rows(
        "select t.tid, t.name, t.is_main_thread main from thread t join process p using (upid)
         where p.pid = 4242 order by t.tid",
    );
    let row = |tid: u32, name: &str, main: u32| json!({"tid": tid, "name": name, "main": main});
    let wanted = [
        row(4242, "main", 1),
        row(4250, "worker-1", 0),
        row(4251, "FrameMetrics", 0),
        // Only the dump knows of it.
        row(4299, "OkHttp", 0),
    ];
    assert_eq!(threads, wanted);
}

#[test]
fn the_system_is_in_the_traces_metadata() {
    let metadata = rows(
        "select name, coalesce(str_value, int_value) value from metadata
         where name glob 'system_*' or name glob 'android_*' order by name",
    );
    let row = |name: &str, value: Value| json!({"name": name, "value": value});
    let wanted = [
        row("android_build_fingerprint", json!("acme/phone/phone:15/AP1A/1:user/release-keys")),
        row("android_sdk_version", json!(35)),
        row("system_machine", json!("aarch64")),
        row("system_name", json!("Linux")),
        row("system_release", json!("6.1.75-android14")),
        row("system_version", json!("#1 SMP PREEMPT")),
    ];
    assert_eq!(metadata, wanted);
}

#[test]
fn the_log_has_our_lines_the_anr_and_the_apps_own() {
    let logs = rows(
        "select l.ts, l.prio, l.tag, l.msg, t.tid, t.name thread from android_logs l left join thread t using (utid)
         order by l.ts, l.prio",
    );
    // A mark in logcat's form is a log line of its thread with its tag; another mark is not.
    let of_app: Vec<_> = logs.iter().filter(|row| row["tag"] != "anrscope").collect();
    let line = json!({"ts": LOCK + 100 * MS, "prio": 5, "tag": "Store", "msg": "3 attempts so far", "tid": 4250,
        "thread": "worker-1"});
    assert_eq!(of_app, [&line]);
    let of_anr: Vec<_> = logs.iter().filter(|row| row["prio"] == 6 && row["ts"] != HANG).collect();
    let [anr] = of_anr[..] else { panic!("{logs:?}") };
    assert_eq!((&anr["ts"], &anr["tid"]), (&json!(ASKED), &json!(4242)));
    assert!(anr["msg"].as_str().unwrap().starts_with("ANR (high confidence) in com.example.app: "), "{anr}");
    // As many as the model has, at the same times.
    let (model, _) = collect(&app().build(), &map());
    let mut wanted: Vec<_> = model.logs.iter().map(|(at, _, message)| (*at, message.as_str())).collect();
    wanted.sort_unstable();
    let mut found: Vec<_> =
        logs.iter().map(|row| (row["ts"].as_u64().unwrap(), row["msg"].as_str().unwrap())).collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
    // The marks are on their threads all the same.
    let marks = rows(
        "select s.ts, s.name, t.name thread from slice s join thread_track tt on s.track_id = tt.id
         join thread t using (utid) where s.name in ('basket shown', 'W/Store: 3 attempts so far') order by s.ts",
    );
    assert_eq!(
        marks,
        [
            json!({"ts": LATE_MESSAGE + MS, "name": "basket shown", "thread": "main"}),
            json!({"ts": LOCK + 100 * MS, "name": "W/Store: 3 attempts so far", "thread": "worker-1"}),
        ]
    );
}
