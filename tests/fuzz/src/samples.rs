//! Seeds for the texts that a user may give to the instrumenter: one of each kind.

pub(crate) const MAPPING: &str = "\
# compiler: R8
# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}
org.apache.commons.lang3.StringUtils -> org.apache.commons.lang3.BitField:
# {\"id\":\"sourceFile\",\"fileName\":\"StringUtils.java\"}
    int count -> x
    1:1:void com.acme.Inlined.leaf(int):7:7 -> getValue
    1:1:void com.acme.Inlined.middle(int):9 -> getValue
    1:1:void work(com.acme.Foo):20 -> getValue
    2:4:void work(com.acme.Foo):22:24 -> getValue
    # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"(La;)V\"}
    5:9:int[] sum(java.lang.String[][],long):30:34 -> c
    void leaf(boolean) -> c
com.acme.Foo$Bar -> a:
    0:65535:void <init>():0:0 -> <init>
";
pub(crate) const RULES: &str = "\
# One rule a line
exclude package com.acme.generated
exclude method toString()Ljava.lang.String;
include annotation com.acme.Trace
always  class org.** size >= 40
exclude class **.BitField method r*n*(*)V size < 65535
include package -
";
pub(crate) const BLOCK_LIST: &str = "\
# a comment
[package]
-keepclass   com/acme/Hot
-keeppackage com/acme/generated/
com.acme.util
";
pub(crate) const BASE_MAP: &str = "\
# from a build
7,1,org.apache.commons.lang3.BitField getValue (I)I
 9 , 4106 , a/B lambda$0 ()V
3,256,a.B nativeCall
1044470,1,a.B last ()V
1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V
";
