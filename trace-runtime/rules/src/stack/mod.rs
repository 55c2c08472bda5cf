//! Converts a slice of the recording to the stack of a report: `depth,id,count,ms` per line, and its key.
//!
//! ```text
//! calls -> tree (exits paired with enters, equal siblings merged) -> at most 30 lines -> text, key
//! ```
//!
//! There are two ways from calls to lines. [`CallTree`] is ours. [`matrix::lines`] is Matrix's
//! (`TraceDataUtils.structuredDataToStack`), line for line and with its log, to compare with earlier
//! figures. `tests/data/stack_differences.md` lists the differences case by case. The rest, trim, text and key, is shared and takes
//! [`crate::Rules`] where the two differ.
//!
//! ```
//! use trace_format::ids::DISPATCH;
//! use trace_rules::Rules;
//! use trace_rules::stack::{Call, CallTree, TARGET_LINES, cost_ms, key, text, trim};
//!
//! let ms = 1_000_000;
//! let mut tree = CallTree::new();
//! for call in [
//!     Call::enter(DISPATCH, 0),
//!     Call::enter(243, 3 * ms),
//!     Call::exit(243, 1_003 * ms),
//! ] {
//!     tree.push(call);
//! }
//! let mut lines = tree.finish(1_006 * ms).lines;
//! trim(&mut lines, TARGET_LINES, Rules::Anrscope);
//! assert_eq!(text(&lines), "0,1048574,1,1006\n1,243,1,1000\n");
//! assert_eq!(key(&lines, cost_ms(&lines, 1_006), Rules::Anrscope), "243|");
//! ```

mod call;
mod key;
mod line;
pub mod matrix;
mod text;
mod tree;
mod trim;

pub use call::Call;
pub use key::key;
pub use line::Line;
pub use text::{cost_ms, log_text, text};
pub use tree::{CallTree, Finished, Loss};
pub use trim::{STEP_MS, STEPS, TARGET_LINES, trim};
