package fixture;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.function.IntSupplier;

/** Annotations, static values, tries, switches, arrays and lambdas: a few of everything that a dex file has. */
@Fixture.Mark(number = -129, letters = {'a', '\uffff'}, kinds = {int[].class, String.class})
public class Fixture implements Comparable<Fixture> {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        int number() default 7;
        char[] letters() default {};
        Class<?>[] kinds() default {};
        Deprecated inner() default @Deprecated;
    }

    static final byte BYTE = -1;
    static final long LONG = 0x1234567890L;
    static final float FLOAT = 1.5f;
    static final double DOUBLE = -0.1;
    static final String TEXT = "A\u0000\u00e9\ud83d\ude00\ue000";
    static final boolean YES = true;
    static Object nothing;

    @Deprecated private int value;

    Fixture(@Mark int value, String unused, @Deprecated long wide) {
        this.value = value + (int) wide;
    }

    @Mark(number = 1)
    static int parse(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException | NullPointerException failed) {
            return -1;
        } finally {
            nothing = text;
        }
    }

    static String name(int number) {
        switch (number) {
            case 1: return "one";
            case 2: return "two";
            case 3: return "three";
            case 1000: return "thousand";
            default: return Integer.toString(new int[] {1, 2, 3, 4, 5}[number & 3]);
        }
    }

    @Override public int compareTo(Fixture other) {
        synchronized (other) {
            IntSupplier difference = () -> value - other.value;
            return difference.getAsInt();
        }
    }
}
