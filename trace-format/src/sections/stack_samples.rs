//! Samples of main's stack, taken during a stall: the payload of [`SectionKind::StackSamples`].
//!
//! ```text
//! @TIME KEEP      BOOTTIME ns; KEEP of the outermost frames are those of the sample before
//! frame           the other frames, innermost first, as Java's `StackTraceElement` writes them
//! ...
//! ```
//! The first sample of a section keeps 0. A sample is applied whole before it is cut, so that a deep stack
//! does not spoil those after it.
//!
//! [`SectionKind::StackSamples`]: crate::section::SectionKind::StackSamples

use super::MAX_TIME;

/// The most frames of a stack that are read, from the outermost on.
pub const MAX_FRAMES: usize = 16_384;

/// Writes samples.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Writer {
    text: String,
    /// The stack of the newest sample, innermost first, a frame a line.
    last: String,
}

impl Writer {
    /// No samples.
    #[must_use]
    pub const fn new() -> Self {
        Self { text: String::new(), last: String::new() }
    }

    /// Adds a sample; `stack` has a frame a line, innermost first.
    pub fn sample(&mut self, at_ns: u64, stack: String) {
        let keep = if self.text.is_empty() { 0 } else { outermost_in_common(&self.last, &stack) };
        for part in ["@", &at_ns.to_string(), " ", &keep.to_string(), "\n"] {
            self.text.push_str(part);
        }
        let frames = stack.lines().count();
        for frame in stack.lines().take(frames - keep) {
            self.text.push_str(frame);
            self.text.push('\n');
        }
        self.last = stack;
    }

    /// The stack of the newest sample, in this section or the one before; empty if there is no sample.
    #[must_use]
    pub fn last(&self) -> &str {
        &self.last
    }

    /// The lines so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The payload of a section with all samples so far; the next one begins a section.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text).into_bytes()
    }
}

/// How many of the last lines two texts share.
fn outermost_in_common(one: &str, other: &str) -> usize {
    one.lines().rev().zip(other.lines().rev()).take_while(|(a, b)| a == b).count()
}

/// Reads the samples of a section, one after the other.
#[derive(Clone, Debug)]
pub struct Samples<'t> {
    lines: std::iter::Peekable<std::str::Lines<'t>>,
    stack: Vec<&'t str>,
    kept: usize,
    skipped: u64,
}

impl<'t> Samples<'t> {
    /// The samples in this text.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Self { lines: text.lines().peekable(), stack: Vec::new(), kept: 0, skipped: 0 }
    }

    /// Advances to the next sample and returns its time, BOOTTIME ns in `1..MAX_TIME`.
    #[expect(clippy::should_implement_trait, reason = "the sample itself is borrowed through `stack`")]
    pub fn next(&mut self) -> Option<u64> {
        self.kept = self.stack.len();
        loop {
            let Some(head) = self.lines.next()?.strip_prefix('@') else { continue };
            let mut words = head.split_whitespace();
            let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
            let (Some(at), Some(keep)) = (number(), number()) else {
                self.skipped += 1;
                continue;
            };
            // More than there was cannot be kept: a damaged section.
            self.stack.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            let kept = self.stack.len();
            self.kept = self.kept.min(kept);
            while let Some(frame) = self.lines.next_if(|line| !line.starts_with('@')) {
                if !frame.trim().is_empty() {
                    self.stack.push(frame.trim());
                }
            }
            self.stack[kept..].reverse();
            self.stack.truncate(MAX_FRAMES);
            if (1..MAX_TIME).contains(&at) {
                return Some(at);
            }
            self.skipped += 1;
        }
    }

    /// The stack of this sample, outermost frame first.
    #[must_use]
    pub fn stack(&self) -> &[&'t str] {
        &self.stack
    }

    /// How many of the outermost frames are those of the sample before this one.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// How many samples so far had no valid time, or no number of frames.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (Vec<(u64, String)>, u64) {
        let (mut samples, mut found) = (Samples::new(text), Vec::new());
        while let Some(at) = samples.next() {
            found.push((at, samples.stack().join(" ")));
        }
        (found, samples.skipped())
    }

    #[test]
    fn a_sample_keeps_the_outermost_frames_of_the_one_before() {
        let text =
            "@10 0\r\na.C.c(C.java:3)\na.B.b(B.java:2)\na.A.a(A.java:1)\n@20 1\na.D.d(D.java)\n@x 1\n@30 9\n";
        let (found, skipped) = read(text);
        let wanted = [
            (10, "a.A.a(A.java:1) a.B.b(B.java:2) a.C.c(C.java:3)".to_owned()),
            (20, "a.A.a(A.java:1) a.D.d(D.java)".to_owned()),
            (30, "a.A.a(A.java:1) a.D.d(D.java)".to_owned()),
        ];
        assert_eq!((found, skipped), (wanted.to_vec(), 1));
    }

    #[test]
    fn a_stack_of_any_depth_is_applied_before_it_is_cut() {
        let deep: String = (0..MAX_FRAMES + 10).map(|i| format!("f{i}\n")).collect();
        let text = format!("@1 0\n{deep}@2 2\ninner\n");
        let (found, _) = read(&text);
        assert_eq!(found[1].1, format!("f{} f{} inner", MAX_FRAMES + 9, MAX_FRAMES + 8));
    }

    #[test]
    fn a_sample_has_only_the_changed_frames_and_every_section_starts_with_a_whole_stack() {
        let mut written = Writer::default();
        written.sample(10, "a.B.c(B.java:1)\na.B.run(B.java:9)\n".into());
        written.sample(20, "a.B.d(B.java:2)\na.B.c(B.java:1)\na.B.run(B.java:9)\n".into());
        written.sample(30, "a.B.d(B.java:2)\na.B.c(B.java:1)\na.B.run(B.java:9)\n".into());
        written.sample(40, "x.Y.z(Native Method)\n".into());
        assert_eq!(
            written.take(),
            b"@10 0\na.B.c(B.java:1)\na.B.run(B.java:9)\n@20 2\na.B.d(B.java:2)\n@30 3\n@40 0\nx.Y.z(Native Method)\n"
        );
        assert_eq!(written.last(), "x.Y.z(Native Method)\n");
        written.sample(50, "x.Y.z(Native Method)\n".into());
        assert_eq!(written.text(), "@50 0\nx.Y.z(Native Method)\n");
    }

    proptest! {
        #[test]
        fn samples_round_trip(stacks in prop::collection::vec(prop::collection::vec("[ab]", 0..6), 0..9)) {
            let mut written = Writer::default();
            let mut wanted = Vec::new();
            for (stack, at) in stacks.into_iter().zip(1..) {
                written.sample(at, stack.iter().map(|frame| format!("{frame}\n")).collect());
                wanted.push((at, stack.into_iter().rev().collect::<Vec<_>>().join(" ")));
            }
            prop_assert_eq!(read(written.text()), (wanted, 0));
        }

        #[test]
        fn no_text_is_too_wild(text in "(@[0-9]{0,20} [0-9]{0,20}\n|a.b\\(c:1\\)\n|.{0,9}\n){0,20}") {
            let mut samples = Samples::new(&text);
            while let Some(at) = samples.next() {
                prop_assert!(at < MAX_TIME && samples.stack().len() <= text.len());
                prop_assert!(samples.kept() <= samples.stack().len());
            }
        }
    }
}
