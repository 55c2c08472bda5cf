package dev.anrscope.gradle;

import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.tasks.Input;
import org.gradle.api.tasks.InputFile;
import org.gradle.api.tasks.Internal;
import org.gradle.api.tasks.Optional;
import org.gradle.api.tasks.PathSensitive;
import org.gradle.api.tasks.PathSensitivity;

/** The block {@code anrscope { }} of a build file. What is not set is left to the program's own default. */
public abstract class AnrscopeExtension {
    /** Names of the variants to instrument, such as {@code release}; empty, the default, means all. */
    @Internal public abstract ListProperty<String> getVariants();

    /** {@code --base-map}: a method map whose numbers are kept. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getBaseMap();

    /** {@code --block-list}: classes and packages to leave alone. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getBlockList();

    /** {@code --rules}: what is traced and what not. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getRules();

    /** {@code --mapping}: for inputs that are obfuscated already. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getMapping();

    /** {@code --exits}: {@code all} or {@code normal}. */
    @Optional @Input public abstract Property<String> getExits();

    /** {@code --waits}: also record lock waits and blocking calls. */
    @Optional @Input public abstract Property<Boolean> getWaits();

    /** {@code --waits-catalogue}: more calls that block. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getWaitsCatalogue();

    /** {@code --compat}: {@code matrix}. */
    @Optional @Input public abstract Property<String> getCompat();

    /** {@code --threads}. */
    @Optional @Input public abstract Property<Integer> getThreads();

    /** {@code --level}: compression of the jar that is handed on; 0, the default here, as nobody keeps that jar. */
    @Optional @Input public abstract Property<Integer> getLevel();

    /** {@code --fail-on-skip}: the build fails if something cannot be instrumented. */
    @Optional @Input public abstract Property<Boolean> getFailOnSkip();

    /** Anything else that {@code anrscope instrument --help} lists, as it is written there. */
    @Input public abstract ListProperty<String> getArguments();
}
