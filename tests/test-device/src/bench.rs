//! An adb server for one test, run with the real program.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::daemon::Daemon;

/// A server of the real adb with its own port and keys; stopped when dropped.
#[derive(Debug)]
pub struct AdbServer {
    port: u16,
    home: PathBuf,
}

impl AdbServer {
    /// Starts a server that keeps its files in `home`.
    ///
    /// # Panics
    /// If there is no adb on `PATH`: `scripts/install-test-needs` installs it.
    #[must_use]
    pub fn start(home: &Path) -> Self {
        let server = Self::planned(home);
        let output = server.adb(&["start-server"]);
        assert!(output.status.success(), "adb start-server: {output:?}");
        server
    }

    /// Reserves a port for a server that the test may start; it is stopped when dropped.
    ///
    /// # Panics
    /// If no port is free or `home` cannot be created.
    #[must_use]
    pub fn planned(home: &Path) -> Self {
        std::fs::create_dir_all(home).expect("a directory for adb's keys");
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Below the ephemeral ports, so that no other process takes it before the server does.
        let mut candidates = std::iter::repeat_with(|| {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            20_000 + (std::process::id().wrapping_mul(37).wrapping_add(n * 101) % 10_000) as u16
        });
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let port = candidates.by_ref().take(1_000).find(is_free).expect("a free port");
        Self { port, home: home.to_owned() }
    }

    /// Returns its port, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the environment variables that point programs to this server and to no other device.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("ANDROID_ADB_SERVER_PORT", self.port.to_string().into()),
            ("HOME", self.home.clone().into()),
            ("TMPDIR", self.home.clone().into()),
            // Emulators may belong to other tests, so the server must not search for them.
            ("ADB_LOCAL_TRANSPORT_MAX_PORT", "5553".into()),
        ]
    }

    /// Runs the real adb.
    ///
    /// # Panics
    /// If it cannot be run.
    pub fn adb(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("adb");
        command.args(arguments).stdin(Stdio::null()).envs(self.environment());
        for variable in ["ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "ANDROID_SERIAL", "ADB_TRACE"] {
            command.env_remove(variable);
        }
        command.output().expect("adb on PATH: scripts/install-test-needs installs it")
    }

    /// Connects to a device and returns its serial.
    ///
    /// # Panics
    /// If adb cannot connect.
    pub fn connect(&self, device: &Daemon) -> String {
        let serial = format!("127.0.0.1:{}", device.port());
        // On a busy machine this may take longer than adb waits.
        let mut printed = String::new();
        for _ in 0..5 {
            let output = self.adb(&["connect", &serial]);
            printed = String::from_utf8_lossy(&output.stdout).into_owned();
            if printed.contains("connected to") || printed.contains("authenticate") {
                return serial;
            }
        }
        panic!("adb connect {serial}: {printed}");
    }
}

impl Drop for AdbServer {
    fn drop(&mut self) {
        let _ = Command::new("adb").arg("kill-server").envs(self.environment()).output();
    }
}
