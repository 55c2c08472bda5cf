package dev.anrscope;

import android.os.Bundle;

/**
 * Commands to a running app from outside, and their answers. {@code start} resumes after {@code stop}; {@code dump}
 * requests a thread dump; {@code flush} waits until everything recorded is in the file. Not on main: it may wait.
 */
final class Control {
    /**
     * How long a flush waits, ms: longer than the worker needs to create a file on slow storage, shorter than a
     * receiver may take.
     */
    private static final long FLUSH_TIMEOUT_MS = 5_000;

    /** Whether the command was carried out. */
    final boolean done;
    /** Details for the caller. */
    final String details;

    private Control(boolean done, String details) {
        this.done = done;
        this.details = details;
    }

    /** Runs a command. Never throws. */
    static Control run(String command) {
        if (!Anrscope.isRecording()) {
            return new Control(false, "nothing is recorded: the library is missing or has disarmed itself");
        }
        boolean paused = Natives.isPaused();
        String was = paused ? "was paused" : "was recording";
        if ("start".equals(command)) {
            if (Natives.number("recording") == 0) {
                return new Control(false, "recording is switched off: the option recording is 0");
            }
            if (paused) {
                MethodBeat.resume(Natives.number("coarse_clock") != 0);
            }
            return new Control(true, was);
        }
        if ("stop".equals(command)) {
            MethodBeat.pause();
            return new Control(true, was);
        }
        if ("dump".equals(command)) {
            boolean requested = MethodBeat.dump();
            return new Control(requested, requested ? "requested" : "no thread of this process accepts SIGQUIT");
        }
        if ("flush".equals(command)) {
            String file = Natives.flush(FLUSH_TIMEOUT_MS);
            return new Control(file != null, file != null ? file : "there is no file yet: recording is in memory");
        }
        return new Control(false, "the commands are start, stop, dump, flush");
    }

    /** The result as the answer to a provider call. */
    Bundle bundle() {
        Bundle bundle = new Bundle();
        bundle.putString("done", done ? "yes" : "no");
        bundle.putString("said", details);
        return bundle;
    }
}
