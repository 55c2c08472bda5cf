//! Names of typed events.

use std::borrow::Cow;

use answers::text::clean;
use trace_format::Texts;
use trace_format::android;
use trace_format::event::{CallId, Forward, Message, TextId, WaitKind};

use super::sink::{Arg, Unit, Value};
use crate::facts::{MessageComponent, PolledCpu};

/// The unit of a counter with this name. Only names that the app's monitors write are known.
pub(crate) fn unit_of(counter: &str) -> Unit {
    match counter {
        "Java heap" | "Native heap" | "PSS" | "RSS" | "VmSize" => Unit::Bytes,
        _ => Unit::Count,
    }
}

/// An interned text, or `fallback` if it is missing.
pub(crate) fn text<'a>(texts: &'a Texts, id: TextId, fallback: &'static str) -> Cow<'a, str> {
    known(texts, id).unwrap_or(Cow::Borrowed(fallback))
}

/// An interned text, if it exists.
pub(crate) fn known(texts: &Texts, id: TextId) -> Option<Cow<'_, str>> {
    texts.get(id).filter(|t| !t.is_empty()).map(clean)
}

/// `<Handler class>: <callback class>` or `<Handler class>: #<what>`, as AOSP's Looper names its slices. A unit
/// outside of the queue has no `what`: its name is `<target>: <callback>` or `<target>`. A message of the
/// framework's own handler includes the name of its number: `android.app.ActivityThread$H: #115 SERVICE_ARGS`.
pub(crate) fn message_name(texts: &Texts, message: &Message) -> String {
    let target = text(texts, message.target, "Handler");
    match known(texts, message.callback) {
        Some(callback) => format!("{target}: {callback}"),
        None if !message.is_queued() => target.into_owned(),
        None => numbered_name(&target, message.what),
    }
}

/// The name of a message without a callback.
pub(super) fn numbered_name(target: &str, what: i32) -> String {
    match android::message_name(target, what) {
        Some(code) => format!("{target}: #{what} {code}"),
        None => format!("{target}: #{what}"),
    }
}

/// The name of a wait. A blocking call is named after what is called; the object is an argument of each wait.
pub(crate) fn wait_name(kind: WaitKind, call: CallId) -> Cow<'static, str> {
    let name = kind.phrases().name;
    match kind {
        WaitKind::Blocking => Cow::Borrowed(call.name().unwrap_or(name)),
        WaitKind::Unknown(number) => Cow::Owned(format!("{name} {number}")),
        _ => Cow::Borrowed(name),
    }
}

/// ART's words for a contended monitor, which Perfetto's `android.monitor_contention` parses. `owner_at` and
/// `blocked_at` are methods with their source location.
pub(crate) fn contention_name(
    owner: &str,
    owner_tid: u32,
    (owner_at, owner_place): (&str, &str),
    (blocked_at, blocked_place): (&str, &str),
) -> String {
    // The reader of this form truncates the owner's name at the first " (" .
    let owner = owner.replace(" (", "_(");
    format!(
        "monitor contention with owner {owner} ({owner_tid}) at {owner_at}({owner_place}) \
         waiters=0 blocking from {blocked_at}({blocked_place})"
    )
}

/// An instant at the start of a wait. Perfetto's `android.monitor_contention` recognises a contended monitor
/// only if nothing inside it has another name.
pub(crate) fn waits_for(owner: &str) -> String {
    in_contention(&format!("waits for {owner}"))
}

/// The name of another instant during such a wait.
pub(crate) fn in_contention(what: &str) -> String {
    format!("Lock contention: {what}")
}

/// A lock's identity as text; JSON would lose bits of a number.
pub(crate) fn lock_text(lock: u64) -> String {
    format!("0x{lock:x}")
}

/// Where a SIGQUIT was forwarded.
pub(crate) fn forward_name(forward: Forward) -> Cow<'static, str> {
    Cow::Borrowed(match forward {
        Forward::Catcher => "catcher",
        Forward::PreviousHandler => "older handler",
        Forward::Failed => "failed",
        Forward::Passive => "passive",
        Forward::Unknown(number) => return Cow::Owned(format!("unknown ({number})")),
    })
}

/// Perfetto's name of the state that a thread was mostly in between two polls.
pub(crate) fn state_name(mostly: &'static str) -> &'static str {
    match mostly {
        "running" => "Running",
        "waiting for a processor" => "Runnable",
        "in uninterruptible sleep" => "Uninterruptible Sleep",
        "stopped" => "Stopped",
        "asleep" => "Sleeping",
        other => other,
    }
}

/// The component of the app that a message ran, as arguments; `limit`: the system's limit in words.
pub(crate) fn component_args<'a>(
    component: &'a MessageComponent,
    limit: Option<&'a str>,
) -> impl Iterator<Item = Arg<'a>> {
    let known = [
        Arg::new("component", Value::Text(&component.class)),
        Arg::new("component_call", Value::Text(component.call.word())),
        Arg::new("component_source", Value::Text(if component.by_stack { "stack" } else { "record" })),
    ];
    let limit = limit.map(|limit| Arg::new("component_limit", Value::Text(limit)));
    let queued = component.queued.map(|ns| Arg::new("component_queued_ms", Value::Millis(ns)));
    known.into_iter().chain(limit).chain(queued)
}

/// A thread's CPU time between two polls, as arguments.
pub(crate) fn cpu_args(p: &PolledCpu) -> [Arg<'static>; 6] {
    [
        Arg::new("mostly", Value::Text(p.mostly())),
        Arg::new("looked_at_ms", Value::Millis(p.polled())),
        Arg::new("cpu_ms", Value::Millis(p.ran)),
        Arg::new("runnable_ms", Value::Millis(p.waited)),
        Arg::new("voluntary_switches", Value::Uint(p.voluntary.into())),
        Arg::new("involuntary_switches", Value::Uint(p.involuntary.into())),
    ]
}
