package com.android.build.api.variant;

public interface Sources {
    /** Null if the variant has no assets. */
    SourceDirectories.Layered getAssets();
}
