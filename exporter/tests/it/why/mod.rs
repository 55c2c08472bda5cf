//! Why main's wait is not over: each way in which a recording shows it, and those in which it does not.

mod coroutines;
mod storm;

use std::path::Path;

use exporter::report::{Why, WhyCause};
use exporter::{MethodMap, Report};
use proptest::prelude::*;
use trace_format::event::{Concurrency, ConcurrencyStep as Step, Wait, WaitKind};
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::time::MS;
use trace_format::{Event, Recording, TextId};

const MAP: &str = "\
1,1,app.Cart show ()V
2,1,app.Cart lambda$load$0 ()Ljava/lang/Object;
3,1,app.Cart lambda$other$1 ()V
4,1,app.Cart$Task run ()V
5,1,app.Cart slow ()V
6,1,app.Cart$show$1 invokeSuspend (Ljava/lang/Object;)Ljava/lang/Object;
7,1,app.Cart$show$1$1 invokeSuspend (Ljava/lang/Object;)Ljava/lang/Object;";
const LINES: &str = "1,Cart.java,10\n2,Cart.java,20\n3,Cart.java,30\n4,Cart.java,40\n5,Cart.java,50\n6,Cart.java,12\n7,Cart.java,20\n";

/// Classes of the recording's texts.
#[derive(Clone, Copy)]
struct Classes {
    future: TextId,
    lock: TextId,
    semaphore: TextId,
    latch: TextId,
    condition: TextId,
    queue: TextId,
    lambda: TextId,
    task: TextId,
    pool: TextId,
    name: TextId,
}

fn step(step: Step, object: u32, other: u32) -> Concurrency {
    let none = TextId::default();
    Concurrency { step, line: 0, method: 0, object, other, class: none, other_class: none }
}

fn at(time: u64, thread: &mut ThreadBuilder, step: Concurrency) {
    thread.event(time * MS, Event::Concurrency(step));
}

fn waits(time: u64, thread: &mut ThreadBuilder, (lock, class, owner): (u32, TextId, u32)) {
    let wait = Wait { owner, lock: lock.into(), class, ..Wait::new(WaitKind::Park) };
    thread.event(time * MS, Event::WaitBegin(wait));
}

/// Builds a recording of a JVM that was killed at 20 s, and asks why main waits.
fn why(fill: impl FnOnce(RecordingBuilder, Classes) -> RecordingBuilder) -> Option<Why> {
    let mut builder = RecordingBuilder::new(7, "app").last_alive(20_000 * MS);
    let mut text = |text: &str| builder.text(text);
    let classes = Classes {
        future: text("java.util.concurrent.FutureTask"),
        lock: text("java.util.concurrent.locks.ReentrantLock"),
        semaphore: text("java.util.concurrent.Semaphore"),
        latch: text("java.util.concurrent.CountDownLatch"),
        condition: text("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"),
        queue: text("java.util.concurrent.LinkedBlockingQueue"),
        lambda: text("app.Cart$$Lambda/0x1"),
        task: text("app.Cart$Task"),
        pool: text("java.util.concurrent.ThreadPoolExecutor"),
        name: text("worker"),
    };
    // Any steps may have these classes.
    for more in
        [Concurrency::SUSPENDED, "app.Cart$show$1", "kotlinx.coroutines.sync.MutexImpl", "android.os.Looper"]
    {
        text(more);
    }
    let bytes = fill(builder, classes).build();
    let mut map = MethodMap::parse(Path::new("map"), MAP.as_bytes().to_vec()).unwrap();
    map.set_source_lines(LINES.to_owned());
    let recording = Recording::open(&bytes).unwrap();
    let report = Report::build(Path::new("a"), &recording, &map).unwrap();
    report.hang.expect("main waits for 18 s").why
}

const FUTURE: u32 = 100;
const TASK: u32 = 101;
const POOL: u32 = 102;
const LOCK: u32 = 103;

/// Main hands the lambda with the code `method` to the pool at line 12 of `show`, and waits for its future.
fn submits(time: u64, main: &mut ThreadBuilder, c: Classes, (object, future, method): (u32, u32, u32)) {
    at(time, main, Concurrency { method, class: c.lambda, ..step(Step::Created, object, 0) });
    let submitted = step(Step::Submitted, object, POOL);
    at(
        time + 1,
        main,
        Concurrency { method: 1, line: 12, class: c.lambda, other_class: c.pool, ..submitted },
    );
    at(time + 2, main, step(Step::Future, future, object));
}

fn starts(time: u64, thread: &mut ThreadBuilder, object: u32, method: u32) {
    thread.enter(time * MS, method);
    at(time, thread, Concurrency { method, ..step(Step::Started, object, 0) });
}

/// Main starts the thread of the name `worker`, object 801, at line 33 of `show`.
fn starts_worker(main: &mut ThreadBuilder, c: Classes) {
    at(901, main, Concurrency { method: 1, line: 33, class: c.name, ..step(Step::ThreadStarted, 801, 0) });
}

#[test]
fn a_future_leads_to_the_thread_that_runs_its_task() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                submits(1_000, main, c, (TASK, FUTURE, 2));
                waits(1_003, main, (FUTURE, c.future, 0));
            })
            .thread("pool-1-thread-1", 9, |worker| {
                starts(1_010, worker, 0, 2);
                worker.enter(1_011 * MS, 5);
            })
    })
    .unwrap();
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::SlowTask), false));
    assert_eq!(why.culprit.thread.as_deref(), Some("pool-1-thread-1"));
    assert_eq!(why.culprit.task.as_deref(), Some("app.Cart.lambda$load$0"));
    assert_eq!(why.culprit.site.as_deref(), Some("Cart.java:12"));
    assert_eq!(why.links[1].inside.as_deref(), Some("app.Cart.slow"));
    assert_eq!(
        why.text,
        "main waits for task Cart.lambda$load$0, submitted at Cart.java:12 by main 19.0 s ago; pool-1-thread-1 is in Cart.slow for 19.0 s"
    );
}

#[test]
fn a_task_in_the_queue_leads_to_the_one_that_runs_and_names_its_place() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                submits(980, main, c, (201, 301, 3));
                submits(1_000, main, c, (TASK, FUTURE, 2));
                waits(1_003, main, (FUTURE, c.future, 0));
            })
            .thread("pool-1-thread-1", 9, |worker| starts(1_010, worker, 0, 3))
    })
    .unwrap();
    assert_eq!(why.cause, Some(WhyCause::LongQueue));
    assert_eq!(why.culprit.task.as_deref(), Some("app.Cart.lambda$other$1"));
    let queue = why.links[0].task.as_ref().unwrap().queue.as_ref().unwrap();
    assert_eq!((queue.place, queue.pending, &queue.workers[..]), (1, 1, &["pool-1-thread-1".to_owned()][..]));
    assert!(
        why.text.contains(
            "it is 1st in pool-1, whose thread pool-1-thread-1 is in Cart.lambda$other$1 for 19.0 s"
        )
    );
}

#[test]
fn a_pool_whose_threads_all_wait_for_its_own_tasks_is_exhausted() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                submits(1_000, main, c, (TASK, FUTURE, 2));
                waits(1_003, main, (FUTURE, c.future, 0));
            })
            .thread("pool-1-thread-1", 9, |worker| {
                starts(1_010, worker, 0, 2);
                let named =
                    Concurrency { class: c.task, other_class: c.pool, ..step(Step::Submitted, 401, POOL) };
                at(1_011, worker, named);
                at(1_012, worker, step(Step::Future, 402, 401));
                waits(1_013, worker, (402, c.future, 0));
            })
    })
    .unwrap();
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::PoolExhausted), false));
    assert_eq!(why.culprit.task.as_deref(), Some("app.Cart.lambda$load$0"));
    assert!(why.text.ends_with("all threads of this pool wait for tasks of the same pool"), "{}", why.text);
}

#[test]
fn a_task_that_needs_mains_lock_makes_a_cycle_across_kinds() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                submits(1_000, main, c, (TASK, FUTURE, 2));
                waits(1_003, main, (FUTURE, c.future, 0));
            })
            .thread("pool-1-thread-1", 9, |worker| {
                starts(1_010, worker, 0, 2);
                // Main is the first thread of the recording.
                waits(1_011, worker, (LOCK, c.lock, 1));
            })
    })
    .unwrap();
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::SelfMadeDeadlock), true));
    assert_eq!(why.links[1].owner.as_deref(), Some("main"));
}

#[test]
fn threads_that_have_the_permits_for_which_they_wait_are_a_cycle_but_no_deadlock() {
    let why = why(|builder, c| {
        let takes = |time: u64, thread: &mut ThreadBuilder| {
            thread.enter(time * MS, 1);
            at(time, thread, step(Step::Acquired, LOCK, 0));
            waits(1_000 + time, thread, (LOCK, c.semaphore, 0));
        };
        builder.main("main", |main| takes(900, main)).thread("worker", 9, |worker| takes(901, worker))
    })
    .unwrap();
    assert_eq!((why.cause, why.cycle), (None, true), "{}", why.text);
    assert!(why.text.ends_with("so these threads wait for each other"), "{}", why.text);
}

#[test]
fn two_tasks_with_the_same_body_in_two_pools_are_not_mixed_up() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                submits(1_000, main, c, (TASK, FUTURE, 2));
                let other = Concurrency { method: 2, class: c.lambda, ..step(Step::Created, 501, 0) };
                at(1_003, main, other);
                at(1_004, main, Concurrency { class: c.lambda, ..step(Step::Submitted, 501, 999) });
                waits(1_005, main, (FUTURE, c.future, 0));
            })
            .thread("unnamed", 9, |worker| starts(1_010, worker, 0, 2))
    })
    .unwrap();
    assert_eq!((why.cause, &why.culprit), (None, &Default::default()), "{}", why.text);
    assert_eq!(why.links[0].task.as_ref().unwrap().state, "unknown");
}

#[test]
fn a_latch_leads_to_the_task_whose_code_counts_it_down() {
    let latch = |ends: bool| {
        why(move |builder, c| {
            builder
                .main("main", |main| {
                    main.enter(900 * MS, 1);
                    submits(1_000, main, c, (TASK, FUTURE, 2));
                    submits(1_002, main, c, (601, 602, 3));
                    waits(1_005, main, (LOCK, c.latch, 0));
                })
                .thread("pool-1-thread-1", 9, |worker| {
                    worker.enter(1_002 * MS, 2);
                    let started = step(Step::Started, 0, 0);
                    at(1_002, worker, Concurrency { method: 2, line: Concurrency::COUNTS_DOWN, ..started });
                    if ends {
                        at(1_003, worker, Concurrency { method: 2, ..step(Step::Finished, 0, 0) });
                        worker.exit(1_003 * MS, 2);
                    }
                })
                .thread("pool-1-thread-2", 10, |worker| starts(1_003, worker, 0, 3))
        })
        .unwrap()
    };
    let open = latch(false);
    assert_eq!(
        (open.cause, open.culprit.thread.as_deref()),
        (Some(WhyCause::SlowTask), Some("pool-1-thread-1"))
    );
    let ended = latch(true);
    assert_eq!(ended.cause, Some(WhyCause::LatchNeverCountedDown));
    assert_eq!(ended.culprit.task.as_deref(), Some("app.Cart.lambda$load$0"));
}

#[test]
fn a_condition_is_lost_never_signalled_or_unknown() {
    let condition = |signalled: Option<u64>| {
        why(move |builder, c| {
            builder
                .main("main", |main| {
                    main.enter(900 * MS, 1);
                    at(950, main, step(Step::PartOf, 701, LOCK));
                    waits(1_005, main, (701, c.condition, 0));
                })
                .thread("worker", 9, |worker| {
                    worker.enter(960 * MS, 4);
                    if let Some(time) = signalled {
                        at(time, worker, step(Step::Signalled, 701, 0));
                    }
                    worker.exit(9_000 * MS, 4);
                })
        })
        .unwrap()
        .cause
    };
    assert_eq!(condition(None), Some(WhyCause::NeverSignalled));
    assert_eq!(condition(Some(1_000)), Some(WhyCause::LostWakeUp));
    assert_eq!(condition(Some(2_000)), None, "notified, and perhaps about to run");
}

#[test]
fn a_queue_leads_to_its_producer_and_a_thread_to_its_start() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                starts_worker(main, c);
                waits(1_005, main, (802, c.queue, 0));
            })
            .thread("worker", 9, |worker| {
                starts(950, worker, 0, 4);
                at(960, worker, step(Step::Put, 802, 5));
            })
    })
    .unwrap();
    assert_eq!(why.cause, Some(WhyCause::SlowTask));
    assert_eq!(why.culprit.thread.as_deref(), Some("worker"));
    assert_eq!(why.culprit.site.as_deref(), Some("Cart.java:33"));
}

#[test]
fn threads_whose_work_ran_out_are_no_deadlock_with_the_one_that_joins_them() {
    let why = why(|builder, c| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                starts_worker(main, c);
                at(960, main, step(Step::Put, 802, 5));
                let join = Wait { lock: 801, ..Wait::new(WaitKind::Join) };
                main.event(1_000 * MS, Event::WaitBegin(join));
            })
            .thread("worker", 9, |worker| {
                starts(950, worker, 0, 4);
                at(970, worker, step(Step::Taken, 802, 5));
                waits(1_005, worker, (802, c.queue, 0));
            })
    })
    .unwrap();
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::NoMoreWork), false));
    let text = "main waits for a thread to end; worker waits for the queue LinkedBlockingQueue; only main has put anything into it";
    assert_eq!(why.text, text);
}

#[test]
fn without_a_wait_nothing_is_said() {
    let none = why(|builder, _| {
        builder.main("main", |main| {
            main.enter(900 * MS, 1);
        })
    });
    assert_eq!(none, None);
}

fn any_step() -> impl Strategy<Value = (u64, Event)> {
    let concurrency = (0..18_u32, 0..6_u32, 0..6_u32, 0..8_u32, 0..14_u32).prop_map(
        |(kind, object, other, method, text)| {
            let (class, other_class) = (TextId(text), TextId(13 - text));
            let step = step(Step::from(kind), object, other);
            Event::Concurrency(Concurrency { method, line: text as u16 % 4, class, other_class, ..step })
        },
    );
    let wait = (0..7_u32, 0..4_u32, 0..6_u64, 0..10_u32).prop_map(|(kind, owner, lock, class)| {
        Event::WaitBegin(Wait { owner, lock, class: TextId(class), ..Wait::new(WaitKind::from(kind)) })
    });
    let method = (1..6_u32, any::<bool>())
        .prop_map(|(id, begin)| if begin { Event::Enter(id) } else { Event::Exit(id) });
    (0..20_u64, prop_oneof![4 => concurrency, 1 => wait, 1 => method, 1 => Just(Event::WaitEnd)])
}

proptest! {
    #[test]
    fn any_steps_end_in_a_report(threads in prop::collection::vec(prop::collection::vec(any_step(), 0..40), 1..4)) {
        let why = why(|mut builder, c| {
            for (number, mut steps) in threads.into_iter().enumerate() {
                steps.sort_by_key(|(time, _)| *time);
                let fill = |thread: &mut ThreadBuilder| {
                    for (time, event) in steps {
                        thread.event((1_000 + time) * MS, event);
                    }
                    if number == 0 {
                        waits(1_100, thread, (3, c.future, 0));
                    }
                };
                builder = match number {
                    0 => builder.main("main", fill),
                    _ => builder.thread(&format!("pool-1-thread-{number}"), 10 + number as u32, fill),
                };
            }
            builder
        });
        if let Some(why) = why {
            prop_assert!(!why.links.is_empty() && why.links.len() <= 32);
        }
    }
}
