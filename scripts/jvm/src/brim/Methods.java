import java.util.Map;
import java.util.TreeMap;
import java.util.Random;

/**
 * Runs the generated methods near the end of the stack ({@code Methods stack MIXES WARM-UP SEED}) or with a full heap ({@code Methods heap ROUNDS WARM-UP SEED}), and
 * prints each different outcome of each of them with its number: what the method logged, the error that left it, the locks that it left held, and after a tab
 * where the first error came from, which does not count.
 */
public final class Methods {
    private static final Map<String, Integer> outcomes = new TreeMap<>();
    /** Where the error of an outcome came from, once. */
    private static final Map<String, String> origins = new TreeMap<>();
    private static volatile boolean filling;
    private static volatile int full;
    private static volatile boolean died;

    private static boolean ofTheJdk(String name) {
        return name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.");
    }

    /**
     * The origin of an error: the recorder, the room that a method asks for where it begins, which is as if its frame were larger, the JDK, or the line of the program
     * that has it on top.
     */
    private static String origin(Throwable error) {
        if (error == null) {
            return "none";
        }
        StackTraceElement[] trace = error.getStackTrace();
        for (StackTraceElement frame : trace) {
            if (frame.getClassName().startsWith("dev.anrscope.")) {
                return frame.getMethodName().equals("leaveRoom") ? "the room" : "the recorder";
            }
            if (!ofTheJdk(frame.getClassName())) {
                return frame == trace[0] ? "line " + frame.getLineNumber() : "the JDK";
            }
        }
        return "the JDK";
    }

    /** Adds the outcomes of a descent; true if every method ran to its end. */
    private static boolean collect() {
        boolean whole = true;
        for (int method = 0; method < Shared.COUNT; method++) {
            int end = Shared.end[method];
            if (end < 0) {
                whole = false;
                continue;
            }
            StringBuilder text = new StringBuilder();
            text.append(method).append(": log");
            for (int at = method * Shared.ROOM; at < end; at++) {
                text.append(' ').append(Shared.log[at]);
            }
            Throwable thrown = Shared.thrown[method];
            Throwable first = Shared.caught[method] != null ? Shared.caught[method] : thrown;
            text.append("; threw ").append(thrown == null ? "nothing" : thrown.getClass().getName());
            String held = Shared.held(method);
            if (!held.isEmpty()) {
                text.append("; holds").append(held).append(", error from ").append(origin(first));
            } else if (first instanceof OutOfMemoryError && origin(first).equals("the recorder")) {
                text.append("; error from the recorder");
            }
            outcomes.merge(text.toString(), 1, Integer::sum);
            origins.merge(text.toString(), origin(first), (old, now) -> old.equals("the recorder") ? old : now);
            whole &= thrown == null && first == null;
        }
        return whole;
    }

    private static void stack(int mixes, int seed, int step) {
        Random random = new Random(seed);
        int descents = 0;
        for (int i = 0; i < mixes; i++) {
            int mix = random.nextInt();
            int brim = Dive.brim(mix, Shared::nothing);
            int quiet = 0;
            for (int depth = brim; depth > brim - 250 && quiet < 3; depth -= 1 + random.nextInt(step)) {
                Shared.fresh(descents++);
                try {
                    Dive.to(depth, mix, Shared::all);
                } catch (Throwable tooDeep) {
                    // Methods that did not run have no outcome.
                }
                quiet = collect() ? quiet + 1 : 0;
            }
        }
        System.out.println("descents " + descents);
    }

    private static void fill() {
        Object chain = null;
        try {
            while (filling) {
                chain = new Object[] {chain, new byte[64]};
            }
        } catch (OutOfMemoryError error) {
            chain = null;
            full++;
        }
    }

    private static void heap(int rounds) throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            Thread filler = new Thread(() -> {
                for (;;) {
                    fill();
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
            Thread thread = new Thread(null, Shared::allOfThem, "round", 512 * 1024);
            thread.setUncaughtExceptionHandler((which, error) -> died = true);
            int before = full;
            filling = true;
            while (full == before) {
                Thread.yield();
            }
            boolean started = false;
            while (!started) {
                try {
                    thread.start();
                    started = true;
                } catch (OutOfMemoryError error) {
                    Thread.yield();
                }
            }
            while (thread.isAlive()) {
                Thread.yield();
            }
            filling = false;
            for (boolean printed = false; !printed;) {
                try {
                    collect();
                    if (died) {
                        outcomes.merge("the thread died before its first method", 1, Integer::sum);
                    }
                    printed = true;
                } catch (OutOfMemoryError error) {
                    Thread.yield();
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        int amount = Integer.parseInt(arguments[1]);
        int warmUp = Integer.parseInt(arguments[2]);
        int seed = Integer.parseInt(arguments[3]);
        Shared.load();
        Dive.warmUp(warmUp * 20);
        // All that the JDK loads on the way is loaded before the first overflow.
        for (int i = 0; i < Math.max(3, warmUp); i++) {
            Shared.fresh(-1);
            Shared.all();
            if (i == 0 && !collect()) {
                System.out.println("NOT ALL METHODS END BY THEMSELVES");
            }
        }
        if (arguments[0].equals("heap")) {
            heap(amount);
        } else {
            Thread thread = new Thread(null, () -> stack(amount, seed, warmUp > 0 ? 8 : 1), "brim", 320 * 1024);
            thread.start();
            thread.join();
        }
        outcomes.forEach((outcome, times) -> System.out.println("outcome " + times + " " + outcome + "\t" + origins.get(outcome)));
    }
}
