//! The daemon: it listens, and holds the state that its connections share.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::connection;
use crate::directory::DeviceDirectory;
use crate::faults::Faults;
use crate::observed::Observed;

/// A fake device that listens until it is dropped.
#[derive(Debug)]
pub struct Daemon {
    port: u16,
    shared: Arc<Shared>,
    listener: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    files: Arc<DeviceDirectory>,
    faults: Faults,
    stop: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    observed: Arc<Observed>,
}

impl Daemon {
    /// Starts a device with these files on `port` of 127.0.0.1; 0 means any port.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn start(files: DeviceDirectory, faults: Faults, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            files: Arc::new(files),
            faults,
            stop: AtomicBool::new(false),
            connections: Mutex::default(),
            observed: Arc::default(),
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
                // The host notices when the connection closes.
                std::thread::spawn(move || {
                    connection::serve(&shared.files, shared.faults, &shared.observed, &stream);
                });
            }
        })?;
        Ok(Self { port, shared, listener: Some(listener) })
    }

    /// Returns its port, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the directory with its files.
    #[must_use]
    pub fn directory(&self) -> &DeviceDirectory {
        &self.shared.files
    }

    /// Returns the number of connections closed because of [`Faults::cut_after`] or [`Faults::cut_upload_after`].
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.shared.observed.cuts.load(Ordering::SeqCst)
    }

    /// Returns the services that the host opened on all connections, in order.
    #[must_use]
    pub fn opened(&self) -> Vec<String> {
        self.shared.observed.opened()
    }

    /// Stops listening and closes every connection. The files stay.
    pub fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the listener.
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
