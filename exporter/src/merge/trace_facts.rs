//! Reads from a Perfetto trace what must be consistent with the other traces: its tracks, clocks, boot and processes.
//!
//! The numbers of fields are those of Perfetto's clock_snapshot.proto, process_tree.proto and track_descriptor.proto.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};

use super::budget::{Budget, Metered};
use super::system_facts::SystemFacts;
use crate::perfetto::{BOOTTIME, REALTIME, packet};
use crate::protobuf::read::{Stop, Value, byte, damaged, message, varint};

/// Maximum length of a packet, bytes; a longer one is damage.
const MAX_PACKET: u64 = 256 << 20;
/// Maximum number of clocks in a snapshot. A device has about ten.
const MAX_CLOCKS: usize = 64;
/// Maximum number of remembered runs of a trace.
const MAX_RUNS: usize = 10_000;
/// Length of the part of a trace that is searched for runs, bytes. They are at its beginning.
const RUNS_HEAD: u64 = 1 << 20;

/// A run of a process, from a recording's header or from the process's descriptor in an exported trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// The process's number.
    pub pid: u32,
    /// CLOCK_BOOTTIME, ns. In a system trace this is the process's start, not the recording's.
    pub started: u64,
}

/// Facts of a trace that must be consistent with the other traces.
#[derive(Debug, Default)]
pub struct TraceFacts {
    /// The tracks' numbers.
    pub tracks: HashSet<u64>,
    /// True if there were more tracks than the budget remembers.
    pub(super) more_tracks: bool,
    /// True if it has CLOCK_BOOTTIME, which all traces share.
    pub has_boottime: bool,
    /// The wall clock's time of the boot, ns.
    pub booted: Option<i128>,
    /// The runs of processes that it describes.
    pub runs: HashSet<Run>,
    /// The facts that a recording would repeat.
    pub system: SystemFacts,
    /// Tracks that the current packet has added.
    pub(super) added: Vec<u64>,
}

impl TraceFacts {
    fn track(&mut self, uuid: u64, budget: &Budget) {
        // 0 is the root, which all traces share.
        if uuid == 0 || self.tracks.contains(&uuid) {
            return;
        }
        if budget.takes_track() {
            self.tracks.insert(uuid);
            self.added.push(uuid);
        } else {
            self.more_tracks = true;
        }
    }

    /// Adds a packet of `length` bytes. Returns the BOOTTIME if it is only a snapshot of the real clocks.
    pub(super) fn packet(
        &mut self,
        from: &mut dyn BufRead,
        length: u64,
        depth: u32,
        budget: &Budget,
    ) -> Result<Option<u64>, Stop> {
        let (mut clocks, mut uuid, mut run, mut compressed) = (Vec::new(), 0, None, false);
        message(from, length, &mut |number, value| match (number, value) {
            // Events of the kernel, among them the system's counters.
            (packet::FTRACE_EVENTS, Value::Bytes(from, length)) => self.system.find_anrs(from, length),
            (packet::PROCESS_TREE, Value::Bytes(from, length)) => {
                message(from, length, &mut |number, value| match (number, value) {
                    (1, Value::Bytes(from, length)) => message(from, length, &mut |number, value| {
                        if let (1, Value::Number(pid)) = (number, value) {
                            self.system.process(pid);
                        }
                        Ok(())
                    }),
                    _ => Ok(()),
                })
            }
            (packet::CLOCK_SNAPSHOT, Value::Bytes(from, length)) => snapshot(from, length, &mut clocks),
            (packet::COMPRESSED_PACKETS, Value::Bytes(from, length)) => {
                compressed = depth == 0;
                if compressed { self.unpack(from, length, budget) } else { Ok(()) }
            }
            (packet::TRACK_DESCRIPTOR, Value::Bytes(from, length)) => {
                message(from, length, &mut |number, value| match (number, value) {
                    (1, Value::Number(value)) => {
                        uuid = value;
                        Ok(())
                    }
                    (2, Value::Bytes(from, length)) => self.system.find_anrs(from, length),
                    (3, Value::Bytes(from, length)) => {
                        run = process(from, length)?;
                        Ok(())
                    }
                    _ => Ok(()),
                })
            }
            (packet::CLOCK_SNAPSHOT | packet::COMPRESSED_PACKETS | packet::TRACK_DESCRIPTOR, _) => {
                damaged("a field has the wrong type")
            }
            _ => Ok(()),
        })?;
        self.track(uuid, budget);
        if self.runs.len() < MAX_RUNS {
            self.runs.extend(run);
        }
        let mut real = None;
        let time = |id| clocks.iter().find(|(clock, _)| *clock == id).map(|(_, time)| *time);
        if let Some(boottime) = time(BOOTTIME) {
            self.has_boottime = true;
            let realtime = time(REALTIME).filter(|realtime| *realtime > 0);
            self.booted = self.booted.or(realtime.map(|it| i128::from(it) - i128::from(boottime)));
            // Clocks from 64 on belong to a sequence, and events depend on them.
            let others = clocks.iter().filter(|(id, _)| *id != BOOTTIME);
            let only_real = others.clone().all(|(id, _)| *id < 64) && others.count() > 0;
            real = only_real.then_some(boottime);
        }
        Ok(real.filter(|_| !compressed))
    }

    /// Adds the packets in a zlib stream of `length` bytes.
    fn unpack(&mut self, from: &mut dyn BufRead, length: u64, budget: &Budget) -> Result<(), Stop> {
        let unpacked = flate2::bufread::ZlibDecoder::new(from.take(length));
        let mut inside = BufReader::with_capacity(64 << 10, Metered::new(unpacked, budget));
        let mut all = || -> Result<(), Stop> {
            while let Some(length) = head(&mut inside)? {
                self.packet(&mut inside, length, 1, budget)?;
            }
            Ok(())
        };
        all().map_err(|stop| match stop {
            Stop::Damaged(what) => Stop::Damaged(format!("its compressed packets are damaged: {what}")),
            Stop::TooMany(what) => Stop::TooMany(what),
            Stop::End | Stop::Io => Stop::Damaged("its compressed packets are damaged".into()),
        })
    }
}

/// The run in a process's descriptor, if it has a start time.
fn process(from: &mut dyn BufRead, length: u64) -> Result<Option<Run>, Stop> {
    let [pid, started] = numbers(from, length, [1, 7])?;
    Ok(Some(Run { pid: pid as u32, started }).filter(|run| run.pid > 0 && run.started > 0))
}

/// Reads these fields of a message, which are numbers; 0 for one that it has not.
fn numbers<const N: usize>(from: &mut dyn BufRead, length: u64, fields: [u32; N]) -> Result<[u64; N], Stop> {
    let mut found = [0; N];
    message(from, length, &mut |number, value| {
        if let (Some(place), Value::Number(value)) = (fields.iter().position(|of| *of == number), value) {
            found[place] = value;
        }
        Ok(())
    })?;
    Ok(found)
}

/// The runs at the beginning of a trace; empty if it cannot be read.
#[must_use]
pub fn runs_in(from: impl Read) -> HashSet<Run> {
    let (mut facts, budget) = (TraceFacts::default(), Budget::for_inputs(RUNS_HEAD));
    let mut from = BufReader::new(from.take(RUNS_HEAD));
    while let Ok(Some(length)) = head(&mut from)
        && facts.packet(&mut from, length, 0, &budget).is_ok()
    {}
    facts.runs
}

/// Reads the clocks of a snapshot, by number and time.
fn snapshot(from: &mut dyn BufRead, length: u64, clocks: &mut Vec<(u64, u64)>) -> Result<(), Stop> {
    message(from, length, &mut |number, value| {
        let (1, Value::Bytes(from, length)) = (number, value) else { return Ok(()) };
        if clocks.len() == MAX_CLOCKS {
            return Err(Stop::TooMany(format!("a snapshot has more than {MAX_CLOCKS} clocks")));
        }
        let [id, time] = numbers(from, length, [1, 2])?;
        clocks.push((u64::from(id as u32), time));
        Ok(())
    })
}

/// Reads the length of the next packet, whose body follows; `None` at the end.
pub(super) fn head(from: &mut dyn BufRead) -> Result<Option<u64>, Stop> {
    match byte(from)? {
        None => return Ok(None),
        Some(0x0A) => {}
        Some(_) => return damaged("not a packet"),
    }
    let length = varint(from)?;
    if length > MAX_PACKET {
        return damaged(format!("invalid packet length {length}"));
    }
    Ok(Some(length))
}
