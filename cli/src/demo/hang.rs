//! The parent of the process that hangs: waits, sends SIGQUIT as the system does, and kills.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trace_format::MapId;
use trace_format::android::ANR_LIMIT_MS;
use trace_runtime::boottime;

use super::child::NOT_RESPONDING;
use super::files::Files;
use super::log::Log;

/// Timeout of an input event (AOSP `InputConstants.h`, DISPATCHING_TIMEOUT).
const ANR_AFTER: Duration = Duration::from_millis(ANR_LIMIT_MS);
/// Delay of the signal after the timeout: the system detects it on another thread. It also makes sure that main is blocked for a full
/// five seconds, since the child announces the hang a moment before it begins.
const SIGNAL_DELAY: Duration = Duration::from_millis(50);
/// Run time of an app without a hang.
const NORMAL_LIFE: Duration = Duration::from_secs(4);
/// Maximum time until the child hangs; on an idle machine it takes 2.5 s.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the child to its end; its recording stays.
pub(super) fn record(stall: f64, quiet: bool, map_id: MapId, files: &Files) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    crate::output::write(&files.log, b"")?;
    let mut command = Command::new(program);
    command.arg("demo-child").arg(&files.recording).arg(&files.log).arg(map_id.to_string());
    if stall > 0.0 {
        command.arg("--hang");
    }
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the demo's app")?;
    let mut app = App { child, prints_progress: !quiet && crate::terminal::stderr().is_terminal() };
    let result = app.live(stall, files);
    app.end()?;
    result
}

/// The running child; dropping it kills the process.
struct App {
    child: Child,
    /// Whether progress is printed.
    prints_progress: bool,
}

impl App {
    fn live(&mut self, stall: f64, files: &Files) -> anyhow::Result<()> {
        self.say(format_args!("process {} started; its main thread draws frames", self.child.id()));
        let mut log = Log::open(&files.log, "parent")?;
        if stall <= 0.0 {
            sleep(NORMAL_LIFE);
            log.note('I', "SIGKILL", || self.child.kill())?;
            return Ok(());
        }
        let since = self.wait_for_hang()?;
        self.say(format_args!("its main thread hangs"));
        let until = |age: Duration| {
            let end = since + age.as_nanos() as u64;
            sleep(Duration::from_nanos(end.saturating_sub(boottime())));
        };
        let stall = Duration::from_secs_f64(stall);
        if stall >= ANR_AFTER {
            until(ANR_AFTER + SIGNAL_DELAY);
            let pid = Pid::from_raw(self.child.id() as i32);
            log.note('I', "SIGQUIT", || kill(pid, Signal::SIGQUIT))?;
            self.say(format_args!("hanging for 5 s: SIGQUIT, as Android sends it"));
            // As on Android, the list of processes in error state has this process from now on.
            writeln!(self.child.stdin.as_ref().context("the child's input")?, "{NOT_RESPONDING}")?;
            // The signal must be delivered before the kill, however short the rest of the hang is.
            sleep(Duration::from_millis(100));
        }
        until(stall);
        if let Some(status) = self.child.try_wait()? {
            bail!("the process ended on its own before it was killed ({status})");
        }
        log.note('I', "SIGKILL", || self.child.kill())?;
        self.say(format_args!("killed; the following comes from the file on disk"));
        Ok(())
    }

    /// Waits until the child announces its hang, and returns that time.
    fn wait_for_hang(&mut self) -> anyhow::Result<u64> {
        let output = self.child.stdout.take().context("the child's output")?;
        let (sender, hang) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            let _ = sender.send((read.is_ok() && line.trim() == "pay", boottime()));
        });
        match hang.recv_timeout(START_TIMEOUT) {
            Ok((true, time)) => Ok(time),
            Ok((false, _)) => bail!("the process ended before it could hang; its messages are above"),
            Err(_) => {
                bail!(
                    "the process did not start to hang within {START_TIMEOUT:?}: try again on a less busy machine"
                )
            }
        }
    }

    /// Prints progress, unless `--quiet`.
    fn say(&self, text: std::fmt::Arguments<'_>) {
        if self.prints_progress {
            let _ = writeln!(crate::terminal::stderr(), "{text}");
        }
    }

    fn end(&mut self) -> anyhow::Result<()> {
        // An error here means that the process is dead already.
        let _ = self.child.kill();
        self.child.wait().context("cannot wait for the process that hung")?;
        Ok(())
    }
}
