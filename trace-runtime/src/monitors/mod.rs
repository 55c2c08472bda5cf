//! The monitors of the main thread: they carry what the shims of `java/` and `android/` and the recorder see to the rules of
//! [`trace_rules`], and what these decide into the recording and to the app.
//!
//! | module | what |
//! | --- | --- |
//! | `ground` | foreground and scene |
//! | [`options`] | every flag and threshold |
//! | [`reports`] | finished reports: into the recording, and to the app's listener on a thread that is its own |
//!
//! # Which thread does what
//! Main only stores: begin and end of what it does, into the recorder's ring and the rules' fixed memory. The timer thread
//! (`anrscope-timer`) notices what takes too long. The worker builds trees and reports. Java threads of the shims come *into*
//! this library and wait there ([`reports::next`]), so that no thread of the library ever calls into Java.

mod ground;
pub mod options;
pub mod reports;
