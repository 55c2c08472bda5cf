package host;

import android.content.BroadcastReceiver;
import android.content.ContentProvider;
import android.content.Context;
import android.content.Intent;
import android.database.Cursor;
import android.net.Uri;
import android.os.Binder;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.ParcelFileDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Does what Android's {@code content} and {@code am broadcast} do with the one fake app, for the simulated device
 * ({@code tests/test-device/src/programs/served}): reads requests from a directory, answers each as the shell's uid,
 * and prints what those programs print (AOSP's Content.java, ActivityManagerShellCommand.java).
 */
public final class HostShell implements Runnable {
    private static final int SHELL = 2000;

    private final File directory;
    private final Context context;
    private final ContentProvider provider;
    private final Map<String, BroadcastReceiver> receivers = new HashMap<String, BroadcastReceiver>();

    public HostShell(File directory, Context context, ContentProvider provider, BroadcastReceiver... receivers) {
        this.directory = directory;
        this.context = context;
        this.provider = provider;
        for (BroadcastReceiver receiver : receivers) {
            this.receivers.put(context.getPackageName() + "/" + receiver.getClass().getName(), receiver);
        }
    }

    /** On a thread of its own, as calls from other processes are. */
    public void start() {
        directory.mkdirs();
        Thread thread = new Thread(this, "Binder:host");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        while (true) {
            File[] requests = directory.listFiles();
            for (File request : requests == null ? new File[0] : requests) {
                File words = new File(request, "words");
                if (words.exists() && !new File(request, "code").exists()) {
                    try {
                        answer(request, Files.readAllLines(words.toPath()));
                    } catch (Exception gone) {
                        // Its client is gone.
                    }
                }
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    private void answer(File request, List<String> words) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Map<String, String> options = new HashMap<String, String>();
        for (int at = 2; at + 1 < words.size(); at += 2) {
            options.put(words.get(at), words.get(at + 1));
        }
        Binder.hostCaller(SHELL);
        PrintStream to = new PrintStream(out, true);
        try {
            if (words.get(0).equals("content")) {
                content(words.get(1), options, to);
            } else {
                broadcast(options, to);
            }
        } catch (Exception thrown) {
            PrintStream complaint = new PrintStream(err, true);
            complaint.println("Error while accessing provider:" + options.get("--uri"));
            thrown.printStackTrace(complaint);
        } finally {
            Binder.hostCaller(null);
        }
        Files.write(new File(request, "stdout").toPath(), out.toByteArray());
        Files.write(new File(request, "stderr").toPath(), err.toByteArray());
        File code = new File(request, "code.part");
        // Content.java exits with 0 in any case.
        Files.write(code.toPath(), "0\n".getBytes(StandardCharsets.UTF_8));
        code.renameTo(new File(request, "code"));
    }

    private void content(String what, Map<String, String> options, PrintStream out) throws Exception {
        Uri uri = Uri.parse(options.get("--uri"));
        if (what.equals("query")) {
            Cursor rows = provider.query(uri, null, null, null, null);
            if (rows == null || rows.getCount() == 0) {
                out.println("No result found.");
                return;
            }
            for (int row = 0; rows.moveToNext(); row++) {
                List<String> fields = new ArrayList<String>();
                for (int column = 0; column < rows.getColumnNames().length; column++) {
                    fields.add(rows.getColumnNames()[column] + "=" + rows.getString(column));
                }
                out.println("Row: " + row + " " + String.join(", ", fields));
            }
        } else if (what.equals("read")) {
            ParcelFileDescriptor opened = provider.openFile(uri, "r");
            InputStream in = opened.hostStream();
            in.transferTo(out);
            opened.close();
        } else if (what.equals("delete")) {
            provider.delete(uri, null, null);
        } else if (what.equals("call")) {
            Bundle result = provider.call(options.get("--method"), options.get("--arg"), null);
            List<String> fields = new ArrayList<String>();
            for (String key : result.keySet()) {
                fields.add(key + "=" + result.get(key));
            }
            out.println("Result: Bundle[{" + String.join(", ", fields) + "}]");
        } else {
            throw new IllegalArgumentException(what);
        }
    }

    private void broadcast(Map<String, String> options, PrintStream out) throws Exception {
        out.println("Broadcasting: Intent { act=" + options.get("-a") + " flg=0x400000 cmp=" + options.get("-n") + " }");
        BroadcastReceiver receiver = receivers.get(options.get("-n"));
        String result = "result=0";
        if (receiver != null) {
            // A receiver runs on main.
            CompletableFuture<Supplier<String>> taken = new CompletableFuture<Supplier<String>>();
            new Handler(Looper.getMainLooper())
                    .post(() -> taken.complete(receiver.hostReceive(context, new Intent(options.get("-a")), true)));
            result = taken.get(30, TimeUnit.SECONDS).get();
        }
        out.println("Broadcast completed: " + result);
    }
}
