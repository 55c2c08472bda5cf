package dev.anrscope.gradle;

import com.android.build.api.artifact.ScopedArtifact;
import com.android.build.api.variant.AndroidComponentsExtension;
import com.android.build.api.variant.ScopedArtifacts;
import com.android.build.api.variant.SourceDirectories;
import com.android.build.api.variant.Variant;
import java.util.List;
import org.gradle.api.Project;
import org.gradle.api.artifacts.Configuration;
import org.gradle.api.attributes.Attribute;
import org.gradle.api.attributes.Category;
import org.gradle.api.file.FileCollection;
import org.gradle.api.tasks.TaskProvider;

/**
 * The kinds of Android modules, and how the classes of their variants reach the task. It is a class of its own, because a build
 * without the Android plug-in has none of the classes that are named here.
 */
enum AndroidModule {
    APPLICATION,
    FEATURE,
    LIBRARY;

    /** Where dynamic features and the app name the module whose ids precede theirs. */
    private static final String BASE_MAP = "anrscopeBaseMap";

    /** The variant that a published method map belongs to. */
    private static final Attribute<String> VARIANT = Attribute.of("dev.anrscope.variant", String.class);

    void onVariants(Project project, AnrscopeExtension options) {
        AndroidComponentsExtension<?, ?, ?> android = project.getExtensions().getByType(AndroidComponentsExtension.class);
        if (this != LIBRARY) {
            AnrscopePlugin.bucket(project, BASE_MAP);
        }
        each(project, android, options);
    }

    private <V extends Variant> void each(
            Project project, AndroidComponentsExtension<?, ?, V> android, AnrscopeExtension options) {
        android.onVariants(android.selector().all(), variant -> {
            String name = variant.getName();
            List<String> wanted = options.getVariants().get();
            if (!wanted.isEmpty() && !wanted.contains(name)) {
                return;
            }
            String title = Character.toUpperCase(name.charAt(0)) + name.substring(1);
            FileCollection preceding = this == LIBRARY ? null : precedingMap(project, name, title);
            TaskProvider<InstrumentTask> task =
                    project.getTasks().register("anrscopeInstrument" + title, InstrumentTask.class, it -> {
                        it.setDescription("Instruments the classes of " + name + " for anrscope.");
                        it.setOptions(options);
                        AnrscopePlugin.files(it, project.getLayout(), name);
                        AnrscopePlugin.program(it, project, options);
                        it.getLevel().set(options.getLevel().orElse(0));
                        it.getPartOfApp().set(this == FEATURE);
                        it.getPlatform().from(android.getSdkComponents().getBootClasspath());
                        if (this == LIBRARY) {
                            it.getPlatform().from(variant.getCompileClasspath());
                        } else {
                            it.getPrecedingMap().from(preceding);
                        }
                    });
            variant.getArtifacts()
                    .forScope(this == LIBRARY ? ScopedArtifacts.Scope.PROJECT : ScopedArtifacts.Scope.ALL)
                    .use(task)
                    .toTransform(
                            ScopedArtifact.CLASSES.INSTANCE,
                            InstrumentTask::getJars,
                            InstrumentTask::getDirectories,
                            InstrumentTask::getOutput);
            if (this == FEATURE) {
                publishMap(project, name, title, task);
            }
            boolean debug = "debug".equals(variant.getBuildType());
            if (this == APPLICATION && options.getMapInAssets().getOrElse(debug)) {
                addMapAsset(project, variant, title, task);
            }
        });
    }

    private static void addMapAsset(Project project, Variant variant, String title, TaskProvider<InstrumentTask> instrument) {
        SourceDirectories.Layered assets = variant.getSources().getAssets();
        if (assets == null) {
            return;
        }
        TaskProvider<MapAssetTask> task =
                project.getTasks().register("anrscopeMapAsset" + title, MapAssetTask.class, it -> {
                    it.setDescription("Puts the method map of " + variant.getName() + " among the app's assets.");
                    it.getMethodMap().set(instrument.flatMap(InstrumentTask::getMethodMap));
                });
        assets.addGeneratedSourceDirectory(task, MapAssetTask::getAssets);
    }

    private static FileCollection precedingMap(Project project, String variant, String title) {
        Configuration files = AnrscopePlugin.bucket(project, BASE_MAP + title);
        files.setCanBeResolved(true);
        files.extendsFrom(project.getConfigurations().getByName(BASE_MAP));
        attributes(project, files, variant);
        return files;
    }

    private static void publishMap(Project project, String variant, String title, TaskProvider<InstrumentTask> task) {
        Configuration map = AnrscopePlugin.bucket(project, "anrscopeMap" + title);
        map.setCanBeConsumed(true);
        attributes(project, map, variant);
        map.getOutgoing().artifact(task.flatMap(InstrumentTask::getMethodMap));
    }

    private static void attributes(Project project, Configuration configuration, String variant) {
        Category category = project.getObjects().named(Category.class, "anrscope-method-map");
        configuration.getAttributes().attribute(Category.CATEGORY_ATTRIBUTE, category).attribute(VARIANT, variant);
    }
}
