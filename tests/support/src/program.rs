//! Runs the program.

use std::ffi::OsStr;
use std::process::{Command, Output};

/// The program, in an environment that says nothing about Java.
pub fn command() -> Command {
    let mut command = Command::new(crate::built().join("anrscope"));
    for variable in ["CLASSPATH", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(variable);
    }
    with_default_signals(&mut command);
    command
}

/// Background jobs of a script inherit an ignored SIGINT and SIGQUIT, and the program would leave them ignored.
#[cfg(target_os = "linux")]
pub fn with_default_signals(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    let reset = || {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: signal(2) may be called between fork and exec, and the default action is valid for each.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the closure only calls signal(2): no lock, no allocation.
    unsafe { command.pre_exec(reset) };
}

#[cfg(not(target_os = "linux"))]
pub fn with_default_signals(_: &mut Command) {}

/// The output and exit code of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Shown {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs it with `arguments`.
pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Shown {
    command().args(arguments).output().unwrap().into()
}

impl Shown {
    /// Asserts success, and only these messages on stderr.
    #[track_caller]
    pub fn ok(self, stderr: &[&str]) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        for text in stderr {
            assert!(self.stderr.contains(text), "{text:?} is not in {self:?}");
        }
        assert!(!stderr.is_empty() || self.stderr.is_empty(), "{self:?}");
        self.stdout
    }

    /// Asserts an error with this exit code and all of `stderr`, and nothing on stdout.
    #[track_caller]
    pub fn failed(self, code: i32, stderr: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for text in stderr {
            assert!(self.stderr.contains(text), "{text:?} is not in {}", self.stderr);
        }
    }
}
