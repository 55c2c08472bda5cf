package dev.anrscope.gradle;

import com.android.build.api.artifact.ScopedArtifact;
import com.android.build.api.variant.AndroidComponentsExtension;
import com.android.build.api.variant.ScopedArtifacts;
import com.android.build.api.variant.Variant;
import java.util.List;
import org.gradle.api.Plugin;
import org.gradle.api.Project;
import org.gradle.api.file.ProjectLayout;
import org.gradle.api.tasks.TaskProvider;

/** Passes the classes of each variant to {@code anrscope instrument}, before R8 or D8 process them. */
public final class AnrscopePlugin implements Plugin<Project> {
    @Override
    public void apply(Project project) {
        AnrscopeExtension options = project.getExtensions().create("anrscope", AnrscopeExtension.class);
        // An app is instrumented with its dependencies; a library alone, since the app that uses it brings them.
        project.getPluginManager()
                .withPlugin("com.android.application", app -> onVariants(project, options, ScopedArtifacts.Scope.ALL));
        project.getPluginManager()
                .withPlugin("com.android.library", lib -> onVariants(project, options, ScopedArtifacts.Scope.PROJECT));
    }

    private void onVariants(Project project, AnrscopeExtension options, ScopedArtifacts.Scope scope) {
        AndroidComponentsExtension<?, ?, ?> android = project.getExtensions().getByType(AndroidComponentsExtension.class);
        each(project, android, options, scope);
    }

    private <V extends Variant> void each(
            Project project, AndroidComponentsExtension<?, ?, V> android, AnrscopeExtension options, ScopedArtifacts.Scope scope) {
        android.onVariants(android.selector().all(), variant -> {
            List<String> wanted = options.getVariants().get();
            if (!wanted.isEmpty() && !wanted.contains(variant.getName())) {
                return;
            }
            String name = variant.getName();
            String title = Character.toUpperCase(name.charAt(0)) + name.substring(1);
            TaskProvider<InstrumentTask> task =
                    project.getTasks().register("anrscopeInstrument" + title, InstrumentTask.class, it -> {
                        ProjectLayout layout = project.getLayout();
                        String maps = "outputs/mapping/" + name;
                        it.getMethodMap().set(layout.getBuildDirectory().file(maps + "/methodMapping.txt"));
                        it.getIgnoredMap().set(layout.getBuildDirectory().file(maps + "/ignoreMethodMapping.txt"));
                        it.getLines().set(layout.getBuildDirectory().file(maps + "/methodMapping.txt.lines"));
                        it.getCache().set(layout.getBuildDirectory().dir("intermediates/anrscope/" + name));
                        it.setProgram((String) project.findProperty("anrscope.program"));
                        it.setOptions(options);
                        it.getPlatform().from(android.getSdkComponents().getBootClasspath());
                        if (scope == ScopedArtifacts.Scope.PROJECT) {
                            it.getPlatform().from(variant.getCompileClasspath());
                        }
                    });
            variant.getArtifacts()
                    .forScope(scope)
                    .use(task)
                    .toTransform(
                            ScopedArtifact.CLASSES.INSTANCE,
                            InstrumentTask::getJars,
                            InstrumentTask::getDirectories,
                            InstrumentTask::getOutput);
        });
    }
}
