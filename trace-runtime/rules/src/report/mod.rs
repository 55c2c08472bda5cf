//! Reports in Matrix's form: its tags, details, keys and types (which its users' servers accept), as one line of JSON.
//!
//! The caller passes plain values. The app uses it for `onIssue`, the host for `report --format matrix`.
//!
//! ```
//! use trace_rules::report::{Device, Envelope, Issue, LagKind};
//!
//! let envelope = Envelope { process: "com.example", time_ms: 1_700_000_000_000, device: Device::UNKNOWN };
//! let issue = Issue::Lag {
//!     kind: LagKind::Message,
//!     scene: "com.example.Main",
//!     thread_stack: "at a.B:c(1)\n",
//!     foreground: true,
//! };
//! assert_eq!(
//!     issue.to_json(&envelope),
//!     "{\"machine\":\"UN_KNOW\",\"cpu_app\":0.0,\"mem\":-1,\"mem_free\":-1,\"detail\":\"LAG\",\
//!      \"scene\":\"com.example.Main\",\"threadStack\":\"at a.B:c(1)\\n\",\"isProcessForeground\":true,\
//!      \"tag\":\"Trace_EvilMethod\",\"process\":\"com.example\",\"time\":1700000000000}"
//! );
//! ```

mod envelope;
mod issue;
mod json;
mod log_block;
mod thread_stack;

pub use envelope::{CpuTicks, Device, Envelope};
pub use issue::{Issue, LagKind, Matrix04Method, Memory, OldView, Priority};
pub use log_block::{AnrLog, anr_log, slow_log};
pub use thread_stack::{StackFrame, StackStyle, thread_stack};
