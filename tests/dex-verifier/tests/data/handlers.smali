# Try ranges, handlers, move-exception and move-result.
.class public LHandlers;
.super Ljava/lang/Object;

# The second call may throw after v0 became a string; the handler reads it as an int.
# expect error: a register is used that holds different types on the paths here
.method public static clobbered()I
    .registers 2
    const/4 v0, 0x1
    :start
    invoke-static {}, LOther;->f()V
    const-string v0, "x"
    invoke-static {}, LOther;->f()V
    :end
    .catch Ljava/lang/Exception; {:start .. :end} :handler
    const/4 v0, 0x0
    return v0
    :handler
    move-exception v1
    return v0
.end method

# The state before the throwing instruction counts, not the one behind it.
.method public static resultIsNotInHandler()I
    .registers 2
    const/4 v0, 0x1
    :start
    const-string v0, "x"
    :end
    .catchall {:start .. :end} :handler
    const/4 v0, 0x0
    return v0
    :handler
    return v0
.end method

# The inserted call stands within the try range of the app, after v0 got another type.
# expect error: a register is used that holds different types on the paths here
.method public static callLeftInTry(Ljava/lang/String;)I
    .registers 2
    const-string v0, "x"
    :start
    invoke-virtual {v0}, Ljava/lang/String;->length()I
    const/4 v0, 0x7
    invoke-static {v0}, LOther;->o(I)V
    :end
    .catchall {:start .. :end} :handler
    return v0
    :handler
    invoke-virtual {v0}, Ljava/lang/String;->length()I
    move-result v0
    return v0
.end method

# expect error: control runs into move-exception
.method public static fallsIntoHandler()V
    .registers 1
    :start
    invoke-static {}, LOther;->f()V
    :end
    .catchall {:start .. :end} :handler
    :handler
    move-exception v0
    return-void
.end method

# expect error: a branch leads to move-exception
.method public static branchesToHandler(I)V
    .registers 2
    if-eqz p0, :handler
    :start
    invoke-static {}, LOther;->f()V
    :end
    .catchall {:start .. :end} :handler
    return-void
    :handler
    move-exception v0
    return-void
.end method

# expect error: control runs into move-exception
.method public static moveExceptionOutsideOfHandler()V
    .registers 1
    nop
    move-exception v0
    return-void
.end method

# expect error: move-exception is not the start of a handler
.method public static moveExceptionAtZero()V
    .registers 1
    move-exception v0
    return-void
.end method

# expect error: a handler starts with move-result
.method public static handlerWithMoveResult()V
    .registers 1
    :start
    invoke-static {}, LOther;->i()I
    :end
    .catchall {:start .. :end} :handler
    :handler
    move-result v0
    return-void
.end method

# expect error: a branch leads to move-result
.method public static branchToMoveResult(I)V
    .registers 1
    if-eqz p0, :here
    invoke-static {}, LOther;->i()I
    :here
    move-result p0
    return-void
.end method

# expect error: move-result does not follow an invoke
.method public static moveResultTooLate()V
    .registers 1
    invoke-static {}, LOther;->i()I
    nop
    move-result v0
    return-void
.end method

# expect error: move-result does not follow an invoke
.method public static moveResultTwice()V
    .registers 1
    invoke-static {}, LOther;->i()I
    move-result v0
    move-result v0
    return-void
.end method

# expect error: move-result of a call that returns nothing
.method public static moveResultOfVoid()V
    .registers 1
    invoke-static {}, LOther;->f()V
    move-result v0
    return-void
.end method

# expect error: move-result of the wrong kind
.method public static moveResultOfReference()V
    .registers 1
    invoke-static {}, LOther;->s()Ljava/lang/String;
    move-result v0
    return-void
.end method

# expect error: move-result of the wrong kind
.method public static moveResultWideOfInt()V
    .registers 2
    invoke-static {}, LOther;->i()I
    move-result-wide v0
    return-void
.end method

# expect error: a handler catches a class that is no Throwable
.method public static catchesString()V
    .registers 1
    :start
    invoke-static {}, LOther;->f()V
    :end
    .catch Ljava/lang/String; {:start .. :end} :handler
    return-void
    :handler
    move-exception v0
    return-void
.end method

# expect error: a register holds an object of the wrong class
.method public static caughtTypesMerge()V
    .registers 1
    :start
    invoke-static {}, LOther;->f()V
    :end
    .catch Ljava/lang/RuntimeException; {:start .. :end} :handler
    .catch Ljava/lang/Error; {:start .. :end} :handler
    return-void
    :handler
    move-exception v0
    invoke-static {v0}, LOther;->e(Ljava/lang/Error;)V
    return-void
.end method

# expect error: a thrown object is no Throwable
.method public static throwsString()V
    .registers 1
    const-string v0, "x"
    throw v0
.end method

.method public static throwsNull()V
    .registers 1
    const/4 v0, 0x0
    throw v0
.end method

# expect error: control runs off the end of the code
.method public static runsOff()V
    .registers 1
    const/4 v0, 0x0
.end method

# expect error: control runs into a payload
.method public static runsIntoPayload(I)V
    .registers 1
    packed-switch p0, :table
    nop
    :table
    .packed-switch 0x0
        :zero
    .end packed-switch
    :zero
    return-void
.end method
