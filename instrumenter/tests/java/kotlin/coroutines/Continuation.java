package kotlin.coroutines;

/** A fake of Kotlin's interface. */
public interface Continuation {
    void resumeWith(Object result);
}
