package dev.anrscope;

/**
 * Values from a server of the app's, at run time (Matrix's {@code IDynamicConfig}). Asked on a thread of ours, never on main:
 * at the start, and whenever the app calls {@link Anrscope#refresh}.
 */
public interface DynamicConfig {
    /**
     * The value of an option, or null to leave it as it is. Each is asked for by its key and, where Matrix has a name for it, by that
     * name too; the key's answer counts.
     */
    String get(String key);
}
