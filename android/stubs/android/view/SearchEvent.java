package android.view;

/** API 23. Signature only. */
public class SearchEvent {}
