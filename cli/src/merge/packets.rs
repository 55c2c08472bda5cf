//! Walks over the packets of a Perfetto trace: whether they are whole, which tracks they describe, which boot they are of.
//!
//! A packet is copied while it is read, and taken back if it turns out to be cut or unwanted: neither its length nor what it
//! unpacks to costs memory. The numbers of fields are those of Perfetto's trace_packet.proto, clock_snapshot.proto and
//! track_descriptor.proto.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::budget::{Budget, Metered};
use super::wire::{Stop, Value, byte, damaged, message, skip, varint};

/// No packet is longer, bytes; one that says so is damage.
const MAX_PACKET: u64 = 256 << 20;
/// Clocks of one snapshot. A device has about ten.
const MAX_CLOCKS: usize = 64;
/// Runs that are remembered of a trace.
const MAX_RUNS: usize = 10_000;
/// How much of a trace is read for its runs alone, bytes. They are at its beginning.
const RUNS_IN: u64 = 1 << 20;
/// How many bytes are held back before they are written.
const HELD: usize = 1 << 20;
const BOOTTIME: u32 = 6;
const REALTIME: u32 = 1;

/// A run of a process: what a recording's header says of it, and the process's descriptor in a trace that was exported of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Run {
    pub(super) pid: u32,
    /// CLOCK_BOOTTIME, ns. In a system trace it is the process's start, and not the recording's.
    pub(super) started: u64,
}

/// How many processes and ANRs are remembered; a device has fewer.
const MAX_TOLD: usize = 1 << 16;
/// A counter of the system by which Perfetto's `android.anrs` knows of an ANR: `ErrorId:com.example.app 4242#UUID`, on older
/// systems without the pid.
const ERROR_ID: &[u8] = b"ErrorId:";
/// No process's name is longer, with its pid, bytes.
const MAX_NAME: usize = 300;

/// What a trace says that a recording of one of its processes would say again.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Processes of its process trees.
    pub(super) processes: HashSet<u32>,
    /// Whose ANRs it has: what stands behind `ErrorId:`.
    anrs: HashSet<Vec<u8>>,
}

impl Told {
    /// Adds what another trace says.
    pub(super) fn extend(&mut self, other: Self) {
        self.processes.extend(other.processes);
        self.anrs.extend(other.anrs);
    }

    /// Whether an ANR of this process is among it.
    pub(super) fn has_anr(&self, name: &str, pid: u32) -> bool {
        let name = name.replace([' ', '#'], "_");
        self.anrs.contains(format!("{name} {pid}").as_bytes()) || self.anrs.contains(name.as_bytes())
    }

    fn process(&mut self, pid: u64) {
        if self.processes.len() < MAX_TOLD {
            self.processes.extend(u32::try_from(pid));
        }
    }

    /// Looks for ANRs in the next `length` bytes, whatever messages they are.
    fn look_for_anrs(&mut self, from: &mut dyn BufRead, mut length: u64) -> Result<(), Stop> {
        let mut seen: Vec<u8> = Vec::new();
        while length > 0 {
            let there = from.fill_buf().map_err(|_| Stop::Io)?;
            if there.is_empty() {
                return Err(Stop::End);
            }
            let n = there.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            seen.extend_from_slice(&there[..n]);
            from.consume(n);
            length -= n as u64;
            let mut at = 0;
            while let Some(found) = position(&seen[at..], ERROR_ID) {
                let name = at + found + ERROR_ID.len();
                let rest = &seen[name..seen.len().min(name + MAX_NAME)];
                match rest.iter().position(|byte| *byte == b'#') {
                    Some(end) if self.anrs.len() < MAX_TOLD => {
                        self.anrs.insert(rest[..end].to_vec());
                    }
                    // Its end may be in the bytes that follow.
                    None if rest.len() < MAX_NAME && length > 0 => break,
                    _ => {}
                }
                at = name;
            }
            let kept = position(&seen[at..], ERROR_ID)
                .map_or(seen.len().saturating_sub(ERROR_ID.len() - 1).max(at), |found| at + found);
            seen.drain(..kept);
        }
        Ok(())
    }
}

/// Where `needle` is in `bytes`.
fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == needle[0]) {
        at += found;
        if bytes[at..].starts_with(needle) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// What has to fit to the other traces.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Numbers of tracks.
    pub(super) tracks: HashSet<u64>,
    /// Whether there were more tracks than can be remembered.
    pub(super) more_tracks: bool,
    /// Whether it has the clock that all share.
    pub(super) has_boottime: bool,
    /// The wall clock's time at the boot, ns.
    pub(super) booted: Option<i128>,
    /// Runs of processes that are described.
    pub(super) runs: HashSet<Run>,
    /// What the system says that an app's recording says too.
    pub(super) told: Told,
    /// Tracks that the packet that is being read added.
    added: Vec<u64>,
}

impl Facts {
    /// Both clocks were read together.
    pub(super) fn boot(&mut self, boottime: u64, realtime: u64) {
        self.has_boottime = true;
        if realtime > 0 && self.booted.is_none() {
            self.booted = Some(i128::from(realtime) - i128::from(boottime));
        }
    }

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

    /// Notes a packet of `length` bytes. Says the BOOTTIME of a snapshot of the real clocks and nothing else.
    fn packet(
        &mut self,
        from: &mut dyn BufRead,
        length: u64,
        depth: u32,
        budget: &Budget,
    ) -> Result<Option<u64>, Stop> {
        let (mut clocks, mut uuid, mut run, mut compressed) = (Vec::new(), 0, None, false);
        message(from, length, &mut |number, value| match (number, value) {
            // Events of the kernel, in which the system's own counters are.
            (1, Value::Bytes(from, length)) => self.told.look_for_anrs(from, length),
            (2, Value::Bytes(from, length)) => {
                message(from, length, &mut |number, value| match (number, value) {
                    (1, Value::Bytes(from, length)) => message(from, length, &mut |number, value| {
                        if let (1, Value::Number(pid)) = (number, value) {
                            self.told.process(pid);
                        }
                        Ok(())
                    }),
                    _ => Ok(()),
                })
            }
            (6, Value::Bytes(from, length)) => snapshot(from, length, &mut clocks),
            (50, Value::Bytes(from, length)) => {
                compressed = depth == 0;
                if compressed { self.unpack(from, length, budget) } else { Ok(()) }
            }
            (60, Value::Bytes(from, length)) => {
                message(from, length, &mut |number, value| match (number, value) {
                    (1, Value::Number(value)) => {
                        uuid = value;
                        Ok(())
                    }
                    (2, Value::Bytes(from, length)) => self.told.look_for_anrs(from, length),
                    (3, Value::Bytes(from, length)) => {
                        run = process(from, length)?;
                        Ok(())
                    }
                    _ => Ok(()),
                })
            }
            (6 | 50 | 60, _) => damaged("a field has a type that is not its own"),
            _ => Ok(()),
        })?;
        self.track(uuid, budget);
        if self.runs.len() < MAX_RUNS {
            self.runs.extend(run);
        }
        let mut real = None;
        let time = |id| clocks.iter().find(|(clock, _)| *clock == id).map(|(_, time)| *time);
        if let Some(boottime) = time(BOOTTIME) {
            self.boot(boottime, time(REALTIME).unwrap_or(0));
            // Clocks from 64 on are a sequence's own, and events depend on them.
            let others = clocks.iter().filter(|(id, _)| *id != BOOTTIME);
            let only_real = others.clone().all(|(id, _)| *id < 64) && others.count() > 0;
            real = only_real.then_some(boottime);
        }
        Ok(real.filter(|_| !compressed))
    }

    /// Notes the packets in a zlib stream of `length` bytes.
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

/// The run that a process's descriptor describes, if it says when it began.
fn process(from: &mut dyn BufRead, length: u64) -> Result<Option<Run>, Stop> {
    let mut run = Run { pid: 0, started: 0 };
    message(from, length, &mut |number, value| {
        match (number, value) {
            (1, Value::Number(value)) => run.pid = value as u32,
            (7, Value::Number(value)) => run.started = value,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Some(run).filter(|run| run.pid > 0 && run.started > 0))
}

/// The runs at the beginning of a trace. What cannot be read has none.
pub(super) fn runs_in(from: impl Read) -> HashSet<Run> {
    let (mut facts, budget) = (Facts::default(), Budget::for_inputs(RUNS_IN));
    let mut from = BufReader::new(from.take(RUNS_IN));
    while let Ok(Some(length)) = head(&mut from)
        && facts.packet(&mut from, length, 0, &budget).is_ok()
    {}
    facts.runs
}

/// The clocks of a snapshot, by number and time.
fn snapshot(from: &mut dyn BufRead, length: u64, clocks: &mut Vec<(u32, u64)>) -> Result<(), Stop> {
    message(from, length, &mut |number, value| {
        let (1, Value::Bytes(from, length)) = (number, value) else { return Ok(()) };
        if clocks.len() == MAX_CLOCKS {
            return Err(Stop::TooMany(format!("a snapshot has more than {MAX_CLOCKS} clocks")));
        }
        let (mut id, mut time) = (0, 0);
        message(from, length, &mut |number, value| {
            match (number, value) {
                (1, Value::Number(value)) => id = value as u32,
                (2, Value::Number(value)) => time = value,
                _ => {}
            }
            Ok(())
        })?;
        clocks.push((id, time));
        Ok(())
    })
}

/// The length of the next packet, whose body follows; `None` at the end.
fn head(from: &mut dyn BufRead) -> Result<Option<u64>, Stop> {
    match byte(from)? {
        None => return Ok(None),
        Some(0x0A) => {}
        Some(_) => return damaged("there is no packet"),
    }
    let length = varint(from)?;
    if length > MAX_PACKET {
        return damaged(format!("a packet of {length} bytes is longer than any trace has"));
    }
    Ok(Some(length))
}

/// An output from whose end bytes can be removed again.
pub(super) trait TakeBack: Write {
    /// Removes the last `count` bytes.
    ///
    /// # Errors
    /// If it is no file, or the system refuses.
    fn take_back(&mut self, count: u64) -> io::Result<()>;
}

impl TakeBack for &File {
    fn take_back(&mut self, count: u64) -> io::Result<()> {
        let end = self.stream_position()?.saturating_sub(count);
        self.set_len(end)?;
        self.seek(SeekFrom::Start(end)).map(|_| ())
    }
}

impl TakeBack for &mut Vec<u8> {
    fn take_back(&mut self, count: u64) -> io::Result<()> {
        self.truncate(self.len().saturating_sub(count as usize));
        Ok(())
    }
}

/// Where the packets are copied to.
struct Copied<W> {
    out: W,
    /// What was not written yet.
    held: Vec<u8>,
    /// How much of it is of packets that are copied for good.
    kept: usize,
    /// How many bytes of the packet that is being read were written.
    written: u64,
    /// Why it could not be written.
    failed: Option<io::Error>,
}

impl<W: TakeBack> Copied<W> {
    /// Writes what is held.
    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.written += (self.held.len() - self.kept) as u64;
        self.held.clear();
        self.kept = 0;
        Ok(())
    }

    /// The packet is wanted.
    fn keep(&mut self) {
        (self.kept, self.written) = (self.held.len(), 0);
    }

    /// The packet is not wanted.
    fn discard(&mut self) -> io::Result<()> {
        self.held.truncate(self.kept);
        match std::mem::take(&mut self.written) {
            0 => Ok(()),
            written => self.out.take_back(written),
        }
    }
}

/// A reader that copies what is read.
struct Tee<'t, W> {
    from: &'t mut dyn BufRead,
    to: &'t mut Copied<W>,
    /// How many bytes were read.
    taken: u64,
    /// Why it could not be read.
    failed: Option<io::Error>,
}

impl<W: TakeBack> Read for Tee<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl<W: TakeBack> BufRead for Tee<'_, W> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.to.held.len() >= HELD
            && let Err(error) = self.to.write()
        {
            let kind = error.kind();
            self.to.failed = Some(error);
            return Err(kind.into());
        }
        while let Err(error) = self.from.fill_buf() {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failed = Some(error);
                return Err(kind.into());
            }
        }
        self.from.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        // It holds at least these already.
        if let Ok(bytes) = self.from.fill_buf() {
            self.to.held.extend_from_slice(&bytes[..n]);
        }
        self.from.consume(n);
        self.taken += n as u64;
    }
}

/// Takes a trace and hands it on packet by packet.
pub(super) struct Walk<'l, W> {
    path: PathBuf,
    out: Copied<W>,
    facts: Facts,
    /// Bytes of the trace before the packet that is being read.
    offset: u64,
    /// What was given in pieces and is no whole packet yet.
    waiting: Vec<u8>,
    /// Whether the trace ends in the middle of a packet.
    cut: bool,
    budget: &'l Budget,
    /// The last snapshot of the real clocks in all traces so far.
    latest: &'l mut u64,
}

impl<'l, W: TakeBack> Walk<'l, W> {
    /// `latest` is the BOOTTIME of the last snapshot of the real clocks that was written of other traces.
    pub(super) fn new(path: &Path, out: W, budget: &'l Budget, latest: &'l mut u64) -> Self {
        let out = Copied { out, held: Vec::new(), kept: 0, written: 0, failed: None };
        let (path, facts, waiting) = (path.to_owned(), Facts::default(), Vec::new());
        Self { path, out, facts, offset: 0, waiting, cut: false, budget, latest }
    }

    /// Copies all packets.
    ///
    /// # Errors
    /// If there is something else among them, they unpack to more than the budget allows, or the output cannot be written.
    pub(super) fn all(&mut self, from: impl Read) -> anyhow::Result<()> {
        let mut from = BufReader::with_capacity(64 << 10, from);
        while self.packet(&mut from)? {}
        Ok(())
    }

    /// Copies one packet; says whether more may follow.
    fn packet(&mut self, from: &mut dyn BufRead) -> anyhow::Result<bool> {
        let at = self.offset;
        let place = || format!("{}: offset {at}: take a whole Perfetto trace", self.path.display());
        let before = (self.facts.has_boottime, self.facts.booted);
        self.facts.added.clear();
        let mut tee = Tee { from, to: &mut self.out, taken: 0, failed: None };
        let found = match head(&mut tee) {
            Ok(None) => return Ok(false),
            Ok(Some(length)) => {
                let end = tee.taken + length;
                let found = self.facts.packet(&mut tee, length, 0, self.budget);
                // Damage in a packet that is cut is no damage.
                match found {
                    Err(Stop::Damaged(_)) if !self.budget.is_spent() => {
                        let rest = end - tee.taken;
                        skip(&mut tee, rest).and(found)
                    }
                    found => found,
                }
            }
            Err(stop) => Err(stop),
        };
        let Tee { taken, failed, .. } = tee;
        if self.budget.is_spent() {
            bail!(
                "{}: offset {at}: what is compressed here unpacks to more than {} MiB (the bound is 64 times the size of \
                 the inputs, and 64 MiB at least): if the trace is right, unpack it first (gunzip, or traceconv decompress_packets)",
                self.path.display(),
                self.budget.whole() >> 20
            );
        }
        if let Some(error) = self.out.failed.take() {
            return Err(error).context("the output cannot be written");
        }
        if let Some(error) = failed {
            return Err(error).with_context(|| format!("cannot read {}", self.path.display()));
        }
        let unwanted = "a packet cannot be taken back from this output: write to a file";
        match found {
            // The engine takes a clock that runs back for a broken one, and what it says is known from the other trace.
            Ok(Some(boottime)) if boottime <= *self.latest => self.out.discard().context(unwanted)?,
            Ok(clocks) => {
                *self.latest = clocks.unwrap_or(*self.latest);
                self.out.keep();
            }
            Err(Stop::Damaged(what) | Stop::TooMany(what)) => {
                return Err(anyhow::anyhow!(what)).with_context(place);
            }
            Err(Stop::End | Stop::Io) => {
                // A run that only the cut packet describes may stay: it is there, if not whole.
                self.cut = true;
                self.out.discard().context(unwanted)?;
                self.budget.gives_back_tracks(self.facts.added.len());
                for track in self.facts.added.drain(..) {
                    self.facts.tracks.remove(&track);
                }
                (self.facts.has_boottime, self.facts.booted) = before;
                return Ok(false);
            }
        }
        self.offset += taken;
        Ok(true)
    }

    /// Takes the next piece of a trace.
    fn push(&mut self, piece: &[u8]) -> anyhow::Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend_from_slice(piece);
        let mut done = 0;
        loop {
            let mut rest = &waiting[done..];
            match head(&mut rest) {
                Ok(None) | Err(Stop::End) => break,
                Ok(Some(length)) if (rest.len() as u64) < length => break,
                _ => {}
            }
            let mut packet = &waiting[done..];
            self.packet(&mut packet)?;
            done = waiting.len() - packet.len();
        }
        waiting.drain(..done);
        self.waiting = waiting;
        Ok(())
    }

    /// What was found, when all is written.
    ///
    /// # Errors
    /// If there was not a single packet, or the output cannot be written.
    pub(super) fn finish(mut self, warnings: &mut Vec<String>) -> anyhow::Result<Facts> {
        if self.offset == 0 {
            bail!("{} has no packets: take a Perfetto trace", self.path.display());
        }
        self.out.write().context("the output cannot be written")?;
        if self.cut || !self.waiting.is_empty() {
            warnings.push(format!(
                "{} ends in the middle of a packet (offset {}), which is left out",
                self.path.display(),
                self.offset
            ));
        }
        if self.facts.more_tracks {
            warnings.push(format!(
                "{} has more tracks than merge remembers: whether their numbers are those of another trace was not checked",
                self.path.display()
            ));
        }
        Ok(self.facts)
    }
}

impl<W: TakeBack> Write for Walk<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    struct Packet {
        #[prost(message, optional, tag = "6")]
        clocks: Option<ClockSnapshot>,
        #[prost(bytes = "vec", optional, tag = "50")]
        compressed: Option<Vec<u8>>,
        #[prost(message, optional, tag = "60")]
        track: Option<TrackDescriptor>,
        #[prost(bytes = "vec", optional, tag = "900")]
        other: Option<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct ClockSnapshot {
        #[prost(message, repeated, tag = "1")]
        clocks: Vec<Clock>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Clock {
        #[prost(uint32, tag = "1")]
        id: u32,
        #[prost(uint64, tag = "2")]
        timestamp: u64,
    }

    #[derive(Clone, PartialEq, Message)]
    struct TrackDescriptor {
        #[prost(uint64, tag = "1")]
        uuid: u64,
    }

    /// What a walk writes and finds that begins with this latest snapshot.
    fn walked_from(mut latest: u64, bytes: &[u8]) -> anyhow::Result<(Vec<u8>, Facts, Vec<String>)> {
        let [budget, same_budget] = [(); 2].map(|()| Budget::for_inputs(bytes.len() as u64));
        let (mut out, mut same) = (Vec::new(), Vec::new());
        let mut warnings = Vec::new();
        let mut pieces_latest = latest;
        let mut walk = Walk::new(Path::new("t"), &mut out, &budget, &mut latest);
        let facts = walk.all(bytes).and_then(|()| walk.finish(&mut warnings));
        // In pieces of any size it is the same.
        let mut walk = Walk::new(Path::new("t"), &mut same, &same_budget, &mut pieces_latest);
        let pushed = bytes.chunks(7).try_for_each(|piece| walk.push(piece));
        let in_pieces = pushed.and_then(|()| walk.finish(&mut Vec::new()));
        assert_eq!(facts.is_ok(), in_pieces.is_ok(), "{facts:?} {in_pieces:?}");
        assert!(out == same || facts.is_err(), "pieces are copied otherwise");
        Ok((out, facts?, warnings))
    }

    fn walked(bytes: &[u8]) -> anyhow::Result<(Vec<u8>, Facts, Vec<String>)> {
        walked_from(0, bytes)
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(bytes).unwrap();
        zlib.finish().unwrap()
    }

    fn framed(packet: &Packet) -> Vec<u8> {
        let body = packet.encode_to_vec();
        let mut bytes = vec![0x0A];
        prost::encoding::encode_varint(body.len() as u64, &mut bytes);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_trace_is_copied_and_its_tracks_and_boot_are_known() {
        let track = |uuid| Packet { track: Some(TrackDescriptor { uuid }), ..Packet::default() };
        let clock = |id, timestamp| Clock { id, timestamp };
        let clocks = ClockSnapshot { clocks: vec![clock(6, 50), clock(1, 1050)] };
        let packets = [
            track(7),
            track(0),
            Packet { clocks: Some(clocks), ..Packet::default() },
            Packet { compressed: Some(zlib(&framed(&track(9)))), ..Packet::default() },
        ];
        let bytes = packets.iter().flat_map(framed).collect::<Vec<u8>>();
        let (out, facts, warnings) = walked(&bytes).unwrap();
        assert_eq!((out, facts.booted, warnings.len()), (bytes.clone(), Some(1000), 0));
        assert_eq!(facts.tracks, HashSet::from([7, 9]));
        let (out, ..) = walked_from(50, &bytes).unwrap();
        assert_eq!(out.len() + framed(&packets[2]).len(), bytes.len(), "the clocks were known");
        let (out, _, warnings) = walked(&bytes[..bytes.len() - 1]).unwrap();
        assert!(bytes.starts_with(&out) && warnings[0].contains("middle of a packet"), "{warnings:?}");
        assert!(walked(b"{\"traceEvents\":[]}").is_err());
    }

    /// Longer than what is held back: written before its end is known.
    #[test]
    fn a_long_packet_is_copied_whole_or_not_at_all() {
        let track = |uuid| Packet { track: Some(TrackDescriptor { uuid }), ..Packet::default() };
        let clock = |id, timestamp| Clock { id, timestamp };
        let clocks = ClockSnapshot { clocks: vec![clock(6, 50), clock(1, 1050)] };
        let other = Some(vec![7; 3 * HELD + 5]);
        let compressed = Some(zlib(&framed(&track(9))));
        let packets = [
            track(7),
            Packet { other: other.clone(), clocks: Some(clocks), ..Packet::default() },
            Packet { compressed, ..Packet::default() },
            track(8),
            Packet { other, ..track(10) },
        ];
        let framed: Vec<Vec<u8>> = packets.iter().map(framed).collect();
        let bytes = framed.concat();
        let (out, facts, warnings) = walked(&bytes).unwrap();
        assert!(out == bytes && warnings.is_empty(), "{warnings:?}");
        assert_eq!(facts.tracks, HashSet::from([7, 8, 9, 10]));
        let (out, ..) = walked_from(50, &bytes).unwrap();
        assert!(out == [&framed[0], &framed[2], &framed[3], &framed[4]].map(Vec::as_slice).concat());
        let (out, facts, warnings) = walked(&bytes[..bytes.len() - 1]).unwrap();
        assert!(out == framed[..4].concat() && warnings[0].contains("middle of a packet"), "{warnings:?}");
        assert_eq!(facts.tracks, HashSet::from([7, 8, 9]), "what is left out has no tracks");
    }

    #[test]
    fn what_unpacks_to_more_than_the_budget_allows_is_refused_with_a_cure() {
        let other = Packet { other: Some(vec![0; 40 << 20]), ..Packet::default() };
        let compressed = framed(&Packet { compressed: Some(zlib(&framed(&other))), ..Packet::default() });
        walked(&compressed).unwrap();
        let error = walked(&[&compressed[..], &compressed].concat()).unwrap_err().to_string();
        assert!(error.contains("64 times") && error.contains("decompress_packets"), "{error}");
    }

    #[test]
    fn a_snapshot_of_more_clocks_than_devices_have_is_damage() {
        let clocks = |count| {
            let clocks = ClockSnapshot { clocks: vec![Clock { id: 6, timestamp: 7 }; count] };
            framed(&Packet { clocks: Some(clocks), ..Packet::default() })
        };
        walked(&clocks(64)).unwrap();
        let error = format!("{:#}", walked(&clocks(65)).unwrap_err());
        assert!(error.contains("offset 0") && error.contains("more than 64 clocks"), "{error}");
    }

    proptest! {
        #[test]
        fn whatever_is_copied_was_there(bytes in prop::collection::vec(prop_oneof![Just(0x0A), any::<u8>(), 0..4u8], 0..300)) {
            if let Ok((out, ..)) = walked(&bytes) {
                prop_assert!(out.len() <= bytes.len());
            }
        }
    }
}
