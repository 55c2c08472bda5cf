//! The hang of main as JSON, with its stack, its wait and the work of its loop.

use serde::Serialize;

use super::super::{WaitFact, Why};
use crate::facts::{MessageComponent, Unit};
use crate::report::busy::{self, Callee};
use crate::report::hang;
use crate::report::open_item::{OpenItem, innermost_first};

/// A stall of main.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Hang<'a> {
    /// The name of main's message; null outside messages.
    message: Option<&'a str>,
    /// Main's unit, a message or not; `message` is its name if it is one.
    unit: Option<&'a Unit>,
    /// The component of the app that the message runs, if known.
    component: Option<Component<'a>>,
    /// The time at which the unit began.
    since_ns: u64,
    /// The time at which the unit ended, or the last moment of the recording.
    until_ns: u64,
    /// The known length.
    duration_ns: u64,
    /// True if main continued.
    ended: bool,
    /// The time of the stack.
    stack_at_ns: u64,
    /// The innermost method.
    method: Option<&'a str>,
    /// The calls that were open, innermost first.
    stack: Vec<&'a OpenItem>,
    /// Main's open wait.
    wait: Option<&'a WaitFact>,
    /// The reason why main's wait was not over, if steps of concurrent work were recorded.
    why: Option<&'a Why>,
    /// The methods in which main spent the time, if recorded.
    busy: Option<Busy<'a>>,
    /// Time of the hang in which the coarse clock stood still: calls look short there, or are missing.
    standstill_ns: u64,
    /// Main's CPU time during the hang.
    #[serde(rename = "processor")]
    cpu: Option<CpuTime>,
}

impl<'a> From<&'a hang::Hang> for Hang<'a> {
    fn from(hang: &'a hang::Hang) -> Self {
        Self {
            message: hang.message(),
            unit: hang.unit.as_ref(),
            component: hang.component.as_ref().map(Component::from),
            since_ns: hang.since,
            until_ns: hang.until,
            duration_ns: hang.duration(),
            ended: hang.ended,
            stack_at_ns: hang.at,
            method: hang.method().map(|method| method.name.as_str()),
            stack: innermost_first(&hang.stack),
            wait: hang.wait.as_ref(),
            why: hang.why.as_ref(),
            busy: hang.busy.as_ref().map(Busy::from),
            standstill_ns: hang.standstill,
            cpu: hang.cpu.map(|cpu| CpuTime {
                mostly: cpu.mostly(),
                looked_ns: cpu.polled(),
                ran_ns: cpu.ran,
                waited_ns: cpu.waited,
                voluntary_switches: cpu.voluntary,
                involuntary_switches: cpu.involuntary,
            }),
        }
    }
}

/// A component of the app that a message of main runs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Component<'a> {
    /// The request of the system: receiver, registered_receiver, service_create, service_start, service_bind, service_unbind,
    /// service_destroy, job_start, job_stop, provider_create, application_create. A minor version may add words.
    call: &'static str,
    /// The component's class; with the source `stack` the class that declares the method.
    class: &'a str,
    /// The place that names the component: the message's record, or main's stack.
    #[cfg_attr(test, schemars(extend("enum" = ["record", "stack"])))]
    source: &'static str,
    /// True for a broadcast in the foreground; null if that is not known.
    foreground: Option<bool>,
    /// Time for which the message waited in main's queue, if known.
    queued_ns: Option<u64>,
    /// Time for which the system lets it run in the foreground before an ANR (AOSP).
    limit_foreground_ms: Option<u64>,
    /// The same in the background.
    limit_background_ms: Option<u64>,
    /// True if the system waits up to twice as long for a process that gets too little CPU time.
    limit_extends: Option<bool>,
}

impl<'a> From<&'a MessageComponent> for Component<'a> {
    fn from(component: &'a MessageComponent) -> Self {
        let limit = component.limit;
        Self {
            call: component.call.word(),
            class: &component.class,
            source: if component.by_stack { "stack" } else { "record" },
            foreground: component.foreground,
            queued_ns: component.queued,
            limit_foreground_ms: limit.map(|limit| limit.foreground_ms),
            limit_background_ms: limit.map(|limit| limit.background_ms.unwrap_or(limit.foreground_ms)),
            limit_extends: limit.map(|limit| limit.extends),
        }
    }
}

/// The methods in which main spent a hang.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Busy<'a> {
    /// The deepest method that was open for more than half of the recorded hang: main was in its loop.
    method: Option<&'a str>,
    /// Time for which the method was open in that part.
    open_ns: u64,
    /// The recorded part of the hang.
    of_ns: u64,
    /// The methods that were open for that long, innermost first.
    chain: Vec<&'a OpenItem>,
    /// The called methods with the most time; at most four.
    callees: &'a [Callee],
    /// The approximate number of main's calls that were too short to record.
    short_calls: u64,
    /// The methods with the most short calls; at most four.
    hot: Vec<HotMethod<'a>>,
}

/// A method with many calls that were too short to record.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HotMethod<'a> {
    /// The method.
    name: &'a str,
    /// The method's share of the short calls, by a sample.
    percent: u64,
}

impl<'a> From<&'a busy::Busy> for Busy<'a> {
    fn from(busy: &'a busy::Busy) -> Self {
        Self {
            method: busy.method().map(|method| method.name.as_str()),
            open_ns: busy.open,
            of_ns: busy.span.1.saturating_sub(busy.span.0),
            chain: innermost_first(&busy.chain),
            callees: &busy.callees,
            short_calls: busy.short_calls,
            hot: busy.hot.iter().map(|(name, percent)| HotMethod { name, percent: *percent }).collect(),
        }
    }
}

/// A thread's CPU time between two polls.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CpuTime {
    /// Main's most frequent state.
    mostly: &'static str,
    /// The time between the polls.
    looked_ns: u64,
    /// Time running.
    ran_ns: u64,
    /// Time runnable, without a CPU.
    waited_ns: u64,
    /// Voluntary context switches.
    voluntary_switches: u32,
    /// Involuntary context switches.
    involuntary_switches: u32,
}
