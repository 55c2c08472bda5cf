package com.example.soak;

import android.os.Handler;
import com.google.javascript.jscomp.CompilationLevel;
import com.google.javascript.jscomp.Compiler;
import com.google.javascript.jscomp.CompilerOptions;
import com.google.javascript.jscomp.SourceFile;
import dev.anrscope.Anrscope;
import java.util.concurrent.atomic.AtomicLong;

/** The workload. */
final class Load {
    static final AtomicLong reports = new AtomicLong();
    static final AtomicLong threads = new AtomicLong();
    static final AtomicLong compiled = new AtomicLong();
    static volatile boolean over;
    /** Accessed on main only. */
    static long messages;
    static long frames;

    private static final Object[] LOCKS = {new Object(), new Object(), new Object()};
    private static int sink;

    private Load() {}

    static String summary() {
        return messages + " messages, " + frames + " frames, " + threads + " threads, " + compiled + " compilations, "
                + reports + " reports";
    }

    /** Repeats on main. */
    static void every(Handler main, long ms, Runnable work) {
        main.postDelayed(
                new Runnable() {
                    @Override
                    public void run() {
                        messages++;
                        work.run();
                        if (!over) {
                            main.postDelayed(this, ms);
                        }
                    }
                },
                ms);
    }

    /** Calls this many instrumented methods, some of them nested deeply. */
    static void calls(int count) {
        int total = 0;
        for (int n = 0; n < count; n += 10) {
            total += deeper(n, 9);
        }
        sink += total;
    }

    private static int deeper(int n, int left) {
        if (left == 0) {
            return n;
        }
        int sum = 0;
        for (int i = 0; i < 2; i++) {
            sum += n ^ i;
        }
        return sum + deeper(n + 1, left - 1);
    }

    /** Threads that start and end, and a compiler. */
    static void background() {
        start("crowds", Load::crowds);
        start("compiler", Load::compile);
        start("marks", Load::marks);
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void crowds() {
        while (!over) {
            for (int n = 0; n < 12; n++) {
                int number = n;
                Thread one = new Thread(() -> lives(number), "crowd-" + n);
                one.setDaemon(true);
                one.start();
                threads.incrementAndGet();
            }
            sleep(400);
        }
    }

    private static void lives(int number) {
        for (int round = 0; round < 8; round++) {
            calls(500);
            synchronized (LOCKS[(number + round) % LOCKS.length]) {
                calls(100);
                if (round == 3) {
                    sleep(1 + number % 3);
                }
            }
        }
    }

    /** A real program in the process: Google's Closure Compiler, on a new thread each time. */
    private static void compile() {
        while (!over) {
            Thread one = new Thread(Load::compileOnce, "closure");
            one.setDaemon(true);
            one.start();
            try {
                one.join();
            } catch (InterruptedException never) {
                return;
            }
            compiled.incrementAndGet();
            sleep(2_000);
        }
    }

    private static void compileOnce() {
        StringBuilder source = new StringBuilder();
        for (int n = 0; n < 60; n++) {
            source.append("function f").append(n).append("(a, b) { var c = a + ").append(n)
                    .append("; for (var i = 0; i < b; i++) { c += g(i) * ").append(n).append("; } return c; }\n");
        }
        source.append("function g(x) { return x * 2 + 1; }\nwindow.all = [f1(1, 2), f2(3, 4), f59(5, 6)];\n");
        CompilerOptions options = new CompilerOptions();
        CompilationLevel.SIMPLE_OPTIMIZATIONS.setOptionsForCompilationLevel(options);
        Compiler compiler = new Compiler(System.err);
        compiler.disableThreads();
        compiler.compile(
                SourceFile.fromCode("externs.js", "var window;"),
                SourceFile.fromCode("source.js", source.toString()),
                options);
        if (!compiler.toSource().contains("window.all")) {
            throw new IllegalStateException("not compiled");
        }
    }

    /** Marks and counters, and options that change at run time. */
    private static void marks() {
        for (int n = 0; !over; n++) {
            Anrscope.mark("round " + n % 50);
            Anrscope.counter("round", n);
            if (n % 40 == 0) {
                Anrscope.set("slow_ms", n % 80 == 0 ? "300" : "700");
            }
            sleep(250);
        }
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
        }
    }
}
