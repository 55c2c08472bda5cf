package kotlinx.coroutines;

import kotlin.coroutines.Continuation;
import kotlin.coroutines.intrinsics.CoroutineSingletons;

/** A fake: it is not complete when it is awaited. */
public class Deferred {
    public Object await(Continuation continuation) {
        return CoroutineSingletons.COROUTINE_SUSPENDED;
    }
}
