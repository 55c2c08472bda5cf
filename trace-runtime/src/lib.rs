//! The library in the app. It records what every thread does, so that after an ANR, a kill or a crash the file shows
//! what the main thread was doing.
//!
//! # What it does
//! [`start`] maps a recording (its layout is drawn in [`trace_format::layout`]), makes the calling thread the recorded
//! main thread, and starts the thread `anrscope-worker`, which writes the file and starts three more:
//! `anrscope-ticker` (coarse time, while anything is recorded), `anrscope-signal` (SIGQUIT, see [`native_signal`]) and
//! `anrscope-timer` (the stall timer). From then on [`enter`], [`exit`] and the other calls write words into the
//! mapping with plain stores. What is stored is in the file, however the process ends.
//!
//! ```
//! use std::time::Duration;
//!
//! use trace_format::{Event, Item, Recording};
//! use trace_runtime::{Clock, Config, Destination};
//!
//! let directory = std::env::temp_dir().join(format!("trace-runtime-example-{}", std::process::id()));
//! let mut config = Config::new(Destination::Directory(directory.clone()), "com.example");
//! config.recording.clock = Clock::Precise;
//! trace_runtime::start(&config).unwrap();
//! trace_runtime::enter(7);
//! trace_runtime::exit(7);
//! let file = trace_runtime::wait_for_file(Duration::from_secs(30)).unwrap();
//! trace_runtime::stop();
//!
//! let recording = Recording::open(std::fs::read(&file).unwrap()).unwrap();
//! let main = &recording.threads()[0];
//! let calls: Vec<Event> = recording
//!     .events(main)
//!     .filter_map(|item| match item {
//!         Ok(Item::Event { event: event @ (Event::Enter(_) | Event::Exit(_)), .. }) => Some(event),
//!         _ => None,
//!     })
//!     .collect();
//! assert_eq!(calls, [Event::Enter(7), Event::Exit(7)]);
//! # std::fs::remove_dir_all(directory).unwrap();
//! ```
//!
//! # What it costs and what it never does
//! An event is a clock read and two stores. After a thread's first event there is no allocation, no lock and no system
//! call, except that a thread other than main takes a short lock for a new block, once in a thousand words. A fault of
//! the library ends the recording and nothing else. A forked child records nothing. The library never opens the
//! network and writes one file.
//!
//! # Where things are
//! | module | contents |
//! | --- | --- |
//! | [`start()`] | puts everything together |
//! | `jni` | the native methods of the Java classes |
//! | `native_api` | the functions for native code of the app |
//! | `message_bounds` | begin and end of main's Looper messages |
//! | `stall_timer` | the work of the timer thread while a message does not end |
//! | `sigquit` | SIGQUIT: its event, its verdict, the thread dump |
//! | [`monitors`] | what is made of main's messages, frames, starts and stalls |
//! | `main_thread` | main as other threads see it: its record, CPU time and poll |
//! | `recorder`, `memory`, `writing`, `time`, `files` | the recorder: mapping, hot path, clocks, file |
//!
//! A module uses only modules below it.
//!
//! # From Java
//! Instrumented classes call `dev.anrscope.MethodBeat`. If the library cannot be loaded, its methods do nothing, and one
//! line on stderr (on Android in logcat) says why.
//!
//! # SIGQUIT
//! A SIGQUIT is recorded as an event as soon as it is forwarded, with its sender and the message main was in. Then it is
//! judged ([`Config::policy`]; [`set_foreground`] and [`set_error_state_source`] supply what only the embedder knows),
//! and a section holds the verdict with its reasons. Last, a separate thread asks the system, and a second verdict says
//! what that changed. [`dump`] requests a thread dump, [`capture_trace_text`] records its text.
//!
//! # Marks
//! A mark is a place in main's record. [`copy_since`] copies what main has written since then, while main continues:
//!
//! ```
//! use trace_format::Event;
//! use trace_runtime::{Clock, Config, Destination, Slice};
//!
//! let mut config = Config::new(Destination::Later, "com.example");
//! config.recording.clock = Clock::Precise;
//! trace_runtime::start(&config).unwrap();
//! let mark = trace_runtime::mark_here().unwrap();
//! trace_runtime::enter(7);
//! let mut slice = Slice::default();
//! trace_runtime::copy_since(&mark, &mut slice).unwrap();
//! assert!(slice.events().any(|(_, event)| event == Event::Enter(7)));
//! ```

#![cfg(any(target_os = "linux", target_os = "android"))]

mod jni;
mod kernel_files;
mod main_thread;
mod message_bounds;
pub mod monitors;
mod native_api;
mod resolution;
mod sigquit;
mod stall_timer;
mod start;
mod unpoisoned;

pub use jni::method_beat::{NativeMethod, leave_sigquit, method_beat_natives, set_main_thread};
pub use message_bounds::{message_begin, message_end};
pub use monitors::app_state::set_foreground;
pub use monitors::system_state::{pause_began, pause_ended, paused_until, record_pauses};
pub use native_signal::{ErrorState, Policy, ProcessInError, Target, Writer, spawn_quiet};
pub use recorder::{
    Clock, Destination, Mark, Overwritten, Slice, StartError, Threads, acquired, clock, copy_since, counter,
    enter, exit, focus, frame_begin, frame_end, gave_up, is_valid, mark, mark_here, name_thread, note_paused,
    note_resumed, notice, pause, released, resume, set_clock, set_destination, set_method, stage_begin,
    stage_end, stop, text, wait_begin, wait_end, wait_for_file,
};
// The recorder and its modules, under the names that they have there.
use ::recorder;
use recorder::{control, files, guard, memory, system_log, time, writing};
pub use sigquit::sensing::{DumpError, dump};
pub use sigquit::trace_text::{TraceTextSource, capture_trace_text, record_dump};
pub use sigquit::verdict::set_error_state_source;
pub use start::{Config, start};
pub use time::clock::boottime;
pub use trace_rules::looper::Limits;
