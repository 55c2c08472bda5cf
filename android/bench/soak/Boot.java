package com.example.soak;

/** What Android's zygote does before an app's code runs. It is not instrumented: the recorder's start must not come before it. */
public final class Boot {
    private Boot() {}

    public static void main(String[] words) throws Exception {
        // No folder before there is a Context.
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        SoakApp.main(words);
    }
}
