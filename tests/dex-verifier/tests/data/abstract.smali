# An abstract class for constructors.smali.
.class public abstract LAbstract;
.super Ljava/lang/Object;
