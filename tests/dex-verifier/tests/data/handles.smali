# Method handles and call sites; assembled with --api 28. smali does not count the arguments of invoke-custom for
# outs_size, so that other calls are there for it.
.class public LHandles;
.super Ljava/lang/Object;

.method public static polymorphic(Ljava/lang/invoke/MethodHandle;I)I
    .registers 2
    invoke-polymorphic {p0, p1}, Ljava/lang/invoke/MethodHandle;->invoke([Ljava/lang/Object;)Ljava/lang/Object;, (I)I
    move-result p1
    return p1
.end method

# expect error: a register holds an object of the wrong class
.method public static noHandle(Ljava/lang/String;I)V
    .registers 2
    invoke-polymorphic {p0, p1}, Ljava/lang/invoke/MethodHandle;->invoke([Ljava/lang/Object;)Ljava/lang/Object;, (I)I
    return-void
.end method

# expect error: an invoke passes the wrong number of arguments
.method public static wrongPrototype(Ljava/lang/invoke/MethodHandle;I)V
    .registers 2
    invoke-polymorphic {p0, p1}, Ljava/lang/invoke/MethodHandle;->invoke([Ljava/lang/Object;)Ljava/lang/Object;, ()I
    return-void
.end method

# expect error: invoke-polymorphic of a method that is not polymorphic
.method public static notPolymorphic(Ljava/lang/String;)V
    .registers 1
    invoke-polymorphic {p0}, Ljava/lang/String;->length()I, ()I
    return-void
.end method

.method public static custom(I)Ljava/lang/String;
    .registers 1
    invoke-custom {p0}, site("make", (I)Ljava/lang/String;)@LOther;->bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;
    move-result-object v0
    invoke-static {v0}, LOther;->s(Ljava/lang/String;)V
    return-object v0
.end method

# expect error: a register holds the wrong type
.method public static customWithReference(Ljava/lang/String;)V
    .registers 1
    invoke-custom {p0}, site("make", (I)Ljava/lang/String;)@LOther;->bootstrap(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;
    invoke-static {p0}, LOther;->s(Ljava/lang/String;)V
    return-void
.end method

.method public static constants()Ljava/lang/Object;
    .registers 2
    const-method-handle v0, invoke-static@LHandles;->constants()Ljava/lang/Object;
    const-method-type v1, (I)V
    invoke-virtual {v0}, Ljava/lang/invoke/MethodHandle;->type()Ljava/lang/invoke/MethodType;
    move-result-object v1
    return-object v1
.end method
