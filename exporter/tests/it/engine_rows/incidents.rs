//! How signals and stalls are represented, in all forms.

use super::*;
use test_support::engine;
use test_support::recordings;
use trace_format::event::{Wait, WaitKind};

#[test]
fn a_stall_is_the_same_in_all_forms() {
    let bytes = stalled().build();
    for options in &FORMS {
        let file = same_as_model(&bytes, options);
        let queries = [
            "include perfetto module android.anrs; select * from android_anrs",
            "select ts, prio, tag, msg from android_logs order by ts",
            "include perfetto module android.monitor_contention; select * from android_monitor_contention",
            "select p.name process, t.name main, t.tid, p.pid from thread t join process p using (upid)
               where t.is_main_thread and p.name != 'system_server'",
            "select f.name frame, s.name stage, extract_arg(s.arg_set_id, 'debug.stage') d,
               extract_arg(s.arg_set_id, 'args.stage') a from slice s join slice f on s.parent_id = f.id
               where f.name glob 'Choreographer#doFrame *' order by s.ts limit 3",
            "select t.name, c.value from counter c join counter_track t on c.track_id = t.id
               where t.name glob 'Java heap*' order by ts",
            "select name, dur, extract_arg(arg_set_id, 'debug.detector') detector,
               extract_arg(arg_set_id, 'debug.si_pid') si_pid,
               extract_arg(arg_set_id, 'debug.message') message,
               extract_arg(arg_set_id, 'debug.watchdog_after_ms') watchdog
               from slice where name glob 'ANR*'",
        ];
        let answer = engine::ask(&file.0, &queries);
        assert!(answer.problems.is_empty(), "{:?}", answer.problems);
        let [anrs, logs, contention, main, stages, heap, anr] = &answer.queries[..] else { panic!() };
        let hang = 102 * S;

        assert_eq!(anrs.len(), 1, "{anrs:?}");
        let row = &anrs[0];
        assert_eq!(row["ts"].as_u64().unwrap(), hang + 5 * S + 40 * MS);
        assert_eq!(
            (row["process_name"].as_str(), row["pid"].as_u64()),
            (Some("com.example.app"), Some(4242))
        );
        // JSON leaves a space behind it.
        let subject = row["subject"].as_str().map(str::trim_end);
        assert_eq!(subject, Some("main thread blocked 5040 ms (SIGQUIT)"), "{row}");
        assert!(row["upid"].is_u64(), "{row}");

        assert_eq!((main.len(), main[0]["tid"].as_u64()), (1, Some(4242)), "{main:?}");
        assert_eq!(main[0]["process"].as_str(), Some("com.example.app"));
        let stage = |i: usize| (stages[i]["stage"].as_str().unwrap(), stages[i]["frame"].as_str().unwrap());
        assert_eq!(stage(0), ("input", "Choreographer#doFrame 1000"));
        assert_eq!(stage(2), ("traversal", "Choreographer#doFrame 1000"));
        assert!([&stages[1]["d"], &stages[1]["a"]].iter().any(|v| *v == "ANIMATION"), "{stages:?}");
        let values: Vec<_> = heap.iter().map(|r| r["value"].as_f64().unwrap()).collect();
        assert_eq!(values, [1_048_576.5, 2e6]);

        let [lock] = &contention[..] else { panic!("{contention:?}") };
        assert_eq!(lock["short_blocking_method"].as_str(), Some("com.example.Db.write"), "{lock}");
        assert_eq!(lock["short_blocked_method"].as_str(), Some("com.example.Sync.save"), "{lock}");
        assert_eq!(
            (lock["blocked_src"].as_str(), lock["blocking_src"].as_str()),
            (Some("Sync.java:31"), Some("Db.java:0")),
            "{lock}"
        );
        assert_eq!(lock["blocking_thread_name"].as_str(), Some("worker-1"), "{lock}");
        assert_eq!(lock["blocking_tid"].as_u64().or(lock["blocking_thread_tid"].as_u64()), Some(4250));
        assert!(lock["blocking_utid"].is_u64() && lock["is_blocked_thread_main"] == 1, "{lock}");

        if options.format == Format::Perfetto {
            // The answer stands where the hang begins.
            let (answer, rest): (Vec<_>, Vec<_>) =
                logs.iter().partition(|log| log["ts"].as_u64() == Some(hang));
            assert!((4..=6).contains(&answer.len()), "{logs:?}");
            let [log] = &rest[..] else { panic!("{logs:?}") };
            assert_eq!(log["ts"].as_u64(), Some(hang + 5 * S + 40 * MS), "on the wall clock and back");
            assert_eq!((log["prio"].as_u64(), log["tag"].as_str()), (Some(6), Some("anrscope")));
            let message = log["msg"].as_str().unwrap();
            assert!(message.ends_with("in android.os.Handler: com.example.Main$PerformClick"), "{message}");
            let [anr] = &anr[..] else { panic!("{anr:?}") };
            let name = "ANR: LOCK WAIT, lock owner worker-1: main thread blocked 5040 ms (SIGQUIT)";
            assert_eq!(anr["name"].as_str(), Some(name));
            assert_eq!((anr["detector"].as_str(), anr["si_pid"].as_u64()), (Some("sigquit"), Some(1234)));
            assert_eq!(anr["watchdog"].as_f64(), Some(5000.0));
            assert_eq!(anr["dur"].as_u64(), Some(5 * S + 40 * MS));
        }
    }
}

#[test]
fn a_dump_request_to_an_idle_process_is_not_an_anr() {
    let bytes = RecordingBuilder::new(77, "com.example.idle")
        .start(recordings::clocks(50 * S))
        .main("main", |t| {
            t.enter(50 * S, 1);
        })
        .service(|t| {
            t.event(60 * S, Event::Sigquit(sigquit(60 * S, 0)));
        })
        .build();
    for options in &FORMS {
        let file = same_as_model(&bytes, options);
        let anrs = engine::rows(&file.0, "include perfetto module android.anrs; select * from android_anrs");
        assert!(anrs.is_empty(), "{anrs:?}");
        let marks = engine::rows(&file.0, "select ts, dur from slice where name = 'SIGQUIT'");
        assert_eq!((marks.len(), marks[0]["ts"].as_u64()), (1, Some(60 * S)));
        let server = engine::rows(&file.0, "select 1 from process where name = 'system_server'");
        assert!(server.is_empty());
    }
}

#[test]
fn the_verdict_of_the_process_decides_what_is_shown() {
    let anrs = "include perfetto module android.anrs; select * from android_anrs";
    let marks = "select name, dur, extract_arg(arg_set_id, 'debug.verdict') verdict,
        extract_arg(arg_set_id, 'debug.confidence') confidence, extract_arg(arg_set_id, 'debug.reasons') reasons,
        extract_arg(arg_set_id, 'debug.sender') sender, extract_arg(arg_set_id, 'debug.judged_by') judged_by
        from slice where name glob 'ANR: *' or name = 'SIGQUIT' order by ts, dur";
    let shown = |verdicts: &[Verdict]| {
        let mut bytes = stalled();
        for verdict in verdicts {
            bytes = bytes.section(SectionKind::Verdict, &verdict.encode());
        }
        let bytes = bytes.build();
        // The same rows in all forms, and the arguments where they are easy to query.
        for options in &FORMS[1..] {
            same_as_model(&bytes, options);
        }
        let answer = engine::ask(
            &same_as_model(&bytes, &FORMS[0]).0,
            &[anrs, marks, "select msg from android_logs where ts > 102000000000"],
        );
        assert!(answer.problems.is_empty(), "{:?}", answer.problems);
        answer.queries
    };

    // A suspicion first, and an ANR when the system was asked.
    let rows = shown(&[verdict(Outcome::SuspectedAnr, false), verdict(Outcome::Anr, true)]);
    let ([anr], [mark], [log]) = (&rows[0][..], &rows[1][..], &rows[2][..]) else { panic!("{rows:?}") };
    assert_eq!(anr["subject"], "main thread blocked 5040 ms (SIGQUIT)");
    assert_eq!((&mark["verdict"], &mark["confidence"]), (&"ANR".into(), &"high confidence".into()));
    assert_eq!(
        (&mark["sender"], &mark["judged_by"]),
        (&"system".into(), &"the process, reconsidered".into())
    );
    assert_eq!(
        mark["reasons"],
        "sent by the system (uid 1000); main has been in one message for 5040 ms: stuck (5000 ms or more)"
    );
    let log = log["msg"].as_str().unwrap();
    assert!(
        log.starts_with("ANR (high confidence) in com.example.app: ") && log.contains("(uid 1000)"),
        "{log}"
    );

    // Only suspected: in the form of an ANR that the app reports itself.
    let rows = shown(&[verdict(Outcome::SuspectedAnr, false)]);
    assert_eq!(rows[0][0]["subject"], "App requested: main thread blocked 5040 ms (suspected at a SIGQUIT)");
    assert_eq!(rows[1][0]["verdict"], "suspected ANR");

    // No ANR, though main was in one message for more than 2 s: what is left is our watchdog's own suspicion.
    let rows = shown(&[verdict(Outcome::DumpRequested, false)]);
    let [watchdog] = &rows[0][..] else { panic!("{rows:?}") };
    assert_eq!(watchdog["subject"], "App requested: main thread blocked 5000 ms (watchdog)");
    let [_, mark] = &rows[1][..] else { panic!("{rows:?}") };
    assert_eq!((&mark["name"], &mark["verdict"]), (&"SIGQUIT".into(), &"dump requested".into()));

    // Without a verdict the rule decides, and is named.
    let rows = shown(&[]);
    assert_eq!(rows[0][0]["subject"], "main thread blocked 5040 ms (SIGQUIT)");
    assert_eq!(
        (&rows[1][0]["judged_by"], &rows[1][0]["verdict"]),
        (&"2 s rule".into(), &serde_json::Value::Null)
    );
}

#[test]
fn the_standard_librarys_form_can_be_left_out() {
    let options = ExportOptions { stdlib_anr: false, ..FORMS[0].clone() };
    let (file, summary) = export_to_file(&stalled().build(), &options);
    assert_eq!(summary.counts.anrs, 1);
    let server = engine::rows(&file.0, "select 1 from process where name = 'system_server'");
    assert!(server.is_empty());
    assert_eq!(engine::rows(&file.0, "select 1 from slice where name glob 'ANR: *'").len(), 1);
}

#[test]
fn hangs_of_a_jvm_have_a_track_with_their_cause() {
    let wait = Wait { lock: 5, ..Wait::new(WaitKind::Monitor) };
    let recording = RecordingBuilder::new(7, "Shop").last_alive(120 * S);
    let recording = recording.section(trace_format::section::SectionKind::Process, b"os=linux\n");
    let bytes = recording
        .main("main", |main| {
            main.enter(100 * S, 7).enter(101 * S, 8).event(102 * S, Event::WaitBegin(wait));
        })
        .build();
    let (file, _) = export_to_file(&bytes, &FORMS[0]);
    let hang = "select s.ts, s.dur, s.name, extract_arg(s.arg_set_id, 'debug.cause') cause, t.name track
        from slice s join track t on s.track_id = t.id where t.name = 'hang'";
    let log = "select msg from android_logs where ts = 102000000000 order by id";
    let answer = engine::ask(&file.0, &[hang, log]);
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    let [slice] = &answer.queries[0][..] else { panic!("{:?}", answer.queries) };
    assert_eq!((slice["ts"].as_u64(), slice["dur"].as_u64()), (Some(102 * S), Some(18 * S)), "{slice}");
    assert!(slice["name"].as_str().unwrap().starts_with("Hang of main: LOCK WAIT"), "{slice}");
    assert_eq!(slice["cause"], "lock wait", "{slice}");
    let [first, ..] = &answer.queries[1][..] else { panic!("{:?}", answer.queries) };
    assert!(first["msg"].as_str().unwrap().starts_with("Hang in Shop (pid 7): main thread"), "{first}");
}
