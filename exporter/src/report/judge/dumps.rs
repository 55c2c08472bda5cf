//! The thread of a stretch in the dumps of that time.

use answers::answer::{Claims, FrameView, has_waited_anew, is_awake, is_ending, is_own, seen};
use answers::dump::{self, LockKind, LockLine, Section};
use trace_format::Thread;
use trace_format::event::{Wait, WaitKind};

use super::Judge;
use crate::model::owner;
use crate::report::stretches::{Sign, Stretch};
use crate::words::thread_name;

impl Judge<'_, '_> {
    /// The begin of a stretch or, if no wait of it was recorded, the last dump by which the thread ran meanwhile and waits anew:
    /// what waits in a loop may not be in the catalogue.
    pub(super) fn came_on_until(&self, thread: &Thread, stretch: &Stretch) -> u64 {
        let loops = stretch.sign == Sign::Still(None) && !(thread.main && stretch.calls[1].is_some());
        let mut since = stretch.since;
        let mut before: Option<(u64, &dump::Thread)> = None;
        let within = stretch.since..=stretch.last_dump();
        let dumps = self.claims.iter().filter(|(at, _)| loops && within.contains(at));
        for (at, dump) in dumps {
            let mut threads = dump.section.threads.iter();
            let is = threads.find(|dumped| dumped.name.as_deref() == thread.name.as_deref());
            if let (Some((was_at, was)), Some(is)) = (before, is)
                && has_waited_anew(was, is, at - was_at)
            {
                since = (*at).min(stretch.until);
            }
            before = is.map(|is| (*at, is)).or(before);
        }
        since
    }

    /// The thread in the last dump of that time that has all threads, or else in the last one: the longer nothing changes, the
    /// more is known.
    pub(super) fn dumped(&self, thread: &Thread, stretch: &Stretch) -> Option<(&Claims<'_>, &dump::Thread)> {
        let name = thread_name(thread);
        let until = stretch.last_dump();
        let within = |is_whole: bool| {
            let is_in = move |(at, _): &&(u64, Claims<'_>)| (stretch.since..=until).contains(at);
            let dumps = self.claims.iter().rev().filter(is_in);
            dumps.filter(move |(_, dump)| (dump.section.left_out == 0) == is_whole)
        };
        within(true).chain(within(false)).find_map(|(_, dump)| {
            // Of a thread that ends the process, or whose wait was over, the last dump shows no more than that.
            let waits = matches!(stretch.sign, Sign::Still(Some(_)));
            let is_over = |dumped: &dump::Thread| is_ending(dumped) || waits && is_awake(dumped);
            let mut threads = dump.section.threads.iter().filter(|dumped| !is_over(dumped));
            let dumped = threads.find(|dumped| dumped.name.as_deref() == Some(name.as_str()));
            Some((dump, dumped.or_else(|| self.renamed(dump.section, stretch))?))
        })
    }

    /// The thread of a dump that has got another name since its recording began: it is in the stretch's call, or enters its
    /// monitor.
    fn renamed<'s>(&self, section: &'s Section, stretch: &Stretch) -> Option<&'s dump::Thread> {
        let call = stretch.calls[0].map(|(method, _)| self.sources.names.method(method));
        let recorded = self.sources.facts.recording.threads();
        let is_new = |dumped: &&dump::Thread| {
            recorded.iter().all(|known| dumped.name.as_deref() != Some(thread_name(known).as_str()))
        };
        let enters = |dumped: &dump::Thread| match stretch.sign {
            Sign::Still(Some(Wait { kind: WaitKind::Monitor, lock, .. })) => {
                let is_it =
                    |line: &LockLine| line.kind == LockKind::WaitingToLock && line.address == Some(lock);
                dumped.locks.iter().any(is_it)
            }
            _ => false,
        };
        let is_it = |dumped: &&dump::Thread| {
            let is_in = |call: &str| seen(dumped).any(|frame| frame.is_call_of(call));
            call.as_deref().is_some_and(is_in) || enters(dumped)
        };
        section.threads.iter().filter(is_new).find(is_it)
    }

    /// True if a thread is in the program's own code, and not in a library's alone: idle workers of a server wait there for
    /// requests, in queues of its own.
    pub(super) fn is_in_program(
        &self,
        stretch: &Stretch,
        dumped: Option<(&Claims<'_>, &dump::Thread)>,
    ) -> bool {
        let main = dumped.and_then(|(dump, _)| outermost(dump.section.main()?));
        let named = &self.sources.facts.recording.header().process_name;
        let of_name = || Some(named.as_str()).filter(|name| !name.ends_with(".jar"));
        let Some(program) = main.or_else(of_name).map(owner) else { return true };
        match (dumped, stretch.calls[0]) {
            (Some((_, dumped)), _) => own_classes(dumped).any(|class| owner(class) == program),
            (None, Some((call, _))) => {
                let name = self.sources.names.method(call);
                name.rsplit_once('.').is_none_or(|(class, _)| owner(class) == program)
            }
            (None, None) => true,
        }
    }
}

/// The classes of the frames that are no JDK's, innermost first.
fn own_classes(thread: &dump::Thread) -> impl Iterator<Item = &str> {
    seen(thread).filter_map(|frame| match frame {
        FrameView::Java { class, .. } => Some(class).filter(|class| is_own(class)),
        _ => None,
    })
}

fn outermost(thread: &dump::Thread) -> Option<&str> {
    own_classes(thread).last()
}
