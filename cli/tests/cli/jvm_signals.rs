//! Signals in a JVM that is recorded: those of a recording that is cut short, and the program's own. And a recording that is
//! removed, which causes none.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::jvm_programs::Programs;
use test_support::jdk::{compile_files, java};
use test_support::program::{Shown, command};
use test_support::temp_dir::TempDir;

/// Makes calls on two threads for each byte of its input, and prints a line when they are done. A line of `-Xcheck:jni` would come
/// with the collection.
const WORK: &str = "public class Work { static long sum; \
    public static void main(String[] a) throws Exception { while (System.in.read() >= 0) { \
    Thread other = new Thread(Work::calls); other.start(); calls(); other.join(); System.gc(); \
    System.out.println(\"done\"); } System.exit(5); } \
    static void calls() { for (int n = 0; n < 20_000; n++) { step(n); } } \
    static synchronized void step(int n) { sum += String.valueOf(n).length(); } }";

/// The line that the recorder prints when it meets the first page that is gone.
const CUT: &str = "anrscope: the recording's file was truncated";

/// What anrscope says at the end.
const LOST: &str = "the recording was cut short or overwritten while it was written";

/// How `Work` runs, recorded or not: as a child, which may be anrscope.
struct Work {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Work {
    fn classes() -> TempDir {
        let directory = TempDir::new();
        compile_files(&[&directory.file("Work.java", WORK)], &directory.path().join("classes"));
        fs::create_dir(directory.path().join("tmp")).unwrap();
        directory
    }

    /// Starts `command` with the arguments that run it, `options` among them.
    fn start(mut command: Command, directory: &TempDir, options: &[&str]) -> Self {
        let stderr = directory.path().join("stderr");
        command.args(options).args(["-cp", "classes", "Work"]).current_dir(directory.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&stderr).unwrap());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut this = Self { child, stdin, stdout, stderr };
        this.call();
        this
    }

    fn traced(directory: &TempDir, options: &[&str], java: &[&str]) -> Self {
        let mut anrscope = command();
        anrscope.env("TMPDIR", directory.path().join("tmp")).arg("jvm").args(options).arg("--");
        Self::start(anrscope, directory, java)
    }

    /// Has it make its calls.
    #[track_caller]
    fn call(&mut self) {
        self.stdin.write_all(b"x").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "{}", self.stderr());
    }

    fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Has it make calls until the recorder has found that its recording was cut, and more.
    #[track_caller]
    fn call_on(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.stderr().contains(CUT) {
            assert!(Instant::now() < deadline, "{}", self.stderr());
            self.call();
        }
        (0..3).for_each(|_| self.call());
    }

    /// Ends its input, and with that the program, which must have printed nothing else.
    #[track_caller]
    fn end(self) -> String {
        let Self { mut child, stdin, mut stdout, stderr } = self;
        drop(stdin);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        let (code, stderr) = (child.wait().unwrap().code(), fs::read_to_string(stderr).unwrap());
        assert_eq!((code, rest.as_str()), (Some(5), ""), "{stderr}");
        stderr
    }
}

/// The recording in a directory below `directory`.
fn recording_below(directory: &Path) -> Option<PathBuf> {
    fs::read_dir(directory).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        let is_recording = path.extension().is_some_and(|end| end == "anrscope");
        if is_recording { Some(path) } else { recording_below(&path) }
    })
}

fn cut(recording: &Path, length: u64) {
    File::options().write(true).open(recording).unwrap().set_len(length).unwrap();
}

/// The file begins with zeros until it is whole: one that is cut before would be lengthened again.
fn is_whole(recording: &Path) -> bool {
    let mut first = [0; 1];
    File::open(recording).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first != [0]
}

/// Has it make calls until its recording is there.
fn recording_of(work: &mut Work, directory: &Path) -> PathBuf {
    loop {
        work.call();
        if let Some(recording) = recording_below(directory).filter(|found| is_whole(found)) {
            return recording;
        }
    }
}

#[test]
fn a_program_whose_recording_is_cut_short_goes_on() {
    let exact: &[&str] = &["--resolution", "exact"];
    for (length, options, java) in [
        (0, &[][..], &[][..]),
        (5_000, exact, &[]),
        (5_000, &[], &["-Xint"]),
        (0, exact, &["-XX:+UseZGC", "-XX:+AllowUserSignalHandlers"]),
        (0, &[], &["-XX:+UseSerialGC"]),
    ] {
        let directory = Work::classes();
        let trace = directory.name("x.pftrace");
        let mut work =
            Work::traced(&directory, &[&["--max-overhead", "0", "-o", &trace], options].concat(), java);
        let recording = recording_of(&mut work, &directory.path().join("tmp"));
        cut(&recording, length);
        work.call_on();
        let stderr = work.end();
        assert_eq!(stderr.matches(CUT).count(), 1, "{stderr}");
        assert!(stderr.contains(&format!("error: no trace was written: {LOST}")), "{stderr}");
        let names: Vec<_> = directory.listing().into_keys().collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("hs_err")), "{names:?}");
    }
}

/// `anrscope attach`, from when it records on, with its stderr.
fn attach(directory: &TempDir, pid: u32) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut attach = command();
    attach.current_dir(directory.path()).args(["attach", &pid.to_string(), "--max-overhead", "0"]);
    let mut child = attach.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("recording process") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0);
    }
    (child, stderr)
}

/// Ends it by Ctrl-C's signal, and returns its exit code and what is left of its stderr.
fn detach((mut child, mut stderr): (Child, BufReader<std::process::ChildStderr>)) -> (Option<i32>, String) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    (child.wait().unwrap().code(), rest)
}

/// Where a process that is attached to has its recording.
fn place_of(pid: u32) -> PathBuf {
    let base = format!("/tmp/anrscope-{}", nix::unistd::geteuid());
    let mut places = fs::read_dir(base).unwrap().map(|entry| entry.unwrap());
    places.find(|place| place.file_name().to_string_lossy().starts_with(&format!("{pid}-"))).unwrap().path()
}

#[test]
fn a_program_that_is_attached_to_goes_on_when_its_recording_is_cut_short() {
    for length in [0, 5_000] {
        let directory = Work::classes();
        let mut work = Work::start(java(), &directory, &[]);
        let pid = work.child.id();
        let attachment = attach(&directory, pid);
        let recording = recording_of(&mut work, &place_of(pid));
        cut(&recording, length);
        work.call_on();
        let (code, said) = detach(attachment);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("error: {LOST}: {}", recording.display())), "{said}");
        work.call();
        let stderr = work.end();
        assert_eq!(stderr.matches(CUT).count(), 1, "{stderr}");
    }
    // What the recorder writes after the end of the attachment must not end the program either.
    let directory = Work::classes();
    let mut work = Work::start(java(), &directory, &[]);
    let pid = work.child.id();
    let attachment = attach(&directory, pid);
    let recording = recording_of(&mut work, &place_of(pid));
    assert_eq!(detach(attachment).0, Some(0));
    cut(&recording, 0);
    work.call();
    let attachment = attach(&directory, pid);
    work.call_on();
    detach(attachment);
    work.end();
}

#[test]
fn a_removed_recording_is_called_that() {
    let removed = "the recording was deleted while it was written";
    let directory = Work::classes();
    let mut work = Work::traced(&directory, &["-o", &directory.name("x.pftrace")], &[]);
    fs::remove_file(recording_of(&mut work, &directory.path().join("tmp"))).unwrap();
    work.call();
    let stderr = work.end();
    assert!(stderr.contains(removed) && !stderr.contains("switched off"), "{stderr}");

    let mut work = Work::start(java(), &directory, &[]);
    let pid = work.child.id();
    let attachment = attach(&directory, pid);
    fs::remove_file(recording_of(&mut work, &place_of(pid))).unwrap();
    let (code, said) = detach(attachment);
    assert!(code == Some(1) && said.contains(removed), "{said}");
    work.end();
}

/// Reads a file that it has mapped and then cut short itself, in compiled code or, with `-Xint`, in the interpreter.
const MAPPED: &str = "import java.io.*; import java.nio.*; import java.nio.channels.*; public class Mapped { \
    static long sum(ByteBuffer bytes) { long sum = 0; \
    for (int n = 0; n < bytes.limit(); n++) { sum += bytes.get(n); } return sum; } \
    public static void main(String[] a) throws Exception { File file = new File(a[0]); \
    try (RandomAccessFile opened = new RandomAccessFile(file, \"rw\")) { opened.setLength(8192); \
    ByteBuffer bytes = opened.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 8192); \
    long sum = 0; for (int n = 0; n < Integer.parseInt(a[1]); n++) { sum += sum(bytes); } System.out.println(sum); \
    opened.setLength(0); \
    try { System.out.println(sum(bytes)); } catch (InternalError error) { System.out.println(\"InternalError\"); } } \
    file.delete(); } }";

#[test]
fn bus_errors_of_the_program_are_those_of_the_plain_program() {
    let programs = Programs::build();
    let source = programs.directory.file("mapped/Mapped.java", MAPPED);
    compile_files(&[&source], &programs.directory.path().join("classes"));
    // HotSpot raises the error some instructions later, which may be in one of our calls.
    let compiled: &[&str] = &["-XX:+UseParallelGC", "-XX:-TieredCompilation"];
    for (java, rounds) in [(&[][..], "5000"), (&["-Xint"], "10"), (compiled, "5000")] {
        let arguments = [java, &["-cp", "classes", "Mapped", "mapped.file", rounds]].concat();
        let shown = programs.assert_same(&[], &arguments);
        assert_eq!(shown.stdout, "0\nInternalError\n");
    }
    // One that ends the program.
    let crash = programs.directory.file(
        "crash/Crash.java",
        "public class Crash { public static void main(String[] a) throws Exception { \
         new ProcessBuilder(\"kill\", \"-BUS\", Long.toString(ProcessHandle.current().pid())).start(); \
         Thread.sleep(100_000); } }",
    );
    compile_files(&[&crash], &programs.directory.path().join("classes"));
    let arguments = ["-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=report", "-cp", "classes", "Crash"];
    let report = programs.directory.path().join("report");
    let crashed = |shown: Shown| {
        let text = fs::read_to_string(&report).unwrap();
        fs::remove_file(&report).unwrap();
        (shown.code, text.contains("\n#  SIGBUS (0x7) at pc="))
    };
    let plain = crashed(Shown::from(programs.plain().args(arguments).output().unwrap()));
    assert!(plain.1, "{plain:?}");
    assert_eq!(crashed(programs.shown(&["-q"], &arguments)), plain);
}

#[test]
fn a_jvm_that_watches_its_handlers_has_nothing_to_say() {
    let directory = Work::classes();
    let mut work = Work::traced(&directory, &["-q"], &["-XX:+CheckJNICalls"]);
    // Its warning would come in place of a line.
    recording_of(&mut work, &directory.path().join("tmp"));
    (0..20).for_each(|_| work.call());
    assert_eq!(work.end(), "");
}

#[test]
fn no_thread_of_the_agent_blocks_a_real_time_signal() {
    let directory = Work::classes();
    let mut work = Work::start(java(), &directory, &[]);
    let pid = work.child.id();
    let attachment = attach(&directory, pid);
    recording_of(&mut work, &place_of(pid));
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok());
    let threads = statuses.filter_map(|status| {
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        let blocked = u64::from_str_radix(field("SigBlk:"), 16).unwrap();
        // Signal n is bit n - 1, and 32 is the first real-time signal.
        field("Name:").starts_with("anrscope").then(|| (field("Name:").to_owned(), blocked >> 31))
    });
    let threads: BTreeMap<String, u64> = threads.collect();
    for name in ["anrscope-worker", "anrscope-ticker", "anrscope-signal", "anrscope-timer", "anrscope-client"]
    {
        assert!(threads.contains_key(name), "{threads:?}");
    }
    assert!(threads.values().all(|blocked| *blocked == 0), "{threads:x?}");
    detach(attachment);
    work.end();
}
