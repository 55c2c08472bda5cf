//! Coroutines: what runs is another object than what was handed over, in parts, on several threads.

use trace_format::synth::RecordingBuilder;

use super::*;

/// Bodies, as they are handed over.
const BODY: u32 = 500;
const INNER: u32 = 501;
/// The objects that run, their jobs, and what they wait for.
const RUNNING: u32 = 510;
const RUNNING_INNER: u32 = 511;
const JOB: u32 = 520;
const OTHER_JOB: u32 = 521;
const MUTEX: u32 = 530;
const DISPATCHER: u32 = 540;
/// Methods of the map.
const BODY_CODE: u32 = 6;
const INNER_CODE: u32 = 7;

/// Texts of coroutines.
#[derive(Clone, Copy)]
struct Kotlin {
    body: TextId,
    inner: TextId,
    job: TextId,
    suspended: TextId,
    unit: TextId,
    mutex: TextId,
    dispatcher: TextId,
    /// Dispatchers.Main of Android.
    main: TextId,
}

fn chain(fill: impl FnOnce(RecordingBuilder, Classes, Kotlin) -> RecordingBuilder) -> Why {
    why(|mut builder, c| {
        let mut text = |text: &str| builder.text(text);
        let kotlin = Kotlin {
            body: text("app.Cart$show$1"),
            inner: text("app.Cart$show$1$1"),
            job: text("kotlinx.coroutines.BlockingCoroutine"),
            suspended: text(Concurrency::SUSPENDED),
            unit: text("kotlin.Unit"),
            mutex: text("kotlinx.coroutines.sync.MutexImpl"),
            dispatcher: text("kotlinx.coroutines.ExecutorCoroutineDispatcherImpl"),
            main: text("kotlinx.coroutines.android.HandlerContext"),
        };
        fill(builder, c, kotlin)
    })
    .expect("main waits")
}

/// `runBlocking` at line 12 of `show`: main begins its body.
fn run_blocking(main: &mut ThreadBuilder, k: Kotlin) {
    main.enter(900 * MS, 1);
    let body = step(Step::Submitted, BODY, 0);
    at(1_000, main, Concurrency { method: 1, line: 12, class: k.body, ..body });
    let wait = Wait { lock: BODY.into(), class: k.body, ..Wait::new(WaitKind::Park) };
    main.event(1_001 * MS, Event::WaitBegin(wait));
    resumes(1_002, main, (RUNNING, JOB, BODY_CODE), k);
}

fn resumes(time: u64, thread: &mut ThreadBuilder, (object, resumed, method): (u32, u32, u32), k: Kotlin) {
    thread.enter(time * MS, method);
    at(time, thread, Concurrency { method, other_class: k.job, ..step(Step::Started, object, resumed) });
}

/// The coroutine is suspended in a call that waits for the object.
fn suspends(time: u64, thread: &mut ThreadBuilder, (object, class, method): (u32, TextId, u32), k: Kotlin) {
    at(time, thread, Concurrency { class, other_class: k.suspended, ..step(Step::Awaited, object, 1) });
    at(time + 1, thread, Concurrency { method, other_class: k.suspended, ..step(Step::Finished, 0, 1) });
    thread.event((time + 1) * MS, Event::Exit(method));
}

/// `withContext` at line 20 hands the inner body to the dispatcher.
fn with_context(time: u64, thread: &mut ThreadBuilder, k: Kotlin) {
    let submitted = step(Step::Submitted, INNER, DISPATCHER);
    at(
        time,
        thread,
        Concurrency { method: 6, line: 20, class: k.inner, other_class: k.dispatcher, ..submitted },
    );
    suspends(time + 1, thread, (INNER, k.inner, BODY_CODE), k);
}

#[test]
fn run_blocking_leads_to_the_coroutine_that_runs_on_another_thread() {
    let why = chain(|builder, _, k| {
        builder
            .main("main", |main| {
                run_blocking(main, k);
                with_context(1_003, main, k);
            })
            .thread("io-1", 9, |worker| {
                resumes(1_010, worker, (RUNNING_INNER, OTHER_JOB, INNER_CODE), k);
                worker.enter(1_011 * MS, 5);
            })
    });
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::SlowTask), false));
    assert_eq!(why.links[0].waits_for, "coroutine");
    assert_eq!(why.culprit.thread.as_deref(), Some("io-1"));
    assert_eq!(why.culprit.task.as_deref(), Some("app.Cart$show$1$1.invokeSuspend"));
    assert_eq!(why.culprit.site.as_deref(), Some("Cart.java:20"));
    assert_eq!(
        why.lines,
        [
            "main waits for coroutine Cart$show$1$1, submitted at Cart.java:20 by main 19.0 s ago",
            "io-1 is in Cart.slow for 19.0 s"
        ]
    );
}

#[test]
fn coroutines_that_wait_for_a_mutex_hang_beside_a_thread_that_works() {
    let why = chain(|builder, _, k| {
        builder
            .main("main", |main| {
                main.enter(900 * MS, 1);
                let body = step(Step::Submitted, BODY, 0);
                at(1_000, main, Concurrency { method: 1, line: 12, class: k.body, ..body });
                at(1_000, main, step(Step::Future, JOB, BODY));
                resumes(1_002, main, (RUNNING, JOB, BODY_CODE), k);
                suspends(1_003, main, (MUTEX, k.mutex, BODY_CODE), k);
                waits(1_005, main, (JOB, k.job, 0));
            })
            .thread("tick", 9, |tick| {
                (2..20).for_each(|second| {
                    tick.enter(second * 1_000 * MS, 5).exit((second * 1_000 + 500) * MS, 5);
                });
            })
    });
    assert!(why.lines[0].ends_with("it is suspended at a Mutex"), "{:?}", why.lines);
}

#[test]
fn a_coroutine_behind_another_names_the_dispatchers_thread() {
    let why = chain(|builder, _, k| {
        builder
            .main("main", |main| {
                // Another coroutine of the dispatcher, with a job.
                let other = step(Step::Submitted, 600, DISPATCHER);
                at(800, main, Concurrency { method: 1, line: 30, class: k.body, ..other });
                at(801, main, step(Step::Future, OTHER_JOB, 600));
                run_blocking(main, k);
                with_context(1_003, main, k);
            })
            .thread("io-1", 9, |worker| {
                resumes(810, worker, (601, OTHER_JOB, BODY_CODE), k);
                worker.enter(811 * MS, 5);
            })
    });
    assert_eq!(why.cause, Some(WhyCause::LongQueue));
    assert_eq!(why.culprit.site.as_deref(), Some("Cart.java:30"));
    assert!(
        why.lines[0].ends_with("; it is 1st in pool io, whose thread io-1 is in Cart.slow for 19.2 s"),
        "{}",
        why.lines[0]
    );
}

#[test]
fn a_dispatcher_that_only_main_runs_is_a_deadlock_of_main() {
    let why = chain(|builder, _, k| {
        builder.main("main", |main| {
            let other = step(Step::Submitted, 600, DISPATCHER);
            at(800, main, Concurrency { method: 1, line: 30, class: k.body, ..other });
            at(801, main, step(Step::Future, OTHER_JOB, 600));
            resumes(810, main, (601, OTHER_JOB, BODY_CODE), k);
            at(811, main, Concurrency { method: 6, other_class: k.unit, ..step(Step::Finished, 0, 1) });
            main.event(811 * MS, Event::Exit(BODY_CODE));
            run_blocking(main, k);
            with_context(1_003, main, k);
        })
    });
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::SelfMadeDeadlock), true));
    assert_eq!(why.culprit.thread.as_deref(), Some("main"));
    assert_eq!(why.culprit.site.as_deref(), Some("Cart.java:20"));
}

#[test]
fn androids_main_dispatcher_waits_for_main() {
    let why = chain(|builder, _, k| {
        builder.main("main", |main| {
            run_blocking(main, k);
            with_context(1_003, main, Kotlin { dispatcher: k.main, ..k });
        })
    });
    assert_eq!((why.cause, why.cycle), (Some(WhyCause::SelfMadeDeadlock), true));
    assert_eq!(why.lines.last().unwrap(), "only this thread runs such tasks, and it waits");
}

#[test]
fn a_delay_names_the_coroutine_and_no_thread() {
    let why = chain(|builder, _, k| {
        builder.main("main", |main| {
            run_blocking(main, k);
            suspends(1_003, main, (0, TextId::default(), BODY_CODE), k);
        })
    });
    assert_eq!((why.cause, why.culprit.thread.as_deref()), (Some(WhyCause::SlowTask), None));
    assert_eq!(why.culprit.task.as_deref(), Some("app.Cart$show$1.invokeSuspend"));
}

#[test]
fn a_mutex_leads_to_the_coroutine_that_has_it() {
    let owner = |releases: bool| {
        chain(|builder, _, k| {
            builder
                .main("main", |main| {
                    let other = step(Step::Submitted, 600, DISPATCHER);
                    at(800, main, Concurrency { method: 1, line: 30, class: k.inner, ..other });
                    at(801, main, step(Step::Future, OTHER_JOB, 600));
                    run_blocking(main, k);
                    suspends(1_003, main, (MUTEX, k.mutex, BODY_CODE), k);
                })
                .thread("io-1", 9, |worker| {
                    resumes(810, worker, (601, OTHER_JOB, INNER_CODE), k);
                    let locks = step(Step::Awaited, MUTEX, 1);
                    at(811, worker, Concurrency { class: k.mutex, other_class: k.unit, ..locks });
                    if releases {
                        at(812, worker, step(Step::Released, MUTEX, 0));
                    }
                    worker.enter(813 * MS, 5);
                })
        })
    };
    let why = owner(false);
    assert_eq!((why.cause, why.culprit.thread.as_deref()), (Some(WhyCause::LockHeld), Some("io-1")));
    let why = owner(true);
    assert_eq!((why.cause, why.culprit.thread.as_deref()), (None, None));
}

#[test]
fn coroutines_at_an_iterator_of_a_channel_have_its_name() {
    let why = chain(|mut builder, _, k| {
        let iterator = builder.text("kotlinx.coroutines.channels.BufferedChannel$BufferedChannelIterator");
        builder.main("main", |main| {
            run_blocking(main, k);
            suspends(1_003, main, (700, iterator, BODY_CODE), k);
        })
    });
    let task = why.links[0].task.as_ref().unwrap();
    assert_eq!((task.state, task.suspended_at), ("suspended", Some("Channel")));
}

#[test]
fn a_coroutine_that_may_have_gone_on_is_not_explained() {
    let why = chain(|builder, _, k| {
        builder
            .main("main", |main| {
                run_blocking(main, k);
                suspends(1_003, main, (0, TextId::default(), BODY_CODE), k);
            })
            // A part that no known body explains.
            .thread("io-1", 9, |worker| resumes(1_010, worker, (999, 998, INNER_CODE), k))
    });
    assert_eq!((why.cause, why.culprit.task), (None, None));
}
