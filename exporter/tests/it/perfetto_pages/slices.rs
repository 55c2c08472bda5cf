//! Slices, their arguments, counters and arrows, as Perfetto's tables have them.

use super::*;
use test_support::engine;

#[test]
fn slices_of_threads_and_their_arguments() {
    let stages = rows(
        "select f.name frame, s.name, s.dur, extract_arg(s.arg_set_id, 'debug.stage') stage,
           extract_arg(s.arg_set_id, 'debug.estimated') estimated,
           extract_arg(s.arg_set_id, 'debug.measured_ms') measured
         from slice f join slice s on s.parent_id = f.id join thread_track tt on f.track_id = tt.id
         join thread t using (utid)
         where t.is_main_thread and f.name glob 'Choreographer#doFrame*' order by s.ts",
    );
    // 25 frames of three stages each, and the one that hangs.
    assert_eq!(stages.len(), 26 * 3);
    let frame = format!("Choreographer#doFrame {}", FRAMES / INTERVAL);
    assert_eq!(stages[0]["frame"], frame);
    let names: Vec<_> = stages[..3].iter().map(|s| (&s["name"], &s["stage"], &s["measured"])).collect();
    assert_eq!(
        names,
        [
            (&json!("input"), &json!("INPUT"), &json!(1)),
            (&json!("animation"), &json!("ANIMATION"), &json!(2)),
            (&json!("traversal"), &json!("TRAVERSAL"), &json!(4))
        ]
    );
    // The recorder estimated those of one frame; the system measured it, and its bounds are shown.
    assert!(stages.iter().all(|s| s["estimated"].is_null()));
    let late = format!("Choreographer#doFrame {}", LATE_FRAME / INTERVAL);
    let late: Vec<_> = stages.iter().filter(|s| s["frame"] == late).map(|s| &s["dur"]).collect();
    assert_eq!(late, [&json!(MS), &json!(2 * MS), &json!(47 * MS - MS / 10)]);
}

#[test]
fn counters_have_their_units_and_end_in_gaps() {
    let counters = rows(
        "select t.name, t.unit, c.ts, c.value from counter c join process_counter_track t on c.track_id = t.id
         join process p using (upid) where p.pid = 4242 order by t.name, c.ts",
    );
    let of = |name: &str| -> Vec<_> {
        let rows = counters.iter().filter(|c| c["name"] == name);
        rows.map(|c| (c["ts"].as_u64().unwrap(), c["value"].as_f64().unwrap())).collect()
    };
    let fps = of("FPS");
    assert!(fps.iter().all(|(_, fps)| (0.0..=60.1).contains(fps)), "{fps:?}");
    assert_eq!(fps.first().map(|f| f.0), Some(FRAMES));
    let idle = FROZEN_FRAME + 900 * MS;
    assert!(fps.contains(&(idle, 0.0)), "nothing is drawn from {idle} on: {fps:?}");
    assert_eq!(of("Dropped frames")[..2], [(LATE_FRAME + 90 * MS, 4.0), (FROZEN_FRAME + 900 * MS, 52.0)]);
    let heap = of("Java heap");
    assert_eq!(heap, [(START + 770 * MS, 1_048_576.0), (113 * S + 30 * MS, 20_480.0 * 1024.0)]);
    let unit = |name: &str| counters.iter().find(|c| c["name"] == name).unwrap()["unit"].clone();
    assert_eq!((unit("Java heap"), unit("FPS")), (json!("bytes"), json!("fps")));
    let (model, _) = collect(&app().build(), &map());
    assert_eq!(model.counters.len(), counters.len());
}

#[test]
fn arrows_from_a_wait_to_the_owner_from_due_to_dispatch_and_from_vsync_to_frame() {
    let flows = rows(
        "select o.name `from`, o.ts from_ts, o.ts + o.dur from_end, i.name `to`, i.ts to_ts, t.name to_thread from flow f
         join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id
         left join thread_track tt on i.track_id = tt.id left join thread t using (utid) order by o.ts",
    );
    let of = |glob: &str| {
        flows.iter().filter(|f| f["from"].as_str().unwrap().starts_with(glob)).collect::<Vec<_>>()
    };
    // From the wait's begin to the owner, and from the release, which is where what it holds ends, to the waiter. Both are upright.
    let [wait, stated] = &of("Lock contention: waits for worker-1")[..] else { panic!("{flows:?}") };
    assert_eq!((&wait["from_ts"], &wait["to_ts"]), (&json!(LOCK), &json!(LOCK)));
    assert_eq!(
        (&wait["to_thread"], &wait["to"]),
        (&json!("worker-1"), &json!("holds lock of com.example.app.Store"))
    );
    let [release] = &of("holds lock of ")[..] else { panic!("{flows:?}") };
    assert_eq!((&release["from_end"], &release["to_ts"]), (&json!(LOCK + 400 * MS), &json!(LOCK + 400 * MS)));
    assert_eq!((&release["to"], &release["to_thread"]), (&json!("has the lock"), &json!("main")));
    // What the dump states, since main's message began.
    assert_eq!((&stated["from_ts"], &stated["to_ts"]), (&json!(HANG), &json!(HANG)));
    assert!(flows.iter().all(|f| f["from_ts"].as_u64() <= f["to_ts"].as_u64()), "{flows:?}");
    let [due] = &of("due: ")[..] else { panic!("{flows:?}") };
    assert_eq!((&due["from_ts"], &due["to_ts"]), (&json!(LATE_MESSAGE - 300 * MS), &json!(LATE_MESSAGE)));
    assert_eq!(due["to"], "com.example.app.Row$H: #3");
    let [vsync] = &of("VSYNC")[..] else { panic!("{flows:?}") };
    assert_eq!((&vsync["from_ts"], &vsync["to_ts"]), (&json!(LATE_FRAME), &json!(LATE_FRAME + 40 * MS)));
    assert_eq!(flows.len(), 5);
}

/// Main is polled while its message is late; its CPU time meanwhile is `thread_dur`.
#[test]
fn thread_dur_of_what_main_did_while_it_was_late() {
    let looks = rows(
        "include perfetto module slices.with_context;
         select s.ts, s.dur, s.name, s.thread_ts, s.thread_dur, s.thread_name thread from thread_slice s
         where s.thread_dur is not null order by s.ts",
    );
    let at = HANG + 2 * S;
    let half = 500 * MS;
    assert_eq!(
        looks,
        [
            json!({"ts": at, "dur": half, "name": "Running", "thread_ts": 0, "thread_dur": 440 * MS, "thread": "main"}),
            json!({"ts": at + half, "dur": half, "name": "Sleeping", "thread_ts": 440 * MS,
                "thread_dur": 10 * MS, "thread": "main"}),
        ]
    );
    let (file, _) = export_to_file(&app().build(), &FORMS[2]);
    let json = engine::rows(
        &file.0,
        "select ts, dur, name, thread_ts, thread_dur from slice where thread_dur is not null order by ts",
    );
    let same = |row: &Value| ["ts", "dur", "name", "thread_ts", "thread_dur"].map(|key| row[key].clone());
    assert_eq!(json.iter().map(same).collect::<Vec<_>>(), looks.iter().map(same).collect::<Vec<_>>());
}

#[test]
fn slices_and_arguments_are_in_thread_slice_too() {
    let message = rows(
        "include perfetto module slices.with_context;
         select s.thread_name, s.process_name, s.is_main_thread, s.ts, s.dur,
           extract_arg(s.arg_set_id, 'debug.queue_delay_ms') late from thread_slice s
         where s.name = 'com.example.app.Row$H: #3' order by s.ts desc limit 1",
    );
    assert_eq!(
        message,
        [
            json!({"thread_name": "main", "process_name": "com.example.app", "is_main_thread": 1, "ts": LATE_MESSAGE,
            "dur": 5 * MS, "late": 300})
        ]
    );
}
