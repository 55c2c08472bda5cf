//! Decides whether the app is in the foreground.
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

/// Combines the activities' life cycles into one state. An activity has any unique number.
///
/// ```
/// use trace_rules::foreground::{AppState, Foreground};
///
/// let mut app = Foreground::new();
/// assert_eq!(app.started(1), Some(AppState::Foreground));
/// app.resumed(1);
/// app.paused(1, 10_000);
/// assert_eq!((app.stopped(1), app.tick(10_500)), (None, Some(AppState::Background)));
/// ```
#[derive(Debug, Default)]
pub struct Foreground {
    started: Vec<u64>,
    resumed: Vec<u64>,
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
    /// In the background.
    #[must_use]
    pub fn new() -> Self {
        Foreground { paused: true, debounce_ms: DEBOUNCE_MS, ..Foreground::default() }
    }

    /// Sets the time without a resumed activity, ms, from the next pause on.
    pub fn set_debounce(&mut self, debounce_ms: u64) {
        self.debounce_ms = debounce_ms;
    }

    /// `onActivityStarted`.
    pub fn started(&mut self, activity: u64) -> Option<AppState> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: u64 = 1;
    const NEXT: u64 = 2;

    fn shown() -> Foreground {
        let mut app = Foreground::new();
        assert!(!app.foreground);
        assert_eq!(app.started(HOME), Some(AppState::Foreground));
        app.resumed(HOME);
        app
    }

    #[test]
    fn a_pause_of_less_than_500_ms_keeps_the_app_in_the_foreground() {
        let mut app = shown();
        app.paused(HOME, 10_000);
        assert_eq!(app.due_ms(), Some(10_500));
        assert_eq!(app.stopped(HOME), None);
        assert_eq!(app.tick(10_499), None);
        assert_eq!(app.started(HOME), None);
        app.resumed(HOME);
        assert_eq!((app.due_ms(), app.tick(20_000), app.foreground), (None, None, true));
    }

    #[test]
    fn after_500_ms_the_app_is_in_the_background_in_any_order_of_events() {
        // Stopped, then 500 ms.
        let mut app = shown();
        app.paused(HOME, 10_000);
        assert_eq!(app.stopped(HOME), None);
        assert_eq!(app.tick(10_500), Some(AppState::Background));
        assert_eq!(app.started(HOME), Some(AppState::Foreground));
        // 500 ms, then stopped: another app's dialog covers the activity, until it is closed or the activity stops.
        app.resumed(HOME);
        app.paused(HOME, 30_000);
        assert_eq!((app.tick(30_500), app.foreground), (None, true));
        assert_eq!(app.stopped(HOME), Some(AppState::Background));
        assert_eq!(app.stopped(HOME), None);
    }

    #[test]
    fn a_change_of_pages_keeps_the_app_in_the_foreground() {
        let mut app = shown();
        app.paused(HOME, 10_000);
        assert_eq!(app.started(NEXT), None);
        app.resumed(NEXT);
        assert_eq!(app.stopped(HOME), None);
        assert_eq!((app.tick(11_000), app.foreground), (None, true));
    }

    #[test]
    fn a_destroyed_activity_no_longer_counts() {
        let mut app = shown();
        assert_eq!(app.destroyed(HOME, 10_000), None);
        assert_eq!(app.tick(10_500), Some(AppState::Background));
    }
}
