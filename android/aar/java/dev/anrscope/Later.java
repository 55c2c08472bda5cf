package dev.anrscope;

import android.content.Context;

/**
 * Classes that need a newer system than the oldest one. They are reached by their names, and called through an interface that every level
 * knows: ART of Android 5 loads each class that a method names when it verifies the method's class, and a class whose interfaces are missing fails
 * there, on main, at each start.
 */
final class Later {
    /** Something that is done once the recordings have their place, on a thread of the library's. */
    interface Step {
        void run(Context context, String folder) throws Exception;
    }

    private Later() {}

    /** An instance; null where it cannot be made. */
    static <T> T make(String name, Class<T> as) {
        try {
            return as.cast(Class.forName(name).newInstance());
        } catch (Throwable older) {
            return null;
        }
    }

    /** Makes it and runs it; what it throws is dropped, since nothing else depends on it. */
    static void run(String name, Context context, String folder) {
        try {
            Step step = make(name, Step.class);
            if (step != null) {
                step.run(context, folder);
            }
        } catch (Throwable denied) {
            // The recordings say what they say.
        }
    }
}
