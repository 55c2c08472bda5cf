package com.example.sample;

import android.net.Uri;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.MessageQueue;
import android.os.Process;
import dev.anrscope.Anrscope;
import com.example.sample.FrameView.Stage;
import java.io.IOException;

/** One button per way to stall, all of the same duration. */
abstract class StallPage extends Page {
    /** Duration of a stall, ms. */
    abstract long millis();

    @Override
    void fill() {
        long millis = millis();
        button("Compute", marked("busy", () -> Stalls.busy(millis)));
        button("Sleep", marked("sleep", () -> Stalls.sleep(millis)));
        button("Wait for a lock that a worker holds", marked("lock", () -> Stalls.lockHeldByWorker(millis)));
        button("Write to storage", marked("io", () -> Stalls.diskIo(getCacheDir(), millis)));
        button("Call another process (binder)", marked("binder", () -> call(millis)));
        button("Wait for another thread's answer", marked("pipe", () -> Stalls.answerFromElsewhere(millis)));
        button("Make garbage", marked("garbage", () -> Stalls.garbage(millis)));
        button("A storm of messages of 5 ms", marked("storm", this::storm));
        button("An idle handler", marked("idle", this::idle));
        FrameView view = new FrameView(this);
        add(view, (int) (24 * getResources().getDisplayMetrics().density));
        button("A frame, in TRAVERSAL", marked("traversal", () -> view.slow(Stage.MEASURE, millis)));
        button("A frame, in ANIMATION", marked("animation", () -> view.slow(Stage.ANIMATION, millis)));
        button("The next touch of the moving view", marked("input", () -> view.slow(Stage.INPUT, millis)));
    }

    /** A button's action. */
    interface Action {
        void run() throws IOException;
    }

    /** The action, with a mark in the trace before it. */
    final Runnable marked(String name, Action action) {
        return () -> {
            Anrscope.mark("stall: " + name);
            try {
                action.run();
            } catch (IOException failed) {
                text(name + ": " + failed);
            }
        };
    }

    private void call(long millis) {
        Bundle how = new Bundle();
        how.putLong(SlowProvider.MILLIS, millis);
        getContentResolver().call(Uri.parse("content://" + getPackageName() + ".slow"), SlowProvider.SLEEP, null, how);
    }

    private void storm() {
        Stalls.messageStorm(new Handler(Looper.getMainLooper())::post, (int) (millis() / 5), 5);
    }

    private void idle() {
        MessageQueue.IdleHandler once = () -> {
            Stalls.busy(millis());
            return false;
        };
        Looper.myQueue().addIdleHandler(once);
    }

    /** SIGQUIT, as the system sends it at an ANR, and {@code kill -3}. */
    static void quit() {
        Process.sendSignal(Process.myPid(), Process.SIGNAL_QUIT);
    }
}
