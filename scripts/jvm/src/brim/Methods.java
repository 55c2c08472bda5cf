import java.util.Map;
import java.util.TreeMap;
import java.util.Random;

/**
 * Runs the generated methods near the end of the stack ({@code Methods stack MIXES WARM-UP SEED}) or with a full heap ({@code Methods heap ROUNDS WARM-UP}), or
 * lets their calls fail one by one ({@code Methods model ROUNDS SEED}). Prints what they did, each different thing once with its number:
 *
 * <pre>
 * step TIMES METHOD BEFORE AFTER    what came after what in its log: start, a number, end, the class of the error that left it; behind a tab an example
 * value TIMES METHOD NUMBER VALUE   what it logged there, also if that is no value but 0
 * error TIMES METHOD CLASS ORIGIN   an error that it caught, or that left it
 * held TIMES METHOD LOCK... ; ORIGIN...   the locks that it left held, and where the errors came from that it saw
 * missing TIMES METHOD              it did not run
 * full TIMES METHOD                 its log had no room
 * </pre>
 */
public final class Methods {
    private static final Map<String, Integer> seen = new TreeMap<>();
    private static final Map<String, String> examples = new TreeMap<>();
    private static volatile boolean filling;
    private static volatile int full;
    private static final Object[] chains = new Object[3];
    /** A collection stops all threads for longer than the heap would stay full by the clock. */
    private static final int FULL_TURNS = 300;
    private static volatile boolean died;
    private static boolean modelled;

    private static boolean ofTheJdk(String name) {
        return name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.");
    }

    /**
     * The origin of an error, or of its first cause: the line of the program that is on top but for the JDK and the recorder,
     * and these. HotSpot gives few errors of a full heap a trace.
     */
    private static String origin(Throwable seen) {
        Throwable error = seen;
        while (error.getCause() != null) {
            error = error.getCause();
        }
        StackTraceElement[] trace = error.getStackTrace();
        StringBuilder recorder = new StringBuilder();
        for (StackTraceElement frame : trace) {
            if (frame.getClassName().startsWith("dev.anrscope.")) {
                recorder.append(recorder.length() == 0 ? "" : "<").append(frame.getMethodName());
            } else if (!ofTheJdk(frame.getClassName())) {
                String above = recorder.length() > 0 ? recorder.toString() : frame == trace[0] ? "own" : "jdk";
                return above + ":" + frame.getFileName() + ":" + frame.getLineNumber();
            }
        }
        return recorder.length() > 0 ? recorder + "::" : "untraced";
    }

    private static void saw(String what) {
        seen.merge(what, 1, Integer::sum);
    }

    /** Adds what the methods did in a descent; true if each ran to its end without an error. */
    private static boolean collect() {
        boolean whole = true;
        for (int method = 0; method < Shared.COUNT; method++) {
            Throwable thrown = Shared.thrown[method];
            StringBuilder origins = new StringBuilder();
            for (int at = 0; at < Shared.errorsAt[method]; at++) {
                Throwable error = Shared.errors[method * Shared.ERRORS + at];
                origins.append(' ').append(origin(error));
                saw("error " + method + " " + error.getClass().getName() + " " + origin(error));
            }
            if (thrown != null) {
                origins.append(' ').append(origin(thrown));
                saw("error " + method + " " + thrown.getClass().getName() + " " + origin(thrown));
            }
            whole &= origins.length() == 0;
            if (Shared.end[method] < 0) {
                whole = false;
                saw("missing " + method);
                continue;
            }
            if (Shared.end[method] > (method + 1) * Shared.ROOM) {
                saw("full " + method);
            }
            String before = "start";
            StringBuilder log = new StringBuilder();
            for (int at = method * Shared.ROOM; at < Shared.end[method]; at++) {
                String number = String.valueOf(Shared.log[at] / 1000);
                log.append(' ').append(Shared.log[at]);
                step(method, before, number, log);
                if (!modelled) {
                    saw("value " + method + " " + number + " " + Shared.log[at] % 1000);
                }
                before = number;
            }
            step(method, before, thrown == null ? "end" : thrown.getClass().getName(), log.append(';').append(origins));
            String held = Shared.held(method);
            if (!held.isEmpty()) {
                saw("held " + method + held + " ;" + origins);
            }
        }
        return whole;
    }

    private static void step(int method, String before, String after, StringBuilder example) {
        String step = "step " + method + " " + before + " " + after;
        saw(step);
        if (!examples.containsKey(step)) {
            examples.put(step, example.toString());
        }
    }

    private static void model(int rounds, int seed) {
        modelled = true;
        Shared.random = seed;
        for (int round = 0; round < rounds; round++) {
            Shared.fresh(round);
            Shared.odds = new int[] {20, 60, 200, 500}[round & 3];
            Shared.all();
            Shared.odds = 0;
            collect();
        }
    }

    /** Runs the methods below so many frames; true if one of them ran. */
    private static boolean descend(int depth, int mix, int number) {
        Shared.fresh(number);
        try {
            Dive.to(depth, mix, Shared::all);
        } catch (Throwable tooDeep) {
            // Methods that did not run have no outcome.
        }
        for (int end : Shared.end) {
            if (end >= 0) {
                return true;
            }
        }
        return false;
    }

    private static void stack(int mixes, int seed) {
        Random random = new Random(seed);
        int descents = 0;
        for (int i = 0; i < mixes; i++) {
            int mix = random.nextInt();
            // Frames become smaller where the JVM compiles the descent, so that the end is further on: then once more. They become larger where it drops what it has compiled.
            for (int tries = 0, overflows = 0; overflows == 0 && tries < 20; tries++) {
                int depth = Dive.brim(mix, Shared::nothing);
                while (descend(depth, mix, descents++)) {
                    depth += 16;
                }
                int quiet = 0;
                for (; quiet < 3; depth--) {
                    if (depth == 0) {
                        System.out.println("STILL AN OVERFLOW FAR FROM THE END");
                        return;
                    }
                    boolean ran = descend(depth, mix, descents++);
                    boolean whole = collect();
                    quiet = whole ? quiet + 1 : 0;
                    overflows += ran && !whole ? 1 : 0;
                }
            }
        }
        System.out.println("descents " + descents);
    }

    /** Fills the heap, and keeps it full for some turns of this thread: most of a round's time would pass with room otherwise. */
    private static void fill(int number) {
        try {
            while (filling) {
                chains[number] = new Object[] {chains[number], new byte[64]};
            }
        } catch (OutOfMemoryError error) {
            full++;
            for (int turns = 0; filling && turns < FULL_TURNS; turns++) {
                Thread.yield();
            }
        }
        chains[number] = null;
    }

    private static void heap(int rounds) throws InterruptedException {
        for (int i = 0; i < chains.length; i++) {
            int number = i;
            Thread filler = new Thread(() -> {
                for (;;) {
                    fill(number);
                    Thread.yield();
                }
            }, "filler-" + i);
            filler.setUncaughtExceptionHandler((thread, error) -> {});
            filler.setDaemon(true);
            filler.start();
        }
        for (int round = 0; round < rounds; round++) {
            Shared.fresh(round);
            died = false;
            int before = full;
            // To start a thread takes memory: one that is started with a full heap starts when there is room again.
            Thread thread = new Thread(null, () -> {
                while (full == before) {
                    Thread.yield();
                }
                Shared.allOfThem();
            }, "round", 512 * 1024);
            thread.setUncaughtExceptionHandler((which, error) -> died = true);
            thread.start();
            filling = true;
            while (thread.isAlive()) {
                Thread.yield();
            }
            filling = false;
            for (boolean printed = false; !printed;) {
                try {
                    collect();
                    if (died) {
                        saw("missing all");
                    }
                    printed = true;
                } catch (OutOfMemoryError error) {
                    Thread.yield();
                }
            }
        }
        System.out.println("rounds " + rounds);
    }

    public static void main(String[] arguments) throws Exception {
        int amount = Integer.parseInt(arguments[1]);
        int last = Integer.parseInt(arguments[2]);
        Shared.load();
        if (arguments[0].equals("model")) {
            model(amount, last);
        } else {
            Dive.warmUp(last * 20);
            // All that the JDK loads on the way is loaded before the first overflow.
            for (int i = 0; i < Math.max(3, last); i++) {
                Shared.fresh(-1);
                Shared.all();
                if (i == 0 && !collect()) {
                    System.out.println("NOT ALL METHODS END BY THEMSELVES");
                }
            }
            if (arguments[0].equals("heap")) {
                heap(amount);
            } else {
                Thread thread = new Thread(null, () -> stack(amount, Integer.parseInt(arguments[3])), "brim", 320 * 1024);
                thread.start();
                thread.join();
            }
        }
        seen.forEach((what, times) -> {
            String[] words = what.split(" ", 2);
            System.out.println(words[0] + " " + times + " " + words[1] + (examples.containsKey(what) ? "\t" + examples.get(what) : ""));
        });
    }
}
