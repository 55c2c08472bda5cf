//! Every flag and threshold of the monitors: one table, from which the documentation is made, too.
//!
//! Numbers are atomics that any thread reads and that may be changed at run time (Matrix's `IDynamicConfig`); whoever reads one
//! takes what is in force at that moment. Texts are read where something starts, and not on a hot path.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// An option with a numeric value; flags are 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Setting {
    /// `recording`
    Recording,
    /// `fps`
    Fps,
    /// `slow`
    Slow,
    /// `anr`
    Anr,
    /// `signal_anr`
    SignalAnr,
    /// `startup`
    Startup,
    /// `idle`
    Idle,
    /// `touch`
    Touch,
    /// `tuning`
    Tuning,
    /// `history`
    History,
    /// `density`
    Density,
    /// `printer`
    Printer,
    /// `overlay`
    Overlay,
    /// `has_activity`
    HasActivity,
    /// `shared_preferences_fix`
    SharedPreferencesFix,
    /// `log`
    Log,
    /// `slow_ms`
    SlowMs,
    /// `lag_ms`
    LagMs,
    /// `anr_ms`
    AnrMs,
    /// `anr_too_late_ms`
    AnrTooLateMs,
    /// `sample_ms`
    SampleMs,
    /// `sample_from_ms`
    SampleFromMs,
    /// `stacks`
    Stacks,
    /// `stack_lines`
    StackLines,
    /// `stack_style`
    StackStyle,
    /// `policy`
    Policy,
    /// `anr_profile`
    AnrProfile,
    /// `fps_window_ms`
    FpsWindowMs,
    /// `fps_threshold`
    FpsThreshold,
    /// `older_fps`
    OlderFps,
    /// `older_methods`
    OlderMethods,
    /// `older_startup`
    OlderStartup,
    /// `enter_ms`
    EnterMs,
    /// `tell_dropped`
    TellDropped,
    /// `dropped_normal`
    DroppedNormal,
    /// `dropped_middle`
    DroppedMiddle,
    /// `dropped_high`
    DroppedHigh,
    /// `dropped_frozen`
    DroppedFrozen,
    /// `cold_ms`
    ColdMs,
    /// `warm_ms`
    WarmMs,
    /// `good_cold_ms`
    GoodColdMs,
    /// `good_hot_ms`
    GoodHotMs,
    /// `page_ms`
    PageMs,
    /// `idle_ms`
    IdleMs,
    /// `touch_ms`
    TouchMs,
    /// `slack_ns`
    SlackNs,
    /// `background_ms`
    BackgroundMs,
    /// `main_only`
    MainOnly,
    /// `coarse_clock`
    CoarseClock,
    /// `every_call`
    EveryCall,
    /// `max_overhead`
    MaxOverhead,
    /// `main_words`
    MainWords,
    /// `pool_words`
    PoolWords,
    /// `keep_recordings`
    KeepRecordings,
    /// `keep_days`
    KeepDays,
    /// `keep_kib`
    KeepKib,
    /// `installs_per_mille`
    InstallsPerMille,
    /// `redact`
    Redact,
}

/// A text's place in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Text {
    /// `splash_activities`
    SplashActivities,
    /// `end_activities`
    EndActivities,
    /// `care_scenes`
    CareScenes,
}

/// A number of the table.
#[derive(Clone, Copy, Debug)]
pub struct NumberOption {
    /// Its place.
    pub setting: Setting,
    /// Its key in a configuration.
    pub key: &'static str,
    /// What it is where nothing was said.
    pub default: u64,
    /// The least value; a smaller one is taken as this.
    pub least: u64,
    /// The greatest value.
    pub greatest: u64,
    /// What Matrix calls it, empty if it has none.
    pub matrix: &'static str,
    /// What it does.
    pub what: &'static str,
}

/// A text of the table.
#[derive(Clone, Copy, Debug)]
pub struct TextOption {
    /// Its place.
    pub text: Text,
    /// Its key.
    pub key: &'static str,
    /// What Matrix calls it.
    pub matrix: &'static str,
    /// What it does.
    pub what: &'static str,
}

macro_rules! numbers {
    ($($setting:ident $key:literal $default:literal $least:literal ..= $greatest:literal $matrix:literal $what:literal)*) => {
        /// All numeric options, in the order of [`Setting`].
        pub const NUMBERS: &[NumberOption] = &[$(NumberOption {
            setting: Setting::$setting,
            key: $key,
            default: $default,
            least: $least,
            greatest: $greatest,
            matrix: $matrix,
            what: $what,
        }),*];
        static VALUES: [AtomicU64; NUMBERS.len()] = [$(AtomicU64::new($default)),*];
    };
}

numbers! {
    Recording "recording" 1 0..=1 "" "Off: nothing is recorded and nothing watched, now and at the next starts, until somebody says on (the switch for a server)"
    Fps "fps" 1 0..=1 "enableFPS" "Frames: stages, dropped frames, reports of scenes"
    Slow "slow" 1 0..=1 "enableEvilMethodTrace" "Slow messages, with what main called"
    Anr "anr" 1 0..=1 "enableAnrTrace" "The timers of LAG and ANR"
    SignalAnr "signal_anr" 1 0..=1 "enableSignalAnrTrace" "A report for an ANR that SIGQUIT told"
    Startup "startup" 1 0..=1 "enableStartup" "Starts and pages"
    Idle "idle" 1 0..=1 "enableIdleHandlerTrace" "Idle handlers"
    Touch "touch" 1 0..=1 "enableTouchEventTrace" "Touch events that wait"
    Tuning "tuning" 1 0..=1 "" "Main's priority and timer slack"
    History "history" 1 0..=1 "enableHistoryMsgRecorder" "The last 200 messages in reports"
    Density "density" 0 0..=1 "enableDenseMsgTracer" "Count and length of the last 5,000 messages"
    Printer "printer" 1 0..=1 "" "The Looper's Printer tells of main's messages; off, or where the system calls none: the outermost calls of main's record do, and frames have no stages"
    Overlay "overlay" 0 0..=1 "FrameDecorator" "The window that shows frames a second"
    HasActivity "has_activity" 1 0..=1 "isHasActivity" "0: a process without activities, whose start ends with its application's"
    SharedPreferencesFix "shared_preferences_fix" 0 0..=1 "IssueFixConfig" "API 21 to 25: main does not wait for SharedPreferences at a stop"
    Log "log" 0 0..=1 "isDebug" "Reports are written to the log, too"
    SlowMs "slow_ms" 700 1..=60_000 "clicfg_matrix_trace_evil_method_threshold" "A message is slow from here on, ms"
    LagMs "lag_ms" 2_000 0..=60_000 "DEFAULT_NORMAL_LAG" "A message is a LAG from here on, ms; 0 never"
    AnrMs "anr_ms" 5_000 0..=60_000 "DEFAULT_ANR" "A message is an ANR from here on, ms; 0 never"
    AnrTooLateMs "anr_too_late_ms" 0 0..=60_000 "DEFAULT_ANR_INVALID" "No ANR is told from here on, ms; 0 always"
    SampleMs "sample_ms" 66 0..=10_000 "" "Distance of main's stack samples while it is stuck, ms; 0 none"
    SampleFromMs "sample_from_ms" 300 50..=60_000 "" "Main's stack is sampled in a message from this age on, ms"
    Stacks "stacks" 1 0..=1 "" "Main's Java stack is taken while it is stuck; off: never, since main is stopped for it (docs/monitors.md says what that can cost)"
    StackLines "stack_lines" 30 1..=1_000 "TARGET_EVIL_METHOD_STACK" "Lines of a stack in a report"
    StackStyle "stack_style" 1 0..=2 "looperPrinterStackStyle" "Java stacks in reports: 0 simple, 1 whole, 2 raw"
    Policy "policy" 0 0..=1 "" "Whether a SIGQUIT was an ANR: 0 by our rules, 1 by Matrix's"
    AnrProfile "anr_profile" 1 0..=1 "" "API 36: the platform is asked for a profile of each ANR, and the recording says where it is"
    FpsWindowMs "fps_window_ms" 10_000 1_000..=600_000 "clicfg_matrix_trace_fps_time_slice" "A scene's frames are reported this often, ms"
    FpsThreshold "fps_threshold" 0 0..=600 "clicfg_matrix_trace_fps_report_threshold" "Only frames with this many dropped ones are in reports"
    OlderFps "older_fps" 0 0..=1 "FPSTracer (0.4)" "Frames are reported as Matrix 0.4 did, too: every 2 min, in slices of 6 s"
    OlderMethods "older_methods" 0 0..=1 "EvilMethodTracer (0.4)" "Pages that open slowly (ENTER, with the depth and number of their views) and messages that filled main's ring (FULL), as Matrix 0.4 reported them"
    OlderStartup "older_startup" 0 0..=1 "StartUpTracer (0.4)" "A process's first page is reported as Matrix 0.4 did, too: with betweenCost and splashCost"
    EnterMs "enter_ms" 3_000 1..=60_000 "clicfg_matrix_trace_load_activity_threshold" "A page opens slowly from here on, ms, up to page_ms; with older_methods"
    TellDropped "tell_dropped" 3 0..=10_000 "DropFrameListener" "Observers are told of a frame that dropped this many at 60 Hz (at 120 Hz twice as many); 0 none"
    DroppedNormal "dropped_normal" 3 1..=10_000 "clicfg_matrix_fps_dropped_normal" "Dropped frames from which on a frame is NORMAL"
    DroppedMiddle "dropped_middle" 9 1..=10_000 "clicfg_matrix_fps_dropped_middle" "... MIDDLE"
    DroppedHigh "dropped_high" 24 1..=10_000 "clicfg_matrix_fps_dropped_high" "... HIGH"
    DroppedFrozen "dropped_frozen" 42 1..=10_000 "clicfg_matrix_fps_dropped_frozen" "... FROZEN"
    ColdMs "cold_ms" 10_000 1..=600_000 "clicfg_matrix_trace_app_start_up_threshold" "A cold start has a stack from here on, ms"
    WarmMs "warm_ms" 4_000 1..=600_000 "clicfg_matrix_trace_warm_app_start_up_threshold" "A warm start has a stack from here on, ms"
    GoodColdMs "good_cold_ms" 2_000 1..=600_000 "" "A cold start is bad above, ms (for games and video 3000 is usual)"
    GoodHotMs "good_hot_ms" 500 1..=600_000 "" "A hot start is bad above, ms (for games and video 1000)"
    PageMs "page_ms" 30_000 1..=600_000 "" "A page that took this long is dropped, ms"
    IdleMs "idle_ms" 2_000 1..=60_000 "setIdleHandlerThreshold" "An idle handler is late from here on, ms"
    TouchMs "touch_ms" 2_000 1..=60_000 "setTouchEventThreshold" "A touch event is late from here on, ms"
    SlackNs "slack_ns" 50_000 0..=1_000_000_000 "" "Main's timer slack is reported above, ns"
    BackgroundMs "background_ms" 500 0..=60_000 "" "Without a resumed activity for this long it is in the background, ms"
    MainOnly "main_only" 0 0..=1 "" "Main alone is recorded; other threads that were recorded before go on"
    CoarseClock "coarse_clock" 1 0..=1 "" "Methods get their time once a millisecond; messages, frames and waits stay exact"
    EveryCall "every_call" 0 0..=1 "" "Every call is recorded; else one that begins and ends within a millisecond (20 us without the coarse clock) leaves nothing but a count"
    MaxOverhead "max_overhead" 3 0..=100 "" "Percent of the threads' time that recording may take; beyond it the methods that are called most are switched off. 0: none ever is"
    MainWords "main_words" 0 0..=16_777_216 "BUFFER_SIZE" "Words of 8 bytes in main's ring, from the app's next start on; 0: a million"
    PoolWords "pool_words" 0 0..=16_777_216 "" "The same of all other threads together; 0: half a million"
    KeepRecordings "keep_recordings" 20 1..=10_000 "" "Recordings kept at most"
    KeepDays "keep_days" 14 1..=3_650 "" "Days for which one is kept at most"
    KeepKib "keep_kib" 262_144 1_024..=1_073_741_824 "" "KiB of all together"
    InstallsPerMille "installs_per_mille" 1_000 0..=1_000 "" "Installations of 1,000 in which it starts at all"
    Redact "redact" 0 0..=1 "" "Texts that the app makes up (marks, counters, scenes, names of threads, what callbacks say of themselves, what the system quotes) are recorded as a number"
}

/// All texts, in the order of [`Text`].
pub const TEXTS: &[TextOption] = &[
    TextOption {
        text: Text::SplashActivities,
        key: "splash_activities",
        matrix: "clicfg_matrix_trace_care_scene_set",
        what: "Classes of the splash pages, with ; between",
    },
    TextOption {
        text: Text::EndActivities,
        key: "end_activities",
        matrix: "",
        what: "Classes of the pages that end a cold start, with ; between; none: the first page that is no splash page",
    },
    TextOption {
        text: Text::CareScenes,
        key: "care_scenes",
        matrix: "clicfg_matrix_trace_care_scene_set (0.4)",
        what: "Scenes whose frames are reported, with ; between; none: all",
    },
];

/// How often anything was set.
static CHANGES: AtomicU64 = AtomicU64::new(0);

static TEXT_VALUES: Mutex<[String; TEXTS.len()]> = Mutex::new([const { String::new() }; TEXTS.len()]);

/// Why a line of a configuration was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No option has this key.
    Key,
    /// The value is no number.
    Value,
}

/// What is in force.
#[must_use]
pub fn number(setting: Setting) -> u64 {
    VALUES[setting as usize].load(Ordering::Relaxed)
}

/// Whether a flag is set.
#[must_use]
pub fn is_enabled(flag: Setting) -> bool {
    number(flag) != 0
}

/// Another number whenever an option was set: who keeps what it made of options looks at this first.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// A text that is in force, empty by default.
#[must_use]
pub fn text(text: Text) -> String {
    TEXT_VALUES.lock().unwrap_or_else(PoisonError::into_inner)[text as usize].clone()
}

/// Sets one option, by its key. A number outside of its range becomes the nearest inside; `true` and `false` are 1 and 0.
/// Gives the number that was set, nothing for a text.
///
/// # Errors
/// [`Refused`]; nothing changed.
pub fn set(key: &str, value: &str) -> Result<Option<Setting>, Refused> {
    if let Some(option) = NUMBERS.iter().find(|option| option.key == key) {
        let value = match value {
            "true" => 1,
            "false" => 0,
            other => other.parse().map_err(|_| Refused::Value)?,
        };
        VALUES[option.setting as usize].store(value.clamp(option.least, option.greatest), Ordering::Relaxed);
        CHANGES.fetch_add(1, Ordering::Release);
        return Ok(Some(option.setting));
    }
    let option = TEXTS.iter().find(|option| option.key == key).ok_or(Refused::Key)?;
    value.clone_into(&mut TEXT_VALUES.lock().unwrap_or_else(PoisonError::into_inner)[option.text as usize]);
    CHANGES.fetch_add(1, Ordering::Release);
    Ok(None)
}

/// Everything in force, a `key=value` a line, in the order of the table.
#[must_use]
pub fn in_force() -> String {
    let mut lines = String::new();
    let mut line = |key: &str, value: &str| {
        for part in [key, "=", value, "\n"] {
            lines.push_str(part);
        }
    };
    for option in NUMBERS {
        line(option.key, &number(option.setting).to_string());
    }
    for option in TEXTS {
        line(option.key, &text(option.text).replace('\n', " "));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_where_its_place_says_and_has_a_key_of_its_own() {
        let mut keys: Vec<_> = NUMBERS.iter().map(|o| o.key).chain(TEXTS.iter().map(|o| o.key)).collect();
        for (place, option) in NUMBERS.iter().enumerate() {
            assert_eq!(option.setting as usize, place, "{}", option.key);
            assert!((option.least..=option.greatest).contains(&option.default), "{}", option.key);
        }
        for (place, option) in TEXTS.iter().enumerate() {
            assert_eq!(option.text as usize, place, "{}", option.key);
        }
        keys.sort_unstable();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn every_key_is_set_and_read_again_and_kept_in_its_range() {
        for option in NUMBERS {
            set(option.key, &option.greatest.to_string()).unwrap();
            assert_eq!(number(option.setting), option.greatest, "{}", option.key);
            set(option.key, "0").unwrap();
            assert_eq!(number(option.setting), option.least, "{}", option.key);
            assert_eq!(set(option.key, "soon"), Err(Refused::Value));
            set(option.key, &option.default.to_string()).unwrap();
        }
        for option in TEXTS {
            set(option.key, "a.B;c.D").unwrap();
            assert_eq!(text(option.text), "a.B;c.D");
            set(option.key, "").unwrap();
        }
        assert_eq!(set("slow", "true"), Ok(Some(Setting::Slow)));
        assert_eq!(set("quick", "1"), Err(Refused::Key));
        assert!(in_force().starts_with("recording=1\nfps=1\n"), "{}", in_force());
    }
}
