//! `anrscope attach` on real programs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::engine;
use super::java::{compile_files, java};
use super::program::{Shown, command, run};
use super::temp_dir::TempDir;

/// Makes 50 calls for each line of its input, and prints a line when it is done.
const CALLS: &str = "public class Calls { \
    public static void main(String[] a) throws Exception { while (System.in.read() >= 0) { answer(); } } \
    static void answer() { long sum = 0; for (int n = 0; n < 50; n++) { sum += step(n); } System.out.println(sum); } \
    static synchronized long step(int n) { return String.valueOf(n).length(); } }";

struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(directory: &TempDir) -> Self {
        let source = directory.file("Calls.java", CALLS);
        compile_files(&[&source], &directory.path().join("classes"));
        let mut java = java();
        java.args(["-cp", "classes", "Calls"]).current_dir(directory.path());
        let mut child = java.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut this = Self { child, stdin, stdout };
        this.call();
        this
    }

    /// Has it make its calls.
    fn call(&mut self) {
        self.stdin.write_all(b"x").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "90\n");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Attaches while `program` makes its calls, and ends it by Ctrl-C's signal.
fn attached(directory: &TempDir, program: &mut Program, options: &[&str]) -> Shown {
    let pid = program.child.id().to_string();
    let mut attach = command();
    attach.current_dir(directory.path()).args(["attach", &pid]).args(options);
    let mut attach = attach.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(attach.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("anrscope: recording process") {
        assert!(stderr.read_line(&mut text).unwrap() > 0, "{text}");
    }
    program.call();
    assert!(Command::new("kill").args(["-INT", &attach.id().to_string()]).status().unwrap().success());
    stderr.read_to_string(&mut text).unwrap();
    let output = attach.wait_with_output().unwrap();
    Shown { stderr: text, ..Shown::from(output) }
}

#[test]
fn a_running_program_is_recorded_again_and_again_and_goes_on() {
    let directory = TempDir::new();
    let mut program = Program::start(&directory);
    let pid = program.child.id();
    let calls = |trace: &str| {
        let query = "select count(*) as n from slice where name = 'Calls.step'";
        engine::rows(Path::new(trace), query)[0]["n"].as_u64().unwrap()
    };
    for round in 0..3 {
        let trace = directory.name(&format!("out/{round}.pftrace"));
        let exact = ["--resolution", "exact", "--max-overhead", "0", "-o", &trace];
        let shown = attached(&directory, &mut program, &exact);
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");
        assert!(shown.stderr.contains("3 methods traced"), "{shown:?}");
        assert!(
            shown.stderr.contains("where the time went") && shown.stderr.contains("  main "),
            "{shown:?}"
        );
        assert!(shown.stderr.contains(&format!("anrscope open {trace}\n")), "{shown:?}");
        // The trace has this attachment's calls, the recording those before it too.
        assert_eq!(calls(&trace), 50, "{round}");
        let recording = directory.name(&format!("out/{round}.anrscope"));
        assert!(shown.stderr.contains(&format!("anrscope report {recording}\n")), "{shown:?}");
        let whole = directory.name("whole.pftrace");
        run(["export", &recording, "-o", &whole]).ok(&["slices on"]);
        // Nothing is recorded between two attachments.
        program.call();
        assert_eq!(calls(&whole), 50 * (round + 1));
        run(["report", &recording]).ok(&[]);
    }
    let shown = Shown::from(
        command()
            .current_dir(directory.path())
            .args(["attach", &pid.to_string(), "--for", "0s", "-q"])
            .output()
            .unwrap(),
    );
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{shown:?}");
    let named = fs::read_dir(directory.path().join("anrscope-out")).unwrap().count();
    assert_eq!(named, 4, "trace, recording and its two maps, named after the pid");
    program.call();
}

#[test]
fn what_cannot_be_recorded_is_refused_with_a_reason() {
    let directory = TempDir::new();
    let program = Program::start(&directory);
    let pid = program.child.id().to_string();
    run(["attach", "4999999"]).failed(1, &["no process 4999999"]);
    run(["attach", &std::process::id().to_string()]).failed(1, &["is no JVM"]);
    let bad = directory.file("bad.rules", "exclude nothing\n");
    run(["attach", &pid, "--rules", &bad, "-o", &directory.name("x.pftrace")]).failed(1, &["bad.rules:1"]);
    let file = directory.file("file", "");
    let below = format!("{file}/trace.pftrace");
    run(["attach", &pid, "-o", &below]).failed(1, &[&below]);
    run(["attach", "0"]).failed(2, &["0"]);
}
