package android.app;

/** For javac only, so that compiling needs no android.jar. Not shipped. */
public class Activity {}
