//! The question that the report on a program without messages answers: which thread hung, and when.
//!
//! Android asks about main's message. A program on a JVM has none, and its `main` lasts as long as the program. Its unit is a
//! *stretch* of a thread without progress, as long as [`MIN_ENDED_HANG`] or longer. Two sources know of one:
//!
//! * The record: something is open on the thread, and the thread records nothing, neither a call nor a count of short ones.
//! * A dump of the JVM agent: samples of the stack are equal up to a method in which the thread computes, although it calls
//!   others. That lasts as long as the innermost recorded call around it. (Equal samples of a thread that waits prove nothing: a
//!   healthy loop waits at one place again and again.)
//!
//! A healthy thread has stretches too, when there is nothing to do. What a thread waits for says which of them are a hang
//! ([`Due`]): by a dump of that time, or else by the recorded wait.
//!
//! Of several stretches one is asked about, in this order: one of main, of another thread that waits for a lock, of any other
//! thread; of each, one that is open at the end, and then the longest.

use std::cmp::Reverse;

use trace_format::event::{Event, Wait, WaitKind};
use trace_format::{ReadError, Source, Thread};

use super::MIN_ENDED_HANG;
use super::hang::in_order;
use crate::answer::due::{Due, due_to_dumped, due_to_recorded};
use crate::answer::{FrameView, is_own, seen};
use crate::dump::{Dump, Standing};
use crate::facts::{Facts, OpenStack, Step};
use crate::words::thread_name;

/// Maximum number of stretches of one thread that are judged: its longest.
const MAX_STRETCHES: usize = 256;
/// The least time for which samples of a stack are equal where a dump is taken, ns, and the time from one to the next.
const LEAST_STANDING: u64 = 4_000_000_000;
const SAMPLES_APART: u64 = 1_200_000_000;
/// Another thread works beside a wait if it records something this long after the wait began and before it ended, ns.
const BESIDE: u64 = 1_000_000_000;

/// A thread that hung, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'t> {
    pub(super) thread: &'t Thread,
    pub(super) since: u64,
    pub(super) until: u64,
    /// False if it hangs at the end of the recording.
    pub(super) ended: bool,
}

/// The order in which stretches are asked about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Main,
    Lock,
    Other,
    /// Main, while nothing else works: whether its wait is its purpose is not known.
    Alone,
}

/// The least is asked about: by its claim, open at the end before ended, the longest first.
type Order = (Claim, bool, Reverse<u64>);

/// A stretch without progress, and the wait that it is.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    since: u64,
    until: u64,
    ended: bool,
    wait: Option<Wait>,
}

impl<'t> Question<'t> {
    /// The question of a program whose recording ends at `end`; `None` if nothing hung.
    pub(super) fn of<S: Source + ?Sized>(facts: &Facts<'t, S>, end: u64) -> Result<Option<Self>, ReadError> {
        let dumps = facts.dumps().collect::<Result<Vec<_>, _>>()?;
        let pauses = facts.recorder.pauses();
        let mut best: Option<(Order, Self)> = None;
        for thread in facts.recording.threads() {
            let mut found = stretches(facts, thread, end)?;
            found.extend(computing(facts, thread, &dumps, end)?);
            found.retain(|stretch| {
                let paused = |begin: u64, until: Option<u64>| {
                    begin < stretch.until && until.is_none_or(|until| until > stretch.since)
                };
                !pauses.iter().any(|pause| paused(pause.begin, pause.end))
            });
            for stretch in found {
                let Some(claim) = claim(facts, thread, &stretch, &dumps)? else { continue };
                let Stretch { since, until, ended, .. } = stretch;
                let order = (claim, ended, Reverse(until - since));
                if best.as_ref().is_none_or(|(known, _)| order < *known) {
                    best = Some((order, Self { thread, since, until, ended }));
                }
            }
        }
        Ok(best.map(|(_, question)| question))
    }
}

/// The longest stretches of a thread, by time.
fn stretches<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    thread: &Thread,
    end: u64,
) -> Result<Vec<Stretch>, ReadError> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut keep = |stretch: Stretch| {
        if stretch.until.saturating_sub(stretch.since) < MIN_ENDED_HANG {
            return;
        }
        found.push(stretch);
        if found.len() > MAX_STRETCHES {
            let shortest = (0..found.len()).min_by_key(|at| found[*at].until - found[*at].since);
            found.remove(shortest.unwrap_or(0));
        }
    };
    let mut stack = OpenStack::new();
    // When the last step was, if all from then on is known, and the wait that it began.
    let mut last: Option<(u64, Option<Wait>)> = None;
    for step in facts.steps(thread) {
        let step = step?;
        let Some((time, begun, ended)) = step.change() else {
            last = None;
            continue;
        };
        if let Some((since, wait)) =
            last.filter(|(_, wait)| wait.is_some() || stack.innermost_method().is_some())
        {
            keep(Stretch { since, until: time, ended: true, wait });
        }
        stack.follow(time, begun, ended);
        let wait = match step {
            Step::Event { event: Event::WaitBegin(wait), .. } => Some(wait),
            _ => None,
        };
        last = Some((time, wait));
    }
    if let Some((since, wait)) = last.filter(|(_, wait)| wait.is_some() || stack.innermost_method().is_some())
    {
        keep(Stretch { since, until: end, ended: false, wait });
        // A process that was killed in a call that went on and on.
        if let Some(open) = stack.frames().last().filter(|_| thread.main && !in_order(facts)) {
            keep(Stretch { since: open.begun, until: end, ended: false, wait: None });
        }
    }
    Ok(found)
}

/// The stretches in which a thread computes, by the agent's dumps.
fn computing<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    thread: &Thread,
    dumps: &[(u64, Dump)],
    end: u64,
) -> Result<Vec<Stretch>, ReadError> {
    let name = thread_name(thread);
    // Since when it computes at the latest, and when the dump was made.
    let mut stood: Vec<(u64, u64)> = Vec::new();
    for (at, dump) in dumps {
        let Some(section) = dump.answer() else { continue };
        let stands = section.standing.iter().filter(|standing| {
            let dumped = section.thread(standing.tid);
            standing.ns >= LEAST_STANDING
                && dumped.is_some_and(|dumped| {
                    dumped.name.as_deref() == Some(name.as_str()) && computes_within(standing, dumped)
                })
        });
        stood.extend(stands.map(|standing| (at.saturating_sub(standing.ns), *at)));
    }
    let mut found = Vec::new();
    if stood.is_empty() {
        return Ok(found);
    }
    let mut stack = OpenStack::new();
    let mut next = stood.into_iter().peekable();
    // The calls that were open around a stretch, and that have not ended.
    let mut around: Vec<(u64, usize)> = Vec::new();
    let note = |stack: &OpenStack, around: &mut Vec<(u64, usize)>, since: u64| {
        let open = stack.frames().iter().rposition(|open| open.begun <= since + SAMPLES_APART);
        if let Some(depth) = open {
            let since = stack.frames()[depth].begun.max(since.saturating_sub(SAMPLES_APART));
            around.push((since, depth));
        }
    };
    for step in facts.steps(thread) {
        let Some((time, begun, ended)) = step?.change() else { continue };
        while let Some((since, _)) = next.next_if(|(_, at)| *at < time) {
            note(&stack, &mut around, since);
        }
        stack.follow(time, begun, ended);
        while let Some((since, _)) = around.pop_if(|(_, depth)| *depth >= stack.depth()) {
            found.push(Stretch { since, until: time, ended: true, wait: None });
        }
    }
    for (since, _) in next {
        note(&stack, &mut around, since);
    }
    found.extend(around.into_iter().map(|(since, _)| Stretch {
        since,
        until: end,
        ended: false,
        wait: None,
    }));
    found.retain(|stretch| stretch.until.saturating_sub(stretch.since) >= MIN_ENDED_HANG);
    Ok(found)
}

/// True if a thread computes in a call of the program that another one made: a loop over work is in the outermost one.
fn computes_within(standing: &Standing, dumped: &crate::dump::Thread) -> bool {
    let Some(method) = &standing.computes_in else { return false };
    let own = |frame: &&FrameView<'_>| matches!(frame, FrameView::Java { class, .. } if is_own(class));
    let frames: Vec<FrameView<'_>> = seen(dumped).collect();
    let is_method = |frame: &FrameView<'_>| matches!(frame, FrameView::Java { class, method: name, .. } if format!("{class}.{name}") == *method);
    let Some(at) = frames.iter().position(is_method) else { return false };
    frames[at..].iter().filter(own).count() > 1
}

/// The claim of a stretch to be the hang; `None` if it is none.
fn claim<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    thread: &Thread,
    stretch: &Stretch,
    dumps: &[(u64, Dump)],
) -> Result<Option<Claim>, ReadError> {
    let is_lock = stretch.wait.is_some_and(|wait| wait.kind == WaitKind::Monitor);
    let owed = match thread.main {
        true => Claim::Main,
        false if is_lock => Claim::Lock,
        false => Claim::Other,
    };
    let needs_rest = match due(facts, thread, stretch, dumps) {
        Due::Owed => return Ok(Some(owed)),
        Due::Nothing => return Ok(None),
        Due::Unknown if !thread.main => return Ok(None),
        Due::Unknown => Claim::Alone,
        Due::Result => owed,
    };
    for other in facts.recording.threads().iter().filter(|other| !other.main && other.uid != thread.uid) {
        if works_beside(facts, other, stretch)? {
            return Ok(None);
        }
    }
    Ok(Some(needs_rest))
}

/// The debt to the thread, by a dump of that time or else by the recorded wait.
fn due<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    thread: &Thread,
    stretch: &Stretch,
    dumps: &[(u64, Dump)],
) -> Due {
    let name = thread_name(thread);
    let within = dumps.iter().filter(|(at, _)| (stretch.since..=stretch.until).contains(at));
    let dumped = within.filter_map(|(_, dump)| dump.answer()).find_map(|section| {
        section.threads.iter().find(|dumped| dumped.name.as_deref() == Some(name.as_str()))
    });
    match (dumped, stretch.wait) {
        (Some(dumped), _) => due_to_dumped(dumped),
        (None, Some(wait)) => {
            due_to_recorded(wait.kind, facts.recording.texts().get(wait.class).unwrap_or_default())
        }
        // Only main's CPU time can say that it computes; and a process that was killed in a call did not end it.
        (None, None) => {
            let ran = facts.recorder.cpu(thread.tid, stretch.since, stretch.until);
            let ran = ran.is_some_and(|cpu| cpu.mostly() == "running");
            let was_killed = !stretch.ended && !in_order(facts);
            if thread.main && (ran || was_killed) { Due::Owed } else { Due::Nothing }
        }
    }
}

/// True if a thread records something in a stretch of another one, except in its first and its last second: there it gives, or
/// gets, what the other one waited for.
fn works_beside<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    thread: &Thread,
    stretch: &Stretch,
) -> Result<bool, ReadError> {
    for step in facts.steps(thread) {
        match step?.change() {
            Some((time, ..)) if time + BESIDE >= stretch.until => return Ok(false),
            Some((time, ..)) if time > stretch.since + BESIDE => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trace_format::event::TextId;
    use trace_format::layout::State;
    use trace_format::section::SectionKind;
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::{Event, Recording};

    use super::*;
    use crate::MethodMap;
    use crate::answer::Conclusion;
    use crate::report::Report;

    const S: u64 = 1_000_000_000;

    fn wait(kind: WaitKind) -> Event {
        Event::WaitBegin(Wait { kind, owner: 0, lock: 1, class: TextId::default() })
    }

    /// The report of a program that ended in order after 40 s, in which main and a worker did these things.
    fn report(main: impl FnOnce(&mut ThreadBuilder), worker: impl FnOnce(&mut ThreadBuilder)) -> Report {
        let recording = RecordingBuilder::new(7, "Shop").last_alive(40 * S).state(State::Ended as u32);
        let recording = recording.section(SectionKind::Process, b"os=linux\n");
        let bytes = recording.main("main", main).thread("worker", 8, worker).build();
        let recording = Recording::open(bytes).unwrap();
        Report::build(Path::new("shop.anrscope"), &recording, &MethodMap::empty()).unwrap()
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
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
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
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
        };
        let blocked = |worker: &mut ThreadBuilder| {
            worker.enter(S, 3).event(20 * S, wait(WaitKind::Monitor));
        };
        let found = report(asleep, blocked);
        assert_eq!(hung(&found), Some(("worker", 20, 40)));
        assert!(!found.answer.thread.main);
    }
}
