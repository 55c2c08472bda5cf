package dev.anrscope;

import android.content.pm.PackageManager;
import android.database.Cursor;
import android.net.Uri;
import android.os.Binder;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import host.HostApp;
import java.io.File;
import java.io.FileInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;

/** The provider and the receivers that serve the anrscope tool: which callers they answer, and their answers. */
public final class AppServed {
    private static final String BASE = "content://com.example.app.anrscope/";
    private static final RecordingsProvider PROVIDER = new RecordingsProvider();

    private AppServed() {}

    private interface Step {
        Object run() throws Exception;
    }

    private static String outcome(Step step) {
        try {
            return String.valueOf(step.run());
        } catch (Exception thrown) {
            return thrown.getClass().getSimpleName();
        }
    }

    private static String as(int uid, Step step) {
        Binder.hostCaller(uid);
        try {
            return outcome(step);
        } finally {
            Binder.hostCaller(null);
        }
    }

    private static Cursor query(String path) {
        return PROVIDER.query(Uri.parse(BASE + path), null, null, null, null);
    }

    private static byte[] read(String path) throws Exception {
        ParcelFileDescriptor opened = PROVIDER.openFile(Uri.parse(BASE + path), "r");
        byte[] all = new FileInputStream(opened.getFileDescriptor()).readAllBytes();
        opened.close();
        return all;
    }

    private static String row(Cursor rows) {
        StringBuilder row = new StringBuilder();
        for (int column = 0; column < rows.getColumnNames().length; column++) {
            row.append(' ').append(rows.getColumnNames()[column]).append('=').append(rows.getString(column));
        }
        return row.toString();
    }

    private static String call(String command) {
        Bundle answer = PROVIDER.call(command, null, null);
        return answer.getString("done") + " " + answer.getString("said");
    }

    private static String send(ControlReceiver to, String action, boolean ordered) {
        return to.hostReceive(PROVIDER.getContext(), new android.content.Intent(action), ordered).get();
    }

    private static void guarded() {
        Step[] all = {
            () -> query("recordings").getCount() > 0,
            () -> read("recordings/old-999999999.anrscope").length,
            () -> PROVIDER.delete(Uri.parse(BASE + "recordings/.pull-1-2"), null, null),
            () -> call("flush").substring(0, 3),
        };
        int[] uids = {10123, 2000, 1_002_000, 10200, 10300, 1000};
        PackageManager.hostGranted.add("10300 com.example.app.anrscope.CONTROL");
        for (boolean debuggable : new boolean[] {true, false}) {
            HostApp.debuggable = debuggable;
            for (int uid : uids) {
                StringBuilder answers = new StringBuilder("guard " + debuggable + " " + uid);
                for (Step step : all) {
                    answers.append(' ').append(as(uid, step));
                }
                System.out.println(answers);
            }
            System.out.println("broadcast " + debuggable + " " + send(new ControlReceiver(), "dev.anrscope.action.START", true)
                    + " signed " + send(new SignedControlReceiver(), "dev.anrscope.action.START", true));
        }
        HostApp.debuggable = true;
    }

    private static void names(File directory) throws Exception {
        Files.write(new File(directory, "notes.txt").toPath(), new byte[1]);
        Files.write(new File(directory, ".hidden.anrscope").toPath(), new byte[1]);
        Files.write(new File(directory, "-rf.anrscope").toPath(), new byte[1]);
        File outside = new File(directory.getParentFile(), "secret.anrscope");
        Files.write(outside.toPath(), new byte[1]);
        Files.createSymbolicLink(new File(directory, "link.anrscope").toPath(), outside.toPath());
        for (String name :
                new String[] {
                    "..%2Fsecret.anrscope", "../secret.anrscope", "%2e%2e/secret.anrscope", "link.anrscope", "notes.txt",
                    ".hidden.anrscope", "-rf.anrscope", "none.anrscope", "old-999999999.anrscope/x", "",
                    "old-999999999.anrscope%00", "old-999999999.anrscope?from=x"
                }) {
            System.out.println("name " + name + " " + outcome(() -> read("recordings/" + name).length));
        }
        System.out.println("elsewhere " + outcome(() -> query("files")) + " "
                + outcome(() -> PROVIDER.openFile(Uri.parse(BASE + "recordings/old-999999999.anrscope"), "rw")) + " "
                + outcome(() -> PROVIDER.delete(Uri.parse(BASE + "recordings/old-999999999.anrscope"), null, null)));
    }

    private static void reads(File directory, byte[] old) throws Exception {
        File forgotten = new File(directory, ".pull-1-2");
        Files.write(forgotten.toPath(), new byte[9]);
        forgotten.setLastModified(System.currentTimeMillis() - 2 * 3_600_000);
        Cursor rows = query("recordings");
        while (rows.moveToNext()) {
            System.out.println("listed" + row(rows));
        }
        System.out.println("forgotten " + forgotten.exists());
        rows = query("recordings/old-999999999.anrscope");
        rows.moveToNext();
        System.out.println("one" + row(rows));
        byte[] whole = read("recordings/old-999999999.anrscope");
        byte[] rest = read("recordings/old-999999999.anrscope?from=4096");
        byte[] beyond = read("recordings/old-999999999.anrscope?from=99999999");
        System.out.println("read " + Arrays.equals(whole, old) + " " + Arrays.equals(rest, Arrays.copyOfRange(old, 4096, old.length))
                + " " + beyond.length);
        // A recording that this process is still writing.
        String own = "com.example.app-" + ProcessHandle.current().pid() + ".anrscope";
        rows = query("recordings/" + own + "?copy=7-a");
        rows.moveToNext();
        System.out.println("live" + row(rows));
        for (int n = 0; n < 1_000; n++) {
            MethodBeat.i(7);
            MethodBeat.o(7);
        }
        String copy = rows.getString(0);
        byte[] first = read("recordings/" + copy);
        Cksum sum = Cksum.of(new java.io.ByteArrayInputStream(read("recordings/" + copy)));
        System.out.println("copy " + String.valueOf(sum.sum()).equals(rows.getString(3)) + " " + (first.length == sum.length())
                + " changed " + !Arrays.equals(first, read("recordings/" + own)));
        // The client got no answer and asks again: the recording has changed, the copy has not.
        Cursor again = query("recordings/" + own + "?copy=7-a");
        again.moveToNext();
        System.out.println("again " + again.getCount() + " same " + again.getString(3).equals(rows.getString(3)) + " odd "
                + query("recordings/" + own + "?copy=..%2Fx").getCount());
        System.out.println("listed then " + (query("recordings").getCount() == 2));
        System.out.println("deleted " + PROVIDER.delete(Uri.parse(BASE + "recordings/" + copy), null, null) + " "
                + PROVIDER.delete(Uri.parse(BASE + "recordings/" + copy), null, null));
    }

    private static void commands() {
        for (String command : new String[] {"stop", "stop", "start", "start", "reboot"}) {
            System.out.println("call " + command + " " + call(command));
        }
        System.out.println("flush " + call("flush").startsWith("yes /"));
        ControlReceiver receiver = new ControlReceiver();
        for (String action : new String[] {"STOP", "START", "REBOOT"}) {
            System.out.println("send " + action + " " + send(receiver, "dev.anrscope.action." + action, true));
        }
        System.out.println("unordered " + send(receiver, "dev.anrscope.action.FLUSH", false));
        System.out.println("foreign " + send(receiver, "android.intent.action.BOOT_COMPLETED", true));
        System.out.println("dump " + send(receiver, "dev.anrscope.action.DUMP", true));
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        AppScript script = new AppScript(false, () -> {});
        PROVIDER.hostAttach(script.app);
        File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
        script.until("the file", () -> call("flush").startsWith("yes"));
        script.then(
                1,
                () -> {
                    try {
                        byte[] old = new byte[300_001];
                        for (int at = 0; at < old.length; at++) {
                            old[at] = (byte) (at * 31 >> 3);
                        }
                        Files.write(new File(directory, "old-999999999.anrscope").toPath(), old);
                        reads(directory, old);
                        guarded();
                        names(directory);
                        commands();
                    } catch (Exception fault) {
                        throw new AssertionError(fault);
                    }
                });
        script.run(50);
        System.out.println("left " + String.join(" ", sorted(directory)));
    }

    private static String[] sorted(File directory) {
        String[] names = directory.list((in, name) -> name.startsWith(".") || name.endsWith(".anrscope"));
        Arrays.sort(names);
        String own = "-" + ProcessHandle.current().pid() + ".";
        for (int at = 0; at < names.length; at++) {
            names[at] = names[at].replace(own, "-PID.");
        }
        return names;
    }
}
