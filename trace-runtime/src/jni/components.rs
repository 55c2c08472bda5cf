//! The native methods of `dev.anrscope.Components`.

use std::sync::atomic::Ordering;

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::{jint, jlong};
use trace_format::section::SectionKind;
use trace_format::sections::component::{Component, ComponentCall};

use crate::files::worker;
use crate::guard::disarm_on_panic;
use crate::jni::string;
use crate::recorder::Recorder;
use crate::time::clock;

/// When main's message began, BOOTTIME ns; 0 if main is in none, or if its messages are not reported.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Components_since(_: EnvUnowned, _: JClass) -> jlong {
    let since = disarm_on_panic(|| Recorder::active().map(|r| r.message_since.load(Ordering::Relaxed)));
    since.flatten().filter(|since| *since != Recorder::NO_LOOPER).map_or(0, |since| since as jlong)
}

/// Records the component behind the message that began at `since`.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Components_component(
    env: EnvUnowned,
    _: JClass,
    since: jlong,
    what: jint,
    name: JString,
    foreground: jint,
    due_ms: jlong,
) {
    disarm_on_panic(|| {
        let Some((call, class)) = call(what).zip(string(&env, &name)) else { return };
        let since = since as u64;
        let due_ms = u64::try_from(due_ms).ok().filter(|due| *due > 0);
        let queued_ms = due_ms.map(|due| clock::uptime_ms(since).saturating_sub(due));
        let foreground = (foreground >= 0).then_some(foreground > 0);
        let component = Component { since, call, class, foreground, queued_ms };
        worker::append(SectionKind::Component, component.encode());
    });
}

/// What the message with this number asks for (AOSP `ActivityThread.java`, class `H`, API 21 to 36).
fn call(what: jint) -> Option<ComponentCall> {
    Some(match what {
        113 => ComponentCall::Receiver,
        114 => ComponentCall::ServiceCreate,
        115 => ComponentCall::ServiceStart,
        121 => ComponentCall::ServiceBind,
        122 => ComponentCall::ServiceUnbind,
        _ => return None,
    })
}
