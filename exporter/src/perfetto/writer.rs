//! A [`Sink`] that writes a Perfetto trace.

use std::collections::HashMap;
use std::io::{self, Write};

use trace_format::event::Clocks;

use super::blocks::{Blocks, SHORT};
use super::interning::{Interned, Interning};
use super::packets::{self, Described, Log, event, packet};
use super::wire::{Message, put_varint};
use crate::ExportError;
use crate::model::{AnrRow, Arg, Level, LogLine, Name, ProcessInfo, Sink, Track, Value};

/// A pid for the process that carries ANR records; Android's pids end below it.
const SYSTEM_SERVER_PID: u32 = (1 << 24) - 1;
const SYSTEM_SERVER: &str = "system_server";

/// The process in hand.
#[derive(Debug, Default)]
struct Process {
    pid: u32,
    uid: u32,
    name: String,
    uuid: u64,
    threads: Vec<u64>,
    /// Of those tracks that are none of a thread.
    plain: [Option<u64>; Track::PLAIN.len()],
    counters: HashMap<Box<str>, u64>,
}

/// The sequence in hand.
#[derive(Debug, Default)]
struct Sequence {
    /// What lies between the time and the event in each of its packets, and how long that is: the
    /// sequence's number and TrackEvent's tag.
    middle: ([u8; 8], usize),
    now: u64,
    interning: Interning,
}

/// Writes a trace.
pub(crate) struct PerfettoWriter<W> {
    blocks: Blocks<W>,
    message: Message,
    interned: Message,
    body: Message,
    start: u64,
    clocks: Vec<Clocks>,
    next_uuid: u64,
    next_sequence: u64,
    process: Process,
    sequence: Sequence,
    /// The track whose sequence has its head and nothing else yet.
    fresh: Option<u64>,
    stdlib_anr: bool,
    system_server: Option<u64>,
    bytes: u64,
}

impl<W: Write> PerfettoWriter<W> {
    pub(crate) fn new(out: W, level: u32, stdlib_anr: bool) -> Self {
        Self {
            blocks: Blocks::new(out, level),
            message: Message::new(),
            interned: Message::new(),
            body: Message::new(),
            start: 0,
            clocks: Vec::new(),
            next_uuid: 0,
            next_sequence: 0,
            process: Process::default(),
            sequence: Sequence::default(),
            fresh: None,
            stdlib_anr,
            system_server: None,
            bytes: 0,
        }
    }

    /// Bytes written, once the trace is finished.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn write(&mut self) -> io::Result<()> {
        self.blocks.packet(self.message.bytes())?;
        self.message.clear();
        Ok(())
    }

    fn uuid(&mut self) -> u64 {
        self.next_uuid += 1;
        self.next_uuid
    }

    fn describe(&mut self, described: &Described<'_>) -> io::Result<u64> {
        let uuid = self.uuid();
        packets::descriptor(&mut self.message, uuid, self.start, described);
        self.write()?;
        Ok(uuid)
    }

    /// Begins a sequence whose events belong to `track`.
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

    /// Time since the packet before; the private clock moves on.
    #[inline]
    fn elapsed(&mut self, at: u64) -> u64 {
        let at = at.max(self.sequence.now);
        let since = at - self.sequence.now;
        self.sequence.now = at;
        since
    }

    /// A packet whose event is the first `length` bytes of `body`: the form of nearly all packets, so it
    /// is put together in place.
    #[inline]
    fn short(&mut self, at: u64, body: [u8; 8], length: usize) -> io::Result<()> {
        let since = self.elapsed(at);
        let (middle, middle_length) = self.sequence.middle;
        let mut packet = [0; SHORT];
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

    /// A packet with whatever the event needs.
    fn long(&mut self, at: u64, ty: u64, name: Option<Name<'_>>, args: &[Arg<'_>]) -> io::Result<()> {
        let since = self.elapsed(at);
        let Self { message, interned, body, sequence, next_sequence, .. } = self;
        let interning = &mut sequence.interning;
        interned.clear();
        body.clear();
        body.uint(event::TYPE, ty);
        match name {
            Some(Name::Method(id, names)) => {
                let number = interning.method(id).unwrap_or_else(|| {
                    let number = interning.add_method(id);
                    let name = names.method(id);
                    interned.message(2, |m| m.uint(1, number.into()).text(2, &name));
                    number
                });
                body.uint(event::NAME_IID, number.into())
            }
            Some(Name::Text(name)) => match interning.names.number(name, &mut interning.next_name) {
                Interned::Known(number) => body.uint(event::NAME_IID, number.into()),
                Interned::New(number) => {
                    interned.message(2, |m| m.uint(1, number.into()).text(2, name));
                    body.uint(event::NAME_IID, number.into())
                }
                Interned::Full => body.text(event::NAME, name),
            },
            Some(Name::Once(name)) => body.text(event::NAME, name),
            None => body,
        };
        for arg in args {
            body.message(event::ANNOTATIONS, |m| annotation(m, interned, interning, arg));
        }
        message.uint(packet::TIMESTAMP, since).uint(packet::SEQUENCE, *next_sequence);
        if !interned.bytes().is_empty() {
            message.data(packet::INTERNED_DATA, interned.bytes());
        }
        message.data(packet::TRACK_EVENT, body.bytes());
        self.write()
    }

    /// The wall clock's time at a moment, if any triple of clocks is known.
    fn realtime(&self, at: u64) -> Option<u64> {
        let after = self.clocks.partition_point(|c| c.boottime <= at);
        let c = self.clocks.get(after.saturating_sub(1))?;
        Some(if at >= c.boottime {
            c.realtime.saturating_add(at - c.boottime)
        } else {
            c.realtime.saturating_sub(c.boottime - at)
        })
    }

    /// A sample of a counter that is on a track of its own.
    fn sample(&mut self, at: u64, track: u64, value: f64) -> io::Result<()> {
        let since = self.elapsed(at);
        self.message.uint(packet::TIMESTAMP, since).uint(packet::SEQUENCE, self.next_sequence);
        self.message.message(packet::TRACK_EVENT, |m| {
            m.uint(event::TYPE, event::COUNTER).uint(event::TRACK, track);
            m.double(event::DOUBLE_COUNTER_VALUE, value)
        });
        self.write()
    }
}

fn annotation<'m>(
    m: &'m mut Message,
    interned: &mut Message,
    interning: &mut Interning,
    arg: &Arg<'_>,
) -> &'m mut Message {
    // Keys are few and ours, so they always find room.
    match interning.keys.number(arg.key, &mut interning.next_key) {
        Interned::Known(number) => m.uint(1, number.into()),
        Interned::New(number) => {
            interned.message(3, |m| m.uint(1, number.into()).text(2, arg.key));
            m.uint(1, number.into())
        }
        Interned::Full => m.text(10, arg.key),
    };
    match arg.value {
        Value::Bool(value) => m.uint(2, value.into()),
        Value::Uint(value) => m.uint(3, value),
        Value::Int(value) => m.int(4, value),
        Value::Millis(ns) => m.double(5, ns as f64 / 1e6),
        Value::Number(value) => m.double(5, value),
        Value::Text(text) => match interning.values.number(text, &mut interning.next_value) {
            Interned::Known(number) => m.uint(17, number.into()),
            Interned::New(number) => {
                interned.message(29, |m| m.uint(1, number.into()).text(2, text));
                m.uint(17, number.into())
            }
            Interned::Full => m.text(6, text),
        },
    }
}

impl<W: Write> Sink for PerfettoWriter<W> {
    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError> {
        self.start = start;
        self.clocks = clocks.to_vec();
        Ok(())
    }

    fn process(&mut self, info: &ProcessInfo) -> Result<(), ExportError> {
        let (pid, first) = (info.pid, self.next_sequence == 0);
        if first {
            // Tracks are numbered in the order in which they are described: the process follows its head.
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
        let description = info.description.as_deref();
        let uuid = self.describe(&Described::Process {
            pid,
            name: &info.name,
            started: info.started.max(self.start),
            description,
        })?;
        let mut tracks = Vec::with_capacity(info.threads.len());
        for thread in &info.threads {
            let name = thread.name.as_deref();
            tracks.push(self.describe(&Described::Thread { pid, tid: thread.tid, name })?);
        }
        if first {
            self.blocks.flush_plain()?;
        }
        self.process = Process {
            pid,
            uid: info.uid,
            name: info.name.clone(),
            uuid,
            threads: tracks,
            plain: Default::default(),
            counters: HashMap::new(),
        };
        Ok(())
    }

    fn track(&mut self, track: Track) -> Result<(), ExportError> {
        let process = self.process.uuid;
        let uuid = match (track, track.plain().zip(track.described())) {
            (Track::Thread(i), _) => self.process.threads[i],
            (_, Some((place, (name, description)))) => match self.process.plain[place] {
                Some(uuid) => uuid,
                None => {
                    let uuid = self.describe(&Described::Plain { name, process, description })?;
                    self.process.plain[place] = Some(uuid);
                    uuid
                }
            },
            (_, None) => process,
        };
        if self.fresh.take() == Some(uuid) { Ok(()) } else { Ok(self.sequence_head(uuid)?) }
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

    fn counter(&mut self, at: u64, name: &str, value: f64) -> Result<(), ExportError> {
        let track = match self.process.counters.get(name) {
            Some(track) => *track,
            None => {
                let process = self.process.uuid;
                let track = self.describe(&Described::Counter { name, process })?;
                self.process.counters.insert(name.into(), track);
                track
            }
        };
        Ok(self.sample(at, track, value)?)
    }

    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError> {
        // Without the wall clock the engine could not place the line.
        let Some(realtime) = self.realtime(line.at) else { return Ok(()) };
        let priority = match line.level {
            Level::Info => 4,
            Level::Warn => 5,
            Level::Error => 6,
        };
        let (pid, uid, message) = (self.process.pid, self.process.uid, line.message);
        let log = Log { at: line.at, realtime, pid, uid, priority, message };
        packets::log(&mut self.message, &log);
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
                let server = self.describe(&Described::Process {
                    pid: SYSTEM_SERVER_PID,
                    name: SYSTEM_SERVER,
                    started: 0,
                    description,
                })?;
                self.system_server = Some(server);
                server
            }
        };
        let (name, pid) = (one_word(&self.process.name), self.process.pid);
        let error = format!("ErrorId:{name} {pid}#{}", row.error_id);
        let subject = format!("Subject(for ErrorId {}):{}", row.error_id, row.subject);
        for counter in [error, subject] {
            let track = self.describe(&Described::Counter { name: &counter, process: server })?;
            // On no sequence of a thread: this time may lie before or behind that of the track in hand.
            self.absolute_sample(row.at, track)?;
        }
        Ok(())
    }

    fn finish(&mut self, _facts: &[(String, String)]) -> Result<(), ExportError> {
        if self.next_sequence == 0 {
            // Not a single process: still a trace, if an empty one.
            self.sequence_head(0)?;
        }
        self.bytes = self.blocks.finish()?;
        Ok(())
    }
}

impl<W: Write> PerfettoWriter<W> {
    /// A sample with a full timestamp, which leaves the private clock alone.
    fn absolute_sample(&mut self, at: u64, track: u64) -> io::Result<()> {
        let message = &mut self.message;
        message.uint(packet::TIMESTAMP, at).uint(packet::TIMESTAMP_CLOCK, packets::BOOTTIME);
        message.uint(packet::SEQUENCE, self.next_sequence);
        message.message(packet::TRACK_EVENT, |m| {
            m.uint(event::TYPE, event::COUNTER).uint(event::TRACK, track).uint(event::COUNTER_VALUE, 1)
        });
        self.write()
    }
}

/// The reader of `ErrorId:` cuts the name at spaces and `#`.
fn one_word(name: &str) -> String {
    name.replace([' ', '#'], "_")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::MethodMap;
    use crate::model::{Names, ThreadInfo};

    const START: u64 = 1_000_000_000_000;

    fn process() -> ProcessInfo {
        let main = ThreadInfo { tid: 42, recorded_tid: 42, name: Some("main".to_owned()), main: true };
        ProcessInfo {
            pid: 42,
            uid: 0,
            name: "p".to_owned(),
            started: START,
            description: None,
            plain_tids: [1, 2, 3],
            threads: vec![main],
        }
    }

    /// The bytes that `fill` writes on the first thread, in hexadecimal digits.
    fn written(fill: impl FnOnce(&mut PerfettoWriter<&mut Vec<u8>>)) -> String {
        let run = |fill: &mut dyn FnMut(&mut PerfettoWriter<&mut Vec<u8>>)| {
            let mut out = Vec::new();
            let mut writer = PerfettoWriter::new(&mut out, 0, true);
            writer.head(START, &[]).unwrap();
            writer.process(&process()).unwrap();
            writer.track(Track::Thread(0)).unwrap();
            fill(&mut writer);
            writer.finish(&[]).unwrap();
            out
        };
        let before = run(&mut |_| ()).len();
        let mut fill = Some(fill);
        let all = run(&mut |writer| fill.take().expect("called once")(writer));
        all[before..].iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn events_have_the_bytes_that_the_engine_took() {
        // perfetto.md §1.1.
        let map = MethodMap::parse(Path::new("m"), b"7,1,A b ()V".to_vec()).unwrap();
        let names = Names::new(Some(&map));
        let begin_with_new_name = "0a1640dc0b50016209120708011203412e625a0448015001";
        let end = "0a0940dc0b50015a024802";
        let end_at_once = "0a08400050015a024802";
        let again = "0a0b40dc0b50015a0448015001";
        let bytes = written(|w| {
            w.begin(START + 1500, Name::Method(7, &names), &[]).unwrap();
            w.begin(START + 3000, Name::Method(7, &names), &[]).unwrap();
            w.end(START + 4500, &[]).unwrap();
            w.end(START + 4500, &[]).unwrap();
        });
        assert_eq!(bytes, [begin_with_new_name, again, end, end_at_once].concat());
    }

    #[test]
    fn a_name_with_a_large_number_too() {
        let names = Names::new(None);
        let bytes = written(|w| {
            for id in 1..=300 {
                w.begin(START, Name::Method(id, &names), &[]).unwrap();
            }
            w.begin(START + 1500, Name::Method(300, &names), &[]).unwrap();
        });
        assert!(bytes.ends_with("0a0c40dc0b50015a05480150ac02"), "{bytes}");
    }
}
