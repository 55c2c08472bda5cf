package dev.anrscope;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What is watched and from where on it is told. Everything has a default: {@code new Config.Builder().build()} is what an app
 * gets that says nothing. {@code docs/configuration.md} lists the options with their ranges.
 *
 * <p>A number outside of its range becomes the nearest inside.
 */
public final class Config {
    private final Map<String, String> values;
    private final DynamicConfig provider;

    private Config(Builder builder) {
        values = Collections.unmodifiableMap(new LinkedHashMap<String, String>(builder.values));
        provider = builder.provider;
    }

    /** What was said, by key. */
    public Map<String, String> values() {
        return values;
    }

    DynamicConfig provider() {
        return provider;
    }

    /** Says what is to be otherwise than by default. */
    public static final class Builder {
        private final Map<String, String> values = new LinkedHashMap<String, String>();
        private DynamicConfig provider;

        /** Sets an option by its key. One that does not exist, or a value that is no number, is told in the recording. */
        public Builder set(String key, String value) {
            if (key != null && value != null) {
                values.put(key, value);
            }
            return this;
        }

        /** Who is asked for values at run time, on a thread of ours: at the start, and at {@link Anrscope#refresh}. */
        public Builder provider(DynamicConfig provider) {
            this.provider = provider;
            return this;
        }

        /** The configuration. */
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

        /** Frames: stages, dropped frames, reports of scenes. By default on. */
        public Builder fps(boolean on) {
            return flag("fps", on);
        }

        /** Slow messages, with what main called. By default on. */
        public Builder slow(boolean on) {
            return flag("slow", on);
        }

        /** The timers of LAG and ANR. By default on. */
        public Builder anr(boolean on) {
            return flag("anr", on);
        }

        /** A report for an ANR that SIGQUIT told. By default on. */
        public Builder signalAnr(boolean on) {
            return flag("signal_anr", on);
        }

        /** Starts and pages. By default on. */
        public Builder startup(boolean on) {
            return flag("startup", on);
        }

        /** Idle handlers. By default on. */
        public Builder idle(boolean on) {
            return flag("idle", on);
        }

        /** Touch events that wait. By default on. */
        public Builder touch(boolean on) {
            return flag("touch", on);
        }

        /** Main's priority and timer slack. By default on. */
        public Builder tuning(boolean on) {
            return flag("tuning", on);
        }

        /** The last 200 messages in reports. By default on. */
        public Builder history(boolean on) {
            return flag("history", on);
        }

        /** Count and length of the last 5,000 messages. By default off. */
        public Builder density(boolean on) {
            return flag("density", on);
        }

        /**
         * The Looper's Printer tells of main's messages; off, or where the system calls none: the outermost calls of main's record do, and
         * frames have no stages. By default on.
         */
        public Builder printer(boolean on) {
            return flag("printer", on);
        }

        /** The window that shows frames a second. By default off. */
        public Builder overlay(boolean on) {
            return flag("overlay", on);
        }

        /** 0: a process without activities, whose start ends with its application's. By default on. */
        public Builder hasActivity(boolean on) {
            return flag("has_activity", on);
        }

        /** API 21 to 25: main does not wait for SharedPreferences at a stop. By default off. */
        public Builder sharedPreferencesFix(boolean on) {
            return flag("shared_preferences_fix", on);
        }

        /** Reports are written to the log, too. By default off. */
        public Builder log(boolean on) {
            return flag("log", on);
        }

        /** A message is slow from here on, ms. By default 700. */
        public Builder slowMs(long value) {
            return number("slow_ms", value);
        }

        /** A message is a LAG from here on, ms; 0 never. By default 2,000. */
        public Builder lagMs(long value) {
            return number("lag_ms", value);
        }

        /** A message is an ANR from here on, ms; 0 never. By default 5,000. */
        public Builder anrMs(long value) {
            return number("anr_ms", value);
        }

        /** No ANR is told from here on, ms; 0 always. By default 0. */
        public Builder anrTooLateMs(long value) {
            return number("anr_too_late_ms", value);
        }

        /** Distance of main's stack samples while it is stuck, ms; 0 none. By default 66. */
        public Builder sampleMs(long value) {
            return number("sample_ms", value);
        }

        /** Main's stack is sampled in a message from this age on, ms. By default 300. */
        public Builder sampleFromMs(long value) {
            return number("sample_from_ms", value);
        }

        /** Whether main's Java stack is taken while it is stuck, for which main is stopped. By default on. */
        public Builder stacks(boolean on) {
            return flag("stacks", on);
        }

        /** Lines of a stack in a report. By default 30. */
        public Builder stackLines(long value) {
            return number("stack_lines", value);
        }

        /** Java stacks in reports: 0 simple, 1 whole, 2 raw. By default 1. */
        public Builder stackStyle(long value) {
            return number("stack_style", value);
        }

        /** Whether a SIGQUIT was an ANR: 0 by our rules, 1 by Matrix's. By default 0. */
        public Builder policy(long value) {
            return number("policy", value);
        }

        /** A scene's frames are reported this often, ms. By default 10,000. */
        public Builder fpsWindowMs(long value) {
            return number("fps_window_ms", value);
        }

        /** Only frames with this many dropped ones are in reports. By default 0. */
        public Builder fpsThreshold(long value) {
            return number("fps_threshold", value);
        }

        /** API 36: the platform is asked for a profile of each ANR, and the recording says where it is. By default on. */
        public Builder anrProfile(boolean on) {
            return flag("anr_profile", on);
        }

        /** Frames are reported as Matrix 0.4 did, too: every 2 min, in slices of 6 s. By default off. */
        public Builder olderFps(boolean on) {
            return flag("older_fps", on);
        }

        /**
         * Pages that open slowly (ENTER, with the depth and number of their views) and messages that filled main's ring (FULL), as Matrix
         * 0.4 reported them. By default off.
         */
        public Builder olderMethods(boolean on) {
            return flag("older_methods", on);
        }

        /** A process's first page is reported as Matrix 0.4 did, too: with betweenCost and splashCost. By default off. */
        public Builder olderStartup(boolean on) {
            return flag("older_startup", on);
        }

        /** A page opens slowly from here on, ms, up to page_ms; with older_methods. By default 3000. */
        public Builder enterMs(long value) {
            return number("enter_ms", value);
        }

        /** Observers are told of a frame that dropped this many at 60 Hz (at 120 Hz twice as many); 0 none. By default 3. */
        public Builder tellDropped(long value) {
            return number("tell_dropped", value);
        }

        /** Dropped frames from which on a frame is NORMAL. By default 3. */
        public Builder droppedNormal(long value) {
            return number("dropped_normal", value);
        }

        /** Dropped frames from which on a frame is MIDDLE. By default 9. */
        public Builder droppedMiddle(long value) {
            return number("dropped_middle", value);
        }

        /** Dropped frames from which on a frame is HIGH. By default 24. */
        public Builder droppedHigh(long value) {
            return number("dropped_high", value);
        }

        /** Dropped frames from which on a frame is FROZEN. By default 42. */
        public Builder droppedFrozen(long value) {
            return number("dropped_frozen", value);
        }

        /** A cold start has a stack from here on, ms. By default 10,000. */
        public Builder coldMs(long value) {
            return number("cold_ms", value);
        }

        /** A warm start has a stack from here on, ms. By default 4,000. */
        public Builder warmMs(long value) {
            return number("warm_ms", value);
        }

        /** A cold start is bad above, ms (for games and video 3000 is usual). By default 2,000. */
        public Builder goodColdMs(long value) {
            return number("good_cold_ms", value);
        }

        /** A hot start is bad above, ms (for games and video 1000). By default 500. */
        public Builder goodHotMs(long value) {
            return number("good_hot_ms", value);
        }

        /** A page that took this long is dropped, ms. By default 30,000. */
        public Builder pageMs(long value) {
            return number("page_ms", value);
        }

        /** An idle handler is late from here on, ms. By default 2,000. */
        public Builder idleMs(long value) {
            return number("idle_ms", value);
        }

        /** A touch event is late from here on, ms. By default 2,000. */
        public Builder touchMs(long value) {
            return number("touch_ms", value);
        }

        /** Main's timer slack is reported above, ns. By default 50,000. */
        public Builder slackNs(long value) {
            return number("slack_ns", value);
        }

        /** Without a resumed activity for this long it is in the background, ms. By default 500. */
        public Builder backgroundMs(long value) {
            return number("background_ms", value);
        }

        /**
         * Off: nothing is recorded and nothing watched, now and at the next starts, until somebody says on: the switch for a server, by {@link
         * #provider}. By default on.
         */
        public Builder recording(boolean on) {
            return flag("recording", on);
        }

        /** Main alone is recorded; other threads that were recorded before go on. By default off. */
        public Builder mainOnly(boolean on) {
            return flag("main_only", on);
        }

        /** Methods get their time once a millisecond: cheaper, and messages, frames and waits stay exact. By default on. */
        public Builder coarseClock(boolean on) {
            return flag("coarse_clock", on);
        }

        /**
         * Every call is recorded; else one that begins and ends within a millisecond (20 us without the coarse clock) leaves nothing
         * but a count. By default off.
         */
        public Builder everyCall(boolean on) {
            return flag("every_call", on);
        }

        /**
         * Percent of the threads' time that recording may take; beyond it the methods that are called most are switched off. 0: none
         * ever is. By default 3.
         */
        public Builder maxOverhead(long percent) {
            return number("max_overhead", percent);
        }

        /** Words of 8 bytes in main's ring, from the app's next start on; 0: a million. By default 0. */
        public Builder mainWords(long value) {
            return number("main_words", value);
        }

        /** The same of all other threads together; 0: half a million. By default 0. */
        public Builder poolWords(long value) {
            return number("pool_words", value);
        }

        /** Recordings kept at most. By default 20. */
        public Builder keepRecordings(long value) {
            return number("keep_recordings", value);
        }

        /** Days for which one is kept at most. By default 14. */
        public Builder keepDays(long value) {
            return number("keep_days", value);
        }

        /** KiB of all together. By default 262,144. */
        public Builder keepKib(long value) {
            return number("keep_kib", value);
        }

        /** Installations of 1,000 in which it starts at all. By default 1,000. */
        public Builder installsPerMille(long value) {
            return number("installs_per_mille", value);
        }

        /**
         * Texts that the app makes up while it runs (marks, counters, scenes, names of threads, what callbacks say of themselves), and what the
         * system quotes of them, are recorded as a number. By default off.
         */
        public Builder redact(boolean on) {
            return flag("redact", on);
        }

        /** Classes of the splash pages. */
        public Builder splashActivities(String... classes) {
            return texts("splash_activities", classes);
        }

        /** Classes of the pages that end a cold start; none: the first page that is no splash page. */
        public Builder endActivities(String... classes) {
            return texts("end_activities", classes);
        }

        /** Scenes whose frames are reported; none: all. */
        public Builder careScenes(String... classes) {
            return texts("care_scenes", classes);
        }
    }
}
