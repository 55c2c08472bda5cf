package dev.anrscope;

import android.app.Application;
import android.content.Context;
import android.content.ContextWrapper;

/**
 * Starts and stops the monitors as the options say. Everything runs on main. If a monitor throws, only that monitor
 * ends: its hooks are removed as far as possible, the recording notes it, and it is not started again.
 */
final class Monitors {
    /** In start order; they stop in reverse order. */
    static final int SAMPLER = 0;

    static final int LOOPER = 1;
    static final int ERRORS = 2;
    static final int FRAMES = 3;
    static final int OVERLAY = 4;
    static final int STARTS = 5;
    static final int IDLE = 6;
    static final int TOUCH = 7;

    private static final String[] NAMES = {
        "stacks", "messages", "error states", "frames", "overlay", "starts", "idle handlers", "touch"
    };

    /** Maximum number of context wrappers to unwrap. */
    private static final int MAX_WRAPPERS = 16;

    private static Application application;

    /** Monitors that have thrown, one bit each. */
    private static int broken;

    private Monitors() {}

    /** Starts the enabled monitors. */
    static void start(Context context) {
        Application found = of(context);
        if (found == null) {
            Natives.notice(
                    "the context that was given leads to no Application, but to a "
                            + context.getClass().getName()
                            + ": no monitor runs; call Anrscope.install with the Application itself");
            return;
        }
        application = found;
        try {
            Lifecycle.start(application);
        } catch (Throwable fault) {
            report("activities", fault);
        }
        apply();
    }

    /**
     * The application behind a context. Plug-in frameworks wrap it, and their application context is not an
     * Application.
     */
    private static Application of(Context context) {
        Context at = context;
        for (int depth = 0; at != null && depth < MAX_WRAPPERS; depth++) {
            if (at instanceof Application) {
                return (Application) at;
            }
            Context inner = null;
            try {
                Context its = at.getApplicationContext();
                if (its instanceof Application) {
                    return (Application) its;
                }
                inner = at instanceof ContextWrapper ? ((ContextWrapper) at).getBaseContext() : null;
            } catch (Throwable theirs) {
                // A wrapper whose base is not set yet.
            }
            at = inner;
        }
        return null;
    }

    /** Starts enabled monitors that are not running, and stops disabled ones. */
    static void apply() {
        if (application == null) {
            return;
        }
        for (int monitor = 0; monitor < NAMES.length; monitor++) {
            if ((broken & 1 << monitor) == 0) {
                try {
                    apply(monitor);
                } catch (Throwable fault) {
                    fault(monitor, fault);
                }
            }
        }
    }

    private static void apply(int monitor) {
        boolean wanted = isWanted(monitor);
        switch (monitor) {
            case FRAMES:
                if (wanted) {
                    FrameMonitor.start(application, Lifecycle.hasActivity());
                    return;
                }
                break;
            case OVERLAY:
                FrameMonitor.overlay(application, wanted);
                return;
            case TOUCH:
                TouchMonitor.enable(on("touch"), on("startup") || on("older_methods"));
                return;
            default:
                if (wanted) {
                    begin(monitor);
                    return;
                }
        }
        stop(monitor);
    }

    private static boolean isWanted(int monitor) {
        boolean stuck = on("anr") || on("signal_anr");
        switch (monitor) {
            case SAMPLER:
                return stuck || on("idle") || on("touch");
            case LOOPER:
                return stuck || on("slow") || on("fps") || on("overlay") || on("touch") || on("tuning") || on("history")
                        || on("density") || on("older_methods");
            case ERRORS:
                return on("signal_anr");
            case FRAMES:
                return on("fps") || on("overlay");
            case OVERLAY:
                return on("overlay");
            case STARTS:
                return on("startup") || on("shared_preferences_fix");
            default:
                return on("idle");
        }
    }

    private static void begin(int monitor) {
        switch (monitor) {
            case SAMPLER:
                StackSampler.start();
                break;
            case LOOPER:
                LooperMonitor.start();
                break;
            case ERRORS:
                ErrorStates.start(application);
                break;
            case STARTS:
                StartMonitor.start();
                break;
            default:
                IdleMonitor.start();
        }
    }

    private static void stop(int monitor) {
        switch (monitor) {
            case SAMPLER:
                StackSampler.stop();
                break;
            case LOOPER:
                LooperMonitor.stop();
                break;
            case ERRORS:
                ErrorStates.stop();
                break;
            case FRAMES:
                FrameMonitor.stop();
                break;
            case OVERLAY:
                Overlay.hide();
                break;
            case STARTS:
                StartMonitor.stop();
                break;
            case IDLE:
                IdleMonitor.stop();
                break;
            default:
                TouchMonitor.enable(false, false);
        }
    }

    /** A monitor has thrown, wherever it was called: it ends. */
    static void fault(int monitor, Throwable fault) {
        if ((broken & 1 << monitor) != 0) {
            return;
        }
        broken |= 1 << monitor;
        report(NAMES[monitor], fault);
        try {
            stop(monitor);
        } catch (Throwable again) {
            // It cannot be removed.
        }
    }

    /** Notes in the recording what it lacks from now on. Without the exception's message, which is the app's data. */
    static void report(String what, Throwable fault) {
        try {
            Natives.notice("the monitor of " + what + " is off: it threw " + fault.getClass().getName());
        } catch (Throwable none) {
            // Nothing else can be done.
        }
    }

    /** Stops all monitors and removes their hooks. */
    static void stop() {
        if (application != null) {
            try {
                Lifecycle.stop(application);
            } catch (Throwable fault) {
                report("activities", fault);
            }
            application = null;
        }
        for (int monitor = NAMES.length - 1; monitor >= 0; monitor--) {
            try {
                stop(monitor);
            } catch (Throwable fault) {
                report(NAMES[monitor], fault);
            }
        }
        Reports.stop();
    }

    private static boolean on(String key) {
        return Natives.number(key) != 0;
    }
}
