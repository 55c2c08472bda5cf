package android.view;

public interface MenuItem {}
