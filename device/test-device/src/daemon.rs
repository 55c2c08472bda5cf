//! Listens, and says how the device behaves.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::connection;
use crate::folder::Folder;

/// Whether the device's owner lets this machine in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Auth {
    /// Nobody is asked.
    #[default]
    Open,
    /// The owner says yes to the key of this machine when it is shown.
    Consent,
    /// The owner never answers: the device stays `unauthorized`.
    NoAnswer,
}

/// What is wrong with the device or its link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Who is let in.
    pub auth: Auth,
    /// Bytes that a connection carries to the machine before it is cut; 0 is no cut.
    pub cut_after: u64,
    /// How long each packet to the machine takes.
    pub slow: Duration,
    /// Without version 2 of the shell, as before Android 7: one stream and no exit code.
    pub old_shell: bool,
}

/// A device that listens until it is dropped.
#[derive(Debug)]
pub struct Daemon {
    port: u16,
    shared: Arc<Shared>,
    listener: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) folder: Folder,
    faults: Mutex<Faults>,
    stop: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    /// How many connections were cut on purpose.
    pub(crate) cuts: AtomicU64,
}

impl Shared {
    pub(crate) fn faults(&self) -> Faults {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Daemon {
    /// Plays the device in `folder` on `port` of 127.0.0.1; 0 is any.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn start(folder: Folder, faults: Faults, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            folder,
            faults: Mutex::new(faults),
            stop: AtomicBool::new(false),
            connections: Mutex::default(),
            cuts: AtomicU64::new(0),
        });
        let of_thread = Arc::clone(&shared);
        let listener = std::thread::Builder::new().name("adbd".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if of_thread.stop.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(copy) = stream.try_clone() {
                    let mut connections =
                        of_thread.connections.lock().unwrap_or_else(PoisonError::into_inner);
                    connections.push(copy);
                }
                let shared = Arc::clone(&of_thread);
                // How a connection ends is the other side's to notice.
                std::thread::spawn(move || connection::serve(&shared, &stream));
            }
        })?;
        Ok(Self { port, shared, listener: Some(listener) })
    }

    /// Where it listens, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its files.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.shared.folder
    }

    /// Behaves otherwise from the next connection on.
    pub fn set_faults(&self, faults: Faults) {
        *self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    /// How many connections were cut because of [`Faults::cut_after`].
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// Goes away: cuts every connection and listens no more. The files stay.
    pub fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // So that the listener looks.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let mut connections = self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}
