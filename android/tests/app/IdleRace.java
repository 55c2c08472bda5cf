package dev.anrscope;

import android.os.Looper;
import android.os.MessageQueue;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Another thread adds and removes idle handlers while main's list is replaced and restored. */
public final class IdleRace {
    private static final int ROUNDS = 1500;

    private IdleRace() {}

    public static void main(String[] words) throws Exception {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        MessageQueue queue = Looper.myQueue();
        List<MessageQueue.IdleHandler> kept = new ArrayList<>();
        boolean[] over = new boolean[1];
        Object[] fault = new Object[1];
        Thread theirs = new Thread(() -> {
            try {
                for (int at = 0; !over(over); at++) {
                    MessageQueue.IdleHandler handler = new MessageQueue.IdleHandler() {
                        @Override
                        public boolean queueIdle() {
                            return true;
                        }
                    };
                    queue.addIdleHandler(handler);
                    if (at % 64 == 0) {
                        kept.add(handler);
                    } else {
                        queue.removeIdleHandler(handler);
                    }
                }
            } catch (Throwable thrown) {
                fault[0] = thrown;
            }
        });
        theirs.start();
        int failed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            failed += IdleMonitor.start() ? 0 : 1;
            IdleMonitor.stop();
        }
        synchronized (over) {
            over[0] = true;
        }
        theirs.join();
        Set<Object> there = new HashSet<>(AppIdle.list());
        int lost = 0;
        for (MessageQueue.IdleHandler handler : kept) {
            lost += there.remove(handler) ? 0 : 1;
        }
        System.out.println("failed " + failed + " lost " + lost + " more " + there.size() + " thrown " + fault[0]);
        System.out.println("kept " + !kept.isEmpty());
        MethodBeat.o(1);
    }

    private static boolean over(boolean[] over) {
        synchronized (over) {
            return over[0];
        }
    }
}
