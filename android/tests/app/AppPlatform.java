package dev.anrscope;

import android.app.ActivityManager;
import android.app.AnrTypes;
import android.app.AnrWarningResult;
import android.app.ApplicationExitInfo;
import android.content.Context;
import android.os.ProfilingManager;
import android.os.ProfilingResult;
import android.os.ProfilingTrigger;
import host.HostApp;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;

/**
 * The platform's own evidence. Words, after options as {@code KEY=VALUE}:
 *
 * <ul>
 *   <li>{@code summary}, then each exit that the system knows as {@code PID,NAME,AGE,SUMMARY}: ended so many ms after the app
 *       was updated, with this process state summary ({@code -}: none);
 *   <li>{@code triggers}, then the numbers that are registered, {@code [2, 7]}, or names, the option's next value;
 *   <li>{@code stall}, then the file of the trace that runs, or {@code -}: main hangs until a trace is requested and, with a
 *       file, recorded;
 *   <li>{@code result}, then a trigger's number, a tag, an error and a file: the platform delivers it;
 *   <li>{@code warn}: the system warns of an ANR.
 * </ul>
 */
public final class AppPlatform {
    /** When the app was updated, ms since 1970. */
    private static final long UPDATED = 1_700_000_000_000L;

    private AppPlatform() {}

    private static boolean contains(File file, String part) {
        try {
            return new String(Files.readAllBytes(file.toPath()), StandardCharsets.ISO_8859_1).contains(part);
        } catch (java.io.IOException none) {
            return false;
        }
    }

    private static ApplicationExitInfo exit(String word) {
        String[] parts = word.split(",");
        ApplicationExitInfo exit = new ApplicationExitInfo();
        exit.pid = Integer.parseInt(parts[0]);
        exit.processName = parts[1];
        exit.reason = 6;
        exit.timestamp = UPDATED + Long.parseLong(parts[2]);
        exit.summary = parts[3].equals("-") ? null : parts[3].getBytes(StandardCharsets.US_ASCII);
        return exit;
    }

    private static String numbers(ProfilingManager profiles) {
        // The library adds them on a thread of its own.
        synchronized (profiles.hostTriggers) {
            return Arrays.toString(profiles.hostTriggers.stream().mapToInt(ProfilingTrigger::getTriggerType).sorted().toArray());
        }
    }

    public static void main(String[] all) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        HostApp.lastUpdateTime = UPDATED;
        ActivityManager manager = new ActivityManager();
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, manager);
        ProfilingManager profiles = new ProfilingManager();
        HostApp.SERVICES.put("profiling", profiles);
        int at = 0;
        for (; all[at].indexOf('=') > 0; at++) {
            String[] option = all[at].split("=", 2);
            HostApp.META.putString("anrscope." + option[0], option[1]);
        }
        String what = all[at];
        List<String> words = Arrays.asList(all).subList(at + 1, all.length);
        if (what.equals("summary")) {
            for (String word : words) {
                manager.hostExits.add(exit(word));
            }
        }
        AppScript script = new AppScript(false, () -> {});
        File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
        File own = new File(directory, "com.example.app-" + ProcessHandle.current().pid() + ".anrscope");
        script.until("the recording", own::exists);
        switch (what) {
            case "summary":
                // Registered after the exits are read and the summary is given.
                script.until("the library is set up", () -> !profiles.hostTriggers.isEmpty() || manager.hostWarned() > 0);
                script.then(
                        1,
                        () -> {
                            byte[] given = manager.hostSummary;
                            System.out.println("pid " + ProcessHandle.current().pid());
                            System.out.println("summary " + (given == null ? "-" : new String(given, StandardCharsets.US_ASCII)));
                            AppScript.die();
                        });
                break;
            case "triggers":
                for (String word : words) {
                    if (word.startsWith("[")) {
                        script.until("the triggers " + word, () -> numbers(profiles).equals(word));
                    } else {
                        script.then(1, () -> Anrscope.set("profile_triggers", word)).then(1, Anrscope::refresh);
                    }
                }
                script.then(1, () -> System.out.println("all triggers"));
                break;
            case "stall":
                String file = words.get(0);
                profiles.hostTrace = file.equals("-") ? null : file;
                script.until("the trigger", () -> numbers(profiles).contains("3"));
                script.then(
                        1,
                        () -> {
                            AppScript.await("the request", () -> !profiles.hostRequests.isEmpty());
                            AppScript.await("its note", () -> contains(own, "outcome=requested"));
                            AppScript.await("its result", () -> file.equals("-") || contains(own, "path=" + file));
                        });
                script.then(1, () -> System.out.println("requests " + profiles.hostRequests));
                break;
            case "result":
                int trigger = Integer.parseInt(words.get(0));
                int error = Integer.parseInt(words.get(2));
                script.until("the trigger", () -> numbers(profiles).contains(words.get(0)));
                script.then(
                        1,
                        () -> profiles.hostDeliver(new ProfilingResult(error, words.get(3), words.get(1), trigger)));
                script.until("its note", () -> contains(own, "outcome="));
                break;
            case "warn":
                script.until("the listener", () -> manager.hostWarned() == 1);
                script.then(
                        1,
                        () ->
                                manager.hostWarn(
                                        new AnrWarningResult(7, AnrTypes.ANR_TYPE_INPUT_DISPATCH, 2_500, 5_000, "quotes the app")));
                script.until("its notice", () -> contains(own, "warns of an ANR"));
                script.then(1, () -> Anrscope.set("anr_warning", "0")).then(1, Anrscope::refresh);
                script.until("no listener", () -> manager.hostWarned() == 0);
                break;
            default:
                throw new AssertionError(what);
        }
        script.run(20);
    }
}
