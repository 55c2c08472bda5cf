package dev.anrscope.debug;

import android.content.Context;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Finds the method map of an instrumented build: beside the recordings, or among the app's assets. */
final class MethodNames {
    /** The asset's name. */
    private static final String ASSET = "anrscope/methodMapping.txt";

    private MethodNames() {}

    /** Returns null without a map. A map of another build is refused by the exporter. */
    static File of(Context context, File recordings) throws IOException {
        File beside = new File(recordings, "methodMapping.txt");
        if (beside.isFile()) {
            return beside;
        }
        InputStream in;
        try {
            in = context.getAssets().open(ASSET);
        } catch (IOException none) {
            return null;
        }
        File map = new File(StallStore.of(context).directory(), "methodMapping.txt");
        try {
            FileOutputStream out = new FileOutputStream(map);
            try {
                StallStore.copy(in, out);
            } finally {
                out.close();
            }
        } finally {
            in.close();
        }
        return map;
    }
}
