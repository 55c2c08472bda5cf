package com.example.sample;

import android.content.Context;
import java.io.File;
import java.io.IOException;

/** Whether the next start must be slow: stored in a file, which is removed when it is read. */
final class SlowStart {
    private static final long MILLIS = 2_500;

    private SlowStart() {}

    static void wish(Context context) throws IOException {
        file(context).createNewFile();
    }

    /** The delay of this start, ms. */
    static long next(Context context) {
        return file(context).delete() ? MILLIS : 0;
    }

    private static File file(Context context) {
        return new File(context.getFilesDir(), "slow-start");
    }
}
