//! One connection of an adb server: greeting, consent, streams.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::daemon::{Auth, Faults, Shared};
use crate::packet::{AUTH, CLSE, CNXN, MAX_PAYLOAD, OKAY, OPEN, Packet, VERSION, WRTE};
use crate::services;
use crate::stream::{Acks, Stream};

const TOKEN: u32 = 1;
const SIGNATURE: u32 = 2;
const PUBLIC_KEY: u32 = 3;

/// Where packets to the machine go, one at a time.
#[derive(Clone)]
pub(crate) struct Link {
    socket: Arc<Mutex<Socket>>,
}

struct Socket {
    stream: TcpStream,
    /// Bytes that may still go out; `None` without end.
    left: Option<u64>,
    faults: Faults,
    shared: Arc<Shared>,
}

impl Link {
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
            socket.shared.cuts.fetch_add(1, Ordering::SeqCst);
        }
        let _ = socket.stream.shutdown(Shutdown::Both);
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

struct Open {
    incoming: mpsc::Sender<Vec<u8>>,
    acks: Arc<Acks>,
}

/// Serves until the connection ends.
pub(crate) fn serve(shared: &Arc<Shared>, socket: &TcpStream) {
    // Without this each small packet waits for the answer to the one before.
    let _ = socket.set_nodelay(true);
    let mut open = HashMap::new();
    let _ = serve_until_error(shared, socket, &mut open);
    for (_, stream) in open {
        let stream: Open = stream;
        stream.acks.close();
    }
    let _ = socket.shutdown(Shutdown::Both);
}

fn serve_until_error(
    shared: &Arc<Shared>,
    socket: &TcpStream,
    open: &mut HashMap<u32, Open>,
) -> io::Result<()> {
    let faults = shared.faults();
    let left = Some(faults.cut_after).filter(|bytes| *bytes > 0);
    let link = Link {
        socket: Arc::new(Mutex::new(Socket {
            stream: socket.try_clone()?,
            left,
            faults,
            shared: Arc::clone(shared),
        })),
    };
    let mut reader = io::BufReader::new(socket.try_clone()?);
    let mut next_id = 1;
    loop {
        let packet = Packet::read(&mut reader)?;
        match packet.command {
            CNXN if faults.auth == Auth::Open => greet(&link, shared, faults)?,
            // Any 20 bytes; real ones are random, so that a signature serves once.
            CNXN => link.send(AUTH, TOKEN, 0, b"twenty bytes of luck")?,
            // No signature is known here: the machine shows its key next.
            AUTH if packet.arg0 == SIGNATURE => link.send(AUTH, TOKEN, 0, b"twenty bytes of luck")?,
            AUTH if packet.arg0 == PUBLIC_KEY && faults.auth == Auth::Consent => {
                greet(&link, shared, faults)?
            }
            AUTH => {}
            OPEN => {
                let id = next_id;
                next_id += 1;
                let name = String::from_utf8_lossy(&packet.payload);
                let name = name.trim_end_matches('\0').to_owned();
                if !services::known(&name, faults.old_shell) {
                    link.send(CLSE, 0, packet.arg0, &[])?;
                    continue;
                }
                let (incoming, receiver) = mpsc::channel();
                let acks = Arc::new(Acks::default());
                open.insert(id, Open { incoming, acks: Arc::clone(&acks) });
                link.send(OKAY, id, packet.arg0, &[])?;
                let stream = Stream::new(link.clone(), id, packet.arg0, receiver, acks);
                let shared = Arc::clone(shared);
                std::thread::spawn(move || services::run(&shared, &name, stream));
            }
            OKAY => {
                if let Some(stream) = open.get(&packet.arg1) {
                    stream.acks.arrived();
                }
            }
            WRTE => match open.get(&packet.arg1) {
                // A service that reads no more: the stream closes soon.
                Some(stream) => drop(stream.incoming.send(packet.payload)),
                None => link.send(CLSE, 0, packet.arg0, &[])?,
            },
            CLSE => {
                if let Some(stream) = open.remove(&packet.arg1) {
                    stream.acks.close();
                }
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an unknown command")),
        }
    }
}

fn greet(link: &Link, shared: &Shared, faults: Faults) -> io::Result<()> {
    let shell = if faults.old_shell { "cmd" } else { "shell_v2,cmd" };
    let name = shared.folder.name();
    let banner = format!(
        "device::ro.product.name={name};ro.product.model={name};ro.product.device={name};features={shell}"
    );
    link.send(CNXN, VERSION, MAX_PAYLOAD, banner.as_bytes())
}
