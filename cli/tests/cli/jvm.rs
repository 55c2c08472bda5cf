//! Real programs on the machine's JVM behave the same under anrscope.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trace_format::{Event, Item, Recording};

use super::jvm_programs::{Programs, names, recorded, recording_in};
use test_support::engine;
use test_support::program::{Shown, command, run};

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
        let keep = at("keep");
        let out = at("trace.pftrace");
        let options = ["--no-waits", "--resolution", "exact", "--keep", &keep, "--out", &out];
        let mut traced = programs.traced(&options);
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
        // track is no thread's, and on a busy machine main's state is polled, and the agent takes a dump.)
        let begins: usize = threads.iter().map(|(_, begins, _)| begins).sum();
        let query = "select count(*) as n, sum(dur < 0) as open, sum(slice.name not like '%.%') as nameless, \
             group_concat(iif(slice.name not like '%.%', slice.name, null)) as names from slice \
             join thread_track on thread_track.id = track_id where slice.category is not 'thread_state' \
             and slice.name not like 'dump: %'";
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
fn what_cannot_be_traced_runs_unchanged() {
    let programs = Programs::build();
    for arguments in [
        &["-m", "java.base/no.Such"][..],
        &["-version"],
        &["--version"],
        &["-cp"],
        &["-cp", "nothing:here", "Program"],
        &["--no-such-option", "Program"],
        &[],
    ] {
        let plain = Shown::from(programs.plain().args(arguments).output().unwrap());
        let quiet = programs.shown(&["--quiet"], arguments);
        if !arguments.is_empty() {
            assert_eq!(plain, quiet, "java {arguments:?}");
        }
        assert_eq!(programs.shown(&[], arguments).stdout, plain.stdout);
    }
    let shown = programs.shown(&[], &["-cp", "classes", "-Danrscope.off=true", "Program"]);
    assert!(shown.stderr.contains("nothing was recorded"), "{shown:?}");
    assert!(shown.stderr.contains("switched off"), "{shown:?}");
    assert_eq!(shown.code, Some(0));
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

/// Asserts that a run printed and returned what the program does, and one line before that with `why`.
#[track_caller]
fn assert_untraced(programs: &Programs, shown: &Shown, why: &[&str]) {
    let plain = Shown::from(programs.plain().args(["-cp", "classes", "Program"]).output().unwrap());
    let (line, rest) = shown.stderr.split_once('\n').unwrap();
    assert_eq!((shown.code, &*shown.stdout, rest), (plain.code, &*plain.stdout, &*plain.stderr));
    assert!(line.starts_with("anrscope: error: the program runs untraced: "), "{line}");
    for text in why {
        assert!(line.contains(text), "{text:?} is not in {line}");
    }
}

#[test]
fn a_program_runs_untraced_where_nothing_can_be_written_that_was_not_named() {
    let programs = Programs::build();
    let missing = programs.name("missing");
    let mut command = programs.traced(&[]);
    let shown = command.env("TMPDIR", &missing).args(["-cp", "classes", "Program"]).output();
    assert_untraced(&programs, &shown.unwrap().into(), &[&missing, "set TMPDIR"]);
    // Where the directory of the trace would be made.
    programs.directory.file("anrscope-out", "");
    for options in [&["--quiet"][..], &["--keep", "keep"]] {
        let shown = programs.shown(options, &["-cp", "classes", "Program"]);
        assert_untraced(&programs, &shown, &["cannot write anrscope-out/Program.pftrace", "choose another"]);
    }
    programs.assert_tidy();
}

#[test]
fn a_program_runs_untraced_where_files_must_be_small() {
    let programs = Programs::build();
    let traced = programs.traced(&[]);
    // The shell's own: blocks of 512 bytes.
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -f 1000; exec \"$@\"", "sh"])
        .arg(traced.get_program())
        .args(traced.get_args());
    for (name, value) in traced.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let shown = command.current_dir(programs.directory.path()).args(["-cp", "classes", "Program"]).output();
    assert_untraced(&programs, &shown.unwrap().into(), &["a file may have 500K here", "ulimit -f"]);
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
    let kept = names(&classes.join("keep"));
    let recordings: Vec<_> = kept.iter().filter(|name| name.ends_with(".anrscope")).collect();
    let size = |name: &&String| fs::metadata(classes.join("keep").join(name)).unwrap().len();
    let bytes: u64 = recordings.iter().map(size).sum();
    assert!(recordings.len() == 2 && bytes < 700_000, "{recordings:?} of a few events have {bytes} bytes");
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

/// The recorder's configuration in a run with these options of anrscope and of java, as its recording has it.
fn configuration(programs: &Programs, options: &[&str], arguments: &[&str]) -> String {
    let (keep, out) = (programs.name("configured"), programs.name("configured.pftrace"));
    let options = [&["--keep", &keep, "--out", &out], options].concat();
    programs.shown(&options, &[&["-cp", "classes"], arguments, &["Program"]].concat());
    let recording = Recording::open(fs::read(recording_in(Path::new(&keep))).unwrap()).unwrap();
    fs::remove_dir_all(keep).unwrap();
    let configuration = recording
        .sections()
        .iter()
        .find(|section| section.kind == Some(trace_format::section::SectionKind::Configuration))
        .and_then(|section| recording.payload(section).unwrap());
    String::from_utf8(configuration.unwrap()).unwrap()
}

#[test]
fn options_reach_the_recorder_and_the_instrumenter() {
    let programs = Programs::build();
    let options = ["--buffer", "2M", "--resolution", "100us", "--max-overhead", "1.5"];
    let own = ["-Danrscope.resolution=exact", "-Danrscope.max_overhead=2"];
    for (options, arguments, expected) in [
        (
            &options[..],
            &[][..],
            &["main_blocks=130", "pool_blocks=130", "resolution_ns=100000", "max_overhead_hundredths=150"][..],
        ),
        // A property that is given to java applies without the option, and not with it.
        (&options, &own, &["resolution_ns=100000", "max_overhead_hundredths=150"]),
        (&[], &own, &["coarse=0", "max_overhead_hundredths=200"]),
        (&[], &["-Danrscope.clock=coarse"], &["coarse=1", "max_overhead_hundredths=300"]),
    ] {
        let configuration = configuration(&programs, options, arguments);
        for line in expected {
            assert!(configuration.lines().any(|own| own == *line), "{line}: {configuration}");
        }
    }
    // The program sees none of it.
    let settings = ["-XshowSettings:properties", "-cp", "classes", "Program"];
    assert!(!programs.shown(&["--quiet"], &settings).stderr.contains("anrscope."));

    let (keep, out) = (programs.name("keep"), programs.name("t.pftrace"));
    let rules = programs.directory.file("trace.rules", "exclude class Greeter\n");
    programs.shown(&["--rules", &rules, "--keep", &keep, "--out", &out], &["-cp", "classes", "Program"]);
    let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
    assert!(map.contains("Program main") && !map.contains("Greeter"), "{map}");
    let bad = programs.directory.file("bad.rules", "exclude nothing\n");
    programs.shown(&["--rules", &bad], &["-cp", "classes", "Program"]).failed(1, &["bad.rules:1"]);
}
