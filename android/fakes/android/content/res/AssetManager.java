package android.content.res;

import host.HostApp;
import java.io.ByteArrayInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;

/** The files of the APK's directory assets (core/java/android/content/res/AssetManager.java, all levels). */
public final class AssetManager {
    public InputStream open(String name) throws IOException {
        byte[] asset = HostApp.ASSETS.get(name);
        if (asset == null) {
            throw new FileNotFoundException(name);
        }
        return new ByteArrayInputStream(asset);
    }
}
