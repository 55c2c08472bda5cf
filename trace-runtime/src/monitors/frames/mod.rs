//! Frames. On main: the stage that is open, into the recorder's ring and into one word that any thread reads
//! ([`stages`]). Behind main, on the thread of the shim that `FrameMetrics` come to: see [`counting`].
//!
//! Main neither locks nor allocates here. The shim (`FrameMonitor.java`) and the looper call; both are on main:
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

use continuation::Asked;
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
static ASKED: Asked = Asked::new();
/// Messages that are open on main, one inside of the other; 0 where nobody tells of messages.
static OPEN: AtomicU8 = AtomicU8::new(0);
/// When the frame began that main has not handed on yet, ns; 0 if there is none.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// The number of the frame that main is in, or of the next one.
static NUMBER: AtomicU64 = AtomicU64::new(1);
/// Frames that begin outside of any message: then nobody would tell their end, and they are left out.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);
/// The display's rate, the bits of an `f32`, Hz.
static REFRESH: AtomicU32 = AtomicU32::new(60f32.to_bits());
/// Times of the oldest and newest input event of the frame by `FrameInfo`, ns; 0 for none.
static INPUT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The stage that main is in, for whoever looks while it hangs. From any thread.
pub(crate) fn stages() -> &'static Stages {
    &STAGES
}

/// A message begins on main, inside of `nested` others. After its begin is in the ring.
pub(crate) fn message_begin(nested: u8) {
    OPEN.store(nested.saturating_add(1), Ordering::Relaxed);
    // One whose message lost its end stays open in the ring: readers end it with that message.
    STAGES.message_begin(nested);
}

/// The message ends: a frame and its stage end with it. *Before* the message's end is in the ring.
pub(crate) fn message_end(nested: u8) {
    OPEN.store(nested, Ordering::Relaxed);
    let open = STAGES.open();
    let now = time::now();
    let Some(costs) = STAGES.message_end(now, nested) else { return };
    if let Some(open) = open {
        record(&Event::StageEnd(of_format(open.stage)).encode());
    }
    if open.is_some_and(|open| open.stage == Stage::Input && open.estimated) {
        // Neither a callback nor a draw: Choreographer put the frame off (its time went backward, a divisor, too many buffers
        // in the queue), or waited for none. What input there was belongs to the next one.
        record(&Event::FrameSkipped.encode());
        BEGUN.store(0, Ordering::Release);
        return;
    }
    ASKED.frame_end(now);
    NUMBER.fetch_add(1, Ordering::Relaxed);
    let input = taken_input();
    if let Some(input) = input {
        record(
            &Event::InputEvents(event::InputEvents {
                intended: costs.intended_ns,
                oldest: input.oldest_ns,
                newest: input.newest_ns,
            })
            .encode(),
        );
    }
    record(&Event::FrameEnd.encode());
    FINISHED.push(&Finished { costs, scene: app_state::scene().0, input });
    // Release: it is in the queue before it is over.
    BEGUN.store(0, Ordering::Release);
}

/// When the frame began that main is in, ns; 0 if it is in none. One whose end was lost stays until the next.
pub(crate) fn begun_ns() -> u64 {
    BEGUN.load(Ordering::Acquire)
}

/// The text of the handler whose messages are frames; 0 where stages come from the queues, which tell frames themselves.
static HANDLER: AtomicU32 = AtomicU32::new(0);
/// `Choreographer.FrameHandler`, as a Looper's line calls it.
const FRAME_HANDLER: &str = "android.view.Choreographer$FrameHandler";
/// `Message.what` of a frame: of the vsync's callback, which carries none, and of MSG_DO_FRAME.
const DO_FRAME: i32 = 0;

/// From now on frames are told by their messages, or no longer.
pub(crate) fn by_messages(on: bool) {
    HANDLER.store(if on { recorder::text(FRAME_HANDLER).0 } else { 0 }, Ordering::Relaxed);
}

/// A message for this handler begins on main, and its begin is in the ring: if it is a frame's, the frame begins with it. `None` if
/// it is not, else whether it goes on with what the frame before began ([`continuation`]): then the shim posts its callbacks, which
/// Choreographer runs in the frame that is about to begin.
#[inline]
pub(crate) fn begin_of_message(target: u32, what: i32) -> Option<bool> {
    let frame = target != 0 && what == DO_FRAME && target == HANDLER.load(Ordering::Relaxed) && is_wanted();
    frame.then(|| {
        frame_begin(0, true);
        ASKED.frame(time::now())
    })
}

/// A window is about to be drawn: the frame is in TRAVERSAL at the latest.
pub(crate) fn drawn() {
    ASKED.drawn();
    stage(Stage::Traversal, true);
}

/// Whether anybody wants to know of frames: for reports, or for the overlay alone.
pub(crate) fn is_wanted() -> bool {
    is_enabled(Setting::Fps) || is_enabled(Setting::Overlay)
}

/// The message that main is in is a frame's. `intended_ns` is its vsync by CLOCK_MONOTONIC, 0 if not known; `estimated` says that
/// its stages are concluded from public calls.
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

/// The frame's vsync became known, by CLOCK_MONOTONIC, ns.
pub(crate) fn intended(intended_ns: u64) {
    if intended_ns != 0 {
        STAGES.intended(of_monotonic(intended_ns));
    }
}

/// The frame is in `stage` from now on, if it was not already, or in a later one.
pub(crate) fn stage(stage: Stage, estimated: bool) {
    let before = STAGES.open();
    if STAGES.stage(time::now(), stage, estimated) {
        if let Some(before) = before {
            record(&Event::StageEnd(of_format(before.stage)).encode());
        }
        record(&Event::StageBegin(of_format(stage)).encode());
    }
}

/// The input events that `FrameInfo` has (API 23), its oldest and newest, by CLOCK_MONOTONIC: more than the windows' callbacks see.
pub(crate) fn input_events(oldest: i64, newest: i64) {
    if let Some(events) = InputEvents::of_frame_info(oldest, newest) {
        INPUT[0].store(of_monotonic(events.oldest_ns), Ordering::Relaxed);
        INPUT[1].store(of_monotonic(events.newest_ns), Ordering::Relaxed);
    }
}

/// The input since the last frame ended: by `FrameInfo`, or what windows were given.
fn taken_input() -> Option<InputEvents> {
    let given = touch::take_events();
    let [oldest_ns, newest_ns] = [&INPUT[0], &INPUT[1]].map(|time| time.swap(0, Ordering::Relaxed));
    if oldest_ns != 0 {
        return Some(InputEvents { oldest_ns, newest_ns });
    }
    given.map(|(oldest_ms, newest_ms)| InputEvents {
        oldest_ns: of_monotonic(oldest_ms.saturating_mul(1_000_000)),
        newest_ns: of_monotonic(newest_ms.saturating_mul(1_000_000)),
    })
}

/// The display shows so many frames a second from now on. From any thread.
pub(crate) fn set_refresh(hz: f32) {
    REFRESH.store(hz.to_bits(), Ordering::Relaxed);
}

/// The display's rate, Hz.
pub(crate) fn refresh_hz() -> f32 {
    f32::from_bits(REFRESH.load(Ordering::Relaxed))
}

/// Frames that were lost on their way to the counting, and frames outside of any message.
pub(crate) fn lost() -> (u64, u64) {
    (FINISHED.lost(), OUTSIDE.load(Ordering::Relaxed))
}

/// 0 stays 0: not known.
fn of_monotonic(ns: u64) -> u64 {
    if ns == 0 { 0 } else { clock::of_monotonic(ns) }
}

fn of_format(stage: Stage) -> event::Stage {
    match stage {
        Stage::Input => event::Stage::Input,
        Stage::Animation => event::Stage::Animation,
        Stage::InsetsAnimation => event::Stage::InsetsAnimation,
        Stage::Traversal => event::Stage::Traversal,
        Stage::Commit => event::Stage::Commit,
    }
}
