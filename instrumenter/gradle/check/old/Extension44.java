package dev.anrscope.gradle;

import org.gradle.api.Project;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;

/** The extension with the properties that Gradle 5.6 and later generate. */
public class Extension44 extends AnrscopeExtension {
    private final ListProperty<String> variants;
    private final ListProperty<String> arguments;
    private final RegularFileProperty program;
    private final Property<String> programVersion;
    private final RegularFileProperty baseMap;
    private final RegularFileProperty blockList;
    private final RegularFileProperty rules;
    private final RegularFileProperty mapping;
    private final RegularFileProperty waitsCatalogue;
    private final Property<String> exits;
    private final Property<String> compat;
    private final Property<Boolean> waits;
    private final Property<Boolean> failOnSkip;
    private final Property<Boolean> mapInAssets;
    private final Property<Integer> threads;
    private final Property<Integer> level;

    public Extension44(Project project) {
        variants = project.getObjects().listProperty(String.class);
        arguments = project.getObjects().listProperty(String.class);
        program = project.getLayout().fileProperty();
        programVersion = project.getObjects().property(String.class);
        baseMap = project.getLayout().fileProperty();
        blockList = project.getLayout().fileProperty();
        rules = project.getLayout().fileProperty();
        mapping = project.getLayout().fileProperty();
        waitsCatalogue = project.getLayout().fileProperty();
        exits = project.getObjects().property(String.class);
        compat = project.getObjects().property(String.class);
        waits = project.getObjects().property(Boolean.class);
        failOnSkip = project.getObjects().property(Boolean.class);
        mapInAssets = project.getObjects().property(Boolean.class);
        threads = project.getObjects().property(Integer.class);
        level = project.getObjects().property(Integer.class);
    }

    @Override public ListProperty<String> getVariants() { return variants; }

    @Override public RegularFileProperty getProgram() { return program; }

    @Override public Property<String> getProgramVersion() { return programVersion; }

    @Override public RegularFileProperty getBaseMap() { return baseMap; }

    @Override public RegularFileProperty getBlockList() { return blockList; }

    @Override public RegularFileProperty getRules() { return rules; }

    @Override public RegularFileProperty getMapping() { return mapping; }

    @Override public Property<String> getExits() { return exits; }

    @Override public Property<Boolean> getWaits() { return waits; }

    @Override public RegularFileProperty getWaitsCatalogue() { return waitsCatalogue; }

    @Override public Property<String> getCompat() { return compat; }

    @Override public Property<Integer> getThreads() { return threads; }

    @Override public Property<Integer> getLevel() { return level; }

    @Override public Property<Boolean> getFailOnSkip() { return failOnSkip; }

    @Override public Property<Boolean> getMapInAssets() { return mapInAssets; }

    @Override public ListProperty<String> getArguments() { return arguments; }
}
