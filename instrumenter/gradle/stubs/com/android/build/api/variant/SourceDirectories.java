package com.android.build.api.variant;

import kotlin.jvm.functions.Function1;
import org.gradle.api.Task;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.tasks.TaskProvider;

public interface SourceDirectories {
    <T extends Task> void addGeneratedSourceDirectory(
            TaskProvider<T> task, Function1<? super T, ? extends DirectoryProperty> wiredWith);

    interface Layered extends SourceDirectories {}
}
