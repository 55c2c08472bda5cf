//! Begin and end of the main thread's Looper messages.
//!
//! The order at both bounds is the same on every API level: first the record, then the rules of
//! `monitors::looper::messages`, then the timer. So a slice that is taken because of a rule contains both
//! bounds.

use trace_format::event::{Event, Message, TextId};
use trace_rules::looper::Tag;

use crate::main_thread::message_source;
use crate::main_thread::message_watch::{watch, watch_nothing};
use crate::monitors::frames;
use crate::monitors::looper::messages;
use crate::recorder::Recorder;
use crate::sigquit::sensing;
use crate::time;
use crate::writing::thread;

/// Records the start of a message on the calling thread. On main the message is watched from now on. A
/// message that begins inside another one belongs to a nested loop.
#[inline]
pub fn message_begin(message: &Message) {
    begin(message, 0);
}

/// Records the end of the calling thread's innermost message.
#[inline]
pub fn message_end() {
    end(None, 0);
}

/// Records the start of a message. `stack` is the address of anything on the stack of the reporting call, 0
/// if unknown. It distinguishes a nested loop from a message whose end was lost
/// ([`trace_rules::looper::Pairing`]).
#[inline]
pub(crate) fn begin(message: &Message, stack: usize) {
    let Some(recorder) = Recorder::active() else { return };
    let event = Event::MessageBegin(*message).encode();
    let begun = thread::with_writer(recorder, |thread| {
        let Some(lost) = messages::with(thread, |main| main.lost_at(stack)) else {
            thread.put(&event);
            return None;
        };
        for _ in 0..lost {
            thread.put(&Event::MessageEnd.encode());
        }
        let mark = crate::mark_here();
        let now = thread.put(&event)?;
        let tag = Tag { target: message.target.0, callback: message.callback.0, what: message.what };
        let begun = messages::with(thread, |main| main.begin(now, tag, stack, mark))?;
        Some((now, begun.nested))
    });
    if let Some((now, nested)) = begun.flatten() {
        watch(recorder, now);
        frames::message_begin(nested);
    }
}

/// Begins a unit of work on main that is not a message: an input event, an idle handler. From here on it is
/// treated as a message. Returns whether it began: a unit does not begin while a message or another unit is
/// open, which it is then a part of, nor where main's outermost calls stand for its messages.
pub(crate) fn begin_unit(target: TextId, callback: TextId, stack: usize) -> bool {
    let Some(recorder) = Recorder::active() else { return false };
    let is_open = || thread::with_writer(recorder, |thread| messages::with(thread, |main| main.open() > 0));
    if !message_source::takes_units() || is_open() != Some(Some(false)) {
        return false;
    }
    begin(&Message { target, callback, what: 0, handler: Message::NOT_QUEUED, ..Message::default() }, stack);
    // Not while recording is paused.
    if is_open() != Some(Some(true)) {
        return false;
    }
    let tag = Tag { target: target.0, callback: callback.0, what: 0 };
    let noted = thread::with_writer(recorder, |thread| messages::with(thread, |main| main.unit_began(tag)));
    noted.flatten().is_some()
}

/// Ends the unit, and with it what lost its end inside it. `stack` as for [`begin_unit`].
pub(crate) fn end_unit(stack: usize) {
    let Some(recorder) = Recorder::active() else { return };
    let open = thread::with_writer(recorder, |thread| messages::with(thread, |main| main.unit_ends()));
    if let Some(Some(Some(tag))) = open {
        end(Some(tag), stack);
    }
}

/// Records the end of the message that `tag` and `stack` (as for [`begin`]) identify, without them of the
/// innermost. An end that fits no open message on main is ignored while another message is open: in the
/// record it would end that one.
#[inline]
pub(crate) fn end(tag: Option<Tag>, stack: usize) {
    let Some(recorder) = Recorder::active() else { return };
    let found = thread::with_writer(recorder, |thread| {
        let found = messages::with(thread, |main| (main.ends(tag, stack), main.open()));
        if found.is_none() {
            thread.put(&Event::MessageEnd.encode());
        }
        found
    });
    let Some((nested, open)) = found.flatten() else { return };
    if let Some(nested) = nested {
        // A frame ends before its message.
        frames::message_end(nested);
    }
    let ended = thread::with_writer(recorder, |thread| {
        let mut now = None;
        // Messages inside it whose ends were lost end with it.
        let ends = match nested {
            Some(nested) => open - usize::from(nested),
            // Its begin is in the record too, or the record has no begin that this could end.
            None => usize::from(open == 0 || messages::with(thread, |main| main.is_beyond()) == Some(true)),
        };
        for _ in 0..ends {
            now = thread.put(&Event::MessageEnd.encode());
        }
        // While recording is paused nothing is written, but what is open still ends.
        let now = now.unwrap_or_else(time::now);
        let still_open = messages::with(thread, |main| match nested {
            Some(nested) => Some(main.end(now, nested)),
            None => {
                main.unmatched_end(now, tag);
                // Without a begin: recording began in between.
                (open == 0).then_some(0)
            }
        });
        Some((now, still_open.flatten()?))
    });
    let Some((now, open)) = ended.flatten() else { return };
    // A nested loop that continues shows that the message around it is not stalled: its time starts anew.
    if open > 0 {
        watch(recorder, now)
    } else {
        watch_nothing(recorder)
    }
    sensing::check_displaced(now);
}
