//! A system trace taken with the device's own perfetto beside the app's recording.

use std::io;
use std::time::Duration;

use crate::app::App;
use crate::connection::{Stop, Timeouts};
use crate::device::{Device, unique_name};
use crate::error::{Error, Fault};
use crate::quote::quote;
use crate::sync::Sink;

/// The directory, below `/data`, that perfetto may write to when the shell starts it.
const TRACE_DIRECTORY: &str = "misc/perfetto-traces";

/// The longest trace that is accepted, bytes. The ring buffer requested from the device has 64 MiB.
const MAX_TRACE_BYTES: u64 = 1 << 30;

/// A running system trace. When dropped it is stopped and removed from the device.
#[derive(Debug)]
pub struct SystemTrace {
    device: Device,
    name: String,
    pid: u32,
}

impl SystemTrace {
    /// Starts a trace with scheduling events, the system's atrace categories and the app's slices.
    ///
    /// # Errors
    /// If the device has no perfetto (before Android 9), or perfetto fails.
    pub fn start(app: &App) -> Result<Self, Error> {
        let name = format!("anrscope-{}.pftrace", unique_name());
        let command = format!(
            "printf %s {} | perfetto --txt -c - --background -o \"${{ANDROID_DATA:-/data}}/{TRACE_DIRECTORY}/{name}\"",
            quote(&config(app.package()))
        );
        let output = app.device().shell(&command)?;
        let pid = output.stdout.split_whitespace().last().and_then(|word| word.parse().ok());
        match pid {
            Some(pid) if output.code == 0 => {
                // The trace has to be stopped even after Ctrl-C.
                let timeouts = Timeouts { stop: Stop::default(), ..app.device().server().timeouts().clone() };
                Ok(Self { device: app.device().with_timeouts(timeouts), name, pid })
            }
            _ => {
                let message = format!("{} (perfetto exists since Android 9)", output.message());
                Err(Error::command("starting perfetto", output.code, message))
            }
        }
    }

    /// Stops the trace and passes its bytes to `sink`. No file stays on the device.
    ///
    /// # Errors
    /// If perfetto does not stop, or the connection breaks, or `sink` fails.
    pub fn finish(self, sink: Sink<'_>) -> Result<(), Error> {
        self.end()?;
        let path = format!("/data/{TRACE_DIRECTORY}/{}", self.name);
        let mut came = 0;
        let sink = &mut |bytes: &[u8]| {
            came += bytes.len() as u64;
            if came > MAX_TRACE_BYTES {
                return Err(io::Error::other("the trace is longer than 1 GiB"));
            }
            sink(bytes)
        };
        self.device.files()?.receive(&path, sink).map_err(|fault| {
            self.device.server().link_error(format!("reading the system's trace {path}"), fault)
        })
    }

    fn end(&self) -> Result<(), Error> {
        let pid = self.pid;
        // On SIGTERM perfetto writes its buffers, which takes longer for a larger trace.
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
            "kill -TERM {} 2>/dev/null; rm -f \"${{ANDROID_DATA:-/data}}/{TRACE_DIRECTORY}/{}\"",
            self.pid, self.name
        );
        // The system cleans that directory itself in time.
        let _ = self.device.shell_again(&command);
    }
}

/// Returns perfetto's text configuration. The package name has no characters that need escaping.
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
