package com.android.build.api.variant;

public interface VariantBuilder {}
