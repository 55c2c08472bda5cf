package dev.anrscope;

import host.HostApp;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/** Every option, by its setter; the manifest's, the provider's; marks and counters. */
public final class AppOptions {
    private AppOptions() {}

    private static String camel(String key) {
        StringBuilder name = new StringBuilder();
        for (String part : key.split("_")) {
            name.append(name.length() == 0 ? part : part.substring(0, 1).toUpperCase() + part.substring(1));
        }
        return name.toString();
    }

    /** {@code words} are {@code key=value}. */
    public static void main(String[] words) throws Exception {
        Config.Builder builder = new Config.Builder();
        Map<String, String> wanted = new HashMap<String, String>();
        for (String word : words) {
            String key = word.substring(0, word.indexOf('='));
            String value = word.substring(key.length() + 1);
            Method setter = null;
            for (Method method : Config.Builder.class.getMethods()) {
                if (method.getName().equals(camel(key))) {
                    setter = method;
                }
            }
            if (setter == null) {
                throw new AssertionError("no setter for " + key);
            }
            Class<?> type = setter.getParameterTypes()[0];
            if (type == boolean.class) {
                setter.invoke(builder, value.equals("1"));
            } else if (type == long.class) {
                setter.invoke(builder, Long.parseLong(value));
            } else {
                setter.invoke(builder, (Object) value.split(";"));
            }
        }
        int own = 0;
        for (Method method : Config.Builder.class.getMethods()) {
            if (method.getDeclaringClass() == Config.Builder.class) {
                own++;
            }
        }
        // Not options: set, provider, build.
        System.out.println("setters " + (own - 3));
        HostApp.META.putString("anrscope.anr_ms", "7000");
        HostApp.META.putString("anrscope.lag_ms", "2100");
        HostApp.META.putString("other.lag_ms", "1");
        HostApp.META.putString("anrscope.no_such", "1");
        AppScript script = new AppScript(false, () -> {});
        if (words.length > 0) {
            Anrscope.install(script.app, builder.build());
            script.then(1, () -> System.out.print(Anrscope.options()));
            script.run(50);
            return;
        }
        wanted.put("clicfg_matrix_trace_evil_method_threshold", "900");
        wanted.put("cold_ms", "9000");
        wanted.put("idle_ms", "soon");
        builder.lagMs(1_234).coarseClock(false).set("quick", "1").provider(wanted::get);
        Anrscope.install(script.app, builder.build());
        script.then(
                1,
                () -> {
                    AppScript.await("the provider", () -> Natives.number("cold_ms") == 9_000);
                    wanted.put("cold_ms", "8000");
                    AppScript.await(
                            "the provider again",
                            () -> {
                                Anrscope.refresh();
                                return Natives.number("cold_ms") == 8_000;
                            });
                    System.out.println("slow " + Natives.number("slow_ms") + " anr " + Natives.number("anr_ms") + " lag "
                            + Natives.number("lag_ms") + " idle " + Natives.number("idle_ms"));
                    System.out.println("set " + Anrscope.set("anr_ms", "6000") + " " + Anrscope.set("quick", "1") + " "
                            + Anrscope.set("anr_ms", "x") + " " + Natives.number("anr_ms"));
                    Anrscope.mark("basket opened");
                    Anrscope.counter("basket", 2.5);
                    System.out.println("asked on main " + android.content.pm.PackageManager.hostCallsOnMain);
                });
        script.run(50);
    }
}
