//! The thread for whose end another one waits.

use trace_format::event::{ConcurrencyStep, Wait, WaitKind};
use trace_format::{Event, Item, ReadError, Recording, Source, Thread};

use crate::facts::Facts;

/// A thread joins the recording with its first event, which is later than its start but for the clocks' difference, ns.
const CLOCKS_APART: u64 = 1_000_000;

/// The thread that is waited for by a `Thread.join` that began before `until`; `None` if that is not known.
///
/// # Errors
/// If reading fails.
pub(crate) fn joined<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    wait: &Wait,
    until: u64,
) -> Result<Option<usize>, ReadError> {
    let recording = facts.recording;
    if wait.kind != WaitKind::Join {
        return Ok(None);
    }
    let mut last = None;
    for thread in recording.threads() {
        for item in recording.events(thread) {
            let Item::Event { time, event } = item? else { continue };
            if time > until {
                break;
            }
            if let Event::Concurrency(step) = event
                && step.step == ConcurrencyStep::ThreadStarted
                && step.object == wait.lock as u32
                && last.is_none_or(|(at, _)| at <= time)
            {
                last = Some((time, step.class));
            }
        }
    }
    let Some((at, name)) = last else { return Ok(None) };
    Ok(started_as(recording, recording.texts().get(name), at))
}

/// The index of the thread that was started with this name at this time or later, if only one can be meant.
pub(crate) fn started_as<S: Source + ?Sized>(
    recording: &Recording<S>,
    name: Option<&str>,
    at: u64,
) -> Option<usize> {
    let is_same =
        |thread: &Thread| thread.name.as_deref() == name && thread.started.saturating_add(CLOCKS_APART) >= at;
    let mut same = recording.threads().iter().enumerate().filter(|(_, thread)| is_same(thread));
    let (first, _) = same.next()?;
    same.next().is_none().then_some(first)
}
