//! Walks over the packets of a Perfetto trace: whether they are whole, which tracks they describe, which boot they are of.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use prost::Message;

/// No packet is longer; one that says so is damage.
const MAX_PACKET: u64 = 256 << 20;
/// What a block of compressed packets may unpack to.
const MAX_UNPACKED: u64 = 256 << 20;
/// Tracks that are remembered of one trace.
const MAX_TRACKS: usize = 1 << 22;
const BOOTTIME: u32 = 6;
const REALTIME: u32 = 1;

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(message, optional, tag = "6")]
    clocks: Option<ClockSnapshot>,
    #[prost(bytes = "vec", optional, tag = "50")]
    compressed: Option<Vec<u8>>,
    #[prost(message, optional, tag = "60")]
    track: Option<TrackDescriptor>,
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

/// What has to fit to the other traces.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Numbers of tracks.
    pub(super) tracks: HashSet<u64>,
    /// Whether it has the clock that all share.
    pub(super) has_boottime: bool,
    /// The wall clock's time at the boot, ns.
    pub(super) booted: Option<i128>,
}

impl Facts {
    /// Both clocks were read together.
    pub(super) fn boot(&mut self, boottime: u64, realtime: u64) {
        self.has_boottime = true;
        if realtime > 0 && self.booted.is_none() {
            self.booted = Some(i128::from(realtime) - i128::from(boottime));
        }
    }

    /// Notes a packet. Says the BOOTTIME of a snapshot of the real clocks and nothing else.
    fn packet(&mut self, bytes: &[u8], depth: u32) -> anyhow::Result<Option<u64>> {
        let packet = Packet::decode(bytes).context("it is damaged")?;
        if let Some(track) = packet.track
            // 0 is the root, which all traces share.
            && track.uuid != 0
            && self.tracks.len() < MAX_TRACKS
        {
            self.tracks.insert(track.uuid);
        }
        let mut real = None;
        if let Some(snapshot) = packet.clocks {
            let time = |id| snapshot.clocks.iter().find(|c| c.id == id).map(|c| c.timestamp);
            if let Some(boottime) = time(BOOTTIME) {
                self.boot(boottime, time(REALTIME).unwrap_or(0));
                // Clocks from 64 on are a sequence's own, and events depend on them.
                let others = snapshot.clocks.iter().filter(|c| c.id != BOOTTIME);
                let only_real = others.clone().all(|c| c.id < 64) && others.count() > 0;
                real = only_real.then_some(boottime);
            }
        }
        let Some(compressed) = packet.compressed.filter(|_| depth == 0) else { return Ok(real) };
        let mut inside = Vec::new();
        let unpacked =
            flate2::read::ZlibDecoder::new(&compressed[..]).take(MAX_UNPACKED).read_to_end(&mut inside);
        unpacked.context("its compressed packets are damaged")?;
        let mut rest = &inside[..];
        while let Some(packet) = next(&mut rest)? {
            self.packet(&packet, 1)?;
        }
        Ok(None)
    }
}

/// The next packet, without its tag and length; `None` at the end.
fn next(from: &mut impl Read) -> anyhow::Result<Option<Vec<u8>>> {
    let mut byte = [0];
    if from.read(&mut byte)? == 0 {
        return Ok(None);
    }
    if byte[0] != 0x0A {
        bail!("there is no packet");
    }
    let mut length: u64 = 0;
    for shift in (0..).step_by(7) {
        from.read_exact(&mut byte)?;
        if shift > 56 {
            bail!("a packet's length is no number");
        }
        length |= u64::from(byte[0] & 0x7F) << shift;
        if byte[0] < 0x80 {
            break;
        }
    }
    if length > MAX_PACKET {
        bail!("a packet of {length} bytes cannot be");
    }
    let mut packet = Vec::new();
    // Grows with what is there: a forged length takes no memory.
    if from.take(length).read_to_end(&mut packet)? as u64 != length {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(packet))
}

/// Takes a trace in pieces and hands it on packet by packet.
pub(super) struct Walk<'l, W> {
    path: PathBuf,
    out: W,
    facts: Facts,
    /// Bytes of the trace before those in `waiting`.
    offset: u64,
    /// What is no whole packet yet.
    waiting: Vec<u8>,
    /// The last snapshot of the real clocks in all traces so far.
    latest: &'l mut u64,
}

impl<'l, W: Write> Walk<'l, W> {
    /// `latest` is the BOOTTIME of the last snapshot of the real clocks that was written of other traces.
    pub(super) fn new(path: &Path, out: W, latest: &'l mut u64) -> Self {
        let (facts, waiting) = (Facts::default(), Vec::new());
        Self { path: path.to_owned(), out, facts, offset: 0, waiting, latest }
    }

    /// Copies all packets.
    ///
    /// # Errors
    /// If there is something else among them, or the output cannot be written.
    pub(super) fn all(&mut self, from: &mut impl Read) -> anyhow::Result<()> {
        let mut piece = vec![0; 1 << 20];
        loop {
            let n = from.read(&mut piece).with_context(|| format!("cannot read {}", self.path.display()))?;
            if n == 0 {
                return Ok(());
            }
            self.push(&piece[..n])?;
        }
    }

    fn push(&mut self, piece: &[u8]) -> anyhow::Result<()> {
        self.waiting.extend_from_slice(piece);
        let (mut done, mut written) = (0, 0);
        loop {
            let at = self.offset + done as u64;
            let place = || format!("{}: offset {at}: take a whole Perfetto trace", self.path.display());
            let mut rest = &self.waiting[done..];
            let packet = match next(&mut rest) {
                Ok(Some(packet)) => packet,
                Ok(None) => break,
                Err(error) => {
                    let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
                    if io == Some(std::io::ErrorKind::UnexpectedEof) {
                        break;
                    }
                    return Err(error).with_context(place);
                }
            };
            let end = self.waiting.len() - rest.len();
            let clocks = self.facts.packet(&packet, 0).with_context(place)?;
            match clocks {
                // The engine takes a clock that runs back for a broken one, and what it says is known from the other trace.
                Some(boottime) if boottime <= *self.latest => {
                    self.out
                        .write_all(&self.waiting[written..done])
                        .context("the output cannot be written")?;
                    written = end;
                }
                Some(boottime) => *self.latest = boottime,
                None => {}
            }
            done = end;
        }
        self.out.write_all(&self.waiting[written..done]).context("the output cannot be written")?;
        self.offset += done as u64;
        self.waiting.drain(..done);
        Ok(())
    }

    /// What was found.
    ///
    /// # Errors
    /// If there was not a single packet.
    pub(super) fn finish(self, warnings: &mut Vec<String>) -> anyhow::Result<Facts> {
        if self.offset == 0 {
            bail!("{} has no packets: take a Perfetto trace", self.path.display());
        }
        if !self.waiting.is_empty() {
            warnings.push(format!(
                "{} ends in the middle of a packet (offset {}), which is left out",
                self.path.display(),
                self.offset
            ));
        }
        Ok(self.facts)
    }
}

impl<W: Write> Write for Walk<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push(bytes).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walked(bytes: &[u8]) -> anyhow::Result<(Vec<u8>, Facts, Vec<String>)> {
        let mut out = Vec::new();
        let mut latest = 0;
        let mut walk = Walk::new(Path::new("t"), &mut out, &mut latest);
        // In pieces of any size it is the same.
        for piece in bytes.chunks(7) {
            walk.push(piece)?;
        }
        let mut warnings = Vec::new();
        let facts = walk.finish(&mut warnings)?;
        Ok((out, facts, warnings))
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
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&framed(&track(9))).unwrap();
        let packets = [
            track(7),
            track(0),
            Packet { clocks: Some(clocks), ..Packet::default() },
            Packet { compressed: Some(zlib.finish().unwrap()), ..Packet::default() },
        ];
        let bytes = packets.iter().flat_map(framed).collect::<Vec<u8>>();
        let (out, facts, warnings) = walked(&bytes).unwrap();
        assert_eq!((out, facts.booted, warnings.len()), (bytes.clone(), Some(1000), 0));
        assert_eq!(facts.tracks, HashSet::from([7, 9]));
        let (mut out, mut latest) = (Vec::new(), 50);
        Walk::new(Path::new("t"), &mut out, &mut latest).push(&bytes).unwrap();
        assert_eq!(out.len() + framed(&packets[2]).len(), bytes.len(), "the clocks were known");
        let (out, _, warnings) = walked(&bytes[..bytes.len() - 1]).unwrap();
        assert!(bytes.starts_with(&out) && warnings[0].contains("middle of a packet"), "{warnings:?}");
        assert!(walked(b"{\"traceEvents\":[]}").is_err());
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
