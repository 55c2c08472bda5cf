package android.view;

/** API 23. */
public class SearchEvent {}
