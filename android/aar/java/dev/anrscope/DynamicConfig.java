package dev.anrscope;

/**
 * Supplies option values at run time, for example from a server (Matrix's {@code IDynamicConfig}). Called on a library
 * thread, never on main: at the start, and whenever the app calls {@link Anrscope#refresh}.
 */
public interface DynamicConfig {
    /**
     * Returns the value of an option, or null to leave it unchanged. Each option is asked for by its key and, if Matrix
     * has a name for it, by that name too; the answer for the key wins.
     */
    String get(String key);
}
