//! Keeps an instrumented app busy for a while, and checks that it stays as it was and loses nothing.
//!
//!   soak --minutes N --classes PATH --library FILE --program ANRSCOPE [--stall SECONDS]
//!
//! The app is `android/bench/soak`, instrumented, on fake Android classes; `scripts/prove soak` builds it. It draws frames,
//! starts some thirty threads a second that end again, and compiles JavaScript on others. This program lets its main thread hang
//! once every so many seconds and sends SIGQUIT as the system would, sends storms of SIGQUITs, and starts further processes of the
//! app beside it, half of which it kills, so that old recordings are removed all along.
//!
//! What must hold at the end: memory, file descriptors and threads are as they were after the first third; each SIGQUIT that was
//! received is in the recording, was forwarded and answered by the JVM; each hang was found by the timer and by the signal; the
//! recordings that are left can be read, exported and reported.

mod memory;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trace_format::Recording;
use trace_format::section::SectionKind;
use trace_format::verdict::{Outcome, Verdict};

use crate::memory::{JvmMemory, flat, in_words, sample};

/// How long to wait for anything: the machine may be busy.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two samples of memory, file descriptors and threads.
const SAMPLE: Duration = Duration::from_secs(5);
/// Between two of the app's further processes.
const PUSH: Duration = Duration::from_secs(20);
/// SIGQUITs of a storm.
const STORM: u32 = 60;
/// How many recordings are kept.
const MAX_RECORDINGS: usize = 6;

struct Options {
    minutes: f64,
    classes: String,
    library: String,
    program: String,
    stall: Duration,
}

fn options() -> Option<Options> {
    let mut options = Options {
        minutes: 30.0,
        classes: String::new(),
        library: String::new(),
        program: String::new(),
        stall: Duration::from_secs(60),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--minutes" => options.minutes = value.parse().ok()?,
            "--classes" => options.classes = value,
            "--library" => options.library = value,
            "--program" => options.program = value,
            "--stall" => options.stall = Duration::from_secs(value.parse().ok()?),
            _ => return None,
        }
    }
    let all = [&options.classes, &options.library, &options.program];
    all.iter().all(|word| !word.is_empty()).then_some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: soak --minutes N --classes PATH --library FILE --program ANRSCOPE [--stall SECONDS]"
        );
        return ExitCode::from(2);
    };
    let directory = std::env::temp_dir().join(format!("soak-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let result = soak(&options, &directory);
    println!("{result}");
    std::fs::remove_dir_all(directory).expect("the directory is ours");
    ExitCode::SUCCESS
}

/// A process of the app.
struct App {
    child: Child,
    input: Option<ChildStdin>,
    /// What it says of itself.
    lines: Receiver<String>,
    /// Thread dumps that the JVM has printed.
    dumps: std::sync::Arc<AtomicU64>,
    recording: PathBuf,
}

impl App {
    fn start(options: &Options, directory: &Path, name: &str) -> Self {
        let mut child = Command::new("java")
            // All of the heap at once: what grows then is not the heap.
            .args(["-Xms160m", "-Xmx160m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-Xshare:auto"])
            .args(memory::JVM)
            .arg(format!("-Danrscope.lib={}", options.library))
            .arg(format!("-Danrscope.dir={}", directory.display()))
            .arg(format!("-Danrscope.name={name}"))
            .args(["-cp", &options.classes, "com.example.soak.Boot"])
            .args([if name.ends_with(":push") { "push" } else { "app" }, &MAX_RECORDINGS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("java: run scripts/install-test-needs");
        let (say, lines) = channel();
        let dumps = std::sync::Arc::new(AtomicU64::new(0));
        let (output, counted) = (child.stdout.take().expect("piped"), dumps.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // One of our lines may be in the middle of a dump's line.
                counted.fetch_add(line.matches("Full thread dump").count() as u64, Ordering::Relaxed);
                if let Some(said) = line.strip_prefix("soak ") {
                    let _ = say.send(said.to_owned());
                }
            }
        });
        let plain = name.replace(':', "_");
        let recording = directory.join(format!("no_backup/anrscope/{plain}-{}.anrscope", child.id()));
        let input = child.stdin.take();
        let app = Self { child, input, lines, dumps, recording };
        app.hear("ready");
        app
    }

    /// Waits for a line and gives the rest of it.
    fn hear(&self, wanted: &str) -> String {
        let end = Instant::now() + WAIT_TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("it does not say {wanted:?}"));
            if let Some(rest) = line.strip_prefix(wanted) {
                return rest.to_owned();
            }
        }
    }

    fn send(&mut self, word: &str) {
        let input = self.input.as_mut().expect("not ended");
        writeln!(input, "{word}").and_then(|()| input.flush()).expect("it listens");
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it lives");
    }

    /// What its recording holds now, as far as it can be read beside the writer.
    fn seen(&self) -> Option<Seen> {
        Seen::of(&Recording::open(std::fs::read(&self.recording).ok()?).ok()?)
    }

    fn wait_until(&self, what: &str, so: impl Fn(&Seen) -> bool) {
        let end = Instant::now() + WAIT_TIMEOUT;
        while !self.seen().is_some_and(|seen| so(&seen)) {
            assert!(Instant::now() < end, "in vain: {what}; {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn end(mut self) -> (String, u64) {
        self.send("end");
        let said = self.hear("ended, ");
        drop(self.input.take());
        let status = self.child.wait().expect("ours");
        assert!(status.success(), "{status}");
        (said, self.dumps.load(Ordering::Relaxed))
    }
}

/// What a recording says of SIGQUITs and hangs.
#[derive(Default, Debug)]
struct Seen {
    /// Signals with a verdict of their own.
    signals: u64,
    /// Those that were ANRs.
    anrs: u64,
    by_timer: u64,
    by_signal: u64,
    /// Received, forwarded, not forwarded, and merged with another one, as of the last verdict.
    counters: (u64, u64, u64, u64),
}

impl Seen {
    fn of(recording: &Recording<Vec<u8>>) -> Option<Self> {
        let mut seen = Self::default();
        let mut anrs = Vec::new();
        for section in recording.sections() {
            let payload = || recording.payload(section).ok().flatten();
            match section.kind {
                Some(SectionKind::Verdict) => {
                    let verdict = Verdict::parse(&payload()?)?;
                    seen.signals += u64::from(!verdict.reconsidered);
                    if verdict.outcome == Outcome::Anr && !anrs.contains(&verdict.sigquit.sensed) {
                        anrs.push(verdict.sigquit.sensed);
                    }
                    let c = verdict.counters;
                    if c.sensed >= seen.counters.0 {
                        seen.counters = (c.sensed, c.forwarded, c.failed, c.merged);
                    }
                }
                Some(SectionKind::AnrSnapshot) => {
                    let text = payload()?;
                    seen.by_timer += u64::from(text.starts_with(b"detector=looper\n"));
                    seen.by_signal += u64::from(text.starts_with(b"detector=sigquit\n"));
                }
                _ => {}
            }
        }
        seen.anrs = anrs.len() as u64;
        Some(seen)
    }
}

fn soak(options: &Options, directory: &Path) -> String {
    let begin = Instant::now();
    let length = Duration::from_secs_f64(options.minutes * 60.0);
    let over = AtomicBool::new(false);
    let (samples, pushes) = (Mutex::new(Vec::new()), Mutex::new((0_u64, 0_u64)));
    let mut app = App::start(options, directory, "com.example.soak");
    let (pid, recording) = (app.child.id(), app.recording.clone());
    let (mut stalls, mut storms) = (0, 0);
    let mut early = None;
    let (said, dumps, jvm) = std::thread::scope(|scope| {
        // A thread that panics ends the others, too.
        let ends = Ends(&over);
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if let Some(sample) = sample(pid) {
                    samples.lock().unwrap().push(sample);
                }
                std::thread::sleep(SAMPLE);
            }
        });
        scope.spawn(|| {
            let _ends = Ends(&over);
            while !over.load(Ordering::Relaxed) {
                let next = Instant::now() + PUSH;
                push(options, directory, &mut pushes.lock().unwrap());
                while Instant::now() < next && !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        });
        let mut next_stall = begin + options.stall / 3;
        while begin.elapsed() < length {
            if early.is_none() && begin.elapsed() >= length / 3 {
                early = JvmMemory::of(pid);
            }
            if over.load(Ordering::Relaxed) {
                panic!("a helper thread has ended");
            }
            if Instant::now() >= next_stall {
                next_stall += options.stall;
                stalls += 1;
                stall(&mut app, stalls);
                if stalls % 3 == 1 {
                    storms += 1;
                    storm(&app, storms);
                }
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let grown = JvmMemory::of(pid).zip(early).map(|(late, early)| late.since(&early));
        let (said, dumps) = app.end();
        drop(ends);
        (said, dumps, grown)
    });
    let took = begin.elapsed().as_secs_f64() / 60.0;
    let samples = samples.into_inner().unwrap();
    // Printed first, so that it is there if anything below fails.
    eprintln!("{}", in_words(&samples));
    let jvm = jvm.map_or_else(|| "the JVM says nothing of its memory".to_owned(), |jvm| jvm.to_string());
    eprintln!("{jvm}");
    let recordings = directory.join("no_backup/anrscope");
    retained(options, directory, &recordings);

    let bytes = std::fs::read(&recording).expect("its recording is still there");
    let size = bytes.len() as f64 / 1e6;
    let recorded = Recording::open(bytes).expect("it opens");
    assert_eq!(recorded.faults(), (&[][..], 0));
    let seen = Seen::of(&recorded).expect("its sections are whole");
    let (sensed, forwarded, failed, merged) = seen.counters;
    assert_eq!((forwarded, failed), (sensed, 0), "each was forwarded: {seen:?}");
    assert_eq!(sensed, dumps, "each was answered by the JVM: {seen:?}");
    assert_eq!(seen.signals + merged, sensed, "each is in the recording: {seen:?}");
    assert!(sensed >= stalls + storms, "{stalls} stalls, {storms} storms: {seen:?}");
    assert_eq!((seen.anrs, seen.by_timer, seen.by_signal), (stalls, stalls, stalls), "{seen:?}");

    let kept = readable(options, &recordings);
    assert!(kept.contains(&recording), "an ANR is kept longest: {kept:?}");
    let (pushed, killed) = *pushes.lock().unwrap();
    flat(&samples);
    let flat = in_words(&samples);
    format!(
        "soak: {took:.1} min: {stalls} hangs of main, each found by the timer and by SIGQUIT; {sensed} SIGQUITs with {storms} \
         storms, each forwarded, answered and recorded ({merged} merged with another one); {flat}; {jvm}; {pushed} further processes, \
         {killed} killed; {} recordings left, all readable, this one's {size:.1} MB; {said}",
        kept.len()
    )
}

/// Says that it is over, however a thread ends.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Main hangs, the system lists the process and sends SIGQUIT, and main goes on.
fn stall(app: &mut App, number: u64) {
    app.send("stall");
    app.hear("hangs");
    app.signal(Signal::SIGQUIT);
    app.wait_until("the verdict on a hang", |seen| seen.anrs == number && seen.by_signal == number);
    app.hear("goes on");
    // As long as the system lists us, each further signal is an ANR's.
    app.send("calm");
    app.hear("calm");
}

/// Sends SIGQUITs as fast as possible; the kernel merges those that are pending. Waits for the last one.
fn storm(app: &App, number: u64) {
    // The judge holds what comes soon after an ANR for the same one.
    let before = app.seen().expect("readable").counters.0;
    for n in 0..STORM {
        app.signal(Signal::SIGQUIT);
        // Between nothing and 10 ms, by a fixed sequence.
        let micros = u64::from(n).wrapping_mul(0x9E37_79B9).wrapping_add(number) % 10_000;
        std::thread::sleep(Duration::from_micros(micros));
    }
    // One by itself at last: its verdict has counters that hold all of them.
    std::thread::sleep(Duration::from_secs(1));
    app.signal(Signal::SIGQUIT);
    app.wait_until("the end of a storm", |seen| seen.counters.0 >= before + 2);
    let end = Instant::now() + WAIT_TIMEOUT;
    while app.dumps.load(Ordering::Relaxed) != app.seen().expect("readable").counters.0 {
        assert!(Instant::now() < end, "{} dumps; {:?}", app.dumps.load(Ordering::Relaxed), app.seen());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// One more process of the app, with a SIGQUIT in it; every other one is killed.
fn push(options: &Options, directory: &Path, counts: &mut (u64, u64)) {
    let mut app = App::start(options, directory, "com.example.soak:push");
    app.signal(Signal::SIGQUIT);
    app.wait_until("the verdict of another process", |seen| seen.signals == 1);
    counts.0 += 1;
    if counts.0.is_multiple_of(2) {
        counts.1 += 1;
        app.signal(Signal::SIGKILL);
        app.child.wait().expect("ours");
        let seen = app.seen().expect("readable after a kill");
        assert_eq!(seen.signals, 1, "{seen:?}");
    } else {
        let recording = app.recording.clone();
        app.end();
        let recorded = Recording::open(std::fs::read(recording).expect("there")).expect("it opens");
        assert_eq!(Seen::of(&recorded).expect("whole").signals, 1);
    }
}

/// One more process, which is left the time to remove old recordings: one that is killed early may not get to it.
fn retained(options: &Options, directory: &Path, recordings: &Path) {
    let last = App::start(options, directory, "com.example.soak:push");
    let end = Instant::now() + WAIT_TIMEOUT;
    // Those of dead processes, and its own.
    while all(recordings).len() > MAX_RECORDINGS + 1 {
        assert!(Instant::now() < end, "more than {MAX_RECORDINGS} are kept: {:?}", all(recordings));
        std::thread::sleep(Duration::from_millis(200));
    }
    last.end();
}

fn all(directory: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(directory).expect("the directory").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "anrscope")).collect()
}

/// The recordings of the directory, after each was exported and reported by the program.
fn readable(options: &Options, directory: &Path) -> Vec<PathBuf> {
    let all = all(directory);
    for recording in &all {
        let trace = recording.with_extension("pftrace");
        let run = |words: &[&Path]| {
            let output = Command::new(&options.program).args(words).output().expect("the program");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        run(&[Path::new("export"), recording, Path::new("-o"), &trace]);
        run(&[Path::new("report"), recording, Path::new("--format"), Path::new("json")]);
        let _ = std::fs::remove_file(trace);
    }
    all
}
