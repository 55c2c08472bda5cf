//! Strips the cdylib on Linux: the program embeds it. Android's library keeps its symbols until `scripts/build-android` strips it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
    }
}
