.class public interface abstract Lfixture/Versions;
.super Ljava/lang/Object;
.source "versions.smali"

# A default method needs version 037.
.method public size(I)I
    .registers 4
    .param p1, "count"    # I
        .annotation runtime Ljava/lang/Deprecated;
        .end annotation
    .end param
    .prologue
    .line 7
    :start
    const-string/jumbo v0, "jumbo"
    .local v0, "text":Ljava/lang/String;
    invoke-virtual {v0}, Ljava/lang/String;->length()I
    move-result v1
    :end
    .catch Ljava/lang/RuntimeException; {:start .. :end} :handler
    .catchall {:start .. :end} :all
    add-int/2addr v1, p1
    return v1
    :handler
    move-exception v0
    :all
    .line 9
    const/4 v1, 0x0
    return v1
.end method
