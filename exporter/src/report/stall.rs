//! The strongest stall of a program without messages: which thread hung, and when.
//!
//! Android asks about main's message. A program on a JVM has none, and its `main` lasts as long as the program. Its unit is a
//! *stretch* of a thread without progress, as long as [`MIN_ENDED_HANG`] or longer. Five sources know of one:
//!
//! * The record: something is open on the thread, and the thread records nothing, neither a call nor a count of short ones.
//! * The record of main's waits: one for the same lock follows the other, with next to nothing between them.
//! * The record of earlier calls: a call lasts many times longer than nearly all calls of the same method ([`Usual`]), and within
//!   it the thread calls and waits again and again.
//! * A dump of the JVM agent: samples of the stack are equal up to a method in which the thread computes, although it calls
//!   others. That lasts as long as the innermost recorded call around it. (Equal samples of a thread that waits prove nothing: a
//!   healthy loop waits at one place again and again.)
//! * The record of earlier turns, beside such a dump of a thread that calls and comes back all of its life ([`turns`]).
//!
//! Collections of garbage that stop the process for half of the time are a stretch of each thread that does not wait.
//!
//! Which of them are a hang is judged in [`super::judge`].
//!
//! Of several stretches the report is about the thread with the strongest [`Claim`], by the same table as for a dump; of
//! equals about one that is open at the end, then about one that is no daemon, and then about the longest.

use std::cmp::Reverse;

use answers::answer::Claim;
use trace_format::{ReadError, Thread};

use super::computing::computing;
use super::idle::Idle;
use super::judge::{Judge, Judged, MainsWait};
use super::sources::Sources;
use super::stretches::{Sign, Stretch, Usual, collected, collections, recorded};
use super::{MIN_ENDED_HANG, rests, turns};
use crate::facts::Facts;

/// A thread that hung, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall<'t> {
    pub(super) thread: &'t Thread,
    pub(super) stretch: Stretch,
}

/// The least is asked about: by its claim, open at the end before ended, a daemon, which serves others, last, the longest first.
type Order = (Claim, bool, bool, Reverse<u64>);

/// The strongest stall, and the strongest of the stretches that were taken for idle.
pub(super) type Found<'t> = (Option<Stall<'t>>, Option<(Stall<'t>, Idle)>);

impl<'t> Stall<'t> {
    /// The question of a program whose recording ends at `end`; no stall if nothing hung.
    pub(super) fn of(sources: &Sources<'t>, end: u64) -> Result<Found<'t>, ReadError> {
        let mut usual = Usual::default();
        let all = stretches(sources.facts, end, &mut usual)?;
        let dumps = &sources.facts.sections.dumps;
        let mains = MainsWait::of(sources, &all)?;
        let claims = dumps.iter().filter_map(|(at, dump)| Some((*at, dump.answer()?.claims()))).collect();
        let judge = Judge { sources, claims, usual: &usual, mains, end };
        let mut best: Option<(Order, Self)> = None;
        let mut idle: Option<(Order, Self)> = None;
        for &(thread, ref found) in &all {
            let mut known: Vec<Stretch> = Vec::new();
            for &stretch in found {
                let Stretch { since, until, ended, sign, .. } = stretch;
                // The wait within a long call is the hang, or what it rests in; and so is the call in a turn.
                let is_known = |inner: &Stretch| inner.until > since && inner.took() >= stretch.took() / 2;
                if matches!(sign, Sign::LongCall | Sign::Turn(_)) && known.iter().any(is_known) {
                    continue;
                }
                let judged = judge.claim(thread, &stretch)?;
                let judged = judged.filter(|judged| until.saturating_sub(judged.since) >= MIN_ENDED_HANG);
                let Some(Judged { claim, since, daemon }) = judged else {
                    if !thread.main && stretch.rests() {
                        known.push(stretch);
                    }
                    if let Some((claim, daemon)) = judge.if_due(thread, &stretch)? {
                        let order = (claim, ended, daemon, Reverse(stretch.took()));
                        keep_first(&mut idle, order, Self { thread, stretch });
                    }
                    continue;
                };
                known.push(stretch);
                let order = (claim, ended, daemon, Reverse(until - since));
                keep_first(&mut best, order, Self { thread, stretch: Stretch { since, ..stretch } });
            }
        }
        let idle = idle.map(|(_, stall)| (stall, judge.idle_thread(stall.thread, &stall.stretch)));
        let best = best.map(|(_, stall)| stall.holder(sources, &all)).transpose()?;
        Ok((best, idle))
    }

    /// Of threads that wait for each other the one that owns a lock and waits for something else; for other hangs itself. For
    /// example, a thread joins a worker that wants its lock.
    fn holder(self, sources: &Sources<'t>, all: &[(&'t Thread, Vec<Stretch>)]) -> Result<Self, ReadError> {
        let moment = self.stretch.moment();
        let why = sources.chains(moment)?.why(self.thread)?.filter(|why| why.cycle);
        let holder = why.and_then(|why| why.links.into_iter().find(|link| !link.is_for_lock()));
        let stretches = holder.and_then(|link| all.iter().find(|(thread, _)| thread.tid == link.tid));
        let Some((thread, found)) = stretches.filter(|(thread, _)| thread.uid != self.thread.uid) else {
            return Ok(self);
        };
        let at_that_time = found.iter().filter(|stretch| (stretch.since..=stretch.until).contains(&moment));
        let innermost = at_that_time.min_by_key(|stretch| stretch.took());
        Ok(innermost.map_or(self, |stretch| Self { thread, stretch: *stretch }))
    }
}

fn keep_first<'t>(best: &mut Option<(Order, Stall<'t>)>, order: Order, stall: Stall<'t>) {
    if best.as_ref().is_none_or(|(known, _)| order < *known) {
        *best = Some((order, stall));
    }
}

/// The stretches of each thread, innermost calls first, without those in which the recording paused.
fn stretches<'t>(
    facts: &Facts<'t>,
    end: u64,
    usual: &mut Usual,
) -> Result<Vec<(&'t Thread, Vec<Stretch>)>, ReadError> {
    let stops = collections(&facts.sections.polls, end);
    let pauses = facts.recorder.pauses();
    let mut all = Vec::new();
    for thread in facts.recording.threads() {
        let mut found = recorded(facts, thread, end, usual)?;
        let (calls, computed) = computing(facts, thread, &facts.sections.dumps, end)?;
        found.extend(calls);
        if let Some(computed) = computed {
            found.extend(turns::at(facts, thread, computed, end)?);
        }
        if let Some(stops) = &stops {
            found.extend(collected(facts, thread, stops)?);
        }
        let is_paused = |stretch: &Stretch| {
            pauses
                .iter()
                .any(|pause| pause.begin < stretch.until && pause.end.is_none_or(|end| end > stretch.since))
        };
        found.retain(|stretch| !is_paused(stretch));
        rests::mark(facts, thread, &mut found)?;
        // Of calls within each other the innermost one is judged first.
        found.sort_by_key(|stretch| Reverse(stretch.since));
        all.push((thread, found));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trace_format::event::{CallId, Concurrency, ConcurrencyStep, Wait, WaitKind};
    use trace_format::layout::State;
    use trace_format::section::SectionKind;
    use trace_format::sections::timed;
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::verdict::Confidence;
    use trace_format::{Event, Recording};

    use crate::MethodMap;
    use crate::report::Report;
    use answers::answer::{CauseId, Conclusion};

    const S: u64 = 1_000_000_000;

    fn wait(kind: WaitKind) -> Event {
        Event::WaitBegin(Wait { lock: 1, ..Wait::new(kind) })
    }

    /// A program that ended in order after 40 s.
    fn program(name: &str) -> RecordingBuilder {
        let recording = RecordingBuilder::new(7, name).last_alive(40 * S).state(State::Ended as u32);
        recording.section(SectionKind::Process, b"os=linux\n")
    }

    /// A main that sleeps beside other work.
    fn asleep(main: &mut ThreadBuilder) {
        main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
    }

    fn built(recording: RecordingBuilder) -> Report {
        let recording = Recording::open(recording.build()).unwrap();
        Report::build(Path::new("shop.anrscope"), &recording, &MethodMap::empty()).unwrap()
    }

    /// The report of a program in which main and a worker did these things.
    fn report(main: impl FnOnce(&mut ThreadBuilder), worker: impl FnOnce(&mut ThreadBuilder)) -> Report {
        built(program("Shop").main("main", main).thread("worker", 8, worker))
    }

    fn hung(report: &Report) -> Option<(&str, u64, u64)> {
        let hang = report.hang.as_ref()?;
        Some((report.answer.thread.name.as_str(), hang.since / S, hang.until / S))
    }

    #[test]
    fn stalls_are_hangs_from_their_own_begin_whether_they_end_or_not() {
        let ends = |main: &mut ThreadBuilder| {
            main.enter(8 * S, 1).enter(10 * S, 2).event(11 * S, wait(WaitKind::Monitor));
            main.event(18 * S, Event::WaitEnd).exit(19 * S, 2).exit(20 * S, 1);
        };
        let lasts = |main: &mut ThreadBuilder| {
            main.enter(8 * S, 1).enter(10 * S, 2).exit(11 * S, 2).event(12 * S, wait(WaitKind::Monitor));
        };
        assert_eq!(hung(&report(ends, |_| {})), Some(("main", 11, 18)));
        assert_eq!(hung(&report(lasts, |_| {})), Some(("main", 12, 40)));
    }

    #[test]
    fn programs_that_come_on_sleep_or_wait_beside_a_worker_do_not_hang() {
        let works = |thread: &mut ThreadBuilder| {
            for second in 1..40 {
                thread.enter(second * S, 5).exit(second * S + S / 2, 5);
            }
        };
        let joins = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Join));
        };
        let outer = |main: &mut ThreadBuilder| {
            main.enter(S / 2, 1);
            works(main);
        };
        for found in [report(outer, |_| {}), report(asleep, |_| {}), report(joins, works)] {
            assert_eq!((found.answer.conclusion, hung(&found)), (Conclusion::NoHang, None));
        }
        // Nothing else works.
        assert_eq!(hung(&report(joins, |_| {})), Some(("main", 2, 40)));
    }

    #[test]
    fn other_threads_are_asked_about_if_main_is_in_time() {
        let blocked = |worker: &mut ThreadBuilder| {
            worker.enter(S, 3).event(20 * S, wait(WaitKind::Monitor));
        };
        let found = report(asleep, blocked);
        assert_eq!(hung(&found), Some(("worker", 20, 40)));
        assert!(!found.answer.thread.main);
    }

    #[test]
    fn waits_for_one_lock_are_one_hang_if_next_to_nothing_is_between_them() {
        // Each second, with this time for itself.
        let waits_for = |kind: WaitKind, between: u64, last: u64| {
            move |main: &mut ThreadBuilder| {
                main.enter(S, 1);
                for second in 10..last {
                    main.event(second * S, wait(kind));
                    main.event((second + 1) * S - between, Event::WaitEnd);
                }
            }
        };
        let waits = |between, last| waits_for(WaitKind::Monitor, between, last);
        assert_eq!(hung(&report(waits(S / 20, 20), |_| {})), Some(("main", 10, 19)));
        assert_eq!(hung(&report(waits(S / 20, 39), |_| {})), Some(("main", 10, 40)), "lasts to the end");
        assert_eq!(hung(&report(waits(S / 5, 20), |_| {})), None, "it comes on");
        assert_eq!(hung(&report(|_| {}, waits(S / 20, 20))), Some(("worker", 10, 19)));
        let tries = waits_for(WaitKind::ObjectWait, S / 20, 20);
        assert_eq!(hung(&report(|_| {}, tries)), None, "it may want to look again and again");
    }

    /// Three calls of 0.1 s, and then one in which the thread waits again and again until 20 s.
    fn many_waits(kind: WaitKind) -> impl FnOnce(&mut ThreadBuilder) {
        move |main: &mut ThreadBuilder| {
            main.enter(S, 1);
            for second in 2..5 {
                main.enter(second * S, 2).exit(second * S + S / 10, 2);
            }
            main.enter(8 * S, 2);
            for tenth in 81..200 {
                main.event(tenth * S / 10, wait(kind)).event((tenth * 10 + 9) * S / 100, Event::WaitEnd);
            }
            main.exit(20 * S, 2).exit(39 * S, 1);
        }
    }

    #[test]
    fn calls_that_take_far_longer_than_usual_are_hangs_unless_they_rest() {
        assert_eq!(hung(&report(many_waits(WaitKind::Blocking), |_| {})), Some(("main", 8, 20)));
        assert_eq!(hung(&report(many_waits(WaitKind::Sleep), |_| {})), None);
        // Nothing says that this call usually is short.
        let first = |main: &mut ThreadBuilder| {
            main.enter(S, 1).enter(8 * S, 2);
            for tenth in 81..200 {
                main.enter(tenth * S / 10, 3).exit((tenth * 10 + 9) * S / 100, 3);
            }
            main.exit(20 * S, 2).exit(39 * S, 1);
        };
        assert_eq!(hung(&report(first, |_| {})), None);
    }

    #[test]
    fn sleeps_in_calls_that_usually_are_short_are_hangs_unless_a_round_of_a_loop_rests() {
        // Calls within each other, each of 0.1 s, and then one more of all of them, which sleeps.
        let sleeps = |calls: std::ops::Range<u32>| {
            move |main: &mut ThreadBuilder| {
                main.enter(S, 1);
                for second in 2..6 {
                    for call in calls.clone() {
                        main.enter(second * S, call);
                    }
                    for call in calls.clone().rev() {
                        main.exit(second * S + S / 10, call);
                    }
                }
                for call in calls {
                    main.enter(8 * S, call);
                }
                main.event(9 * S, wait(WaitKind::Sleep));
            }
        };
        assert_eq!(hung(&report(sleeps(2..4), |_| {})), Some(("main", 9, 40)));
        assert_eq!(hung(&report(sleeps(2..3), |_| {})), None, "one round found no work");
    }

    #[test]
    fn tasks_that_take_far_longer_than_the_ones_before_are_hangs() {
        let tasks = |short: u64| {
            move |timer: &mut ThreadBuilder| {
                for second in 0..short {
                    timer.enter((2 + second) * S, 3).exit((2 + second) * S + S / 10, 3);
                }
                timer.enter(20 * S, 3).enter(20 * S, 4).event(21 * S, wait(WaitKind::ObjectWait));
            }
        };
        assert_eq!(hung(&report(asleep, tasks(5))), Some(("worker", 21, 40)));
        assert_eq!(hung(&report(asleep, tasks(1))), None, "nothing says how long a task takes");
    }

    #[test]
    fn waits_that_are_elsewhere_than_where_the_thread_rests_are_hangs() {
        // Rounds of a call in which the thread waits for this time, and then a pause in the loop itself; in the last round
        // the wait does not end.
        let rounds = |kind: WaitKind, within: u64, pause: u64| {
            move |worker: &mut ThreadBuilder| {
                worker.enter(S, 3);
                for round in 0..8 {
                    let begin = (2 + round) * S;
                    worker.enter(begin, 4).event(begin, wait(kind));
                    worker.event(begin + within, Event::WaitEnd).exit(begin + within, 4);
                    worker.event(begin + within, wait(WaitKind::Sleep));
                    worker.event(begin + within + pause, Event::WaitEnd);
                }
                worker.enter(20 * S, 4).event(20 * S, wait(kind));
            }
        };
        for kind in [WaitKind::Sleep, WaitKind::ObjectWait] {
            assert_eq!(hung(&report(asleep, rounds(kind, S / 10, S / 2))), Some(("worker", 20, 40)));
            assert_eq!(hung(&report(asleep, rounds(kind, S / 10, S / 10))), None, "it rests in both");
            assert_eq!(hung(&report(asleep, rounds(kind, S / 2, S / 10))), None, "it rests there");
        }
    }

    #[test]
    fn threads_that_come_on_and_then_wait_for_an_end_hang() {
        let joins = |kind: WaitKind, beats: u64| {
            move |worker: &mut ThreadBuilder| {
                worker.enter(S, 3);
                (2..2 + beats).for_each(|second| {
                    worker.event(second * S, wait(WaitKind::Sleep)).event(second * S + S / 2, Event::WaitEnd);
                });
                worker
                    .enter(12 * S, 4)
                    .event(12 * S, wait(kind))
                    .event(20 * S, Event::WaitEnd)
                    .exit(20 * S, 4);
            }
        };
        assert_eq!(hung(&report(asleep, joins(WaitKind::Join, 9))), Some(("worker", 12, 20)));
        assert_eq!(hung(&report(asleep, joins(WaitKind::ObjectWait, 9))), None, "it may wait for work");
        assert_eq!(hung(&report(asleep, joins(WaitKind::Join, 2))), None, "it may be there to join");
    }

    #[test]
    fn main_that_gets_no_processor_hangs() {
        let found = |waited: u64| {
            let usage = move |ran: u64, waited: u64| {
                Event::Usage(trace_format::event::Usage {
                    tid: 7,
                    state: b'R',
                    ran,
                    waited,
                    ..Default::default()
                })
            };
            let recording = program("Shop");
            let recording = recording.main("main", |main| {
                main.enter(S, 1).enter(10 * S, 2).exit(20 * S, 2).exit(39 * S, 1);
            });
            let recording = recording.service(|service| {
                service.event(10 * S, usage(0, 0)).event(19 * S, usage(S, waited));
            });
            hung(&built(recording)).is_some()
        };
        assert!(found(7 * S));
        assert!(!found(S), "it sleeps");
    }

    #[test]
    fn sleeps_in_tasks_of_a_pool_are_hangs_if_tasks_usually_are_short() {
        let dump = "Full thread dump by anrscope:\n\n\
            \"worker\" #2 prio=5 tid=0x0000000000000002 nid=0x8 waiting on condition\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\
            \tat java.lang.Thread.sleep(Native Method)\n\tat shop.Seats.pause(Seats.java:9)\n\tat shop.Seats.take(Seats.java:5)\n\
            \tat shop.Handler.handle(Handler.java:7)\n\tat sun.net.httpserver.ServerImpl$Exchange.run(ServerImpl.java:860)\n\
            \tat java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1136)\n\n";
        let found = |times: u64| {
            let recording = program("shop");
            let recording = recording
                .section(SectionKind::DumpText, &timed::encode(30 * S, dump.as_bytes()))
                .main("main", asleep);
            let recording = recording.thread("worker", 8, |worker| {
                for second in 3..3 + times {
                    worker.enter(second * S, 4).exit(second * S + S / 10, 4);
                }
                worker.enter(20 * S, 4).enter(20 * S, 5).event(20 * S, wait(WaitKind::Sleep));
            });
            let report = built(recording);
            hung(&report).map(|(_, since, until)| (since, until))
        };
        assert_eq!(found(5), Some((20, 40)));
        assert_eq!(found(0), None, "no task was short");
    }

    #[test]
    fn permits_that_a_thread_waits_for_since_the_program_began_are_no_hang() {
        let stands_by = |since: u64| {
            move |worker: &mut ThreadBuilder| {
                let call = CallId::of("java.util.concurrent.Semaphore", "acquire");
                worker.enter(since, 3);
                worker.event(since, Event::WaitBegin(Wait { call, ..Wait::new(WaitKind::Park) }));
            }
        };
        assert_eq!(hung(&report(asleep, stands_by(S + S / 2))), None);
        assert_eq!(hung(&report(asleep, stands_by(5 * S))), Some(("worker", 5, 40)));
    }

    #[test]
    fn permits_that_others_get_meanwhile_come_at_a_rate() {
        let waits = |lock: u64, since: u64, until: u64| {
            move |worker: &mut ThreadBuilder| {
                let call = CallId::of("java.util.concurrent.Semaphore", "acquire");
                let begin = Event::WaitBegin(Wait { call, lock, ..Wait::new(WaitKind::Park) });
                worker.enter(S, 3).event(since, begin).event(until, Event::WaitEnd);
            }
        };
        let found = |of_other: u64, until: u64| {
            let recording = program("Shop").main("main", asleep);
            let recording = recording.thread("one", 8, waits(1, 10 * S, 20 * S));
            hung(&built(recording.thread("two", 9, waits(of_other, 12 * S, until)))).is_some()
        };
        assert!(!found(1, 15 * S));
        assert!(found(2, 15 * S), "another semaphore");
        assert!(found(1, 20 * S), "at the same time");
    }

    #[test]
    fn main_that_waits_for_a_result_hangs_if_only_a_schedule_goes_on() {
        let parked = "waiting on condition\n   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(Native Method)\n";
        let dump = format!(
            "Full thread dump by anrscope:\n\n\"main\" #1 prio=5 tid=0x0000000000000001 nid=0x7 {parked}\
             \tat java.util.concurrent.CompletableFuture.get(CompletableFuture.java:3)\n\tat Shop.load(Shop.java:5)\n\tat Shop.main(Shop.java:3)\n\n\
             \"tick\" #3 daemon prio=5 tid=0x0000000000000003 nid=0x9 {parked}\
             \tat java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take(ScheduledThreadPoolExecutor.java:9)\n\tat Shop.tick(Shop.java:9)\n\n"
        );
        let found = |worked_until: u64, deep: bool| {
            let recording =
                program("Shop").section(SectionKind::DumpText, &timed::encode(30 * S, dump.as_bytes()));
            let call = CallId::of("java.util.concurrent.CompletableFuture", "get");
            let recording = recording.main("main", |main| {
                main.enter(S, 1);
                if deep {
                    main.enter(2 * S, 2);
                }
                main.event(3 * S, Event::WaitBegin(Wait { call, lock: 1, ..Wait::new(WaitKind::Park) }));
            });
            let recording = recording.thread("tick", 9, |tick| rounds(tick, 2));
            let recording = recording.thread("worker", 8, |worker| {
                (2..worked_until).for_each(|second| {
                    worker.enter(second * S, 4).exit(second * S + S / 2, 4);
                });
            });
            let report = built(recording);
            hung(&report).map(|(_, since, until)| (since, until))
        };
        assert_eq!(found(10, true), Some((9, 40)));
        assert_eq!(found(10, false), None, "it may keep the program alive");
        assert_eq!(found(40, true), None, "the worker works");
        assert_eq!(found(3, true), None, "the schedule may give the result");
    }

    #[test]
    fn pages_without_a_hang_answer_for_what_may_have_been_due() {
        let waits = |worker: &mut ThreadBuilder| {
            worker.enter(S, 3).event(20 * S, wait(WaitKind::ObjectWait));
        };
        let found = report(asleep, waits);
        assert_eq!(found.answer.conclusion, Conclusion::NoHang);
        let (idle, answer) = (found.idle.unwrap(), found.if_due.unwrap());
        assert_eq!(
            (idle.thread.as_str(), answer.thread.name.as_str()),
            ("worker", "worker"),
            "not main's sleep"
        );
        assert_eq!((answer.cause.id, answer.cause.confidence), (CauseId::ObjectWait, Confidence::Low));
        assert_eq!(report(asleep, |_| {}).idle.unwrap().thread, "main");
        let hangs = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Monitor));
        };
        let found = report(hangs, waits);
        assert_eq!((found.idle, found.if_due), (None, None));
    }

    #[test]
    fn threads_that_wait_in_a_call_that_usually_is_short_come_before_readers_in_a_loop() {
        let dump = "Full thread dump by anrscope:\n\n\
            \"main\" #1 prio=5 tid=0x0000000000000001 nid=0x7 waiting\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\
            \tat java.lang.Thread.sleep(Native Method)\n\tat shop.Main.main(Main.java:3)\n\n\
            \"printer\" #2 prio=5 tid=0x0000000000000002 nid=0x8 runnable\n   java.lang.Thread.State: RUNNABLE\n\
            \tat sun.nio.ch.SocketDispatcher.read0(Native Method)\n\
            \tat java.net.Socket$SocketInputStream.read(Socket.java:9)\n\
            \tat shop.Printer.print(Printer.java:5)\n\tat shop.Printer.run(Printer.java:3)\n\n\
            \"spool\" #3 prio=5 tid=0x0000000000000003 nid=0x9 in Object.wait()\n   java.lang.Thread.State: WAITING (on object monitor)\n\
            \tat java.lang.Object.wait(Native Method)\n\tat shop.Spool.await(Spool.java:5)\n\
            \tat shop.Spool.run(Spool.java:3)\n\n";
        let found = |jobs: u64| {
            let recording =
                program("shop").section(SectionKind::DumpText, &timed::encode(16 * S, dump.as_bytes()));
            let recording = recording.main("main", asleep).thread("printer", 8, |printer| {
                let call = CallId::of("java.io.InputStream", "read");
                let reads = Event::WaitBegin(Wait { call, ..Wait::new(WaitKind::Blocking) });
                printer.enter(S, 3);
                (1..10).for_each(|second| {
                    printer.event(second * S, reads).event(second * S + S / 2, Event::WaitEnd);
                });
                printer.event(10 * S, reads);
            });
            let recording = recording.thread("spool", 9, |spool| {
                spool.enter(S, 5);
                (2..2 + jobs).for_each(|second| {
                    spool.enter(second * S, 4).exit(second * S + S / 50, 4);
                });
                spool.enter(10 * S, 4).event(10 * S, wait(WaitKind::ObjectWait));
            });
            let found = built(recording);
            hung(&found).map(|(thread, ..)| thread.to_owned())
        };
        assert_eq!(found(6).as_deref(), Some("spool"));
        assert_eq!(found(0).as_deref(), Some("printer"), "nothing says how long the call takes");
    }

    #[test]
    fn dumps_that_are_cut_or_late_do_not_say_what_a_wait_was_for() {
        let main = |state: &str, inner: &str| {
            format!(
                "Full thread dump by anrscope:\n\n\"main\" #1 prio=5 tid=0x0000000000000001 nid=0x7 waiting\n   \
                 java.lang.Thread.State: {state}\n\tat {inner}\n\
                 \tat java.util.concurrent.CountDownLatch.await(CountDownLatch.java:230)\n\tat shop.Main.main(Main.java:3)\n\n"
            )
        };
        let clock = "\"clock\" #2 prio=5 tid=0x0000000000000002 nid=0x8 waiting\n   java.lang.Thread.State: WAITING (parking)\n\
            \tat jdk.internal.misc.Unsafe.park(Native Method)\n\
            \tat java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take(Pool.java:9)\n\
            \tat shop.Main$Clock.run(Main.java:7)\n\n";
        let waits = main("WAITING (parking)", "jdk.internal.misc.Unsafe.park(Native Method)");
        let cut = format!("{waits}1 of 2 threads are left out: no room or no time for them\n");
        let waits = waits + clock;
        let goes_on = main("RUNNABLE", "java.util.concurrent.locks.LockSupport.park(LockSupport.java:212)");
        let found = |last: &str| {
            let recording =
                program("shop").section(SectionKind::DumpText, &timed::encode(8 * S, waits.as_bytes()));
            let recording = recording.section(SectionKind::DumpText, &timed::encode(39 * S, last.as_bytes()));
            let call = CallId::of("java.util.concurrent.CountDownLatch", "await");
            let found = built(recording.main("main", |main| {
                main.enter(S, 1);
                main.event(2 * S, Event::WaitBegin(Wait { call, lock: 1, ..Wait::new(WaitKind::Park) }));
                main.event(39 * S, Event::WaitEnd).exit(39 * S, 1);
            }));
            hung(&found).map(|(thread, ..)| thread.to_owned())
        };
        assert_eq!(found(&goes_on), None, "main keeps the program of a schedule alive");
        assert_eq!(found(&cut), None, "the schedule is left out");
    }

    #[test]
    fn waits_in_which_the_thread_computes_are_none() {
        let dump = "Full thread dump by anrscope:\nComputing for 5.0 s in shop.Hook.sign: thread #2\n\
            5 of 5 samples of thread #2: shop.Hook.sign\n\n\
            \"worker\" #2 prio=5 tid=0x0000000000000002 nid=0x8 runnable\n   java.lang.Thread.State: RUNNABLE\n\
            \tat shop.Hook.sign(Hook.java:9)\n\tat io.reactivex.rxjava3.core.Single.blockingGet(Single.java:3)\n\
            \tat shop.Hook.send(Hook.java:5)\n\tat shop.Hook.run(Hook.java:3)\n\n";
        let recording = program("shop");
        let recording = recording
            .section(SectionKind::DumpText, &timed::encode(16 * S, dump.as_bytes()))
            .main("main", asleep);
        let call = CallId::of("io.reactivex.rxjava3.core.Single", "blockingGet");
        let recording = recording.thread("worker", 8, |worker| {
            worker.enter(S, 3).enter(10 * S, 4);
            worker.event(10 * S, Event::WaitBegin(Wait { call, ..Wait::new(WaitKind::Park) }));
            (100..200).for_each(|tenth| {
                worker.enter(tenth * S / 10, 5).exit(tenth * S / 10 + S / 20, 5);
            });
            worker.event(20 * S, Event::WaitEnd).exit(20 * S, 4);
        });
        let found = built(recording);
        assert_eq!(hung(&found), Some(("worker", 10, 20)));
        assert_eq!(found.answer.cause.id, CauseId::BusyMethod);
    }

    #[test]
    fn calls_that_last_are_the_hang_and_not_the_turn_around_them() {
        let dump = "Full thread dump by anrscope:\nComputing for 4.0 s in shop.Main.main: thread #1\n\
            1 of 5 samples of thread #1: shop.Main.work < shop.Main.rounds < shop.Main.main\n\
            4 of 5 samples of thread #1: shop.Main.work < shop.Main.sum < shop.Main.main\n\n\
            \"main\" #1 prio=5 tid=0x0000000000000001 nid=0x7 runnable\n   java.lang.Thread.State: RUNNABLE\n\
            \tat shop.Main.work(Main.java:9)\n\tat shop.Main.sum(Main.java:5)\n\tat shop.Main.main(Main.java:3)\n\n";
        let recording =
            program("shop").section(SectionKind::DumpText, &timed::encode(12 * S, dump.as_bytes()));
        let recording = recording.main("main", |main| {
            main.enter(S, 1);
            for second in 2..9 {
                main.event(second * S, wait(WaitKind::Sleep)).event(second * S + S / 2, Event::WaitEnd);
                main.enter(second * S + S / 2, 3).exit(second * S + S / 2 + S / 100, 3);
            }
            main.event(9 * S, wait(WaitKind::Sleep)).event(9 * S + S / 2, Event::WaitEnd);
            main.enter(10 * S, 2).enter(10 * S, 3).exit(18 * S, 3).exit(18 * S, 2);
            main.event(18 * S, wait(WaitKind::Sleep)).event(19 * S, Event::WaitEnd).exit(20 * S, 1);
        });
        let found = built(recording);
        assert_eq!(hung(&found), Some(("main", 10, 18)));
        assert_eq!(found.hang.unwrap().turns, None);
    }

    #[test]
    fn loops_that_run_between_two_dumps_come_on_although_nothing_is_recorded() {
        let dump = |cpu: u64| {
            format!(
                "Full thread dump by anrscope:\n\n\"worker\" #2 prio=5 cpu={cpu}.00ms tid=0x0000000000000002 nid=0x8 runnable\n   \
                 java.lang.Thread.State: RUNNABLE\n\tat java.net.Socket$SocketInputStream.read(Socket.java:966)\n\
                 \tat shop.Session.run(Session.java:5)\n\n"
            )
        };
        let found = |ran: u64, is_task: bool| {
            let mut recording = program("Shop");
            recording = recording.main("main", asleep);
            for (at, cpu) in [(10, 7), (38, 7 + ran)] {
                recording =
                    recording.section(SectionKind::DumpText, &timed::encode(at * S, dump(cpu).as_bytes()));
            }
            let recording = recording.thread("worker", 8, |worker| {
                if is_task {
                    worker.enter(S, 4).exit(2 * S, 4);
                }
                worker.enter(3 * S, 3);
            });
            let report = built(recording);
            hung(&report).map(|(_, since, until)| (since, until))
        };
        assert_eq!(found(0, true), Some((3, 40)));
        assert_eq!(found(28, true), None, "1 ms a second");
        assert_eq!(found(0, false), None, "the thread began with its loop");
    }

    #[test]
    fn waits_for_a_connection_that_always_are_as_long_are_no_hang() {
        let dump = "Full thread dump by anrscope:\n\n\
            \"worker\" #2 prio=5 tid=0x0000000000000002 nid=0x8 runnable\n   java.lang.Thread.State: RUNNABLE\n\
            \tat java.net.Socket$SocketInputStream.read(Socket.java:966)\n\tat shop.Client.next(Client.java:9)\n\tat shop.Client.run(Client.java:5)\n\n";
        let found = |first: u64, each: u64| {
            let mut recording = program("Shop");
            let class = recording.text("java.net.Socket$SocketInputStream");
            let call = CallId::of("java.io.InputStream", "read");
            let read = || Event::WaitBegin(Wait { lock: 1, class, call, ..Wait::new(WaitKind::Blocking) });
            let recording = recording
                .section(SectionKind::DumpText, &timed::encode(20 * S, dump.as_bytes()))
                .main("main", asleep);
            let recording = recording.thread("worker", 8, |worker| {
                worker.enter(S, 3).event(6 * S, read()).event(6 * S + first, Event::WaitEnd);
                (1..4).for_each(|call| {
                    worker.event(6 * S + call * each, read());
                    worker.event(6 * S + (call + 1) * each, Event::WaitEnd);
                });
            });
            hung(&built(recording)).is_some()
        };
        assert!(!found(7 * S, 8 * S), "a long poll");
        assert!(found(S, 8 * S), "the first answer came soon");
    }

    /// Records a sleep in each second from `since` on.
    fn rounds(thread: &mut ThreadBuilder, since: u64) {
        for second in since..40 {
            thread.event(second * S, wait(WaitKind::Sleep)).event(second * S + S / 10 * 9, Event::WaitEnd);
        }
    }

    #[test]
    fn programs_that_wait_for_another_one_do_not_hang_while_they_read_what_it_writes() {
        let dump = "Full thread dump OpenJDK 64-Bit Server VM (by anrscope):\n\n\
            \"main\" #1 prio=5 tid=0x0000000000000001 nid=0x7 in Object.wait()\n   java.lang.Thread.State: WAITING (on object monitor)\n\
            \tat java.lang.Object.wait(Native Method)\n\tat java.lang.ProcessImpl.waitFor(ProcessImpl.java:434)\n\tat shop.Main.main(Main.java:3)\n\n\
            \"worker\" #2 prio=5 tid=0x0000000000000002 nid=0x8 runnable\n   java.lang.Thread.State: RUNNABLE\n\
            \tat java.io.FileInputStream.readBytes(Native Method)\n\tat java.io.BufferedInputStream.read(BufferedInputStream.java:343)\n\
            \t- locked <0x0000000000000009> (a java.lang.ProcessImpl$ProcessPipeInputStream)\n\tat shop.Output.run(Output.java:9)\n\n";
        let found = |reads: u64| {
            let recording = program("Shop");
            let recording = recording
                .section(SectionKind::DumpText, &timed::encode(8 * S, dump.as_bytes()))
                .main("main", |main| {
                    main.enter(S, 1).event(2 * S, wait(WaitKind::Blocking));
                })
                .thread("worker", 8, |worker| {
                    worker.enter(S, 3);
                    (2..reads).for_each(|second| {
                        worker
                            .event(second * S, wait(WaitKind::Blocking))
                            .event(second * S + S / 2, Event::WaitEnd);
                    });
                });
            let report = built(recording);
            hung(&report).map(|(_, since, until)| (since, until))
        };
        assert_eq!(found(40), None);
        assert_eq!(found(20), Some((19, 40)), "since it wrote last");
        assert_eq!(found(0), Some((2, 40)));
    }

    #[test]
    fn main_hangs_that_joins_a_thread_without_work_unless_that_keeps_the_program_alive() {
        let joined = |begins: u64, deep: bool, works: bool| {
            let mut recording = program("Shop");
            let none = trace_format::event::TextId::default();
            let class = recording.text("worker");
            let step = Concurrency {
                step: ConcurrencyStep::ThreadStarted,
                line: 0,
                method: 1,
                object: 1,
                other: 0,
                class,
                other_class: none,
            };
            let recording = recording.main("main", |main| {
                main.enter(S, 1).event(2 * S, Event::Concurrency(step));
                if deep {
                    main.enter(begins * S, 2);
                }
                main.event(begins * S, wait(WaitKind::Join));
            });
            let recording = recording.thread("worker", 8, |worker| {
                worker.enter(2 * S + S / 10, 3);
                if works {
                    (3..40).for_each(|second| {
                        worker.enter(second * S, 4).exit(second * S + S / 2, 4);
                    });
                } else {
                    rounds(worker, 3);
                }
            });
            let report = built(recording);
            hung(&report).map(|(thread, since, until)| (thread.to_owned(), since, until))
        };
        let main = Some(("main".to_owned(), 20, 40));
        assert_eq!(joined(20, true, false), main, "it rests in rounds");
        assert_eq!(joined(20, true, true), None, "it works");
        assert_eq!(joined(20, false, false), None, "in the method that the program began with");
        assert_eq!(joined(3, true, false), None, "as soon as it began");
    }

    /// Three short calls, and then one that waits for work for the rest of the time.
    fn serves(wait: Wait) -> impl FnOnce(&mut ThreadBuilder) {
        move |worker: &mut ThreadBuilder| {
            worker.enter(S, 3);
            for second in 2..5 {
                worker.enter(second * S, 4).exit(second * S + S / 10, 4);
            }
            worker.enter(8 * S, 4).event(8 * S, Event::WaitBegin(wait));
        }
    }

    #[test]
    fn servers_without_requests_do_not_hang_although_requests_were_short() {
        let found = |(called, method): (&str, &str), class: &str, process: &str| {
            let mut recording =
                RecordingBuilder::new(7, process).last_alive(40 * S).state(State::Ended as u32);
            let class = recording.text(class);
            let recording = recording.main("main", asleep);
            let call = CallId::of(called, method);
            let wait = Wait { lock: 1, class, call, ..Wait::new(WaitKind::Blocking) };
            let recording = recording.thread("worker", 8, serves(wait)).build();
            let recording = Recording::open(recording).unwrap();
            let map = "1,1,com.acme.Shop main ()V\n3,1,org.web.Worker run ()V\n4,1,org.web.Worker next ()V\n";
            let map = MethodMap::parse(Path::new("map"), map.as_bytes().to_vec()).unwrap();
            hung(&Report::build(Path::new("shop.anrscope"), &recording, &map).unwrap()).is_some()
        };
        let (select, accept) =
            (("java.nio.channels.Selector", "select"), ("java.nio.channels.ServerSocketChannel", "accept"));
        assert!(!found(select, "sun.nio.ch.EPollSelectorImpl", "org.web.Main"));
        assert!(!found(select, "org.web.Wrapped", "org.web.Main"));
        assert!(!found(accept, "sun.nio.ch.ServerSocketChannelImpl", "org.web.Main"));
        let read = ("java.io.InputStream", "read");
        assert!(!found(read, "java.io.PipedInputStream", "com.acme.Shop"), "a library's worker");
        assert!(found(read, "java.io.PipedInputStream", "org.web.Main"), "the program's own");
        assert!(found(read, "java.io.PipedInputStream", "shop.jar"), "whose it is, is not known");
    }
}
