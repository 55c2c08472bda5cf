//! Measures the starts of the process and of pages.
//!
//! | kind | from | to |
//! | --- | --- | --- |
//! | application | the recorder's start | the first launch, service or receiver message |
//! | first screen | the recorder's start | the first focus |
//! | cold | the recorder's start | the first focus; with a splash page the focus after it; with a chosen end page that page's |
//! | warm | the first create while no activity lives | the next focus |
//! | hot | the app comes back to the foreground with an activity alive; or the launch of a page that brings it there | the next focus |
//! | page | its launch message | its focus |
//!
//! A provider starts before `Application.onCreate` and ends nothing. Times are nanoseconds of one clock; costs are in
//! whole milliseconds.

use trace_format::android::h;
use trace_format::time::MS;

/// The first message of the process that created a component (a code of `ActivityThread.H`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreatedBy(pub i32);

impl CreatedBy {
    /// LAUNCH_ACTIVITY (to API 27).
    pub const LAUNCH: CreatedBy = CreatedBy(h::LAUNCH_ACTIVITY);
    /// EXECUTE_TRANSACTION with a LaunchActivityItem (from API 28). Matrix reports 159.
    pub const TRANSACTION: CreatedBy = CreatedBy(h::EXECUTE_TRANSACTION);
    /// RECEIVER.
    pub const RECEIVER: CreatedBy = CreatedBy(h::RECEIVER);
    /// CREATE_SERVICE.
    pub const SERVICE: CreatedBy = CreatedBy(h::CREATE_SERVICE);
    /// No message could be read: the first activity's create ended the application's part.
    pub const UNKNOWN: CreatedBy = CreatedBy(0);

    /// The component that a message of H with this `what` creates; `None` if it creates none. `launches` is whether a transaction (159)
    /// holds a launch, anywhere in its list (Matrix checks the first entry only).
    #[must_use]
    pub fn from_message(what: i32, launches: bool) -> Option<Self> {
        match what {
            h::EXECUTE_TRANSACTION => launches.then_some(CreatedBy(what)),
            h::LAUNCH_ACTIVITY
            | h::RELAUNCH_ACTIVITY_8
            | h::RELAUNCH_ACTIVITY
            | h::RECEIVER
            | h::CREATE_SERVICE => Some(CreatedBy(what)),
            _ => None,
        }
    }

    /// Whether an activity was relaunched.
    #[must_use]
    pub fn is_relaunch(self) -> bool {
        matches!(self.0, h::RELAUNCH_ACTIVITY_8 | h::RELAUNCH_ACTIVITY)
    }

    /// Whether it shows an activity.
    #[must_use]
    pub fn launches(self) -> bool {
        !matches!(self, CreatedBy::RECEIVER | CreatedBy::SERVICE)
    }
}

/// The durations from which on a start is bad, ms. Recommended are 2,000 cold and 500 hot; for games and video 3,000 and 1,000.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grades {
    /// A cold start.
    pub cold_ms: u64,
    /// A hot start.
    pub hot_ms: u64,
}

/// The app's configuration of its starts. Classes are text ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartConfig {
    /// Pages that are shown before the first real one.
    pub splash: Vec<u32>,
    /// The pages at which a cold start ends; if empty, the first that is no splash page.
    pub end_pages: Vec<u32>,
    /// Whether the process shows activities at all.
    pub has_activity: bool,
    /// A stack is attached to a cold start from here on, ms (Matrix: 10,000).
    pub cold_ms: u64,
    /// A stack is attached to a warm start from here on, ms (4,000).
    pub warm_ms: u64,
    /// A start in which a page takes this long from create to focus is dropped, ms: the user was away (30,000).
    pub drop_ms: u64,
    /// The durations from which on a start is bad.
    pub grades: Grades,
}

impl Default for StartConfig {
    fn default() -> Self {
        StartConfig {
            splash: Vec::new(),
            end_pages: Vec::new(),
            has_activity: true,
            cold_ms: 10_000,
            warm_ms: 4_000,
            drop_ms: 30_000,
            grades: Grades { cold_ms: 2_000, hot_ms: 500 },
        }
    }
}

/// The kind of a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartKind {
    /// The process began.
    Cold,
    /// The process lived, no activity did.
    Warm,
    /// An activity lived and came back to the foreground.
    Hot,
}

/// A start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Its kind.
    pub kind: StartKind,
    /// The application's part, ms; 0 unless the start is cold.
    pub application_ms: u64,
    /// The message that created the first component; for a cold start only.
    pub created_by: CreatedBy,
    /// From the recorder's start to the first focus, ms; 0 unless the start is cold and showed an activity.
    pub first_screen_ms: u64,
    /// The whole start, ms.
    pub cost_ms: u64,
    /// When the start's slice of the recording begins, ns.
    pub slice_from_ns: u64,
    /// Whether it took so long that the stack of that slice is attached.
    pub with_stack: bool,
    /// Whether it was bad by the given limits; warm starts have none.
    pub bad: bool,
}

/// A page that got the focus for the first time since it was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// From its launch message, ms, if that was seen.
    pub launch_ms: Option<u64>,
}

struct Living {
    activity: u64,
    created_ns: u64,
    launched_ns: Option<u64>,
    reported: bool,
}

/// Tracks the starts of one process.
#[derive(Default)]
pub struct Starts {
    config: StartConfig,
    begun_ns: u64,
    application: Option<(u64, CreatedBy)>,
    first_screen_ms: u64,
    splash_shown: bool,
    cold_done: bool,
    warm_since_ns: Option<u64>,
    hot_since_ns: Option<u64>,
    /// The app is in the background.
    away: bool,
    launch_ns: Option<u64>,
    living: Vec<Living>,
    focused: Vec<u32>,
}

impl Starts {
    /// A process whose recorder started at `begun_ns`.
    #[must_use]
    pub fn new(config: StartConfig, begun_ns: u64) -> Self {
        Starts { config, begun_ns, ..Starts::default() }
    }

    /// Changes the limits and pages.
    pub fn set_config(&mut self, config: StartConfig) {
        self.config = config;
    }

    /// A message of `ActivityThread.H` that creates something begins. The first one ends the application's part; in a
    /// process without activities that is the whole start.
    pub fn message(&mut self, created_by: CreatedBy, at_ns: u64) -> Option<Start> {
        if created_by.launches() {
            self.launch_ns = Some(at_ns);
        }
        if self.application.is_some() {
            return None;
        }
        self.application = Some(((at_ns.saturating_sub(self.begun_ns)) / MS, created_by));
        (!self.config.has_activity && !std::mem::replace(&mut self.cold_done, true))
            .then(|| self.cold(self.application_ms()))
    }

    /// `onActivityCreated`, or `onActivityPreCreated` (API 29).
    pub fn created(&mut self, activity: u64, at_ns: u64) {
        if self.application.is_none() {
            // The messages could not be read.
            self.message(CreatedBy::UNKNOWN, at_ns);
            self.launch_ns = None;
        }
        let launched_ns = self.launch_ns.take();
        if self.living.is_empty() && self.cold_done {
            self.warm_since_ns = Some(at_ns);
        } else if self.away && self.cold_done {
            // A page opened from outside over living ones, as by a notification.
            self.hot_since_ns = Some(launched_ns.unwrap_or(at_ns));
        }
        self.living.retain(|living| living.activity != activity);
        self.living.push(Living { activity, created_ns: at_ns, launched_ns, reported: false });
    }

    /// `onActivityDestroyed`.
    pub fn destroyed(&mut self, activity: u64) {
        self.living.retain(|living| living.activity != activity);
    }

    /// The app went to the background ([`crate::foreground::AppState`]).
    pub fn to_back(&mut self) {
        self.away = true;
        self.hot_since_ns = None;
    }

    /// The app comes back to the foreground: the first `onActivityStarted` after the background. A hot start if an activity
    /// lives, and it ends with the next focus.
    pub fn to_front(&mut self, at_ns: u64) {
        let came_back = std::mem::take(&mut self.away);
        if came_back && self.cold_done && !self.living.is_empty() && self.warm_since_ns.is_none() {
            self.hot_since_ns.get_or_insert(at_ns);
        }
    }

    /// A window of the activity gained or lost the focus (`at`). Two activities of one class are one, and only the first
    /// gain counts until it is lost.
    pub fn focus(
        &mut self,
        activity: u64,
        class: u32,
        gained: bool,
        at_ns: u64,
    ) -> (Option<Page>, Option<Start>) {
        if !gained {
            self.focused.retain(|focused| *focused != class);
            return (None, None);
        }
        if self.focused.contains(&class) {
            return (None, None);
        }
        self.focused.push(class);
        let page = self.page(activity, at_ns);
        let start = if self.cold_done { self.again(at_ns) } else { self.first(activity, class, at_ns) };
        (page, start)
    }

    fn page(&mut self, activity: u64, at_ns: u64) -> Option<Page> {
        let living = self.living.iter_mut().find(|living| living.activity == activity && !living.reported)?;
        living.reported = true;
        Some(Page { launch_ms: living.launched_ns.map(|from_ns| at_ns.saturating_sub(from_ns) / MS) })
    }

    fn first(&mut self, activity: u64, class: u32, at_ns: u64) -> Option<Start> {
        let (_, created_by) = self.application?;
        let since_begin_ms = at_ns.saturating_sub(self.begun_ns) / MS;
        if self.first_screen_ms == 0 {
            self.first_screen_ms = since_begin_ms;
        }
        let cost_ms = if !created_by.launches() {
            // The process started for a service or a receiver; the user opened the screen later.
            self.first_screen_ms = 0;
            self.application_ms()
        } else if !self.config.end_pages.is_empty() {
            self.config.end_pages.contains(&class).then_some(since_begin_ms)?
        } else if !self.splash_shown && self.config.splash.contains(&class) {
            self.splash_shown = true;
            return None;
        } else {
            since_begin_ms
        };
        self.cold_done = true;
        let living = self.living.iter().find(|living| living.activity == activity);
        let create_ms = living.map_or(0, |living| at_ns.saturating_sub(living.created_ns) / MS);
        (create_ms < self.config.drop_ms).then(|| self.cold(cost_ms))
    }

    fn again(&mut self, at_ns: u64) -> Option<Start> {
        let (kind, from_ns) = match (self.warm_since_ns.take(), self.hot_since_ns.take()) {
            (Some(from_ns), _) => (StartKind::Warm, from_ns),
            (None, Some(from_ns)) => (StartKind::Hot, from_ns),
            (None, None) => return None,
        };
        let cost_ms = at_ns.saturating_sub(from_ns) / MS;
        Some(Start {
            kind,
            application_ms: 0,
            created_by: CreatedBy::UNKNOWN,
            first_screen_ms: 0,
            cost_ms,
            slice_from_ns: from_ns,
            with_stack: cost_ms >= self.config.warm_ms,
            bad: kind == StartKind::Hot && cost_ms > self.config.grades.hot_ms,
        })
    }

    fn application_ms(&self) -> u64 {
        self.application.map_or(0, |(ms, _)| ms)
    }

    fn cold(&self, cost_ms: u64) -> Start {
        Start {
            kind: StartKind::Cold,
            application_ms: self.application_ms(),
            created_by: self.application.map_or(CreatedBy::UNKNOWN, |(_, by)| by),
            first_screen_ms: self.first_screen_ms,
            cost_ms,
            slice_from_ns: self.begun_ns,
            with_stack: cost_ms >= self.config.cold_ms,
            bad: cost_ms > self.config.grades.cold_ms,
        }
    }
}
