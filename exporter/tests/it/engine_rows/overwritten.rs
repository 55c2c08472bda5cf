//! A thread whose oldest words were overwritten: what was open then is present in the engine.

use test_support::engine;
use trace_format::event::{Change, Control, Folded, Message, Standstill};

use super::*;
use test_support::recordings::clocks;

/// Main is in a message for 8 s, of which the last 6 s are left, and its short calls are counted. It is killed in the loop.
fn overwritten() -> RecordingBuilder {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(100 * S));
    let target = b.text("android.os.Handler");
    let folded = |since: u64, calls| {
        Event::Folded(Folded { calls, since, hot: [(5, 900_000), (4, 80_000), (0, 0), (0, 0)] })
    };
    let control = |change, rate| Event::Control(Control { change, method: 5, rate });
    b.main("main", |t| {
        t.checkpoints(30).coarse().enter(100 * S, 3);
        t.event(101 * S, Event::MessageBegin(Message { target, what: 7, ..Message::default() }));
        t.enter(101 * S + MS, 1).enter(101 * S + 2 * MS, 2).enter(101 * S + 3 * MS, 5);
        t.new_block(103 * S).enter(103 * S + MS, 4).exit(103 * S + 9 * MS, 4);
        t.event(105 * S, folded(103 * S, 20_000_000)).event(107 * S, folded(105 * S, 10_000_000));
        // The call that was innermost at the start ends; the message continues.
        t.exit(107 * S, 5).enter(107 * S + MS, 4).exit(107 * S + 3 * MS, 4).lose(0..1);
    })
    .thread("ended", 4250, |t| {
        // A message in a block that does not list what is open.
        t.overwritten(1)
            .enter(104 * S, 4)
            .exit(105 * S, 4)
            .exit(106 * S, 2)
            .event(106 * S, Event::MessageEnd);
        t.exit(108 * S, 3).ended(108 * S);
    })
    .service(|t| {
        t.event(104 * S, Event::Standstill(Standstill { since: 103 * S + 500 * MS, until: 104 * S }))
            .event(106 * S, control(Change::OverBudget, 1_015_000_000_000_000));
    })
    .section(
        SectionKind::Overhead,
        b"102000000000 cost 31.5 1200000 3.8\n106000000000 off 4 800000\n107000000000 cost 30 600000 1.8\n\
          108000000000 on 4\n",
    )
    .last_alive(109 * S)
}

#[test]
fn what_was_open_when_words_were_overwritten_is_shown_from_there() {
    let bytes = overwritten().build();
    let argument = |key: &str| {
        format!("coalesce(extract_arg(s.arg_set_id, 'debug.{key}'), extract_arg(s.arg_set_id, 'args.{key}'))")
    };
    let slices = format!(
        "select s.name, s.ts / 1000000 ts, s.dur / 1000000 dur, s.depth, t.tid, {} before, {} calls, {} mostly
         from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid)
         where t.tid in (4242, 4250) order by t.tid, s.ts, s.depth",
        argument("began_before"),
        argument("short_calls"),
        argument("short_calls_mostly")
    );
    let recorder = "select s.name, s.ts / 1000000 ts, s.dur / 1000000 dur from slice s join track tr on s.track_id = tr.id
        left join thread_track tt on s.track_id = tt.id left join thread t using (utid)
        where 'anrscope recorder' in (t.name, tr.name) and s.name not in ('recording', 'thread recorded') order by s.ts, s.name";
    let counters =
        "select t.name, c.ts / 1000000 ts, c.value from counter c join counter_track t on c.track_id = t.id
        where t.name glob '*short calls*' or t.name glob '*measured*' order by t.name, c.ts";
    for options in &FORMS {
        let file = same_as_model(&bytes, options);
        let answer = engine::ask(&file.0, &[&slices, recorder, counters]);
        assert!(answer.problems.is_empty(), "{:?}", answer.problems);
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let number = |row: &serde_json::Value, key: &str| row[key].as_f64().map_or(0, |n| n as i64);
        let found: Vec<_> = answer.queries[0]
            .iter()
            .map(|r| {
                (text(r, "name"), number(r, "ts"), number(r, "dur"), number(r, "depth"), number(r, "before"))
            })
            .collect();
        let wanted = [
            ("com.example.Worker.run", 103_000, 6_000, 0, 1),
            ("com.example.Main.onClick", 103_000, 6_000, 1, 1),
            ("com.example.Sync.save", 103_000, 6_000, 2, 1),
            ("com.example.List.draw", 103_000, 4_000, 3, 1),
            ("com.example.Db.write", 103_001, 8, 4, 0),
            ("com.example.Db.write", 107_001, 2, 3, 0),
            ("com.example.Worker.run", 104_000, 4_000, 0, 1),
            ("message (began before the record)", 104_000, 2_000, 1, 1),
            ("com.example.Sync.save", 104_000, 2_000, 2, 1),
            ("com.example.Db.write", 104_000, 1_000, 3, 0),
        ];
        let wanted: Vec<_> =
            wanted.map(|(name, ts, dur, depth, before)| (name.to_owned(), ts, dur, depth, before)).into();
        assert_eq!(found, wanted, "{options:?}");
        let short = |r: &&serde_json::Value| !r["calls"].is_null();
        let short: Vec<_> = answer.queries[0].iter().filter(short).collect();
        let [short] = &short[..] else { panic!("{short:?}") };
        let shown = (text(short, "name"), number(short, "calls"), text(short, "mostly"));
        assert_eq!(shown, ("com.example.List.draw".into(), 30_000_000, "90 % com.example.List.draw".into()));

        let found: Vec<_> =
            answer.queries[1].iter().map(|r| (text(r, "name"), number(r, "ts"), number(r, "dur"))).collect();
        let wanted = [
            ("coarse time stood still: calls look short or are missing", 103_500, 500),
            ("off: com.example.Db.write", 106_000, 0),
            ("off: com.example.List.draw", 106_000, 0),
            ("on: com.example.Db.write", 108_000, 0),
        ];
        let wanted: Vec<_> = wanted.map(|(name, ts, dur)| (name.to_owned(), ts, dur)).into();
        assert_eq!(found, wanted, "{options:?}");

        let found: Vec<_> = answer.queries[2]
            .iter()
            .map(|r| (number(r, "ts"), r["value"].as_f64().unwrap_or_default()))
            .collect();
        let wanted = [(103_000, 1e7), (105_000, 5e6), (107_000, 0.0), (102_000, 3.8), (107_000, 1.8)];
        assert_eq!(found, wanted, "{options:?}");
    }
    let (_, tally) = collect(&bytes, &map());
    assert_eq!((tally.began_before, tally.orphan_exits, tally.unbalanced, tally.methods_off), (7, 0, 0, 1));
}
