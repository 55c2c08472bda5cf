package com.android.build.api.artifact;

import org.gradle.api.file.FileSystemLocation;

public abstract class Artifact<T extends FileSystemLocation> {
    public abstract static class Multiple<T extends FileSystemLocation> extends Artifact<T> {}
}
