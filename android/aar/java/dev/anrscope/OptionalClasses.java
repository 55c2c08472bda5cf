package dev.anrscope;

import android.content.Context;

/**
 * Creates classes that need a newer system than the minimum. They are loaded by name and called through an interface
 * that exists at every level. ART of Android 5 loads each class that a method names when it verifies the method's
 * class, and a class whose interfaces are missing fails there, on main, at each start.
 */
final class OptionalClasses {
    /** A step that runs once the recordings' directory is known, on a library thread. */
    interface Step {
        void run(Context context, String directory) throws Exception;
    }

    private OptionalClasses() {}

    /** Creates an instance; returns null where that fails. */
    static <T> T make(String name, Class<T> as) {
        try {
            return as.cast(Class.forName(name).newInstance());
        } catch (Throwable older) {
            return null;
        }
    }

    /** Creates the step and runs it; exceptions are dropped, because nothing else depends on it. */
    static void run(String name, Context context, String directory) {
        try {
            Step step = make(name, Step.class);
            if (step != null) {
                step.run(context, directory);
            }
        } catch (Throwable denied) {
            // The recordings just lack this information.
        }
    }
}
