package kotlin.coroutines.jvm.internal;

import kotlin.coroutines.Continuation;

/** A fake. */
public abstract class SuspendLambda extends BaseContinuationImpl {
    public SuspendLambda(int arity, Continuation completion) {
        super(completion);
    }
}
