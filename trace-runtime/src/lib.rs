//! The library in the app: records what every thread does, so that after an ANR, a kill or a crash the file
//! says what the main thread was doing.
//!
//! # What it does
//! [`start`] maps a recording ([`trace_format`] draws it), makes the calling thread the recorded main thread,
//! and starts a thread, `anrscope-worker` (files), which starts three more: `anrscope-ticker` (coarse time, while anybody
//! records), `anrscope-signal` (SIGQUIT, see [`native_signal`]) and `anrscope-timer` (the looper timer). From then on [`enter`], [`exit`] and the other calls
//! write words into the mapping with plain stores. What is stored is in the file, whatever becomes of the
//! process.
//!
//! # What it costs and what it never does
//! An event is a clock read and two stores: no allocation after a thread's first event, no lock, no system
//! call (a new block, once in a thousand words, takes a short lock unless the thread is main). A fault of its
//! own ends the recording and nothing else. A forked child records nothing. It never opens the network and
//! writes one file.
//!
//! # Where to look
//! `memory` is what is mapped, `writing` the hot path into it, `time` its clocks, and `ticker` the thread that keeps them. `files`
//! holds the worker, `main_thread` the Looper's messages and their timer, `sigquit` the signal, [`monitors`] what is made of it
//! all. [`start()`] puts them together; `recorder` is what they share; `system_log` says what no recording can.
//!
//! # From Java
//! `dev.anrscope.MethodBeat` is the face that instrumented classes call. If the library cannot be loaded all
//! of it does nothing.
//!
//! # SIGQUIT
//! A SIGQUIT is in the recording as an event as soon as it is handed on, with who sent it and what main was in. Then it
//! is judged ([`Config::policy`]; [`set_foreground`] and [`set_error_state_source`] say what only the embedder knows),
//! and the verdict follows as a section with its reasons. The system is asked last, on a thread of its own, and a second
//! verdict says what that changed. [`dump`] asks for a thread dump, [`capture_trace_text`] keeps its text.
//! Whoever reads the recording has the facts beside the verdict.

#![cfg(any(target_os = "linux", target_os = "android"))]

mod control;
mod files;
mod guard;
mod jni;
mod main_thread;
pub mod matrix_ring;
mod memory;
mod message_bounds;
#[cfg(all(test, loom))]
mod models;
pub mod monitors;
mod recorder;
mod resolution;
mod sigquit;
mod stall_timer;
mod start;
mod sync;
mod system_log;
mod ticker;
mod time;
mod writing;

pub use control::{Clock, pause, resume, set_clock, set_method, stop};
pub use files::file::Destination;
pub use files::worker::{set_destination, wait_for_file};
pub use main_thread::marks::{copy_since, is_valid, mark_here};
pub use memory::mark::{Mark, Overwritten};
pub use memory::slice::Slice;
pub use message_bounds::{message_begin, message_end};
pub use monitors::app_state::set_foreground;
pub use native_signal::{ErrorState, Policy, ProcessInError, Target, Thresholds, Writer};
pub use recorder::{Threads, text};
pub use sigquit::sensing::{DumpError, dump};
pub use sigquit::trace_text::{TraceTextSource, capture_trace_text};
pub use sigquit::verdict::set_error_state_source;
pub use start::{Config, StartError, start};
pub use writing::events::{
    counter, enter, exit, focus, frame_begin, frame_end, mark, name_thread, stage_begin, stage_end,
};
pub use writing::waits::{released, wait_begin, wait_end};
