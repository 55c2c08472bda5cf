//! Measurements of a thread in a hang, as the rules take them: its CPU time, the device's suspension, and samples of its stack.

use std::collections::HashMap;
use std::hash::Hash;

use answers::answer::{
    CpuTime, FrameView, SampleSummary, StackLine, classify, counted, is_own, maker, parts, remote_call,
};
use trace_format::event::Clocks;

use crate::facts::{PolledCpu, Sample};

/// Sums main's CPU time over its polls.
pub(super) fn cpu_time(polls: &[PolledCpu]) -> CpuTime {
    let mut sum = CpuTime::default();
    for poll in polls {
        let polled = poll.polled();
        sum.ran = sum.ran.saturating_add(poll.ran);
        sum.runnable = sum.runnable.saturating_add(poll.waited);
        sum.polled = sum.polled.saturating_add(polled);
        if poll.state == 'D' {
            sum.uninterruptible = sum.uninterruptible.saturating_add(polled);
        }
        let still = polled.saturating_sub(poll.ran).saturating_sub(poll.waited);
        // A frozen process neither sleeps nor runs, and its poller stops with it.
        if poll.state == 'R' && still > sum.gap.1 {
            sum.gap = (poll.begin, still);
        }
    }
    sum
}

/// Returns the time for which the device was suspended between two moments: BOOTTIME advances, MONOTONIC does not.
pub(super) fn slept(clocks: &[Clocks], from: u64, to: u64) -> u64 {
    let ahead = |c: &Clocks| c.boottime.saturating_sub(c.monotonic);
    let before = clocks.iter().filter(|c| c.boottime <= from).map(ahead).next_back();
    let within = clocks.iter().filter(|c| (from..=to).contains(&c.boottime)).map(ahead);
    let all = || before.into_iter().chain(within.clone());
    all().max().unwrap_or(0) - all().min().unwrap_or(0)
}

/// Sums up samples of main.
pub(super) fn sampled<'a>(samples: impl Iterator<Item = Sample<'a>> + Clone) -> SampleSummary {
    let mut found = SampleSummary::default();
    let mut own: HashMap<&str, (u64, u64)> = HashMap::new();
    for sample in samples.clone() {
        found.samples += 1;
        let mut seen: Vec<&str> = Vec::new();
        for (depth, name) in sample.frames().map(method).enumerate() {
            if is_own(parts(name).0) && !seen.contains(&name) && seen.len() < 64 {
                seen.push(name);
                let entry = own.entry(name).or_insert((0, 0));
                *entry = (entry.0 + 1, entry.1 + depth as u64);
            }
        }
    }
    found.activity = counted(samples.clone().map(|s| classify(s.frames().map(FrameView::java), "")));
    let top = most_frequent(samples.clone().filter_map(|s| s.frames().map(method).next()));
    found.top = top.map(|(name, _)| name.to_owned());
    let exceptions = most_frequent(samples.clone().filter_map(|s| maker(s.frames().map(method))));
    found.exceptions = exceptions.map(|(name, count)| (name.to_owned(), count));
    let remote = most_frequent(samples.clone().filter_map(|s| remote_call(s.frames().map(FrameView::java))));
    found.remote = remote.map(|(name, _)| name);
    // The method in most samples; of equals the innermost.
    let best = own.iter().max_by_key(|(name, (count, depth))| (*count, std::cmp::Reverse((*depth, **name))));
    found.own = best.map(|(name, (count, _))| ((*name).to_owned(), *count));
    found.heaviest = heaviest(samples);
    found
}

/// The frame without its place.
fn method(frame: &str) -> &str {
    frame.split_once('(').map_or(frame, |(name, _)| name)
}

/// The most frequent of `all` and how often it comes; of equals the smallest.
fn most_frequent<T: Hash + Ord>(all: impl Iterator<Item = T>) -> Option<(T, u64)> {
    let mut counts: HashMap<T, u64> = HashMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts.into_iter().max_by(|(a, n), (b, m)| n.cmp(m).then_with(|| b.cmp(a)))
}

/// Maximum number of frames kept of the heaviest stack.
const MAX_HEAVIEST: usize = 512;

/// The stack that most samples share, from the outermost frame on: at each depth the method that most of them
/// have, with its most frequent line.
fn heaviest<'a>(samples: impl Iterator<Item = Sample<'a>>) -> Vec<StackLine> {
    let mut stacks: Vec<Vec<&str>> = samples.map(|sample| sample.frames().collect()).collect();
    for stack in &mut stacks {
        stack.reverse();
    }
    let mut lines = Vec::new();
    for depth in 0..MAX_HEAVIEST {
        let at = |stack: &Vec<&'a str>| stack.get(depth).copied();
        let Some((name, count)) = most_frequent(stacks.iter().filter_map(at).map(method)) else { break };
        stacks.retain(|stack| at(stack).is_some_and(|frame| method(frame) == name));
        let frame = most_frequent(stacks.iter().filter_map(at)).map_or(name, |(frame, _)| frame);
        lines.push(StackLine::sampled(frame, Some(count)));
    }
    lines.reverse();
    lines
}
