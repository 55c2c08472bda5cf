//! Writes Chrome's JSON trace: the portable format, and the lossy one (no log, no frame timeline, no stacks, no
//! flow arrows, and tracks without a thread become threads of their own).
//!
//! One event per line, all slices as `X`: a single `B` or `E` anywhere makes the engine sort ends before starts
//! of the same time, which would tear apart slices without duration. A slice is written when it ends, so only
//! open ones are kept.
//!
//! Limitation: the engine nests slices of equal times by their duration. A slice without duration therefore
//! loses its depth if another slice has the same start; its time and name are kept.

use std::collections::HashSet;
use std::io::{self, Write};

use trace_format::event::Clocks;

use crate::ExportError;
use crate::model::{
    AnrRow, Arg, FrameRow, Lane, LogLine, Name, ProcessInfo, SYSTEM_SERVER_PID, Sink, StackRow, Track, Unit,
    Value,
};

/// From this start time on, times are written relative to the start: readers parse them as doubles, which hold
/// nanoseconds only below 2^43 microseconds, 101 days. Half of that leaves room for the recording.
const MAX_ABSOLUTE_TIME: u64 = (1 << 42) * 1000;
/// Tracks of locks and queues are threads with tids from here on, which no Linux thread has.
const FIRST_OTHER_TID: u32 = 1 << 25;
/// The output is passed on in chunks of this size, in bytes.
const CHUNK_LENGTH: usize = 256 << 10;

/// An open slice.
#[derive(Debug)]
struct Span {
    begun: u64,
    label: Label,
    category: Option<&'static str>,
    /// CPU time of its thread at its start, ns.
    thread_time: Option<u64>,
    /// Its arguments so far, without braces.
    args: Vec<u8>,
    /// A child that started at the same time and has ended. If both end together, the engine nests them by
    /// their order in the file, so the child has to wait.
    held: Vec<u8>,
}

#[derive(Debug)]
enum Label {
    Method(u32),
    Text(Box<str>),
}

/// Writes a JSON trace.
pub(crate) struct JsonWriter<W> {
    out: W,
    buffer: Vec<u8>,
    bytes: u64,
    first: bool,
    open: Vec<Span>,
    /// Names of the process's methods, escaped.
    methods: Vec<Option<Box<str>>>,
    process: Option<ProcessInfo>,
    /// `"pid":1,"tid":2,"ts":`
    place: String,
    stdlib_anr: bool,
    system_server: bool,
    /// Subtracted from every time.
    base: u64,
    processes: usize,
    /// Number of tracks of locks and queues so far.
    other_tracks: u32,
    /// Threads of the process that only a dump contains.
    dumped: HashSet<u32>,
}

impl<W: Write> JsonWriter<W> {
    pub(crate) fn new(out: W, stdlib_anr: bool) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(CHUNK_LENGTH + 4096),
            bytes: 0,
            first: true,
            open: Vec::new(),
            methods: Vec::new(),
            process: None,
            place: String::new(),
            stdlib_anr,
            system_server: false,
            base: 0,
            processes: 0,
            other_tracks: 0,
            dumped: HashSet::new(),
        }
    }

    /// Number of bytes written; valid once the trace is finished.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, |p| p.pid)
    }

    /// A moment on the trace's own axis.
    fn shown(&self, at: u64) -> u64 {
        at.saturating_sub(self.base)
    }

    /// Flushes the buffer once it holds a whole chunk.
    #[inline]
    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() < CHUNK_LENGTH { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.buffer.extend_from_slice(b",\n");
        }
    }

    /// Writes what a thread, or without a tid the process, has as its `key`.
    fn metadata(&mut self, pid: u32, tid: Option<u32>, key: &str, value: &str) -> io::Result<()> {
        self.separate();
        let (of, tid) = tid.map_or(("process", String::new()), |tid| ("thread", format!(",\"tid\":{tid}")));
        write!(
            self.buffer,
            "{{\"ph\":\"M\",\"pid\":{pid}{tid},\"name\":\"{of}_{key}\",\"args\":{{\"{key}\":{value}}}}}"
        )?;
        self.flush_if_full()
    }

    fn named(&mut self, pid: u32, tid: Option<u32>, name: &str) -> io::Result<()> {
        self.metadata(pid, tid, "name", &format!("\"{}\"", escaped(name)))
    }

    /// Writes the line of a slice that has ended, and the lines that waited for it.
    fn line(&self, out: &mut Vec<u8>, span: &Span, end: u64, thread_time: Option<u64>) {
        out.extend_from_slice(b"{\"ph\":\"X\",");
        out.extend_from_slice(self.place.as_bytes());
        put_micros(out, self.shown(span.begun));
        out.extend_from_slice(b",\"dur\":");
        put_micros(out, end - span.begun);
        if let (Some(begun), Some(ended)) = (span.thread_time, thread_time) {
            out.extend_from_slice(b",\"tts\":");
            put_micros(out, begun);
            out.extend_from_slice(b",\"tdur\":");
            put_micros(out, ended.saturating_sub(begun));
        }
        if let Some(category) = span.category {
            out.extend_from_slice(b",\"cat\":\"");
            out.extend_from_slice(category.as_bytes());
            out.push(b'"');
        }
        let name: &str = match &span.label {
            Label::Method(id) => self.methods[*id as usize].as_deref().unwrap_or_default(),
            Label::Text(text) => text,
        };
        put_end(out, name, &span.args);
        if !span.held.is_empty() {
            out.extend_from_slice(b",\n");
            out.extend_from_slice(&span.held);
        }
    }

    /// Writes the line of an event without duration.
    fn mark(&mut self, place: &str, at: u64, name: &str, args: &[Arg<'_>]) -> io::Result<()> {
        self.separate();
        write!(self.buffer, "{{\"ph\":\"i\",\"s\":\"t\",{place}")?;
        let at = self.shown(at);
        put_micros(&mut self.buffer, at);
        let mut inside = Vec::new();
        put_args(&mut inside, args);
        put_end(&mut self.buffer, &escaped(name), &inside);
        self.flush_if_full()
    }

    fn counter_line(&mut self, pid: u32, at: u64, name: &str, key: &str, value: &str) -> io::Result<()> {
        self.separate();
        write!(self.buffer, "{{\"ph\":\"C\",\"pid\":{pid},\"ts\":")?;
        let at = self.shown(at);
        put_micros(&mut self.buffer, at);
        write!(self.buffer, ",\"name\":\"{}\",\"args\":{{\"{key}\":{value}}}}}", escaped(name))?;
        self.flush_if_full()
    }
}

/// The end of an event's line: its name, which is escaped already, and its arguments.
fn put_end(out: &mut Vec<u8>, name: &str, args: &[u8]) {
    out.extend_from_slice(b",\"name\":\"");
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
    if !args.is_empty() {
        out.extend_from_slice(b",\"args\":{");
        out.extend_from_slice(args);
        out.push(b'}');
    }
    out.push(b'}');
}

/// Nanoseconds as microseconds with three decimals, by integer arithmetic: a double would lose precision.
fn put_micros(out: &mut Vec<u8>, ns: u64) {
    // Writing to a vector does not fail.
    let _ = serde_json::to_writer(&mut *out, &(ns / 1000));
    let rest = ns % 1000;
    let digit = |n: u64| b'0' + (n % 10) as u8;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
}

/// `text` escaped for a JSON string. All but the syntax stays raw UTF-8: the engine rejects a whole file
/// because of one surrogate escape.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The beginning of each event of a thread, up to its time.
fn place(pid: u32, tid: u32) -> String {
    format!("\"pid\":{pid},\"tid\":{tid},\"ts\":")
}

/// The category among the arguments, if any.
fn category(args: &[Arg<'_>]) -> Option<&'static str> {
    args.iter().find_map(|arg| if let Value::Category(name) = arg.value { Some(name) } else { None })
}

/// The thread's CPU time among the arguments, if any.
fn thread_time(args: &[Arg<'_>]) -> Option<u64> {
    args.iter().find_map(|arg| if let Value::ThreadTime(ns) = arg.value { Some(ns) } else { None })
}

/// Appends arguments to `out`.
fn put_args(out: &mut Vec<u8>, args: &[Arg<'_>]) {
    for arg in args.iter().filter(|arg| arg.is_argument()) {
        if !out.is_empty() {
            out.push(b',');
        }
        let value = match arg.value {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            // The engine corrupts numbers beyond i64.
            Value::Uint(value) if value > i64::MAX as u64 => format!("\"{value}\""),
            Value::Uint(value) => value.to_string(),
            Value::Millis(ns) => format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000),
            Value::Number(value) => value.to_string(),
            Value::Text(text) | Value::Group(text) => format!("\"{}\"", escaped(text)),
            // Flow arrows are only in the other format; CPU time has a field of its own.
            Value::Flow(number) | Value::ThreadTime(number) => number.to_string(),
            Value::Category(name) => name.to_owned(),
        };
        out.extend_from_slice(format!("\"{}\":{value}", arg.key).as_bytes());
    }
}

impl<W: Write> Sink for JsonWriter<W> {
    fn head(&mut self, start: u64, _clocks: &[Clocks]) -> Result<(), ExportError> {
        self.base = if start < MAX_ABSOLUTE_TIME { 0 } else { start };
        self.buffer.extend_from_slice(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        Ok(())
    }

    fn process(&mut self, info: &ProcessInfo) -> Result<(), ExportError> {
        let pid = info.pid;
        self.named(pid, None, &info.name)?;
        self.metadata(pid, None, "sort_index", &self.processes.to_string())?;
        self.processes += 1;
        self.dumped.clear();
        for thread in &info.threads {
            if let Some(name) = &thread.name {
                self.named(pid, Some(thread.tid), name)?;
            }
            self.metadata(pid, Some(thread.tid), "sort_index", &thread.rank.to_string())?;
        }
        self.methods.clear();
        self.process = Some(info.clone());
        Ok(())
    }

    fn track(&mut self, track: Track) -> Result<(), ExportError> {
        let Some(process) = &self.process else { return Ok(()) };
        let pid = process.pid;
        let tid = match (track, track.plain()) {
            (Track::Thread(i), _) => process.threads[i].tid,
            (_, place) => process.plain_tids[place.unwrap_or(0)],
        };
        if let Some((name, _)) = track.described() {
            self.named(pid, Some(tid), name)?;
        }
        self.place = place(pid, tid);
        Ok(())
    }

    /// Starts a thread with a tid that no other has, since this format has no other tracks.
    fn lane(&mut self, lane: Lane<'_>) -> Result<(), ExportError> {
        let (pid, tid) = (self.pid(), FIRST_OTHER_TID + self.other_tracks);
        self.other_tracks += 1;
        self.named(pid, Some(tid), &lane.name())?;
        self.place = place(pid, tid);
        Ok(())
    }

    fn begin(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        let label = match name {
            Name::Method(id, names) => {
                let index = id as usize;
                if self.methods.len() <= index {
                    self.methods.resize_with(index + 1, || None);
                }
                self.methods[index].get_or_insert_with(|| escaped(&names.method(id)).into());
                Label::Method(id)
            }
            Name::Text(text) | Name::Once(text) => Label::Text(escaped(text).into()),
        };
        let (thread_time, category) = (thread_time(args), category(args));
        let mut span = Span { begun: at, label, category, thread_time, args: Vec::new(), held: Vec::new() };
        put_args(&mut span.args, args);
        self.open.push(span);
        Ok(())
    }

    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError> {
        let Some(mut span) = self.open.pop() else { return Ok(()) };
        put_args(&mut span.args, args);
        // Only one child with a duration can have its parent's start, so at most one ever waits.
        let waits = at > span.begun && self.open.last().is_some_and(|parent| parent.begun == span.begun);
        if !waits {
            self.separate();
        }
        let mut out = match waits {
            true => Vec::with_capacity(160 + span.held.len()),
            false => std::mem::take(&mut self.buffer),
        };
        self.line(&mut out, &span, at, thread_time(args));
        match self.open.last_mut().filter(|_| waits) {
            Some(parent) => parent.held = out,
            None => self.buffer = out,
        }
        Ok(self.flush_if_full()?)
    }

    fn instant(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        let place = std::mem::take(&mut self.place);
        let written = self.mark(&place, at, &name.text(), args);
        self.place = place;
        Ok(written?)
    }

    fn counter(&mut self, at: u64, name: &str, _unit: Unit, value: f64) -> Result<(), ExportError> {
        let pid = self.pid();
        Ok(self.counter_line(pid, at, name, "value", &value.to_string())?)
    }

    fn frame(&mut self, _row: &FrameRow) -> Result<(), ExportError> {
        Ok(())
    }

    /// Stacks have no form that readers share; the thread states of a dump are written all the same.
    fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError> {
        let Some(state) = row.state else { return Ok(()) };
        let pid = self.pid();
        if let Some(name) = row.name
            && self.dumped.insert(row.tid)
        {
            self.named(pid, Some(row.tid), name)?;
        }
        Ok(self.mark(&place(pid, row.tid), row.at, state.name, state.args)?)
    }

    fn log(&mut self, _line: &LogLine<'_>) -> Result<(), ExportError> {
        Ok(())
    }

    fn anr(&mut self, row: &AnrRow<'_>) -> Result<(), ExportError> {
        let Some(process) = self.process.as_ref().filter(|_| self.stdlib_anr) else { return Ok(()) };
        let (pid, name) = (process.pid, process.name.replace([' ', '#'], "_"));
        if !std::mem::replace(&mut self.system_server, true) {
            self.named(SYSTEM_SERVER_PID, None, "system_server")?;
        }
        // The engine appends a space and the argument's key, here empty, to the name of a counter.
        let (id, subject) = (row.error_id, row.subject);
        let error = format!("ErrorId:{name} {pid}#{id}");
        self.counter_line(SYSTEM_SERVER_PID, row.at, &error, "", "1")?;
        let subject = format!("Subject(for ErrorId {id} ):{subject}");
        Ok(self.counter_line(SYSTEM_SERVER_PID, row.at, &subject, "", "1")?)
    }

    fn finish(&mut self, facts: &[(String, String)]) -> Result<(), ExportError> {
        self.buffer.extend_from_slice(b"\n],\"metadata\":{");
        for (i, (key, value)) in facts.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(self.buffer, "{comma}\"{}\":\"{}\"", escaped(key), escaped(value))?;
        }
        if self.base > 0 {
            let comma = if facts.is_empty() { "" } else { "," };
            write!(self.buffer, "{comma}\"anrscope.base_ns\":\"{}\"", self.base)?;
        }
        self.buffer.extend_from_slice(b"}}\n");
        self.flush()?;
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn microseconds_keep_their_nanoseconds() {
        let micros = |ns| {
            let mut out = Vec::new();
            put_micros(&mut out, ns);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(micros(0), "0.000");
        assert_eq!(micros(1_234_567), "1234.567");
        assert_eq!(micros(999), "0.999");
        assert_eq!(micros(u64::MAX), "18446744073709551.615");
    }

    proptest! {
        #[test]
        fn any_text_comes_back_out_of_a_json_reader(text: String) {
            let json = format!("\"{}\"", escaped(&text));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
