//! The parent of the process that hangs: waits, asks for the dump as the system does, and kills.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trace_format::MapId;

use super::child::NOT_RESPONDING;
use super::files::Files;
use super::log::{Log, boottime};

/// When the system loses patience with an input event (AOSP `InputConstants.h`, DISPATCHING_TIMEOUT).
const ANR_AFTER: Duration = Duration::from_secs(5);
/// How much later the signal comes: the system has to notice, on a thread of its own. So main is stuck for all of five
/// seconds when it does, though the hang is told to us a moment before it begins.
const NOTICED_AFTER: Duration = Duration::from_millis(50);
/// How long an app without a hang is watched.
const NORMAL_LIFE: Duration = Duration::from_secs(4);
/// How long the child may take to come to its hang; on an idle machine it takes 2.5 s.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the child to its end and leaves its recording.
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
        .context("cannot start the process that is to hang")?;
    let mut app = App { child, told: !quiet && crate::terminal::stderr().is_terminal() };
    let result = app.live(stall, files);
    app.end()?;
    result
}

/// The running child; it is killed whatever happens to us.
struct App {
    child: Child,
    /// Whether somebody watches.
    told: bool,
}

impl App {
    fn live(&mut self, stall: f64, files: &Files) -> anyhow::Result<()> {
        self.say(format_args!("process {} runs; its main thread draws frames", self.child.id()));
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
            until(ANR_AFTER + NOTICED_AFTER);
            let pid = Pid::from_raw(self.child.id() as i32);
            log.note('I', "SIGQUIT", || kill(pid, Signal::SIGQUIT))?;
            self.say(format_args!("hanging for 5 s: SIGQUIT, as Android sends it"));
            // And as there, whoever asks is told from now on that this process does not respond.
            writeln!(self.child.stdin.as_ref().context("the child's input")?, "{NOT_RESPONDING}")?;
            // The signal must be felt before the kill, however short the rest of the hang is.
            sleep(Duration::from_millis(100));
        }
        until(stall);
        if let Some(status) = self.child.try_wait()? {
            bail!("the process ended by itself before it was killed ({status})");
        }
        log.note('I', "SIGKILL", || self.child.kill())?;
        self.say(format_args!("killed; what follows comes from the file that it left"));
        Ok(())
    }

    /// Waits for the child's word that it is about to hang, and gives the time of it.
    fn wait_for_hang(&mut self) -> anyhow::Result<u64> {
        let output = self.child.stdout.take().context("the child's output")?;
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            let _ = tell.send((read.is_ok() && line.trim() == "pay", boottime()));
        });
        match told.recv_timeout(PATIENCE) {
            Ok((true, time)) => Ok(time),
            Ok((false, _)) => bail!("the process ended before it could hang; its messages are above"),
            Err(_) => {
                bail!("the process did not come to its hang within {PATIENCE:?}; is the machine very busy?")
            }
        }
    }

    /// Progress, for a person who watches.
    fn say(&self, text: std::fmt::Arguments<'_>) {
        if self.told {
            let _ = writeln!(crate::terminal::stderr(), "{text}");
        }
    }

    fn end(&mut self) -> anyhow::Result<()> {
        // An error here says that it is dead already.
        let _ = self.child.kill();
        self.child.wait().context("cannot wait for the process that hung")?;
        Ok(())
    }
}
