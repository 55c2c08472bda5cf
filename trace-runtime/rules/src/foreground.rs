//! Decides whether the app is in the foreground, and names its scene.
//!
//! A change of pages, a rotation or a permission dialog pauses one activity before the next one resumes: only after 500 ms
//! without a resumed activity is the app in the background (`ProcessUILifecycleOwner`). Times are milliseconds of uptime.

/// The time without a resumed activity after which the app is in the background, unless [`Foreground::set_debounce`] changes it.
pub const DEBOUNCE_MS: u64 = 500;

/// The new state of the app after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppState {
    /// The app came to the foreground.
    Foreground,
    /// The app went to the background.
    Background,
}

/// Combines the activities' life cycles into one state. An activity has any unique number, its class a text id.
///
/// ```
/// use trace_rules::foreground::{AppState, Foreground};
///
/// let mut app = Foreground::new();
/// assert_eq!(app.started(1, 7), Some(AppState::Foreground));
/// app.resumed(1);
/// app.paused(1, 10_000);
/// assert_eq!((app.stopped(1), app.tick(10_500)), (None, Some(AppState::Background)));
/// ```
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

    /// Sets the time without a resumed activity, ms, from the next pause on.
    pub fn set_debounce(&mut self, debounce_ms: u64) {
        self.debounce_ms = debounce_ms;
    }

    /// `onActivityStarted`.
    pub fn started(&mut self, activity: u64, class: u32) -> Option<AppState> {
        self.scene = class;
        insert(&mut self.started, activity);
        let came = !std::mem::replace(&mut self.foreground, true);
        came.then_some(AppState::Foreground)
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
    pub fn stopped(&mut self, activity: u64) -> Option<AppState> {
        self.started.retain(|started| *started != activity);
        self.leave()
    }

    /// `onActivityDestroyed`: an activity that threw in its life cycle was not stopped before.
    pub fn destroyed(&mut self, activity: u64, now_ms: u64) -> Option<AppState> {
        if self.resumed.contains(&activity) {
            self.paused(activity, now_ms);
        }
        self.stopped(activity)
    }

    /// When to call [`Foreground::tick`]; `None` if no change is pending.
    #[must_use]
    pub fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }

    /// Applies a pending change if its time has come.
    pub fn tick(&mut self, now_ms: u64) -> Option<AppState> {
        if self.due_ms.is_none_or(|due| now_ms < due) {
            return None;
        }
        self.due_ms = None;
        self.paused = self.resumed.is_empty();
        self.leave()
    }

    fn leave(&mut self) -> Option<AppState> {
        let leaves = self.foreground && self.started.is_empty() && self.paused;
        if leaves {
            self.foreground = false;
        }
        leaves.then_some(AppState::Background)
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

    /// Sets the app's own scene, or the activity's class again.
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
        let mut app = Foreground::new();
        assert_eq!((app.scene(), app.is_foreground()), (0, false));
        assert_eq!(app.started(HOME.0, HOME.1), Some(AppState::Foreground));
        app.resumed(HOME.0);
        app
    }

    #[test]
    fn a_pause_of_less_than_500_ms_keeps_the_app_in_the_foreground() {
        let mut app = shown();
        app.paused(HOME.0, 10_000);
        assert_eq!(app.due_ms(), Some(10_500));
        assert_eq!(app.stopped(HOME.0), None);
        assert_eq!(app.tick(10_499), None);
        assert_eq!(app.started(HOME.0, HOME.1), None);
        app.resumed(HOME.0);
        assert_eq!((app.due_ms(), app.tick(20_000), app.is_foreground()), (None, None, true));
    }

    #[test]
    fn after_500_ms_the_app_is_in_the_background_in_any_order_of_events() {
        // Stopped, then 500 ms.
        let mut app = shown();
        app.paused(HOME.0, 10_000);
        assert_eq!(app.stopped(HOME.0), None);
        assert_eq!(app.tick(10_500), Some(AppState::Background));
        assert_eq!(app.started(HOME.0, HOME.1), Some(AppState::Foreground));
        // 500 ms, then stopped: another app's dialog covers the activity, until it is closed or the activity stops.
        app.resumed(HOME.0);
        app.paused(HOME.0, 30_000);
        assert_eq!((app.tick(30_500), app.is_foreground()), (None, true));
        assert_eq!(app.stopped(HOME.0), Some(AppState::Background));
        assert_eq!(app.stopped(HOME.0), None);
    }

    #[test]
    fn a_change_of_pages_keeps_the_app_in_the_foreground() {
        let mut app = shown();
        app.paused(HOME.0, 10_000);
        assert_eq!(app.started(NEXT.0, NEXT.1), None);
        app.resumed(NEXT.0);
        assert_eq!(app.stopped(HOME.0), None);
        assert_eq!((app.tick(11_000), app.scene(), app.is_foreground()), (None, NEXT.1, true));
        app.set_scene(Some(99));
        assert_eq!(app.scene(), 99);
        app.set_scene(None);
        assert_eq!(app.scene(), NEXT.1);
    }

    #[test]
    fn a_destroyed_activity_no_longer_counts() {
        let mut app = shown();
        assert_eq!(app.destroyed(HOME.0, 10_000), None);
        assert_eq!(app.tick(10_500), Some(AppState::Background));
    }
}
