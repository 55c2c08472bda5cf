package com.example.soak;

/** Does what Android's zygote does before an app's code runs. Not instrumented: the recorder must not start earlier. */
public final class Boot {
    private Boot() {}

    public static void main(String[] words) throws Exception {
        // No directory before the first Context.
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        SoakApp.main(words);
    }
}
