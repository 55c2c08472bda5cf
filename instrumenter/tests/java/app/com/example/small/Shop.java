package com.example.small;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/** An app's code in small: every way to leave a method, locks, constructors, wide parameters, a lambda, a task. */
public class Shop extends Base {
    private final List<String> names = new ArrayList<>();
    private long total;

    public Shop(String first, long total) {
        super(first.trim().length());
        this.total = total;
        names.add(first);
    }

    static int parse(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException fault) {
            return text.length() > 3 ? -1 : -2;
        } finally {
            note(text);
        }
    }

    static void note(String text) {
        System.out.println("note " + text);
    }

    synchronized long add(String name, long price, double factor, int count) {
        for (int i = 0; i < count; i++) {
            total += (long) (price * factor);
            names.add(name + i);
        }
        return total;
    }

    String kind(int number) {
        switch (number) {
            case 0:
                return "none";
            case 1:
                return one();
            case 2:
            case 3:
                throw new IllegalStateException(String.valueOf(number));
            case 900:
                return "many";
            default:
                synchronized (names) {
                    return names.toString();
                }
        }
    }

    private String one() {
        return String.valueOf(names.size());
    }

    int apply(Operator operator) {
        return operator.apply(level);
    }

    int twice() {
        return apply(x -> x + names.size());
    }

    void later(Executor executor) throws InterruptedException {
        executor.execute(() -> note("later"));
        Thread.sleep(1);
    }

    /** For a lambda. */
    interface Operator {
        int apply(int number);
    }

    int getLevel() {
        return level;
    }
}
