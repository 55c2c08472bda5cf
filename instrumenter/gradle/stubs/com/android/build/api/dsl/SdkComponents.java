package com.android.build.api.dsl;

import java.util.List;
import org.gradle.api.file.RegularFile;
import org.gradle.api.provider.Provider;

public interface SdkComponents {
    Provider<List<RegularFile>> getBootClasspath();
}
