//! The native methods of `dev.anrscope.LooperMonitor` and `dev.anrscope.Units`.

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::{jboolean, jint, jlong, jstring};
use trace_format::event::{Message, TextId};
use trace_rules::looper::{Bound, Lines, Tag};

use crate::guard::disarm_on_panic;
use crate::jni::{answer, java_string, record_notice, string, text_id};
use crate::message_bounds;
use crate::monitors::config::redact;
use crate::monitors::frames;
use crate::monitors::looper::{messages, outermost};
use crate::recorder;
use crate::time::clock;

/// Starts reporting messages.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_watch(_: EnvUnowned, _: JClass) {
    disarm_on_panic(messages::start);
}

/// Stops reporting messages.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_unwatch(_: EnvUnowned, _: JClass) {
    disarm_on_panic(messages::stop);
}

/// Sets whether main's outermost calls stand for its messages, because no Printer reports these.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_outermost(_: EnvUnowned, _: JClass, on: jboolean) {
    disarm_on_panic(if on { outermost::start } else { outermost::stop });
}

/// Runs `act` with the address of its caller on the stack, which identifies the loop; `None` after a panic. Only the place of an
/// empty variable is in the caller's frame: with all of `act` inlined, one caller's frame may be larger than a nested loop is
/// deep, and the loop would seem to be the same.
#[inline(always)]
fn on_stack<T>(act: impl FnOnce(usize) -> T) -> Option<T> {
    #[inline(never)]
    fn apart<T>(stack: usize, act: impl FnOnce(usize) -> T) -> Option<T> {
        disarm_on_panic(|| act(stack))
    }
    let here = 0u8;
    apart(std::ptr::from_ref(&here) as usize, act)
}

/// How many messages were reported.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_reported(_: EnvUnowned, _: JClass) -> jlong {
    disarm_on_panic(messages::reported).unwrap_or(0) as jlong
}

/// Handles a line of the Looper's Printer. `known` is the previous result, 0 for the first line; `first` is
/// the line's first character, 0 for an empty line; the rest is the line's content. Returns 1 if lines are
/// understood, [`FOREIGN`] for good if they are not, [`FRAME`] if a frame's message begins, and
/// [`FRAME_CONTINUES`] if it continues the previous frame ([`frames::message_begins`]).
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_line(
    _: EnvUnowned,
    _: JClass,
    known: jint,
    first: jint,
    target: jint,
    callback: jint,
    what: jint,
    handler: jint,
    object: jint,
) -> jint {
    let mut lines = match known {
        0 => Lines::Unseen,
        1 | FRAME | FRAME_CONTINUES => Lines::Known,
        _ => return FOREIGN,
    };
    on_stack(|stack| {
        match lines.bound(first as u16) {
            Some(Bound::Begin) => {
                let (target, callback) = (TextId(target as u32), TextId(callback as u32));
                message_bounds::begin(
                    &Message {
                        target,
                        callback,
                        what,
                        handler: handler as u32,
                        due: 0,
                        object: object as u32,
                    },
                    stack,
                );
                match frames::message_begins(target.0, what) {
                    Some(false) => return FRAME,
                    Some(true) => return FRAME_CONTINUES,
                    None => {}
                }
            }
            Some(Bound::End) => {
                let tag = Tag { target: target as u32, callback: callback as u32, what: 0 };
                message_bounds::end(Some(tag), stack);
            }
            None => {}
        }
        if lines == Lines::Foreign {
            recorder::notice("the Looper's lines are not understood: messages are not recorded");
            return FOREIGN;
        }
        1
    })
    .unwrap_or(FOREIGN)
}

/// Lines are not understood. These values are in `LooperMonitor.java` too.
const FOREIGN: jint = 2;
/// A frame's message begins.
const FRAME: jint = 3;
/// A frame's message begins, which continues the previous frame.
const FRAME_CONTINUES: jint = 4;

/// The id of a text: a class name, or, with `said`, a callback's description of itself.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_text(
    env: EnvUnowned,
    _: JClass,
    text: JString,
    said: jboolean,
) -> jint {
    if !said {
        return text_id(&env, &text);
    }
    answer(|| string(&env, &text).map(|text| redact::text(&text).0 as jint))
}

/// Records a notice.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_notice(env: EnvUnowned, _: JClass, text: JString) {
    record_notice(&env, &text);
}

/// The last `count` messages and the open ones, one per line.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_history(
    env: EnvUnowned,
    _: JClass,
    count: jint,
) -> jstring {
    let text = disarm_on_panic(|| messages::history(usize::try_from(count).unwrap_or(0), clock::boottime()));
    java_string(&env, &text.unwrap_or_default())
}

/// The density since it was last reset: 0 how many messages began, 1 how long they took, ms, 2 the time
/// span, ms; other values reset it.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_density(_: EnvUnowned, _: JClass, what: jint) -> jlong {
    let value = disarm_on_panic(|| {
        let density = messages::density(clock::boottime());
        match what {
            0 => density.messages,
            1 => density.busy_ns / 1_000_000,
            2 => density.span_ns / 1_000_000,
            _ => {
                messages::clear_density();
                0
            }
        }
    });
    value.unwrap_or(0) as jlong
}

/// The text id of a unit of work that is not a message.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Units_text(env: EnvUnowned, _: JClass, name: JString) -> jint {
    text_id(&env, &name)
}

/// Begins a unit of work that is not a message, unless a unit or message is open, and returns whether it
/// began. With 0 and 0 it ends the unit. Begin and end share one function so that both have the same
/// address on the stack.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Units_unit(
    _: EnvUnowned,
    _: JClass,
    target: jint,
    callback: jint,
) -> jboolean {
    on_stack(|stack| {
        if target == 0 && callback == 0 {
            message_bounds::end_unit(stack);
            return false;
        }
        message_bounds::begin_unit(TextId(target as u32), TextId(callback as u32), stack)
    })
    .unwrap_or(false)
}
