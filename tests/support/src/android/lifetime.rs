//! Simulates the life of an app: a cold start, frames at two rates, dropped frames, slow and stalled
//! messages, an ANR by the timer, one by SIGQUIT in a frame that hangs, SIGKILL, a second process, and the
//! next start.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Case;

/// The recordings in the directory where an app on Android has them.
pub fn app_recordings(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory.join("no_backup/anrscope")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "anrscope")).collect();
    files.sort();
    files
}

/// Waits until `so` returns true, for half a minute at most.
fn wait_for(what: &str, so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How often these bytes are in the file.
fn count(file: &Path, part: &str) -> usize {
    let bytes = std::fs::read(file).unwrap();
    memchr::memmem::find_iter(&bytes, part.as_bytes()).count()
}

/// The life of an app, run by the program `AppLife`: three processes, one after the other. Returns the
/// first one's pid, and the directory.
pub fn live(app_life: impl Fn() -> Case) -> (u32, PathBuf) {
    let case = app_life().sdk(37).word("life");
    let directory = case.directory();
    let mut first = case.command().stdout(Stdio::piped()).spawn().unwrap();
    let pid = first.id();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    let hangs = lines.by_ref().map_while(Result::ok).any(|line| line == "hangs");
    if !hangs {
        let _ = first.kill();
        panic!("{:?}", first.wait());
    }
    // HotSpot's own answer goes there too.
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).count());
    let file = app_recordings(&directory).remove(0);
    signal(pid, libc::SIGQUIT);
    wait_for("the snapshot of the SIGQUIT", || count(&file, "detector=sigquit\n") == 1);
    wait_for("its verdict", || count(&file, "error-state-ours") >= 1);
    wait_for("its report", || count(&file, "\"detail\":\"SIGNAL_ANR\"") == 1);
    signal(pid, libc::SIGKILL);
    first.wait().unwrap();
    reader.join().unwrap();

    let second = app_life().sdk(37).property("anrscope.name=com.example.app:push").word("push");
    second.run_again();
    let trace = directory.join("trace.txt");
    let text = format!(
        "----- pid {pid} at 2026-01-01 00:00:00 -----\nCmd line: com.example.app\n\nDALVIK THREADS (1):\n\
         \"main\" prio=5 tid=1 Sleeping\n  | sysTid={pid} nice=-10\n  at java.lang.Thread.sleep(Native method)\n\n----- end {pid} -----\n"
    );
    std::fs::write(&trace, text).unwrap();
    let next = app_life().sdk(37).word("next").word(&pid.to_string()).word(trace.to_str().unwrap());
    next.run_again();
    (pid, directory)
}

fn signal(pid: u32, signal: i32) {
    // SAFETY: kill takes two numbers.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}
