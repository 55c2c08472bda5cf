//! A trace of the whole system beside the app's recording, by the device's own perfetto.

use std::io;
use std::time::{Duration, SystemTime};

use crate::app::App;
use crate::connection::{Patience, Stop};
use crate::device::Device;
use crate::error::{Error, Fault};
use crate::quote::quote;

/// Where the shell may have perfetto write.
const FOLDER: &str = "misc/perfetto-traces";

/// The longest trace that is taken, bytes; the device is asked for a ring of 64 MiB.
const MOST: u64 = 1 << 30;

/// A trace that is being taken. Dropped, it is ended and removed.
#[derive(Debug)]
pub struct SystemTrace {
    device: Device,
    name: String,
    pid: u32,
}

impl SystemTrace {
    /// Begins one: scheduling, the system's own slices and those of the app.
    ///
    /// # Errors
    /// If the device has no perfetto (before Android 9), or it refuses.
    pub fn start(app: &App) -> Result<Self, Error> {
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let name = format!("anrscope-{:x}-{now:x}.pftrace", std::process::id());
        let command = format!(
            "printf %s {} | perfetto --txt -c - --background -o \"${{ANDROID_DATA:-/data}}/{FOLDER}/{name}\"",
            quote(&config(app.package()))
        );
        let output = app.device().shell(&command)?;
        let pid = output.stdout.split_whitespace().last().and_then(|word| word.parse().ok());
        match pid {
            Some(pid) if output.code == 0 => {
                // It has to end whatever becomes of this program's own waits.
                let patience = Patience { stop: Stop::default(), ..app.device().server().patience().clone() };
                Ok(Self { device: app.device().with_patience(patience), name, pid })
            }
            _ => Err(Error::Command {
                doing: "starting perfetto".into(),
                code: output.code,
                said: format!("{} (it is there from Android 9 on)", output.said()),
            }),
        }
    }

    /// Ends it and hands its bytes to `sink`; nothing stays on the device.
    ///
    /// # Errors
    /// If it does not end, or the connection breaks, or `sink` fails.
    pub fn finish(self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), Error> {
        self.end()?;
        let path = format!("/data/{FOLDER}/{}", self.name);
        let mut came = 0;
        let sink = &mut |bytes: &[u8]| {
            came += bytes.len() as u64;
            if came > MOST {
                return Err(io::Error::other("more than 1 GiB came, which no trace that was asked for has"));
            }
            sink(bytes)
        };
        self.device
            .files()?
            .receive(&path, sink)
            .map_err(|fault| self.device.server().told(format!("reading the system's trace {path}"), fault))
    }

    fn end(&self) -> Result<(), Error> {
        let pid = self.pid;
        // perfetto writes what it has when it is asked to end; that takes as long as the trace is large.
        let script = format!(
            "kill -TERM {pid} 2>/dev/null; n=0; while kill -0 {pid} 2>/dev/null && [ $n -lt 60 ]; do sleep 1; \
             echo; n=$((n + 1)); done; ! kill -0 {pid} 2>/dev/null"
        );
        let output = self.device.shell(&script)?;
        if output.code == 0 {
            return Ok(());
        }
        let fault = Fault::TimedOut(Duration::from_secs(60));
        Err(Error::Link { doing: format!("waiting for perfetto (pid {pid}) to end"), fault })
    }
}

impl Drop for SystemTrace {
    fn drop(&mut self) {
        let command = format!(
            "kill -TERM {} 2>/dev/null; rm -f \"${{ANDROID_DATA:-/data}}/{FOLDER}/{}\"",
            self.pid, self.name
        );
        // The system empties that folder by itself in time.
        let _ = self.device.shell_again(&command);
    }
}

/// The package's name is plain, so it needs no escapes.
fn config(package: &str) -> String {
    format!(
        "buffers {{ size_kb: 65536 fill_policy: RING_BUFFER }}
data_sources {{ config {{ name: \"linux.ftrace\" ftrace_config {{
  ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\" ftrace_events: \"sched/sched_blocked_reason\"
  atrace_categories: \"am\" atrace_categories: \"wm\" atrace_categories: \"view\" atrace_categories: \"gfx\"
  atrace_categories: \"input\" atrace_categories: \"binder_driver\" atrace_categories: \"dalvik\"
  atrace_apps: \"{package}\" }} }} }}
data_sources {{ config {{ name: \"linux.process_stats\" process_stats_config {{ scan_all_processes_on_start: true }} }} }}
data_sources {{ config {{ name: \"android.surfaceflinger.frametimeline\" }} }}
data_sources {{ config {{ name: \"android.packages_list\" }} }}
"
    )
}
