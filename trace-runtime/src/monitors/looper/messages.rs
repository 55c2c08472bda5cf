//! Main's messages: pairing, history, density, and which one is open. Main writes; other threads read
//! atomics.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use trace_format::android::IDLE_HANDLER;
use trace_format::time::MS;
use trace_rules::looper::{Begun, DENSITY, Density, Ended, HISTORY, History, MAX_NESTED, Messages, Tag};
use trace_rules::report::StackStyle;

use crate::main_thread::main_at::MainAt;
use crate::main_thread::message_source;
use crate::main_thread::{message_watch, poll};
use crate::memory::mark::Mark;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::looper::open_message::{Open, OpenWords};
use crate::monitors::looper::{outermost, slow_messages, tuning, unknown};
use crate::monitors::matrix_04;
use crate::monitors::stacks::{java_stack, samples};
use crate::recorder::{self, Recorder};
use crate::writing::thread::{ThreadWriter, gettid};

static MAIN: MainCell = MainCell(UnsafeCell::new(None));
static SHARED: OnceLock<Arc<History>> = OnceLock::new();
static OPEN: OpenWords = OpenWords::new();
/// How many units of work that are not messages began ([`Main::unit_began`]).
static UNITS: AtomicU64 = AtomicU64::new(0);

/// Targets of units that are not messages; they are not classes of handlers. The first dispatches input
/// (AOSP InputEventReceiver.java), the second is the interface of idle handlers.
const NOT_QUEUED: [&str; 2] = ["android.view.InputEventReceiver", IDLE_HANDLER];

/// Starts reporting messages: slow ones, LAGs, ANRs.
pub(crate) fn start() {
    message_source::set_reported(true);
    outermost::between_messages();
    options_changed();
}

/// Stops reporting; messages are only recorded from now on.
pub(crate) fn stop() {
    message_source::set_reported(false);
    outermost::end();
}

/// Applies changed options that are stored elsewhere. Any thread.
pub(crate) fn options_changed() {
    if message_source::is_reported() {
        message_watch::limits_changed();
    }
}

/// The last `count` messages and the open ones, one per line: `{target callback: what -> ms}` as in
/// Matrix's history. Not on a hot path.
pub(crate) fn history(count: usize, now_ns: u64) -> String {
    let mut out = String::new();
    let mut line = |what: &str, took_ms: u64, open: bool| {
        for part in ["{", what, " -> ", &took_ms.to_string(), if open { " open}\n" } else { "}\n" }] {
            out.push_str(part);
        }
    };
    if message_source::is_by_calls() {
        let (last, is_open) = outermost::last(count, now_ns);
        for (n, outer) in last.iter().enumerate() {
            line(&outermost::text(outer), outer.took_ns / MS, is_open && n + 1 == last.len());
        }
    } else if let Some(history) = SHARED.get() {
        for entry in history.last(count, now_ns) {
            line(&tag_text(&entry.tag), u64::from(entry.took_us / 1_000), entry.open);
        }
        if let Some((what, since_ns)) = between().filter(|_| count > 0) {
            line(&what, now_ns.saturating_sub(since_ns) / 1_000_000, true);
        }
    }
    out
}

/// How many messages the Looper has reported.
pub(crate) fn reported() -> u64 {
    SHARED.get().map_or(0, |history| history.begun().saturating_sub(UNITS.load(Ordering::Relaxed)))
}

/// The innermost open message as `target callback: what`; empty if no message is open.
pub(crate) fn open_text(now_ns: u64) -> String {
    if message_source::is_by_calls() {
        let (last, is_open) = outermost::last(1, now_ns);
        return last.last().filter(|_| is_open).map(outermost::text).unwrap_or_default();
    }
    let last = SHARED.get().and_then(|history| history.last(MAX_NESTED, now_ns).pop());
    let message = last.filter(|entry| entry.open).map(|entry| tag_text(&entry.tag));
    message.or_else(|| between().map(|(what, _)| what)).unwrap_or_default()
}

/// What main is doing outside of messages, and since when. Not on main.
fn between() -> Option<(String, u64)> {
    if OPEN.load().is_some() || is_main() {
        return None;
    }
    let call = outermost::open_call().map(|call| (outermost::text(&call), call.begun_ns));
    call.or_else(|| unknown::open().map(|open| (unknown::NAME.to_owned(), open.since_ns)))
}

/// Whether the caller is main. Main does not wait while a ring is read.
fn is_main() -> bool {
    Recorder::active().is_none_or(|recorder| gettid() == recorder.main_tid)
}

fn tag_text(tag: &Tag) -> String {
    let text = |id| recorder::text_of(id).unwrap_or_default();
    let mut out = text(tag.target);
    if NOT_QUEUED.contains(&&*out) {
        return [&*out, ": ", &text(tag.callback)].concat();
    }
    if tag.callback != 0 {
        out.push(' ');
        out.push_str(&text(tag.callback));
    }
    out.push_str(": ");
    out.push_str(&tag.what.to_string());
    out
}

/// How busy main was; zero before its first message.
pub(crate) fn density(now_ns: u64) -> Density {
    SHARED.get().map_or_else(Density::default, |history| history.density(now_ns))
}

/// Resets the density.
pub(crate) fn clear_density() {
    if let Some(history) = SHARED.get() {
        history.clear_density();
    }
}

/// The message that main is in: when it began (for a message around a nested loop that continues, when that
/// loop's last message ended), and the mark before it in main's record. Outside of messages: the open call
/// that stands for one, or the work that main's stack has shown. Not on main.
pub(crate) fn open() -> Option<Open> {
    OPEN.load().or_else(outermost::open).or_else(unknown::open)
}

/// What main is doing at `at_ns`, which is about now. Main counts as idle only if it is in no message, has
/// no call open, and waits in its poll according to the kernel. Not on main.
pub(crate) fn main_at(recorder: &Recorder, at_ns: u64) -> MainAt {
    let since = || recorder.message_since.load(Ordering::Relaxed);
    if since() == 0 && message_source::is_reported() {
        // A call may have begun since the last poll.
        outermost::poll();
        if since() == 0 && poll::is_polling(recorder.main_tid) == Some(false) {
            return MainAt { stuck_since: 0, running_ms: None };
        }
    }
    MainAt::new(since(), at_ns)
}

/// State that only main accesses.
pub(crate) struct Main {
    messages: Messages,
    /// The mark before each open message.
    marks: [Option<Mark>; MAX_NESTED],
    /// The last unit of work that is not a message. While it is open it is the outermost: no unit begins
    /// inside another unit or a message.
    unit: Option<Tag>,
}

struct MainCell(UnsafeCell<Option<Main>>);
// SAFETY: only `with` accesses it, and only with main's writer at hand, of which there is one, on main.
unsafe impl Sync for MainCell {}

/// Calls `f` if `thread` is main's writer.
#[inline]
pub(crate) fn with<R>(thread: &mut ThreadWriter, f: impl FnOnce(&mut Main) -> R) -> Option<R> {
    if !thread.is_main() {
        return None;
    }
    // SAFETY: `thread` is the only reference to main's writer, so this is main. Nothing else holds a
    // reference: `f` receives no writer, and every caller needs one.
    let main = unsafe { &mut *MAIN.0.get() };
    Some(f(main.get_or_insert_with(Main::new)))
}

impl Main {
    /// Allocates everything at the first message, and nothing afterwards.
    #[cold]
    fn new() -> Self {
        let messages = Messages::new(if is_enabled(Setting::Density) { DENSITY } else { HISTORY });
        // Main's state is created once.
        let _ = SHARED.set(messages.history.clone());
        Self::of(messages)
    }

    fn of(messages: Messages) -> Self {
        Main { messages, marks: [None; MAX_NESTED], unit: None }
    }

    /// How many open messages have ended, given a begin at this address of the stack.
    #[inline]
    pub(crate) fn lost_at(&mut self, stack: usize) -> u8 {
        self.messages.pairing().lost_at(stack)
    }

    /// Notes that a message began; its begin is in the record, after `mark`.
    #[inline]
    pub(crate) fn begin(&mut self, at_ns: u64, tag: Tag, stack: usize, mark: Option<Mark>) -> Begun {
        let begun = self.messages.begin(at_ns, tag, stack);
        if let Some(place) = self.marks.get_mut(usize::from(begun.nested)) {
            *place = mark;
            OPEN.store(at_ns, mark);
        }
        begun
    }

    /// Notes that what just began is a unit of work, not a message.
    pub(crate) fn unit_began(&mut self, tag: Tag) {
        self.unit = Some(tag);
        UNITS.store(UNITS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The unit that ends now; `None` if it has ended already.
    pub(crate) fn unit_ends(&mut self) -> Option<Tag> {
        self.unit.take().filter(|tag| self.ends(Some(*tag), 0) == Some(0))
    }

    /// How many messages are open.
    #[inline]
    pub(crate) fn open(&mut self) -> usize {
        self.messages.pairing().open()
    }

    /// Whether the next end belongs to a message nested deeper than is tracked.
    #[inline]
    pub(crate) fn is_beyond(&mut self) -> bool {
        self.messages.pairing().is_beyond()
    }

    /// How many messages are around the one that ends; `None` if the end fits no open one.
    #[inline]
    pub(crate) fn ends(&mut self, tag: Option<Tag>, stack: usize) -> Option<u8> {
        self.messages.pairing().fits(tag, stack)
    }

    /// Ends the message with that many around it; its end is in the record. Returns how many are still
    /// open.
    #[inline]
    pub(crate) fn end(&mut self, at_ns: u64, nested: u8) -> usize {
        if let Some(ended) = self.messages.end_of(at_ns, nested) {
            if let Some(cost_ms) = ended.slow_ms(number(Setting::SlowMs)) {
                self.slow(&ended, cost_ms);
            }
            if nested == 0 && message_source::is_reported() {
                matrix_04::message_ended(self.marks[0].as_ref(), ended.begun_ns, ended.ended_ns);
            }
        }
        let open = self.open();
        match open.checked_sub(1) {
            // A loop nested in it continues, so the message around it is not stalled. Its time starts anew.
            Some(around) => OPEN.store(at_ns, self.marks[around]),
            None => OPEN.store(0, None),
        }
        open
    }

    /// Notes an end that fits no open message: of a loop nested deeper than is tracked, or unknown.
    pub(crate) fn unmatched_end(&mut self, at_ns: u64, tag: Option<Tag>) {
        let none = self.messages.end(at_ns, tag);
        debug_assert!(none.is_none());
    }

    #[cold]
    fn slow(&self, ended: &Ended, cost_ms: u64) {
        if !message_source::is_reported() {
            return;
        }
        // What stalled main may also have changed its priority or timer slack.
        tuning::check(|| {
            java_stack::styled(&samples::newest(ended.begun_ns).unwrap_or_default(), StackStyle::Whole)
        });
        if is_enabled(Setting::Slow) {
            slow_messages::ended(
                ended,
                cost_ms,
                self.marks.get(usize::from(ended.nested)).copied().flatten(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::time::MS;

    fn tag(target: u32, callback: u32) -> Tag {
        Tag { target, callback, what: 7 }
    }

    #[test]
    fn an_end_is_matched_by_its_stack_address_and_else_by_its_tag() {
        const OUTER: usize = 1 << 20;
        const INNER: usize = 1 << 19;
        let mut main = Main::of(Messages::new(HISTORY));
        assert_eq!(main.ends(Some(tag(1, 2)), OUTER), None, "no message is open");
        main.begin(MS, tag(1, 2), OUTER, None);
        main.begin(2 * MS, tag(1, 2), INNER, None);
        assert_eq!(
            main.ends(Some(tag(1, 2)), OUTER),
            Some(0),
            "the inner one, of the same tag, lost its end"
        );
        assert_eq!(main.ends(Some(tag(1, 2)), INNER + 8), Some(1));
        assert_eq!(main.ends(Some(tag(1, 9)), INNER), Some(1), "its callback calls itself otherwise by now");
        assert_eq!(main.ends(Some(tag(1, 2)), 0), Some(1), "no place is known");
        assert_eq!(main.ends(Some(tag(5, 4)), 0), None, "it fits none");
        assert_eq!(main.ends(None, 0), Some(1));
        assert_eq!(main.end(3 * MS, 0), 0);
    }

    #[test]
    fn a_message_is_slow_from_700_ms_or_from_a_changed_limit() {
        let mut main = Main::of(Messages::new(HISTORY));
        let mut cost = |took_ns: u64, limit_ms| {
            main.begin(MS, tag(1, 0), 1 << 20, None);
            main.messages.end_of(MS + took_ns, 0).and_then(|ended| ended.slow_ms(limit_ms))
        };
        assert_eq!(cost(700 * MS - 1, 700), None, "699 ms");
        assert_eq!(cost(700 * MS, 700), Some(700));
        assert_eq!((cost(701 * MS - 1, 701), cost(701 * MS, 701)), (None, Some(701)));
    }

    #[test]
    fn a_begin_at_the_same_stack_address_ends_a_message_that_lost_its_end() {
        let mut main = Main::of(Messages::new(HISTORY));
        main.begin(MS, tag(1, 0), 1 << 20, None);
        assert_eq!((main.lost_at(1 << 20), main.lost_at(1 << 19), main.lost_at(0)), (1, 0, 0));
        let begun = main.begin(2 * MS, tag(2, 0), 1 << 20, None);
        assert_eq!((begun.nested, begun.lost), (0, 1));
        assert_eq!(main.end(3 * MS, 0), 0);
    }

    #[test]
    fn a_reader_of_the_open_message_never_sees_half_of_it() {
        let open = OpenWords::new();
        assert!(open.load().is_none());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for n in 1..300_000 {
                    open.store(n, Some(Mark::of_words([n, n])));
                    open.store(n, None);
                }
                open.store(0, None);
            });
            while !writer.is_finished() {
                if let Some(seen) = open.load() {
                    assert!(seen.mark.is_none_or(|mark| mark.words() == [seen.since_ns; 2]), "{seen:?}");
                }
            }
        });
        assert!(open.load().is_none());
    }
}
