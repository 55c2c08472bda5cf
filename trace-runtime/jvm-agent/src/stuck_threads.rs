//! Tells from samples of all stacks which threads do not go on.
//!
//! A thread is stuck in one of two ways:
//!
//! * Its whole stack has been the same for four seconds, methods and positions in them. For example, main waits for a lock in
//!   `Cart.total`.
//! * It has computed for four seconds, and the outer part of its stack has been the same. For example, main is in an endless
//!   loop of `parseFeed` that calls `next`: some samples show `main > parseFeed > next`, others `main > parseFeed`.
//!
//! Only a stack with a method of the program counts, and of the second kind only if that method is in the common part: a
//! thread of a pool that waits for work does what it is for. A worker that waits in a loop of the program's own looks stuck
//! all the same. So does a thread that computes for long in many short calls. One dump shows each such stack, and the next
//! one is taken only for a stack that no dump has shown.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jni::sys::jlong;

use crate::environment::{Frame, MethodId};
use crate::thread_dump::Stuck;

/// The age from which a thread that does not go on is stuck, ns. An Android app that does not answer for 5 s is reported as
/// not responding; after 4 s the evidence is taken before anyone ends the program.
const STUCK_NS: u64 = 4_000_000_000;

/// The greatest depth of calls that still count as a part of a computing method: deeper ones are work of their own.
const SHORT_CALLS: usize = 2;

/// The most frames that may be missing at the outer end of one of two stacks that were cut to the same length.
const MOST_SHIFT: usize = 32;

/// The least number of frames that two cut stacks have in common if they are of the same calls.
const LEAST_IN_COMMON: usize = 8;

/// The most methods of a sample that a dump names: the JDK makes an exception in about ten.
const MOST_INNER: usize = 32;

/// A sample of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The number of the thread.
    pub(crate) thread: jlong,
    /// Innermost call first.
    pub(crate) frames: Vec<Frame>,
    /// The CPU time that the thread has used, ns, if it can run.
    pub(crate) cpu: Option<u64>,
}

impl Sample {
    /// Returns a number that stands for the stack.
    pub(crate) fn stack(&self) -> u64 {
        hash(&self.frames)
    }
}

fn hash(frames: &[Frame]) -> u64 {
    let mut hasher = DefaultHasher::new();
    frames.hash(&mut hasher);
    hasher.finish()
}

/// A stuck thread with the number of the stack, or of the common part, in which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StuckIn {
    pub(crate) stuck: Stuck,
    pub(crate) stack: u64,
}

/// A thread as earlier samples have shown it.
#[derive(Debug)]
struct Past {
    stack: u64,
    /// Since when the stack is the same, ns.
    since: u64,
    /// The samples since the thread computes. They reach back by [`STUCK_NS`].
    computing: VecDeque<Computing>,
}

/// A sample of a thread that computes.
#[derive(Debug)]
struct Computing {
    at: u64,
    /// The time for which it could run, without the pauses of the garbage collector, and its CPU time, ns.
    could_run: u64,
    cpu: u64,
    frames: Vec<Frame>,
}

/// All threads as earlier samples have shown them.
#[derive(Debug, Default)]
pub(crate) struct Threads(HashMap<jlong, Past>);

impl Threads {
    /// Takes the samples of one moment, with the time for which collections have stopped all threads so far, ns, and the number
    /// of frames to which deeper stacks were cut. Returns the threads that are stuck.
    pub(crate) fn take(
        &mut self,
        at: u64,
        paused: u64,
        samples: Vec<Sample>,
        most: usize,
        mut of_program: impl FnMut(MethodId) -> bool,
    ) -> Vec<StuckIn> {
        let mut before = std::mem::take(&mut self.0);
        let mut stuck = Vec::new();
        for sample in samples {
            if !sample.frames.iter().any(|frame| of_program(frame.method)) {
                continue;
            }
            let stack = sample.stack();
            let thread = sample.thread;
            let mut past = before.remove(&thread).unwrap_or_else(|| Past {
                stack,
                since: at,
                computing: VecDeque::new(),
            });
            if past.stack != stack {
                (past.stack, past.since) = (stack, at);
            }
            past.computes(at, at.saturating_sub(paused), sample);
            let ns = at.saturating_sub(past.since);
            // A loop may be at one place in all samples: it computes, and does not wait.
            if let Some((ns, common)) = past.common_part(at, most)
                && let Some(own) = common.iter().position(|frame| of_program(frame.method))
            {
                let stuck_in = Stuck { thread, ns, samples: past.inner(&common, own) };
                stuck.push(StuckIn { stuck: stuck_in, stack: hash(&common) });
            } else if ns >= STUCK_NS {
                stuck.push(StuckIn { stuck: Stuck { thread, ns, samples: Vec::new() }, stack });
            }
            self.0.insert(thread, past);
        }
        stuck
    }

    /// Returns for how long a thread has had this stack, ns; `None` if the last sample has shown another one.
    pub(crate) fn unchanged(&self, at: u64, thread: jlong, frames: &[Frame]) -> Option<u64> {
        let past = self.0.get(&thread).filter(|past| past.stack == hash(frames))?;
        Some(at.saturating_sub(past.since))
    }
}

impl Past {
    /// Keeps the sample if the thread has used a quarter of the time in which it could run since the last one, and forgets the
    /// others if not: other threads and programs may have had the rest.
    fn computes(&mut self, at: u64, could_run: u64, sample: Sample) {
        let Some(cpu) = sample.cpu else { return self.computing.clear() };
        let computes = self.computing.back().is_some_and(|last| {
            cpu.saturating_sub(last.cpu).saturating_mul(4) >= could_run.saturating_sub(last.could_run)
        });
        if !computes {
            self.computing.clear();
        }
        self.computing.push_back(Computing { at, could_run, cpu, frames: sample.frames });
        while self.computing.get(1).is_some_and(|second| at.saturating_sub(second.at) >= STUCK_NS) {
            self.computing.pop_front();
        }
    }

    /// Returns the outer part that the stacks have in common since the thread has computed for long enough, innermost frame
    /// first, and for how long, ns.
    fn common_part(&self, at: u64, most: usize) -> Option<(u64, Vec<Frame>)> {
        let Computing { at: begun, frames: first, .. } = self.computing.front()?;
        let ns = at.saturating_sub(*begun);
        if ns < STUCK_NS {
            return None;
        }
        let mut common = first.clone();
        for Computing { frames, .. } in &self.computing {
            common = outer_part(&common, frames, most);
        }
        // The loop that computes is in the next frame if all stacks are in its method, at different places.
        let inner = |frames: &Vec<Frame>| {
            let next = frames.len().checked_sub(common.len() + 1)?;
            (next <= SHORT_CALLS).then(|| frames[next].method)
        };
        if let Some(method) = inner(first)
            && self.computing.iter().all(|sample| inner(&sample.frames) == Some(method))
        {
            common.insert(0, Frame { method, location: 0 });
        }
        Some((ns, common))
    }

    /// Returns the methods of each sample, innermost first: the last one is the program's innermost method in the common part, at
    /// `own`. A method that calls itself is there once.
    fn inner(&self, common: &[Frame], own: usize) -> Vec<Vec<MethodId>> {
        let Some((_, around)) = common.split_first() else { return Vec::new() };
        let samples = self.computing.iter().map(|Computing { frames, .. }| {
            let at = |part: &[Frame]| frames.windows(part.len().max(1)).position(|frames| frames == part);
            // The loop's own method may be at another place in each.
            let end = at(common).or_else(|| at(around)).unwrap_or(frames.len());
            let mut methods: Vec<MethodId> = frames[..end].iter().map(|frame| frame.method).collect();
            methods.dedup();
            methods.truncate(MOST_INNER);
            methods.extend(common[..=own].iter().map(|frame| frame.method));
            methods.dedup();
            methods
        });
        samples.collect()
    }
}

/// Returns the outer frames that two stacks have in common, innermost first.
fn outer_part(one: &[Frame], other: &[Frame], most: usize) -> Vec<Frame> {
    let common = |one: &[Frame], other: &[Frame]| {
        one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
    };
    let mut best = (common(one, other), 0);
    // The outer ends of cut stacks are at different depths if the inner ends are.
    if best.0 < LEAST_IN_COMMON && one.len().max(other.len()) >= most {
        for shift in 1..=MOST_SHIFT {
            let less = |frames: &[Frame]| frames.len().saturating_sub(shift);
            let shifted =
                [(common(&one[..less(one)], other), shift), (common(one, &other[..less(other)]), 0)];
            let found = shifted.into_iter().filter(|(count, _)| *count >= LEAST_IN_COMMON);
            best = found.chain([best]).max_by_key(|(count, _)| *count).unwrap_or(best);
        }
    }
    let (count, shift) = best;
    let end = one.len() - shift;
    one[end - count..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const MOST: usize = 64;

    /// Frames from a text, innermost first: a letter is a method, a digit after it the location. Capitals are the program's.
    fn frames(text: &str) -> Vec<Frame> {
        let mut frames: Vec<Frame> = Vec::new();
        for c in text.chars() {
            match c.to_digit(10) {
                Some(digit) => frames.last_mut().unwrap().location = digit.into(),
                None => frames.push(Frame { method: method(c), location: 0 }),
            }
        }
        frames
    }

    fn method(letter: char) -> MethodId {
        MethodId(letter as usize as *mut _)
    }

    fn of_program(method: MethodId) -> bool {
        (method.0 as usize as u8).is_ascii_uppercase()
    }

    /// Takes a sample each second, of one thread that has used so many ms of CPU time, if it can run.
    fn stuck(samples: &[(&str, Option<u64>)]) -> Vec<StuckIn> {
        stuck_beside_pauses(samples, 0)
    }

    /// The same while collections take so much of each second, ns.
    fn stuck_beside_pauses(samples: &[(&str, Option<u64>)], paused: u64) -> Vec<StuckIn> {
        let mut threads = Threads::default();
        let mut stuck = Vec::new();
        for (second, (text, cpu)) in (0..).zip(samples) {
            let cpu = cpu.map(|ms| ms * 1_000_000);
            let sample = Sample { thread: 1, frames: frames(text), cpu };
            stuck = threads.take(second * SECOND, second * paused, vec![sample], MOST, of_program);
        }
        stuck
    }

    #[test]
    fn stacks_that_stay_for_four_seconds_are_stuck() {
        let waits = ("wAM", None);
        let found = stuck(&[waits; 5]);
        let expected = Stuck { thread: 1, ns: 4 * SECOND, samples: Vec::new() };
        assert_eq!(found, [StuckIn { stuck: expected, stack: hash(&frames("wAM")) }]);
        assert!(stuck(&[waits; 4]).is_empty());
        assert!(stuck(&[waits, waits, ("wA1M", None), waits, waits]).is_empty());
        assert!(stuck(&[("wpt", None); 9]).is_empty(), "a thread of a pool");
    }

    #[test]
    fn computing_threads_are_stuck_in_their_common_calls() {
        let second = |n: u64| Some(n * 900);
        let calls = |texts: [&'static str; 5]| {
            let samples: Vec<_> = (0..).zip(texts).map(|(n, text)| (text, second(n))).collect();
            stuck(&samples)
        };
        let found = calls(["abcPM1", "PM1", "xyzP2M1", "qP3M1", "P3M1"]);
        assert_eq!(found.len(), 1);
        let methods = |texts: &[&str]| {
            let samples = texts.iter().map(|text| text.chars().map(method).collect());
            samples.collect::<Vec<Vec<_>>>()
        };
        let samples = methods(&["abcPM", "PM", "xyzPM", "qPM", "PM"]);
        assert_eq!(found[0].stuck, Stuck { thread: 1, ns: 4 * SECOND, samples });
        let found = calls(["P1M1", "P2M1", "aP3M1", "abP2M1", "P4M1"]);
        assert_eq!(found[0].stuck.samples, methods(&["P", "P", "aP", "abP", "P"]), "a loop with short calls");
        let found = calls(["abjPM1", "jPM1", "bjPM1", "bjPM1", "jPM1"]);
        let samples = methods(&["abjP", "jP", "bjP", "bjP", "jP"]);
        assert_eq!(found[0].stuck.samples, samples, "out to a method of the program");
        let found = calls(["aRRRPM1", "RRPM1", "bRPM1", "PM1", "aRRRRPM1"]);
        assert_eq!(found[0].stuck.samples, methods(&["aRP", "RP", "bRP", "P", "aRP"]), "a recursion");
        assert!(
            calls(["PM1", "PM2", "PM3", "abcdQM4", "PM5"]).is_empty(),
            "main makes one call after the other"
        );
        assert!(calls(["Pr", "Qr", "Pr", "Qr", "Sr"]).is_empty(), "none of the program's in common");
        let idle: Vec<_> = (0..5).map(|n| (["PM1", "P2M1"][n % 2], Some(n as u64 * 10))).collect();
        assert!(stuck(&idle).is_empty(), "it hardly computes");
    }

    #[test]
    fn threads_that_compute_between_collections_are_stuck() {
        let samples: Vec<_> = (0..5).map(|n| (["PM1", "P2M1"][n % 2], Some(n as u64 * 200))).collect();
        assert!(stuck(&samples).is_empty());
        assert_eq!(stuck_beside_pauses(&samples, 700_000_000).len(), 1);
    }

    #[test]
    fn cut_stacks_are_compared_at_their_common_calls() {
        let outer: Vec<Frame> = (0..60).map(|at| Frame { method: method('M'), location: at }).collect();
        let one = [frames("abcd"), outer.clone()].concat();
        let other = [frames("abcdefgh"), outer[..56].to_vec()].concat();
        assert_eq!(outer_part(&one, &other, MOST), outer[..56]);
        assert_eq!(outer_part(&other, &one, MOST), outer[..56]);
        assert_eq!(outer_part(&one[..20], &other[..20], MOST), []);
    }

    #[test]
    fn threads_that_end_are_forgotten() {
        let mut threads = Threads::default();
        let sample = Sample { thread: 1, frames: frames("wAM"), cpu: None };
        threads.take(0, 0, vec![sample.clone()], MOST, of_program);
        assert_eq!(threads.unchanged(7, 1, &sample.frames), Some(7));
        assert_eq!(threads.unchanged(7, 1, &frames("AM")), None);
        threads.take(1, 0, Vec::new(), MOST, of_program);
        assert_eq!(threads.unchanged(7, 1, &sample.frames), None);
    }
}
