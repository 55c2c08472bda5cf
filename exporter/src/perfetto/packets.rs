//! Encodes the packets that occur once: heads, clocks, descriptors, the system, log lines.

use trace_format::event::Clocks;
use trace_format::sections::process::Process;

use crate::model::{FrameRow, Jank, Level, LogLine, ProcessInfo, Unit};
use crate::protobuf::write::Message;

/// Field numbers of TracePacket.
pub(crate) mod packet {
    pub(crate) const FTRACE_EVENTS: u32 = 1;
    pub(crate) const PROCESS_TREE: u32 = 2;
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const ANDROID_LOG: u32 = 39;
    pub(crate) const SYSTEM_INFO: u32 = 45;
    pub(crate) const COMPRESSED_PACKETS: u32 = 50;
    pub(crate) const TIMESTAMP_CLOCK: u32 = 58;
    pub(crate) const DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const PERF_SAMPLE: u32 = 66;
    pub(crate) const FRAME_TIMELINE: u32 = 76;
    pub(crate) const TRACE_ATTRIBUTES: u32 = 126;
    pub(crate) const FIRST_ON_SEQUENCE: u32 = 87;
}

/// Field numbers of TrackEvent.
pub(crate) mod event {
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const EXTRA_COUNTER_VALUES: u32 = 12;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const EXTRA_COUNTER_TRACKS: u32 = 31;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const CORRELATION: u32 = 53;
    pub(crate) const CALLSTACK_IID: u32 = 56;
    pub(crate) const BEGIN: u64 = 1;
    pub(crate) const END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// Clock ids.
pub(crate) const REALTIME: u64 = 1;
pub(crate) const MONOTONIC: u64 = 3;
pub(crate) const BOOTTIME: u64 = 6;
/// The sequence's own clock, encoded as differences.
pub(crate) const PRIVATE: u64 = 64;

/// The head of a sequence: resets the state; `track` is the default track, and the private clock is 0 at
/// BOOTTIME `start`.
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

/// The head of a sequence of stacks, which have absolute times.
pub(crate) fn stacks_head(m: &mut Message, sequence: u64) {
    m.uint(packet::SEQUENCE, sequence).uint(packet::SEQUENCE_FLAGS, 1).uint(packet::FIRST_ON_SEQUENCE, 1);
    m.message(packet::DEFAULTS, |m| {
        m.uint(packet::TIMESTAMP_CLOCK, BOOTTIME);
        // Otherwise the samples would be attributed to a CPU's clock.
        m.message(12, |m| m.message(1, |m| m.text(10, "stacks of threads")))
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

/// Sorts processes and threads by the ranks in their descriptors (Perfetto 57 and later).
const EXPLICIT_RANKS: u64 = 1;

/// A track descriptor with what `fill` adds. It is on no sequence, so its time is absolute: on one it would advance the
/// private clock, and a thread's descriptor would affect all counters of the sequence.
pub(crate) fn descriptor(
    m: &mut Message,
    uuid: u64,
    start: u64,
    fill: impl FnOnce(&mut Message) -> &mut Message,
) {
    m.uint(packet::TIMESTAMP, start);
    m.message(packet::TRACK_DESCRIPTOR, |m| fill(m.uint(1, uuid)));
}

/// Describes a process.
pub(crate) fn process<'m>(
    m: &'m mut Message,
    pid: u32,
    name: &str,
    started: u64,
    description: Option<&str>,
) -> &'m mut Message {
    m.message(3, |m| {
        m.uint(1, pid.into()).text(2, name).text(6, name);
        if started > 0 { m.uint(7, started) } else { m }
    });
    if let Some(description) = description { m.text(14, description) } else { m }
}

/// Describes a thread. `rank` is its position among the threads.
pub(crate) fn thread<'m>(
    m: &'m mut Message,
    pid: u32,
    tid: u32,
    name: Option<&str>,
    rank: u32,
) -> &'m mut Message {
    m.message(4, |m| {
        m.uint(1, pid.into()).uint(2, tid.into());
        if let Some(name) = name { m.text(5, name) } else { m }
    });
    m.uint(12, rank.into())
}

/// Describes the root of all tracks, whose processes and threads are sorted by their ranks.
pub(crate) fn root(m: &mut Message) -> &mut Message {
    m.uint(19, EXPLICIT_RANKS).uint(20, EXPLICIT_RANKS)
}

/// Describes a counter.
pub(crate) fn counter<'m>(m: &'m mut Message, name: &str, parent: u64, unit: Unit) -> &'m mut Message {
    m.text(2, name).uint(5, parent).message(8, |m| match unit {
        Unit::Count => m,
        Unit::Bytes => m.uint(3, 3),
        Unit::Sign(sign) => m.text(6, sign),
    })
}

/// Describes the counter of a thread's CPU time; readers know it by its name and type.
pub(crate) fn thread_time(m: &mut Message, thread: u64) -> &mut Message {
    m.text(2, "thread_time").uint(5, thread).message(8, |m| m.uint(1, 1).uint(4, 1))
}

/// Describes a track that is not a thread. `group` tells that it contains other tracks, which then have their own positions.
/// Tracks with equal names are merged unless they opt out.
pub(crate) fn plain<'m>(
    m: &'m mut Message,
    (name, description): (&str, &str),
    parent: u64,
    rank: u32,
    group: bool,
) -> &'m mut Message {
    m.text(2, name).uint(5, parent);
    if group {
        m.uint(11, 3);
    }
    m.uint(12, rank.into()).text(14, description).uint(15, 2)
}

/// Describes a track beside a thread, or of a process; tracks of the same name are displayed as one. `rank` is its position
/// among its siblings, if it has one.
pub(crate) fn beside<'m>(
    m: &'m mut Message,
    name: &str,
    parent: u64,
    description: &str,
    rank: Option<u32>,
) -> &'m mut Message {
    m.text(2, name).uint(5, parent);
    if let Some(rank) = rank {
        m.uint(12, rank.into());
    }
    m.text(14, description)
}

/// The system as displayed by the trace's readers.
pub(crate) fn system(m: &mut Message, system: &Process) {
    m.message(packet::SYSTEM_INFO, |m| {
        let uname = [
            (1, &system.kernel),
            (2, &system.kernel_version),
            (3, &system.kernel_release),
            (4, &system.machine),
        ];
        m.message(1, |m| {
            for (field, text) in uname {
                if let Some(text) = text {
                    m.text(field, text);
                }
            }
            m
        });
        if let Some(fingerprint) = &system.fingerprint {
            m.text(2, fingerprint);
        }
        for (field, number) in [(5, system.sdk), (6, system.page_size)] {
            if let Some(number) = number {
                m.uint(field, number.into());
            }
        }
        m
    });
}

/// A process's parent and user, which its descriptor cannot have.
pub(crate) fn process_tree(m: &mut Message, at: u64, process: &ProcessInfo) {
    m.uint(packet::TIMESTAMP, at);
    m.message(packet::PROCESS_TREE, |m| {
        m.message(1, |m| {
            m.uint(1, process.pid.into());
            if let Some(parent) = process.system.parent_pid {
                m.uint(2, parent.into());
            }
            m.text(3, &process.name).uint(5, process.uid.into())
        })
    });
}

/// One log line. `realtime` is wall-clock time, as in Android's log.
pub(crate) fn log(m: &mut Message, line: &LogLine<'_>, realtime: u64, pid: u32, uid: u32) {
    let priority = match line.level {
        Level::Verbose => 2,
        Level::Debug => 3,
        Level::Info => 4,
        Level::Warn => 5,
        Level::Error => 6,
        Level::Fatal => 7,
    };
    let (tid, tag) = line.source.map_or((pid, "anrscope"), |source| (source.tid, source.tag));
    m.uint(packet::TIMESTAMP, line.at);
    m.message(packet::ANDROID_LOG, |m| {
        m.message(1, |m| {
            m.uint(1, 0).uint(2, pid.into()).uint(3, tid.into()).uint(4, uid.into());
            m.uint(5, realtime).text(6, tag).uint(7, priority).text(8, line.message)
        })
    });
}

/// Metadata of the trace. Readers before version 55 ignore it.
pub(crate) fn attributes(m: &mut Message, facts: &[(String, String)]) {
    m.message(packet::TRACE_ATTRIBUTES, |m| {
        for (key, value) in facts {
            m.message(1, |m| m.text(1, key).text(3, value));
        }
        m
    });
}

/// The frame timeline's fields at a frame's end: present type, on time, jank type, severity.
fn judged(jank: Jank) -> (u64, u64, u64, u64) {
    const ON_TIME: u64 = 1;
    const LATE: u64 = 2;
    const NO_JANK: u64 = 1;
    const APP_DEADLINE_MISSED: u64 = 64;
    match jank {
        Jank::None => (ON_TIME, 1, NO_JANK, 1),
        Jank::Late => (LATE, 0, APP_DEADLINE_MISSED, 2),
        Jank::Frozen => (LATE, 0, APP_DEADLINE_MISSED, 3),
    }
}

/// The packets of a frame on the frame timeline, passed to `write` one after another. `cookie` is the last one
/// used.
pub(crate) fn frame<E>(
    m: &mut Message,
    row: &FrameRow,
    pid: u32,
    cookie: &mut u64,
    mut write: impl FnMut(&mut Message) -> Result<(), E>,
) -> Result<(), E> {
    // The display's frame has a different number; any will do.
    let display = row.token.wrapping_add(1);
    let mut begin_and_end = |at: u64, end: u64, kind: u32, fill: &dyn Fn(&mut Message)| {
        *cookie += 1;
        let cookie = *cookie;
        m.uint(packet::TIMESTAMP, at);
        m.message(packet::FRAME_TIMELINE, |m| {
            m.message(kind, |m| {
                m.uint(1, cookie).uint(2, row.token).uint(3, display).uint(4, pid.into()).text(5, "main");
                fill(m);
                m
            })
        });
        write(m)?;
        m.uint(packet::TIMESTAMP, end.max(at));
        m.message(packet::FRAME_TIMELINE, |m| m.message(5, |m| m.uint(1, cookie)));
        write(m)
    };
    if let Some((begin, end)) = row.expected {
        begin_and_end(begin, end, 3, &|_| ())?;
    }
    let (present, on_time, jank, severity) = judged(row.jank);
    // 1: the vsync was predicted; 3: the vsync is unknown.
    let prediction = if row.expected.is_some() { 1 } else { 3 };
    begin_and_end(row.actual.0, row.actual.1, 4, &|m| {
        m.uint(6, present).uint(7, on_time).uint(8, 0).uint(9, jank).uint(10, prediction).uint(12, severity);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_has_the_bytes_that_the_engine_took() {
        // perfetto.md §1.1: clock 64 in us at 0 = BOOTTIME 1e12, default track 1.
        let golden = "50016801b80501da0307d003405a02580132180a0908061080a094a58d1d0a0908401000180120e8071006";
        let mut m = Message::default();
        head(&mut m, 1, 1, 1_000_000_000_000, 1000);
        let hex: String = m.bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!((hex.as_str(), m.bytes().len()), (golden, 0x2b));
    }
}
