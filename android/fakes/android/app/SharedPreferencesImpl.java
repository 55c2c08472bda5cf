package android.app;

import java.util.concurrent.CountDownLatch;

/**
 * What is left to write of an app's preferences (core/java/android/app/SharedPreferencesImpl.java, all levels: class and
 * method names, and that apply() adds a finisher that waits for the write).
 */
public final class SharedPreferencesImpl {
    private SharedPreferencesImpl() {}

    public static final class EditorImpl {
        private final CountDownLatch written;

        /** {@code written}: when this change is on disk. */
        public EditorImpl(CountDownLatch written) {
            this.written = written;
        }

        public void apply() {
            QueuedWork.add(
                    new Runnable() {
                        @Override
                        public void run() {
                            try {
                                written.await();
                            } catch (InterruptedException never) {
                                throw new AssertionError(never);
                            }
                        }
                    });
        }
    }
}
