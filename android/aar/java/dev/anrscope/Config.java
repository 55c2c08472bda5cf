package dev.anrscope;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which monitors run, and their thresholds. Every option has a default: {@code new Config.Builder().build()} is the
 * configuration of an app that sets nothing. {@code docs/configuration.md} lists the options with their ranges.
 *
 * <p>A number outside its range is set to the nearest valid value.
 */
public final class Config {
    private final Map<String, String> values;
    private final DynamicConfig provider;

    private Config(Builder builder) {
        values = Collections.unmodifiableMap(new LinkedHashMap<String, String>(builder.values));
        provider = builder.provider;
    }

    /** Values that were set, by key. */
    public Map<String, String> values() {
        return values;
    }

    DynamicConfig provider() {
        return provider;
    }

    /** Sets the options that differ from the defaults. */
    public static final class Builder {
        private final Map<String, String> values = new LinkedHashMap<String, String>();
        private DynamicConfig provider;

        /** Sets an option by its key. An unknown key, or a value that is not a number, is noted in the recording. */
        public Builder set(String key, String value) {
            if (key != null && value != null) {
                values.put(key, value);
            }
            return this;
        }

        /**
         * Sets the source of values at run time. It is called on a library thread: at the start, and at {@link
         * Anrscope#refresh}.
         */
        public Builder provider(DynamicConfig provider) {
            this.provider = provider;
            return this;
        }

        /** Builds the configuration. */
        public Config build() {
            return new Config(this);
        }

        private Builder flag(String key, boolean on) {
            return set(key, on ? "1" : "0");
        }

        private Builder number(String key, long value) {
            return set(key, Long.toString(value));
        }

        private Builder texts(String key, String... all) {
            StringBuilder joined = new StringBuilder();
            for (String one : all) {
                joined.append(joined.length() == 0 ? "" : ";").append(one);
            }
            return set(key, joined.toString());
        }

        /** Frame monitor: stages, dropped frames, reports per scene. On by default. */
        public Builder fps(boolean on) {
            return flag("fps", on);
        }

        /** Slow messages, with the methods main called. On by default. */
        public Builder slow(boolean on) {
            return flag("slow", on);
        }

        /** The timers of LAG and ANR. On by default. */
        public Builder anr(boolean on) {
            return flag("anr", on);
        }

        /** A report for each ANR that SIGQUIT revealed. On by default. */
        public Builder signalAnr(boolean on) {
            return flag("signal_anr", on);
        }

        /** App starts and page opens. On by default. */
        public Builder startup(boolean on) {
            return flag("startup", on);
        }

        /** Late idle handlers. On by default. */
        public Builder idle(boolean on) {
            return flag("idle", on);
        }

        /** Late touch events. On by default. */
        public Builder touch(boolean on) {
            return flag("touch", on);
        }

        /** Main's priority and timer slack. On by default. */
        public Builder tuning(boolean on) {
            return flag("tuning", on);
        }

        /** The last 200 messages in reports. On by default. */
        public Builder history(boolean on) {
            return flag("history", on);
        }

        /** Count and duration of the last 5,000 messages. Off by default. */
        public Builder density(boolean on) {
            return flag("density", on);
        }

        /**
         * Follow main's messages through the Looper's Printer. If off, or if the system calls no Printer, main's
         * outermost recorded calls are used instead, and frames have no stages. On by default.
         */
        public Builder printer(boolean on) {
            return flag("printer", on);
        }

        /** Overlay window with the frame rate. Off by default. */
        public Builder overlay(boolean on) {
            return flag("overlay", on);
        }

        /**
         * Set to false in a process without activities: its start ends when its application is created. On by default.
         */
        public Builder hasActivity(boolean on) {
            return flag("has_activity", on);
        }

        /** API 21 to 25: main does not wait for SharedPreferences when an activity or service stops. Off by default. */
        public Builder sharedPreferencesFix(boolean on) {
            return flag("shared_preferences_fix", on);
        }

        /** Write reports to the log, too. Off by default. */
        public Builder log(boolean on) {
            return flag("log", on);
        }

        /** Messages that take at least this long are slow, ms. Default 700. */
        public Builder slowMs(long value) {
            return number("slow_ms", value);
        }

        /** Messages that take at least this long are a LAG, ms; 0 = never. Default 2,000. */
        public Builder lagMs(long value) {
            return number("lag_ms", value);
        }

        /** Messages that take at least this long are an ANR, ms; 0 = never. Default 5,000. */
        public Builder anrMs(long value) {
            return number("anr_ms", value);
        }

        /** Do not report ANRs longer than this, ms; 0 = report all. Default 0. */
        public Builder anrTooLateMs(long value) {
            return number("anr_too_late_ms", value);
        }

        /** Interval between samples of main's stack during a stall, ms; 0 = no samples. Default 66. */
        public Builder sampleMs(long value) {
            return number("sample_ms", value);
        }

        /** Sample main's stack once a message takes this long, ms. Default 300. */
        public Builder sampleFromMs(long value) {
            return number("sample_from_ms", value);
        }

        /** Whether main's Java stack is taken during a stall; main is suspended for it. On by default. */
        public Builder stacks(boolean on) {
            return flag("stacks", on);
        }

        /** Maximum number of stack lines in a report. Default 30. */
        public Builder stackLines(long value) {
            return number("stack_lines", value);
        }

        /** Java stacks in reports: 0 simple, 1 whole, 2 raw. Default 1. */
        public Builder stackStyle(long value) {
            return number("stack_style", value);
        }

        /** Rules that decide whether a SIGQUIT was an ANR: 0 anrscope's, 1 Matrix's. Default 0. */
        public Builder policy(long value) {
            return number("policy", value);
        }

        /** Interval between frame reports per scene, ms. Default 10,000. */
        public Builder fpsWindowMs(long value) {
            return number("fps_window_ms", value);
        }

        /** Only frames that dropped at least this many frames are in reports. Default 0. */
        public Builder fpsThreshold(long value) {
            return number("fps_threshold", value);
        }

        /**
         * API 30: give the system the recording's id as the process state summary ({@code
         * ActivityManager.setProcessStateSummary}), so that an exit is joined to its recording by it. Never where the app
         * sets its own. On by default.
         */
        public Builder exitId(boolean on) {
            return flag("exit_id", on);
        }

        /** API 37: record the system's warnings of an imminent ANR. On by default. */
        public Builder anrWarning(boolean on) {
            return flag("anr_warning", on);
        }

        /**
         * API 36.1: request a snapshot of the running system trace once a message of main is this old, ms. 0, the
         * default, requests none; 3,000 gives traces of stalls that do not become ANRs.
         */
        public Builder systemTraceMs(long value) {
            return number("system_trace_ms", value);
        }

        /**
         * API 36: record what the platform stores at these triggers: {@code app_fully_drawn}; from API 36.1 on {@code
         * kill_force_stop}, {@code kill_recents}, {@code kill_task_manager}, {@code app_request_running_trace}; from API 37
         * on {@code cold_start}, {@code oom}, {@code anomaly}, {@code app_compat}, {@code kill_excessive_cpu_usage}. None
         * by default. The trigger of ANRs is {@link #anrProfile}.
         */
        public Builder profileTriggers(String... names) {
            return texts("profile_triggers", names);
        }

        /** API 36: ask the platform for a profile of each ANR and record where it is. On by default. */
        public Builder anrProfile(boolean on) {
            return flag("anr_profile", on);
        }

        /** Also report frames as Matrix 0.4 did: every 2 min, in slices of 6 s. Off by default. */
        public Builder olderFps(boolean on) {
            return flag("older_fps", on);
        }

        /**
         * Also report what Matrix 0.4 reported: pages that open slowly (ENTER, with the depth and number of their
         * views), and messages that filled main's ring (FULL). Off by default.
         */
        public Builder olderMethods(boolean on) {
            return flag("older_methods", on);
        }

        /** Also report a process's first page as Matrix 0.4 did, with betweenCost and splashCost. Off by default. */
        public Builder olderStartup(boolean on) {
            return flag("older_startup", on);
        }

        /**
         * Pages that take at least this long to open are slow, ms; at most page_ms; needs older_methods. Default 3,000.
         */
        public Builder enterMs(long value) {
            return number("enter_ms", value);
        }

        /**
         * Notify observers of a frame that dropped at least this many frames at 60 Hz (twice as many at 120 Hz); 0 =
         * never. Default 3.
         */
        public Builder tellDropped(long value) {
            return number("tell_dropped", value);
        }

        /** Dropped frames from which a frame is NORMAL. Default 3. */
        public Builder droppedNormal(long value) {
            return number("dropped_normal", value);
        }

        /** Dropped frames from which a frame is MIDDLE. Default 9. */
        public Builder droppedMiddle(long value) {
            return number("dropped_middle", value);
        }

        /** Dropped frames from which a frame is HIGH. Default 24. */
        public Builder droppedHigh(long value) {
            return number("dropped_high", value);
        }

        /** Dropped frames from which a frame is FROZEN. Default 42. */
        public Builder droppedFrozen(long value) {
            return number("dropped_frozen", value);
        }

        /** Cold starts that take at least this long have a stack in their report, ms. Default 10,000. */
        public Builder coldMs(long value) {
            return number("cold_ms", value);
        }

        /** Warm starts that take at least this long have a stack in their report, ms. Default 4,000. */
        public Builder warmMs(long value) {
            return number("warm_ms", value);
        }

        /** Cold starts that take longer than this are bad, ms (3,000 is usual for games and video). Default 2,000. */
        public Builder goodColdMs(long value) {
            return number("good_cold_ms", value);
        }

        /** Hot starts that take longer than this are bad, ms (1,000 for games and video). Default 500. */
        public Builder goodHotMs(long value) {
            return number("good_hot_ms", value);
        }

        /** Page opens that take at least this long are discarded, ms. Default 30,000. */
        public Builder pageMs(long value) {
            return number("page_ms", value);
        }

        /** Idle handlers that take at least this long are late, ms. Default 2,000. */
        public Builder idleMs(long value) {
            return number("idle_ms", value);
        }

        /** Touch events that wait at least this long are late, ms. Default 2,000. */
        public Builder touchMs(long value) {
            return number("touch_ms", value);
        }

        /** Report main's timer slack above this, ns. Default 50,000. */
        public Builder slackNs(long value) {
            return number("slack_ns", value);
        }

        /** The app is in the background once no activity has been resumed for this long, ms. Default 500. */
        public Builder backgroundMs(long value) {
            return number("background_ms", value);
        }

        /**
         * Remote kill switch: if off, nothing is recorded or monitored, now and at later starts, until it is set to on,
         * for example by {@link #provider}. On by default.
         */
        public Builder recording(boolean on) {
            return flag("recording", on);
        }

        /** Record main only; other threads that are already recorded continue. Off by default. */
        public Builder mainOnly(boolean on) {
            return flag("main_only", on);
        }

        /**
         * Method times have a resolution of 1 ms. This is cheaper; messages, frames and waits stay exact. On by
         * default.
         */
        public Builder coarseClock(boolean on) {
            return flag("coarse_clock", on);
        }

        /**
         * Record every call. If off, a call that starts and ends within a millisecond (20 us without the coarse clock)
         * is only counted. Off by default.
         */
        public Builder everyCall(boolean on) {
            return flag("every_call", on);
        }

        /**
         * Limit on the share of the threads' time that recording takes, percent. Above it, the most frequently called
         * methods are switched off. 0 = never. Default 3.
         */
        public Builder maxOverhead(long percent) {
            return number("max_overhead", percent);
        }

        /** Size of main's ring in words of 8 bytes, from the next app start on; 0 = a million. Default 0. */
        public Builder mainWords(long value) {
            return number("main_words", value);
        }

        /** Size of the ring shared by all other threads, in words of 8 bytes; 0 = half a million. Default 0. */
        public Builder poolWords(long value) {
            return number("pool_words", value);
        }

        /** Maximum number of recordings kept. Default 20. */
        public Builder keepRecordings(long value) {
            return number("keep_recordings", value);
        }

        /** Maximum age of a recording, days. Default 14. */
        public Builder keepDays(long value) {
            return number("keep_days", value);
        }

        /** Maximum size of all recordings together, KiB. Default 262,144. */
        public Builder keepKib(long value) {
            return number("keep_kib", value);
        }

        /** Sampling rate: enabled on this many of 1,000 installs. Default 1,000. */
        public Builder installsPerMille(long value) {
            return number("installs_per_mille", value);
        }

        /**
         * Record texts that the app creates at run time as a number: marks, counters, scenes, thread names,
         * descriptions of callbacks, and what the system quotes of them. Off by default.
         */
        public Builder redact(boolean on) {
            return flag("redact", on);
        }

        /** Option {@code native_stacks}. */
        public Builder nativeStacks(boolean on) {
            return flag("native_stacks", on);
        }

        /** Option {@code native_stack_interval_ms}. */
        public Builder nativeStackIntervalMs(long value) {
            return number("native_stack_interval_ms", value);
        }

        /** Option {@code native_stack_signal}. */
        public Builder nativeStackSignal(long value) {
            return number("native_stack_signal", value);
        }

        /** Option {@code system_state}. */
        public Builder systemState(boolean on) {
            return flag("system_state", on);
        }

        /** Classes of the splash activities. */
        public Builder splashActivities(String... classes) {
            return texts("splash_activities", classes);
        }

        /**
         * Classes of the activities that end a cold start; if empty, the first activity that is not a splash activity.
         */
        public Builder endActivities(String... classes) {
            return texts("end_activities", classes);
        }

        /** Scenes whose frames are reported; if empty, all. */
        public Builder careScenes(String... classes) {
            return texts("care_scenes", classes);
        }
    }
}
