//! Main's Java stack in the form of reports.

use trace_rules::Rules;
use trace_rules::report::{StackFrame, StackStyle, thread_stack};

/// Converts a stack with one frame per line.
pub(crate) fn styled(stack: &str, style: StackStyle) -> String {
    let frames: Vec<_> = stack.lines().map(frame).collect();
    thread_stack(&frames, style, Rules::Anrscope)
}

/// Parses `class.method(File.java:line)`.
fn frame(line: &str) -> StackFrame<'_> {
    let (name, place) = line.split_once('(').unwrap_or((line, ""));
    let place = place.strip_suffix(')').unwrap_or(place);
    let (class, method) = name.rsplit_once('.').unwrap_or(("", name));
    let (file, line) = match place {
        "Native Method" => ("", -2),
        "Unknown Source" | "" => ("", -1),
        place => match place.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
            Some((file, Ok(line))) => (file, line),
            _ => (place, -1),
        },
    };
    StackFrame { class, method, file, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_java_frame_survives_a_round_trip() {
        let stack = "java.lang.Thread.sleep(Native Method)\na.B$1.run(B.java:12)\na.C.<init>(C.java)\nd.e(Unknown Source)\n";
        assert_eq!(styled(stack, StackStyle::Raw), stack);
        assert_eq!(
            styled(stack, StackStyle::Whole),
            "at java.lang.Thread:sleep(-2)\nat a.B$1:run(12)\nat a.C:<init>(-1)\nat d:e(-1)\n"
        );
        assert_eq!(styled("", StackStyle::Whole), "");
    }
}
