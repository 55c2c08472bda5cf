package com.android.build.api.variant;

import com.android.build.api.artifact.Artifacts;
import org.gradle.api.file.FileCollection;

public interface Variant {
    String getName();

    /** From ComponentIdentity; null without build types. */
    String getBuildType();

    /** From Component. */
    Sources getSources();

    Artifacts getArtifacts();

    FileCollection getCompileClasspath();
}
