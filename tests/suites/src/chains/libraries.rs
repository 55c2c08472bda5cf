//! The libraries that programs use, and Kotlin's compiler: fetched by `scripts/instrument/fetch`, which
//! `scripts/install-test-needs` runs.

use std::path::{Path, PathBuf};

use test_support::jdk;

/// Parts of Kotlin's compiler, and what it needs.
const COMPILER: [&str; 7] =
    ["compiler", "stdlib", "script", "reflect", "coroutines", "daemon", "annotations"];

fn jar(name: &str) -> PathBuf {
    let jar = test_support::test_data().join("instrument").join(format!("{name}.jar"));
    assert!(jar.exists(), "{} is missing: run scripts/install-test-needs", jar.display());
    jar
}

/// What programs are compiled and run with: Guava, RxJava, Kotlin's standard library, kotlinx.coroutines.
pub(crate) fn class_path() -> Vec<PathBuf> {
    ["guava", "rxjava", "reactive-streams", "kotlin-stdlib", "kotlin-coroutines"].map(jar).to_vec()
}

/// The sources of the fakes of Android's classes.
pub(crate) fn fakes() -> Vec<String> {
    let mut sources = Vec::new();
    let mut directories = vec![test_support::root().join("android/fakes")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|end| end == "java") {
                sources.push(path.display().to_string());
            }
        }
    }
    sources
}

/// Compiles all sources by one call: the compiler takes seconds to start.
pub(crate) fn kotlinc(into: &Path, path: &[PathBuf], sources: &[String]) {
    if sources.is_empty() {
        return;
    }
    let compiler = COMPILER.map(|part| jar(&format!("kotlin-{part}")));
    let mut java = jdk::java();
    java.args(["-Xss4m", "-Xmx1500m", "-XX:+UseSerialGC", "-cp"])
        .arg(std::env::join_paths(compiler).unwrap())
        .args(["org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-nowarn", "-cp"])
        .arg(std::env::join_paths(path).unwrap())
        .arg("-d")
        .arg(into)
        .args(sources);
    jdk::finish(&mut java);
}
