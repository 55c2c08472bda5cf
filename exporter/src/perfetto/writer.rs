//! A [`Sink`] that writes a Perfetto trace.

use std::collections::HashMap;
use std::io::{self, Write};

use trace_format::event::Clocks;

use super::blocks::Blocks;
use super::interning::Interning;
use super::packets::{self, event, packet};
use super::stacks::Stacks;
use crate::ExportError;
use crate::facts::system;
use crate::model::{
    AnrRow, Arg, FrameRow, Lane, LogLine, Name, ProcessInfo, SYSTEM_COUNTER, SYSTEM_SERVER_PID, Sink,
    StackRow, Track, Unit, counter_group,
};
use crate::protobuf::write::{Message, put_varint};

/// Rank of queues of tasks: after the tracks of [`Track`] but the recorder's.
const QUEUES_RANK: u32 = 8;
/// Rank of threads that only a dump has: after all recorded ones.
const DUMPED_THREAD_RANK: u32 = 1 << 30;
/// Descriptions of tracks of locks and of queues.
const LOCKS: &str =
    "What this thread held while others waited for it, and what a thread dump says that it waited for";
const QUEUES: &str = "Tasks from their submission to their start";
const SYSTEM_SERVER: &str = "system_server";
/// The first version that accepts a stack with an event. Older ones count an error for each.
const WITH_CALLSTACKS: u32 = 53;
/// Sequence numbers have 32 bits, and the system's own tracers use the lowest ones.
const MAX_SEQUENCE_BASE: u64 = (1 << 28) - 1;

/// The current process.
#[derive(Debug, Default)]
struct Process {
    pid: u32,
    uid: u32,
    name: String,
    uuid: u64,
    threads: Vec<u64>,
    /// The track of main, if there is one.
    main: Option<u64>,
    /// All described threads, including those of stacks.
    by_tid: HashMap<u32, u64>,
    /// Tracks that are not threads.
    plain: [Option<u64>; Track::PLAIN.len()],
    counters: HashMap<Box<str>, u64>,
}

/// The current sequence.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// The bytes between the time and the event in each of its packets, and their number: the sequence's number
    /// and TrackEvent's tag.
    pub(super) middle: ([u8; 8], usize),
    pub(super) now: u64,
    pub(super) interning: Interning,
}

/// Writes a Perfetto trace.
pub(crate) struct PerfettoWriter<W> {
    pub(super) blocks: Blocks<W>,
    pub(super) message: Message,
    pub(super) body: Message,
    start: u64,
    pub(super) clocks: Vec<Clocks>,
    next_uuid: u64,
    pub(super) next_sequence: u64,
    process: Process,
    pub(super) sequence: Sequence,
    /// The track whose sequence has only its head so far.
    fresh: Option<u64>,
    stdlib_anr: bool,
    system_server: Option<u64>,
    /// The cookie of the last frame on the frame timeline.
    cookie: u64,
    /// The current sequence of stacks, if any, with its number.
    stacks: Option<(u64, Stacks)>,
    /// The counter of main's CPU time, once it exists.
    pub(super) thread_time: Option<u64>,
    system_written: bool,
    /// The oldest Perfetto, by major version, that must accept the trace without errors.
    min_perfetto: u32,
    /// Processes whose parent and user are in another trace.
    pub(crate) known_processes: Vec<u32>,
    /// Offset of the numbers of arrows and frames.
    pub(super) base: u64,
    bytes: u64,
}

impl<W: Write> PerfettoWriter<W> {
    /// `base` is added to the numbers of tracks, arrows and frames, and as far as it fits to those of
    /// sequences; 0 makes the smallest trace, any other value one that can be merged with others.
    pub(crate) fn new(out: W, level: u32, stdlib_anr: bool, base: u64, min_perfetto: u32) -> Self {
        Self {
            blocks: Blocks::new(out, level),
            message: Message::default(),
            body: Message::default(),
            start: 0,
            clocks: Vec::new(),
            next_uuid: base,
            next_sequence: base & MAX_SEQUENCE_BASE,
            process: Process::default(),
            sequence: Sequence::default(),
            fresh: None,
            stdlib_anr,
            system_server: None,
            cookie: base,
            stacks: None,
            thread_time: None,
            system_written: false,
            min_perfetto,
            known_processes: Vec::new(),
            base,
            bytes: 0,
        }
    }

    /// Number of bytes written; valid once the trace is finished.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn write(&mut self) -> io::Result<()> {
        self.blocks.packet(self.message.bytes())?;
        self.message.clear();
        Ok(())
    }

    /// Whether there is no sequence yet.
    fn is_empty(&self) -> bool {
        self.next_sequence == self.base & MAX_SEQUENCE_BASE
    }

    /// Describes a track by what `fill` adds to its descriptor; returns its number.
    fn describe(&mut self, fill: impl FnOnce(&mut Message) -> &mut Message) -> io::Result<u64> {
        self.next_uuid += 1;
        let uuid = self.next_uuid;
        packets::descriptor(&mut self.message, uuid, self.start, fill);
        self.write()?;
        Ok(uuid)
    }

    /// The track of the process that is no thread, below `parent`, which counts when the track is described.
    fn plain_track(&mut self, track: Track, parent: u64, group: bool) -> io::Result<u64> {
        let (Some(place), Some(described)) = (track.plain(), track.described()) else {
            return Ok(self.process.uuid);
        };
        if let Some(uuid) = self.process.plain[place] {
            return Ok(uuid);
        }
        let uuid = self.describe(|m| packets::plain(m, described, parent, track.rank(), group))?;
        self.process.plain[place] = Some(uuid);
        Ok(uuid)
    }

    /// The group of this track, for tracks and counters of the same kind.
    fn group(&mut self, track: Track) -> io::Result<u64> {
        self.plain_track(track, self.process.uuid, true)
    }

    /// The track of a thread, which is described here if only stacks or locks have it.
    fn thread_track(&mut self, tid: u32, name: Option<&str>) -> io::Result<u64> {
        if let Some(thread) = self.process.by_tid.get(&tid) {
            return Ok(*thread);
        }
        let pid = self.process.pid;
        let thread = self.describe(|m| packets::thread(m, pid, tid, name, DUMPED_THREAD_RANK))?;
        self.process.by_tid.insert(tid, thread);
        Ok(thread)
    }

    /// Starts a sequence whose events belong to `track`.
    fn sequence_head(&mut self, track: u64) -> io::Result<()> {
        self.next_sequence += 1;
        packets::head(&mut self.message, self.next_sequence, track, self.start, 1);
        self.write()?;
        let sequence = &mut self.sequence;
        let mut middle = [0; 8];
        middle[0] = (packet::SEQUENCE << 3) as u8;
        let n = 1 + put_varint(&mut middle[1..], self.next_sequence);
        middle[n] = (packet::TRACK_EVENT << 3 | 2) as u8;
        sequence.middle = (middle, n + 1);
        sequence.now = self.start;
        sequence.interning.clear();
        Ok(())
    }
}

impl<W: Write> Sink for PerfettoWriter<W> {
    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError> {
        self.start = start;
        self.clocks = clocks.to_vec();
        Ok(())
    }

    fn process(&mut self, info: &ProcessInfo) -> Result<(), ExportError> {
        let (pid, first) = (info.pid, self.is_empty());
        self.stacks = None;
        if first {
            // Tracks are numbered in the order of their description: the process follows its head.
            let process = self.next_uuid + 1;
            let track = if info.threads.is_empty() { process } else { process + 1 };
            self.sequence_head(track)?;
            self.fresh = Some(track);
            for c in std::mem::take(&mut self.clocks) {
                packets::clocks(&mut self.message, &c);
                self.write()?;
                self.clocks.push(c);
            }
        }
        let (started, description) = (info.started.max(self.start), info.description.as_deref());
        let uuid = self.describe(|m| packets::process(m, pid, &info.name, started, description))?;
        if first && self.base == 0 {
            // A trace to be merged with others does not change their order.
            packets::descriptor(&mut self.message, 0, self.start, packets::root);
            self.write()?;
        }
        let mut tracks = Vec::with_capacity(info.threads.len());
        for thread in &info.threads {
            let name = thread.name.as_deref();
            tracks.push(self.describe(|m| packets::thread(m, pid, thread.tid, name, thread.rank))?);
        }
        if !self.known_processes.contains(&pid) {
            packets::process_tree(&mut self.message, self.start, info);
            self.write()?;
        }
        if system::is_known(&info.system) && !std::mem::replace(&mut self.system_written, true) {
            packets::system(&mut self.message, &info.system);
            self.write()?;
        }
        self.thread_time = None;
        if first {
            self.blocks.flush_plain()?;
        }
        self.process = Process {
            pid,
            uid: info.uid,
            name: info.name.clone(),
            uuid,
            main: info.threads.iter().position(|t| t.main).map(|i| tracks[i]),
            by_tid: info.threads.iter().map(|t| t.tid).zip(tracks.iter().copied()).collect(),
            threads: tracks,
            plain: Default::default(),
            counters: HashMap::new(),
        };
        Ok(())
    }

    fn track(&mut self, track: Track) -> Result<(), ExportError> {
        self.stacks = None;
        let process = self.process.uuid;
        if let (Track::Cpu, None, Some(thread)) = (track, self.thread_time, self.process.main) {
            // Its slices carry main's CPU time, which is a counter of that thread.
            self.thread_time = Some(self.describe(|m| packets::thread_time(m, thread))?);
        }
        let uuid = match (track, self.process.main) {
            (Track::Thread(i), _) => self.process.threads[i],
            (_, Some(main)) if track.of_main() => self.plain_track(track, main, false)?,
            _ if track.of_recorder() => {
                let group = self.group(Track::Recorder)?;
                self.plain_track(track, group, false)?
            }
            _ => self.plain_track(track, process, track == Track::Recorder)?,
        };
        if self.fresh.take() == Some(uuid) { Ok(()) } else { Ok(self.sequence_head(uuid)?) }
    }

    fn lane(&mut self, lane: Lane<'_>) -> Result<(), ExportError> {
        self.stacks = None;
        let (parent, description, rank) = match lane {
            Lane::Locks(tid, name) => (self.thread_track(tid, Some(name))?, LOCKS, None),
            Lane::Queue(_) => (self.process.uuid, QUEUES, Some(QUEUES_RANK)),
        };
        let uuid = self.describe(|m| packets::beside(m, &lane.name(), parent, description, rank))?;
        Ok(self.sequence_head(uuid)?)
    }

    #[inline]
    fn begin(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        if let (Name::Method(id, _), []) = (name, args)
            && let Some(number) = self.sequence.interning.method(id)
        {
            let mut body = [(event::TYPE << 3) as u8, 1, (event::NAME_IID << 3) as u8, 0, 0, 0, 0, 0];
            let n = 3 + put_varint(&mut body[3..], number.into());
            return Ok(self.short(at, body, n)?);
        }
        Ok(self.long(at, event::BEGIN, Some(name), args)?)
    }

    #[inline]
    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError> {
        if args.is_empty() {
            return Ok(self.short(at, [(event::TYPE << 3) as u8, event::END as u8, 0, 0, 0, 0, 0, 0], 2)?);
        }
        Ok(self.long(at, event::END, None, args)?)
    }

    fn instant(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        Ok(self.long(at, event::INSTANT, Some(name), args)?)
    }

    fn counter(&mut self, at: u64, name: &str, unit: Unit, value: f64) -> Result<(), ExportError> {
        let track = match self.process.counters.get(name) {
            Some(track) => *track,
            None => {
                let parent = match counter_group(name) {
                    Some(track) => self.group(track)?,
                    None => self.process.uuid,
                };
                let shown = name.strip_prefix(SYSTEM_COUNTER).unwrap_or(name);
                let track = self.describe(|m| packets::counter(m, shown, parent, unit))?;
                self.process.counters.insert(name.into(), track);
                track
            }
        };
        Ok(self.absolute_sample(at, track, value)?)
    }

    fn frame(&mut self, row: &FrameRow) -> Result<(), ExportError> {
        // On no sequence: their times may be before and after those of the current thread.
        let Self { message, blocks, cookie, process, .. } = self;
        let write = |m: &mut Message| {
            blocks.packet(m.bytes())?;
            m.clear();
            Ok::<(), io::Error>(())
        };
        Ok(packets::frame(message, row, process.pid, cookie, write)?)
    }

    fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError> {
        let track = self.thread_track(row.tid, row.name)?;
        let (sequence, mut stacks) = match self.stacks.take() {
            Some((sequence, stacks)) if !stacks.is_full() => (sequence, stacks),
            _ => {
                self.next_sequence += 1;
                packets::stacks_head(&mut self.message, self.next_sequence);
                self.write()?;
                (self.next_sequence, Stacks::default())
            }
        };
        if row.sampled {
            self.message.uint(packet::SEQUENCE, sequence);
            stacks.sample(&mut self.message, row, self.process.pid);
            self.write()?;
        }
        if let Some(state) = row.state {
            self.message.uint(packet::SEQUENCE, sequence);
            let frames = if self.min_perfetto >= WITH_CALLSTACKS { row.frames } else { &[] };
            stacks.state(&mut self.message, row.at, track, &state, frames);
            self.write()?;
        }
        self.stacks = Some((sequence, stacks));
        Ok(())
    }

    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError> {
        // The engine could not place the line without the wall clock.
        let Some(realtime) = self.realtime(line.at) else { return Ok(()) };
        packets::log(&mut self.message, line, realtime, self.process.pid, self.process.uid);
        Ok(self.write()?)
    }

    fn anr(&mut self, row: &AnrRow<'_>) -> Result<(), ExportError> {
        if !self.stdlib_anr {
            return Ok(());
        }
        let server = match self.system_server {
            Some(uuid) => uuid,
            None => {
                let description = Some("synthetic: carries ANR records for Perfetto's android.anrs");
                let server =
                    self.describe(|m| packets::process(m, SYSTEM_SERVER_PID, SYSTEM_SERVER, 0, description))?;
                self.system_server = Some(server);
                server
            }
        };
        // The parser of `ErrorId:` splits the name at spaces and `#`.
        let (name, pid) = (self.process.name.replace([' ', '#'], "_"), self.process.pid);
        let error = format!("ErrorId:{name} {pid}#{}", row.error_id);
        let subject = format!("Subject(for ErrorId {}):{}", row.error_id, row.subject);
        for counter in [error, subject] {
            let track = self.describe(|m| packets::counter(m, &counter, server, Unit::Count))?;
            // This time may be before or after that of the current track.
            self.absolute_sample(row.at, track, 1.0)?;
        }
        Ok(())
    }

    fn finish(&mut self, facts: &[(String, String)]) -> Result<(), ExportError> {
        if self.is_empty() {
            // Without any process it is still a valid, empty trace.
            self.sequence_head(0)?;
        }
        if !facts.is_empty() {
            packets::attributes(&mut self.message, facts);
            self.write()?;
        }
        self.bytes = self.blocks.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
