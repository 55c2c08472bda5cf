package kotlin.coroutines.jvm.internal;

import kotlin.coroutines.Continuation;

/** A fake of the class of Kotlin 2.4's standard library (ContinuationImpl.kt): what is resumed, and by what. */
public abstract class BaseContinuationImpl implements Continuation {
    private final Continuation completion;

    public BaseContinuationImpl(Continuation completion) {
        this.completion = completion;
    }

    public final Continuation getCompletion() {
        return completion;
    }

    protected abstract Object invokeSuspend(Object result);

    @Override
    public final void resumeWith(Object value) {
        Object result = invokeSuspend(value);
        if (result != kotlin.coroutines.intrinsics.CoroutineSingletons.COROUTINE_SUSPENDED) {
            completion.resumeWith(result);
        }
    }
}
