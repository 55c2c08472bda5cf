//! A process of this machine that stands for an app's.

use std::process::{Child, Command};

/// A process that runs until it is dropped.
#[derive(Debug)]
pub struct RunningProcess(Child);

impl RunningProcess {
    /// Starts one.
    ///
    /// # Panics
    /// If there is no `sleep` on `PATH`.
    #[must_use]
    pub fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().expect("sleep starts"))
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
