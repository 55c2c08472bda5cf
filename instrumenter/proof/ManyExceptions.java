import java.text.ParseException;
import java.util.Locale;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.commons.lang3.EnumUtils;
import org.apache.commons.lang3.Validate;
import org.apache.commons.lang3.concurrent.ConcurrentException;
import org.apache.commons.lang3.concurrent.LazyInitializer;
import org.apache.commons.lang3.math.Fraction;
import org.apache.commons.lang3.math.NumberUtils;
import org.apache.commons.lang3.reflect.ConstructorUtils;
import org.apache.commons.lang3.reflect.MethodUtils;
import org.apache.commons.lang3.time.DateUtils;

/**
 * Runs commons-lang3 with mostly invalid input, on several threads: exceptions from callees, from constructors, caught
 * on the spot, through finally and synchronized, from a static initialiser. Prints a checksum over everything thrown,
 * which is the same in every run.
 */
public final class ManyExceptions {
    private static final int ROUNDS = 4_000;
    private static final String ALPHABET = "0123456789.-+eExXfFlLdD/ #";

    public static void main(String[] args) throws InterruptedException {
        Worker[] workers = new Worker[4];
        for (int n = 0; n < workers.length; n++) {
            workers[n] = new Worker(n);
            workers[n].start();
        }
        for (Worker worker : workers) {
            worker.join();
            System.out.println(worker.thrown + " thrown, " + worker.passed + " passed, " + worker.sum.getValue());
        }
        for (int n = 0; n < 2; n++) {
            try {
                System.out.println(Broken.VALUE);
            } catch (LinkageError broken) {
                System.out.println(broken.getClass().getName());
            }
        }
        System.exit(workers[0].thrown > 1_000 ? 0 : 1);
    }

    private static final class Worker extends Thread {
        final Random random;
        final CRC32 sum = new CRC32();
        int thrown;
        int passed;

        Worker(int seed) {
            random = new Random(seed);
        }

        @Override
        public void run() {
            for (int round = 0; round < ROUNDS; round++) {
                String text = text();
                for (int way = 0; way < 9; way++) {
                    one(way, text);
                }
            }
            throw new IllegalStateException("the thread itself ends by one");
        }

        {
            setUncaughtExceptionHandler((thread, last) -> note(String.valueOf(last.getMessage())));
        }

        private void one(int way, String text) {
            try {
                note(String.valueOf(attempt(way, text)));
                passed++;
            } catch (Exception e) {
                thrown++;
                note(e.getClass().getName() + e.getMessage());
            } finally {
                sum.update(way);
            }
        }

        private synchronized Object attempt(int way, String text) throws Exception {
            switch (way) {
                case 0: return NumberUtils.createNumber(text);
                case 1: return Fraction.getFraction(text);
                case 2: return DateUtils.parseDateStrictly(text, Locale.ROOT, "yyyy-MM-dd", "HH:mm");
                case 3: return Validate.notBlank(text.trim().isEmpty() ? null : text.replace(' ', '/'));
                case 4: return MethodUtils.invokeExactMethod(text, "charAt", text.length() / 2 + 3);
                case 5: return ConstructorUtils.invokeConstructor(Fussy.class, text);
                case 6: return EnumUtils.getEnumIgnoreCase(Thread.State.class, text).name();
                case 7: return lazily(text);
                default: return deep(text, text.length() % 12);
            }
        }

        private static Object lazily(String text) throws ConcurrentException {
            return new LazyInitializer<Integer>() {
                @Override
                protected Integer initialize() throws ConcurrentException {
                    try {
                        return Integer.valueOf(text);
                    } catch (NumberFormatException e) {
                        throw new ConcurrentException(e);
                    }
                }
            }.get();
        }

        private static int deep(String text, int depth) throws ParseException {
            try {
                if (depth == 0) {
                    throw new ParseException(text, text.indexOf('e'));
                }
                return deep(text, depth - 1) + 1;
            } catch (ParseException e) {
                if (depth % 3 == 2) {
                    return depth;
                }
                throw e;
            }
        }

        private String text() {
            StringBuilder text = new StringBuilder();
            for (int length = random.nextInt(9); length >= 0; length--) {
                text.append(ALPHABET.charAt(random.nextInt(ALPHABET.length())));
            }
            return text.toString();
        }

        private void note(String text) {
            for (int n = 0; n < text.length(); n++) {
                sum.update(text.charAt(n));
            }
        }
    }

    public static final class Fussy {
        private final int value;

        public Fussy(String text) {
            this(Integer.parseInt(text.trim()));
        }

        private Fussy(int value) {
            Validate.isTrue(value > 1_000, "too small: %d", value);
            this.value = value;
        }

        @Override
        public String toString() {
            return Integer.toString(value);
        }
    }

    private static final class Broken {
        static final Object VALUE = Validate.notNull(null, "never");
    }
}
