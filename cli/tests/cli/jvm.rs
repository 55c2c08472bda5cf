//! Real programs on the machine's JVM: the same with us as without.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trace_format::{Event, Item, Recording};

use super::engine;
use super::folder::Folder;
use super::java::{compile, java, pack};
use super::program::{Shown, command};

/// The test programs, compiled and packed in several ways.
///
/// ```text
/// classes/            Program, Greeter and a resource
/// libs/program.jar    Program    libs/greeter.jar  Greeter
/// app/app.jar         Program, with Class-Path "../my%20libs/greeter.jar resources/ missing.jar"
/// ```
struct Programs {
    folder: Folder,
}

impl Programs {
    fn build() -> Self {
        let folder = Folder::new();
        let at = |name: &str| folder.path().join(name);
        for name in ["classes", "program", "greeter", "libs", "app/resources", "my libs", "tmp"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        compile(&["Greeter"], Path::new(""), &at("greeter"));
        compile(&["Program"], &at("greeter"), &at("program"));
        compile(&["Greeter", "Program"], Path::new(""), &at("classes"));
        folder.file("classes/resource.txt", "out of the folder");
        folder.file("app/resources/resource.txt", "out of the Class-Path");
        pack(&at("program"), &at("libs/program.jar"), "");
        pack(&at("greeter"), &at("libs/greeter.jar"), "");
        // It leads back to the first: the JVM does not mind a circle.
        pack(&at("greeter"), &at("my libs/greeter.jar"), "Class-Path: ../app/app.jar\n");
        let manifest = "Main-Class: Program\nClass-Path: ../my%20libs/greeter.jar resources/ missing.jar\n";
        pack(&at("program"), &at("app/app.jar"), manifest);
        Self { folder }
    }

    fn name(&self, name: &str) -> String {
        self.folder.name(name)
    }

    /// `anrscope jvm`, with temporary files in a folder of ours.
    fn traced(&self, options: &[&str]) -> Command {
        let mut command = command();
        command.env("TMPDIR", self.folder.path().join("tmp")).current_dir(self.folder.path());
        command.arg("jvm").args(options).arg("--");
        command
    }

    fn plain(&self) -> Command {
        let mut command = java();
        command.current_dir(self.folder.path());
        command
    }

    /// Nothing was left among the temporary files.
    #[track_caller]
    fn assert_tidy(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.folder.path().join("tmp")).unwrap().map(|e| e.unwrap().path()).collect();
        // The JVM's own counters.
        let left: Vec<_> =
            left.iter().filter(|path| !path.to_string_lossy().contains("hsperfdata")).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Runs `arguments` with and without us, and asserts that nobody can tell.
    #[track_caller]
    fn assert_same(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Shown {
        let plain =
            Shown::from(self.plain().args(arguments).envs(variables.iter().copied()).output().unwrap());
        let traced =
            self.traced(&["--quiet"]).args(arguments).envs(variables.iter().copied()).output().unwrap();
        let traced = Shown::from(traced);
        assert_eq!(plain, traced, "java {arguments:?}");
        self.assert_tidy();
        plain
    }
}

fn recording_in(folder: &Path) -> PathBuf {
    let mut found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|end| end == "anrscope")).expect("a recording")
}

/// Threads of the one recording in `folder` that have events: name and how many begins and ends.
fn recorded(folder: &Path) -> Vec<(String, usize, usize)> {
    let recording = Recording::open(fs::read(recording_in(folder)).unwrap()).unwrap();
    let threads = recording.threads().iter().map(|thread| {
        let (mut begins, mut ends) = (0, 0);
        for item in recording.events(thread) {
            match item.unwrap() {
                Item::Event { event: Event::Enter(_), .. } => begins += 1,
                Item::Event { event: Event::Exit(_), .. } => ends += 1,
                _ => {}
            }
        }
        (thread.name.clone().unwrap_or_default(), begins, ends)
    });
    threads.collect()
}

/// Environment variables and arguments of a launch.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn however_it_is_launched_it_runs_as_without_us_and_is_traced() {
    let programs = Programs::build();
    let at = |name: &str| programs.name(name);
    let wildcard = at("libs/*");
    let both = format!("{}:{}", at("libs/program.jar"), at("libs/greeter.jar"));
    let argfile = programs.folder.file(
        "arguments",
        format!(
            "# options\n-Dx='y z' -cp \"{}:\\\n    {}\"\nProgram 'one two'",
            at("libs/program.jar"),
            at("libs/greeter.jar")
        ),
    );
    let jar = at("app/app.jar");
    let options = format!("-cp '{}'", at("libs/*"));
    let text = programs.folder.file("text.jar", "no jar");
    let with_text = format!("{text}:{}:{}", at("missing"), at("classes"));
    // Longer than fits an argument of its own when our part is added.
    let long = format!("{}classes", "no/such/folder/of/classes:".repeat(4_900));
    let cases: &[Case<'_>] = &[
        (&[], &["-cp", "classes", "Program", "a b", "", "@x"]),
        (&[], &["-cp", &both, "Program", "exit"]),
        (&[], &["-classpath", &wildcard, "Program", "throw"]),
        (&[], &["-Xmx64m", "-jar", &jar, "-cp", "exit"]),
        (&[], &["-jar", "-Dx=y", "app/app.jar"]),
        (&[], &[&format!("@{argfile}"), "more", &format!("@{argfile}")]),
        (&[("CLASSPATH", "classes")], &["Program"]),
        (&[("JDK_JAVA_OPTIONS", &options)], &["Program"]),
        (&[], &["-cp", &with_text, "Program"]),
        (&[], &["-Xverify:all", "-Xshare:auto", "--class-path", "classes", "Program"]),
        (&[], &["-p", "app/resources", "-cp", "classes", "Program"]),
        (&[], &["-cp", &long, "Program"]),
        (&[], &["-cp", "classes", "Program", "fork"]),
        (&[], &["-jar", &jar, "fork"]),
        (&[], &["-cp", "classes", "-Danrscope.off=true", "Program"]),
        (&[], &["-cp", "classes", "No.Such.Class"]),
    ];
    for (variables, arguments) in cases {
        let shown = programs.assert_same(variables, arguments);
        assert_eq!(
            shown.stdout.contains("hello main"),
            arguments.last() != Some(&"No.Such.Class"),
            "{shown:?}"
        );
        if arguments.iter().any(|a| a.contains("No.Such") || a.contains("off")) {
            continue;
        }
        let keep = at("keep");
        let out = at("trace.pftrace");
        let mut traced = programs.traced(&["--keep", &keep, "--out", &out]);
        traced.args(*arguments).envs(variables.iter().copied());
        let traced = Shown::from(traced.output().unwrap());
        assert!(traced.stderr.contains("methods traced -> "), "{traced:?}");
        assert!(fs::metadata(&out).unwrap().len() > 0);
        let threads = recorded(Path::new(&keep));
        assert_eq!(threads.len(), 4, "{arguments:?}: {threads:?}");
        for name in ["main", "worker-0", "worker-1", "worker-2"] {
            let (_, begins, ends) = threads.iter().find(|(known, ..)| known == name).unwrap();
            // What `exit` leaves open is main itself.
            let open = if name == "main" && arguments.contains(&"exit") { 1 } else { 0 };
            assert_eq!(*begins, ends + open, "{arguments:?}: {threads:?}");
            // The greeter is in another jar or folder than the program.
            assert!(*begins > if name == "main" { 10 } else { 100 }, "{arguments:?}: {threads:?}");
        }
        // Every call is a slice with a name and an end, and the engine has nothing to complain of. (The recorder's own
        // track is no thread's.)
        let begins: usize = threads.iter().map(|(_, begins, _)| begins).sum();
        let query = "select count(*) as n, sum(dur < 0) as open, sum(slice.name not like '%.%') as nameless from slice \
             join thread_track on thread_track.id = track_id";
        let row = &engine::rows(Path::new(&out), query)[0];
        assert_eq!(
            (&row["n"], &row["open"], &row["nameless"]),
            (&begins.into(), &0.into(), &0.into()),
            "{row}"
        );
        fs::remove_dir_all(keep).unwrap();
    }
}

#[test]
fn what_cannot_be_traced_runs_all_the_same() {
    let programs = Programs::build();
    let source = programs.folder.file(
        "Hello.java",
        "class Hello { public static void main(String[] a) { System.out.println(\"hi \" + a.length); } }",
    );
    for (arguments, note) in [
        (&[source.as_str(), "x", "y"][..], "source file runs untraced"),
        (&["-m", "java.base/no.Such"], "module"),
        (&["-version"], ""),
        (&["--version"], ""),
        (&["-cp"], ""),
        (&["--no-such-option", "Program"], ""),
        (&[], ""),
    ] {
        let plain = Shown::from(programs.plain().args(arguments).output().unwrap());
        let quiet = Shown::from(programs.traced(&["--quiet"]).args(arguments).output().unwrap());
        if !arguments.is_empty() {
            assert_eq!(plain, quiet, "java {arguments:?}");
        }
        let shown = Shown::from(programs.traced(&[]).args(arguments).output().unwrap());
        assert!(shown.stderr.contains(note), "{shown:?}");
        assert_eq!(shown.stdout, quiet.stdout);
    }
    let shown = Shown::from(programs.traced(&[]).args(["-cp", "nothing:here", "Program"]).output().unwrap());
    assert!(shown.stderr.contains("nothing to trace"), "{shown:?}");
    let text = programs.folder.file("text.jar", "no jar");
    let class_path = format!("{text}:classes");
    let shown = Shown::from(programs.traced(&[]).args(["-cp", &class_path, "Program"]).output().unwrap());
    assert!(shown.stderr.contains(&format!("warning: {text} runs untraced: it is no jar")), "{shown:?}");
    let off = ["-cp", "classes", "-Danrscope.off=true", "Program"];
    let shown = Shown::from(programs.traced(&[]).args(off).output().unwrap());
    assert!(shown.stderr.contains("nothing was recorded"), "{shown:?}");
    assert_eq!(shown.code, Some(0));
    programs.assert_tidy();
}

#[test]
fn what_cannot_be_written_is_told_before_the_program_runs() {
    let programs = Programs::build();
    let file = programs.folder.file("file", "");
    let below = format!("{file}/trace.pftrace");
    let keep = format!("{file}/keep");
    for (options, place) in [(["--out", &below], &below), (["--keep", &keep], &keep)] {
        let shown =
            Shown::from(programs.traced(&options).args(["-cp", "classes", "Program"]).output().unwrap());
        shown.failed(1, &[place.as_str()]);
    }
    let none = programs.traced(&[]).env("JAVA_HOME", &file).args(["-cp", "classes", "Program"]).output();
    Shown::from(none.unwrap()).failed(1, &["JAVA_HOME"]);
    let none = programs.traced(&[]).env_remove("JAVA_HOME").env("PATH", &file).arg("Program").output();
    Shown::from(none.unwrap()).failed(1, &["no java"]);
    programs.assert_tidy();
}

#[test]
fn the_current_folder_may_hold_everything_that_we_write() {
    let programs = Programs::build();
    let classes = programs.folder.path().join("classes");
    std::os::unix::fs::symlink("..", classes.join("circle")).unwrap();
    for _ in 0..2 {
        let mut command = programs.traced(&["--keep", "keep"]);
        let shown = Shown::from(command.current_dir(&classes).arg("Program").output().unwrap());
        assert!(
            shown.stdout.contains("hello main") && shown.stdout.contains("out of the folder"),
            "{shown:?}"
        );
        assert!(shown.stderr.contains("methods traced"), "{shown:?}");
        assert!(classes.join("anrscope-out/Program.pftrace").is_file());
        assert_eq!(recorded(&classes.join("keep")).len(), 4);
    }
}

#[test]
fn standard_input_is_the_programs() {
    let programs = Programs::build();
    let mut command = programs.traced(&["--quiet"]);
    command.args(["-cp", "classes", "Program", "read"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all("a line\n".as_bytes()).unwrap();
    let shown = Shown::from(child.wait_with_output().unwrap());
    assert!(shown.stdout.ends_with("read a line\n"), "{shown:?}");
}

/// Starts a program that waits, and hands over its pid and that of the JVM once it does.
fn waiting(
    programs: &Programs,
    options: &[&str],
) -> (std::process::Child, u32, BufReader<std::process::ChildStdout>) {
    let mut command = programs.traced(options);
    command.args(["-cp", "classes", "Program", "wait"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended before it was ready");
    }
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let jvm = fs::read_to_string(children).unwrap().trim().parse().unwrap();
    (child, jvm, stdout)
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_signal_ends_the_program_and_its_trace_is_written() {
    let programs = Programs::build();
    let (out, keep) = (programs.name("trace.pftrace"), programs.name("keep"));
    // For us: handed on, and the program ends in order.
    let (child, _, mut stdout) = waiting(&programs, &["--out", &out]);
    signal("TERM", child.id());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let shown = Shown::from(child.wait_with_output().unwrap());
    assert_eq!((shown.code, rest.as_str()), (Some(143), "shut down\n"), "{shown:?}");
    assert!(fs::metadata(&out).unwrap().len() > 0);
    fs::remove_file(&out).unwrap();

    // For the program: it has no chance, and what it recorded is there.
    let (child, jvm, _stdout) = waiting(&programs, &["--out", &out]);
    signal("KILL", jvm);
    let shown = Shown::from(child.wait_with_output().unwrap());
    assert_eq!(shown.code, Some(137), "{shown:?}");
    assert!(shown.stderr.contains("methods traced"), "{shown:?}");
    assert!(fs::metadata(&out).unwrap().len() > 0);

    // A thread dump: the program prints its own and goes on.
    let (child, jvm, mut stdout) = waiting(&programs, &["--out", &out, "--keep", &keep]);
    signal("QUIT", jvm);
    let start = Instant::now();
    let mut line = String::new();
    while !line.contains("Full thread dump") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0 && start.elapsed() < Duration::from_secs(20));
    }
    let captured = || {
        let recording = Recording::open(fs::read(recording_in(Path::new(&keep))).unwrap()).unwrap();
        let service = recording.service().cloned();
        let mut items = service.iter().flat_map(|thread| recording.events(thread));
        items.any(|item| matches!(item, Ok(Item::Event { event: Event::Sigquit(_), .. })))
    };
    while !captured() {
        assert!(start.elapsed() < Duration::from_secs(20), "the signal was not recorded");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal("INT", child.id());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("shut down\n"), "{rest}");
    let shown = Shown::from(child.wait_with_output().unwrap());
    assert_eq!(shown.code, Some(130), "{shown:?}");
    programs.assert_tidy();
}
