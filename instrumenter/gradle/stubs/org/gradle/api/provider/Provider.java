package org.gradle.api.provider;

import org.gradle.api.Transformer;

public interface Provider<T> {
    T get();

    T getOrNull();

    T getOrElse(T defaultValue);

    <S> Provider<S> map(Transformer<? extends S, ? super T> transformer);

    boolean isPresent();

    /** Since Gradle 5.0. */
    <S> Provider<S> flatMap(Transformer<? extends Provider<? extends S>, ? super T> transformer);

    /** Since Gradle 5.6. */
    Provider<T> orElse(T value);

    /** Since Gradle 5.6. */
    Provider<T> orElse(Provider<? extends T> provider);
}
