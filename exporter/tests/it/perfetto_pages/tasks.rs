//! Tasks: arrows from submission to run and from a wait to what it is for, queues as tracks and counters, and who posted a
//! message.

use super::*;
use test_support::engine;
use test_support::recordings::tasks::{contended, tasks};

fn of_tasks(query: &str) -> Vec<Value> {
    engine::rows(&export_to_file(&tasks().build(), &FORMS[0]).0.0, query)
}

const ARROWS: &str = "
  select o.name from_name, i.name to_name, (i.ts - o.ts) / 1000000 ms,
    coalesce(ot.name, oq.name) from_track, coalesce(it.name, iq.name) to_track
  from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id
    join track oq on o.track_id = oq.id left join thread_track ott on o.track_id = ott.id left join thread ot on ott.utid = ot.utid
    join track iq on i.track_id = iq.id left join thread_track itt on i.track_id = itt.id left join thread it on itt.utid = it.utid
  order by o.ts, i.ts";

fn arrow(row: &Value) -> [&str; 4] {
    ["from_track", "from_name", "to_track", "to_name"].map(|key| row[key].as_str().unwrap())
}

const POOL: &str = "queue of pool-1 (ThreadPoolExecutor)";

#[test]
fn an_arrow_leads_from_the_submission_through_the_queue_to_the_run() {
    let arrows = of_tasks(ARROWS);
    let arrows: Vec<_> = arrows.iter().map(arrow).collect();
    let save = "com.example.Sync.save";
    for wanted in [
        // A short time in the queue has no slice.
        ["main", "submits Worker.run", "pool-1-thread-1", "com.example.Worker.run"],
        ["main", "submits Sync.save", POOL, "queued: Sync.save"],
        [POOL, "queued: Sync.save", "pool-1-thread-1", save],
        ["pool-1-thread-1", "submits Worker.run", "queue of main (Handler)", "queued: Worker.run"],
        ["queue of main (Handler)", "queued: Worker.run", "main", "android.os.Handler: com.example.Worker"],
    ] {
        assert!(arrows.contains(&wanted), "{wanted:?} in {arrows:#?}");
    }
}

#[test]
fn arrows_of_a_wait_lead_to_the_queued_task_and_on_around_a_cycle() {
    let all = of_tasks(ARROWS);
    let arrows: Vec<_> = all.iter().map(arrow).collect();
    let (first, second) = ("waits for Sync.save", "waits for Worker.run");
    for wanted in [
        ["main", "park for Sync.save", "main", first],
        ["main", first, POOL, "awaited by main"],
        [POOL, "awaited by main", "pool-1-thread-1", "com.example.Sync.save"],
        // The last wait: to the thread that runs the task, which waits for main's lock, and back to main.
        ["main", "park for Worker.run", "main", second],
        ["main", second, "pool-1-thread-2", "awaited by main"],
        ["pool-1-thread-2", "awaited by main", "main", "awaited by pool-1-thread-2"],
        ["pool-1-thread-2", "park", "pool-1-thread-2", "waits for main"],
    ] {
        assert!(arrows.contains(&wanted), "{wanted:?} in {arrows:#?}");
    }
    // They begin with the wait: no arrow runs back.
    assert!(all.iter().all(|row| row["ms"].as_i64() >= Some(0)), "{all:#?}");
    let ms = |name: &str| all.iter().find(|row| row["from_name"] == name).map(|row| row["ms"].clone());
    assert_eq!((ms(first), ms(second)), (Some(json!(0)), Some(json!(0))));
}

#[test]
fn calls_waits_and_queued_tasks_say_which_task_and_who_submitted_it() {
    let rows = of_tasks(
        "select s.name, (s.ts - 100000000000) / 1000000 ms, s.dur / 1000000 dur_ms,
           extract_arg(s.arg_set_id, 'debug.task') task, extract_arg(s.arg_set_id, 'debug.task_state') state,
           extract_arg(s.arg_set_id, 'debug.submitted_by') by_thread, extract_arg(s.arg_set_id, 'debug.submitted_in') in_method,
           extract_arg(s.arg_set_id, 'debug.submitted_at') place, extract_arg(s.arg_set_id, 'debug.executor') executor,
           extract_arg(s.arg_set_id, 'debug.queued_ms') queued, extract_arg(s.arg_set_id, 'debug.place_in_queue') rank
         from slice s where task is not null and s.dur > 0 order by s.ts",
    );
    let of = |name: &str| -> Vec<&Value> { rows.iter().filter(|row| row["name"] == name).collect() };
    let on_click = json!("com.example.Main.onClick");
    let [run] = of("com.example.Sync.save")[..] else { panic!("{rows:#?}") };
    assert_eq!((&run["by_thread"], &run["in_method"]), (&json!("main"), &on_click));
    // Its method's file is unknown.
    assert_eq!((&run["place"], &run["queued"]), (&json!("com.example.Main.onClick:12"), &json!(979)));
    assert_eq!(run["executor"], "pool-1 (ThreadPoolExecutor)");
    let ([first], [last]) = (&of("park for Sync.save")[..], &of("park for Worker.run")[..]) else {
        panic!("{rows:#?}")
    };
    assert_eq!((&first["state"], &first["rank"], &first["ms"]), (&json!("queued"), &json!(1), &json!(30)));
    assert_eq!(
        (&last["state"], &last["rank"], &last["task"]),
        (&json!("running"), &Value::Null, &json!("com.example.Worker.run"))
    );
    let [queued] = of("queued: Sync.save")[..] else { panic!("{rows:#?}") };
    assert_eq!((&queued["ms"], &queued["dur_ms"], &queued["queued"]), (&json!(21), &json!(979), &json!(979)));
    // In a call that runs no task of a queue nothing is said.
    assert!(of("com.example.Main.onClick").is_empty());
}

#[test]
fn each_executor_and_handler_has_a_counter_of_its_length_and_its_delay() {
    let rows = of_tasks(
        "select t.name, t.unit, (c.ts - 100000000000) / 1000000 ms, c.value from counter c
         join process_counter_track t on c.track_id = t.id where t.name glob 'queue of *' order by t.name, c.ts",
    );
    let of = |name: &str| -> Vec<(u64, f64)> {
        let rows = rows.iter().filter(|row| row["name"] == name);
        rows.map(|row| (row["ms"].as_u64().unwrap(), row["value"].as_f64().unwrap())).collect()
    };
    let lengths = [(10, 1.0), (12, 0.0), (21, 1.0), (1_000, 0.0), (3_850, 1.0), (3_900, 0.0)];
    assert_eq!(of("queue of pool-1 (ThreadPoolExecutor): length"), lengths);
    let delays = [(12, 2.0), (1_000, 979.0), (3_900, 50.0)];
    assert_eq!(of("queue of pool-1 (ThreadPoolExecutor): delay"), delays);
    assert_eq!(of("queue of main (Handler): length"), [(1_100, 1.0), (3_500, 0.0)]);
    assert_eq!(of("queue of main (Handler): delay"), [(3_500, 2_400.0)]);
    assert!(rows.iter().all(|row| row["unit"] == "tasks" || row["unit"] == "ms"), "{rows:?}");
}

#[test]
fn a_message_says_who_posted_it_where_and_when() {
    for (form, prefix) in [(&FORMS[0], "debug"), (&FORMS[2], "args")] {
        let query = "select s.name, extract_arg(s.arg_set_id, 'PREFIX.posted_by') by_thread,
               extract_arg(s.arg_set_id, 'PREFIX.posted_in') in_method, extract_arg(s.arg_set_id, 'PREFIX.posted_at') place,
               extract_arg(s.arg_set_id, 'PREFIX.posted_ms_before') ms
             from slice s where s.name glob 'android.os.Handler: *' order by s.ts";
        let query = query.replace("PREFIX", prefix);
        let rows = engine::rows(&export_to_file(&tasks().build(), form).0.0, &query);
        let [posted, sent] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(
            posted,
            &json!({"name": "android.os.Handler: com.example.Worker", "by_thread": "pool-1-thread-1",
                "in_method": "com.example.Sync.save", "place": "Sync.java:44", "ms": 2400})
        );
        // Which of all that may have sent it is unknown.
        assert_eq!((&sent["name"], &sent["by_thread"]), (&json!("android.os.Handler: #7"), &Value::Null));
    }
}

#[test]
fn nothing_of_a_trace_with_tasks_is_lost_on_the_way_in() {
    for form in &FORMS {
        let (file, _) = export_to_file(&tasks().build(), form);
        assert_eq!(engine::rows(&file.0, LOST), [] as [Value; 0], "{form:?}");
    }
}

/// Perfetto knows a contended monitor only if nothing inside has a name of its own.
#[test]
fn a_thread_that_waits_for_a_monitor_and_is_awaited_is_still_contention() {
    let (file, _) = export_to_file(&contended().build(), &FORMS[0]);
    let contention = "include perfetto module android.monitor_contention;
        select blocked_thread_name, blocking_thread_name from android_monitor_contention";
    assert_eq!(
        engine::rows(&file.0, contention),
        [json!({"blocked_thread_name": "pool-1-thread-1", "blocking_thread_name": "main"})]
    );
    let marks = "select name from slice where name glob '*awaited by main'";
    assert_eq!(engine::rows(&file.0, marks), [json!({"name": "Lock contention: awaited by main"})]);
}
