//! The format of an anrscope recording on disk.
//!
//! A recording is one file per process, `*.anrscope`: a mapped part that the process writes with plain
//! stores, so that it survives a SIGKILL at any instruction, and sections appended behind it. This crate
//! defines those bytes: the file's [`layout`], the event words ([`word`], [`event`]) and the sections ([`section`],
//! [`sections`]). It reads recordings back in any state, cut or damaged ([`Recording`]), and builds small ones for
//! tests ([`synth`]). [`android`] has the facts about Android that several crates share. It opens no file, maps
//! nothing and has no dependencies: the recorder in the app provides the mapping, the host provides a
//! [`Source`].
//!
//! ```
//! use trace_format::{Item, Recording, synth::RecordingBuilder};
//!
//! let bytes = RecordingBuilder::new(42, "com.example")
//!     .main("main", |t| {
//!         t.enter(1_000, 7).exit(3_000, 7);
//!     })
//!     .build();
//! let recording = Recording::open(bytes).unwrap();
//! let main = &recording.threads()[0];
//! assert!(main.main);
//! assert_eq!(recording.events(main).filter(|e| matches!(e, Ok(Item::Event { .. }))).count(), 2);
//! ```
#![forbid(unsafe_code)]

#[macro_use]
mod words;

pub mod android;
mod crc32;
mod cursor;
mod error;
pub mod event;
pub mod hex;
pub mod ids;
pub mod layout;
mod map_id;
pub mod native_slot;
mod reader;
mod recording_id;
pub mod regular_file;
pub mod section;
pub mod sections;
mod source;
pub mod synth;
pub mod time;
pub mod wipe;
pub mod word;

pub use cursor::{BadEvent, Cursor};
pub use error::{Fault, ReadError};
pub use event::{Event, TextId};
pub use map_id::{BadMapId, MapHash, MapId};
pub use reader::{CompactError, Events, Header, Item, Recording, Section, Texts, Thread, compact};
pub use recording_id::recording_id;
#[doc(no_inline)]
pub use sections::verdict;
pub use source::Source;
pub use words::{UnknownNumber, UnknownWord};
