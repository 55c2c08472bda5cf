package dev.anrscope;

/** Takes finished reports. */
public interface IssueListener {
    /**
     * A report is finished. Called on a thread of its own ({@code anrscope-reports}), one report after the other; what it throws
     * is logged.
     *
     * @param json one object with Matrix's tags, keys and types
     */
    void onIssue(String json);
}
