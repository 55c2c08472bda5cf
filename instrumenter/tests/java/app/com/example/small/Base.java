package com.example.small;

/** Has a constructor that calls. */
abstract class Base {
    final int level;

    Base(int level) {
        this.level = Math.max(level, started());
    }

    static int started() {
        return String.valueOf(1).length();
    }
}
