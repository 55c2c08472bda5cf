//! Assembles a dump line by line.

mod coroutines;
mod head;
mod jvm;
mod stacks;
mod threads;

use std::collections::HashMap;

use super::anr_report::AnrReports;
use super::event_log::EventLog;
use super::frame::{Frame, KernelFrame};
use super::jvm::deadlock::{Deadlocks, Wait};
use super::long_methods::LongMethods;
use super::model::{Dump, Section, Thread, ThreadForm};
use super::pressure::Pressure;
use super::section::{self, Border};
use super::subject::AnrKind;
use super::{limits, long_methods, prefix, thread_line};

#[derive(Debug, Default)]
pub(super) struct Reader {
    dump: Dump,
    log: EventLog,
    reports: AnrReports,
    pressure: Pressure,
    /// Whether a section is open.
    in_section: bool,
    /// The thread whose lines are being read. An empty line ends it.
    thread: Option<Thread>,
    /// Kernel frames that precede the thread to which they belong.
    kernel: Option<(u32, Vec<KernelFrame>)>,
    long: Option<long_methods::Reader>,
    /// The number of ART's class loaders so far, within their list.
    loaders: Option<u64>,
    /// The process that is dumped next, and when.
    announced: Option<(u32, Option<u64>)>,
    jvm: Jvm,
    stacks: Stacks,
    /// Whether the following frames are a coroutine's creation stack.
    in_creation: bool,
    number: u32,
    kept: usize,
    dropped: u64,
}

/// State of a JVM's dump besides its threads.
#[derive(Debug, Default)]
struct Jvm {
    /// Process id, time and version that preceded the dump.
    pid: Option<u32>,
    time: Option<(String, u32)>,
    version: Option<String>,
    /// HotSpot's own deadlock report, until the section ends.
    deadlocks: Option<Deadlocks>,
    /// Owners that Android Studio names.
    named: Vec<Wait>,
    /// Whether the following lines list the synchronizers that the last thread owns.
    owned: bool,
    /// Whether the dump's last line was read, or its format has none.
    complete: bool,
}

/// The stacks without a thread's first line found so far.
#[derive(Debug, Default)]
struct Stacks {
    /// The last line that is not a frame.
    title: String,
    threads: Vec<Thread>,
    /// Whether the last line was a frame.
    open: bool,
}

impl Reader {
    pub(super) fn take(&mut self, line: &str, number: u32) {
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
        if self.of_jvm(text) || self.of_coroutine(text) {
            // A line that only a JVM or kotlinx.coroutines writes.
        } else if let Some(border) = section::border(text) {
            self.border(border);
        } else if !self.in_section && self.log.take(text) {
            // Reports have a limit of their own.
        } else if self.reports.take(text, number) {
            // So do these.
        } else if let Some(thread) = thread_line::parse(bare.text) {
            self.begin_thread(thread);
        } else if let Some((thread, pid, process)) = thread_line::tombstone(text) {
            self.tombstone(thread, pid, process);
        } else if !self.of_thread(text) && !self.of_section(text) {
            self.of_stack(text);
        }
    }

    /// Whether `bytes` more may be kept.
    fn keep(&mut self, bytes: usize) -> bool {
        let fits = self.kept.saturating_add(bytes) <= limits::MEMORY;
        if fits {
            self.kept += bytes;
        } else {
            self.dropped += 1;
        }
        fits
    }

    pub(super) fn warn(&mut self, text: String) {
        if self.dump.warnings.len() < limits::REMARKS {
            self.dump.warnings.push(text);
        }
    }

    fn border(&mut self, border: Border) {
        self.reports.end();
        self.log.end();
        self.end_section(border == Border::End);
        match border {
            Border::Begin(kind, pid, time) => {
                if let Some(section) = self.begin_section(time.len()) {
                    (section.kind, section.pid, section.time) = (kind, Some(pid), Some(time));
                    self.dump.first_dumped.get_or_insert(pid);
                    if let Some((_, Some(at))) = self.announced.take_if(|(next, _)| *next == pid) {
                        self.add_fact("dump_uptime_ms", at);
                    }
                }
            }
            Border::Announced(pid, at) => {
                self.dump.first_dumped.get_or_insert(pid);
                self.announced = Some((pid, at));
            }
            Border::End => {}
        }
    }

    /// The section of the current line; a text without a head starts one implicitly.
    fn section(&mut self) -> Option<&mut Section> {
        if self.in_section { self.dump.sections.last_mut() } else { self.begin_section(0) }
    }

    /// Opens a section at this line, if there is room for it and so many bytes of texts.
    fn begin_section(&mut self, bytes: usize) -> Option<&mut Section> {
        if !self.keep(size_of::<Section>() + bytes) {
            return None;
        }
        self.dump.sections.push(Section { line: self.number, ..Section::default() });
        self.in_section = true;
        self.dump.sections.last_mut()
    }

    fn begin_thread(&mut self, mut thread: Thread) {
        // Some exports repeat a thread's first line.
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
        self.jvm.owned = false;
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

    /// Newer builds omit the thread names of the long running methods: take them from the dump.
    fn name_long(&mut self) {
        let Some(section) = self.dump.sections.last_mut() else { return };
        let Some(long) = &mut section.long_methods else { return };
        let named = section.threads.iter().filter_map(|t| Some((t.sys_tid?, t.name.as_ref()?)));
        let names: HashMap<u32, &String> = named.collect();
        for run in long.runs.iter_mut().filter(|run| run.thread.is_none()) {
            let Some(name) = names.get(&run.sys_tid) else { continue };
            if self.kept.saturating_add(name.len()) > limits::MEMORY {
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
            let complete = self.end_jvm();
            if let Some(section) = self.dump.sections.last_mut() {
                section.ended = ended || complete;
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

    /// Whether anything of a dump was found. Mail has subjects, too.
    pub(super) fn found(&self) -> bool {
        let section = |s: &Section| s.pid.is_some() || !s.threads.is_empty() || s.declared_threads.is_some();
        self.has_stack()
            || !self.log.events.is_empty()
            || !self.reports.reports.is_empty()
            || self.thread.is_some()
            || self.dump.sections.iter().any(section)
    }

    /// What a text without a dump seems to be, by its beginning, and what to provide instead.
    pub(super) fn hint(&self, begin: &str) -> &'static str {
        if self.dump.subject.as_ref().is_some_and(|subject| subject.kind != AnrKind::Other) {
            "it has the subject of an ANR and no thread: the stacks are missing, or their lines are in a form that is not \
             known; give the whole text of ApplicationExitInfo.getTraceInputStream() or of /data/anr"
        } else if begin.starts_with("ANRSCOPE") {
            "it is a recording: `anrscope report` and `anrscope export` read it"
        } else if begin.starts_with("PK\u{3}\u{4}") {
            "it is a zip archive: give its file to `anrscope dump`, not its bytes through a pipe"
        } else {
            "give the text that Android wrote: /data/anr/*, ApplicationExitInfo.getTraceInputStream(), or a part of it with a \
             thread's first line"
        }
    }

    pub(super) fn finish(mut self) -> Dump {
        let last_open = self.in_section;
        self.end_section(false);
        self.end_stacks();
        if let Some(section) = self.dump.sections.last().filter(|s| last_open && s.time.is_some() && !s.ended)
        {
            let warning = format!("line {}: the text ends within {}", self.number, section.title());
            self.warn(warning);
        }
        let missing = |section: &Section| {
            let attached = section.threads.iter().filter(|thread| thread.attached).count();
            let declared = section.declared_threads.filter(|&n| n as usize != attached)?;
            let (line, title) = (section.line, section.title());
            Some(format!("line {line}: {title} says that it lists {declared} threads; {attached} are there"))
        };
        let missing: Vec<_> = self.dump.sections.iter().filter_map(missing).take(limits::REMARKS).collect();
        missing.into_iter().for_each(|warning| self.warn(warning));
        if self.log.dropped > 0 {
            self.warn(format!("{} events of the log were left out", self.log.dropped));
        }
        let (dropped, most) = (self.dropped, limits::MEMORY);
        if dropped > 0 {
            self.warn(format!("more than {most} bytes of threads: {dropped} lines were left out"));
        }
        self.dump.events = std::mem::take(&mut self.log.events);
        self.dump.anr_reports = std::mem::take(&mut self.reports.reports);
        if self.dump.subject.is_none() {
            let last = self.dump.anr_reports.last();
            self.dump.subject = last.and_then(|report| report.reason.clone());
        }
        self.missing();
        self.no_frames();
        self.dump
    }

    /// Warns if the stacks of the process that did not respond are missing.
    fn missing(&mut self) {
        let Some(anr_process) = self.dump.anr_process() else { return };
        if self.dump.answer().is_none() {
            let why = if self.dump.channels_of(&anr_process).next().is_some() {
                "the system could not dump it, and only where its threads wait in the kernel is here"
            } else if self.dump.sections.is_empty() {
                "take them from /data/anr or from `adb bugreport`"
            } else {
                "the stacks here are those of other processes"
            };
            let whose = anr_process.title();
            self.warn(format!("the stacks of {whose}, which did not respond, are not in this text: {why}"));
        }
    }

    /// Warns if there are threads but no stacks.
    fn no_frames(&mut self) {
        let threads = || self.dump.sections.iter().flat_map(|section| &section.threads);
        let is_bare = |thread: &Thread| thread.frames.is_empty() && thread.remarks.is_empty();
        // A truncated text has its own warning.
        if self.dump.warnings.is_empty() && threads().next().is_some() && threads().all(is_bare) {
            let warning = "no thread has a stack: the frames are missing, or in a form that is not known";
            self.warn(warning.to_owned());
        }
    }
}
