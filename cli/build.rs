//! Builds the runtime library that `anrscope jvm` loads into a JVM, so that the program can carry it.
//!
//! Cargo builds a cdylib that is a dependency, but does not say where, and `cargo install` would leave
//! it behind. So a second cargo builds it, in a target directory of its own: the outer one's is locked.
//! The directory is shared by all profiles, and the library is always optimised and stripped.
//!
//! A JVM loads the library, not the program: a static program (musl) carries one for glibc, which
//! `ANRSCOPE_RUNTIME_LIBRARY` names (`scripts/release` builds it first).

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the library is made of, by directory of the workspace.
const PARTS: [&str; 5] = ["trace-runtime", "recorder", "native-signal", "trace-rules", "trace-format"];

/// The variable that names a library that is there already.
const READY: &str = "ANRSCOPE_RUNTIME_LIBRARY";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let workspace = path("CARGO_MANIFEST_DIR").join("..");
    for part in PARTS {
        for what in ["src", "Cargo.toml"] {
            println!("cargo:rerun-if-changed={}", workspace.join(part).join(what).display());
        }
    }
    println!("cargo:rerun-if-changed={}", workspace.join("Cargo.toml").display());
    println!("cargo:rerun-if-changed={}", workspace.join("Cargo.lock").display());

    let out = path("OUT_DIR");
    println!("cargo:rerun-if-env-changed={READY}");
    if let Some(library) = env::var_os(READY).filter(|path| !path.is_empty()) {
        println!("cargo:rerun-if-changed={}", Path::new(&library).display());
        copy(Path::new(&library), &out);
        return;
    }
    assert!(
        env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("musl"),
        "a static program carries a library for the JVMs of glibc: build it with scripts/release, or name one in {READY}"
    );
    // <target>/<profile>/build/cli-<hash>/out
    let target_dir = out.ancestors().nth(4).unwrap_or(&out).join("embedded-runtime");
    let library = build(&workspace, &target_dir);
    copy(&library, &out);
}

fn copy(library: &Path, out: &Path) {
    fs::copy(library, out.join("libanrscope.so"))
        .unwrap_or_else(|e| panic!("cannot copy {}: {e}", library.display()));
}

fn build(workspace: &Path, target_dir: &Path) -> PathBuf {
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let cross = env::var("HOST").as_ref() != Ok(&target);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(workspace)
        .args(["rustc", "--quiet", "--package", "anrscope-runtime", "--lib", "--release"])
        .args(["--crate-type", "cdylib", "--target-dir"])
        .arg(target_dir);
    if cross {
        cargo.args(["--target", &target]);
    }
    cargo.args(["--", "-C", "strip=symbols"]);
    for name in env::vars_os().map(|(name, _)| name).filter(outer_only) {
        cargo.env_remove(name);
    }
    let status = cargo.status().unwrap_or_else(|e| panic!("cannot run cargo: {e}"));
    assert!(status.success(), "building the runtime library (cargo rustc --package anrscope-runtime) failed");
    let mut built = target_dir.to_owned();
    if cross {
        built.push(&target);
    }
    built.join("release/libtrace_runtime.so")
}

/// Whether a variable speaks of the build in which this script runs, and would change the inner one.
fn outer_only(name: &OsString) -> bool {
    let Some(name) = name.to_str() else { return false };
    // Wrappers of clippy and of coverage tools are for the workspace's own crates.
    let wrapper = matches!(name, "RUSTC_WORKSPACE_WRAPPER" | "CLIPPY_ARGS" | "CARGO_ENCODED_RUSTFLAGS");
    // What cargo tells build scripts about their package.
    let package = ["CARGO_PKG_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_MANIFEST_", "DEP_"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    let build = matches!(
        name,
        "CARGO_TARGET_DIR"
            | "CARGO_BUILD_TARGET_DIR"
            | "CARGO_BUILD_BUILD_DIR"
            | "CARGO_BUILD_TARGET"
            | "OUT_DIR"
            | "TARGET"
            | "HOST"
            | "PROFILE"
            | "OPT_LEVEL"
            | "DEBUG"
            | "NUM_JOBS"
    );
    wrapper || package || build
}

fn path(variable: &str) -> PathBuf {
    env::var_os(variable).unwrap_or_else(|| panic!("cargo sets {variable}")).into()
}
