//! Dropped frames and their levels.

/// The severity of one frame, by the frames that it dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// Under 3.
    Best = 0,
    /// 3 to 8.
    Normal = 1,
    /// 9 to 23.
    Middle = 2,
    /// 24 to 41.
    High = 3,
    /// 42 and more.
    Frozen = 4,
}

impl Level {
    /// All, from best to worst.
    pub const ALL: [Level; 5] = [Level::Best, Level::Normal, Level::Middle, Level::High, Level::Frozen];

    /// The levels' keys in a report, in the same order.
    pub const KEYS: [&'static str; 5] =
        ["DROPPED_BEST", "DROPPED_NORMAL", "DROPPED_MIDDLE", "DROPPED_HIGH", "DROPPED_FROZEN"];

    /// Returns the level's colour in the overlay as 0xRRGGBB, from green to red.
    #[must_use]
    pub fn rgb(self) -> u32 {
        [0x0043_A047, 0x0076_8A1E, 0x00F9_A825, 0x00EF_6C00, 0x00C6_2828][self as usize]
    }
}

/// The number of dropped frames from which on each level begins (Matrix `DEFAULT_DROPPED_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropLevels {
    /// `clicfg_matrix_fps_dropped_normal`
    pub normal: u32,
    /// `clicfg_matrix_fps_dropped_middle`
    pub middle: u32,
    /// `clicfg_matrix_fps_dropped_high`
    pub high: u32,
    /// `clicfg_matrix_fps_dropped_frozen`
    pub frozen: u32,
}

impl Default for DropLevels {
    fn default() -> Self {
        DropLevels { normal: 3, middle: 9, high: 24, frozen: 42 }
    }
}

impl DropLevels {
    /// The level of a frame that dropped so many. If the limits are out of order, the worst that is reached.
    ///
    /// ```
    /// use trace_rules::frame::{DropLevels, Level, dropped, interval_ns};
    ///
    /// let took_ns = 200_000_000;
    /// let dropped = dropped(took_ns, interval_ns(60.0)).whole();
    /// assert_eq!((dropped, DropLevels::default().level(dropped)), (10, Level::Middle));
    /// ```
    #[must_use]
    pub fn level(&self, dropped: u32) -> Level {
        match dropped {
            n if n >= self.frozen => Level::Frozen,
            n if n >= self.high => Level::High,
            n if n >= self.middle => Level::Middle,
            n if n >= self.normal => Level::Normal,
            _ => Level::Best,
        }
    }
}

/// Frames and dropped frames of each level, by [`Level`]'s order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames.
    pub frames: [u32; 5],
    /// Dropped frames.
    pub dropped: [u32; 5],
}

impl Counts {
    /// Adds a frame that dropped so many.
    pub fn add(&mut self, dropped: u32, levels: &DropLevels) {
        let level = levels.level(dropped) as usize;
        self.frames[level] = self.frames[level].saturating_add(1);
        self.dropped[level] = self.dropped[level].saturating_add(dropped);
    }

    /// All dropped frames.
    #[must_use]
    pub fn total_dropped(&self) -> u64 {
        self.dropped.iter().map(|dropped| u64::from(*dropped)).sum()
    }
}

/// The frame interval at a refresh rate, to the nearest ns. An invalid rate (0, negative, not a number, above 1,000)
/// counts as 60 Hz.
#[must_use]
pub fn interval_ns(refresh_hz: f32) -> u64 {
    let hz = if (1.0..=1_000.0).contains(&refresh_hz) { f64::from(refresh_hz) } else { 60.0 };
    (1e9 / hz).round() as u64
}

/// How many frames a frame dropped, in thousandths, so that each rule can round it its own way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dropped {
    thousandths: u64,
}

/// The frames dropped by a frame that took `took_ns` from its intended vsync to its end: the time beyond one interval, in intervals.
#[must_use]
pub fn dropped(took_ns: u64, interval_ns: u64) -> Dropped {
    let interval_ns = interval_ns.max(1);
    let beyond = took_ns.saturating_sub(interval_ns);
    // Beyond 213 days the thousandths are not worth a wider division.
    let thousandths = match beyond.checked_mul(1_000) {
        Some(beyond) => beyond / interval_ns,
        None => (beyond / interval_ns).saturating_mul(1_000),
    };
    Dropped { thousandths }
}

impl Dropped {
    /// Whole frames, by our rule: ⌊(took − interval) / interval⌋.
    #[must_use]
    pub fn whole(self) -> u32 {
        u32::try_from(self.thousandths / 1_000).unwrap_or(u32::MAX)
    }

    /// To the nearest whole, a half upwards: what Matrix from 2.1 on takes for the level.
    #[must_use]
    pub fn rounded(self) -> u32 {
        u32::try_from((self.thousandths + 500) / 1_000).unwrap_or(u32::MAX)
    }

    /// In thousandths of a frame.
    #[must_use]
    pub fn thousandths(self) -> u64 {
        self.thousandths
    }

    /// Whether it reaches `threshold`, which is meant for 60 Hz: at 120 Hz the same time drops twice as many.
    #[must_use]
    pub fn reaches(self, threshold: u32, interval_ns: u64) -> bool {
        // The interval is rounded: the true one may be half a nanosecond longer.
        let doubled = u128::from(interval_ns.max(1)) * 2 + 1;
        u128::from(self.thousandths) * doubled * 60 >= u128::from(threshold) * 2 * 1_000 * 1_000_000_000
    }
}
