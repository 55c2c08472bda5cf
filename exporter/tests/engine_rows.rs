//! What the real Perfetto engine makes of our traces, compared with the model row by row.

mod common;
mod engine;
#[path = "engine_rows/recorder.rs"]
mod recorder;
#[path = "engine_rows/whole.rs"]
mod whole;

use std::collections::HashMap;
use std::path::Path;

use common::app::app;
use common::collect::{Slice, collect, collect_part, number};
use common::{FORMS, MS, S, TempFile, export_to_file, map, sigquit, stalled, verdict};
use exporter::model::Track;
use exporter::{ExportOptions, Format, Selection};
use trace_format::event::{Clocks, Frame, Message, Stage};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::verdict::{Outcome, Verdict};
use trace_format::{Event, Recording};

/// The tracks that are no thread's; a JSON trace has threads of these names.
fn plain_names() -> String {
    let names = Track::PLAIN.map(|track| format!("'{}'", track.described().expect("it has a name").0));
    names.join(",")
}

/// All slices (instants, which are slices without length there, left out by their category of track).
const SLICES: &str = "
  select iif(tr.name in (PLAIN), tr.name, coalesce(iif(t.name in (PLAIN), t.name, t.tid), tr.name))
    place, s.ts, s.dur, s.depth, s.name, s.arg_set_id,
    coalesce(extract_arg(s.arg_set_id, 'debug.incomplete'), extract_arg(s.arg_set_id, 'args.incomplete'), 0)
      incomplete
  from slice s join track tr on s.track_id = tr.id left join thread_track tt on s.track_id = tt.id
    left join thread t using (utid)
  where tr.name is null or tr.name not in ('Actual Timeline', 'Expected Timeline')";

/// All arguments of all slices.
const ARGS: &str = "
  select arg_set_id, key, coalesce(string_value, int_value, real_value) value from args
  where arg_set_id in (select arg_set_id from slice) and (key glob 'debug.*' or key glob 'args.*')";

type ArgSets = HashMap<u64, Vec<(String, String)>>;

fn arg_sets(rows: &[serde_json::Value]) -> ArgSets {
    let mut sets = ArgSets::new();
    for row in rows {
        let key = row["key"].as_str().unwrap().split_once('.').unwrap().1.to_owned();
        let value = match &row["value"] {
            serde_json::Value::String(text) => text.clone(),
            n => n.as_u64().map(|n| n.to_string()).unwrap_or_else(|| number(n.as_f64().unwrap())),
        };
        sets.entry(row["arg_set_id"].as_u64().unwrap()).or_default().push((key, value));
    }
    sets.values_mut().for_each(|set| set.sort());
    sets
}

fn slices(rows: &[serde_json::Value], sets: &ArgSets) -> Vec<Slice> {
    let mut slices: Vec<Slice> = rows
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}"));
            let place = &row["place"];
            Slice {
                place: place.as_str().map_or_else(|| place.to_string(), str::to_owned),
                ts: number("ts"),
                dur: number("dur"),
                depth: number("depth"),
                name: row["name"].as_str().unwrap_or_else(|| panic!("no name: {row}")).to_owned(),
                incomplete: number("incomplete") == 1,
                args: row["arg_set_id"].as_u64().and_then(|id| sets.get(&id)).cloned().unwrap_or_default(),
            }
        })
        .collect();
    slices.sort();
    slices
}

/// All slices of a trace, which must be without a problem.
fn rows_of(trace: &Path) -> Vec<Slice> {
    let answer = engine::ask(trace, &[&SLICES.replace("PLAIN", &plain_names()), ARGS]);
    assert!(answer.problems.is_empty(), "{}: {:?}", trace.display(), answer.problems);
    slices(&answer.queries[0], &arg_sets(&answer.queries[1]))
}

/// Exports in one form, lets the engine check it, and compares all slices.
fn same_as_model(bytes: &[u8], options: &ExportOptions) -> TempFile {
    let (file, summary) = export_to_file(bytes, options);
    let (model, tally) = collect_part(bytes, &map(), &options.selection);
    assert_eq!(summary.counts, tally);
    let mut wanted = model.slices;
    let instants = model.instants.into_iter().zip(model.instant_args);
    wanted.extend(instants.map(|((place, ts, name), args)| Slice {
        place,
        ts,
        dur: 0,
        depth: u64::MAX,
        name,
        incomplete: false,
        args,
    }));
    let mut found = rows_of(&file.0);
    // An instant's depth is not ours to say.
    let instants: Vec<_> = wanted.iter().filter(|s| s.depth == u64::MAX).cloned().collect();
    for slice in &mut found {
        let same = |i: &Slice| (&i.place, i.ts, &i.name) == (&slice.place, slice.ts, &slice.name);
        if slice.dur == 0 && instants.iter().any(same) {
            slice.depth = u64::MAX;
        }
    }
    wanted.sort();
    found.sort();
    for (i, (w, f)) in wanted.iter().zip(&found).enumerate() {
        assert_eq!(w, f, "row {i} of {} in {options:?}", wanted.len());
    }
    assert_eq!(wanted.len(), found.len(), "{options:?}");
    file
}

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
            let [log] = &logs[..] else { panic!("{logs:?}") };
            assert_eq!(log["ts"].as_u64(), Some(hang + 5 * S + 40 * MS), "on the wall clock and back");
            assert_eq!((log["prio"].as_u64(), log["tag"].as_str()), (Some(6), Some("anrscope")));
            let message = log["msg"].as_str().unwrap();
            assert!(message.ends_with("in android.os.Handler: com.example.Main$PerformClick"), "{message}");
            let [anr] = &anr[..] else { panic!("{anr:?}") };
            assert_eq!(anr["name"].as_str(), Some("ANR: main thread blocked 5040 ms (SIGQUIT)"));
            assert_eq!((anr["detector"].as_str(), anr["si_pid"].as_u64()), (Some("sigquit"), Some(1234)));
            assert_eq!(anr["watchdog"].as_f64(), Some(5000.0));
            assert_eq!(anr["dur"].as_u64(), Some(5 * S + 40 * MS));
        }
    }
}

#[test]
fn a_dump_asked_of_an_idle_process_is_no_anr() {
    let bytes = RecordingBuilder::new(77, "com.example.idle")
        .start(common::clocks(50 * S))
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
fn what_the_process_said_of_a_signal_decides_what_is_shown() {
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
        // The same rows in all forms, and the arguments where they are easy to ask for.
        for options in &FORMS[1..] {
            same_as_model(&bytes, options);
        }
        let answer =
            engine::ask(&same_as_model(&bytes, &FORMS[0]).0, &[anrs, marks, "select msg from android_logs"]);
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

    // Without a verdict the rule decides, and says so.
    let rows = shown(&[]);
    assert_eq!(rows[0][0]["subject"], "main thread blocked 5040 ms (SIGQUIT)");
    assert_eq!(
        (&rows[1][0]["judged_by"], &rows[1][0]["verdict"]),
        (&"2 s rule".into(), &serde_json::Value::Null)
    );
}

#[test]
fn the_standard_librarys_form_can_be_left_out() {
    let options = ExportOptions { stdlib_anr: false, ..ExportOptions::default() };
    let (file, summary) = export_to_file(&stalled().build(), &options);
    assert_eq!(summary.counts.anrs, 1);
    let server = engine::rows(&file.0, "select 1 from process where name = 'system_server'");
    assert!(server.is_empty());
    assert_eq!(engine::rows(&file.0, "select 1 from slice where name glob 'ANR: *'").len(), 1);
}

#[test]
fn extreme_shapes_are_kept_or_cut_as_the_model_says() {
    let one = |t: &mut ThreadBuilder| {
        t.enter(10 * S, 1).exit(11 * S, 1);
    };
    let mut crowd = RecordingBuilder::new(500, "crowd").main("main", one);
    for i in 0..199 {
        crowd = crowd.thread(&format!("pool-{i}"), 501 + i, one);
    }
    let deep = RecordingBuilder::new(501, "deep").main("main", |t| {
        for i in 0..600 {
            t.enter(S + i, 1 + (i as u32 % 5));
        }
        for i in (0..600).rev() {
            t.exit(2 * S - i, 1 + (i as u32 % 5));
        }
        t.enter(3 * S, 1).exit(4 * S, 1);
    });
    let mut odd_names = RecordingBuilder::new(503, "na\"me \\ ü \u{1F600}");
    let marks: Vec<_> =
        ["quote\" back\\slash", "nul\0 tab\t", "\u{1F600} smile", "\u{7f}", &"x".repeat(5000)]
            .map(|t| odd_names.text(t))
            .into();
    let odd_names = odd_names.main("main \u{1F600}", |t| {
        for (i, mark) in marks.iter().enumerate() {
            let at = S + i as u64 * 10;
            t.event(at, Event::SpanBegin(*mark))
                .event(at + 1, Event::Mark(*mark))
                .event(at + 3, Event::SpanEnd);
        }
    });
    let damaged = RecordingBuilder::new(504, "damaged")
        .main("main", |t| {
            t.overwritten(2).exit(S, 9).enter(2 * S, 1).enter(3 * S, 2).enter(4 * S, 3);
            t.exit(5 * S, 1).exit(6 * S, 3).event(7 * S, Event::MessageEnd).enter(8 * S, 4);
        })
        .thread("ended", 600, |t| {
            t.enter(S, 1).ended(5 * S);
        });
    let empty = RecordingBuilder::new(505, "empty");
    let numberless = RecordingBuilder::new(0, "").main("", one).thread("", 0, one).thread("twin", 0, one);
    let shapes = [crowd, deep, odd_names, damaged, empty, numberless].map(RecordingBuilder::build);
    for bytes in &shapes {
        for options in &FORMS {
            same_as_model(bytes, options);
        }
    }
    let (_, tally) = collect(&shapes[1], &map());
    assert_eq!((tally.slices, tally.cut_depth, tally.unbalanced), (513, 88, 0));
    let (_, tally) = collect(&shapes[3], &map());
    assert_eq!(
        (tally.orphan_exits, tally.unbalanced, tally.incomplete, tally.overwritten),
        (3, 2, 2, 2 * 1016)
    );
}

#[test]
fn the_deepest_slice_that_is_shown_says_how_much_is_below_it() {
    let bytes = RecordingBuilder::new(501, "deep").main("main", |t| {
        (0..600).for_each(|i| {
            t.enter(S + i, 1);
        });
    });
    let (file, _) = export_to_file(&bytes.build(), &ExportOptions::default());
    let rows = engine::rows(
        &file.0,
        "select depth, extract_arg(arg_set_id, 'debug.truncated_depth') n from slice where n is not null",
    );
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["depth"].as_u64(), rows[0]["n"].as_u64()), (Some(511), Some(88)));
}

#[test]
fn slices_of_equal_times_keep_their_nesting() {
    let mut b = RecordingBuilder::new(9, "ties");
    let name = b.text("android.os.Handler");
    let message = Message { target: name, callback: name, what: 1, ..Message::default() };
    let bytes = b
        .main("main", |t| {
            // Parent and children begin and end together, three deep; then siblings at one time.
            t.event(S, Event::MessageBegin(message))
                .event(S, Event::FrameBegin(Frame { vsync: 1, ..Frame::default() }))
                .event(S, Event::StageBegin(Stage::Input))
                .event(2 * S, Event::StageEnd(Stage::Input))
                .event(2 * S, Event::FrameEnd)
                .event(2 * S, Event::MessageEnd)
                .enter(2 * S, 1)
                .enter(2 * S, 4)
                .exit(3 * S, 4)
                .enter(3 * S, 2)
                .exit(3 * S, 2)
                .exit(4 * S, 1)
                .enter(4 * S, 5)
                .exit(4 * S, 5);
        })
        .build();
    for options in &FORMS {
        same_as_model(&bytes, options);
    }
}

#[test]
fn without_length_json_may_lose_the_depth_and_nothing_else() {
    let bytes = RecordingBuilder::new(9, "ties")
        .main("main", |t| {
            // Inside of another without length, and beside a sibling of the same time.
            t.enter(S, 1).enter(S, 2).exit(S, 2).exit(S, 1);
            t.enter(2 * S, 1).enter(2 * S, 2).exit(2 * S, 2).enter(2 * S, 3).exit(3 * S, 3).exit(4 * S, 1);
        })
        .build();
    same_as_model(&bytes, &FORMS[0]);
    let (file, _) = export_to_file(&bytes, &FORMS[2]);
    let flat = |mut slices: Vec<Slice>| {
        slices.iter_mut().for_each(|s| s.depth = 0);
        slices.sort();
        slices
    };
    assert_eq!(flat(rows_of(&file.0)), flat(collect(&bytes, &map()).0.slices));
}

#[test]
fn a_recording_cut_anywhere_gives_a_good_trace() {
    let whole = stalled().build();
    for length in [4096, 5000, 12_288, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let cut = &whole[..length];
        assert!(Recording::open(cut).is_ok());
        same_as_model(cut, &FORMS[0]);
        same_as_model(cut, &FORMS[2]);
    }
}

#[test]
fn several_recordings_are_several_processes_of_one_trace() {
    let other = |pid, name: &str| {
        RecordingBuilder::new(pid, name).start(common::clocks(101 * S)).main("main", |t| {
            t.enter(101 * S, 1).exit(102 * S, 1).enter(103 * S, 2);
        })
    };
    // Another process, and a restart that was given the same pid and whose thread has a tid in use.
    let files = [
        stalled().build(),
        other(4300, "com.example:remote").build(),
        other(4242, "com.example.app")
            .thread("worker", 4250, |t| {
                t.enter(104 * S, 3);
            })
            .build(),
    ];
    let recordings: Vec<_> = files.iter().map(|f| Recording::open(f).unwrap()).collect();
    let map = map();
    let path = std::path::Path::new("test.anrscope");
    let inputs: Vec<_> = recordings
        .iter()
        .map(|recording| exporter::ExportInput { file: path, recording, map: &map })
        .collect();
    for options in &FORMS {
        let file = TempFile::new("trace");
        let out = std::fs::File::create(&file.0).unwrap();
        let summary = exporter::export(&inputs, options, out).unwrap();
        let rows = engine::rows(
            &file.0,
            "select p.name, p.pid, count() n, sum(t.is_main_thread) main from slice s
               join thread_track tt on s.track_id = tt.id join thread t using (utid) join process p using (upid)
               where t.name not in ('ANR', 'main: messages before an ANR')
                 and s.name not in ('screen shown', 'another thread waits for this one''s lock')
               group by upid order by p.pid",
        );
        let found: Vec<_> =
            rows.iter().map(|r| (r["name"].as_str().unwrap(), r["n"].as_u64().unwrap())).collect();
        let [(_, first), ("com.example:remote", 2), ("com.example.app", 3)] = found[..] else {
            panic!("{rows:?}")
        };
        assert_eq!(rows[2]["main"].as_u64(), Some(2), "{rows:?}");
        // The first one's ANR and the two lines of its messages before that are on tracks that are not counted here.
        assert_eq!(summary.counts.slices, first + 2 + 3 + 1 + 2);
    }
}

#[test]
fn a_map_of_another_build_is_told_in_the_trace_and_gives_no_name() {
    let bytes = stalled().map_id(trace_format::MapId(0xbad)).build();
    let (file, summary) = export_to_file(&bytes, &ExportOptions::default());
    assert!(matches!(summary.warnings[..], [exporter::Warning::MapOfOtherBuild { .. }]));
    let answer = engine::ask(
        &file.0,
        &[
            "select prio, msg from android_logs order by ts",
            "select 1 from slice where name glob 'com.example.*'",
        ],
    );
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    let [warning, _anr] = &answer.queries[0][..] else { panic!("{:?}", answer.queries[0]) };
    assert!(warning["msg"].as_str().unwrap().contains("is of another build"), "{warning}");
    assert_eq!(warning["prio"], 5);
    assert!(answer.queries[1].is_empty());
}

#[test]
fn an_output_that_cannot_be_written_is_told() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::new(std::io::ErrorKind::StorageFull, "no space left"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let file = stalled().build();
    let recording = Recording::open(&file).unwrap();
    let map = map();
    let input = exporter::ExportInput { file: std::path::Path::new("a"), recording: &recording, map: &map };
    for options in &FORMS {
        let error = exporter::export(&[input], options, Full).unwrap_err();
        assert_eq!(error.to_string(), "writing the output failed: no space left");
    }
}

#[test]
fn more_slices_than_a_browser_likes_are_told_with_a_part_that_is_worth_seeing() {
    let many = |b: RecordingBuilder| {
        b.map_id(map().map_id()).main("main", |t| {
            for i in 0..3_000_001 {
                t.enter(S + i * 1_000, 1).exit(S + i * 1_000 + 1, 1);
            }
        })
    };
    let told = |bytes: &[u8], selection: Selection| {
        let recording = Recording::open(bytes).unwrap();
        let map = map();
        let input = exporter::ExportInput { file: Path::new("a"), recording: &recording, map: &map };
        let options = ExportOptions { selection, ..ExportOptions::new(Format::Perfetto, 0) };
        exporter::export(&[input], &options, std::io::sink()).unwrap().warnings
    };
    let start = Clocks { boottime: S, monotonic: S, realtime: 1_700_000_000 * S };
    let calm = many(RecordingBuilder::new(7, "many").start(start)).last_alive(31 * S).build();
    let warnings = told(&calm, Selection::default());
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    // The trace begins at the first slice; the end is worth seeing.
    assert_eq!(*warning, exporter::Warning::ManySlices { slices: 3_000_001, from: 20 * S, to: 30 * S });
    let text = warning.to_string();
    assert!(text.contains("--from 20.000s --to 30.000s"), "{text}");
    let half = Selection { to: Some(S), ..Selection::default() };
    assert_eq!(told(&calm, half), []);
    let anr = many(RecordingBuilder::new(7, "many").start(start)).service(|t| {
        t.event(9 * S, Event::Sigquit(sigquit(9 * S, 4 * S)));
    });
    let warnings = told(&anr.build(), Selection::default());
    assert!(
        matches!(warnings[..], [exporter::Warning::ManySlices { from: 0, to, .. }] if to == 9 * S),
        "{warnings:?}"
    );
}
