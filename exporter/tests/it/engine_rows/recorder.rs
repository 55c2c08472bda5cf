//! The recorder's own tracks, as the engine has them.

use exporter::Format;
use trace_format::Event;
use trace_format::event::{Change, Control, Message, Stall, Usage};
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

use super::{engine, same_as_model};
use test_support::recordings::collect::collect;
use test_support::recordings::{self, FORMS, MS, S, map};

/// A recording whose recorder measured itself, was paused, switched methods off and polled a late main.
pub(super) fn controlled() -> Vec<u8> {
    let control = |change, method, rate| Event::Control(Control { change, method, rate });
    let usage = |state, ran, waited, voluntary| {
        Event::Usage(Usage { tid: 4242, state, ran, waited, voluntary, involuntary: 1 })
    };
    let mut b = RecordingBuilder::new(4242, "com.example.app")
        .map_id(map().map_id())
        .start(recordings::clocks(100 * S));
    let target = b.text("H");
    let message = Event::MessageBegin(Message { target, what: 9, ..Message::default() });
    b.main("main", |t| {
        for i in 0..1_000 {
            t.enter(100 * S + i * MS, 5).exit(100 * S + i * MS + 1_000, 5);
        }
        // Open over the pause.
        t.enter(102 * S, 1).exit(106 * S, 1);
        t.event(110 * S, message).enter(110 * S + MS, 2);
    })
    .thread("coarse one", 4250, |t| {
        t.coarse().enter(100 * S, 3).exit(101 * S, 3).enter(104 * S, 4).exit(107 * S, 4);
    })
    .thread("later", 4251, |t| {
        t.enter(107 * S, 3).exit(108 * S, 3);
    })
    .service(|t| {
        t.event(101 * S, control(Change::Coarse, 0, 0))
            .event(103 * S, control(Change::Paused, 0, 0))
            .event(105 * S, control(Change::Resumed, 0, 0))
            .event(106 * S, control(Change::OverBudget, 5, 250_000))
            .event(107 * S, control(Change::MethodOff, 4, 0))
            .event(108 * S, control(Change::MethodOn, 4, 0))
            .event(112 * S, usage(b'S', S, 0, 10))
            .event(112 * S + 500 * MS, usage(b'R', S + 400 * MS, 90 * MS, 11))
            .event(113 * S, usage(b'S', S + 410 * MS, 100 * MS, 15))
            .event(115 * S, Event::Stall(Stall { stuck_since: 110 * S }))
            .event(118 * S, control(Change::Paused, 0, 0));
    })
    .section(
        SectionKind::SelfMeasurement,
        b"clock=cycle counter\nns_per_event_coarse=5.00\nns_per_event_precise=100.00\n",
    )
    .last_alive(120 * S)
    .build()
}

#[test]
fn the_recorder_shows_what_it_did_and_what_that_cost() {
    let bytes = controlled();
    let queries = [
        "select s.ts, s.dur, s.name, s.depth, tr.name track, t.name thread from slice s join track tr on s.track_id = tr.id
           left join thread_track tt on s.track_id = tt.id left join thread t using (utid)
           where s.name glob 'recording*' or s.name glob 'o*: *' or s.name glob 'clock: *' order by s.ts, s.depth, t.tid",
        "select a.key, a.display_value v from slice s join args a using (arg_set_id) where s.name = 'recording'",
        "select extract_arg(arg_set_id, 'debug.thread') || extract_arg(arg_set_id, 'args.thread') x,
           coalesce(extract_arg(arg_set_id, 'debug.thread'), extract_arg(arg_set_id, 'args.thread')) thread,
           coalesce(extract_arg(arg_set_id, 'debug.events'), extract_arg(arg_set_id, 'args.events')) events,
           coalesce(extract_arg(arg_set_id, 'debug.cost_percent'), extract_arg(arg_set_id, 'args.cost_percent')) cost
           from slice where name = 'thread recorded' order by ts, events desc",
        "select c.ts, c.value from counter c join counter_track t on c.track_id = t.id where t.name glob 'recording''s cost*'
           order by c.ts",
        "select c.ts, c.value from counter c join counter_track t on c.track_id = t.id
           where t.name glob 'methods switched off*' order by c.ts",
        "select s.ts, s.dur, s.name from slice s join track tr on s.track_id = tr.id left join thread_track tt
           on s.track_id = tt.id left join thread t using (utid)
           where 'main: processor while late' in (t.name, tr.name) order by s.ts",
        "select coalesce(extract_arg(arg_set_id, 'debug.cpu_ms'), extract_arg(arg_set_id, 'args.cpu_ms')) cpu,
           coalesce(extract_arg(arg_set_id, 'debug.runnable_ms'), extract_arg(arg_set_id, 'args.runnable_ms')) runnable,
           coalesce(extract_arg(arg_set_id, 'debug.mostly'), extract_arg(arg_set_id, 'args.mostly')) mostly,
           coalesce(extract_arg(arg_set_id, 'debug.voluntary_switches'),
             extract_arg(arg_set_id, 'args.voluntary_switches')) voluntary from slice where name = 'H: #9' and mostly is not null",
        "select ts, msg from android_logs where msg glob 'recorder: *' order by ts",
    ];
    for options in &FORMS {
        let file = same_as_model(&bytes, options);
        let answer = engine::ask(&file.0, &queries);
        assert!(answer.problems.is_empty(), "{:?}", answer.problems);
        let [slices, args, threads, cost, off, cpu, message, logs] = &answer.queries[..] else { panic!() };
        let number =
            |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        let at = |row: &serde_json::Value| row["ts"].as_u64().unwrap() / MS;

        // On the recorder's track, and in the gap of each thread that lived then.
        let found: Vec<_> = slices
            .iter()
            .map(|r| (at(r), r["dur"].as_u64().unwrap() / MS, r["name"].as_str().unwrap()))
            .collect();
        let pause = (103_000, 2_000, "recording paused");
        let last = (118_000, 2_000, "recording paused");
        let wanted = [
            (100_000, 20_000, "recording"),
            (101_000, 0, "clock: coarse"),
            pause,
            pause,
            (106_000, 0, "off: com.example.List.draw"),
            (107_000, 0, "off: com.example.Db.write"),
            (108_000, 0, "on: com.example.Db.write"),
            last,
            last,
        ];
        // The pool's second thread has an event at 104 s, which splits its pause.
        let split = [(103_000, 1_000, "recording paused"), (104_000, 1_000, "recording paused")];
        let mut sorted = found.clone();
        sorted.sort();
        let mut wanted: Vec<_> = wanted.into_iter().chain(split).chain([last, last]).collect();
        wanted.sort();
        assert_eq!(sorted, wanted);

        let arg = |key: &str| {
            let mut with_prefix =
                args.iter().filter(|a| a["key"].as_str().unwrap().ends_with(&format!(".{key}")));
            with_prefix.next().unwrap_or_else(|| panic!("{key} in {args:?}"))["v"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!((arg("events").as_str(), arg("clock").as_str()), ("2010", "cycle counter"));
        assert_eq!(arg("ns_per_event_precise").parse(), Ok(100.0));
        // 2,004 events of 100 ns in 20 s.
        assert_eq!(arg("cost_percent_main").parse(), Ok(0.001));

        let found: Vec<_> = threads
            .iter()
            .map(|r| (r["thread"].as_str().unwrap(), number(r, "events") as u64, number(r, "cost")))
            .collect();
        assert_eq!(found, [("main", 2004, 0.002), ("coarse one", 4, 0.0), ("later", 2, 0.0)]);

        // 200 events of 100 ns in each tenth of the first second.
        let found: Vec<_> = cost.iter().map(|r| (at(r), number(r, "value"))).collect();
        assert_eq!(found, [(100_000, 0.02), (101_000, 0.0)]);
        let found: Vec<_> = off.iter().map(|r| (at(r), number(r, "value"))).collect();
        assert_eq!(found, [(106_000, 1.0), (107_000, 2.0), (108_000, 1.0)]);

        let found: Vec<_> = cpu
            .iter()
            .map(|r| (at(r), r["dur"].as_u64().unwrap() / MS, r["name"].as_str().unwrap()))
            .collect();
        assert_eq!(found, [(112_000, 500, "Running"), (112_500, 500, "Sleeping")]);
        let [message] = &message[..] else { panic!("{message:?}") };
        assert_eq!((number(message, "cpu"), number(message, "runnable")), (410.0, 100.0));
        assert_eq!((message["mostly"].as_str(), number(message, "voluntary")), (Some("asleep"), 5.0));

        if options.format == Format::Perfetto {
            let text = |i: usize| logs[i]["msg"].as_str().unwrap();
            assert_eq!(logs.len(), 7, "{logs:?}");
            assert_eq!(text(1), "recorder: recording is paused from here on");
            assert_eq!(
                text(3),
                "recorder: com.example.List.draw is not recorded from here on: its calls are short, and 250000 events \
                 a second are over the budget"
            );
        }
    }
    let (_, tally) = collect(&bytes, &map());
    assert_eq!((tally.paused, tally.methods_off, tally.main_cost_ppm), (4 * S, 1, 10));
}
