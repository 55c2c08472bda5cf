# The second dex file of an app.
.class public LCircle;
.super LShape;

.method public static right(LCircle;)I
    .registers 1
    invoke-virtual {p0}, LShape;->area()I
    move-result p0
    return p0
.end method

# Only the other file says that a shape is no string.
# expect error: a register holds an object of the wrong class
.method public static wrong(LCircle;)Ljava/lang/String;
    .registers 1
    return-object p0
.end method
