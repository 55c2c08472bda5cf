//! Records what every thread does into a mapped file, so that after a kill or a crash the file says what each was doing.
//!
//! # What it does
//! [`start`] maps a recording ([`trace_format`] draws it), makes the calling thread the recorded main thread, and starts
//! two threads: `anrscope-worker`, which makes the file, and `anrscope-ticker`, which keeps coarse time. From then on
//! [`enter`], [`exit`] and the other calls write words into the mapping with plain stores. What is stored is in the file,
//! even if the process is killed. There is at most one recorder in a process.
//!
//! ```
//! use recorder::{Config, Destination};
//! use std::time::Duration;
//! use trace_format::{Event, Item, Recording};
//!
//! fn event(item: Item) -> Option<Event> {
//!     if let Item::Event { event, .. } = item { Some(event) } else { None }
//! }
//!
//! let directory = std::env::temp_dir().join(format!("recorder-example-{}", std::process::id()));
//! recorder::start(&Config::new(Destination::Directory(directory.clone()), "com.example.app"))?;
//! recorder::enter(7); // a method, by its id in the method map
//! recorder::exit(7);
//! let file = recorder::wait_for_file(Duration::from_secs(10)).expect("a file");
//! recorder::stop();
//!
//! let recording = Recording::open(std::fs::read(&file)?)?;
//! let main = &recording.threads()[0];
//! let events: Vec<_> = recording.events(main).filter_map(Result::ok).filter_map(event).collect();
//! assert_eq!(events, [Event::Enter(7), Event::Exit(7)]);
//! # std::fs::remove_dir_all(directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs and what it never does
//! An event is a clock read and two stores: no allocation after a thread's first event, no lock, no system
//! call (a new block, once in a thousand words, takes a short lock unless the thread is main). A panic in the recorder ends
//! the recording and nothing else ([`guard`]). A forked child records nothing. It never opens the network and writes one
//! file.
//!
//! # Modules
//! Each module uses only those above it:
//!
//! | module | content |
//! | --- | --- |
//! | `sync` | atomics and locks, loom's own in the models |
//! | [`system_log`] | lines in the system's log, for what cannot be in a recording |
//! | `gate` | who may write a thread's words: compiled Java code or this library |
//! | [`time`] | the clocks, coarse time, and which calls are too short to record |
//! | [`memory`] | the mapping, its blocks, and a thread's writer into them |
//! | `recorder` | what all threads share |
//! | [`guard`] | the end of recording after a panic |
//! | [`files`] | the worker: the one thread that touches files |
//! | [`writing`] | the hot path: from a call to its words |
//! | `marks` | copies of what main wrote since a mark |
//! | [`control`] | pause, clock, methods on and off |
//! | `ticker` | the thread that keeps coarse time |
//! | `start` | puts them together |

#![cfg(any(target_os = "linux", target_os = "android"))]

pub mod control;
pub mod files;
mod gate;
pub mod guard;
mod marks;
pub mod memory;
#[cfg(all(test, loom))]
mod models;
mod recorder;
mod start;
mod sync;
pub mod system_log;
mod ticker;
pub mod time;
pub mod writing;

pub use control::{Clock, clock, note_paused, note_resumed, pause, resume, set_clock, set_method, stop};
pub use files::file::Destination;
pub use files::worker::{set_destination, wait_for_file};
pub use marks::{copy_since, is_valid, mark_here, oldest_mark};
pub use memory::mark::{Mark, Overwritten};
pub use memory::slice::Slice;
pub use recorder::hooks::{Hooks, ThreadBody, Tick};
pub use recorder::owners::address as lock_owners_address;
pub use recorder::{Recorder, Threads, notice, set_main_only, text, text_of};
pub use start::{Config, Prepared, StartError, prepare, start};
pub use writing::events::{
    counter, enter, exit, focus, frame_begin, frame_end, mark, name_thread, stage_begin, stage_end,
};
pub use writing::waits::{
    acquired, gave_up, released, wait_begin, wait_begin_for_java, wait_end, wait_end_for_java,
};
