//! A socket with timeouts, and the flag that stops all work.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a wait checks the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A flag that stops all work, as set on Ctrl-C.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Returns the flag itself, for a signal handler.
    #[must_use]
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Returns whether it is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps for `time` or until the flag is set; returns whether it is set.
    pub fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.is_set() || left.is_zero() {
                return self.is_set();
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    }
}

/// How long a connection waits.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// The longest time without data from the other side.
    pub read: Duration,
    /// The longest time to wait for a disconnected device to come back.
    pub reconnect: Duration,
    /// Stops every wait when set.
    pub stop: Stop,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { read: Duration::from_secs(10), reconnect: Duration::from_secs(30), stop: Stop::default() }
    }
}

/// A connection to the adb server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    timeouts: Timeouts,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, timeouts: Timeouts) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let poll = POLL_INTERVAL.min(timeouts.read.max(Duration::from_millis(1)));
        stream.set_read_timeout(Some(poll))?;
        stream.set_write_timeout(Some(poll))?;
        Ok(Self { stream, timeouts })
    }

    /// Sets the longest time in which the other side sends nothing, or takes nothing.
    pub(crate) fn set_timeout(&mut self, time: Duration) {
        self.timeouts.read = time;
    }

    /// Reads what has arrived, without waiting; `None` if nothing has, `Some(0)` at the end of the stream.
    pub(crate) fn read_available(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.stream.set_nonblocking(true)?;
        let read = self.stream.read(buffer);
        self.stream.set_nonblocking(false)?;
        match read {
            Ok(n) => Ok(Some(n)),
            Err(e) if is_timeout(&e) || e.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads or writes once the other side is ready: until the timeout, or until the wait is to stop.
    fn again(&mut self, mut act: impl FnMut(&mut TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            if self.timeouts.stop.is_set() {
                return Err(io::Error::other(Interrupt));
            }
            match act(&mut self.stream) {
                Err(e) if is_timeout(&e) && began.elapsed() < self.timeouts.read => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.again(|stream| stream.read(buffer))
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.again(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The payload of the [`io::Error`] of a wait that was stopped.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupt;

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
