//! Samples of main's stack, kept as the tree that their sections encode: a sample shares its outermost frames
//! with the previous one, so memory grows with the size of the sections, not with the depth of the stacks.

use std::collections::HashMap;
use std::sync::Arc;

use answers::text::clean;
use trace_format::sections::stack_samples;

/// Maximum number of samples, of frames that are not shared, and of bytes of distinct frames.
const MAX_SAMPLES: usize = 1 << 16;
const MAX_FRAMES: usize = 1 << 20;
const MAX_TEXT: usize = 16 << 20;

/// The parent of an outermost frame.
const OUTERMOST: u32 = u32::MAX;

/// Samples of main's stack, in the file's order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Samples {
    /// Index of the calling frame, and the text.
    frames: Vec<(u32, u32)>,
    texts: Vec<Arc<str>>,
    by_text: HashMap<Arc<str>, u32>,
    bytes: usize,
    /// Time and innermost frame.
    all: Vec<(u64, u32)>,
}

/// A sample of main's stack.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// When it was taken, BOOTTIME ns.
    pub at: u64,
    samples: &'a Samples,
    innermost: u32,
}

impl<'a> Sample<'a> {
    /// Its frames, innermost first, as Java's `StackTraceElement` writes them.
    pub fn frames(self) -> impl Iterator<Item = &'a str> + Clone {
        let Self { samples, innermost, .. } = self;
        let frame = |at: u32| samples.frames.get(at as usize);
        let places = std::iter::successors(frame(innermost), move |(around, _)| frame(*around));
        places.map(|(_, text)| &*samples.texts[*text as usize])
    }
}

impl Samples {
    /// All samples.
    pub fn iter(&self) -> impl Iterator<Item = Sample<'_>> + Clone {
        self.all.iter().map(|(at, innermost)| Sample { at: *at, samples: self, innermost: *innermost })
    }

    /// The samples from `since` to `until`.
    pub fn within(&self, since: u64, until: u64) -> impl Iterator<Item = Sample<'_>> + Clone {
        self.iter().filter(move |sample| (since..=until).contains(&sample.at))
    }

    /// Folds the frames of each sample, outermost first, and returns the time and the result of each. Frames that samples
    /// share are folded once, so the time is linear in the size of the sections.
    pub(super) fn fold<'s, T: Copy>(&'s self, none: T, step: impl Fn(T, &'s str) -> T) -> Vec<(u64, T)> {
        let mut folded: Vec<T> = Vec::with_capacity(self.frames.len());
        for (around, text) in &self.frames {
            // A frame's caller comes before it.
            let so_far = folded.get(*around as usize).copied().unwrap_or(none);
            folded.push(step(so_far, &self.texts[*text as usize]));
        }
        self.all
            .iter()
            .map(|(at, inner)| (*at, folded.get(*inner as usize).copied().unwrap_or(none)))
            .collect()
    }

    /// Adds the samples of a section; returns how many exceeded a limit or could not be read.
    pub(super) fn add(&mut self, text: &str) -> u64 {
        let mut samples = stack_samples::Samples::new(text);
        // The frames of the previous sample, outermost first.
        let mut open: Vec<u32> = Vec::new();
        let mut more = 0;
        while let Some(at) = samples.next() {
            if self.all.len() >= MAX_SAMPLES || !self.push(&mut open, samples.kept(), samples.stack()) {
                // The following samples of this section depend on it.
                more = 1;
                while samples.next().is_some() {
                    more += 1;
                }
                break;
            }
            self.all.push((at, open.last().copied().unwrap_or(OUTERMOST)));
        }
        more + samples.skipped()
    }

    fn push(&mut self, open: &mut Vec<u32>, kept: usize, stack: &[&str]) -> bool {
        open.truncate(kept);
        for frame in &stack[open.len()..] {
            if self.frames.len() >= MAX_FRAMES {
                return false;
            }
            let Some(text) = self.text(frame) else { return false };
            self.frames.push((open.last().copied().unwrap_or(OUTERMOST), text));
            open.push(self.frames.len() as u32 - 1);
        }
        true
    }

    fn text(&mut self, frame: &str) -> Option<u32> {
        let frame = clean(frame);
        if let Some(known) = self.by_text.get(&*frame) {
            return Some(*known);
        }
        self.bytes += frame.len();
        (self.bytes <= MAX_TEXT).then(|| {
            let text: Arc<str> = frame.into();
            let place = self.texts.len() as u32;
            self.texts.push(Arc::clone(&text));
            self.by_text.insert(text, place);
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(texts: &[&str]) -> (Vec<(u64, String)>, u64) {
        let mut samples = Samples::default();
        let skipped = texts.iter().map(|text| samples.add(text)).sum();
        (samples.iter().map(|s| (s.at, s.frames().collect::<Vec<_>>().join(" "))).collect(), skipped)
    }

    #[test]
    fn samples_share_their_outermost_frames() {
        let (found, skipped) =
            of(&["@10 0\na.B.c\na.M.m\n@20 1\na.X.y\n@x 1\n@30 9\n", "@40 3\na.Z.z\n@50 0\n"]);
        let wanted = [(10, "a.B.c a.M.m"), (20, "a.X.y a.M.m"), (30, "a.X.y a.M.m"), (40, "a.Z.z"), (50, "")];
        assert_eq!(found, wanted.map(|(at, frames)| (at, frames.to_owned())));
        assert_eq!(skipped, 1);
    }

    #[test]
    fn deltas_of_deep_stacks_take_no_more_memory_than_their_text() {
        let deep: String = (0..2_000).map(|i| format!("f{}\n", i % 7)).collect();
        let more: String = (0..20_000).map(|at| format!("@{} 2000\nx\n", at + 2)).collect();
        let mut samples = Samples::default();
        assert_eq!(samples.add(&format!("@1 0\n{deep}{more}")), 0);
        assert_eq!((samples.all.len(), samples.frames.len(), samples.texts.len()), (20_001, 22_000, 8));
        assert_eq!(samples.iter().last().map(|s| s.frames().count()), Some(2_001));
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let text: String = (1..=MAX_SAMPLES + 10).map(|at| format!("@{at} 0\n")).collect();
        assert_eq!(Samples::default().add(&text), 10);
    }

    proptest! {
        #[test]
        fn the_tree_has_the_stacks_that_the_section_has(text in "(@[0-9]{0,3} [0-9]{0,2}\n|[ab]\n){0,40}") {
            let mut wanted = Vec::new();
            let mut read = stack_samples::Samples::new(&text);
            while let Some(at) = read.next() {
                wanted.push((at, read.stack().iter().rev().copied().collect::<Vec<_>>().join(" ")));
            }
            prop_assert_eq!(of(&[&text]), (wanted, read.skipped()));
        }
    }
}
