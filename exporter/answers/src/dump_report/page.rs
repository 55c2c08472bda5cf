//! A dump as a page: first what main does, or in a JVM the thread that hangs, which thread it waits for, and deadlocks; then
//! the rest.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use super::doing;
use super::fold::fold;
use super::why;
use crate::answer::Answer;
use crate::dump::channels::Channels;
use crate::dump::frame::Frame;
use crate::dump::graph::{Edge, LockGraph};
use crate::dump::model::{Dump, Section, SectionKind, Thread};
use crate::dump::state;
use crate::dump::subject::Subject;

/// Maximum number of frames for the thread that the answer is about and for lock owners, and for other threads, unless all
/// are requested.
const MAX_ASKED_FRAMES: usize = 24;
const MAX_OTHER_FRAMES: usize = 4;
/// Maximum number of threads listed for which several others wait.
const MAX_AWAITED: usize = 32;
/// Maximum number of thread names per stack.
const MAX_NAMES: usize = 6;

/// What the page includes.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Include all processes, threads and frames, without grouping.
    pub all: bool,
    /// Include only threads with this text in their names.
    pub thread: Option<String>,
}

impl Dump {
    /// Writes the page. Control characters in the text are written as `\u{fffd}`.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write_page(&self, out: &mut dyn Write, options: &PageOptions) -> fmt::Result {
        let mut page = Page { out, dump: self, channels: Channels::of(self), options };
        if options.thread.is_some() { page.chosen() } else { page.whole() }
    }

    /// The lines of the page about deadlocks: for each, how many threads, and who waits for whom. Empty without deadlocks.
    #[must_use]
    pub fn deadlock_lines(&self) -> Vec<String> {
        let (mut text, options) = (String::new(), PageOptions::default());
        let mut page = Page { out: &mut text, dump: self, channels: Channels::of(self), options: &options };
        for section in &self.sections {
            // A text takes all of it.
            let _ = page.deadlocks(&View::of(section));
        }
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

/// A process with its lookup tables.
struct View<'a> {
    section: &'a Section,
    graph: LockGraph,
    by_tid: HashMap<u32, &'a Thread>,
}

impl<'a> View<'a> {
    fn of(section: &'a Section) -> Self {
        // Of two threads with one id the first counts, as in `Section::thread`.
        let threads = section.threads.iter().rev();
        let by_tid = threads.filter_map(|thread| Some((thread.tid?, thread))).collect();
        Self { section, graph: LockGraph::from(section), by_tid }
    }

    fn name(&self, tid: u32) -> String {
        self.by_tid.get(&tid).map_or(format!("thread {tid}"), |thread| thread.title())
    }
}

pub(super) struct Page<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) dump: &'a Dump,
    channels: Channels<'a>,
    pub(super) options: &'a PageOptions,
}

impl Page<'_> {
    /// Writes a line; a leading line feed writes an empty line first.
    pub(super) fn line(&mut self, text: &str) -> fmt::Result {
        let text = match text.strip_prefix('\n') {
            Some(rest) => {
                self.out.write_char('\n')?;
                rest
            }
            None => text,
        };
        for c in text.trim_end().chars() {
            self.out.write_char(if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })?;
        }
        self.out.write_char('\n')
    }

    fn whole(&mut self) -> fmt::Result {
        let dump = self.dump;
        let of_report = |subject: &&Subject| {
            dump.anr_reports.iter().all(|report| report.reason.as_ref() != Some(*subject))
        };
        if let Some(subject) = dump.subject.as_ref().filter(of_report) {
            self.line(&format!("Subject: {}", subject.text))?;
            self.out.write_char('\n')?;
        }
        self.reports()?;
        self.answer()?;
        let answer = dump.answer();
        if let Some(section) = answer {
            self.section(section)?;
        } else {
            self.no_stacks()?;
        }
        let is_answer = |section: &Section| answer.is_some_and(|answer| std::ptr::eq(answer, section));
        let others = dump.sections.iter().filter(|s| s.kind == SectionKind::Threads && !is_answer(s));
        let others: Vec<&Section> = others.collect();
        if self.options.all {
            for section in others {
                self.out.write_char('\n')?;
                self.section(section)?;
            }
        } else if !others.is_empty() {
            self.line(&format!("\nOTHER PROCESSES ({}; --all for their threads)", others.len()))?;
            for section in others {
                self.one_line(section)?;
            }
        }
        self.facts(&dump.facts, "OF THE SYSTEM")?;
        self.events()
    }

    /// Writes what hung and why, in a few lines.
    fn answer(&mut self) -> fmt::Result {
        let dump = self.dump;
        if dump.sections.iter().all(|section| section.threads.is_empty()) {
            return Ok(());
        }
        let answer = Answer::from(dump);
        self.line(&answer.headline())?;
        let mut lines = answer.lines();
        let after = lines.iter().position(|(label, _)| *label == "Finding").map_or(0, |at| at + 1);
        lines.splice(after..after, why::lines(dump));
        for (label, text) in lines {
            self.line(&format!("  {label:<11} {text}"))?;
        }
        self.out.write_char('\n')
    }

    /// Writes only the selected threads.
    fn chosen(&mut self) -> fmt::Result {
        let wanted = self.options.thread.as_deref().unwrap_or_default();
        for section in &self.dump.sections {
            let view = View::of(section);
            let threads = section
                .threads
                .iter()
                .filter(|t| t.name.as_deref().is_some_and(|name| name.contains(wanted)));
            for (number, thread) in threads.enumerate() {
                if number == 0 {
                    self.line(&section.title())?;
                }
                self.thread(section, thread, usize::MAX)?;
                self.chain(&view, thread)?;
            }
        }
        Ok(())
    }

    fn section(&mut self, section: &Section) -> fmt::Result {
        let view = View::of(section);
        let time = section.time.as_deref().map(|time| format!(", {time}")).unwrap_or_default();
        self.line(&format!("{}{time}: {} threads", section.title(), section.threads.len()))?;
        self.out.write_char('\n')?;
        let asked = section.asked();
        if let Some(asked) = asked {
            let is_main = section.main().is_some_and(|main| std::ptr::eq(main, asked));
            self.out.write_str(if is_main { "MAIN " } else { "THREAD " })?;
            self.thread(section, asked, MAX_ASKED_FRAMES)?;
            self.chain(&view, asked)?;
        } else {
            self.line("MAIN is not in this text")?;
        }
        self.deadlocks(&view)?;
        self.other_waits(&view)?;
        self.long_methods(section)?;
        let mut on_chain: HashSet<u32> = HashSet::new();
        if let Some(tid) = asked.and_then(|asked| asked.tid) {
            on_chain.extend(view.graph.chain(tid, LockGraph::MAX_CHAIN).iter().map(|edge| edge.to));
        }
        let listed = |t: &Thread| {
            t.tid.is_some_and(|tid| on_chain.contains(&tid))
                || asked.is_some_and(|asked| std::ptr::eq(asked, t))
        };
        let others = section.threads.iter().filter(|thread| !listed(thread));
        if self.options.all {
            for thread in others {
                self.out.write_char('\n')?;
                self.thread(section, thread, usize::MAX)?;
            }
        } else {
            self.groups(section, others)?;
        }
        self.facts(&section.facts, "HEAD")
    }

    /// Writes threads with the same stack on one line, and the top of that stack.
    fn groups<'t>(&mut self, section: &Section, threads: impl Iterator<Item = &'t Thread>) -> fmt::Result {
        let groups = fold(threads);
        if groups.is_empty() {
            return Ok(());
        }
        self.line("\nOTHER THREADS, grouped by stack (--all for full stacks)")?;
        for group in groups {
            let Some(first) = group.first() else { continue };
            let doing = doing::words(first, self.channels.get(section, first));
            let mut names: Vec<&str> =
                group.iter().take(MAX_NAMES).map(|t| t.name.as_deref().unwrap_or("?")).collect();
            let more = format!("and {} more", group.len().saturating_sub(MAX_NAMES));
            if group.len() > MAX_NAMES {
                names.push(&more);
            }
            self.line(&format!("{:>4} {}, {doing}: {}", group.len(), state::name(first), names.join(", ")))?;
            self.frames(first, MAX_OTHER_FRAMES, "       ")?;
        }
        Ok(())
    }

    /// Says what a thread does, after its name: `is Blocked: it waits for a lock`.
    fn doing(&self, section: &Section, thread: &Thread) -> String {
        let words = doing::words(thread, self.channels.get(section, thread));
        format!("is {}: it {words}", state::name(thread))
    }

    fn thread(&mut self, section: &Section, thread: &Thread, frames: usize) -> fmt::Result {
        self.line(&format!("{} {}", thread.title(), self.doing(section, thread)))?;
        let mut times = Vec::new();
        let hz = u64::from(thread.hz.unwrap_or(100).max(1));
        if let (Some(utm), Some(stm)) = (thread.utm, thread.stm) {
            let seconds = |ticks: u64| ticks as f64 / hz as f64;
            times.push(format!("CPU time {:.2} s user, {:.2} s kernel", seconds(utm), seconds(stm)));
        }
        if let (Some(cpu), Some(elapsed)) = (thread.cpu_ns, thread.elapsed_ns) {
            times.push(format!("CPU time {:.2} s in {:.2} s", cpu as f64 / 1e9, elapsed as f64 / 1e9));
        }
        if let Some([_, ready, _]) = thread.schedstat.filter(|stat| stat[1] > 0) {
            times.push(format!("{:.2} s runnable", ready as f64 / 1e9));
        }
        if let Some(channel) = self.channels.get(section, thread) {
            times.push(format!("in the kernel at {channel}"));
        }
        if !times.is_empty() {
            self.line(&format!("    {}", times.join("; ")))?;
        }
        for held in &thread.held_mutexes {
            self.line(&format!("    holds ART's {held}"))?;
        }
        self.frames(thread, frames, "    ")?;
        for remark in &thread.remarks {
            self.line(&format!("    ({remark})"))?;
        }
        Ok(())
    }

    fn frames(&mut self, thread: &Thread, max: usize, margin: &str) -> fmt::Result {
        let max = if self.options.all { usize::MAX } else { max };
        // Native frames below a Java method are less useful than the place in Java.
        let is_java = |frame: &Frame| matches!(frame, Frame::Java(_));
        let java = thread.frames.iter().position(is_java);
        let skip = match java {
            Some(java) if max != usize::MAX && java > max / 2 => java,
            _ => 0,
        };
        if skip > 0 {
            self.line(&format!("{margin}{}", thread.frames[0]))?;
            self.line(&format!("{margin}... {} more native and kernel frames", skip - 1))?;
        }
        for (index, frame) in thread.frames.iter().enumerate().skip(skip).take(max) {
            let note = match frame {
                Frame::Java(java) if java.inlined => "  [inlined]",
                Frame::Native(native) if native.inlined => "  [inlined]",
                Frame::Java(java) if java.synthesized => "  [compiler-generated]",
                _ => "",
            };
            self.line(&format!("{margin}{frame}{note}"))?;
            if let Frame::Java(java) = frame {
                for or in &java.or {
                    self.line(&format!("{margin}   or {or}"))?;
                }
                if java.repeated > 0 {
                    self.line(&format!("{margin}... repeated {} times", java.repeated))?;
                }
            }
            for lock in thread.locks.iter().filter(|lock| lock.frame == Some(index) && max > MAX_OTHER_FRAMES)
            {
                self.line(&format!("{margin}{lock}"))?;
            }
        }
        let left = (thread.frames.len() - skip).saturating_sub(max) as u64 + thread.cut_frames;
        if left > 0 {
            self.line(&format!("{margin}... {left} more frames"))?;
        }
        Ok(())
    }

    /// Writes the chain of owners that a thread waits for.
    fn chain(&mut self, view: &View<'_>, thread: &Thread) -> fmt::Result {
        let Some(tid) = thread.tid else { return Ok(()) };
        let chain = view.graph.chain(tid, LockGraph::MAX_CHAIN + 1);
        let mut passed = HashSet::from([tid]);
        for edge in chain.iter().take(LockGraph::MAX_CHAIN) {
            let (lock, to) = (lock_name(edge), edge.to);
            let how = if edge.inferred { ", as inferred from its \"locked\" line," } else { "" };
            let Some(owner) = view.by_tid.get(&to) else {
                let text =
                    format!("\nThe lock of {lock} is owned{how} by thread {to}, which is not in this text");
                return self.line(&text);
            };
            self.line(&format!("\nThe lock of {lock} is owned{how} by"))?;
            if !passed.insert(to) {
                return self.line(&format!("{}: a deadlock", owner.title()));
            }
            self.thread(view.section, owner, MAX_ASKED_FRAMES)?;
        }
        if chain.len() > LockGraph::MAX_CHAIN {
            self.line("\n... and more threads (see --json)")?;
        }
        Ok(())
    }

    fn deadlocks(&mut self, view: &View<'_>) -> fmt::Result {
        let sure = view.graph.deadlocks.iter().map(|cycle| ("DEADLOCK", cycle));
        let possible = view.graph.possible_deadlocks.iter();
        let possible = possible.map(|cycle| ("POSSIBLE DEADLOCK (an owner is inferred)", cycle));
        for (title, cycle) in sure.chain(possible) {
            self.line(&format!("\n{title} of {} threads", cycle.len()))?;
            for edge in cycle.iter().take(LockGraph::MAX_CHAIN).filter_map(|&tid| view.graph.edge_from(tid)) {
                let (from, to) = (view.name(edge.from), view.name(edge.to));
                self.line(&format!("  {from} waits for {}, owned by {to}", lock_name(edge)))?;
            }
            if cycle.len() > LockGraph::MAX_CHAIN {
                self.line(&format!("  ... {} more", cycle.len() - LockGraph::MAX_CHAIN))?;
            }
        }
        Ok(())
    }

    /// Writes owners for which several threads wait.
    fn other_waits(&mut self, view: &View<'_>) -> fmt::Result {
        let mut waits: HashMap<u32, usize> = HashMap::new();
        for edge in &view.graph.edges {
            *waits.entry(edge.to).or_default() += 1;
        }
        let mut waits: Vec<(u32, usize)> = waits.into_iter().filter(|(_, count)| *count > 1).collect();
        waits.sort_by_key(|(to, count)| (std::cmp::Reverse(*count), *to));
        for (to, count) in waits.into_iter().take(MAX_AWAITED) {
            self.line(&format!("\n{count} threads wait for {}", view.name(to)))?;
        }
        Ok(())
    }

    fn long_methods(&mut self, section: &Section) -> fmt::Result {
        let Some(long) = &section.long_methods else { return Ok(()) };
        self.line(&format!("\nLONG RUNNING METHODS, recorded by ART ({})", long.runs.len()))?;
        let max = if self.options.all { usize::MAX } else { MAX_ASKED_FRAMES };
        for run in long.runs.iter().take(max) {
            let took = match run.end_us {
                Some(end) => format!("{:.1} ms", end.saturating_sub(run.begin_us) as f64 / 1e3),
                None => "still running".to_owned(),
            };
            let thread = run.thread.as_deref().unwrap_or("a thread");
            let margin = "  ".repeat(run.depth.min(40) as usize);
            self.line(&format!("  {thread} {}: {margin}{} ({took})", run.sys_tid, run.method))?;
        }
        if long.runs.len() > max {
            self.line(&format!("  ... {} more", long.runs.len() - max))?;
        }
        Ok(())
    }

    fn one_line(&mut self, section: &Section) -> fmt::Result {
        let view = View::of(section);
        let main = match section.main() {
            Some(main) => format!("main {}", self.doing(section, main)),
            None => "no main thread".to_owned(),
        };
        self.line(&format!("  {}: {} threads; {main}", section.title(), section.threads.len()))?;
        self.deadlocks(&view)
    }
}

fn lock_name(edge: &Edge) -> String {
    let class = edge.class.as_deref().unwrap_or("an object");
    edge.address.map_or(class.to_owned(), |address| format!("{class} (0x{address:08x})"))
}
