//! Whether the app is in the foreground, and what its scene is.
//!
//! A change of pages, a rotation or a permission dialog pauses one activity before the next one resumes: only after 500 ms
//! without a resumed activity is the app taken for gone (`ProcessUILifecycleOwner`). Times are milliseconds of uptime.

/// How long no activity must be resumed, unless [`Foreground::set_debounce`] says otherwise.
pub const DEBOUNCE_MS: u64 = 500;

/// What changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ground {
    /// The app came to the foreground.
    Foreground,
    /// The app went to the background.
    Background,
}

/// The activities' life cycles, as one answer. An activity is named by any number of its own, its class by its text id.
#[derive(Debug, Default)]
pub struct Foreground {
    started: Vec<u64>,
    resumed: Vec<u64>,
    scene: u32,
    own_scene: Option<u32>,
    foreground: bool,
    paused: bool,
    due_ms: Option<u64>,
    debounce_ms: u64,
}

fn insert(set: &mut Vec<u64>, activity: u64) {
    if !set.contains(&activity) {
        set.push(activity);
    }
}

impl Foreground {
    /// In the background, without a scene.
    #[must_use]
    pub fn new() -> Self {
        Foreground { paused: true, debounce_ms: DEBOUNCE_MS, ..Foreground::default() }
    }

    /// How long no activity must be resumed, ms, from the next pause on.
    pub fn set_debounce(&mut self, debounce_ms: u64) {
        self.debounce_ms = debounce_ms;
    }

    /// `onActivityStarted`.
    pub fn started(&mut self, activity: u64, class: u32) -> Option<Ground> {
        self.scene = class;
        insert(&mut self.started, activity);
        let came = !std::mem::replace(&mut self.foreground, true);
        came.then_some(Ground::Foreground)
    }

    /// `onActivityResumed`.
    pub fn resumed(&mut self, activity: u64) {
        insert(&mut self.resumed, activity);
        self.paused = false;
        self.due_ms = None;
    }

    /// `onActivityPaused`. See [`Foreground::due_ms`].
    pub fn paused(&mut self, activity: u64, now_ms: u64) {
        self.resumed.retain(|resumed| *resumed != activity);
        if self.resumed.is_empty() && !self.paused {
            self.due_ms = Some(now_ms + self.debounce_ms);
        }
    }

    /// `onActivityStopped`.
    pub fn stopped(&mut self, activity: u64) -> Option<Ground> {
        self.started.retain(|started| *started != activity);
        self.leave()
    }

    /// `onActivityDestroyed`: one that threw in its life cycle was not stopped before.
    pub fn destroyed(&mut self, activity: u64, now_ms: u64) -> Option<Ground> {
        if self.resumed.contains(&activity) {
            self.paused(activity, now_ms);
        }
        self.stopped(activity)
    }

    /// When [`Foreground::tick`] is to be called, if at all.
    #[must_use]
    pub fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }

    /// The time has come, or not yet.
    pub fn tick(&mut self, now_ms: u64) -> Option<Ground> {
        if self.due_ms.is_none_or(|due| now_ms < due) {
            return None;
        }
        self.due_ms = None;
        self.paused = self.resumed.is_empty();
        self.leave()
    }

    fn leave(&mut self) -> Option<Ground> {
        let leaves = self.foreground && self.started.is_empty() && self.paused;
        if leaves {
            self.foreground = false;
        }
        leaves.then_some(Ground::Background)
    }

    /// Whether the app is in the foreground.
    #[must_use]
    pub fn is_foreground(&self) -> bool {
        self.foreground
    }

    /// The scene: what the app set, or the class of the activity that was started last; 0 before any (Matrix says
    /// "default" then).
    #[must_use]
    pub fn scene(&self) -> u32 {
        self.own_scene.unwrap_or(self.scene)
    }

    /// A scene of the app's own, or the activity's class again.
    pub fn set_scene(&mut self, scene: Option<u32>) {
        self.own_scene = scene;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: (u64, u32) = (1, 11);
    const NEXT: (u64, u32) = (2, 22);

    fn shown() -> Foreground {
        let mut ground = Foreground::new();
        assert_eq!((ground.scene(), ground.is_foreground()), (0, false));
        assert_eq!(ground.started(HOME.0, HOME.1), Some(Ground::Foreground));
        ground.resumed(HOME.0);
        ground
    }

    #[test]
    fn item_32_a_pause_of_less_than_500_ms_changes_nothing() {
        let mut ground = shown();
        ground.paused(HOME.0, 10_000);
        assert_eq!(ground.due_ms(), Some(10_500));
        assert_eq!(ground.stopped(HOME.0), None);
        assert_eq!(ground.tick(10_499), None);
        assert_eq!(ground.started(HOME.0, HOME.1), None);
        ground.resumed(HOME.0);
        assert_eq!((ground.due_ms(), ground.tick(20_000), ground.is_foreground()), (None, None, true));
    }

    #[test]
    fn item_32_after_500_ms_it_is_gone_whatever_comes_first() {
        // Stopped, then 500 ms.
        let mut ground = shown();
        ground.paused(HOME.0, 10_000);
        assert_eq!(ground.stopped(HOME.0), None);
        assert_eq!(ground.tick(10_500), Some(Ground::Background));
        assert_eq!(ground.started(HOME.0, HOME.1), Some(Ground::Foreground));
        // 500 ms, then stopped: another app's dialog over ours, until it is closed or ours goes.
        ground.resumed(HOME.0);
        ground.paused(HOME.0, 30_000);
        assert_eq!((ground.tick(30_500), ground.is_foreground()), (None, true));
        assert_eq!(ground.stopped(HOME.0), Some(Ground::Background));
        assert_eq!(ground.stopped(HOME.0), None);
    }

    #[test]
    fn item_32_a_change_of_pages_is_no_change_of_ground() {
        let mut ground = shown();
        ground.paused(HOME.0, 10_000);
        assert_eq!(ground.started(NEXT.0, NEXT.1), None);
        ground.resumed(NEXT.0);
        assert_eq!(ground.stopped(HOME.0), None);
        assert_eq!((ground.tick(11_000), ground.scene(), ground.is_foreground()), (None, NEXT.1, true));
        ground.set_scene(Some(99));
        assert_eq!(ground.scene(), 99);
        ground.set_scene(None);
        assert_eq!(ground.scene(), NEXT.1);
    }

    #[test]
    fn item_32_an_activity_that_dies_is_gone() {
        let mut ground = shown();
        assert_eq!(ground.destroyed(HOME.0, 10_000), None);
        assert_eq!(ground.tick(10_500), Some(Ground::Background));
    }
}
