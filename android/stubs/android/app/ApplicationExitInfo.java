package android.app;

import java.io.IOException;
import java.io.InputStream;

/** API 30. Signatures only. */
public final class ApplicationExitInfo {
    private ApplicationExitInfo() {
        throw new UnsupportedOperationException();
    }

    public int getPid() {
        throw new UnsupportedOperationException();
    }

    public String getProcessName() {
        throw new UnsupportedOperationException();
    }

    public int getReason() {
        throw new UnsupportedOperationException();
    }

    public int getStatus() {
        throw new UnsupportedOperationException();
    }

    public int getImportance() {
        throw new UnsupportedOperationException();
    }

    public long getPss() {
        throw new UnsupportedOperationException();
    }

    public long getRss() {
        throw new UnsupportedOperationException();
    }

    public long getTimestamp() {
        throw new UnsupportedOperationException();
    }

    public String getDescription() {
        throw new UnsupportedOperationException();
    }

    public byte[] getProcessStateSummary() {
        throw new UnsupportedOperationException();
    }

    public InputStream getTraceInputStream() throws IOException {
        throw new UnsupportedOperationException();
    }
}
