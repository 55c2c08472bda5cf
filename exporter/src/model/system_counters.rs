//! Writes what the process's threads and the rest of the device did while main was stalled, as counters between two polls.

use std::collections::BTreeMap;

use trace_format::sections::system_state::{Quantity as Q, SystemState};

use super::sink::{SYSTEM_COUNTER, Sink, TallySink, Unit};
use super::thread::Shared;
use crate::ExportError;

/// Polls that are further apart say nothing about the time between them, ns.
const MAX_APART: u64 = 3_000_000_000;
/// Number of threads with a counter of their own: those that ran longest between polls.
const MAX_THREADS: usize = 5;

/// How a counter's value comes from two polls.
#[derive(Clone, Copy)]
enum Form {
    /// The later value, divided.
    Level(f64),
    /// The growth in a second, divided.
    Rate(f64),
}

const MEGA: f64 = (1 << 20) as f64;
/// Time of all CPUs in percent of one, from ns.
const PERCENT: f64 = 1e7;

/// Quantity, name and unit of its counter.
const COUNTERS: [(Q, &str, Unit, Form); 21] = [
    (Q::Process, "CPU of this process", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::Busy, "CPU of all processes", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::Throttled, "throttled by the CPU limit", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::CpuPressure, "CPU pressure", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::MemoryPressure, "memory pressure, some", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::MemoryPressureFull, "memory pressure, full", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::IoPressure, "I/O pressure", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::MajorFaults, "major page faults", Unit::Sign("1/s"), Form::Rate(1.0)),
    (Q::Refaults, "pages read again", Unit::Sign("1/s"), Form::Rate(1.0)),
    (Q::Read, "read by this process", Unit::Sign("MB/s"), Form::Rate(MEGA)),
    (Q::Written, "written by this process", Unit::Sign("MB/s"), Form::Rate(MEGA)),
    (Q::SystemRead, "read by all processes", Unit::Sign("MB/s"), Form::Rate(MEGA)),
    (Q::SystemWritten, "written by all processes", Unit::Sign("MB/s"), Form::Rate(MEGA)),
    (Q::SwappedIn, "swapped in", Unit::Sign("MB/s"), Form::Rate(MEGA)),
    (Q::Available, "memory available", Unit::Sign("MB"), Form::Level(MEGA)),
    (Q::SwapFree, "swap space free", Unit::Sign("MB"), Form::Level(MEGA)),
    (Q::GcTime, "garbage collection", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::BlockingGcTime, "waits for garbage collection", Unit::Sign("%"), Form::Rate(PERCENT)),
    (Q::HeapUsed, "Java heap in use", Unit::Sign("MB"), Form::Level(MEGA)),
    (Q::Thermal, "thermal status", Unit::Count, Form::Level(1.0)),
    (Q::Cost, "cost of a poll", Unit::Sign("us"), Form::Level(1e3)),
];

/// Writes a counter for each quantity that any poll has, and for the threads that ran most.
pub(super) fn system_counters<K: Sink>(
    shared: &Shared<'_>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let polls = &shared.facts.sections.polls;
    let mut write = |name: &str, unit: Unit, values: Vec<(u64, f64)>| {
        let name = [SYSTEM_COUNTER, name].concat();
        values.into_iter().try_for_each(|(at, value)| out.counter(at.max(shared.start), &name, unit, value))
    };
    for (quantity, name, unit, form) in COUNTERS {
        let known = polls.iter().filter_map(|poll| Some((poll.at, poll.get(quantity)? as f64)));
        match form {
            Form::Level(divisor) => {
                write(name, unit, known.map(|(at, value)| (at, value / divisor)).collect())?
            }
            Form::Rate(divisor) => write(name, unit, rates(known, divisor))?,
        }
    }
    for (tid, name) in most_active(polls) {
        let own = polls.iter().filter_map(|poll| {
            let thread = poll.threads.iter().find(|thread| thread.tid == tid)?;
            Some((poll.at, thread.ran as f64))
        });
        write(&format!("CPU of {name} (tid {tid})"), Unit::Sign("%"), rates(own, PERCENT))?;
    }
    Ok(())
}

/// The growth in a second from each value to the next, at the earlier time, and 0 where no value follows soon.
fn rates(values: impl Iterator<Item = (u64, f64)>, divisor: f64) -> Vec<(u64, f64)> {
    let values: Vec<_> = values.collect();
    let mut found: Vec<(u64, f64)> = Vec::new();
    let mut open = false;
    for pair in values.windows(2) {
        let [(from, first), (to, second)] = pair else { continue };
        let apart = to.saturating_sub(*from);
        if (1..=MAX_APART).contains(&apart) {
            found.push((*from, (second - first).max(0.0) / divisor / (apart as f64 / 1e9)));
            open = true;
        } else if std::mem::take(&mut open) {
            found.push((*from, 0.0));
        }
    }
    found.extend(values.last().filter(|_| open).map(|(at, _)| (*at, 0.0)));
    found
}

/// The threads that ran longest between polls that are close to each other, with their names.
fn most_active(polls: &[SystemState]) -> Vec<(u32, String)> {
    let mut last: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut sums: BTreeMap<u32, (u64, &str)> = BTreeMap::new();
    for poll in polls {
        for thread in &poll.threads {
            let before = last.insert(thread.tid, (poll.at, thread.ran));
            let near = before.filter(|(at, _)| poll.at.saturating_sub(*at) <= MAX_APART);
            let ran = near.map_or(0, |(_, ran)| thread.ran.saturating_sub(ran));
            let sum = sums.entry(thread.tid).or_insert((0, &thread.name));
            sum.0 = sum.0.saturating_add(ran);
        }
    }
    let mut threads: Vec<_> = sums.into_iter().filter(|(_, (ran, _))| *ran > 0).collect();
    threads.sort_by_key(|(tid, (ran, _))| (std::cmp::Reverse(*ran), *tid));
    threads.into_iter().take(MAX_THREADS).map(|(tid, (_, name))| (tid, name.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_until_the_next_value_and_ends_where_none_follows_soon() {
        const S: u64 = 1_000_000_000;
        let values = [(S, 0.0), (2 * S, 50.0), (3 * S, 60.0), (30 * S, 100.0), (31 * S, 101.0)];
        let expected = [(S, 50.0), (2 * S, 10.0), (3 * S, 0.0), (30 * S, 1.0), (31 * S, 0.0)];
        assert_eq!(rates(values.into_iter(), 1.0), expected);
        assert_eq!(rates(values[..1].iter().copied(), 1.0), []);
    }
}
