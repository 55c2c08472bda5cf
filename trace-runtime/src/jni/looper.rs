//! What `dev.anrscope.LooperMonitor` calls.

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::{jboolean, jint, jlong, jstring};
use trace_format::event::{Message, TextId};
use trace_rules::looper::{Bound, Lines, Tag};

use crate::guard::disarm_on_panic;
use crate::jni::{java_string, record_notice, string, text_id};
use crate::message_bounds;
use crate::monitors::config::redact;
use crate::monitors::frames;
use crate::monitors::looper::{messages, outermost};
use crate::recorder;
use crate::time::clock;

/// Messages are reported from now on.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_watch(_: EnvUnowned<'_>, _: JClass<'_>) {
    disarm_on_panic(messages::start);
}

/// They are not any more.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_unwatch(_: EnvUnowned<'_>, _: JClass<'_>) {
    disarm_on_panic(messages::stop);
}

/// Nobody tells of messages: main's outermost calls stand for them; or somebody does again.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_outermost(_: EnvUnowned<'_>, _: JClass<'_>, on: jboolean) {
    disarm_on_panic(if on { outermost::start } else { outermost::stop });
}

/// How many messages were told of.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_told(_: EnvUnowned<'_>, _: JClass<'_>) -> jlong {
    disarm_on_panic(messages::reported).unwrap_or(0) as jlong
}

/// A line of the Looper's. `known` is what this gave for the line before, 0 for the first; `first` the line's first character, 0
/// of an empty one; the rest is what the line says. Gives 1 where lines are understood, 2 where they are not, for good, and where
/// they are and a frame's message begins 3, or 4 if it goes on with the frame before ([`frames::begin_of_message`]).
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_line(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    known: jint,
    first: jint,
    target: jint,
    callback: jint,
    what: jint,
    handler: jint,
) -> jint {
    // Where this is on the stack tells the loop.
    let here = 0u8;
    let stack = std::ptr::from_ref(&here) as usize;
    let mut lines = match known {
        0 => Lines::Unseen,
        1 | FRAME | FRAME_ASKED => Lines::Known,
        _ => return FOREIGN,
    };
    disarm_on_panic(|| {
        match lines.bound(first as u16) {
            Some(Bound::Begin) => {
                let (target, callback) = (TextId(target as u32), TextId(callback as u32));
                message_bounds::begin(
                    &Message { target, callback, what, handler: handler as u32, due: 0 },
                    stack,
                );
                match frames::begin_of_message(target.0, what) {
                    Some(false) => return FRAME,
                    Some(true) => return FRAME_ASKED,
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

const FOREIGN: jint = 2;
const FRAME: jint = 3;
const FRAME_ASKED: jint = 4;

/// The id of a text: the name of a class, or, with `said`, what a callback says of itself.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_text(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    text: JString<'_>,
    said: jboolean,
) -> jint {
    if !said {
        return text_id(&env, &text);
    }
    disarm_on_panic(|| string(&env, &text).map_or(0, |text| redact::text(&text).0 as jint)).unwrap_or(0)
}

/// Something about the monitor itself.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_notice(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    text: JString<'_>,
) {
    record_notice(&env, &text);
}

/// The last `count` messages and the open ones, a line each.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_history(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    count: jint,
) -> jstring {
    let text = disarm_on_panic(|| messages::history(usize::try_from(count).unwrap_or(0), clock::boottime()));
    java_string(&env, &text.unwrap_or_default())
}

/// Since the last clearing: 0 how many messages began, 1 how long they took, 2 in which time, both in ms; anything else clears.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_LooperMonitor_density(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    what: jint,
) -> jlong {
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

/// The id of what a stretch of main is named by that is no message.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Units_text(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    name: JString<'_>,
) -> jint {
    text_id(&env, &name)
}

/// A stretch of main that is no message begins, unless one or a message is open: gives whether it did. With 0 and 0 it ends. One function for both, so
/// that both find the same place of the stack.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Units_unit(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    target: jint,
    callback: jint,
) -> jboolean {
    let here = 0u8;
    let stack = std::ptr::from_ref(&here) as usize;
    disarm_on_panic(|| {
        if target == 0 && callback == 0 {
            message_bounds::end_unit(stack);
            return false;
        }
        message_bounds::begin_unit(TextId(target as u32), TextId(callback as u32), stack)
    })
    .unwrap_or(false)
}
