//! Traces with steps of concurrent work, ordinary and hostile ones, row by row.

use proptest::prelude::*;
use test_support::recordings;
use trace_format::TextId;
use trace_format::event::{Concurrency, ConcurrencyStep, Wait, WaitKind};

use super::*;
use test_support::recordings::tasks::{START, Script, step, tasks};

#[test]
fn every_row_of_a_trace_with_tasks_is_the_models() {
    for options in &FORMS {
        same_as_model(&tasks().build(), options);
    }
    let part = |selection: Selection| ExportOptions { selection, ..FORMS[0].clone() };
    same_as_model(
        &tasks().build(),
        &part(Selection { from: Some(S), to: Some(2 * S), ..Selection::default() }),
    );
    let threads = vec!["main".to_owned()];
    same_as_model(&tasks().build(), &part(Selection { threads, ..Selection::default() }));
}

fn counts(bytes: &[u8]) -> (usize, usize, usize) {
    let (model, _) = collect(bytes, &map());
    let arrows: std::collections::HashSet<u64> = model.flows.iter().map(|(number, _)| *number).collect();
    let queued = model.slices.iter().filter(|slice| slice.place.starts_with("queue of ")).count();
    (arrows.len(), queued, model.counters.len())
}

#[test]
fn a_flood_of_tasks_has_bounded_arrows_and_all_are_counted() {
    let b = RecordingBuilder::new(7, "flood").start(recordings::clocks(START)).main("main", |t| {
        let mut t = Script(t);
        for task in 0..10_000_u32 {
            t.step(u64::from(task), Concurrency { method: 3, ..step(ConcurrencyStep::Created, 1 + task, 0) });
            t.step(u64::from(task), step(ConcurrencyStep::Submitted, 1 + task, (1 << 20) | (task % 100)));
        }
    });
    let bytes = b.build();
    let (arrows, queued, counters) = counts(&bytes);
    assert_eq!(queued, 32 * 16, "32 queues of 16 lanes, and no task ends");
    assert!((queued..=4096).contains(&arrows), "{arrows}");
    assert_eq!(counters, 32 * 100, "each task of the 32 queues");
    let (model, tally) = collect(&bytes, &map());
    assert!(tally.skipped > 0);
    let logged = |part: &str| model.logs.iter().any(|(_, _, line)| line.contains(part));
    assert!(logged("5904 tasks have no arrow"), "{:?}", model.logs);
    assert!(logged("68 executors and handlers have no track"), "{:?}", model.logs);
}

fn any_event() -> impl Strategy<Value = (u64, Event)> {
    let concurrency = (0..17_u32, 0..6_u32, 0..6_u32, 0..6_u32, 0..4_u16, 0..4_u32).prop_map(
        |(kind, object, other, method, line, class)| {
            let (class, other_class) = (TextId(class), TextId(class));
            let step = step(ConcurrencyStep::from(kind), object, other);
            Event::Concurrency(Concurrency { method, line, class, other_class, ..step })
        },
    );
    let wait = (0..7_u32, 0..4_u32, 0..6_u64, 0..4_u32).prop_map(|(kind, owner, lock, class)| {
        Event::WaitBegin(Wait { owner, lock, class: TextId(class), ..Wait::new(WaitKind::from(kind)) })
    });
    let message = (0..6_u32, 0..4_u32, 0..3_u64).prop_map(|(handler, callback, due)| {
        let due = due * START;
        Event::MessageBegin(Message { handler, callback: TextId(callback), due, ..Message::default() })
    });
    let method = (1..6_u32, any::<bool>())
        .prop_map(|(id, begin)| if begin { Event::Enter(id) } else { Event::Exit(id) });
    let event = prop_oneof![
        6 => concurrency, 2 => wait, 1 => message, 3 => method, 1 => Just(Event::WaitEnd), 1 => Just(Event::MessageEnd)
    ];
    (0..300_u64, event)
}

fn built(threads: Vec<Vec<(u64, Event)>>) -> Vec<u8> {
    let mut b = RecordingBuilder::new(7, "any").start(recordings::clocks(START)).last_alive(START + 9 * S);
    for text in ["com.example.Worker", "android.os.Message", "java.util.concurrent.FutureTask"] {
        b.text(text);
    }
    for (number, mut events) in threads.into_iter().enumerate() {
        events.sort_by_key(|(time, _)| *time);
        let fill = |t: &mut ThreadBuilder| {
            let mut t = Script(t);
            for (time, event) in events {
                t.at(time, event);
            }
        };
        b = match number {
            0 => b.main("main", fill),
            _ => b.thread(&format!("pool-1-thread-{number}"), 10 + number as u32, fill),
        };
    }
    b.build()
}

proptest! {
    #[test]
    fn any_steps_give_a_balanced_model_whose_times_never_run_back(
        threads in prop::collection::vec(prop::collection::vec(any_event(), 0..60), 1..4)
    ) {
        let bytes = built(threads);
        let (model, _) = collect(&bytes, &map());
        prop_assert!(model.slices.iter().all(|slice| slice.ts >= START));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_steps_are_the_same_rows_in_the_engine(
        threads in prop::collection::vec(prop::collection::vec(any_event(), 0..60), 1..4)
    ) {
        same_as_model(&built(threads), &FORMS[0]);
    }
}
