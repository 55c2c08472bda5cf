# Registers with the wrong content. A line "# expect" before a method names its findings; without one it has none.
.class public LRegisters;
.super Ljava/lang/Object;

# expect error: a register is used before it is written
.method public static undefined()I
    .registers 1
    return v0
.end method

# expect error: a register is used that holds different types on the paths here
.method public static conflict(I)I
    .registers 2
    if-eqz p0, :other
    const/4 v0, 0x1
    goto :end
    :other
    const-string v0, "x"
    :end
    add-int/lit8 v0, v0, 0x1
    return v0
.end method

.method public static unusedConflictIsCopied(I)V
    .registers 3
    const/4 v0, 0x1
    if-eqz p0, :end
    const-string v0, "x"
    :end
    move v1, v0
    move-object v1, v0
    return-void
.end method

# The code behind the goto is checked before the paths meet, as by ART.
# expect error: a register holds the wrong type
.method public static conflictIsCopiedBeforePathsMeet(I)V
    .registers 3
    if-eqz p0, :other
    const/4 v0, 0x1
    goto :end
    :other
    const-string v0, "x"
    :end
    move-object v1, v0
    return-void
.end method

# expect error: a register holds the wrong type
.method public static referenceAsInt(Ljava/lang/String;)I
    .registers 1
    neg-int p0, p0
    return p0
.end method

# expect error: a register holds the wrong type
.method public static floatAsInt(F)I
    .registers 1
    neg-int p0, p0
    return p0
.end method

# expect error: a register holds the wrong type
.method public static intAsFloat(I)F
    .registers 1
    neg-float p0, p0
    return p0
.end method

.method public static constantAsIntAndFloat()I
    .registers 2
    const v0, 0x3f800000
    neg-float v1, v0
    neg-int v0, v0
    return v0
.end method

# expect error: a register holds the wrong type
.method public static doubleAsLong(D)J
    .registers 2
    neg-long p0, p0
    return-wide p0
.end method

# expect error: a register holds the wrong type
.method public static lowerHalfOverwritten(J)J
    .registers 2
    const/4 p0, 0x0
    return-wide p0
.end method

# expect error: a register holds the wrong type
.method public static upperHalfOverwritten(J)J
    .registers 2
    const/4 v1, 0x0
    return-wide p0
.end method

# expect error: a register holds the wrong type
.method public static lowerHalfMovedAlone(J)V
    .registers 3
    move v0, p0
    return-void
.end method

.method public static overlappingWideMove(J)J
    .registers 3
    move-wide v0, p0
    return-wide v0
.end method

# expect error: a register holds the wrong type
.method public static moveOfReference(Ljava/lang/Object;)V
    .registers 2
    move v0, p0
    return-void
.end method

# expect error: a register holds the wrong type
.method public static moveObjectOfInt(I)V
    .registers 2
    move-object v0, p0
    return-void
.end method

# expect error: a register is used before it is written
.method public static moveOfUndefined()V
    .registers 2
    move v0, v1
    return-void
.end method

# expect error: an int and a reference are compared
.method public static intWithReference(ILjava/lang/Object;)V
    .registers 2
    if-eq p0, p1, :end
    :end
    return-void
.end method

.method public static nullWithReference(Ljava/lang/Object;)V
    .registers 2
    const/4 v0, 0x0
    if-eq v0, p0, :end
    :end
    return-void
.end method

# expect error: a register holds the wrong type
.method public static orderOfReferences(Ljava/lang/Object;)V
    .registers 1
    if-ltz p0, :end
    :end
    return-void
.end method

# expect error: a register holds the wrong type
.method public static floatWithZero(F)V
    .registers 1
    if-eqz p0, :end
    :end
    return-void
.end method

# expect error: a register holds the wrong type
.method public static switchOnReference(Ljava/lang/Object;)V
    .registers 1
    packed-switch p0, :table
    :zero
    return-void
    nop
    :table
    .packed-switch 0x0
        :zero
    .end packed-switch
.end method

# expect error: a return does not fit the return type
.method public static returnVoidOfInt()I
    .registers 1
    return-void
.end method

# expect error: a return does not fit the return type
.method public static returnIntOfVoid()V
    .registers 1
    const/4 v0, 0x0
    return v0
.end method

# expect error: a return does not fit the return type
.method public static returnIntOfObject()Ljava/lang/Object;
    .registers 1
    const/4 v0, 0x0
    return v0
.end method

# expect error: a register holds the wrong type
.method public static returnTooLargeConstant()Z
    .registers 1
    const/16 v0, 0x100
    return v0
.end method

.method public static returnIntAsByte(I)B
    .registers 1
    return p0
.end method

# expect error: a register is used that holds different types on the paths here
.method public static loopChangesType(I)V
    .registers 2
    const-string v0, "x"
    :loop
    if-eqz p0, :end
    invoke-virtual {v0}, Ljava/lang/String;->length()I
    move-result v0
    goto :loop
    :end
    return-void
.end method
