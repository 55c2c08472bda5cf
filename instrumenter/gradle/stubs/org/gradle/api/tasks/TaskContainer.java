package org.gradle.api.tasks;

import org.gradle.api.Action;
import org.gradle.api.PolymorphicDomainObjectContainer;
import org.gradle.api.Task;

public interface TaskContainer extends PolymorphicDomainObjectContainer<Task> {
    /** Since Gradle 4.9. */
    <T extends Task> TaskProvider<T> register(String name, Class<T> type, Action<? super T> configuration);
}
