//! The native stacks among the details of a page.

use std::fmt::{self, Formatter};

use answers::words::times;

use super::super::findings::Report;
use super::super::native::{MAX_STACKS, ReportedStack};
use crate::native::reason_word;

/// Maximum number of stacks, and of frames of a stack, in a page.
const MAX_SHOWN: usize = 8;
const MAX_SHOWN_FRAMES: usize = 24;

/// Writes the stacks with the details of a page.
pub(super) fn write_stacks(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    if r.native.stacks.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nNATIVE STACKS (innermost first): {}", times(r.native.count, "capture"))?;
    for ReportedStack { thread, stack } in r.native.stacks.iter().take(MAX_SHOWN) {
        let call = stack.call_words().map_or_else(String::new, |call| format!(", {call}"));
        let reason = reason_word(stack.reason);
        writeln!(f, "  \"{thread}\" (tid {}) at {}, {reason}{call}", stack.tid, r.moment(stack.at))?;
        for frame in stack.frames.iter().take(MAX_SHOWN_FRAMES) {
            let library =
                frame.native.as_ref().map(|place| place.library()).filter(|_| !frame.function.is_empty());
            let library = library.map_or_else(String::new, |library| format!(" ({library})"));
            let source = frame.source.as_ref();
            let source = source.map_or_else(String::new, |(file, line)| format!(" {file}:{line}"));
            writeln!(f, "      {}{library}{source}", frame.title())?;
        }
        if stack.frames.len() > MAX_SHOWN_FRAMES {
            writeln!(f, "      ... {} more ...", stack.frames.len() - MAX_SHOWN_FRAMES)?;
        }
        if stack.approximate {
            writeln!(f, "      (the place of the Java frames is approximate)")?;
        }
        if !stack.end.is_empty() {
            writeln!(f, "      (the stack ends here: {})", stack.end)?;
        }
    }
    match r.native.count.checked_sub(MAX_SHOWN as u64).filter(|more| *more > 0) {
        Some(more) => writeln!(f, "  and {more} more (--format json has up to {MAX_STACKS})"),
        None => Ok(()),
    }
}
