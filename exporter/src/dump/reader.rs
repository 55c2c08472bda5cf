//! Puts a dump together, line by line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::DumpError;
use super::event_log::EventLog;
use super::facts::{self, FactValue};
use super::frame::{self, Frame, JavaFrame, KernelFrame};
use super::lines::Lines;
use super::long_methods::LongMethods;
use super::model::{Dump, Section, SectionKind, Thread, ThreadForm, WaitChannel};
use super::section::{self, Border};
use super::subject::{AnrKind, Subject};
use super::{attributes, limits, lock_line, long_binary, long_methods, native_frame, prefix, thread_line};

impl Dump {
    /// Reads the dump in a file, which may be packed with gzip.
    ///
    /// # Errors
    /// If it cannot be read, or nothing in it is of a dump.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let failed = |source| DumpError::Read { file: path.to_owned(), offset: 0, source };
        Self::read(path, File::open(path).map_err(failed)?)
    }

    /// Reads a dump, which may be packed with gzip; `file` is for errors only.
    ///
    /// # Errors
    /// If it cannot be read, or nothing in it is of a dump.
    pub fn read(file: &Path, input: impl Read) -> Result<Self, DumpError> {
        let mut input = BufReader::with_capacity(64 << 10, input);
        let failed = |source| DumpError::Read { file: file.to_owned(), offset: 0, source };
        if input.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
            let unpacked = flate2::bufread::MultiGzDecoder::new(input);
            read_lines(file, BufReader::with_capacity(64 << 10, unpacked))
        } else {
            read_lines(file, input)
        }
    }
}

fn read_lines(file: &Path, input: impl BufRead) -> Result<Dump, DumpError> {
    let mut lines = Lines::new(input);
    let mut reader = Reader::default();
    let mut begin: Option<(u64, String)> = None;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            // A packed text that is cut is read as far as it goes.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && reader.found() => {
                reader.warn(format!("offset {}: the packed text is cut off", lines.next));
                break;
            }
            Err(source) => return Err(DumpError::Read { file: file.to_owned(), offset: lines.next, source }),
        };
        if begin.is_none() && !line.trim().is_empty() {
            begin = Some((lines.at, line.chars().take(60).collect()));
        }
        reader.take(&line, lines.number);
    }
    if !reader.found() {
        let (offset, begin) = begin.unwrap_or_default();
        return Err(DumpError::NoDump { file: file.to_owned(), offset, length: lines.next, begin });
    }
    if lines.cut > 0 {
        reader.warn(format!(
            "{} lines are longer than {} bytes; their ends were not read",
            lines.cut,
            limits::LINE
        ));
    }
    if lines.stopped {
        reader.warn(format!("only the first {} bytes were read", limits::TEXT));
    }
    Ok(reader.finish())
}

#[derive(Debug, Default)]
struct Reader {
    dump: Dump,
    log: EventLog,
    /// Whether the last section is open.
    in_section: bool,
    /// The thread whose lines are coming. Behind an empty line it is put away.
    thread: Option<Thread>,
    /// Frames of the kernel that stand before the thread that they belong to.
    kernel: Option<(u32, Vec<KernelFrame>)>,
    long: Option<long_methods::Reader>,
    /// ART's class loaders so far, within their list.
    loaders: Option<u64>,
    /// The process that is dumped next, and when.
    asking: Option<(u32, Option<u64>)>,
    number: u32,
    kept: usize,
    dropped: u64,
}

impl Reader {
    fn take(&mut self, line: &str, number: u32) {
        self.number = number;
        let bare = prefix::bare(line, self.log.is_open());
        let text = bare.text.trim();
        if let Some(long) = &mut self.long {
            if long.take(text) {
                return;
            }
            self.end_long();
        }
        if text.is_empty() {
            // A tombstone has one between a thread's first line and its frames.
            let waits =
                self.thread.as_ref().is_some_and(|t| t.form == ThreadForm::Tombstone && t.frames.is_empty());
            if !bare.quoted && !bare.logged && !waits {
                self.end_thread();
            }
            return;
        }
        if let Some(border) = section::border(text) {
            self.border(border);
        } else if !self.in_section && self.log.take(text) {
            // It is counted by its own bound.
        } else if let Some(thread) = thread_line::parse(bare.text) {
            self.begin_thread(thread);
        } else if let Some((thread, pid, process)) = thread_line::tombstone(text) {
            self.tombstone(thread, pid, process);
        } else if !self.of_thread(text) {
            self.of_section(text);
        }
    }

    /// Whether `bytes` more may be kept.
    fn keep(&mut self, bytes: usize) -> bool {
        let fits = self.kept.saturating_add(bytes) <= limits::KEPT;
        if fits {
            self.kept += bytes;
        } else {
            self.dropped += 1;
        }
        fits
    }

    fn warn(&mut self, text: String) {
        if self.dump.warnings.len() < limits::REMARKS {
            self.dump.warnings.push(text);
        }
    }

    fn border(&mut self, border: Border) {
        self.end_section(border == Border::End);
        match border {
            Border::Begin(kind, pid, time) => {
                if self.keep(size_of::<Section>() + time.len()) {
                    let mut section = Section {
                        kind,
                        pid: Some(pid),
                        time: Some(time),
                        line: self.number,
                        ..Section::default()
                    };
                    if let Some((_, Some(at))) = self.asking.take_if(|(asked, _)| *asked == pid) {
                        facts::push(&mut section.facts, "dump_uptime_ms", FactValue::Number(at));
                    }
                    self.dump.sections.push(section);
                    self.in_section = true;
                }
            }
            Border::Asking(pid, at) => self.asking = Some((pid, at)),
            Border::End => {}
        }
    }

    /// The section that lines belong to; one without a head begins by itself.
    fn section(&mut self) -> Option<&mut Section> {
        if !self.in_section {
            if !self.keep(size_of::<Section>()) {
                return None;
            }
            self.dump.sections.push(Section { line: self.number, ..Section::default() });
            self.in_section = true;
        }
        self.dump.sections.last_mut()
    }

    fn begin_thread(&mut self, mut thread: Thread) {
        // Some exports give a thread's first line twice.
        let again = |open: &Thread| {
            open.frames.is_empty()
                && open.sys_tid.is_none()
                && open.name == thread.name
                && open.tid == thread.tid
        };
        if self.thread.as_ref().is_some_and(again) {
            self.thread = None;
        }
        self.end_thread();
        if self.section().is_none()
            || !self.keep(size_of::<Thread>() + thread.name.as_ref().map_or(0, String::len))
        {
            return;
        }
        thread.lines = (self.number, self.number);
        if let Some((_, frames)) = self.kernel.take_if(|(tid, _)| Some(*tid) == thread.sys_tid) {
            thread.frames.extend(frames.into_iter().map(Frame::Kernel));
        }
        self.thread = Some(thread);
    }

    fn end_thread(&mut self) {
        if let Some(thread) = self.thread.take()
            && let Some(section) = self.section()
        {
            section.threads.push(thread);
        }
    }

    fn end_long(&mut self) {
        if let Some(long) = self.long.take() {
            self.add_long(long.finish());
        }
    }

    fn add_long(&mut self, long: LongMethods) {
        if self.keep(long.size())
            && let Some(section) = self.section()
        {
            section.long_methods = Some(long);
        }
    }

    /// Newer builds leave it to the threads of the dump to name those of the long running methods.
    fn name_long(&mut self) {
        let Some(section) = self.dump.sections.last_mut() else { return };
        let Some(long) = &mut section.long_methods else { return };
        let named = section.threads.iter().filter_map(|t| Some((t.sys_tid?, t.name.as_ref()?)));
        let names: HashMap<u32, &String> = named.collect();
        for run in long.runs.iter_mut().filter(|run| run.thread.is_none()) {
            let Some(name) = names.get(&run.sys_tid) else { continue };
            if self.kept.saturating_add(name.len()) > limits::KEPT {
                return;
            }
            self.kept += name.len();
            run.thread = Some((*name).clone());
        }
    }

    fn end_section(&mut self, ended: bool) {
        self.end_long();
        self.end_thread();
        self.kernel = None;
        self.loaders = None;
        if self.in_section {
            self.name_long();
            if let Some(section) = self.dump.sections.last_mut() {
                section.ended = ended;
            }
            self.in_section = false;
        }
    }

    fn tombstone(&mut self, thread: Option<Thread>, pid: u32, process: String) {
        let other = |section: &Section| section.pid.is_some_and(|open| open != pid);
        if self.in_section && self.dump.sections.last().is_some_and(other) {
            self.end_section(false);
        }
        if let Some(section) = self.section() {
            section.pid = Some(pid);
            section.cmdline.get_or_insert(process);
        }
        if let Some(thread) = thread {
            self.begin_thread(thread);
        } else {
            self.end_thread();
        }
    }

    /// Lines below a thread's first one.
    fn of_thread(&mut self, text: &str) -> bool {
        if self.thread.is_none() {
            // A part of a dump may begin behind a thread's first line.
            if ["| group=", "| sysTid=", "| state=", "| held mutexes="]
                .iter()
                .any(|begin| text.starts_with(begin))
            {
                self.begin_thread(Thread::new(None, ThreadForm::Headless));
            } else {
                return self.of_kernel(text);
            }
        }
        let taken = self.frame(text) || self.remark(text);
        if taken && let Some(thread) = &mut self.thread {
            thread.lines.1 = self.number;
        }
        taken
    }

    fn frame(&mut self, text: &str) -> bool {
        let frame = if let Some(java) = frame::java(text) {
            Frame::Java(java)
        } else if let Some(native) = native_frame::parse(text) {
            match native {
                Ok(native) => Frame::Native(native),
                Err(why) => return self.add_remark(why),
            }
        } else if let Some(kernel) = frame::kernel(text) {
            match kernel {
                Ok(kernel) => Frame::Kernel(kernel),
                Err(why) => return self.add_remark(why),
            }
        } else {
            return false;
        };
        // What stands for a frame is its size and its texts, which are no longer than the line.
        let fits = self.keep(size_of::<Frame>() + text.len());
        if let Some(thread) = &mut self.thread {
            if fits && thread.frames.len() < limits::FRAMES {
                thread.frames.push(frame);
            } else {
                thread.cut_frames += 1;
            }
        }
        true
    }

    fn remark(&mut self, text: &str) -> bool {
        if let Some(rest) = text.strip_prefix('|') {
            if self.keep(rest.len())
                && let Some(thread) = &mut self.thread
            {
                attributes::parse(thread, rest);
            }
            return true;
        }
        if let Some(mut lock) = lock_line::parse(text) {
            if self.keep(size_of_val(&lock) + text.len())
                && let Some(thread) =
                    self.thread.as_mut().filter(|thread| thread.locks.len() < limits::FRAMES)
            {
                lock.frame = thread.frames.len().checked_sub(1);
                thread.locks.push(lock);
            }
            return true;
        }
        if let Some(times) = frame::repeated(text) {
            if let Some(java) = self.last_java() {
                java.repeated = java.repeated.saturating_add(times);
            }
            return true;
        }
        if let Some(name) = frame::alternative(text) {
            // `.other` is of the same class.
            let class =
                if name.starts_with('.') { self.last_java().map(|java| java.class.clone()) } else { None };
            let name = class.unwrap_or_default() + name;
            let fits = self.keep(name.len() + size_of::<String>());
            if let Some(java) = self.last_java().filter(|java| fits && java.or.len() < limits::REMARKS) {
                java.or.push(name);
            }
            return true;
        }
        if text == "(no managed stack frames)" || text.starts_with("Not able to dump stack") {
            return self.add_remark(text.trim_matches(['(', ')']).to_owned());
        }
        false
    }

    fn last_java(&mut self) -> Option<&mut JavaFrame> {
        match self.thread.as_mut()?.frames.last_mut()? {
            Frame::Java(java) => Some(java),
            Frame::Native(_) | Frame::Kernel(_) => None,
        }
    }

    fn add_remark(&mut self, remark: String) -> bool {
        if self.keep(size_of::<String>() + remark.len())
            && let Some(thread) = self.thread.as_mut().filter(|thread| thread.remarks.len() < limits::REMARKS)
        {
            thread.remarks.push(remark);
        }
        true
    }

    /// `KERNEL SPACE BACKTRACE, sysTid=12` and its frames, which some vendors put before a native thread.
    fn of_kernel(&mut self, text: &str) -> bool {
        if let Some(tid) = text.strip_prefix("KERNEL SPACE BACKTRACE, sysTid=") {
            self.kernel = tid.trim().parse().ok().map(|tid| (tid, Vec::new()));
            return true;
        }
        let Some(Ok(frame)) = frame::kernel(text).filter(|_| self.kernel.is_some()) else { return false };
        if self.keep(size_of::<Frame>() + text.len())
            && let Some((_, frames)) =
                self.kernel.as_mut().filter(|(_, frames)| frames.len() < limits::FRAMES)
        {
            frames.push(frame);
        }
        true
    }

    /// Lines of the head.
    fn of_section(&mut self, text: &str) {
        if let Some(count) = section::thread_list(text) {
            if let Some(section) = self.section() {
                section.declared_threads = section.declared_threads.or(count);
            }
        } else if let Some(name) = text.strip_prefix("Cmd line: ").or_else(|| text.strip_prefix("Cmdline: "))
        {
            if self.keep(name.len())
                && let Some(section) = self.section()
            {
                section.cmdline.get_or_insert_with(|| name.trim().to_owned());
            }
        } else if let Some(subject) = text.strip_prefix("Subject: ") {
            if self.dump.subject.is_none() && self.keep(subject.len()) {
                self.dump.subject = Some(Subject::parse(subject));
            }
        } else if text == "Dumping registered class loaders" {
            self.loaders = Some(0);
        } else if let Some(loaders) = self.loaders.filter(|_| text.starts_with("Done dumping class loaders"))
        {
            self.add_fact("class_loaders", loaders);
        } else if let Some(loaders) = self.loaders.as_mut().filter(|_| text.starts_with('#')) {
            *loaders += 1;
        } else if let Some((sys_tid, channel)) = section::channel(text).filter(|_| self.in_channels()) {
            if self.keep(size_of::<WaitChannel>() + channel.len())
                && let Some(section) = self.dump.sections.last_mut()
            {
                section.channels.push(WaitChannel { sys_tid, channel: channel.to_owned() });
            }
        } else if text.starts_with("libdebuggerd_client: ") {
            self.warn(format!("line {}: the system says: {text}", self.number));
        } else if let Some(long) = long_methods::Reader::begin(text) {
            self.end_thread();
            self.long = Some(long);
        } else if let Some(encoded) = text.strip_prefix(long_methods::TITLE) {
            match long_binary::read(encoded) {
                Ok(long) => self.add_long(long),
                Err(why) => self.warn(format!("line {}: ART's long running methods {why}", self.number)),
            }
        } else if self.kept < limits::KEPT {
            let facts = match self.dump.sections.last_mut().filter(|_| self.in_section) {
                Some(section) => &mut section.facts,
                None => &mut self.dump.facts,
            };
            if facts::parse(text, facts) {
                self.kept += size_of::<facts::Fact>() + text.len();
            }
        }
    }

    fn add_fact(&mut self, key: &str, number: u64) {
        self.loaders = None;
        if let Some(section) = self.section() {
            facts::push(&mut section.facts, key, FactValue::Number(number));
        }
    }

    fn in_channels(&self) -> bool {
        self.in_section && self.dump.sections.last().is_some_and(|s| s.kind == SectionKind::WaitingChannels)
    }

    /// Whether anything was of a dump. Mail has subjects too.
    fn found(&self) -> bool {
        let subject = self.dump.subject.as_ref().is_some_and(|subject| subject.kind != AnrKind::Other);
        let section = |s: &Section| s.pid.is_some() || !s.threads.is_empty() || s.declared_threads.is_some();
        subject
            || !self.log.events.is_empty()
            || self.thread.is_some()
            || self.dump.sections.iter().any(section)
    }

    fn finish(mut self) -> Dump {
        let last_open = self.in_section;
        self.end_section(false);
        if let Some(section) = self.dump.sections.last().filter(|s| last_open && s.time.is_some()) {
            let warning = format!("line {}: the text ends within {}", self.number, section.title());
            self.warn(warning);
        }
        for section in 0..self.dump.sections.len() {
            let section = &self.dump.sections[section];
            let attached = section.threads.iter().filter(|thread| thread.attached).count();
            if let Some(declared) = section.declared_threads.filter(|&n| n as usize != attached) {
                let warning = format!(
                    "line {}: {} says that it lists {declared} threads; {attached} are there",
                    section.line,
                    section.title()
                );
                self.warn(warning);
            }
        }
        if self.log.dropped > 0 {
            self.warn(format!("{} events of the log were left out", self.log.dropped));
        }
        if self.dropped > 0 {
            self.warn(format!(
                "more than {} bytes of threads: {} lines were left out",
                limits::KEPT,
                self.dropped
            ));
        }
        self.dump.events = self.log.events;
        self.dump
    }
}
