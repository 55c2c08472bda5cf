//! Encodes events: the short form of nearly all packets, and the full form.

use std::io::{self, Write};

use super::blocks::SHORT_PACKET;
use super::packets::{self, event, packet};
use super::writer::PerfettoWriter;
use crate::model::{Arg, Name, Value};
use crate::protobuf::write::put_varint;

impl<W: Write> PerfettoWriter<W> {
    /// Time since the previous packet; advances the private clock.
    #[inline]
    pub(super) fn elapsed(&mut self, at: u64) -> u64 {
        let at = at.max(self.sequence.now);
        let since = at - self.sequence.now;
        self.sequence.now = at;
        since
    }

    /// A packet whose event is the first `length` bytes of `body`: the form of nearly all packets, so it is
    /// assembled in place.
    #[inline]
    pub(super) fn short(&mut self, at: u64, body: [u8; 8], length: usize) -> io::Result<()> {
        let since = self.elapsed(at);
        let (middle, middle_length) = self.sequence.middle;
        let mut packet = [0; SHORT_PACKET];
        packet[0] = 0x0A;
        packet[2] = (packet::TIMESTAMP << 3) as u8;
        let mut n = 3 + put_varint(&mut packet[3..13], since);
        packet[n..n + 8].copy_from_slice(&middle);
        n += middle_length;
        packet[n] = length as u8;
        packet[n + 1..n + 9].copy_from_slice(&body);
        n += 1 + length;
        packet[1] = (n - 2) as u8;
        self.blocks.short(&packet, n)
    }

    /// A packet in the full form.
    pub(super) fn long(
        &mut self,
        at: u64,
        ty: u64,
        name: Option<Name<'_>>,
        args: &[Arg<'_>],
    ) -> io::Result<()> {
        let since = self.elapsed(at);
        let Self { message, body, sequence, next_sequence, base, thread_time, .. } = self;
        let interning = &mut sequence.interning;
        body.clear();
        body.uint(event::TYPE, ty);
        match name {
            Some(Name::Method(id, names)) => {
                let number = interning.method(id).unwrap_or_else(|| {
                    let number = interning.add_method(id);
                    let name = names.method(id);
                    interning.declared.message(2, |m| m.uint(1, number.into()).text(2, &name));
                    number
                });
                body.uint(event::NAME_IID, number.into())
            }
            Some(Name::Text(name)) => interning.name(body, name),
            Some(Name::Once(name)) => body.text(event::NAME, name),
            None => body,
        };
        for arg in args {
            match arg.value {
                Value::Flow(number) => body.fixed(event::FLOW_IDS, number.wrapping_add(*base)),
                Value::Category(name) => interning.category(body, name),
                Value::Group(group) => body.text(event::CORRELATION, group),
                Value::ThreadTime(ns) => match thread_time {
                    Some(track) => {
                        body.uint(event::EXTRA_COUNTER_TRACKS, *track).uint(event::EXTRA_COUNTER_VALUES, ns)
                    }
                    None => body,
                },
                _ => body.message(event::ANNOTATIONS, |m| interning.argument(m, arg)),
            };
        }
        message.uint(packet::TIMESTAMP, since).uint(packet::SEQUENCE, *next_sequence);
        interning.declare(message);
        message.data(packet::TRACK_EVENT, body.bytes());
        self.write()
    }

    /// The wall-clock time of a moment, if any clock triple is known.
    pub(super) fn realtime(&self, at: u64) -> Option<u64> {
        let after = self.clocks.partition_point(|c| c.boottime <= at);
        let c = self.clocks.get(after.saturating_sub(1))?;
        let (after, before) = (at.saturating_sub(c.boottime), c.boottime.saturating_sub(at));
        Some(c.realtime.saturating_add(after).saturating_sub(before))
    }

    /// A counter sample with an absolute time, independent of the private clock: it may be before the track's
    /// last event, or before a slice that is held back.
    pub(super) fn absolute_sample(&mut self, at: u64, track: u64, value: f64) -> io::Result<()> {
        let message = &mut self.message;
        message.uint(packet::TIMESTAMP, at).uint(packet::TIMESTAMP_CLOCK, packets::BOOTTIME);
        message.uint(packet::SEQUENCE, self.next_sequence);
        message.message(packet::TRACK_EVENT, |m| {
            m.uint(event::TYPE, event::COUNTER).uint(event::TRACK, track);
            m.double(event::DOUBLE_COUNTER_VALUE, value)
        });
        self.write()
    }
}
