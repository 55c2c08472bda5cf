//! The packets that are written once: heads, clocks, descriptors, log lines.

use trace_format::event::Clocks;

use super::wire::Message;

/// Field numbers of TracePacket.
pub(crate) mod packet {
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const ANDROID_LOG: u32 = 39;
    pub(crate) const TIMESTAMP_CLOCK: u32 = 58;
    pub(crate) const DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const FIRST_ON_SEQUENCE: u32 = 87;
}

/// Field numbers of TrackEvent.
pub(crate) mod event {
    pub(crate) const ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const BEGIN: u64 = 1;
    pub(crate) const END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// Clock ids.
pub(crate) const REALTIME: u64 = 1;
pub(crate) const MONOTONIC: u64 = 3;
pub(crate) const BOOTTIME: u64 = 6;
/// The sequence's own clock, told as differences.
pub(crate) const PRIVATE: u64 = 64;

/// The head of a sequence: nothing from before counts, `track` is where events go, and the private clock
/// stands at 0 when BOOTTIME is `start`.
pub(crate) fn head(m: &mut Message, sequence: u64, track: u64, start: u64, private_unit: u64) {
    m.uint(packet::SEQUENCE, sequence).uint(packet::SEQUENCE_FLAGS, 1);
    m.uint(packet::FIRST_ON_SEQUENCE, 1);
    m.message(packet::DEFAULTS, |m| {
        m.uint(packet::TIMESTAMP_CLOCK, PRIVATE);
        m.message(packet::TRACK_EVENT, |m| m.uint(event::TRACK, track))
    });
    m.message(packet::CLOCK_SNAPSHOT, |m| {
        m.message(1, |m| m.uint(1, BOOTTIME).uint(2, start));
        m.message(1, |m| m.uint(1, PRIVATE).uint(2, 0).uint(3, 1).uint(4, private_unit));
        m.uint(2, BOOTTIME)
    });
}

/// The three real clocks, read together.
pub(crate) fn clocks(m: &mut Message, c: &Clocks) {
    m.message(packet::CLOCK_SNAPSHOT, |m| {
        for (id, time) in [(BOOTTIME, c.boottime), (MONOTONIC, c.monotonic), (REALTIME, c.realtime)] {
            m.message(1, |m| m.uint(1, id).uint(2, time));
        }
        m.uint(2, BOOTTIME)
    });
}

/// What a descriptor describes.
pub(crate) enum Described<'a> {
    Process { pid: u32, name: &'a str, started: u64, description: Option<&'a str> },
    Thread { pid: u32, tid: u32, name: Option<&'a str> },
    Counter { name: &'a str, process: u64 },
    Plain { name: &'a str, process: u64, description: &'a str },
}

/// A track. It is on no sequence, so its time is absolute: on one it would move the private clock, and
/// a thread's would cling to all counters of the sequence.
pub(crate) fn descriptor(m: &mut Message, uuid: u64, start: u64, described: &Described<'_>) {
    m.uint(packet::TIMESTAMP, start);
    m.message(packet::TRACK_DESCRIPTOR, |m| {
        m.uint(1, uuid);
        match *described {
            Described::Process { pid, name, started, description } => {
                m.message(3, |m| {
                    m.uint(1, pid.into()).text(2, name).text(6, name);
                    if started > 0 { m.uint(7, started) } else { m }
                });
                if let Some(description) = description { m.text(14, description) } else { m }
            }
            Described::Thread { pid, tid, name } => m.message(4, |m| {
                m.uint(1, pid.into()).uint(2, tid.into());
                if let Some(name) = name { m.text(5, name) } else { m }
            }),
            Described::Counter { name, process } => m.text(2, name).uint(5, process).message(8, |m| m),
            // Tracks of one name are merged unless they ask not to be.
            Described::Plain { name, process, description } => {
                m.text(2, name).uint(5, process).text(14, description).uint(15, 2)
            }
        }
    });
}

/// One line of the log. `realtime` is on the wall clock, as Android's log is.
pub(crate) struct Log<'a> {
    pub(crate) at: u64,
    pub(crate) realtime: u64,
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) priority: u64,
    pub(crate) message: &'a str,
}

pub(crate) fn log(m: &mut Message, line: &Log<'_>) {
    m.uint(packet::TIMESTAMP, line.at);
    m.message(packet::ANDROID_LOG, |m| {
        m.message(1, |m| {
            m.uint(1, 0).uint(2, line.pid.into()).uint(3, line.pid.into()).uint(4, line.uid.into());
            m.uint(5, line.realtime).text(6, "anrscope").uint(7, line.priority).text(8, line.message)
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_has_the_bytes_that_the_engine_took() {
        // perfetto.md §1.1: clock 64 in us at 0 = BOOTTIME 1e12, default track 1.
        let golden = "50016801b80501da0307d003405a02580132180a0908061080a094a58d1d0a0908401000180120e8071006";
        let mut m = Message::new();
        head(&mut m, 1, 1, 1_000_000_000_000, 1000);
        let hex: String = m.bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!((hex.as_str(), m.bytes().len()), (golden, 0x2b));
    }
}
