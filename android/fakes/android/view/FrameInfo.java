package android.view;

import host.Clock;

/** When the parts of a frame began. The array's name is AOSP's of API 23 to 28. */
final class FrameInfo {
    static final int INTENDED_VSYNC = 1;
    static final int VSYNC = 2;
    static final int OLDEST_INPUT_EVENT = 3;
    static final int NEWEST_INPUT_EVENT = 4;
    static final int HANDLE_INPUT_START = 5;
    static final int ANIMATION_START = 6;
    static final int PERFORM_TRAVERSALS_START = 7;
    static final int DRAW_START = 8;

    final long[] mFrameInfo = new long[9];

    void setVsync(long intended, long used) {
        mFrameInfo[INTENDED_VSYNC] = intended;
        mFrameInfo[VSYNC] = used;
        mFrameInfo[OLDEST_INPUT_EVENT] = Long.MAX_VALUE;
        mFrameInfo[NEWEST_INPUT_EVENT] = 0;
    }

    void updateInputEventTime(long newest, long oldest) {
        mFrameInfo[OLDEST_INPUT_EVENT] = Math.min(mFrameInfo[OLDEST_INPUT_EVENT], oldest);
        mFrameInfo[NEWEST_INPUT_EVENT] = Math.max(mFrameInfo[NEWEST_INPUT_EVENT], newest);
    }

    void mark(int part) {
        mFrameInfo[part] = Clock.nanos();
    }
}
