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
import java.util.zip.CRC32;

/**
 * A program under load, which scripts/jvm/attach.py attaches to: each worker compiles the same JavaScript files with the Closure Compiler,
 * again and again. The line {@code count} prints how far the workers are and what CPU time they took for it; {@code round} has an agent
 * (Retransform.java) do its work; {@code end} ends it, and prints the checksum of each result, which does not depend on the number of rounds.
 */
public final class AttachLoad {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile boolean ended;

    /** Compiles all files in each round. */
    static final class Worker extends Thread {
        final String[] names;
        final String[] codes;
        final long[] sums;
        int wrong;
        /** Rounds done, and the CPU time of this thread when the last one ended, ns. */
        volatile long[] done = {0, 0};

        Worker(int number, String[] names, String[] codes) {
            super("worker-" + number);
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
                long sum = sum(compiled(names[n], codes[n]));
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
        String[] names = new String[arguments.length - 1];
        String[] codes = new String[names.length];
        for (int n = 0; n < names.length; n++) {
            Path path = Path.of(arguments[n + 1]);
            names[n] = path.getFileName().toString();
            codes[n] = Files.readString(path);
        }
        List<Worker> all = new ArrayList<>();
        for (int n = 0; n < workers; n++) {
            all.add(new Worker(n, names, codes));
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
