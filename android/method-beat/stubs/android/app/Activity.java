package android.app;

/** Only so that javac knows the name: android.jar is not needed to compile the runtime. Not shipped. */
public class Activity {}
