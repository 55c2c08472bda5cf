package com.android.build.api.artifact;

import org.gradle.api.file.RegularFile;

public abstract class ScopedArtifact extends Artifact.Multiple<RegularFile> {
    public static final class CLASSES extends ScopedArtifact {
        public static final CLASSES INSTANCE = new CLASSES();
    }
}
