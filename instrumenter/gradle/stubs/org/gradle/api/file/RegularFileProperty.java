package org.gradle.api.file;

import java.io.File;
import org.gradle.api.provider.Property;
import org.gradle.api.provider.Provider;

public interface RegularFileProperty extends Provider<RegularFile>, Property<RegularFile> {
    Provider<File> getAsFile();

    void set(File file);

    /** Since Gradle 5.1. */
    RegularFileProperty convention(Provider<? extends RegularFile> provider);
}
