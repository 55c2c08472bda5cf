//! Every flag and threshold of the monitors, in one table. The documentation is made from it too.
//!
//! Numbers are atomics that any thread reads and that can change at run time (Matrix's `IDynamicConfig`); a
//! reader takes the current value. Texts are read when something starts, not on a hot path.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::android::ANR_LIMIT_MS;

use crate::unpoisoned::lock;

/// An option with a text value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Text {
    /// `splash_activities`
    SplashActivities,
    /// `end_activities`
    EndActivities,
    /// `care_scenes`
    CareScenes,
    /// `profile_triggers`
    ProfileTriggers,
}

/// A row of the table for a numeric option.
#[derive(Clone, Copy, Debug)]
pub struct NumberOption {
    /// The option.
    pub setting: Setting,
    /// Its key in a configuration.
    pub key: &'static str,
    /// Its value unless it is set.
    pub default: u64,
    /// The smallest value; a smaller one is raised to this.
    pub least: u64,
    /// The largest value; a larger one is lowered to this.
    pub greatest: u64,
    /// Matrix's name for it, or empty.
    pub matrix: &'static str,
    /// Its description.
    pub what: &'static str,
}

/// A row of the table for a text option.
#[derive(Clone, Copy, Debug)]
pub struct TextOption {
    /// The option.
    pub text: Text,
    /// Its key.
    pub key: &'static str,
    /// Matrix's name for it, or empty.
    pub matrix: &'static str,
    /// Its description.
    pub what: &'static str,
}

macro_rules! numbers {
    ($($setting:ident $key:literal $default:tt $least:literal ..= $greatest:literal $matrix:literal $what:literal)*) => {
        /// An option with a numeric value; flags are 0 or 1.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Setting {
            $(#[doc = concat!("`", $key, "`")] $setting,)*
        }
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
    Recording "recording" 1 0..=1 "" "Off: records and watches nothing, now and at later starts; a remote kill switch that persists until set to 1"
    Fps "fps" 1 0..=1 "enableFPS" "Frames: stages, dropped frames, reports per screen"
    Slow "slow" 1 0..=1 "enableEvilMethodTrace" "Slow messages, with what main called"
    Anr "anr" 1 0..=1 "enableAnrTrace" "LAG and ANR detection by timer"
    SignalAnr "signal_anr" 1 0..=1 "enableSignalAnrTrace" "A report for an ANR detected by SIGQUIT"
    Startup "startup" 1 0..=1 "enableStartup" "App starts and pages"
    Idle "idle" 1 0..=1 "enableIdleHandlerTrace" "Idle handlers"
    Touch "touch" 1 0..=1 "enableTouchEventTrace" "Delayed touch events"
    Tuning "tuning" 1 0..=1 "" "Main's priority and timer slack"
    History "history" 1 0..=1 "enableHistoryMsgRecorder" "The last 200 messages in reports"
    Density "density" 0 0..=1 "enableDenseMsgTracer" "Number and duration of the last 5,000 messages"
    Printer "printer" 1 0..=1 "" "Main's messages are reported by the Looper's Printer. Off, or where the system calls no Printer: main's outermost recorded calls stand for messages, and frames have no stages"
    Overlay "overlay" 0 0..=1 "FrameDecorator" "The window that shows frames per second"
    HasActivity "has_activity" 1 0..=1 "isHasActivity" "0: a process without activities, whose start ends when its application is created"
    SharedPreferencesFix "shared_preferences_fix" 0 0..=1 "IssueFixConfig" "API 21 to 25: main does not wait for SharedPreferences when an activity stops"
    Log "log" 0 0..=1 "isDebug" "Also write reports to the log"
    SlowMs "slow_ms" 700 1..=60_000 "clicfg_matrix_trace_evil_method_threshold" "Minimum duration of a slow message, ms"
    LagMs "lag_ms" 2_000 0..=60_000 "DEFAULT_NORMAL_LAG" "Age at which a message is a LAG, ms; 0 = never"
    AnrMs "anr_ms" ANR_LIMIT_MS 0..=60_000 "DEFAULT_ANR" "Age at which a message is an ANR, ms; 0 = never"
    AnrTooLateMs "anr_too_late_ms" 0 0..=60_000 "DEFAULT_ANR_INVALID" "ANRs detected later than this are not reported, ms; 0 = always report"
    SampleMs "sample_ms" 66 0..=10_000 "" "Interval between samples of main's stack while it is stalled, ms; 0 = no samples"
    SampleFromMs "sample_from_ms" 300 50..=60_000 "" "Age of a message from which main's stack is sampled, ms"
    Stacks "stacks" 1 0..=1 "" "Take main's Java stack while it is stalled. Off: never, because main is stopped for it (docs/monitors.md says what that can cost)"
    StackLines "stack_lines" 30 1..=1_000 "TARGET_EVIL_METHOD_STACK" "Maximum lines of a stack in a report"
    StackStyle "stack_style" 1 0..=2 "looperPrinterStackStyle" "Java stacks in reports: 0 simple, 1 whole, 2 raw"
    Policy "policy" 0 0..=1 "" "Rules that decide whether a SIGQUIT was an ANR: 0 anrscope's, 1 Matrix's"
    ExitId "exit_id" 1 0..=1 "" "API 30: give the system the recording's id as the process state summary, unless the app has its own"
    AnrProfile "anr_profile" 1 0..=1 "" "API 36: request a profile of each ANR from the platform; the recording says where it is"
    SystemTraceMs "system_trace_ms" 0 0..=60_000 "" "API 36.1: age of a message at which a snapshot of the running system trace is requested, ms; 0 = never"
    AnrWarning "anr_warning" 1 0..=1 "" "API 37: record the system's warnings of an imminent ANR"
    FpsWindowMs "fps_window_ms" 10_000 1_000..=600_000 "clicfg_matrix_trace_fps_time_slice" "Interval between frame reports per screen, ms"
    FpsThreshold "fps_threshold" 0 0..=600 "clicfg_matrix_trace_fps_report_threshold" "Report only frames with at least this many dropped frames"
    OlderFps "older_fps" 0 0..=1 "FPSTracer (0.4)" "Also report frames as Matrix 0.4 did: every 2 min, in slices of 6 s"
    OlderMethods "older_methods" 0 0..=1 "EvilMethodTracer (0.4)" "Report pages that open slowly (ENTER, with the depth and number of their views) and messages that filled main's ring (FULL) as Matrix 0.4 did"
    OlderStartup "older_startup" 0 0..=1 "StartUpTracer (0.4)" "Also report a process's first page as Matrix 0.4 did, with betweenCost and splashCost"
    EnterMs "enter_ms" 3_000 1..=60_000 "clicfg_matrix_trace_load_activity_threshold" "Minimum duration of a slowly opening page, ms, up to page_ms; with older_methods"
    TellDropped "tell_dropped" 3 0..=10_000 "DropFrameListener" "Notify observers of a frame with at least this many dropped frames at 60 Hz (twice as many at 120 Hz); 0 = never"
    DroppedNormal "dropped_normal" 3 1..=10_000 "clicfg_matrix_fps_dropped_normal" "Minimum dropped frames of the level NORMAL"
    DroppedMiddle "dropped_middle" 9 1..=10_000 "clicfg_matrix_fps_dropped_middle" "... MIDDLE"
    DroppedHigh "dropped_high" 24 1..=10_000 "clicfg_matrix_fps_dropped_high" "... HIGH"
    DroppedFrozen "dropped_frozen" 42 1..=10_000 "clicfg_matrix_fps_dropped_frozen" "... FROZEN"
    ColdMs "cold_ms" 10_000 1..=600_000 "clicfg_matrix_trace_app_start_up_threshold" "Minimum duration of a cold start that is reported with a stack, ms"
    WarmMs "warm_ms" 4_000 1..=600_000 "clicfg_matrix_trace_warm_app_start_up_threshold" "Minimum duration of a warm start that is reported with a stack, ms"
    GoodColdMs "good_cold_ms" 2_000 1..=600_000 "" "A cold start longer than this is bad, ms (3000 is usual for games and video)"
    GoodHotMs "good_hot_ms" 500 1..=600_000 "" "A hot start longer than this is bad, ms (1000 for games and video)"
    PageMs "page_ms" 30_000 1..=600_000 "" "Pages that took this long are not reported, ms"
    IdleMs "idle_ms" 2_000 1..=60_000 "setIdleHandlerThreshold" "Duration from which an idle handler is reported, ms"
    TouchMs "touch_ms" 2_000 1..=60_000 "setTouchEventThreshold" "Delay from which a touch event is reported, ms"
    SlackNs "slack_ns" 50_000 0..=1_000_000_000 "" "Main's timer slack is reported above this, ns"
    BackgroundMs "background_ms" 500 0..=60_000 "" "Time without a resumed activity after which the app is in the background, ms"
    MainOnly "main_only" 0 0..=1 "" "Record only the main thread; threads that were recorded before continue"
    CoarseClock "coarse_clock" 1 0..=1 "" "Timestamps of methods have a resolution of one millisecond; messages, frames and waits stay exact"
    EveryCall "every_call" 0 0..=1 "" "Record every call; otherwise a call within one millisecond (20 us without the coarse clock) is only counted"
    MaxOverhead "max_overhead" 3 0..=100 "" "Maximum share of the threads' time for recording, percent; beyond it the methods that are called most are switched off. 0 = no limit"
    MainWords "main_words" 0 0..=16_777_216 "BUFFER_SIZE" "Size of main's ring in words of 8 bytes, from the app's next start on; 0 = a million"
    PoolWords "pool_words" 0 0..=16_777_216 "" "Size of all other threads' blocks together, as above; 0 = half a million"
    KeepRecordings "keep_recordings" 20 1..=10_000 "" "Maximum number of recordings"
    KeepDays "keep_days" 14 1..=3_650 "" "Maximum age of a recording, days"
    KeepKib "keep_kib" 262_144 1_024..=1_073_741_824 "" "Maximum size of all recordings, KiB"
    InstallsPerMille "installs_per_mille" 1_000 0..=1_000 "" "Sampling rate: enabled on this many of 1,000 installs"
    Redact "redact" 0 0..=1 "" "Texts that the app creates at run time (marks, counters, scenes, thread names, callback descriptions, what the system quotes) are recorded as a number"
    NativeStacks "native_stacks" 0 0..=1 "" "Capture native stacks: of main while it is stalled, of the owner of the lock it waits for, and of watched threads. Registers and up to 64 KiB of stack each: user data, which docs/native-stacks.md treats"
    NativeStackIntervalMs "native_stack_interval_ms" 250 66..=500 "" "Interval between native stacks of a stalled thread, ms"
    NativeStackSignal "native_stack_signal" 0 0..=64 "" "The real-time signal for native stacks; 0 = a free one is chosen. Read when the first stack is captured"
    SystemState "system_state" 1 0..=1 "" "While main is stalled, record what all threads, the CPUs, memory, storage and the heap do: at most twice a second and 1 % of a CPU"
}

/// All text options, in the order of [`Text`].
pub const TEXTS: &[TextOption] = &[
    TextOption {
        text: Text::SplashActivities,
        key: "splash_activities",
        matrix: "clicfg_matrix_trace_care_scene_set",
        what: "Classes of the splash pages, separated by ;",
    },
    TextOption {
        text: Text::EndActivities,
        key: "end_activities",
        matrix: "",
        what: "Classes of the pages that end a cold start, separated by ;. Empty: the first page that is not a splash page",
    },
    TextOption {
        text: Text::CareScenes,
        key: "care_scenes",
        matrix: "clicfg_matrix_trace_care_scene_set (0.4)",
        what: "Scenes whose frames are reported, separated by ;. Empty: all",
    },
    TextOption {
        text: Text::ProfileTriggers,
        key: "profile_triggers",
        matrix: "",
        what: "API 36: more triggers at which the platform stores a profile, separated by ; (docs/monitors.md lists them)",
    },
];

/// How many times an option was set.
static CHANGES: AtomicU64 = AtomicU64::new(0);

static TEXT_VALUES: Mutex<[String; TEXTS.len()]> = Mutex::new([const { String::new() }; TEXTS.len()]);

/// Why an option was not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// No option has this key.
    Key,
    /// The value is not a number.
    Value,
}

/// The current value of a numeric option.
#[must_use]
pub fn number(setting: Setting) -> u64 {
    VALUES[setting as usize].load(Ordering::Relaxed)
}

/// Whether a flag is set.
#[must_use]
pub fn is_enabled(flag: Setting) -> bool {
    number(flag) != 0
}

/// A number that changes whenever an option is set. Check it before using values derived from options.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// The current value of a text option, empty by default.
#[must_use]
pub fn text(text: Text) -> String {
    lock(&TEXT_VALUES)[text as usize].clone()
}

/// Sets an option by its key. A number outside of its range becomes the nearest one inside; `true` and
/// `false` are 1 and 0. Returns the numeric option that was set, `None` for a text.
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
    value.clone_into(&mut lock(&TEXT_VALUES)[option.text as usize]);
    CHANGES.fetch_add(1, Ordering::Release);
    Ok(None)
}

/// All current values, one `key=value` per line, in the order of the table.
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
    fn each_option_is_at_its_index_and_has_a_unique_key() {
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
    fn every_key_is_set_read_and_clamped_to_its_range() {
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
