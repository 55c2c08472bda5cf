use trace_format::synth::RecordingBuilder;

use test_support::program::{command, run};
use test_support::temp_dir::TempDir;

/// The commands that `anrscope` without arguments shows.
fn shown_without_arguments() -> Vec<String> {
    let shown = run::<&str>([]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(2), ""), "{shown:?}");
    assert!(shown.stderr.ends_with("\nanrscope --help for all commands\n"), "{shown:?}");
    assert!(shown.stderr.lines().all(|line| line.len() <= 80), "{shown:?}");
    let lines = shown.stderr.lines().filter_map(|line| line.strip_prefix("    "));
    lines.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
}

#[test]
fn without_arguments_five_commands_are_shown_and_each_is_one() {
    let shown = shown_without_arguments();
    assert_eq!(shown.len(), 5, "{shown:?}");
    for line in &shown {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let subcommands = words.iter().take_while(|word| !word.contains(['-', '.'])).count();
        let help = run(words[..subcommands].iter().chain(&["--help"])).ok(&[]);
        assert!(help.contains(&format!("Usage: anrscope {}", words[..subcommands].join(" "))), "{line}");
    }
    assert!(run(["--help"]).ok(&[]).contains("2  the command line is wrong, or has no command"));
}

/// The other two take a phone, and eleven seconds: `device.rs` and the demo's own test run them.
#[cfg(target_os = "linux")]
#[test]
fn the_commands_that_are_shown_for_files_do_what_they_say() {
    let directory = TempDir::new();
    let dump = "../exporter/answers/tests/data/dump/art14-deadlock.txt";
    directory.file("anr.txt", std::fs::read(dump).unwrap());
    let recording = RecordingBuilder::new(42, "com.example").main("main", |t| {
        t.enter(2_000, 1).exit(5_000, 1);
    });
    directory.file("app.anrscope", recording.build());
    test_support::jdk::compile(&["Busy"], std::path::Path::new(""), &directory.path().join("classes"));
    test_support::jdk::pack(
        &directory.path().join("classes"),
        &directory.path().join("app.jar"),
        "Main-Class: Busy\n",
    );
    let mut ran = Vec::new();
    for line in shown_without_arguments() {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        if ["demo", "device"].contains(&words[0]) {
            continue;
        }
        let mut program = command();
        let output = program.current_dir(directory.path()).args(&words).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        ran.push((words[0].to_owned(), output.status.code(), text.into_owned()));
    }
    let expected = [("dump", 0, "DEADLOCK"), ("report", 0, "com.example"), ("jvm", 0, "where the time went")];
    for ((command, status, text), (wanted, code, part)) in ran.iter().zip(expected) {
        assert_eq!((command.as_str(), *status), (wanted, Some(code)), "{text}");
        assert!(text.contains(part), "{command}: {text}");
    }
    assert_eq!(ran.len(), expected.len());
}

#[test]
fn each_subcommand_explains_itself_with_an_example() {
    for subcommand in ["demo", "jvm", "instrument", "export", "report", "dump", "open", "device"] {
        let help = run([subcommand, "--help"]).ok(&[]);
        for text in ["Usage: anrscope", "Examples:", &format!("anrscope {subcommand} "), "Exit status:"] {
            assert!(help.contains(text), "{subcommand}: {text:?} is not in {help}");
        }
    }
}

#[test]
fn each_command_for_devices_explains_itself_with_an_example() {
    for command in ["doctor", "install", "pull", "watch", "record", "trigger", "startup"] {
        let help = run(["device", command, "--help"]).ok(&[]);
        for text in ["Examples:", &format!("anrscope device {command} "), "Exit status:"] {
            assert!(help.contains(text), "{command}: {text:?} is not in {help}");
        }
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for arguments in [
        &["no-such-subcommand"][..],
        &["export"],
        &["export", "x.anrscope"],
        &["export", "x.anrscope", "-o", "y.pftrace", "--level", "10"],
        &["instrument", "x.jar"],
        &["report"],
        &["dump"],
        &["open"],
        &["device", "pull"],
        &["device", "install"],
        &["device", "install", "x.apk", "--wait", "0"],
        &["device", "pull", "com.example", "--timeout", "0"],
        &["device", "startup", "com.example", "-n", "0"],
        &["device", "record", "com.example", "-o", "x.txt"],
        &["jvm"],
        &["jvm", "--quiet"],
        &["jvm", "--buffer", "1", "Main"],
        &["jvm", "--buffer", "1T", "Main"],
        &["jvm", "--resolution", "2ms", "Main"],
        &["jvm", "--max-overhead", "-1", "Main"],
    ] {
        run(arguments).failed(2, &["--help"]);
    }
}
