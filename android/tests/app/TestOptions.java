package dev.anrscope;

/** Options that a test gives a program as words {@code KEY=VALUE}. */
final class TestOptions {
    private TestOptions() {}

    /** Adds the options from this word on to a configuration. */
    static Config.Builder add(Config.Builder config, String[] words, int from) {
        for (int at = from; at < words.length; at++) {
            int equals = words[at].indexOf('=');
            config.set(words[at].substring(0, equals), words[at].substring(equals + 1));
        }
        return config;
    }

    /** Sets the options of these words in the library. */
    static void set(String[] words, int from, int to) {
        for (int at = from; at < to; at++) {
            int equals = words[at].indexOf('=');
            if (!Natives.set(words[at].substring(0, equals), words[at].substring(equals + 1))) {
                throw new IllegalArgumentException(words[at]);
            }
        }
    }
}
