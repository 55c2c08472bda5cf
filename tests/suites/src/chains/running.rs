//! A process that runs beside the suite, and the lines that it prints.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The longest time that a process may take to print a line or to end.
const MAX_RUN: Duration = Duration::from_secs(90);

/// A process whose stdin stays open and empty. It is killed in the end, with the processes that it has started.
pub(crate) struct Running {
    child: Child,
    out: Receiver<String>,
    errors: Receiver<String>,
}

/// The lines of a stream, read by a thread until its end.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    let all = BufReader::new(stream).lines();
    std::thread::spawn(move || all.map_while(Result::ok).try_for_each(|line| send.send(line)));
    lines
}

/// The lines up to the one that begins with `last`, or why it did not come.
fn up_to(last: &str, lines: &Receiver<String>) -> Result<String, String> {
    let end = Instant::now() + MAX_RUN;
    let mut text = String::new();
    loop {
        let line = lines.recv_timeout(end.saturating_duration_since(Instant::now()));
        let line = line.map_err(|why| format!("no line {last:?} ({why}) after {text:?}"))?;
        text = text + &line + "\n";
        if line.starts_with(last) {
            return Ok(text);
        }
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("java: run scripts/test, which installs a JDK");
        let (out, errors) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        Self { out: lines(out), errors: lines(errors), child }
    }

    /// Reads stdout up to the line that begins with `last`.
    pub(crate) fn prints(&self, last: &str) -> Result<String, String> {
        up_to(last, &self.out)
    }

    /// Reads stderr up to the line that begins with `last`.
    pub(crate) fn reports(&self, last: &str) -> Result<String, String> {
        up_to(last, &self.errors)
    }

    /// Writes a byte to its stdin.
    pub(crate) fn tell(&mut self) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        stdin.write_all(b"\n").map_err(|error| error.to_string())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // One that has ended is no fault: it is seen by what is missing.
        let _ = kill(pid(self.child.id()), signal);
    }

    /// Waits until it has ended by itself. Returns an error with its stderr if it does not.
    pub(crate) fn ends(mut self) -> Result<(), String> {
        let end = Instant::now() + MAX_RUN;
        while self.child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if Instant::now() >= end {
                let said: Vec<String> = self.errors.try_iter().collect();
                return Err(format!("it did not end: {}", said.join("; ")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            // Its pid may be another process's.
            return;
        }
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        let _ = self.child.kill();
        for child in children.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
            let _ = kill(pid(child), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.try_into().expect("pids are 31 bits"))
}
