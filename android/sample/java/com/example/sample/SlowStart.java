package com.example.sample;

import android.content.Context;
import java.io.File;
import java.io.IOException;

/** Whether the next start is to be a slow one: a file says so, and is gone when it was asked. */
final class SlowStart {
    private static final long MILLIS = 2_500;

    private SlowStart() {}

    static void wish(Context context) throws IOException {
        file(context).createNewFile();
    }

    /** For how many ms this start is to be held up. */
    static long next(Context context) {
        return file(context).delete() ? MILLIS : 0;
    }

    private static File file(Context context) {
        return new File(context.getFilesDir(), "slow-start");
    }
}
