package dev.anrscope;

import java.io.File;

/** Sends recordings to your backend; see {@link Anrscope#setUploader}. */
public interface Uploader {
    /**
     * A recording is finished: its process has ended. Called on the library's thread {@code anrscope-upload}, one
     * recording after the other, those with an ANR first. Open the file at once: if another process of the app starts, or
     * options change, the limits of old recordings may remove it meanwhile. An open file can be read to its end.
     *
     * @return true once it has arrived; it is then not offered again. If false, or if this throws, it is offered again
     *     after a minute, then after twice as long each time, up to six hours
     */
    boolean upload(File recording, RecordingInfo info) throws Exception;
}
