//! `StartUpTracer` of 0.4: one report a process, with the numbers `betweenCost` and `splashCost`.

/// The moments of a start, in ms of one clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matrix04StartTimes {
    /// `Application` began.
    pub application_begin: i64,
    /// Its create ended.
    pub application_end: i64,
    /// The first activity's create.
    pub first_create: i64,
    /// When the splash page got focus; 0 without a splash page.
    pub splash_focus: i64,
    /// The focus of the first page that is no splash.
    pub focus: i64,
}

/// The durations that it reports, ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrix04Start {
    /// `application_create`
    pub application: i64,
    /// `stage_between_app_and_activity`
    pub between: i64,
    /// `first_activity_create`: create to focus.
    pub activity: i64,
    /// `startup_duration`
    pub all: i64,
    /// `splash_activity_duration`
    pub splash: i64,
    /// `is_warm_start_up`
    pub warm: bool,
}

/// From this gap between application and activity on the start is warm, ms: the gap does not belong to the start.
const WARM_MS: i64 = 2_000;

impl Matrix04Start {
    /// The report of a start; `None` if the application's part was not seen.
    #[must_use]
    pub fn from_times(times: &Matrix04StartTimes) -> Option<Self> {
        let application = times.application_end - times.application_begin;
        if application <= 0 {
            return None;
        }
        let between = times.first_create - times.application_end;
        let activity = times.focus - times.first_create;
        let warm = between > WARM_MS;
        Some(Matrix04Start {
            application,
            between: if warm { 0 } else { between },
            activity,
            all: if warm { activity } else { times.focus - times.application_begin },
            splash: if times.splash_focus == 0 { 0 } else { times.focus - times.splash_focus },
            warm,
        })
    }
}
