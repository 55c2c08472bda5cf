import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Keeps main busy in one of eleven ways for some seconds: {@code BusyMain WAY SECONDS}. Each way is a loop in {@code
 * work} of its class, at least ten calls below {@code main}, which stays open all the time. Prints the number of
 * iterations.
 */
public final class BusyMain {
    private static long end;
    private static long rounds;

    private BusyMain() {}

    interface Way {
        /** One iteration. */
        long round(int n) throws Exception;
    }

    static boolean over() {
        return System.nanoTime() >= end;
    }

    public static void main(String[] words) throws Exception {
        end = System.nanoTime() + (long) (Double.parseDouble(words[1]) * 1e9);
        long result = below(8, way(words[0]));
        System.out.println(words[0] + " " + rounds + " rounds, " + (result & 1));
    }

    private static long below(int depth, Way way) throws Exception {
        return depth == 0 ? loop(way) : below(depth - 1, way) + Math.abs(depth);
    }

    private static long loop(Way way) throws Exception {
        long sum = 0;
        for (int n = 0; !over(); n++) {
            sum += way.round(n);
            rounds++;
        }
        return sum;
    }

    private static Way way(String name) {
        switch (name) {
            case "parse":
                return new Parse();
            case "recursion":
                return new Recursion();
            case "calls":
                return new Calls();
            case "regex":
                return new Regex();
            case "exceptions":
                return new Exceptions();
            case "locks":
                return new Locks(false);
            case "contended":
                return new Locks(true);
            case "sleeps":
                return n -> {
                    Thread.sleep(1);
                    return new Parse().round(n);
                };
            case "reads":
                return new Reads();
            case "streams":
                return new Streams();
            case "mixed":
                return new Mixed();
            default:
                throw new IllegalArgumentException(name);
        }
    }

    /** Many tiny calls. */
    static final class Parse implements Way {
        @Override
        public long round(int n) {
            long sum = 0;
            for (int at = 0; at < 1_000; at++) {
                sum += item(n + at);
            }
            return sum;
        }

        private int item(int n) {
            return digit(n) + sign(n);
        }

        private int digit(int n) {
            return Math.abs(n % 10);
        }

        private int sign(int n) {
            return Integer.signum(n);
        }
    }

    /** Recursion down to a thousand calls. */
    static final class Recursion implements Way {
        @Override
        public long round(int n) {
            return down(1_000, n);
        }

        private long down(int depth, int n) {
            return depth == 0 ? fib(14) : down(depth - 1, n) + Math.abs(n);
        }

        private int fib(int n) {
            return n < 2 ? n : fib(n - 1) + fib(n - 2);
        }
    }

    /** Calls of one to five milliseconds. */
    static final class Calls implements Way {
        @Override
        public long round(int n) {
            return layout(1 + n % 5);
        }

        private long layout(int ms) {
            long until = System.nanoTime() + ms * 1_000_000L;
            long sum = 0;
            while (System.nanoTime() < until) {
                sum += measure((int) sum);
            }
            return sum;
        }

        private int measure(int n) {
            return Math.floorMod(n, 7);
        }
    }

    static final class Regex implements Way {
        private static final Pattern LINE = Pattern.compile("(\\w+)@(\\w+)(\\.\\w+)+\\s+(.*)");

        @Override
        public long round(int n) {
            return matches("user" + n + "@mail.example.com the rest of line " + n) ? 1 : 0;
        }

        private boolean matches(String line) {
            return LINE.matcher(line).matches();
        }
    }

    /** Exceptions thrown through three calls. */
    static final class Exceptions implements Way {
        @Override
        public long round(int n) {
            try {
                return outer(n);
            } catch (IllegalStateException expected) {
                return 1;
            }
        }

        private long outer(int n) {
            return inner(n + 1) + 1;
        }

        private long inner(int n) {
            return broken(n + 1) + 1;
        }

        private long broken(int n) {
            if (n != 0) {
                throw new IllegalStateException("at " + n);
            }
            return Math.abs(n);
        }
    }

    /** One lock per iteration, with and without contention by two threads. */
    static final class Locks implements Way {
        private final Object lock = new Object();
        private long count;

        Locks(boolean contended) {
            for (int n = 0; contended && n < 2; n++) {
                Thread other =
                        new Thread(
                                () -> {
                                    while (!over()) {
                                        add(3);
                                    }
                                },
                                "other-" + n);
                other.setDaemon(true);
                other.start();
            }
        }

        @Override
        public long round(int n) {
            return add(n);
        }

        private long add(int n) {
            synchronized (lock) {
                count += size(n);
                return count;
            }
        }

        private int size(int n) {
            return Integer.toString(n).length();
        }
    }

    /** Small reads. */
    static final class Reads implements Way {
        private final FileInputStream zeros;

        Reads() {
            try {
                zeros = new FileInputStream("/dev/zero");
            } catch (IOException fault) {
                throw new AssertionError(fault);
            }
        }

        @Override
        public long round(int n) throws IOException {
            return record(new byte[64]) + n;
        }

        private int record(byte[] bytes) throws IOException {
            return field(bytes, 0) + field(bytes, 32);
        }

        private int field(byte[] bytes, int at) throws IOException {
            return zeros.read(bytes, at, 32);
        }
    }

    static final class Streams implements Way {
        @Override
        public long round(int n) {
            List<Integer> kept = new ArrayList<>();
            IntStream.range(n, n + 200).filter(this::odd).map(this::scale).forEach(kept::add);
            return kept.size();
        }

        private boolean odd(int n) {
            return Math.floorMod(n, 2) == 1;
        }

        private int scale(int n) {
            return Math.multiplyHigh(n, 3) == 0 ? n : 0;
        }
    }

    /** All of them, one iteration each. */
    static final class Mixed implements Way {
        private final Way[] ways = {
            new Parse(), new Recursion(), new Calls(), new Regex(), new Exceptions(), new Locks(false), new Reads(), new Streams()
        };

        @Override
        public long round(int n) throws Exception {
            return ways[n % ways.length].round(n);
        }
    }
}
