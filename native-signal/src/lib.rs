//! Senses SIGQUIT, the signal with which Android asks an app for its thread dump at an ANR, and **always forwards it**.
//! Beside it, a timer that detects a main-thread message that does not end.
//!
//! ```no_run
//! use native_signal::{Config, Mode, install};
//!
//! # fn main() -> Result<(), native_signal::InstallError> {
//! // On the main thread. From here on every SIGQUIT is forwarded to the Signal Catcher, then reported.
//! let sensor = install(Config::default(), Box::new(|sensed| println!("SIGQUIT from pid {}", sensed.si_pid)))?;
//! if let Mode::Passive { reason } = sensor.mode() {
//!     println!("SIGQUIT is not sensed: {reason}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # The signal
//!
//! On ART every thread blocks SIGQUIT, and one thread named *Signal Catcher* takes it by `sigwait` and writes the dump
//! that the system waits for (AOSP `art/runtime/signal_catcher.cc`). A thread that unblocks SIGQUIT takes it away from
//! the catcher, so the code that senses it that way must forward it. [`install`] therefore does three things and no
//! more: it finds the catcher, installs a handler, and unblocks SIGQUIT in the *group leader* (the thread with
//! tid == pid; the kernel offers a process-directed signal to it first, and to a younger thread hardly ever). The
//! handler reads the clock and the sender, sends the signal to the catcher by `tgkill` **before it does anything else
//! with it**, puts a note into a fixed slot and wakes the library's thread by a futex. That thread, `anrscope-signal`, reads
//! the slots and calls the observer. The library keeps no file descriptor open, so other code cannot close or reuse one.
//!
//! If a real handler was installed before (HotSpot; another crash SDK), our handler calls that one instead, with the
//! arguments, the mask and the flags that it asked for. If there is neither a catcher nor a real handler, nothing
//! is installed and nothing is unblocked: the sensor is [`Mode::Passive`] and gives the reason.
//!
//! A signal that stays pending because the leader cannot run (uninterruptible sleep, as in `vfork`) reaches neither
//! our handler nor the catcher. [`check_pending`], called while main is stalled, detects it; after [`Config::rescue_after`] the
//! library's thread takes it and forwards it.
//!
//! A signal that arrives in the microseconds in which the handler runs (the leader masks SIGQUIT then) goes from the kernel
//! straight to the catcher: the catcher gets it, the sensor does not see it. The same happens to a signal that waits for a
//! leader without a CPU when the catcher comes back from an earlier dump.
//!
//! ## What it never does
//!
//! - It never sets SIGQUIT to `SIG_DFL`: the next ANR would kill the app.
//! - It never waits, locks, allocates, logs or crosses into Java in the handler.
//! - It never takes SIGQUIT without a receiver to forward it to.
//! - It never fights for the first place: a handler installed after ours stays; see [`Sensor::check_displaced`].
//! - It never leaves SIGQUIT unblocked on the leader while its action is the default or ignore: see [`Displaced`].
//! - In a child made by `fork` or `vfork` it touches nothing of the parent's: the handler only forwards.
//!
//! ## Threads
//!
//! | call | thread |
//! | --- | --- |
//! | [`install`], [`install_quietly`] | the group leader (on Android: the main thread) if its SIGQUIT is blocked; else any |
//! | [`open_in_this_thread`], [`close_in_this_thread`] | the group leader |
//! | [`Sensor::uninstall`] | any; only on the leader is SIGQUIT blocked again |
//! | [`Sensor::check_displaced`] | any; meant for the group leader, between two messages |
//! | [`Sensor::keep_handled`] | any; meant for the observer of [`StallTimer::run`] |
//! | [`check_pending`] | one that blocks SIGQUIT: the observer of [`StallTimer::run`] |
//! | the other [`Sensor`] calls | any |
//! | [`ask_for_dump`] | any |
//! | [`PassiveWatch`] | any, one at a time; meant for the observer of [`StallTimer::run`] |
//! | the observer of [`install`] and [`Sensor::listen`] | called on `anrscope-signal`, never in the handler |
//! | [`StallTimer::message_begin`], [`StallTimer::message_end`] | the one thread that is watched |
//! | the observer of [`StallTimer::run`] | called on `anrscope-timer` |
//! | [`Judge`], [`capture_trace_text`] | any; not in a signal handler |
//! | [`ErrorPolls::run`] | any but the watched one: it takes up to 20 s and may ask a hanging system |
//! | the observer of [`capture_trace_text`] | called on `anrscope-text` |
//!
//! Threads that the leader starts after SIGQUIT was unblocked in it inherit that mask. They may then run the handler
//! too, which is harmless. The library's own threads block every signal but the synchronous faults and the real-time signals from
//! their first instruction on. The library that holds this crate must not be unloaded once [`install`] has installed a handler.
//!
//! # The timer
//!
//! [`StallTimer`] wakes a thread while a message of another thread is open. It costs the watched thread a few stores per message and is
//! independent of loopers and recordings. Its observer decides what the message is, and when to wake next.
//!
//! # The verdict
//!
//! A SIGQUIT is a request for a dump and not always an ANR. [`Judge`] decides what it was, and gives its reasons: who sent it,
//! how late main was by our own record, the foreground state and the system's error state.
//!
//! # The system's trace text
//!
//! [`capture_trace_text`], opt-in, copies what the Signal Catcher writes, through one hooked slot of `write`, and restores
//! everything afterwards. From Android 11 on the system's exit info gives the same text without a hook.
//!
//! # Systems
//!
//! Linux and Android. On other systems the crate is empty.

#![cfg(any(target_os = "linux", target_os = "android"))]

mod altstack;
mod ask;
pub mod capture;
mod catcher;
mod clock;
mod delivery;
mod displaced;
mod elf;
mod error;
mod fork;
mod handler;
mod judge;
mod mask;
mod mode;
mod passive_watch;
mod poller;
mod previous;
mod rescue;
mod sensed;
mod sensor;
mod shared;
mod slots;
mod stall;
mod task;
mod trace_text;

pub use ask::{AskError, ask_for_dump};
pub use clock::boottime_ns;
pub use displaced::Displaced;
pub use elf::ElfError;
pub use error::{InstallError, OpenError, OsError};
pub use judge::{
    Confidence, ErrorPolls, ErrorState, ErrorVote, Evidence, Head, Identity, Judge, Judgement, Outcome,
    Policy, ProcessInError, Reason, Sender, Trigger,
};
pub use mask::spawn_quiet;
pub use mode::{Mode, PassiveReason, Uninstalled};
pub use passive_watch::PassiveWatch;
pub use rescue::check_pending;
pub use sensed::{Forwarded, Sensed};
pub use sensor::{Config, Sensor, close_in_this_thread, install, install_quietly, open_in_this_thread};
pub use stall::{StallTimer, Wakeup, WakeupObserver};
pub use task::{read as read_thread_file, read_file};
pub use trace_format::verdict::Counters;
pub use trace_text::{
    Ended, HookError, Limits, Target, TraceCapture, TraceText, UnhookError, Writer, capture_trace_text,
};
