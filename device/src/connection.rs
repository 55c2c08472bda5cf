//! A socket whose waits end.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a wait looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(200);

/// Set by whoever wants all work to stop, as Ctrl-C does.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for a signal handler.
    #[must_use]
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Whether it was set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps, unless it is set; says whether it was.
    pub fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.is_set() || left.is_zero() {
                return self.is_set();
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

/// How long is waited, and until when.
#[derive(Clone, Debug)]
pub struct Patience {
    /// How long nothing may come.
    pub silence: Duration,
    /// How long a device may be away before a transfer is given up.
    pub absence: Duration,
    /// Ends every wait.
    pub stop: Stop,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silence: Duration::from_secs(10), absence: Duration::from_secs(30), stop: Stop::default() }
    }
}

/// A connection to the server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    patience: Patience,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, patience: Patience) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK.min(patience.silence.max(Duration::from_millis(1)))))?;
        stream.set_write_timeout(Some(patience.silence.max(Duration::from_millis(1))))?;
        Ok(Self { stream, patience })
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            if self.patience.stop.is_set() {
                return Err(io::Error::other(Interrupt));
            }
            match self.stream.read(buffer) {
                Err(e) if is_timeout(&e) && began.elapsed() < self.patience.silence => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A wait that was stopped, inside of an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupt;

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
