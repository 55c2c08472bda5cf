//! Real programs on the machine's JVM behave the same under anrscope.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trace_format::{Event, Item, Recording};

use super::engine;
use super::java::{compile, compile_files, java, pack, sign};
use super::program::{Shown, command, run};
use super::temp_dir::TempDir;

/// The test programs, compiled and packed in several ways.
///
/// ```text
/// classes/            Program, Greeter and a resource
/// libs/program.jar    Program    libs/greeter.jar  Greeter
/// app/app.jar         Program, with Class-Path "../my%20libs/greeter.jar resources/ missing.jar"
/// ```
struct Programs {
    directory: TempDir,
}

impl Programs {
    fn build() -> Self {
        let directory = TempDir::new();
        let at = |name: &str| directory.path().join(name);
        for name in ["classes", "program", "greeter", "libs", "app/resources", "my libs", "tmp"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        compile(&["Greeter"], Path::new(""), &at("greeter"));
        compile(&["Program"], &at("greeter"), &at("program"));
        compile(&["Greeter", "Program"], Path::new(""), &at("classes"));
        directory.file("classes/resource.txt", "out of the directory");
        directory.file("app/resources/resource.txt", "out of the Class-Path");
        pack(&at("program"), &at("libs/program.jar"), "");
        pack(&at("greeter"), &at("libs/greeter.jar"), "");
        // It leads back to the first: the JVM accepts a cycle.
        pack(&at("greeter"), &at("my libs/greeter.jar"), "Class-Path: ../app/app.jar\n");
        let manifest = "Main-Class: Program\nClass-Path: ../my%20libs/greeter.jar resources/ missing.jar\n";
        pack(&at("program"), &at("app/app.jar"), manifest);
        Self { directory }
    }

    fn name(&self, name: &str) -> String {
        self.directory.name(name)
    }

    /// `anrscope jvm`, with temporary files in the test's directory.
    fn traced(&self, options: &[&str]) -> Command {
        let mut command = command();
        command.env("TMPDIR", self.directory.path().join("tmp")).current_dir(self.directory.path());
        command.arg("jvm").args(options).arg("--");
        command
    }

    /// Runs with these options of anrscope and arguments of java.
    fn shown(&self, options: &[&str], arguments: &[&str]) -> Shown {
        Shown::from(self.traced(options).args(arguments).output().unwrap())
    }

    fn plain(&self) -> Command {
        let mut command = java();
        command.current_dir(self.directory.path());
        command
    }

    /// Asserts that no temporary files are left.
    #[track_caller]
    fn assert_tidy(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.directory.path().join("tmp")).unwrap().map(|e| e.unwrap().path()).collect();
        // The JVM's own counters.
        let left: Vec<_> =
            left.iter().filter(|path| !path.to_string_lossy().contains("hsperfdata")).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Runs `arguments` with and without anrscope, and asserts that the results are equal.
    #[track_caller]
    fn assert_same(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Shown {
        let plain =
            Shown::from(self.plain().args(arguments).envs(variables.iter().copied()).output().unwrap());
        for way in WAYS {
            let mut traced = self.traced(&[&["--quiet"], way].concat());
            let traced = traced.args(arguments).envs(variables.iter().copied()).output().unwrap();
            assert_eq!(plain, Shown::from(traced), "{way:?} java {arguments:?}");
            self.assert_tidy();
        }
        plain
    }
}

fn recording_in(directory: &Path) -> PathBuf {
    let mut found = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|end| end == "anrscope")).expect("a recording")
}

/// Threads of the one recording in `directory` that have events: name and how many begins and ends.
fn recorded(directory: &Path) -> Vec<(String, usize, usize)> {
    let recording = Recording::open(fs::read(recording_in(directory)).unwrap()).unwrap();
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

/// The agent, and the rewritten class path.
const WAYS: [&[&str]; 2] = [&[], &["--rewrite"]];

/// Environment variables and arguments of a launch.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn however_it_is_launched_it_runs_as_without_us_and_is_traced() {
    let programs = Programs::build();
    let at = |name: &str| programs.name(name);
    let wildcard = at("libs/*");
    let both = format!("{}:{}", at("libs/program.jar"), at("libs/greeter.jar"));
    let argfile = programs.directory.file(
        "arguments",
        format!(
            "# options\n-Dx='y z' -cp \"{}:\\\n    {}\"\nProgram 'one two'",
            at("libs/program.jar"),
            at("libs/greeter.jar")
        ),
    );
    let jar = at("app/app.jar");
    let options = format!("-cp '{}'", at("libs/*"));
    let text = programs.directory.file("text.jar", "no jar");
    let with_text = format!("{text}:{}:{}", at("missing"), at("classes"));
    // Longer than fits an argument of its own when our part is added.
    let long = format!("{}classes", "no/such/parent/of/classes:".repeat(4_900));
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
        for way in WAYS {
            let keep = at("keep");
            let out = at("trace.pftrace");
            let mut traced = programs.traced(
                &[&["--no-waits", "--resolution", "exact", "--keep", &keep, "--out", &out], way].concat(),
            );
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
                // The greeter is in another jar or directory than the program.
                assert!(*begins > if name == "main" { 10 } else { 100 }, "{arguments:?}: {threads:?}");
            }
            // Every call is a slice with a name and an end, and the engine has nothing to complain of. (The recorder's own
            // track is no thread's.)
            let begins: usize = threads.iter().map(|(_, begins, _)| begins).sum();
            let query = "select count(*) as n, sum(dur < 0) as open, sum(slice.name not like '%.%') as nameless, \
                 group_concat(iif(slice.name not like '%.%', slice.name, null)) as names from slice \
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
}

#[test]
fn what_cannot_be_traced_runs_unchanged() {
    let programs = Programs::build();
    let source = programs.directory.file(
        "Hello.java",
        "class Hello { public static void main(String[] a) { System.out.println(\"hi \" + a.length); } }",
    );
    for (arguments, note) in [
        (&[source.as_str(), "x", "y"][..], "a source file runs untraced with --rewrite"),
        (&["-m", "java.base/no.Such"], "module"),
        (&["-version"], ""),
        (&["--version"], ""),
        (&["-cp"], ""),
        (&["--no-such-option", "Program"], ""),
        (&[], ""),
    ] {
        let plain = Shown::from(programs.plain().args(arguments).output().unwrap());
        for way in WAYS {
            let quiet =
                Shown::from(programs.traced(&[&["--quiet"], way].concat()).args(arguments).output().unwrap());
            if !arguments.is_empty() {
                assert_eq!(plain, quiet, "{way:?} java {arguments:?}");
            }
        }
        let shown = programs.shown(&["--rewrite"], arguments);
        assert!(shown.stderr.contains(note), "{shown:?}");
        assert_eq!(shown.stdout, plain.stdout);
    }
    let shown = programs.shown(&["--rewrite"], &["-cp", "nothing:here", "Program"]);
    assert!(shown.stderr.contains("nothing to trace"), "{shown:?}");
    let text = programs.directory.file("text.jar", "no jar");
    let class_path = format!("{text}:classes");
    let shown = programs.shown(&["--rewrite"], &["-cp", &class_path, "Program"]);
    assert!(shown.stderr.contains(&format!("warning: {text} runs untraced: it is not a jar")), "{shown:?}");
    for way in WAYS {
        let shown = programs.shown(way, &["-cp", "classes", "-Danrscope.off=true", "Program"]);
        assert!(shown.stderr.contains("nothing was recorded"), "{shown:?}");
        assert!(shown.stderr.contains("switched off"), "{shown:?}");
        assert_eq!(shown.code, Some(0));
    }
    programs.assert_tidy();
}

#[test]
fn an_unwritable_output_is_reported_before_the_program_runs() {
    let programs = Programs::build();
    let file = programs.directory.file("file", "");
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
fn the_current_directory_may_hold_everything_that_we_write() {
    let programs = Programs::build();
    let classes = programs.directory.path().join("classes");
    std::os::unix::fs::symlink("..", classes.join("cycle")).unwrap();
    for _ in 0..2 {
        let mut command = programs.traced(&["--resolution", "exact", "--keep", "keep"]);
        let shown = Shown::from(command.current_dir(&classes).arg("Program").output().unwrap());
        assert!(
            shown.stdout.contains("hello main") && shown.stdout.contains("out of the directory"),
            "{shown:?}"
        );
        assert!(shown.stderr.contains("methods traced"), "{shown:?}");
        assert!(classes.join("anrscope-out/Program.pftrace").is_file());
        assert_eq!(recorded(&classes.join("keep")).len(), 4);
    }
}

#[test]
fn packages_of_the_jdk_are_traced_on_request() {
    let programs = Programs::build();
    let plain = Shown::from(programs.plain().args(["-cp", "classes", "Program"]).output().unwrap());
    let keep = programs.name("keep");
    for (own, expected) in [(&[][..], false), (&["--jdk", "java.io,java.util.concurrent"], true)] {
        let shown = programs.shown(&[&["--keep", &keep], own].concat(), &["-cp", "classes", "Program"]);
        assert_eq!((&shown.stdout, shown.code), (&plain.stdout, plain.code), "{shown:?}");
        let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
        assert_eq!(map.contains(",java.io.PrintStream println"), expected, "{own:?}");
        assert!(!map.contains(",java.util.HashMap "), "{own:?}");
    }
    let refused = |names| programs.shown(&["--jdk", names], &["-cp", "classes", "Program"]);
    refused("java.io,java.lang.String")
        .failed(2, &["java.lang.String cannot be traced", "the recorder itself calls it"]);
    refused("jdk.internal").failed(2, &["the JVM relies on it"]);
    refused("java.io.*").failed(2, &["no name of a package or class"]);
}

#[test]
fn standard_input_goes_to_the_program() {
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
    // Sent to anrscope: forwarded, and the program ends in order.
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

/// Names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_recording_is_kept_beside_the_trace_and_read_without_options() {
    let programs = Programs::build();
    let exact = ["--resolution", "exact"];
    // The second run replaces what the first one left.
    for _ in 0..2 {
        let shown = programs.shown(&exact, &["-cp", "classes", "Program"]);
        let out = fs::canonicalize(programs.name("anrscope-out")).unwrap();
        let kept = ["anrscope", "methodMapping.txt", "methodMapping.txt.lines", "pftrace"];
        assert_eq!(names(&out), kept.map(|end| format!("Program.{end}")));
        let recording = out.join("Program.anrscope");
        let size = fs::metadata(&recording).unwrap().len();
        assert!(size < 200_000, "{size} bytes of a few events");
        assert_eq!(recorded(&out).len(), 4);
        // What to do next can be typed as it stands.
        let trace = out.join("Program.pftrace");
        assert!(shown.stderr.contains(&format!("anrscope open {}\n", trace.display())), "{shown:?}");
        assert!(shown.stderr.contains(&format!("anrscope report {}\n", recording.display())), "{shown:?}");
        let recording = recording.to_str().unwrap();
        let again = programs.name("again.pftrace");
        run(["export", recording, "-o", &again]).ok(&["slices on"]);
        let nameless = "select count(*) as n from slice where name like 'method %'";
        assert_eq!(engine::rows(Path::new(&again), nameless)[0]["n"], 0);
        run(["report", recording]).ok(&[]);
    }
    programs.assert_tidy();
    // Another program's trace in the same directory does not take the first one's map away.
    programs.shown(&exact, &["-jar", "app/app.jar"]);
    let trace = programs.name("of-the-first.pftrace");
    run(["export", &programs.name("anrscope-out/Program.anrscope"), "-o", &trace]).ok(&["slices on"]);
    assert_eq!(
        engine::rows(Path::new(&trace), "select count(*) as n from slice where name like 'method %'")[0]["n"],
        0
    );
    // Other files with such a name stay.
    let other = programs.directory.file("other.anrscope", "notes");
    let shown = programs.shown(&["--out", &programs.name("other.pftrace")], &["-cp", "classes", "Program"]);
    shown.failed(1, &[&other, "--out"]);
    assert_eq!(fs::read(other).unwrap(), b"notes");
    // A trace that goes into a pipe has nothing beside it.
    let shown = programs.shown(&["--out", "/dev/null"], &["-cp", "classes", "Program"]);
    assert!(
        shown.stderr.contains("methods traced") && !shown.stderr.contains("anrscope report"),
        "{shown:?}"
    );
}

#[test]
fn the_summary_shows_where_the_time_went() {
    let programs = Programs::build();
    let shown = programs.shown(&["--resolution", "exact"], &["-cp", "classes", "Program"]);
    let lines: Vec<&str> = shown.stderr.lines().filter(|line| !line.contains("other stream")).collect();
    let at =
        |text: &str| lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{shown:?}"));
    let (traced, recorded) = (at("methods traced -> "), at("anrscope: recorded "));
    let (title, main, open) = (at("where the time went"), at("  main "), at("anrscope: open it: "));
    assert!(traced < recorded && recorded < title && title < main && main < open, "{shown:?}");
    assert!(lines[recorded].contains(", none lost") && lines[recorded].contains(" %)"), "{shown:?}");
    assert!(lines[main].contains("most self time: ") && lines[main].contains(" ms"), "{shown:?}");
    assert!(lines[main + 1].contains("Program.main") && lines[main + 1].contains("(self "), "{shown:?}");
    assert!(lines.len() <= 20, "{shown:?}");
    // All of it on stderr, and nothing if nothing is wanted.
    assert!(!shown.stdout.contains("anrscope"), "{shown:?}");
}

/// Class files below a directory.
fn classes_below(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => classes_below(&path),
            false => usize::from(path.extension().is_some_and(|end| end == "class")),
        })
        .sum()
}

#[test]
fn kept_directories_below_the_class_path_are_never_instrumented_again() {
    let programs = Programs::build();
    let classes = programs.directory.path().join("classes");
    let mut found = Vec::new();
    // Each run sees what all before it have kept, and the last two their own.
    for keep in ["kept-1", "kept-2", "a/kept-3", "kept-4", "kept-5", "kept-5", "kept-5"] {
        let mut command = programs.traced(&["--rewrite", "--keep", keep]);
        let shown =
            Shown::from(command.current_dir(&classes).args(["-cp", ".", "Program"]).output().unwrap());
        assert!(shown.stdout.contains("out of the directory"), "{shown:?}");
        assert!(!shown.stderr.contains("warning"), "{shown:?}");
        found.push(classes_below(&classes.join(keep).join("instrumented")));
        assert!(!classes.join(keep).join("instrumented-2").exists());
    }
    assert_eq!(found, [3; 7], "Program, Greeter and the map's identity");
    let kept: u64 = names(&classes.join("kept-5"))
        .iter()
        .map(|name| fs::metadata(classes.join("kept-5").join(name)).unwrap().len())
        .sum();
    assert!(kept < 1_000_000, "three recordings of a few events have {kept} bytes");
}

#[test]
fn classes_from_outside_the_class_path_are_reported() {
    let programs = Programs::build();
    let plugin = programs.directory.path().join("plug ins");
    fs::create_dir_all(&plugin).unwrap();
    let plugin = plugin.join("greeter.jar");
    fs::copy(programs.name("libs/greeter.jar"), &plugin).unwrap();
    let loader = programs.directory.path().join("loader");
    fs::create_dir_all(&loader).unwrap();
    compile(&["Loader"], Path::new(""), &loader);
    let plugin = plugin.canonicalize().unwrap().to_str().unwrap().to_owned();
    let shown = programs.shown(&["--rewrite"], &["-cp", "loader", "Loader", &plugin]);
    assert_eq!(shown.stdout, "hello plug-in\nnot signed\n", "{shown:?}");
    let expected = format!(
        "warning: 1 class ran untraced, loaded by the program from outside of the class path: {plugin} (1)"
    );
    assert!(shown.stderr.contains(&expected), "{shown:?}");
    // On the class path the same jar is traced, and there is nothing to report.
    let both = format!("loader:{plugin}");
    let shown = programs.shown(&["--rewrite"], &["-cp", &both, "Loader", &plugin]);
    assert!(!shown.stderr.contains("untraced"), "{shown:?}");
    // The agent traces it wherever it comes from.
    let keep = programs.name("kept");
    let shown = programs.shown(&["--keep", &keep], &["-cp", "loader", "Loader", &plugin]);
    assert!(!shown.stderr.contains("untraced"), "{shown:?}");
    let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
    assert!(map.contains(",Greeter greet ("), "{map}");
    programs.assert_same(&[], &["-cp", "loader", "Loader", &plugin]);

    // A signature that is lost.
    let jar = programs.directory.path().join("signed.jar");
    pack(&loader, &jar, "");
    sign(&jar, programs.directory.path());
    let plain = programs.plain().args(["-cp", "signed.jar", "Loader", &plugin]).output().unwrap();
    assert!(Shown::from(plain).stdout.ends_with("\nsigned\n"));
    let shown = programs.shown(&[], &["-cp", "signed.jar", "Loader", &plugin]);
    assert!(shown.stdout.ends_with("\nsigned\n") && !shown.stderr.contains("dropped"), "{shown:?}");
    let shown = programs.shown(&["--rewrite"], &["-cp", "signed.jar", "Loader", &plugin]);
    assert!(shown.stdout.ends_with("not signed\n"), "{shown:?}");
    let dropped = "signed.jar: META-INF/TEST.SF is a signature that the changes make invalid: dropped";
    assert!(shown.stderr.contains(dropped), "{shown:?}");
}

#[test]
fn a_command_line_of_java_may_follow_at_once() {
    let programs = Programs::build();
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let launcher = home.map_or_else(
        || String::from_utf8(Command::new("which").arg("java").output().unwrap().stdout).unwrap(),
        |home| Path::new(&home).join("bin/java").to_str().unwrap().to_owned(),
    );
    let launcher = launcher.trim();
    let plain =
        Shown::from(programs.plain().args(["-jar", "app/app.jar", "-o", "--quiet"]).output().unwrap());
    for front in [&[][..], &["java"], &[launcher], &["--", "java"], &["--", launcher]] {
        let mut command = command();
        command.env("TMPDIR", programs.name("tmp")).current_dir(programs.directory.path());
        command.args(["jvm", "-q"]).args(front).args(["-jar", "app/app.jar", "-o", "--quiet"]);
        assert_eq!(Shown::from(command.output().unwrap()), plain, "{front:?}");
        let trace = programs.directory.path().join("anrscope-out/app.pftrace");
        assert!(trace.is_file(), "{front:?}");
        fs::remove_file(trace).unwrap();
    }
    // A jar without -jar is a class's name to java.
    let plain = Shown::from(programs.plain().args(["-cp", "classes", "app/app.jar"]).output().unwrap());
    let traced = programs.shown(&[], &["-cp", "classes", "app/app.jar"]);
    assert_eq!((traced.code, &traced.stdout), (Some(1), &plain.stdout), "{traced:?}");
    let hint = "anrscope: app/app.jar is a jar: run `anrscope jvm -jar app/app.jar`\n";
    assert_eq!(traced.stderr, format!("{hint}{}", plain.stderr));
    // Where java rejects the command line, anrscope prints nothing.
    let plain = Shown::from(programs.plain().args(["-cp", "classes", "nosuch.Main"]).output().unwrap());
    assert!(plain.stderr.contains("nosuch.Main") && plain.code == Some(1), "{plain:?}");
    assert_eq!(programs.shown(&[], &["-cp", "classes", "nosuch.Main"]), plain);
    assert_eq!(
        names(&programs.directory.path().join("anrscope-out")).iter().filter(|n| n.contains("Main")).count(),
        0
    );
}

/// The recorder's properties in the program.
fn properties(programs: &Programs, options: &[&str], arguments: &[&str]) -> String {
    let mut line = vec!["-XshowSettings:properties", "-cp", "classes"];
    line.extend(arguments);
    line.push("Program");
    let shown = programs.shown(&[&["--rewrite"], options].concat(), &line);
    let own = shown.stderr.lines().filter_map(|line| line.trim().strip_prefix("anrscope."));
    own.filter(|line| !line.contains('/')).collect::<Vec<_>>().join("; ")
}

#[test]
fn options_reach_the_recorder_and_the_instrumenter() {
    let programs = Programs::build();
    let expected =
        properties(&programs, &["--buffer", "2M", "--resolution", "100us", "--max-overhead", "1.5"], &[]);
    for text in ["mainWords = 131072", "poolWords = 131072", "resolution = 100us", "max_overhead = 1.5"] {
        assert!(expected.contains(text), "{text}: {expected}");
    }
    let expected = properties(&programs, &[], &["-Danrscope.clock=coarse"]);
    assert!(expected.contains("max_overhead = 3") && !expected.contains("resolution"), "{expected}");

    // The room is there, and the copy takes no more than is used.
    let (keep, out) = (programs.name("keep"), programs.name("t.pftrace"));
    programs.shown(&["--buffer", "2M", "--keep", &keep, "--out", &out], &["-cp", "classes", "Program"]);
    let recording = Recording::open(fs::read(recording_in(Path::new(&keep))).unwrap()).unwrap();
    let configuration = recording
        .sections()
        .iter()
        .find(|section| section.kind == Some(trace_format::section::SectionKind::Configuration))
        .and_then(|section| recording.payload(section).unwrap());
    let configuration = String::from_utf8(configuration.unwrap()).unwrap();
    assert!(configuration.contains("main_blocks=130\n"), "{configuration}");
    // The program sees none of it.
    let settings = ["-XshowSettings:properties", "-cp", "classes", "Program"];
    assert!(!programs.shown(&["--quiet"], &settings).stderr.contains("anrscope."));

    let rules = programs.directory.file("trace.rules", "exclude class Greeter\n");
    programs.shown(&["--rules", &rules, "--keep", &keep, "--out", &out], &["-cp", "classes", "Program"]);
    let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
    assert!(map.contains("Program main") && !map.contains("Greeter"), "{map}");
    let bad = programs.directory.file("bad.rules", "exclude nothing\n");
    for way in WAYS {
        let options = [&["--rules", &bad], way].concat();
        programs.shown(&options, &["-cp", "classes", "Program"]).failed(1, &["bad.rules:1"]);
    }
}

#[test]
fn the_agent_traces_modules_and_source_files() {
    let programs = Programs::build();
    let source = programs.directory.file(
        "Hello.java",
        "public class Hello { public static void main(String[] a) { System.out.println(greeting(a)); } \
         static String greeting(String[] a) { return String.join(\" \", a).concat(\"!\"); } }",
    );
    let module = programs.directory.file("module-info.java", "module hello { }");
    let packaged = programs
        .directory
        .file("module/hello/Hello.java", format!("package hello; {}", fs::read_to_string(&source).unwrap()));
    compile_files(&[&module, &packaged], &programs.directory.path().join("modules/hello"));
    for (arguments, class) in [
        (&[source.as_str(), "hi", "you"][..], "Hello"),
        (&["-p", "modules", "-m", "hello/hello.Hello", "hi", "you"], "hello.Hello"),
    ] {
        let plain = Shown::from(programs.plain().args(arguments).output().unwrap());
        assert_eq!((plain.stdout.as_str(), plain.code), ("hi you!\n", Some(0)), "{plain:?}");
        assert_eq!(programs.shown(&["--quiet"], arguments), plain);
        let shown = programs.shown(&["--resolution", "exact"], arguments);
        let trace = programs.directory.path().join("anrscope-out/Hello.pftrace");
        assert!(shown.stderr.contains("Hello.pftrace\n"), "{shown:?}");
        let query = format!("select count(*) as n from slice where name like '{class}.%'");
        assert_eq!(engine::rows(&trace, &query)[0]["n"], 2, "{shown:?}");
    }
}

#[test]
fn a_jvm_that_the_program_starts_with_its_own_options_has_its_own_map() {
    let programs = Programs::build();
    let parent = programs.directory.file(
        "parent/Parent.java",
        "import java.lang.management.ManagementFactory; import java.util.*; \
         public class Parent { public static void main(String[] a) throws Exception { \
         List<String> line = new ArrayList<>(List.of(System.getProperty(\"java.home\") + \"/bin/java\")); \
         line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments()); \
         line.addAll(List.of(\"-cp\", System.getProperty(\"java.class.path\"), \"Program\")); \
         System.exit(new ProcessBuilder(line).inheritIO().start().waitFor()); } }",
    );
    compile_files(&[&parent], &programs.directory.path().join("classes"));
    let out = programs.name("both.pftrace");
    let options = ["--resolution", "exact", "--out", &out];
    let shown = programs.shown(&options, &["-cp", "classes", "Parent"]);
    assert!(shown.stdout.contains("hello main") && !shown.stderr.contains("warning"), "{shown:?}");
    let rows = |query: &str| engine::rows(Path::new(&out), query)[0]["n"].clone();
    assert_eq!(rows("select count(*) as n from slice where name like 'method %'"), 0);
    assert_eq!(rows("select count(*) as n from slice where name = 'Parent.main'"), 1);
    assert_eq!(rows("select count(*) as n from slice where name = 'Program.main'"), 1);
    let of_both = "select count(distinct upid) as n from slice join thread_track on thread_track.id = track_id \
                   join thread using (utid) where slice.name in ('Parent.main', 'Program.main')";
    assert_eq!(rows(of_both), 2);
    // Each beside its recording, from which the other commands take it.
    let again = programs.name("again.pftrace");
    run(["export", &programs.name("both-2.anrscope"), "-o", &again]).ok(&["slices on"]);
    let query = "select count(*) as n from slice where name = 'Program.main'";
    assert_eq!(engine::rows(Path::new(&again), query)[0]["n"], 1);
    programs.assert_tidy();
}

#[test]
fn archives_of_classes_are_left_out_where_they_can_be_and_refused_where_not() {
    let programs = Programs::build();
    let classes = programs.name("classes");
    let file = programs.directory.file("words", "-XX:ArchiveClassesAtExit=app.jsa '-Dx=y z'");
    let plain = Shown::from(programs.plain().args(["-cp", &classes, "Program", "a"]).output().unwrap());
    for archive in ["-XX:ArchiveClassesAtExit=app.jsa".to_owned(), format!("@{file}")] {
        let shown = programs.shown(&["--quiet"], &[&archive, "-cp", &classes, "Program", "a"]);
        assert_eq!(plain, shown, "{archive}");
    }
    let mut refused = programs.traced(&[]);
    let refused = refused.args(["-cp", &classes, "Program"]);
    let refused = refused.env("JAVA_TOOL_OPTIONS", "-XX:ArchiveClassesAtExit=app.jsa").output().unwrap();
    let says = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && says.contains("JAVA_TOOL_OPTIONS has -XX:ArchiveClassesAtExit"),
        "{says}"
    );
    assert!(says.contains("take it out for this run"), "{says}");
}
