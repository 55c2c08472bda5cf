//! `EvilMethodTracer` and `FrameBeat` of 0.4.

use trace_format::android::ANR_LIMIT_MS;

/// Pairs each frame time with the one before.
#[derive(Clone, Copy, Default, Debug)]
pub struct FrameBeat {
    last_ns: u64,
}

impl FrameBeat {
    /// A frame at `frame_ns`: the time before it and this one. The first one, and one that goes back, are only remembered.
    pub fn frame(&mut self, frame_ns: u64) -> Option<(u64, u64)> {
        let last_ns = std::mem::replace(&mut self.last_ns, frame_ns);
        (last_ns != 0 && frame_ns >= last_ns).then_some((last_ns, frame_ns))
    }

    /// The app went to the background, or the frame was cancelled.
    pub fn reset(&mut self) {
        self.last_ns = 0;
    }
}

/// The kind of a report. `subType` is −1 for all of them but STARTUP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matrix04Kind {
    /// A frame took more than 1,000 ms.
    Normal,
    /// A page took 3,000 ms or more ([`Matrix04Limits::enter_ms`]) from its create to its focus; with the depth and count of its views.
    Enter,
    /// No frame for 5,000 ms, in the foreground.
    Anr,
    /// The buffer was full.
    Full,
}

/// A report to be made of the buffer's words from `from` to `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrix04Issue {
    /// Which.
    pub kind: Matrix04Kind,
    /// How long, ms.
    pub cost_ms: i64,
    /// The first word.
    pub from: usize,
    /// The last word.
    pub to: usize,
}

const FRAME_MS: i64 = 1_000;
const ANR_MS: i64 = ANR_LIMIT_MS as i64;
const UNLOCK_MS: u64 = 20_000;

/// The durations from which on it reports, and stops to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrix04Limits {
    /// A page is a slow one ([`Matrix04Kind::Enter`]) from here on, ms.
    pub enter_ms: i64,
    /// What took this long is not reported, ms.
    pub too_long_ms: i64,
}

impl Matrix04Limits {
    /// Those of 0.4.
    pub const MATRIX: Self = Self { enter_ms: 3_000, too_long_ms: 6_000 };

    fn is_reported(&self, cost_ms: i64) -> bool {
        (0..self.too_long_ms).contains(&cost_ms)
    }
}

impl Default for Matrix04Limits {
    fn default() -> Self {
        Self::MATRIX
    }
}

/// Decides at each frame whether to report the buffer, and whether it starts at 0 again.
#[derive(Debug, Default)]
pub struct Matrix04Methods {
    /// The limits in force; may be changed at any time.
    pub limits: Matrix04Limits,
    has_entered: bool,
    /// Whether the ANR timer has reported this stall.
    ignore: bool,
    /// The ANR timer's due time.
    due_ms: Option<u64>,
    page: Option<(u64, usize)>,
    locked_until_ms: Option<u64>,
}

impl Matrix04Methods {
    /// With these limits.
    #[must_use]
    pub fn new(limits: Matrix04Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// A frame from `last_ms` to `now_ms`, with `words` in the buffer. The report, and whether the buffer starts at 0 again: it
    /// does not while a page opens.
    pub fn frame(&mut self, last_ms: u64, now_ms: u64, words: usize) -> (Option<Matrix04Issue>, bool) {
        self.due_ms = Some(now_ms + ANR_MS as u64);
        let cost_ms = now_ms as i64 - last_ms as i64;
        let reported = std::mem::take(&mut self.ignore);
        let slow = self.has_entered && cost_ms > FRAME_MS && !reported;
        let issue = slow.then(|| Matrix04Issue {
            kind: Matrix04Kind::Normal,
            cost_ms,
            from: 0,
            to: words.saturating_sub(1),
        });
        (issue.filter(|issue| self.limits.is_reported(issue.cost_ms)), !self.locked(now_ms))
    }

    /// When [`Matrix04Methods::tick`] is due, ms.
    #[must_use]
    pub fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }

    /// The ANR timer fires. Reports nothing in the background.
    pub fn tick(&mut self, now_ms: u64, foreground: bool, words: usize) -> Option<Matrix04Issue> {
        self.due_ms.filter(|due| now_ms >= *due)?;
        self.due_ms = None;
        if !foreground {
            return None;
        }
        self.ignore = true;
        Some(Matrix04Issue { kind: Matrix04Kind::Anr, cost_ms: ANR_MS, from: 0, to: words.saturating_sub(1) })
    }

    /// The buffer is full: that is reported, and the next event starts at 0.
    #[must_use]
    pub fn full(&self, since_ms: u64, now_ms: u64, words: usize) -> Option<Matrix04Issue> {
        let cost_ms = now_ms as i64 - since_ms as i64;
        let issue = Matrix04Issue { kind: Matrix04Kind::Full, cost_ms, from: 0, to: words.saturating_sub(1) };
        self.limits.is_reported(cost_ms).then_some(issue)
    }

    /// `onActivityCreated`: the buffer is kept until the focus, for 20 s at most.
    pub fn created(&mut self, now_ms: u64, words: usize) {
        self.has_entered = false;
        self.page = Some((now_ms, words.saturating_sub(1)));
        self.locked_until_ms = Some(now_ms + UNLOCK_MS);
    }

    /// The page's first focus.
    pub fn focused(&mut self, now_ms: u64, words: usize) -> Option<Matrix04Issue> {
        self.has_entered = true;
        self.locked_until_ms = None;
        let (created_ms, from) = self.page.take()?;
        let cost_ms = now_ms as i64 - created_ms as i64;
        let issue = Matrix04Issue { kind: Matrix04Kind::Enter, cost_ms, from, to: words.saturating_sub(1) };
        (cost_ms >= self.limits.enter_ms && self.limits.is_reported(cost_ms)).then_some(issue)
    }

    /// Whether the buffer is kept.
    #[must_use]
    pub fn locked(&self, now_ms: u64) -> bool {
        self.locked_until_ms.is_some_and(|until| now_ms < until)
    }
}
