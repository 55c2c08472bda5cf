//! Completions and manual pages, as shells and man read them.

use std::fs;
use std::process::{Command, Stdio};

use test_support::program::run;
use test_support::temp_dir::TempDir;

fn completions(shell: &str) -> String {
    let text = run(["completions", shell]).ok(&[]);
    assert!(!text.contains("demo-child"), "{shell}: what is hidden is completed");
    text
}

/// What bash offers for a line that was typed so far.
fn bash_offers(script: &str, words: &[&str]) -> Vec<String> {
    let typed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let ask = format!(
        "source '{script}'; COMP_WORDS=({typed}); COMP_CWORD={}; cur=${{COMP_WORDS[COMP_CWORD]}}; \
         complete -p anrscope >/dev/null || exit 3; _anrscope anrscope \"$cur\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.len() - 1
    );
    let output = Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_what_is_typed() {
    let directory = TempDir::new();
    let script = directory.file("anrscope.bash", completions("bash"));
    assert_eq!(bash_offers(&script, &["anrscope", "exp"]), ["export"]);
    let all = bash_offers(&script, &["anrscope", ""]);
    for subcommand in ["demo", "jvm", "instrument", "device", "completions"] {
        assert!(all.iter().any(|word| word == subcommand), "{all:?}");
    }
    assert_eq!(bash_offers(&script, &["anrscope", "export", "--merge"]), ["--merge-safe"]);
    assert_eq!(bash_offers(&script, &["anrscope", "device", "doc"]), ["doctor"]);
    assert_eq!(bash_offers(&script, &["anrscope", "report", "--format", "ht"]), ["html"]);
    assert_eq!(bash_offers(&script, &["anrscope", "xyz"]), [""]);
}

#[test]
fn each_shell_gets_completions_for_each_subcommand() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = completions(shell);
        for word in ["instrument", "merge-safe", "doctor", "waits-catalogue"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    run(["completions", "tcsh"]).failed(2, &["tcsh", "zsh"]);
}

#[test]
fn the_manual_has_a_page_for_each_subcommand_and_is_well_formed() {
    let directory = TempDir::new();
    let out = directory.name("man/man1");
    run(["man", &out]).ok(&["pages -> "]);
    let names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    for name in
        ["anrscope.1", "anrscope-export.1", "anrscope-device.1", "anrscope-device-pull.1", "anrscope-man.1"]
    {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("child") || name.contains("help")), "{names:?}");
    for name in &names {
        let page = format!("{out}/{name}");
        // Exit codes from 3 on are errors; lower ones are style.
        let lint = Command::new("mandoc").args(["-T", "lint", "-W", "error", &page]).output();
        let lint = lint.unwrap_or_else(|e| panic!("mandoc: {e}: run scripts/install-test-needs"));
        assert!(lint.status.success(), "{name}: {}", String::from_utf8_lossy(&lint.stdout));
        let shown =
            Command::new("mandoc").args(["-T", "ascii", &page]).stderr(Stdio::inherit()).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        // Bold and underlined are letters struck over.
        let mut plain = String::new();
        for c in shown.chars() {
            if c == '\u{8}' {
                plain.pop();
            } else {
                plain.push(c);
            }
        }
        let command = name.trim_end_matches(".1");
        for text in ["NAME", "SYNOPSIS", "Examples:", "Exit status:", command] {
            assert!(plain.contains(text), "{name}: {text} is not in\n{plain}");
        }
        // The examples keep their lines.
        assert!(plain.lines().any(|line| line.trim().starts_with("anrscope ")), "{name}:\n{plain}");
    }
}
