# Classes, casts, fields, arrays and calls.
.class public LReferences;
.super Ljava/lang/Object;

.field private static text:Ljava/lang/String;
.field public number:I
.field public static wide:J

# expect error: a register holds an object of the wrong class
.method public static wrongArgument()V
    .registers 1
    const-class v0, LReferences;
    invoke-static {v0}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

.method public static unknownArgument(LUnknown;)V
    .registers 1
    invoke-static {p0}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

# expect error: a register holds an object of the wrong class
.method public static wrongReceiver()V
    .registers 1
    const-string v0, "x"
    invoke-virtual {v0}, LReferences;->run()V
    return-void
.end method

.method public run()V
    .registers 1
    return-void
.end method

# expect error: a register holds an object of the wrong class
.method public static wrongReturn()LReferences;
    .registers 1
    const-string v0, "x"
    return-object v0
.end method

# A merge of two classes is their common super class.
# expect error: a register holds an object of the wrong class
.method public static mergedClass(I)Ljava/lang/String;
    .registers 2
    if-eqz p0, :other
    const-string v0, "x"
    goto :end
    :other
    const-class v0, LReferences;
    :end
    return-object v0
.end method

.method public static mergedWithNull(I)Ljava/lang/String;
    .registers 2
    if-eqz p0, :other
    const-string v0, "x"
    goto :end
    :other
    const/4 v0, 0x0
    :end
    return-object v0
.end method

.method public static cast(Ljava/lang/Object;)Ljava/lang/String;
    .registers 1
    check-cast p0, Ljava/lang/String;
    return-object p0
.end method

# expect error: a register holds an object of the wrong class
.method public static missingCast(Ljava/lang/Object;)Ljava/lang/String;
    .registers 1
    return-object p0
.end method

# A failed cast leaves the old type for the handler.
# expect error: a register holds an object of the wrong class
.method public static castInHandler(Ljava/lang/Object;)Ljava/lang/String;
    .registers 1
    :start
    check-cast p0, Ljava/lang/String;
    :end
    .catchall {:start .. :end} :handler
    return-object p0
    :handler
    return-object p0
.end method

.method public static tested(Ljava/lang/Object;)Ljava/lang/String;
    .registers 2
    instance-of v0, p0, Ljava/lang/String;
    if-eqz v0, :other
    return-object p0
    :other
    const/4 v0, 0x0
    return-object v0
.end method

# expect error: a register holds an object of the wrong class
.method public static testedTheWrongWay(Ljava/lang/Object;)Ljava/lang/String;
    .registers 2
    instance-of v0, p0, Ljava/lang/String;
    if-nez v0, :other
    return-object p0
    :other
    const/4 v0, 0x0
    return-object v0
.end method

# expect error: a register holds the wrong type
.method public static castOfInt(I)V
    .registers 1
    check-cast p0, Ljava/lang/String;
    return-void
.end method

# expect error: a cast to a type that is no class
.method public static castToInt(Ljava/lang/Object;)V
    .registers 1
    check-cast p0, I
    return-void
.end method

# expect error: an invoke passes the wrong number of arguments
.method public static tooFewArguments()V
    .registers 1
    invoke-static {}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

# expect error: an invoke passes the wrong number of arguments
.method public static tooManyArguments()V
    .registers 2
    const/4 v0, 0x0
    const/4 v1, 0x0
    invoke-static {v0, v1}, LOther;->ss(Ljava/lang/String;Ljava/lang/String;)V
    invoke-static {v0, v1}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

# expect error: an invoke passes more arguments than outs_size
.method public static moreThanOuts()V
    .registers 2
    const/4 v0, 0x0
    const/4 v1, 0x0
    invoke-static {v0, v1}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

# expect error: an invoke has no receiver
.method public static noReceiver()V
    .registers 1
    invoke-virtual {}, LReferences;->run()V
    return-void
.end method

# expect error: a register holds the wrong type
.method public static intArgumentForReference(I)V
    .registers 1
    invoke-static {p0}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

# expect error: a register holds the wrong type
.method public static referenceArgumentForInt(Ljava/lang/String;)V
    .registers 1
    invoke-static {p0}, LOther;->i(I)V
    return-void
.end method

# expect error: a 64-bit argument is not passed in a register pair
.method public static tornPair(JJ)V
    .registers 4
    invoke-static {v0, v3}, LOther;->j(J)V
    return-void
.end method

# expect soft: an invoke of the wrong kind for the method
.method public static virtualCalledAsStatic()V
    .registers 1
    invoke-static {}, LReferences;->run()V
    return-void
.end method

# expect error: invoke-virtual or invoke-super of a private method
.method public callsPrivate()V
    .registers 1
    invoke-virtual {p0}, LReferences;->secret()V
    return-void
.end method

.method private secret()V
    .registers 1
    return-void
.end method

# expect error: a field access does not fit the field's type
.method public static fieldOfOtherType()V
    .registers 1
    sget v0, LReferences;->text:Ljava/lang/String;
    return-void
.end method

# expect error: a field access does not fit the field's type
.method public static narrowGetOfWide()V
    .registers 1
    sget v0, LReferences;->wide:J
    return-void
.end method

# expect error: a register holds the wrong type
.method public static intIntoReferenceField()V
    .registers 1
    const/4 v0, 0x7
    sput-object v0, LReferences;->text:Ljava/lang/String;
    return-void
.end method

# expect error: a register holds an object of the wrong class
.method public static wrongClassIntoField()V
    .registers 1
    const-class v0, LReferences;
    sput-object v0, LReferences;->text:Ljava/lang/String;
    return-void
.end method

# expect error: a register holds an object of the wrong class
.method public static fieldOfOtherClass()V
    .registers 1
    const-string v0, "x"
    iget v0, v0, LReferences;->number:I
    return-void
.end method

# expect soft: a static and an instance field are mixed up
.method public static instanceFieldAsStatic()V
    .registers 1
    sget v0, LReferences;->number:I
    return-void
.end method

# expect error: a register holds the wrong type
.method public static noArray(Ljava/lang/String;)V
    .registers 2
    array-length v0, p0
    return-void
.end method

# expect error: an array access does not fit the element type
.method public static bytesAsInts([B)V
    .registers 2
    const/4 v0, 0x0
    aget v0, p0, v0
    return-void
.end method

.method public static floatsAsInts([F)F
    .registers 2
    const/4 v0, 0x0
    aget v0, p0, v0
    return v0
.end method

# expect error: a register holds the wrong type
.method public static referenceAsIndex([ILjava/lang/Object;)V
    .registers 3
    aget v0, p0, p1
    return-void
.end method

# expect error: a register holds the wrong type
.method public static floatIntoInts([IF)V
    .registers 3
    const/4 v0, 0x0
    aput p1, p0, v0
    return-void
.end method

# expect error: a register holds the wrong type
.method public static intIntoObjects([Ljava/lang/Object;I)V
    .registers 3
    const/4 v0, 0x0
    aput-object p1, p0, v0
    return-void
.end method

.method public static nestedArray([[I)I
    .registers 2
    const/4 v0, 0x0
    aget-object p0, p0, v0
    aget p0, p0, v0
    return p0
.end method

# expect error: the array data has the wrong element width
.method public static wrongWidth()V
    .registers 1
    const/4 v0, 0x2
    new-array v0, v0, [S
    fill-array-data v0, :data
    return-void
    nop
    :data
    .array-data 4
        1
        2
    .end array-data
.end method

# expect error: a new array of a type that is no array
.method public static newArrayOfString()V
    .registers 1
    const/4 v0, 0x2
    new-array v0, v0, Ljava/lang/String;
    return-void
.end method

# expect error: a register holds the wrong type
.method public static filledWithReference(Ljava/lang/String;)V
    .registers 1
    filled-new-array {p0}, [I
    return-void
.end method

# expect error: a new array of a type that is no array
.method public static filledString()V
    .registers 1
    filled-new-array {}, Ljava/lang/String;
    return-void
.end method
