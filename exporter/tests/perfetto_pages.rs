//! Which of Perfetto's own tables and pages our traces fill, row by row; and the queries in docs/queries.

mod common;
mod engine;

use std::path::Path;

use common::app::{ASKED, FRAMES, FROZEN_FRAME, HANG, INTERVAL, LATE_FRAME, LATE_MESSAGE, LOCK, START, app};
use common::collect::collect;
use common::{FORMS, MS, S, TempFile, export_to_file, map};
use serde_json::{Value, json};

fn trace() -> TempFile {
    export_to_file(&app().build(), &FORMS[0]).0
}

fn rows(query: &str) -> Vec<Value> {
    engine::rows(&trace().0, query)
}

/// Nothing was dropped or misread, by what the engine counts beyond its errors.
#[test]
fn nothing_is_lost_on_the_way_in() {
    let lost = rows(
        "select name, value from stats where value > 0 and (severity in ('error', 'data_loss') or name in (
           'track_event_parser_errors', 'track_event_tokenizer_errors', 'interned_data_tokenizer_errors',
           'tokenizer_skipped_packets', 'frame_timeline_event_parser_errors',
           'frame_timeline_unpaired_end_event', 'flow_step_without_start', 'flow_end_without_start',
           'track_hierarchy_missing_uuid', 'packet_skipped_seq_needs_incremental_state_invalid',
           'interned_data_skipped_incremental_state_invalid', 'flow_no_enclosing_slice',
           'stackprofile_empty_callstack', 'perf_samples_cpu_mode_unknown'))",
    );
    assert_eq!(lost, [] as [Value; 0]);
}

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
    let estimated = stages.iter().filter(|s| s["estimated"] == 1).count();
    assert_eq!(estimated, 3, "those of one frame");
}

#[test]
fn frames_have_what_they_dropped_and_a_colour_for_it() {
    let frames = rows(
        "select ts, extract_arg(arg_set_id, 'debug.dropped') dropped,
           extract_arg(arg_set_id, 'debug.drop_level') level, extract_arg(arg_set_id, 'correlation_id') colour,
           extract_arg(arg_set_id, 'debug.input_latency_ms') latency,
           extract_arg(arg_set_id, 'debug.total_ms') total, extract_arg(arg_set_id, 'debug.estimated') estimated
         from slice where name glob 'Choreographer#doFrame*' order by ts",
    );
    assert_eq!(frames.len(), 26);
    let late = frames.iter().find(|f| f["ts"] == LATE_FRAME + 40 * MS).unwrap();
    // 95 ms by the system's count are 4 intervals beyond the first.
    assert_eq!((&late["dropped"], &late["level"]), (&json!(4), &json!("normal")));
    assert_eq!((&late["colour"], &late["estimated"]), (&json!("drop:normal"), &json!(1)));
    assert_eq!(late["total"], 95);
    let frozen = frames.iter().find(|f| f["ts"] == FROZEN_FRAME + 2 * MS).unwrap();
    assert_eq!((&frozen["dropped"], &frozen["colour"]), (&json!(52), &json!("drop:frozen")));
    assert_eq!(frames[0]["colour"], "drop:best");
    let latencies: Vec<_> = frames.iter().filter_map(|f| f["latency"].as_f64()).collect();
    assert_eq!(latencies, [14.0, 95.0], "of the frames with input");
}

#[test]
fn actual_and_expected_frame_timeline() {
    let frames = rows(
        "select a.ts, a.dur, a.name token, a.jank_type, a.jank_severity_type severity, a.present_type present,
           a.prediction_type prediction, a.on_time_finish on_time, e.ts expected, e.dur interval, p.pid
         from actual_frame_timeline_slice a join process p using (upid)
         left join expected_frame_timeline_slice e on e.upid = a.upid and
           e.surface_frame_token = a.surface_frame_token
         order by a.ts",
    );
    assert_eq!(frames.len(), 26);
    let first = &frames[0];
    assert_eq!((&first["ts"], &first["dur"]), (&json!(FRAMES + MS), &json!(11 * MS)), "to the display");
    assert_eq!((&first["expected"], &first["interval"]), (&json!(FRAMES), &json!(INTERVAL)));
    assert_eq!((&first["jank_type"], &first["present"]), (&json!("None"), &json!("On-time Present")));
    assert_eq!((&first["on_time"], &first["pid"]), (&json!(1), &json!(4242)));
    let at = |ts: u64| frames.iter().find(|f| f["ts"] == ts).unwrap();
    let late = at(LATE_FRAME + 40 * MS);
    assert_eq!(late["jank_type"], "App Deadline Missed");
    assert_eq!((&late["severity"], &late["present"]), (&json!("Partial"), &json!("Late Present")));
    assert_eq!(at(FROZEN_FRAME + 2 * MS)["severity"], "Full");
    // As many as the model says, to the nanosecond.
    let (model, _) = collect(&app().build(), &map());
    let mut wanted: Vec<_> = model.frames.iter().map(|(begin, end, ..)| (*begin, end - begin)).collect();
    wanted.sort_unstable();
    let found: Vec<_> =
        frames.iter().map(|f| (f["ts"].as_u64().unwrap(), f["dur"].as_u64().unwrap())).collect();
    assert_eq!(found, wanted);
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
fn android_startups_and_what_belongs_to_them() {
    let startups = rows("include perfetto module android.startup.startups; select * from android_startups");
    let [cold] = &startups[..] else { panic!("{startups:?}") };
    assert_eq!((&cold["ts"], &cold["dur"]), (&json!(START), &json!(800 * MS)));
    assert_eq!((&cold["startup_type"], &cold["package"]), (&json!("cold"), &json!("com.example.app")));
    let processes = rows(
        "include perfetto module android.startup.startups;
         select p.pid, s.startup_type from android_startup_processes s join process p using (upid)",
    );
    assert_eq!(processes, [json!({"pid": 4242, "startup_type": "cold"})]);
    let threads = rows(
        "include perfetto module android.startup.startups;
         select thread_name from android_startup_threads where is_main_thread",
    );
    assert_eq!(threads, [json!({"thread_name": "main"})]);
    let phases = rows(
        "include perfetto module android.startup.startups;
         select slice_name, slice_ts, slice_dur from android_thread_slices_for_all_startups
         where slice_name in ('bindApplication', 'activityStart', 'activityResume')
         order by slice_ts, slice_dur desc, slice_name desc",
    );
    let phases: Vec<_> = phases
        .iter()
        .map(|p| {
            (
                p["slice_name"].as_str().unwrap(),
                p["slice_ts"].as_u64().unwrap(),
                p["slice_dur"].as_u64().unwrap(),
            )
        })
        .collect();
    let rest = (START + 200 * MS, 600 * MS);
    assert_eq!(
        phases,
        [
            ("bindApplication", START, 200 * MS),
            ("activityStart", rest.0, rest.1),
            ("activityResume", rest.0, rest.1)
        ]
    );
    let lane = rows(
        "select s.name, s.dur, extract_arg(s.arg_set_id, 'debug.grade') grade,
           extract_arg(s.arg_set_id, 'debug.first_draw_ms') drawn from slice s join track t on s.track_id = t.id
         where t.name = 'Startup' and s.dur > 0 order by s.ts",
    );
    assert_eq!(
        lane[0],
        json!({"name": "launchingActivity#1", "dur": 800 * MS, "grade": "good", "drawn": 750})
    );
    assert_eq!(
        (&lane[1]["name"], &lane[1]["dur"]),
        (&json!("page: com.example.app.Detail"), &json!(300 * MS))
    );
    assert_eq!(lane[2]["name"], "start: service");
}

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
        row(dumped, 4250, "worker-1", "com.example.app.Store.read > read"),
        row(dumped, 4299, "OkHttp", "java.lang.Object.wait"),
    ];
    assert_eq!(found, wanted);
    assert!(stacks.iter().any(|s| s["mapping"].as_str().unwrap().contains("thread dump")), "{stacks:?}");
}

#[test]
fn arrows_from_a_wait_to_the_owner_from_due_to_dispatch_and_from_vsync_to_frame() {
    let flows = rows(
        "select o.name `from`, o.ts from_ts, i.name `to`, i.ts to_ts, t.name to_thread from flow f
         join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id
         left join thread_track tt on i.track_id = tt.id left join thread t using (utid) order by o.ts",
    );
    let of = |glob: &str| {
        flows.iter().filter(|f| f["from"].as_str().unwrap().starts_with(glob)).collect::<Vec<_>>()
    };
    let [wait] = &of("monitor contention")[..] else { panic!("{flows:?}") };
    assert_eq!((&wait["from_ts"], &wait["to_ts"]), (&json!(LOCK), &json!(LOCK + 1)));
    assert_eq!(wait["to_thread"], "worker-1");
    let [due] = &of("due: ")[..] else { panic!("{flows:?}") };
    assert_eq!((&due["from_ts"], &due["to_ts"]), (&json!(LATE_MESSAGE - 300 * MS), &json!(LATE_MESSAGE)));
    assert_eq!(due["to"], "com.example.app.Row$H: #3");
    let [vsync] = &of("VSYNC")[..] else { panic!("{flows:?}") };
    assert_eq!((&vsync["from_ts"], &vsync["to_ts"]), (&json!(LATE_FRAME), &json!(LATE_FRAME + 40 * MS)));
    assert_eq!(flows.len(), 3);
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

/// What we do not have, we do not pretend to have.
#[test]
fn tables_of_the_system_stay_empty() {
    for table in ["sched", "thread_state", "heap_graph_object", "gpu_slice"] {
        assert_eq!(rows(&format!("select * from {table} limit 1")), [] as [Value; 0], "{table}");
    }
    let frames =
        rows("include perfetto module android.frames.timeline; select * from android_frames limit 1");
    assert_eq!(frames, [] as [Value; 0]);
}

#[test]
fn every_query_of_the_documentation_finds_what_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/queries");
    let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let trace = trace();
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "sql") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let sql = std::fs::read_to_string(&path).unwrap();
        assert!(sql.starts_with("-- "), "{name} says what it answers");
        assert!(list.contains(&format!("[{name}]")), "{name} is listed");
        let found = engine::rows(&trace.0, &sql);
        assert!(!found.is_empty(), "{name} found nothing");
        let all_null = |column: &String| found.iter().all(|row| row[column].is_null());
        let empty: Vec<_> = found[0].as_object().unwrap().keys().filter(|c| all_null(c)).collect();
        let allowed = ["processor", "paused_ms"];
        assert!(empty.iter().all(|c| allowed.contains(&c.as_str())), "{name}: nothing in {empty:?}");
        count += 1;
    }
    assert!(count >= 10, "{count}");
}
