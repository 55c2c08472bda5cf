package org.gradle.api.provider;

public interface ProviderFactory {
    /** Since Gradle 6.1. */
    Provider<String> environmentVariable(String variableName);

    /** Since Gradle 6.2. */
    Provider<String> gradleProperty(String propertyName);
}
