package dev.anrscope.gradle;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import org.gradle.api.DefaultTask;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.tasks.InputFile;
import org.gradle.api.tasks.OutputDirectory;
import org.gradle.api.tasks.PathSensitive;
import org.gradle.api.tasks.PathSensitivity;
import org.gradle.api.tasks.TaskAction;

/** Puts a variant's method map among the app's assets, where anrscope-debug looks for the names of methods. */
public abstract class MapAssetTask extends DefaultTask {
    @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getMethodMap();

    @OutputDirectory public abstract DirectoryProperty getAssets();

    @TaskAction
    public void copy() throws IOException {
        // MethodNames of anrscope-debug has this name too.
        File asset = new File(getAssets().get().getAsFile(), "anrscope/methodMapping.txt");
        Files.createDirectories(asset.getParentFile().toPath());
        Files.copy(getMethodMap().get().getAsFile().toPath(), asset.toPath(), StandardCopyOption.REPLACE_EXISTING);
    }
}
