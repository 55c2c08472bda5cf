//! Output on a terminal and in a pipe.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::test_data::test_data;
use test_support::program::{command, run};
use test_support::temp_dir::TempDir;

/// What a terminal gets of the program: `script` gives it one.
pub(crate) fn on_a_terminal(line: &str, variables: &[(&str, &str)]) -> String {
    shown_by(&format!("{} {line}", env!("CARGO_BIN_EXE_anrscope")), variables)
}

fn shown_by(commands: &str, variables: &[(&str, &str)]) -> String {
    let mut script = Command::new("script");
    script.args(["-qec", commands, "/dev/null"]);
    script.env("TERM", "xterm").envs(variables.iter().copied());
    // The environment of the tests may change the result: a CI job counts as a terminal with colours, for any TERM.
    for name in ["CI", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
        if !variables.iter().any(|(given, _)| *given == name) {
            script.env_remove(name);
        }
    }
    let output = script.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|e| panic!("script: {e}: run scripts/install-test-needs"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const ESCAPE: char = '\u{1b}';

#[test]
fn colour_is_used_on_terminals_and_on_request() {
    for line in ["--help", "export --help", "export"] {
        let shown = on_a_terminal(line, &[]);
        assert!(shown.contains(ESCAPE) && shown.contains("Usage:"), "{line}: {shown:?}");
        let plain = on_a_terminal(line, &[("NO_COLOR", "1")]);
        assert!(!plain.contains(ESCAPE) && plain.contains("Usage:"), "{line}: {plain:?}");
        assert!(!on_a_terminal(line, &[("TERM", "dumb")]).contains(ESCAPE), "{line}");
        let piped = run(line.split(' '));
        assert!(
            !format!("{piped:?}").contains("\\u{1b}") && !piped.stdout.contains(ESCAPE),
            "{line}: {piped:?}"
        );
        assert!(!piped.stderr.contains(ESCAPE), "{line}: {piped:?}");
    }
}

/// The subcommands that a page of help lists.
fn listed(help: &str) -> Vec<&str> {
    let list = help.split_once("\nCommands:\n").map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| !line.is_empty());
    lines
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let (whole, device) = (run(["--help"]).stdout, run(["device", "--help"]).stdout);
    let mut lines = vec!["--help".to_owned(), "--version".to_owned()];
    lines.extend(listed(&whole).into_iter().map(|name| format!("{name} --help")));
    lines.extend(listed(&device).into_iter().map(|name| format!("device {name} --help")));
    assert!(lines.len() > 20, "{lines:?}");
    for line in lines {
        let program = env!("CARGO_BIN_EXE_anrscope");
        let shown = shown_by(&format!("stty cols 80 rows 24; {program} {line}"), &[("NO_COLOR", "1")]);
        let wide: Vec<_> = shown.lines().filter(|shown| shown.chars().count() > 80).collect();
        assert!(wide.is_empty(), "anrscope {line}: {wide:#?}");
    }
}

/// A recording whose export takes a second and more.
fn large(directory: &TempDir) -> String {
    let builder = trace_format::synth::RecordingBuilder::new(42, "com.example").main("main", |t| {
        for n in 0..1_500_000_u64 {
            t.enter(1_000 + n * 10, 1).exit(1_005 + n * 10, 1);
        }
    });
    directory.file("large.anrscope", builder.build())
}

#[test]
fn long_work_shows_progress_on_a_terminal_and_not_in_a_pipe() {
    let directory = TempDir::new();
    let input = large(&directory);
    let out = directory.name("out.json.gz");
    let shown = on_a_terminal(&format!("export {input} -o {out} --level 9"), &[]);
    assert!(shown.contains(" % read, ") && shown.contains(" s left"), "{shown:?}");
    // The line is gone when the work is done.
    let last = shown.rsplit("\r\u{1b}[2K").next().unwrap();
    assert!(last.contains("slices on") && !last.contains("left"), "{shown:?}");
    let quiet = on_a_terminal(&format!("export {input} -o {out} --level 1 --quiet"), &[]);
    assert!(!quiet.contains(ESCAPE) && !quiet.contains("slices"), "{quiet:?}");
    let piped = run(["export", &input, "-o", &out, "--level", "1"]);
    assert!(piped.stderr.lines().count() <= 2 && !piped.stderr.contains(ESCAPE), "{piped:?}");
    assert!(piped.stderr.contains("slices on"), "{piped:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn instrumenting_shows_progress_on_a_terminal_and_not_in_a_pipe() {
    let directory = TempDir::new();
    let jar = test_data("closure/package/compiler.jar");
    let line = format!("jvm --out {} -jar {} --version", directory.name("v.pftrace"), jar.display());
    let shown = on_a_terminal(&line, &[]);
    let drawn: Vec<&str> = shown.split("\r\u{1b}[2K").collect();
    assert!(drawn.iter().any(|text| text.contains("writing ") || text.contains(" methods")), "{shown:?}");
    // The line is gone when the program begins to speak.
    let spoken = drawn.iter().position(|text| text.contains("Version: ")).unwrap();
    assert!(!drawn[spoken].contains("writing ") && drawn[spoken].starts_with("Closure"), "{shown:?}");
    let quiet = on_a_terminal(&line.replacen("jvm", "jvm --quiet", 1), &[]);
    assert!(!quiet.contains(ESCAPE) && quiet.contains("Version: "), "{quiet:?}");
    let piped = run(line.split(' '));
    assert!(!piped.stderr.contains(ESCAPE) && !piped.stdout.contains(ESCAPE), "{piped:?}");
    assert!(piped.stderr.contains("methods traced"), "{piped:?}");
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(pid: u32, signal: libc::c_int) {
    // SAFETY: kill(2) takes any numbers; the process is a child that was not waited for.
    assert_eq!(unsafe { libc::kill(pid as libc::pid_t, signal) }, 0);
}

#[test]
fn an_interrupted_export_keeps_the_old_trace_and_leaves_no_part() {
    let directory = TempDir::new();
    let input = large(&directory);
    let out = directory.file("out.json.gz", b"from before");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
        let mut export = command();
        let mut child = export.args(["export", &input, "-o", &out]).stderr(Stdio::null()).spawn().unwrap();
        let part = || names(directory.path()).into_iter().find(|name| name.ends_with(".part"));
        wait_for("a part of it", || {
            part().is_some_and(|name| {
                fs::metadata(directory.path().join(name)).is_ok_and(|meta| meta.len() > 0)
            })
        });
        kill(child.id(), signal);
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert_eq!(fs::read(&out).unwrap(), b"from before");
        match part() {
            // A kill that cannot be caught leaves the part, under a name that is no trace's.
            Some(name) if signal == libc::SIGKILL => {
                assert!(name.starts_with(".out.json.gz."), "{name}");
                fs::remove_file(directory.path().join(name)).unwrap();
            }
            left => assert_eq!(left, None),
        }
    }
    assert_eq!(names(directory.path()), ["large.anrscope", "out.json.gz"]);
}

/// Whether a process runs and is not a zombie.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

#[test]
fn an_interrupted_demo_ends_its_app_and_removes_its_files() {
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let directory = TempDir::new();
        let out = directory.name("out");
        let mut demo = command();
        let mut child = demo.args(["demo", "--out", &out]).stdout(Stdio::null()).spawn().unwrap();
        let recording = Path::new(&out).join("demo.anrscope");
        wait_for("a recording", || fs::metadata(&recording).is_ok_and(|meta| meta.len() > 0));
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let app = children.trim().to_owned();
        assert!(lives(&app), "{app}");
        kill(child.id(), signal);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        wait_for("the end of the app", || !lives(&app));
        let left = names(Path::new(&out));
        if signal == libc::SIGTERM {
            assert_eq!(left, Vec::<String>::new());
        } else {
            assert!(
                !left.iter().any(|name| name.ends_with(".pftrace") || name.ends_with(".json")),
                "{left:?}"
            );
        }
    }
}

#[test]
fn quiet_prints_errors_only() {
    let directory = TempDir::new();
    let recording = trace_format::synth::RecordingBuilder::new(42, "com.example").main("main", |t| {
        t.enter(2_000, 1).exit(3_000, 1);
    });
    let whole = recording.build();
    let input = directory.file("app.anrscope", &whole);
    let out = directory.name("out.pftrace");
    let without_words = |arguments: &[&str]| {
        let shown = run(arguments);
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");
        assert!(shown.stderr.lines().all(|line| line.starts_with("warning: ")), "{shown:?}");
    };
    directory.file("methodMapping.txt", "1,1,com.example.Main run ()V\n");
    without_words(&["export", &input, "-o", &out, "--quiet"]);
    without_words(&["merge", &input, &out, "-o", &directory.name("both.tar"), "-q"]);
    without_words(&["man", "-q", &directory.name("man")]);
    let cut = directory.file("cut.anrscope", &whole[..whole.len() - 100]);
    let shown = run(["export", &cut, "-o", &out, "--quiet"]);
    assert!(shown.stderr.contains("warning: "), "{shown:?}");
    run(["export", &directory.name("gone"), "-o", &out, "--quiet"]).failed(1, &["gone"]);
}
