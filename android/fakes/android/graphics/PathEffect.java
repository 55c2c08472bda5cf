package android.graphics;

public class PathEffect {}
