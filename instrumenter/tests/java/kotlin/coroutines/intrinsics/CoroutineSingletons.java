package kotlin.coroutines.intrinsics;

/** A fake. */
public enum CoroutineSingletons {
    COROUTINE_SUSPENDED
}
