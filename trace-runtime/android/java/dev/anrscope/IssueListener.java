package dev.anrscope;

/** Takes the reports. */
public interface IssueListener {
    /**
     * A report: one JSON object with Matrix's tags and keys. On the thread {@code anrscope-reports}; while it runs later reports wait,
     * 64 at most. What it throws is dropped.
     */
    void onIssue(String json);
}
