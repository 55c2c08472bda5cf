//! Answers of an adb server and a device. The first byte chooses the protocol; the rest is the answer.
#![no_main]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::LazyLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use device::{InstallAnswer, Server, ShellPacket, ShellReader, Sync, Timeouts};
use test_device::Packet;

/// A fake connection that gives the same answer to any request.
struct FakeConnection<'a>(&'a [u8]);

impl Read for FakeConnection<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for FakeConnection<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A fake server on a socket, which gives the next client the answer that is sent here.
static SERVER: LazyLock<(Server, SyncSender<Vec<u8>>)> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let (say, said) = sync_channel::<Vec<u8>>(1);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream): io::Result<TcpStream> = stream else { continue };
            let Ok(bytes) = said.recv() else { return };
            // The client may have closed the connection already.
            let _ = stream.write_all(&bytes);
        }
    });
    let environment = |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.clone());
    let timeouts =
        Timeouts { read: Duration::from_secs(20), reconnect: Duration::ZERO, stop: device::Stop::default() };
    (Server::from_environment(&environment, timeouts).expect("a port"), say)
});

/// Asks [`SERVER`], which answers `bytes`.
fn asked<T>(bytes: &[u8], ask: impl FnOnce(&Server) -> T) -> T {
    let (server, say) = &*SERVER;
    say.send(bytes.to_vec()).expect("the server listens");
    ask(server)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::bounded(bytes.len(), 64, || {
    let Some((who, said)) = bytes.split_first() else { return };
    match who % 9 {
        0..=2 => {
            let mut got = 0;
            let _ = Sync::new(FakeConnection(said)).receive("/a", &mut |piece| {
                got += piece.len();
                Ok(())
            });
            assert!(got <= said.len());
        }
        3 => drop(Sync::new(FakeConnection(said)).send("/a", 0o644, &mut &b"abc"[..])),
        4 => {
            let mut reader = ShellReader::new(said);
            let mut got = 0;
            while let Ok(packet) = reader.read() {
                match packet {
                    ShellPacket::Stdout(piece) | ShellPacket::Stderr(piece) => got += piece.len(),
                    ShellPacket::Exit(_) => break,
                }
            }
            assert!(got <= said.len());
        }
        5 => {
            let mut rest = said;
            while let Ok(packet) = Packet::read(&mut rest) {
                assert!(packet.payload().len() <= said.len());
            }
        }
        6 => {
            if let Ok(devices) = asked(said, Server::devices) {
                assert!(devices.iter().all(|listed| !listed.serial.is_empty() && !listed.state.is_empty()));
            }
        }
        7 => drop(asked(said, Server::version)),
        _ => {
            let text = String::from_utf8_lossy(said);
            if let InstallAnswer::Failure(failure) = InstallAnswer::parse(&text) {
                assert!(text.contains(failure.text()));
                let plain = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
                assert!(failure.package().is_none_or(|package| package.chars().all(plain)));
                let _ = failure.cure();
            }
        }
    }
}));
