package com.android.build.api.variant;

import com.android.build.api.dsl.SdkComponents;
import kotlin.Unit;
import kotlin.jvm.functions.Function1;
import org.gradle.api.Action;

public interface AndroidComponentsExtension<DslT, VariantBuilderT extends VariantBuilder, VariantT extends Variant> {
    SdkComponents getSdkComponents();

    VariantSelector selector();

    void onVariants(VariantSelector selector, Function1<? super VariantT, Unit> callback);

    void onVariants(VariantSelector selector, Action<VariantT> callback);
}
