package dev.anrscope;

import java.io.File;

/** Brings recordings to the app's own backend; see {@link Anrscope#setUploader}. */
public interface Uploader {
    /**
     * A recording is finished: its process is gone. Called on a thread of its own ({@code anrscope-upload}), one recording after the
     * other, those with an ANR first. The file stays where it is and may be read until this returns.
     *
     * @return true once it has arrived: it is not offered again. If not, or if this throws, it is offered again later, after a minute at
     *     first and twice as long each time, up to six hours
     */
    boolean upload(File recording, RecordingInfo info) throws Exception;
}
