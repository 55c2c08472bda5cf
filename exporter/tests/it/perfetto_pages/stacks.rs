//! Stacks of samples and of dumps, and thread states of dumps.

use super::*;
use test_support::engine;

#[test]
fn perf_samples_and_their_frames() {
    let stacks = rows(
        "with recursive up(sample, id, parent, frame, level) as (
           select p.id, c.id, c.parent_id, c.frame_id, 0 from perf_sample p
             join stack_profile_callsite c on p.callsite_id = c.id
           union all select u.sample, c.id, c.parent_id, c.frame_id, u.level + 1 from up u
             join stack_profile_callsite c on u.parent = c.id)
         select p.ts, t.tid, t.name thread, m.name mapping, group_concat(f.name, ' > ') stack from
           (select * from up order by sample, level desc) u
         join perf_sample p on u.sample = p.id join thread t using (utid)
         join stack_profile_frame f on u.frame = f.id join stack_profile_mapping m on f.mapping = m.id
         group by p.id order by p.ts, t.tid",
    );
    let found: Vec<_> = stacks
        .iter()
        .map(|s| {
            let text = |key: &str| s[key].as_str().unwrap().to_owned();
            (s["ts"].as_u64().unwrap(), s["tid"].as_u64().unwrap(), text("thread"), text("stack"))
        })
        .collect();
    let row = |at, tid, thread: &str, stack: &str| (at, tid, thread.to_owned(), stack.to_owned());
    let measure = "android.os.Looper.loop > com.example.app.List.onMeasure > com.example.app.List.measure";
    let child = "android.os.Looper.loop > com.example.app.List.onMeasure > com.example.app.List.child";
    let dumped = ASKED + 10 * MS;
    let wanted = [
        row(109 * S, 4242, "main", measure),
        row(110 * S, 4242, "main", child),
        row(111 * S, 4242, "main", measure),
        row(113 * S + 30 * MS, 4242, "main", measure),
        row(dumped, 4242, "main", "android.os.Looper.loop > com.example.app.List.measure"),
    ];
    assert_eq!(found, wanted);
    assert!(stacks.iter().any(|s| s["mapping"].as_str().unwrap().contains("thread dump")), "{stacks:?}");
}

/// Perfetto's flame graph is drawn of this tree.
#[test]
fn the_flame_graph_of_all_samples() {
    let tree = rows(
        "include perfetto module stacks.cpu_profiling;
         select name, self_count own, cumulative_count total from cpu_profiling_summary_tree
         where name like 'com.example.app.List.%' or name = 'android.os.Looper.loop' order by total desc, own desc",
    );
    let of = |name: &str| -> (u64, u64) {
        let all = tree.iter().filter(|row| row["name"] == name);
        all.fold((0, 0), |sum, row| {
            (sum.0 + row["own"].as_u64().unwrap(), sum.1 + row["total"].as_u64().unwrap())
        })
    };
    // Four samples and the dump went through the looper; two samples, the snapshot and the dump ended in `measure`.
    assert_eq!(of("android.os.Looper.loop"), (0, 5), "{tree:?}");
    assert_eq!(of("com.example.app.List.measure"), (4, 4), "{tree:?}");
    assert_eq!(of("com.example.app.List.child"), (1, 1), "{tree:?}");
}

#[test]
fn the_thread_states_of_a_dump_are_on_their_tracks() {
    let query = |prefix: &str| {
        let arg = |key: &str| format!("extract_arg(s.arg_set_id, '{prefix}.{key}') {key}");
        let args = [
            "dump_kind",
            "state",
            "doing",
            "native_state",
            "nice",
            "daemon",
            "cgroup",
            "cpu_ms",
            "runnable_ms",
            "user_ms",
            "system_ms",
            "waits_for_lock",
            "held_by",
            "held_by_tid",
            "holds_locks",
            "stack",
        ]
        .map(arg)
        .join(", ");
        format!(
            "select s.ts, s.dur, s.name, t.tid, t.name thread, {args} from slice s join thread_track tt
               on s.track_id = tt.id join thread t using (utid) where s.name glob 'dump: *' order by s.ts, t.tid"
        )
    };
    let dumped = ASKED + 10 * MS;
    for (form, prefix) in FORMS.iter().zip(["debug", "debug", "args"]) {
        let (file, _) = export_to_file(&app().build(), form);
        let found = engine::rows(&file.0, &query(prefix));
        let all: Vec<_> = found
            .iter()
            .map(|row| (row["ts"].as_u64().unwrap(), row["tid"].as_u64().unwrap(), &row["name"]))
            .collect();
        let seen = 113 * S + 30 * MS;
        let wanted = [
            (seen, 4242, &json!("dump: BLOCKED")),
            (dumped, 4242, &json!("dump: Runnable")),
            (dumped, 4250, &json!("dump: Native")),
            (dumped, 4299, &json!("dump: Blocked")),
        ];
        assert_eq!(all, wanted, "{form:?}");
        assert_eq!((&found[0]["dump_kind"], &found[1]["dump_kind"]), (&json!("ANR snapshot"), &json!("ANR")));
        let worker = &found[2];
        assert_eq!((&worker["thread"], &worker["nice"]), (&json!("worker-1"), &json!(-2)));
        assert_eq!((&worker["native_state"], &worker["cgroup"]), (&json!("S"), &json!("default")));
        assert_eq!((&worker["cpu_ms"], &worker["runnable_ms"]), (&json!(1.5), &json!(0.25)));
        assert_eq!((worker["user_ms"].as_f64(), worker["system_ms"].as_f64()), (Some(100.0), Some(50.0)));
        assert_eq!(worker["stack"], "read < com.example.app.Store.read");
        assert_eq!(worker["holds_locks"], "com.example.app.Store (0x0000001a)");
        let blocked = &found[3];
        assert_eq!((&blocked["thread"], &blocked["state"]), (&json!("OkHttp"), &json!("Blocked")));
        assert_eq!(blocked["doing"], "waits for the lock of com.example.app.Store (0x0000001a)");
        assert_eq!((&blocked["held_by"], &blocked["held_by_tid"]), (&json!("worker-1"), &json!(4250)));
        assert!([json!(1), json!(true)].contains(&blocked["daemon"]), "{blocked}");
        assert_eq!(blocked["waits_for_lock"], "com.example.app.Store (0x0000001a)");
    }
}

/// From version 53 on Perfetto shows a stack beside an event. An older one, which this engine is, counts an error for each,
/// and takes all the rest of the trace.
#[test]
fn states_have_their_stacks_for_readers_that_take_them() {
    let newer = ExportOptions::default();
    assert_eq!(newer.min_perfetto, 53);
    let (file, _) = export_to_file(&app().build(), &newer);
    let answer =
        engine::ask(&file.0, &[LOST, "select count() n from slice", "select count() n from perf_sample"]);
    let [lost, slices, samples] = &answer.queries[..] else { panic!() };
    // The snapshot's and the three threads'.
    assert_eq!(*lost, [json!({"name": "unknown_extension_fields", "value": 4})]);
    let older =
        engine::ask(&trace().0, &["select count() n from slice", "select count() n from perf_sample"]);
    assert_eq!([slices, samples], [&older.queries[0], &older.queries[1]]);
}

/// What the other threads did would hide main in the flame graph, and is no sample: it stands beside their states.
#[test]
fn the_flame_graph_is_mains_alone() {
    for options in [FORMS[0].clone(), ExportOptions::default()] {
        let (file, _) = export_to_file(&app().build(), &options);
        let threads = &engine::ask(
            &file.0,
            &["select t.tid, count() n from perf_sample p join thread t using (utid) group by t.tid"],
        )
        .queries[0];
        assert_eq!(*threads, [json!({"tid": 4242, "n": 5})], "{options:?}");
    }
}
