package android.view.accessibility;

public final class AccessibilityEvent {}
