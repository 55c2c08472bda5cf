//! Copies the packets of a Perfetto trace and checks them: whether they are complete, which tracks they describe, which boot they are
//! of.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::budget::Budget;
use super::copy::{Copied, RemoveEnd, Tee};
use super::error::{Damage, MergeError};
use super::trace_facts::{TraceFacts, head};
use crate::Warning;
use crate::protobuf::read::{Stop, skip};

/// Copies a trace packet by packet.
#[derive(Debug)]
pub struct Walk<'l, W> {
    path: PathBuf,
    out: Copied<W>,
    facts: TraceFacts,
    /// Bytes of the trace before the current packet.
    offset: u64,
    /// Bytes of an incomplete packet that was pushed in pieces.
    waiting: Vec<u8>,
    /// True if the trace ends in the middle of a packet.
    cut: bool,
    budget: &'l Budget,
    /// The last snapshot of the real clocks in all traces so far.
    latest: &'l mut u64,
}

impl<'l, W: RemoveEnd> Walk<'l, W> {
    /// `latest` is the BOOTTIME of the last snapshot of the real clocks in the other traces so far.
    pub fn new(path: &Path, out: W, budget: &'l Budget, latest: &'l mut u64) -> Self {
        let out = Copied::new(out);
        let (path, facts, waiting) = (path.to_owned(), TraceFacts::default(), Vec::new());
        Self { path, out, facts, offset: 0, waiting, cut: false, budget, latest }
    }

    /// Copies all packets.
    ///
    /// # Errors
    /// If the trace is damaged, it unpacks to more than the budget allows, or the output cannot be written.
    pub fn all(&mut self, from: impl Read) -> Result<(), MergeError> {
        let mut from = BufReader::with_capacity(64 << 10, from);
        while self.packet(&mut from)? {}
        Ok(())
    }

    /// Copies one packet; returns true if more may follow.
    fn packet(&mut self, from: &mut dyn BufRead) -> Result<bool, MergeError> {
        let before = (self.facts.has_boottime, self.facts.booted);
        self.facts.added.clear();
        let mut tee = Tee::new(from, &mut self.out);
        let found = match head(&mut tee) {
            Ok(None) => return Ok(false),
            Ok(Some(length)) => {
                let end = tee.taken + length;
                let found = self.facts.packet(&mut tee, length, 0, self.budget);
                // Damage in a packet that is cut is ignored.
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
            let (file, limit) = (self.path.clone(), self.budget.whole);
            return Err(MergeError::UnpacksToMore { file, offset: self.offset, limit });
        }
        if let Some(error) = self.out.failed.take() {
            return Err(MergeError::Write(error));
        }
        if let Some(source) = failed {
            return Err(MergeError::Read { file: self.path.clone(), source });
        }
        match found {
            // Perfetto reports a clock that runs backwards as an error, and the other trace has this time already.
            Ok(Some(boottime)) if boottime <= *self.latest => {
                self.out.discard().map_err(MergeError::Remove)?
            }
            Ok(clocks) => {
                *self.latest = clocks.unwrap_or(*self.latest);
                self.out.keep();
            }
            Err(Stop::Damaged(what) | Stop::TooMany(what)) => {
                let (file, offset) = (self.path.clone(), self.offset);
                return Err(MergeError::Damaged { file, offset, source: Damage(what) });
            }
            Err(Stop::End | Stop::Io) => {
                // A run that only the cut packet describes may stay: its trace is there in part.
                self.cut = true;
                self.out.discard().map_err(MergeError::Remove)?;
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

    /// Copies the packets that the next piece of a trace completes.
    fn push(&mut self, piece: &[u8]) -> Result<(), MergeError> {
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

    /// Writes the rest; returns the facts of the trace, and warnings about it.
    ///
    /// # Errors
    /// If there was not a single packet, or the output cannot be written.
    pub fn finish(mut self) -> Result<(TraceFacts, Vec<Warning>), MergeError> {
        if self.offset == 0 {
            return Err(MergeError::NoPackets { file: self.path });
        }
        self.out.write().map_err(MergeError::Write)?;
        let mut warnings = Vec::new();
        if self.cut || !self.waiting.is_empty() {
            warnings.push(Warning::CutTrace { file: self.path.clone(), offset: self.offset });
        }
        if self.facts.more_tracks {
            warnings.push(Warning::ManyTracks { file: self.path });
        }
        Ok((self.facts, warnings))
    }
}

impl<W: RemoveEnd> Write for Walk<'_, W> {
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
    use std::collections::HashSet;

    use super::super::copy::BUFFER;
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

    /// Output, facts and warnings of a trace.
    type Walked = (Vec<u8>, TraceFacts, Vec<Warning>);

    /// Walks a trace after others with this latest snapshot.
    fn walked_from(mut latest: u64, bytes: &[u8]) -> Result<Walked, MergeError> {
        let [budget, same_budget] = [(); 2].map(|()| Budget::for_inputs(bytes.len() as u64));
        let (mut out, mut same) = (Vec::new(), Vec::new());
        let mut pieces_latest = latest;
        let mut walk = Walk::new(Path::new("t"), &mut out, &budget, &mut latest);
        let whole = walk.all(bytes).and_then(|()| walk.finish());
        // Pieces of any size give the same result.
        let mut walk = Walk::new(Path::new("t"), &mut same, &same_budget, &mut pieces_latest);
        let pushed = bytes.chunks(7).try_for_each(|piece| walk.push(piece));
        let in_pieces = pushed.and_then(|()| walk.finish());
        assert_eq!(whole.is_ok(), in_pieces.is_ok(), "{whole:?} {in_pieces:?}");
        assert!(out == same || whole.is_err(), "pieces are copied otherwise");
        whole.map(|(facts, warnings)| (out, facts, warnings))
    }

    fn walked(bytes: &[u8]) -> Result<Walked, MergeError> {
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
        assert!(
            bytes.starts_with(&out) && warnings[0].to_string().contains("middle of a packet"),
            "{warnings:?}"
        );
        assert!(walked(b"{\"traceEvents\":[]}").is_err());
    }

    /// Longer than the buffer: written before its end is known.
    #[test]
    fn a_long_packet_is_copied_whole_or_not_at_all() {
        let track = |uuid| Packet { track: Some(TrackDescriptor { uuid }), ..Packet::default() };
        let clock = |id, timestamp| Clock { id, timestamp };
        let clocks = ClockSnapshot { clocks: vec![clock(6, 50), clock(1, 1050)] };
        let other = Some(vec![7; 3 * BUFFER + 5]);
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
        assert!(
            out == framed[..4].concat() && warnings[0].to_string().contains("middle of a packet"),
            "{warnings:?}"
        );
        assert_eq!(facts.tracks, HashSet::from([7, 8, 9]), "a packet that is left out has no tracks");
    }

    #[test]
    fn an_input_that_unpacks_to_more_than_the_budget_is_an_error_with_a_cure() {
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
        let error = walked(&clocks(65)).unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            error.to_string().contains("offset 0") && why.contains("more than 64 clocks"),
            "{error}: {why}"
        );
    }

    proptest! {
        #[test]
        fn copied_bytes_were_in_the_input(bytes in prop::collection::vec(prop_oneof![Just(0x0A), any::<u8>(), 0..4u8], 0..300)) {
            if let Ok((out, ..)) = walked(&bytes) {
                prop_assert!(out.len() <= bytes.len());
            }
        }
    }
}
