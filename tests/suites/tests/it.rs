//! The command line of the suites, which `scripts/prove` and `.ci/run` run. With this test they are part of the tests' build.

#![cfg(target_os = "linux")]

use std::process::{Command, Output};

const SUITES: [&str; 6] = ["android_host", "busy_hangs", "chains", "late", "native_stacks", "phone"];

fn suites(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_suites")).args(words).output().unwrap()
}

fn refused(words: &[&str]) -> String {
    let output = suites(words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    said
}

#[test]
fn unknown_options_print_the_usage() {
    for name in SUITES {
        let said = refused(&[name, "--no-such-option"]);
        assert!(
            said.contains("unknown option --no-such-option") && said.contains(&format!("{name} [--")),
            "{said}"
        );
    }
}

#[test]
fn missing_numbers_fail_the_command_line() {
    assert!(refused(&["chains", "--jobs"]).contains("--jobs takes a value"));
    assert!(refused(&["late", "--minutes", "few"]).contains("--minutes: few is no number"));
}

#[test]
fn unknown_suites_print_the_usage_of_all() {
    for words in [&["no-such-suite"][..], &[]] {
        let said = refused(words);
        assert!(SUITES.iter().all(|name| said.contains(&format!("\n{name} [--"))), "{said}");
    }
}

#[test]
fn unknown_cases_fail_the_command_line() {
    for name in SUITES {
        let said = refused(&[name, "no-such-case"]);
        assert!(said.contains("no case has no-such-case in its name"), "{said}");
    }
}

#[test]
fn help_prints_the_usage_and_runs_nothing() {
    for name in SUITES {
        let output = suites(&[name, "--full", "--help"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.starts_with(&format!("{name} [--")), "{said}");
    }
}

#[test]
fn chains_refuse_unknown_ways_and_android_programs_on_a_jvm() {
    assert!(refused(&["chains", "--through", "telepathy"]).contains("--through telepathy: no such way"));
    assert!(
        refused(&["chains", "--through", "jvm", "handler-storm"]).contains("--through instrument runs them")
    );
}
