//! One connection of an adb server: handshake, authorisation, streams.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};

use crate::directory::DeviceDirectory;
use crate::faults::{Auth, Faults};
use crate::link::Link;
use crate::observed::Observed;
use crate::packet::{AUTH, CLSE, CNXN, MAX_PAYLOAD, OKAY, OPEN, Packet, VERSION, WRTE};
use crate::services;
use crate::stream::{Acks, Stream};

const TOKEN: u32 = 1;
const SIGNATURE: u32 = 2;
const PUBLIC_KEY: u32 = 3;

struct Open {
    incoming: mpsc::Sender<Vec<u8>>,
    acks: Arc<Acks>,
}

/// Serves until the connection closes.
pub(crate) fn serve(
    files: &Arc<DeviceDirectory>,
    faults: Faults,
    observed: &Arc<Observed>,
    socket: &TcpStream,
) {
    // With Nagle's algorithm each small packet would wait for the answer to the previous one.
    let _ = socket.set_nodelay(true);
    let mut open = HashMap::new();
    let _ = serve_until_error(files, faults, observed, socket, &mut open);
    for (_, stream) in open {
        let stream: Open = stream;
        stream.acks.close();
    }
    let _ = socket.shutdown(Shutdown::Both);
}

fn serve_until_error(
    files: &Arc<DeviceDirectory>,
    faults: Faults,
    observed: &Arc<Observed>,
    socket: &TcpStream,
    open: &mut HashMap<u32, Open>,
) -> io::Result<()> {
    let link = Link::new(socket.try_clone()?, faults, Arc::clone(observed));
    let mut reader = io::BufReader::new(socket.try_clone()?);
    let mut next_id = 1;
    let mut uploaded = 0_u64;
    loop {
        let packet = Packet::read(&mut reader)?;
        match packet.command {
            CNXN if faults.auth == Auth::Open => greet(&link, files, faults)?,
            // Any 20 bytes. A real device sends random ones, so that a signature is valid only once.
            CNXN => link.send(AUTH, TOKEN, 0, b"twenty bytes of luck")?,
            // Every signature is rejected, so that the host sends its public key next.
            AUTH if packet.arg0 == SIGNATURE => link.send(AUTH, TOKEN, 0, b"twenty bytes of luck")?,
            AUTH if packet.arg0 == PUBLIC_KEY && faults.auth == Auth::Consent => greet(&link, files, faults)?,
            AUTH => {}
            OPEN => {
                let id = next_id;
                next_id += 1;
                let name = String::from_utf8_lossy(&packet.payload);
                let name = name.trim_end_matches('\0').to_owned();
                if !services::known(&name, faults) {
                    link.send(CLSE, 0, packet.arg0, &[])?;
                    continue;
                }
                observed.open(&name);
                let (incoming, receiver) = mpsc::channel();
                let acks = Arc::new(Acks::default());
                open.insert(id, Open { incoming, acks: Arc::clone(&acks) });
                link.send(OKAY, id, packet.arg0, &[])?;
                let stream = Stream::new(link.clone(), id, packet.arg0, receiver, acks);
                let files = Arc::clone(files);
                std::thread::spawn(move || services::run(&files, &name, stream));
            }
            OKAY => {
                if let Some(stream) = open.get(&packet.arg1) {
                    stream.acks.arrived();
                }
            }
            WRTE => {
                uploaded += packet.payload.len() as u64;
                if faults.cut_upload_after > 0 && uploaded > faults.cut_upload_after {
                    observed.cuts.fetch_add(1, Ordering::SeqCst);
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                match open.get(&packet.arg1) {
                    // A service that has stopped reading closes its stream soon.
                    Some(stream) => drop(stream.incoming.send(packet.payload)),
                    None => link.send(CLSE, 0, packet.arg0, &[])?,
                }
            }
            CLSE => {
                if let Some(stream) = open.remove(&packet.arg1) {
                    stream.acks.close();
                }
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an unknown command")),
        }
    }
}

fn greet(link: &Link, files: &DeviceDirectory, faults: Faults) -> io::Result<()> {
    let features = match faults {
        Faults { old_shell: true, .. } => "",
        Faults { no_abb: true, .. } => "shell_v2,cmd",
        _ => "shell_v2,cmd,abb_exec",
    };
    let name = files.name();
    let banner = format!(
        "device::ro.product.name={name};ro.product.model={name};ro.product.device={name};features={features}"
    );
    link.send(CNXN, VERSION, MAX_PAYLOAD, banner.as_bytes())
}
