//! The programs of the suites, which `scripts/prove` and `.ci/run` run. With this test they are part of the tests' build.

#![cfg(target_os = "linux")]

use std::process::Command;

#[test]
fn an_unknown_option_is_refused_with_the_usage() {
    for (name, program) in [
        ("android_host", env!("CARGO_BIN_EXE_android_host")),
        ("busy_hangs", env!("CARGO_BIN_EXE_busy_hangs")),
        ("chains", env!("CARGO_BIN_EXE_chains")),
        ("phone", env!("CARGO_BIN_EXE_phone")),
    ] {
        let output = Command::new(program).arg("--no-such-option").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("--no-such-option") && said.contains(&format!("{name} [--")), "{name}: {said}");
    }
}
