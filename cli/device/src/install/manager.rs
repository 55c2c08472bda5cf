//! The package manager behind adb's services: a command, an APK on its standard input, and an answer.

use std::io::{Read, Write};
use std::time::Duration;

use crate::connection::{Connection, Stop, Timeouts};
use crate::device::Device;
use crate::error::{Error, Fault};
use crate::install::apk::Apk;
use crate::install_answer::InstallAnswer;
use crate::quote::quote;
use crate::shell::MAX_TEXT;
use crate::wire;

/// The bytes of a file that are read and sent at once.
const PIECE: usize = 64 << 10;

/// How commands reach the package manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transport {
    /// The `abb_exec` service, whose words are separated by zero bytes (adb client/commandline.h).
    Abb,
    /// The program `cmd`, which calls the system service in its own process.
    Cmd,
    /// The program `pm`, a Java program of its own.
    Pm,
}

/// The package manager of a device.
#[derive(Debug)]
pub(super) struct PackageManager<'a> {
    pub(super) device: &'a Device,
    transport: Transport,
    wait: Duration,
}

/// Returns a handle of the device for commands that may be silent for long.
pub(super) fn patient(device: &Device, wait: Duration) -> Device {
    device.with_timeouts(Timeouts { read: wait, ..device.server().timeouts().clone() })
}

impl<'a> PackageManager<'a> {
    /// `wait` is the longest time in which it may be silent.
    pub(super) fn new(device: &'a Device, wait: Duration) -> Self {
        let transport = match (device.has_feature("abb_exec"), device.has_feature("cmd")) {
            (true, _) => Transport::Abb,
            (_, true) => Transport::Cmd,
            _ => Transport::Pm,
        };
        Self { device, transport, wait }
    }

    /// Returns whether `install` reads an APK from its standard input. `install-write` always does.
    pub(super) fn streams_one(&self) -> bool {
        self.transport != Transport::Pm
    }

    fn service(&self, words: &[String]) -> String {
        let quoted = || words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        match self.transport {
            Transport::Abb => format!("abb_exec:package\0{}", words.join("\0")),
            Transport::Cmd => format!("exec:cmd package {}", quoted()),
            Transport::Pm => format!("exec:pm {}", quoted()),
        }
    }

    fn open(&self, words: &[String]) -> Result<Connection, Error> {
        let mut connection = self.device.open_service(&self.service(words))?;
        connection.set_timeout(self.wait);
        Ok(connection)
    }

    /// Runs a command. `doing` completes "while it ...", for errors.
    pub(super) fn run(&self, words: &[String], doing: &str) -> Result<InstallAnswer, Error> {
        let mut connection = self.open(words)?;
        let mut answer = Vec::new();
        read_to_end(&mut connection, &mut answer).map_err(|fault| self.error(doing, fault))?;
        self.parse(&answer, doing)
    }

    /// Runs a command that reads an APK, and sends it. `sent` gets the number of bytes after each piece.
    pub(super) fn send(
        &self,
        words: &[String],
        apk: &Apk,
        sent: &mut dyn FnMut(u64),
    ) -> Result<InstallAnswer, Error> {
        let mut content = apk.open()?;
        let mut connection = self.open(words)?;
        let (mut answer, mut done) = (Vec::new(), 0_u64);
        let mut buffer = vec![0; PIECE];
        let receiving = |done: u64| format!("it received {} ({} sent)", apk.name, share(done, apk.size));
        let broken = loop {
            let n = content.next(&mut buffer)?;
            let Some(piece) = buffer.get(..n).filter(|piece| !piece.is_empty()) else { break None };
            match connection.write_all(piece).map_err(wire::fault) {
                Ok(()) => {}
                Err(fault @ (Fault::Interrupted | Fault::TimedOut(_))) => {
                    return Err(self.error(&receiving(done), fault));
                }
                Err(fault) => break Some(fault),
            }
            done = done.saturating_add(n as u64);
            sent(done);
            // A device that refuses at once answers before it has everything, and reads no more.
            match connection.read_available(&mut buffer) {
                Ok(None) => {}
                Ok(Some(0)) if done < apk.size => break Some(Fault::Ended),
                Ok(Some(n)) => keep(&mut answer, buffer.get(..n).unwrap_or_default())
                    .map_err(|fault| self.error(&receiving(done), fault))?,
                Err(error) => break Some(wire::fault(error)),
            }
        };
        let doing = if done == apk.size { "it installed the app".to_owned() } else { receiving(done) };
        // What a broken connection has brought before may be the reason.
        let ended = read_to_end(&mut connection, &mut answer);
        match (broken, ended) {
            (_, Err(fault @ (Fault::Malformed(_) | Fault::Interrupted | Fault::TimedOut(_)))) => {
                Err(self.error(&doing, fault))
            }
            (Some(fault), _) | (None, Err(fault)) if answer.trim_ascii().is_empty() => {
                Err(self.error(&doing, fault))
            }
            _ => self.parse(&answer, &doing),
        }
    }

    fn parse(&self, answer: &[u8], doing: &str) -> Result<InstallAnswer, Error> {
        // The package manager always answers, so that silence means that the connection is gone.
        if answer.trim_ascii().is_empty() {
            return Err(self.error(doing, Fault::Ended));
        }
        Ok(InstallAnswer::parse(&String::from_utf8_lossy(answer)))
    }

    fn error(&self, doing: &str, fault: Fault) -> Error {
        match fault {
            Fault::Malformed(_) => {
                Error::too_much(&format!("device {}, while {doing}", self.device.serial()), MAX_TEXT)
            }
            fault => broken(self.device, self.wait, doing, fault),
        }
    }
}

/// The error of a connection that failed while the device did what `doing` says.
pub(super) fn broken(device: &Device, wait: Duration, doing: &str, fault: Fault) -> Error {
    let serial = device.serial();
    match fault {
        Fault::Ended | Fault::Io(_) => {
            let cure = "check the cable and `adb devices`, then run the same command again";
            let found = format!("device {serial} disconnected, or closed the connection, while {doing}");
            Error::unreachable(found, cure)
        }
        Fault::TimedOut(_) => Error::link(format!("device {serial}, while {doing}"), Fault::TimedOut(wait)),
        fault => Error::link(format!("device {serial}, while {doing}"), fault),
    }
}

/// The longest time that cleaning up on the device takes.
pub(super) const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Cleans up on a device that may have gone away, even after Ctrl-C.
pub(super) fn clean_up<T>(
    device: &Device,
    act: impl FnOnce(&Device) -> Result<T, Error>,
) -> Result<T, Error> {
    let stop = Stop::default();
    let device = device.with_timeouts(Timeouts { read: CLEANUP_TIMEOUT, reconnect: CLEANUP_TIMEOUT, stop });
    device.server().wait_for(device.serial())?;
    act(&device)
}

/// `12.0 of 34.5 MiB`.
pub(super) fn share(done: u64, total: u64) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!("{:.1} of {:.1} MiB", mib(done), mib(total))
}

/// Appends to an answer. An answer that is too long is the only malformed one.
fn keep(answer: &mut Vec<u8>, piece: &[u8]) -> Result<(), Fault> {
    if answer.len().saturating_add(piece.len()) > MAX_TEXT {
        return Err(Fault::Malformed("an answer of more than 1 MiB"));
    }
    answer.extend_from_slice(piece);
    Ok(())
}

fn read_to_end(connection: &mut Connection, answer: &mut Vec<u8>) -> Result<(), Fault> {
    let mut buffer = vec![0; PIECE];
    loop {
        match connection.read(&mut buffer).map_err(wire::fault)? {
            0 => return Ok(()),
            n => keep(answer, buffer.get(..n).unwrap_or_default())?,
        }
    }
}
