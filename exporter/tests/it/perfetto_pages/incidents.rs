//! `android_anrs`, the ANR track, the messages around it, and lock contention.

use super::*;
use test_support::engine;
use test_support::recordings;

#[test]
fn android_anrs_the_anr_track_and_the_log() {
    let anrs = rows("include perfetto module android.anrs; select * from android_anrs");
    let [anr] = &anrs[..] else { panic!("{anrs:?}") };
    assert_eq!((&anr["ts"], &anr["pid"]), (&json!(ASKED), &json!(4242)));
    assert_eq!(anr["anr_type"], "INPUT_DISPATCHING_TIMEOUT", "{anr}");
    let subject = anr["subject"].as_str().unwrap();
    assert!(subject.starts_with("Input dispatching timed out (4a1 com.example.app/.Main (server)"), "{anr}");
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
    let logs = rows("select ts, prio, msg from android_logs where prio = 6 and msg glob 'ANR (*'");
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
    let [wait, stated] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&wait["ts"], &wait["dur"]), (&json!(LOCK), &json!(400 * MS)));
    assert_eq!(wait["blocking_thread_name"], "worker-1");
    // The dump states another one: since main's message began.
    assert_eq!((&stated["ts"], &stated["dur"]), (&json!(HANG), &json!(ASKED + 10 * MS - HANG)));
    assert_eq!(
        (&stated["blocked_thread_name"], &stated["blocking_thread_name"]),
        (&json!("OkHttp"), &json!("worker-1"))
    );
    assert_eq!(stated["short_blocked_method"], "com.example.app.Store.write");
    assert_eq!(stated["blocking_tid"].as_u64().or(stated["blocking_thread_tid"].as_u64()), Some(4250));
}

/// What a thread holds while others wait stands beside it.
#[test]
fn locks_that_others_wait_for_are_beside_their_owner() {
    let held = rows(
        "select s.ts, s.dur, s.name, t.name thread, tt.name track, s.category,
           extract_arg(s.arg_set_id, 'debug.waiter_name') waiter, extract_arg(s.arg_set_id, 'debug.stated_by') stated_by
         from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid)
         where s.name glob 'holds lock of *' order by s.ts",
    );
    assert_eq!(
        held,
        [
            json!({"ts": LOCK, "dur": 400 * MS, "name": "holds lock of com.example.app.Store", "thread": "worker-1",
                "track": "locks of worker-1", "category": "lock", "waiter": "main", "stated_by": null}),
            json!({"ts": HANG, "dur": ASKED + 10 * MS - HANG, "name": "holds lock of com.example.app.Store (0x0000001a)",
                "thread": "worker-1", "track": "locks of worker-1", "category": "lock", "waiter": "OkHttp",
                "stated_by": "thread dump"}),
        ]
    );
}

/// Of threads that wait for each other each waits, each holds, and all are named.
#[test]
fn a_deadlock_of_a_dump_is_a_ring_of_contention() {
    let thread = |name: &str, tid: u32, wants: u32, held_by: u32| {
        format!(
            "\"{name}\" prio=5 tid={tid} Blocked\n  | sysTid={} nice=0\n  at a.B.{name}(B.java:{tid})\n  \
             - waiting to lock <0x0000000{wants}> (a a.Lock{wants}) held by thread {held_by}\n  \
             - locked <0x0000000{tid}> (a a.Lock{tid})\n\n",
            4241 + tid
        )
    };
    let threads = [thread("main", 1, 2, 2), thread("two", 2, 3, 3), thread("three", 3, 1, 1)].concat();
    let dump = format!(
        "\n----- pid 4242 at 2026-01-01 00:00:00 -----\n\nDALVIK THREADS (3):\n{threads}----- end 4242 -----\n"
    );
    let at = 108 * S;
    let bytes = recordings::stalled()
        .section(
            trace_format::section::SectionKind::DumpText,
            &[&at.to_le_bytes()[..], dump.as_bytes()].concat(),
        )
        .build();
    let (file, _) = export_to_file(&bytes, &FORMS[0]);
    let ring = engine::rows(
        &file.0,
        "include perfetto module android.monitor_contention;
         select c.ts, c.dur, c.blocked_thread_name waiter, c.blocking_thread_name owner,
           extract_arg(s.arg_set_id, 'debug.deadlock') deadlock
         from android_monitor_contention c join slice s using (id) order by waiter",
    );
    let since = 102 * S;
    let row = |waiter: &str, owner: &str| {
        json!({"ts": since, "dur": at - since, "waiter": waiter, "owner": owner,
            "deadlock": "main > two > three > main"})
    };
    // Main's own wait was recorded, which is more precise than the dump.
    let stated: Vec<_> = ring.iter().filter(|row| !row["deadlock"].is_null()).cloned().collect();
    assert_eq!(stated, [row("three", "main"), row("two", "three")]);
    assert_eq!(ring.len(), 3);
    assert_eq!(engine::rows(&file.0, LOST), [] as [Value; 0]);
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
    assert_eq!(waits, [json!({"dur": 400 * MS}), json!({"dur": ASKED + 10 * MS - HANG})]);
    let counters = engine::rows(&file.0, "select count() n from counter_track where name glob 'FPS*'");
    assert_eq!(counters, [json!({"n": 1})]);
}

/// The cause is where readers look first: on the ANR, on the message that hung, and in the first lines of the
/// log.
#[test]
fn the_answer_is_on_the_anr_on_the_message_and_in_the_log() {
    let arg = |key: &str| format!("extract_arg(s.arg_set_id, 'debug.{key}') {key}");
    let args = ["cause", "cause_confidence", "root", "evidence_0", "next"].map(arg).join(", ");
    let query = format!(
        "select s.ts, s.name, {args} from slice s where extract_arg(s.arg_set_id, 'debug.cause') is not null order by s.name"
    );
    let found = rows(&query);
    let [anr, message] = &found[..] else { panic!("{found:?}") };
    let name = "ANR: LOCK WAIT in com.example.List.draw: Input dispatching timed out (4a1 com.example.app/.Main (server) is not \
                responding. Waited 5001ms for MotionEvent)";
    assert_eq!(anr["name"].as_str(), Some(name));
    assert!(
        message["name"].as_str().unwrap().starts_with("android.view.Choreographer$FrameHandler"),
        "{message}"
    );
    assert_eq!((&anr["ts"], &message["ts"]), (&json!(HANG), &json!(HANG)));
    for key in ["cause", "cause_confidence", "root", "evidence_0", "next"] {
        assert!(anr[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {anr}");
        assert_eq!(anr[key], message[key]);
    }
    let logs = rows("select ts, prio, tag, msg from android_logs order by ts, id");
    let lines: Vec<_> = logs.iter().filter(|row| row["ts"] == HANG && row["prio"] == 6).collect();
    assert!((4..=6).contains(&lines.len()), "{logs:?}");
    let text = |row: &Value| row["msg"].as_str().unwrap().to_owned();
    assert!(text(lines[0]).starts_with("ANR in com.example.app (pid 4242): main thread blocked"), "{logs:?}");
    assert!(text(lines[1]).starts_with("Cause: "), "{logs:?}");
    assert!(text(lines[lines.len() - 1]).starts_with("What to do: "), "{logs:?}");
    let model = collect(&app().build(), &map()).0;
    assert!(
        model.logs.iter().any(|(at, _, line)| *at == HANG && line.starts_with("ANR in ")),
        "{:?}",
        model.logs
    );
}

/// The tracks define their order, and the recorder's own are one group.
#[test]
fn tracks_have_their_places() {
    let tracks = rows(
        "select t.name, p.name parent, extract_arg(t.source_arg_set_id, 'sibling_order_rank') rank
         from track t left join track p on t.parent_id = p.id
         where t.name in ('ANR', 'MessageQueue', 'VSYNC', 'main: messages before an ANR', 'Startup') order by t.name",
    );
    let parents: Vec<_> =
        tracks.iter().map(|t| (t["name"].as_str().unwrap(), t["parent"].as_str())).collect();
    let group = Some("anrscope recorder");
    assert_eq!(
        parents,
        [
            ("ANR", None),
            ("MessageQueue", group),
            ("Startup", None),
            ("VSYNC", group),
            ("main: messages before an ANR", group)
        ],
        "{tracks:?}"
    );
}
