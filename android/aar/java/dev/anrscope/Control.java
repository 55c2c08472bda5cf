package dev.anrscope;

import android.os.Bundle;

/**
 * What can be asked of a running app from outside, and the answer. {@code start} goes on after {@code stop}; {@code dump} asks for a
 * thread dump; {@code flush} waits until everything that was recorded is in the file. Not on main: it may wait.
 */
final class Control {
    /** How long a flush waits, ms: longer than the worker takes to make a file on a slow disk, shorter than a receiver may take. */
    private static final long FLUSH_MS = 5_000;

    /** Whether it was done. */
    final boolean done;
    /** What is to be known of it. */
    final String said;

    private Control(boolean done, String said) {
        this.done = done;
        this.said = said;
    }

    /** Never throws. */
    static Control run(String command) {
        if (!Anrscope.isRecording()) {
            return new Control(false, "nothing is recorded here: the library is missing, or has disarmed itself");
        }
        boolean paused = Natives.isPaused();
        String was = paused ? "was paused" : "was recording";
        if ("start".equals(command)) {
            if (Natives.number("recording") == 0) {
                return new Control(false, "the option recording is 0: it was switched off by whoever configures this app");
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
            boolean asked = MethodBeat.dump();
            return new Control(asked, asked ? "asked for" : "no thread of this process takes SIGQUIT");
        }
        if ("flush".equals(command)) {
            String file = Natives.flush(FLUSH_MS);
            return new Control(file != null, file != null ? file : "there is no file: it is recorded in memory");
        }
        return new Control(false, "the commands are start, stop, dump, flush");
    }

    /** For the answer to a call. */
    Bundle bundle() {
        Bundle bundle = new Bundle();
        bundle.putString("done", done ? "yes" : "no");
        bundle.putString("said", said);
        return bundle;
    }
}
