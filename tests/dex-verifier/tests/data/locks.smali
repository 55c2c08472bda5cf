# Monitors.
.class public LLocks;
.super Ljava/lang/Object;

.method public static balanced(Ljava/lang/Object;)V
    .registers 1
    monitor-enter p0
    monitor-exit p0
    return-void
.end method

# What javac and d8 make of a synchronized block.
.method public static block(Ljava/lang/Object;)V
    .registers 2
    monitor-enter p0
    :start
    invoke-static {}, LOther;->f()V
    monitor-exit p0
    :end
    return-void
    :handler
    move-exception v0
    :start2
    monitor-exit p0
    :end2
    throw v0
    .catchall {:start .. :end} :handler
    .catchall {:start2 .. :end2} :handler
.end method

# expect lock: paths meet with different lock depths
.method public static differentDepths(Ljava/lang/Object;I)V
    .registers 2
    if-eqz p1, :end
    monitor-enter p0
    :end
    invoke-static {}, LOther;->f()V
    return-void
.end method

# The handler covers instructions with and without the lock.
# expect lock: paths meet with different lock depths
.method public static handlerOverBoth(Ljava/lang/Object;)V
    .registers 2
    :start
    invoke-static {}, LOther;->f()V
    monitor-enter p0
    invoke-static {}, LOther;->f()V
    monitor-exit p0
    :end
    .catchall {:start .. :end} :handler
    return-void
    :handler
    move-exception v0
    throw v0
.end method

# expect error: a lock is held where an exception leaves it: no catch-all
.method public static typedHandlerOnly(Ljava/lang/Object;)V
    .registers 2
    monitor-enter p0
    :start
    invoke-static {}, LOther;->f()V
    :end
    .catch Ljava/lang/Exception; {:start .. :end} :handler
    monitor-exit p0
    return-void
    :handler
    move-exception v0
    monitor-exit p0
    throw v0
.end method

# A handler of Throwable is as good as a catch-all; the first monitor-enter needs none.
.method public static throwableHandler(Ljava/lang/Object;)V
    .registers 2
    :start0
    monitor-enter p0
    :end0
    .catch Ljava/lang/Exception; {:start0 .. :end0} :other
    :start
    invoke-static {}, LOther;->f()V
    :end
    .catch Ljava/lang/Throwable; {:start .. :end} :handler
    monitor-exit p0
    return-void
    :handler
    move-exception v0
    monitor-exit p0
    throw v0
    :other
    move-exception v0
    throw v0
.end method

# expect lock: a lock is still held at a return
.method public static notReleased(Ljava/lang/Object;)V
    .registers 1
    monitor-enter p0
    return-void
.end method

# expect lock: monitor-exit without a held lock
.method public static notTaken(Ljava/lang/Object;)V
    .registers 1
    monitor-exit p0
    return-void
.end method

# expect lock: monitor-exit does not release the lock taken last
.method public static wrongOrder(Ljava/lang/Object;Ljava/lang/Object;)V
    .registers 2
    monitor-enter p0
    monitor-enter p1
    monitor-exit p0
    monitor-exit p1
    return-void
.end method

# expect lock: monitor-exit does not release the lock taken last
.method public static overwritten(Ljava/lang/Object;)V
    .registers 1
    monitor-enter p0
    const-string p0, "x"
    monitor-exit p0
    return-void
.end method

# Any copy releases the lock.
.method public static copied(Ljava/lang/Object;)V
    .registers 2
    monitor-enter p0
    move-object v0, p0
    const/4 p0, 0x0
    monitor-exit v0
    return-void
.end method

# expect lock: paths meet with locks held through different registers
.method public static differentRegisters(Ljava/lang/Object;I)V
    .registers 3
    const/4 v0, 0x0
    monitor-enter p0
    if-eqz p1, :end
    move-object v0, p0
    const/4 p0, 0x0
    :end
    monitor-exit p0
    return-void
.end method

# expect error: a register holds the wrong type
.method public static lockOfInt(I)V
    .registers 1
    monitor-enter p0
    return-void
.end method
