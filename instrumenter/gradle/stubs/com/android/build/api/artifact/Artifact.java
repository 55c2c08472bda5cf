package com.android.build.api.artifact;

public abstract class Artifact<T> {}
