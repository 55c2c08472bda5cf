//! Formats a Java stack for a report.

use crate::Rules;

/// How much of the stack to write (Matrix `looperPrinterStackStyle`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StackStyle {
    /// The first 12 frames, indented for the log.
    #[default]
    Simple,
    /// All frames.
    Whole,
    /// All frames as `StackTraceElement.toString` has them.
    Raw,
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackFrame<'a> {
    /// The class, with dots.
    pub class: &'a str,
    /// The method.
    pub method: &'a str,
    /// The source file; empty if not known.
    pub file: &'a str,
    /// The line; −2 for a native method, −1 if not known.
    pub line: i32,
}

/// Frames of [`StackStyle::Simple`].
const FEW: usize = 12;
/// The frames that Matrix skips at both ends: meant for the frames of the call that took the stack, which a stack of
/// another thread does not have.
const LEFT_OUT: usize = 3;

/// The stack, innermost frame first, a line each. By Matrix's rules the simple style lacks the three innermost frames.
#[must_use]
pub fn thread_stack(frames: &[StackFrame<'_>], style: StackStyle, rules: Rules) -> String {
    let mut out = String::new();
    let (frames, indent) = match (style, rules) {
        (StackStyle::Simple, Rules::Anrscope) => (&frames[..frames.len().min(FEW)], "|*\t\t"),
        (StackStyle::Simple, Rules::Matrix) => {
            if frames.len() < LEFT_OUT {
                return out;
            }
            let end = (frames.len() - LEFT_OUT).min(FEW);
            (frames.get(LEFT_OUT..end).unwrap_or_default(), "|*\t\t")
        }
        _ => (frames, ""),
    };
    if style == StackStyle::Simple {
        out.push_str(" \n");
    }
    for frame in frames {
        out.push_str(indent);
        if style == StackStyle::Raw {
            push_raw(&mut out, frame);
        } else {
            out.extend(["at ", frame.class, ":", frame.method, "(", &frame.line.to_string(), ")"]);
        }
        out.push('\n');
    }
    out
}

fn push_raw(out: &mut String, frame: &StackFrame<'_>) {
    out.extend([frame.class, ".", frame.method, "("]);
    match (frame.line, frame.file) {
        (-2, _) => out.push_str("Native Method"),
        (_, "") => out.push_str("Unknown Source"),
        (0.., file) => out.extend([file, ":", &frame.line.to_string()]),
        (_, file) => out.push_str(file),
    }
    out.push(')');
}
