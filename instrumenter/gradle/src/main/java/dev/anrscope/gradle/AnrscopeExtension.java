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

/** The block {@code anrscope { }} of a build file. If a property is not set, the tool's own default applies. */
public abstract class AnrscopeExtension {
    /** Names of the variants to instrument, such as {@code release}; empty, the default, means all. */
    @Internal public abstract ListProperty<String> getVariants();

    /**
     * The program to run. If neither this nor {@link #getProgramVersion} is set: the Gradle property {@code anrscope.program}, then
     * {@code anrscope} on {@code PATH}, then the npm package in the module's or the root directory's {@code node_modules}.
     */
    @Internal public abstract RegularFileProperty getProgram();

    /** Downloads the program of this version from the build's repositories, as {@code dev.anrscope:anrscope-program}. */
    @Internal public abstract Property<String> getProgramVersion();

    /** {@code --base-map}: a method map whose ids are kept. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getBaseMap();

    /** {@code --block-list}: classes and packages that are not instrumented. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getBlockList();

    /** {@code --rules}: which methods are traced. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getRules();

    /** {@code --mapping}: for inputs that are already obfuscated. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getMapping();

    /** {@code --exits}: {@code all} or {@code normal}, which is {@code bare} in Android's modules. */
    @Optional @Input public abstract Property<String> getExits();

    /** {@code --waits}: also record waits and tasks; true, unless {@code compat} is set. */
    @Optional @Input public abstract Property<Boolean> getWaits();

    /** {@code --waits-catalogue}: additional blocking calls. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getWaitsCatalogue();

    /** {@code --compat}: {@code matrix}. */
    @Optional @Input public abstract Property<String> getCompat();

    /** {@code --threads}. */
    @Optional @Input public abstract Property<Integer> getThreads();

    /**
     * {@code --level}: compression of the output jar. In an Android module the default is 0, because only D8 and R8 read the jar.
     */
    @Internal public abstract Property<Integer> getLevel();

    /** {@code --fail-on-skip}: the build fails if something cannot be instrumented. */
    @Optional @Input public abstract Property<Boolean> getFailOnSkip();

    /**
     * Whether the app has its method map among its assets, for {@code anrscope-debug}. If it is not set: the build type {@code debug} has.
     */
    @Internal public abstract Property<Boolean> getMapInAssets();

    /** Any other options that {@code anrscope instrument --help} lists, as they are written there. */
    @Input public abstract ListProperty<String> getArguments();
}
