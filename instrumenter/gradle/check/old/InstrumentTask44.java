package dev.anrscope.gradle;

import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.Directory;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.file.RegularFile;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.tasks.CacheableTask;

/** The task with the properties that Gradle 5.6 and later generate, so that Gradle 4.4 can run it. */
@CacheableTask
public class InstrumentTask44 extends InstrumentTask {
    private final ListProperty<RegularFile> jars = getProject().getObjects().listProperty(RegularFile.class);
    private final ListProperty<Directory> directories = getProject().getObjects().listProperty(Directory.class);
    private final ConfigurableFileCollection archive = getProject().files();
    private final ConfigurableFileCollection platform = getProject().files();
    private final ConfigurableFileCollection precedingMap = getProject().files();
    private final ConfigurableFileCollection downloadedProgram = getProject().files();
    private final Property<Boolean> partOfApp = getProject().getObjects().property(Boolean.class);
    private final Property<Integer> level = getProject().getObjects().property(Integer.class);
    private final RegularFileProperty program = newInputFile();
    private final DirectoryProperty cache = newOutputDirectory();
    private final RegularFileProperty output = newOutputFile();
    private final RegularFileProperty methodMap = newOutputFile();
    private final RegularFileProperty ignoredMap = newOutputFile();
    private final RegularFileProperty lines = newOutputFile();

    /** What the plug-in does for {@code anrscopeJar}, but for finding the program, for which it uses newer Gradle's providers. */
    public void likeThePlugin(AnrscopeExtension options) {
        setOptions(options);
        level.set(options.getLevel().getOrElse(6));
        if (options.getProgram().isPresent()) {
            program.set(options.getProgram().get());
        }
        AnrscopePlugin.jar(this, getProject());
    }

    /** The same for an Android module, whose jars and directories the Android plug-in names. */
    public void likeAVariant(AnrscopeExtension options, boolean feature) {
        likeThePlugin(options);
        archive.setFrom();
        partOfApp.set(feature);
    }

    @Override public ListProperty<RegularFile> getJars() { return jars; }

    @Override public ListProperty<Directory> getDirectories() { return directories; }

    @Override public ConfigurableFileCollection getArchive() { return archive; }

    @Override public ConfigurableFileCollection getPlatform() { return platform; }

    @Override public ConfigurableFileCollection getPrecedingMap() { return precedingMap; }

    @Override public Property<Boolean> getPartOfApp() { return partOfApp; }

    @Override public RegularFileProperty getProgram() { return program; }

    @Override public ConfigurableFileCollection getDownloadedProgram() { return downloadedProgram; }

    @Override public Property<Integer> getLevel() { return level; }

    @Override public DirectoryProperty getCache() { return cache; }

    @Override public RegularFileProperty getOutput() { return output; }

    @Override public RegularFileProperty getMethodMap() { return methodMap; }

    @Override public RegularFileProperty getIgnoredMap() { return ignoredMap; }

    @Override public RegularFileProperty getLines() { return lines; }
}
