//! The link that packets to the host take, with the injected faults.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use crate::faults::Faults;
use crate::observed::Observed;
use crate::packet::Packet;

/// Sends packets to the host, one at a time.
#[derive(Clone)]
pub(crate) struct Link {
    socket: Arc<Mutex<Socket>>,
}

struct Socket {
    stream: TcpStream,
    /// Bytes that may still be sent; `None` for no limit.
    left: Option<u64>,
    faults: Faults,
    observed: Arc<Observed>,
}

impl Link {
    pub(crate) fn new(stream: TcpStream, faults: Faults, observed: Arc<Observed>) -> Self {
        let left = Some(faults.cut_after).filter(|bytes| *bytes > 0);
        Self { socket: Arc::new(Mutex::new(Socket { stream, left, faults, observed })) }
    }

    pub(crate) fn send(&self, command: u32, arg0: u32, arg1: u32, payload: &[u8]) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = Packet::bytes(command, arg0, arg1, payload);
        if !socket.faults.slow.is_zero() {
            std::thread::sleep(socket.faults.slow);
        }
        let Some(left) = socket.left else { return socket.stream.write_all(&bytes) };
        let now = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let written = socket.stream.write_all(&bytes[..now]);
        socket.left = Some(left - now as u64);
        if now == bytes.len() {
            return written;
        }
        if left > 0 || written.is_ok() {
            socket.observed.cuts.fetch_add(1, Ordering::SeqCst);
        }
        let _ = socket.stream.shutdown(Shutdown::Both);
        Err(io::ErrorKind::BrokenPipe.into())
    }
}
