import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.Multimaps;
import com.google.common.collect.Multiset;
import com.google.common.collect.TreeMultiset;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.javascript.jscomp.CompilationLevel;
import com.google.javascript.jscomp.Compiler;
import com.google.javascript.jscomp.CompilerOptions;
import com.google.javascript.jscomp.SourceFile;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BinaryOperator;
import java.util.zip.CRC32;

/**
 * A program under load, which scripts/jvm/attach.py attaches to: each worker does the same with the same JavaScript files, again and again. With
 * {@code compile} it compiles them with the Closure Compiler, a large program for which the JVM's compilers take minutes to settle; with {@code words} it counts
 * their words with Guava and writes and reads them as JSON with Gson, for which they take seconds. The line {@code count} prints how far the workers are and what CPU time they took for it; {@code round} has an agent
 * (Retransform.java) do its work; {@code end} ends it, and prints the checksum of each result, which does not depend on the number of rounds.
 */
public final class AttachLoad {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile boolean ended;

    /** Works on all files in each round. */
    static final class Worker extends Thread {
        final BinaryOperator<String> work;
        final String[] names;
        final String[] codes;
        final long[] sums;
        int wrong;
        /** Rounds done, and the CPU time of this thread when the last one ended, ns. */
        volatile long[] done = {0, 0};

        Worker(int number, BinaryOperator<String> work, String[] names, String[] codes) {
            super("worker-" + number);
            this.work = work;
            this.names = names;
            this.codes = codes;
            this.sums = new long[codes.length];
        }

        @Override
        public void run() {
            for (long round = 1; !ended; round++) {
                round(round == 1);
                done = new long[] {round, THREADS.getCurrentThreadCpuTime()};
            }
        }

        void round(boolean first) {
            for (int n = 0; n < codes.length; n++) {
                long sum = sum(work.apply(names[n], codes[n]));
                if (first) {
                    sums[n] = sum;
                } else if (sums[n] != sum) {
                    wrong++;
                }
            }
        }
    }

    static String compiled(String name, String code) {
        Compiler compiler = new Compiler(new PrintStream(OutputStream.nullOutputStream()));
        compiler.disableThreads();
        CompilerOptions options = new CompilerOptions();
        CompilationLevel.SIMPLE_OPTIMIZATIONS.setOptionsForCompilationLevel(options);
        compiler.compile(List.of(SourceFile.fromCode("externs.js", "var module; var exports; function require(name) {}")),
            List.of(SourceFile.fromCode(name, code)), options);
        return compiler.toSource();
    }

    static String counted(String name, String code) {
        CharMatcher ends = CharMatcher.inRange('a', 'z').or(CharMatcher.inRange('A', 'Z')).negate();
        Multiset<String> counts = TreeMultiset.create(Splitter.on(ends).omitEmptyStrings().split(code));
        ImmutableListMultimap<Integer, String> byLength = Multimaps.index(counts.elementSet(), String::length);
        JsonObject all = new JsonObject();
        all.addProperty("name", name);
        byLength.asMap().forEach((length, words) -> {
            JsonArray list = new JsonArray();
            words.stream().filter(word -> counts.count(word) > 1).map(word -> word + counts.count(word)).forEach(list::add);
            all.add(length.toString(), list);
        });
        Gson gson = new GsonBuilder().setPrettyPrinting().create();
        String written = gson.toJson(all);
        return JsonParser.parseString(written).equals(all) ? written : "other than what was written";
    }

    static long sum(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        return crc.getValue();
    }

    /** Threads that come and go. */
    static final class Visitors extends Thread {
        static final AtomicInteger MADE = new AtomicInteger();

        @Override
        public void run() {
            while (!ended) {
                Thread visitor = new Thread(() -> visit(MADE.incrementAndGet()), "visitor");
                visitor.start();
                try {
                    visitor.join();
                    Thread.sleep(50);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }

        static synchronized long visit(int number) {
            long sum = 0;
            for (int n = 0; n < 1000; n++) {
                sum += step(number + n);
            }
            return sum;
        }

        static int step(int n) {
            return Integer.toString(n).hashCode();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int workers = Integer.parseInt(arguments[0]);
        BinaryOperator<String> work = arguments[1].equals("words") ? AttachLoad::counted : AttachLoad::compiled;
        String[] names = new String[arguments.length - 2];
        String[] codes = new String[names.length];
        for (int n = 0; n < names.length; n++) {
            Path path = Path.of(arguments[n + 2]);
            names[n] = path.getFileName().toString();
            codes[n] = Files.readString(path);
        }
        List<Worker> all = new ArrayList<>();
        for (int n = 0; n < workers; n++) {
            all.add(new Worker(n, work, names, codes));
        }
        all.forEach(Thread::start);
        Thread visitors = new Visitors();
        visitors.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null && !line.equals("end"); line = in.readLine()) {
            if (line.equals("round")) {
                ((Runnable) System.getProperties().get("round")).run();
            }
            long rounds = 0;
            long cpu = 0;
            for (Worker worker : all) {
                long[] done = worker.done;
                rounds += done[0];
                cpu += done[1];
            }
            System.out.println("count " + rounds + " " + cpu);
        }
        ended = true;
        visitors.join();
        for (Worker worker : all) {
            worker.join();
            for (int n = 0; n < names.length; n++) {
                System.out.println("result " + worker.getName() + " " + names[n] + " " + Long.toHexString(worker.sums[n]));
            }
            System.out.println("result " + worker.getName() + " wrong " + worker.wrong);
        }
    }
}
