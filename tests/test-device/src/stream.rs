//! One stream of a connection, as a reader and a writer.

use std::io::{self, Read, Write};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::link::Link;
use crate::packet::{CLSE, OKAY, WRTE};

/// The most bytes of one packet.
const MAX_PIECE: usize = 16 << 10;

/// The acknowledgements of the other side, which must precede the next packet.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived: u64,
    closed: bool,
}

impl Acks {
    pub(crate) fn arrived(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).arrived += 1;
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }

    fn wait(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if state.arrived > 0 {
                state.arrived -= 1;
                return Ok(());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The reading half.
pub(crate) struct Input {
    link: Link,
    id: u32,
    remote: u32,
    incoming: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    at: usize,
}

/// The writing half.
pub(crate) struct Output {
    link: Link,
    id: u32,
    remote: u32,
    acks: Arc<Acks>,
}

/// Both halves.
pub(crate) struct Stream {
    pub(crate) input: Input,
    pub(crate) output: Output,
}

impl Stream {
    pub(crate) fn new(
        link: Link,
        id: u32,
        remote: u32,
        incoming: Receiver<Vec<u8>>,
        acks: Arc<Acks>,
    ) -> Self {
        let input = Input { link: link.clone(), id, remote, incoming, rest: Vec::new(), at: 0 };
        Self { input, output: Output { link, id, remote, acks } }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rest.len() {
            let Ok(next) = self.incoming.recv() else { return Ok(0) };
            self.link.send(OKAY, self.id, self.remote, &[])?;
            (self.rest, self.at) = (next, 0);
        }
        let n = buffer.len().min(self.rest.len() - self.at);
        buffer[..n].copy_from_slice(&self.rest[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(MAX_PIECE)];
        self.link.send(WRTE, self.id, self.remote, piece)?;
        self.acks.wait()?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    /// Closes the stream.
    pub(crate) fn close(&self) {
        // If the connection is closed, the other side knows already.
        let _ = self.link.send(CLSE, self.id, self.remote, &[]);
    }
}
