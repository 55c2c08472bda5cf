# Objects before their constructor has run.
.class public LConstructors;
.super LBase;

.field public own:I

# expect error: a constructor returns before it called another constructor
.method public constructor <init>()V
    .registers 1
    return-void
.end method

.method public constructor <init>(B)V
    .registers 2
    invoke-direct {p0}, LBase;-><init>()V
    return-void
.end method

# A path leaves out the super constructor.
# expect error: a constructor returns before it called another constructor
.method public constructor <init>(I)V
    .registers 2
    if-eqz p1, :end
    invoke-direct {p0}, LBase;-><init>()V
    :end
    return-void
.end method

# A handler returns while `this` is uninitialized.
# expect error: a constructor returns before it called another constructor
.method public constructor <init>(J)V
    .registers 4
    :start
    invoke-direct {p0}, LBase;-><init>()V
    :end
    .catchall {:start .. :end} :handler
    return-void
    :handler
    move-exception v0
    return-void
.end method

# A handler that only throws may start before the super constructor.
.method public constructor <init>(S)V
    .registers 3
    :start
    invoke-direct {p0}, LBase;-><init>()V
    :end
    .catchall {:start .. :end} :handler
    return-void
    :handler
    move-exception v0
    throw v0
.end method

# `this` is copied before it is initialized: the call initializes all copies.
.method public constructor <init>(C)V
    .registers 3
    move-object v0, p0
    invoke-direct {v0}, LBase;-><init>()V
    invoke-virtual {p0}, LConstructors;->run()V
    return-void
.end method

# expect error: an uninitialized object is used
.method public constructor <init>(F)V
    .registers 2
    invoke-virtual {p0}, LConstructors;->run()V
    invoke-direct {p0}, LBase;-><init>()V
    return-void
.end method

# The own fields may be written before.
.method public constructor <init>(Z)V
    .registers 2
    iput p1, p0, LConstructors;->own:I
    invoke-direct {p0}, LBase;-><init>()V
    return-void
.end method

# expect error: an uninitialized object is used
.method public constructor <init>(ZZ)V
    .registers 3
    iput p1, p0, LBase;->inherited:I
    invoke-direct {p0}, LBase;-><init>()V
    return-void
.end method

# expect error: a constructor is called on an initialized object
.method public constructor <init>(ZZZ)V
    .registers 4
    invoke-direct {p0}, LBase;-><init>()V
    invoke-direct {p0}, LBase;-><init>()V
    return-void
.end method

.method public run()V
    .registers 1
    return-void
.end method

# expect error: an uninitialized object is used
.method public static usedTooEarly()V
    .registers 1
    new-instance v0, LConstructors;
    invoke-virtual {v0}, LConstructors;->run()V
    return-void
.end method

# expect error: an uninitialized object is used
.method public static returnedTooEarly()Ljava/lang/Object;
    .registers 1
    new-instance v0, LConstructors;
    return-object v0
.end method

# expect error: an uninitialized object is used
.method public static passedTooEarly()V
    .registers 1
    new-instance v0, LConstructors;
    invoke-static {v0}, LOther;->take(Ljava/lang/Object;)V
    return-void
.end method

# expect error: an uninitialized object is used
.method public static thrownTooEarly()V
    .registers 1
    new-instance v0, Ljava/lang/RuntimeException;
    throw v0
.end method

# expect error: a constructor is called by the wrong instruction
.method public static constructorByStatic()V
    .registers 1
    invoke-static {}, LBase;-><init>()V
    return-void
.end method

# The loop allocates again before it initializes what it has.
# expect error: a register is used that holds different types on the paths here
.method public static allocatedTwice(I)V
    .registers 3
    const/4 v1, 0x0
    :loop
    new-instance v0, LConstructors;
    if-eqz p0, :end
    move-object v1, v0
    goto :loop
    :end
    invoke-direct {v1}, LConstructors;-><init>()V
    return-void
.end method

# expect soft: new-instance of an abstract class or interface
.method public static instantiatesAbstract()V
    .registers 1
    new-instance v0, LAbstract;
    return-void
.end method
