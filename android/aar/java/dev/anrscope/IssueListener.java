package dev.anrscope;

/** Receives finished reports. */
public interface IssueListener {
    /**
     * A report is finished. Called on the library's thread {@code anrscope-reports}, one report after the other;
     * exceptions are logged.
     *
     * @param json one object with Matrix's tags, keys and types
     */
    void onIssue(String json);
}
