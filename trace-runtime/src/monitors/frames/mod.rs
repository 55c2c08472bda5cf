//! Frames. On main: the open stage, written to the recorder's ring and to one word that any thread reads
//! ([`stages`]). Off main, on the shim's thread that receives `FrameMetrics`: see [`counting`].
//!
//! Main neither locks nor allocates here. The shim (`FrameMonitor.java`) and the looper call it, both on
//! main:
//!
//! ```text
//! looper   message_begin ────────────────────────────────────────────── message_end
//! shim          frame_begin  stage(INPUT)  stage(ANIMATION)  stage(TRAVERSAL)  │
//! ring          FrameBegin   StageBegin    End, Begin        End, Begin        └ StageEnd, FrameEnd, MessageEnd
//! ```

mod continuation;
pub(crate) mod counting;
mod matching;
mod matrix_04;
pub(crate) mod measured;
pub(crate) mod overlay;
mod queue;
pub(crate) mod rule;

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use continuation::Continuation;
use queue::{Finished, Queue};
use trace_format::event::{self, Event};
use trace_rules::frame::{InputEvents, Stage, Stages, interval_ns};

use crate::monitors::app_state;
use crate::monitors::config::options::{Setting, is_enabled};
use crate::monitors::looper::touch;
use crate::recorder;
use crate::time::{self, clock};
use crate::writing::events::record;

static STAGES: Stages = Stages::new();
static FINISHED: Queue = Queue::new();
static CONTINUATION: Continuation = Continuation::new();
/// How many messages are open on main, nested; 0 where messages are not reported.
static OPEN: AtomicU8 = AtomicU8::new(0);
/// When the frame began that main has not ended yet, ns; 0 for none.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// The number of the current frame, or of the next one.
static NUMBER: AtomicU64 = AtomicU64::new(1);
/// Frames that begin outside of any message. They are left out, since nothing would report their end.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);
/// The display's refresh rate, the bits of an `f32`, Hz.
static REFRESH: AtomicU32 = AtomicU32::new(60f32.to_bits());
/// Times of the frame's oldest and newest input event by `FrameInfo`, ns; 0 for none.
static INPUT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The stage that main is in. Any thread.
pub(crate) fn stages() -> &'static Stages {
    &STAGES
}

/// Notes that a message begins on main, inside of `nested` others. Call it after the begin is in the ring.
pub(crate) fn message_begin(nested: u8) {
    OPEN.store(nested.saturating_add(1), Ordering::Relaxed);
    // A frame whose message lost its end stays open in the ring: readers end it with that message.
    STAGES.message_begin(nested);
}

/// Ends the frame and its stage with their message. Call it *before* the message's end is in the ring.
pub(crate) fn message_end(nested: u8) {
    OPEN.store(nested, Ordering::Relaxed);
    let open = STAGES.open();
    let now = time::now();
    let Some(costs) = STAGES.message_end(now, nested) else { return };
    if let Some(open) = open {
        record(&Event::StageEnd(open.stage).encode());
    }
    if open.is_some_and(|open| open.stage == Stage::Input && open.estimated) {
        // Neither a callback nor a draw: Choreographer postponed the frame (its time went backward, a
        // divisor, too many buffers in the queue), or waited for none. Its input belongs to the next one.
        record(&Event::FrameSkipped.encode());
        BEGUN.store(0, Ordering::Release);
        return;
    }
    CONTINUATION.frame_end(now);
    NUMBER.fetch_add(1, Ordering::Relaxed);
    let input = take_input();
    if let Some(input) = input {
        record(&Event::InputEvents(InputEvents { intended: costs.intended_ns, ..input }).encode());
    }
    record(&Event::FrameEnd.encode());
    FINISHED.push(&Finished { costs, scene: app_state::scene().0, input });
    // Release: it is in the queue before it is over.
    BEGUN.store(0, Ordering::Release);
}

/// When the current frame began, ns; 0 for none. A frame whose end was lost stays until the next.
pub(crate) fn begun_ns() -> u64 {
    BEGUN.load(Ordering::Acquire)
}

/// The text id of the handler whose messages are frames; 0 where stages come from Choreographer's queues,
/// which report frames themselves.
static HANDLER: AtomicU32 = AtomicU32::new(0);
/// `Choreographer.FrameHandler`, as a Looper's line calls it.
const FRAME_HANDLER: &str = "android.view.Choreographer$FrameHandler";
/// `Message.what` of a frame: of the vsync's callback, which carries none, and of MSG_DO_FRAME.
const DO_FRAME: i32 = 0;

/// Sets whether frames are identified by their messages.
pub(crate) fn by_messages(on: bool) {
    HANDLER.store(if on { recorder::text(FRAME_HANDLER).0 } else { 0 }, Ordering::Relaxed);
}

/// Notes that a message for this handler begins on main; its begin is in the ring. If it is a frame's, the
/// frame begins with it. Returns `None` if it is not, else whether it continues what the previous frame
/// began ([`continuation`]): then the shim posts its callbacks, which Choreographer runs in the frame that
/// is about to begin.
#[inline]
pub(crate) fn message_begins(target: u32, what: i32) -> Option<bool> {
    let frame = target != 0 && what == DO_FRAME && target == HANDLER.load(Ordering::Relaxed) && is_wanted();
    frame.then(|| {
        frame_begin(0, true);
        CONTINUATION.frame(time::now())
    })
}

/// Notes that a window is about to be drawn: the frame is in TRAVERSAL at the latest.
pub(crate) fn drawn() {
    CONTINUATION.drawn();
    stage(Stage::Traversal, true);
}

/// Whether frames are needed, for reports or for the overlay alone.
pub(crate) fn is_wanted() -> bool {
    is_enabled(Setting::Fps) || is_enabled(Setting::Overlay)
}

/// Begins a frame: main's current message is a frame's. `intended_ns` is its vsync by CLOCK_MONOTONIC, 0 if
/// unknown; `estimated` says that its stages are inferred from public calls.
pub(crate) fn frame_begin(intended_ns: u64, estimated: bool) {
    if !is_wanted() {
        return;
    }
    let Some(nested) = OPEN.load(Ordering::Relaxed).checked_sub(1) else {
        OUTSIDE.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let intended = of_monotonic(intended_ns);
    let now = time::now();
    if STAGES.frame_begin(now, intended, nested) {
        BEGUN.store(now, Ordering::Relaxed);
        let frame = event::Frame {
            vsync: NUMBER.load(Ordering::Relaxed),
            intended,
            interval: interval_ns(refresh_hz()),
            estimated,
        };
        record(&Event::FrameBegin(frame).encode());
        stage(Stage::Input, estimated);
    }
}

/// Sets the frame's vsync once it is known, by CLOCK_MONOTONIC, ns.
pub(crate) fn intended(intended_ns: u64) {
    if intended_ns != 0 {
        STAGES.intended(of_monotonic(intended_ns));
    }
}

/// Moves the frame to `stage`, unless it is in that stage or a later one.
pub(crate) fn stage(stage: Stage, estimated: bool) {
    let before = STAGES.open();
    if STAGES.stage(time::now(), stage, estimated) {
        if let Some(before) = before {
            record(&Event::StageEnd(before.stage).encode());
        }
        record(&Event::StageBegin(stage).encode());
    }
}

/// Sets the input events of `FrameInfo` (API 23), its oldest and newest, by CLOCK_MONOTONIC: more than the
/// windows' callbacks receive.
pub(crate) fn input_events(oldest: i64, newest: i64) {
    if let Some(events) = InputEvents::from_frame_info(oldest, newest) {
        INPUT[0].store(of_monotonic(events.oldest), Ordering::Relaxed);
        INPUT[1].store(of_monotonic(events.newest), Ordering::Relaxed);
    }
}

/// The input since the last frame ended: by `FrameInfo`, or what windows received.
fn take_input() -> Option<InputEvents> {
    let given = touch::take_events();
    let [oldest, newest] = [&INPUT[0], &INPUT[1]].map(|time| time.swap(0, Ordering::Relaxed));
    if oldest != 0 {
        return Some(InputEvents { intended: 0, oldest, newest });
    }
    given.map(|(oldest_ms, newest_ms)| InputEvents {
        intended: 0,
        oldest: of_monotonic(oldest_ms.saturating_mul(1_000_000)),
        newest: of_monotonic(newest_ms.saturating_mul(1_000_000)),
    })
}

/// Sets the display's refresh rate, Hz. Any thread.
pub(crate) fn set_refresh(hz: f32) {
    REFRESH.store(hz.to_bits(), Ordering::Relaxed);
}

/// The display's refresh rate, Hz.
pub(crate) fn refresh_hz() -> f32 {
    f32::from_bits(REFRESH.load(Ordering::Relaxed))
}

/// Frames that were lost before they were counted, and frames outside of any message.
pub(crate) fn lost() -> (u64, u64) {
    (FINISHED.lost(), OUTSIDE.load(Ordering::Relaxed))
}

/// Converts a time; 0 stays 0: unknown.
fn of_monotonic(ns: u64) -> u64 {
    if ns == 0 { 0 } else { clock::of_monotonic(ns) }
}
