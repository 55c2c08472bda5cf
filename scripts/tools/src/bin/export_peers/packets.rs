//! Perfetto packets by prost.

use std::io::{self, Write};

use bytes::BufMut;
use prost::Message;

use super::{Call, Counted};

const BOOTTIME: u32 = 6;
const PRIVATE: u32 = 64;
const SEQUENCE: u32 = 1;
const TRACK: u64 = 1;

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    sequence: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(message, optional, tag = "59")]
    defaults: Option<Defaults>,
    #[prost(message, optional, tag = "6")]
    clock_snapshot: Option<ClockSnapshot>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<EventName>,
}

#[derive(Clone, PartialEq, Message)]
struct EventName {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Defaults {
    #[prost(uint32, optional, tag = "58")]
    clock: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
}

#[derive(Clone, PartialEq, Message)]
struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
struct Clock {
    #[prost(uint32, optional, tag = "1")]
    id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    timestamp: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    incremental: Option<bool>,
    #[prost(uint64, optional, tag = "4")]
    unit_ns: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint32, optional, tag = "9")]
    ty: Option<u32>,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    track: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(message, optional, tag = "4")]
    thread: Option<Thread>,
}

#[derive(Clone, PartialEq, Message)]
struct Thread {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    name: Option<String>,
}

fn put(packet: &TracePacket, buffer: &mut Vec<u8>, out: &mut impl Write) -> io::Result<()> {
    buffer.put_u8(0x0A);
    packet.encode_length_delimited(buffer).expect("a Vec has room");
    // Like the exporter: many packets per write.
    if buffer.len() >= 400 << 10 {
        out.write_all(buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// Writes a trace of these calls, of one thread.
pub(crate) fn write(calls: &[Call], names: &[String], out: &mut impl Write) -> io::Result<()> {
    let start = calls.first().map_or(0, |(at, _)| *at);
    let mut buffer = Vec::with_capacity(512 << 10);
    let clock = |id, timestamp| Clock { id: Some(id), timestamp: Some(timestamp), ..Clock::default() };
    let own = Clock { incremental: Some(true), unit_ns: Some(1), ..clock(PRIVATE, 0) };
    let head = TracePacket {
        sequence: Some(SEQUENCE),
        sequence_flags: Some(1),
        defaults: Some(Defaults {
            clock: Some(PRIVATE),
            track_event: Some(TrackEvent { track: Some(TRACK), ..TrackEvent::default() }),
        }),
        clock_snapshot: Some(ClockSnapshot { clocks: vec![clock(BOOTTIME, start), own] }),
        ..TracePacket::default()
    };
    put(&head, &mut buffer, out)?;
    let thread = Thread { pid: Some(4242), tid: Some(4242), name: Some("main".to_owned()) };
    let track = TracePacket {
        track_descriptor: Some(TrackDescriptor { uuid: Some(TRACK), thread: Some(thread) }),
        ..TracePacket::default()
    };
    put(&track, &mut buffer, out)?;
    let mut numbers = vec![0_u64; names.len()];
    let (mut next, mut before) = (1, start);
    for (at, method) in calls {
        let mut packet =
            TracePacket { timestamp: Some(at - before), sequence: Some(SEQUENCE), ..TracePacket::default() };
        before = *at;
        let mut event = TrackEvent { ty: Some(2), ..TrackEvent::default() };
        if let Some(id) = method {
            let number = &mut numbers[*id as usize];
            if *number == 0 {
                *number = next;
                next += 1;
                let name = EventName { iid: Some(*number), name: Some(names[*id as usize].clone()) };
                packet.interned_data = Some(InternedData { event_names: vec![name] });
            }
            event.ty = Some(1);
            event.name_iid = Some(*number);
        }
        packet.track_event = Some(event);
        put(&packet, &mut buffer, out)?;
    }
    out.write_all(&buffer)
}

/// The length of that trace.
pub(crate) fn counted(calls: &[Call], names: &[String]) -> u64 {
    let mut out = Counted::default();
    write(calls, names, &mut out).expect("nothing can fail here");
    out.0
}
