//! Names the file of the agent that `anrscope jvm` loads into a JVM, so that the program can embed it.
//!
//! Cargo links the library before the program, as the cdylib of the crate `jvm-agent`, and has no variable for its path. The
//! name has no hash, since the crate is a path dependency: `<target>/<profile>/deps/libjvm_agent.so`.
//!
//! Also names the Android runtime that `anrscope apk` adds to apps, which `ANRSCOPE_ANDROID_RUNTIME` names
//! (target/android/anrscope-runtime.zip of scripts/build-android); without it, the program needs `--runtime`.
//!
//! A JVM loads the library, not the program: a static program (musl) embeds one for glibc, which
//! `ANRSCOPE_RUNTIME_LIBRARY` names (`scripts/release` builds it first).

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The variable that names a library that exists already.
const READY: &str = "ANRSCOPE_RUNTIME_LIBRARY";

/// The variable that names the Android runtime.
const ANDROID_RUNTIME: &str = "ANRSCOPE_ANDROID_RUNTIME";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={ANDROID_RUNTIME}");
    let runtime = named(ANDROID_RUNTIME).unwrap_or_else(|| {
        let none = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("no-runtime");
        fs::write(&none, []).unwrap_or_else(|e| panic!("cannot write {}: {e}", none.display()));
        none
    });
    println!("cargo:rerun-if-changed={}", runtime.display());
    println!("cargo:rustc-env=ANRSCOPE_EMBEDDED_ANDROID_RUNTIME={}", runtime.display());
    println!("cargo:rerun-if-env-changed={READY}");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let library = named(READY).unwrap_or_else(linked_by_cargo);
    println!("cargo:rustc-env=ANRSCOPE_EMBEDDED_LIBRARY={}", library.display());
}

/// The absolute path of the file that a variable names.
fn named(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).filter(|path| !path.is_empty())?;
    let found = fs::canonicalize(&path);
    Some(found.unwrap_or_else(|e| panic!("cannot find {} of {variable}: {e}", path.display())))
}

/// The path at which Cargo links the library, now or later in this build.
fn linked_by_cargo() -> PathBuf {
    let feature = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    assert!(
        !feature.split(',').any(|feature| feature == "crt-static"),
        "a static program embeds a library for the JVMs of glibc: build it with scripts/release, or name one in {READY}"
    );
    // <target>/<profile>/build/anrscope-<hash>/out
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let deps = out.ancestors().nth(3).unwrap_or(&out).join("deps");
    assert!(
        deps.is_dir(),
        "this Cargo has another layout than {}: build the library with \
         `cargo rustc --release -p anrscope-jvm-agent --lib --crate-type cdylib`, and name it in {READY}",
        deps.display()
    );
    let library = deps.join("libjvm_agent.so");
    // `cargo check` links nothing, and a missing file would be an error. `cargo build` replaces the empty one.
    match fs::File::create_new(&library) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => panic!("cannot create {}: {e}", library.display()),
        _ => library,
    }
}
