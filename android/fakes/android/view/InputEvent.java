package android.view;

public abstract class InputEvent {
    private final long eventTime;

    InputEvent(long eventTime) {
        this.eventTime = eventTime;
    }

    /** In the time of {@code uptimeMillis}. */
    public long getEventTime() {
        return eventTime;
    }
}
