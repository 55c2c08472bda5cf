//! A device that can be used: its shell and its files.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::time::SystemTime;

use crate::connection::{Connection, Timeouts};
use crate::error::{Error, Fault};
use crate::server::Server;
use crate::shell::{MAX_TEXT, ShellPacket, ShellReader};
use crate::sync::{Sink, Sync};
use crate::wire;

/// Marks the end of a command's output where the protocol carries no exit code. The code and a newline follow.
const MARK: &str = "anrscope-exit:";

/// A connected device.
#[derive(Clone, Debug)]
pub struct Device {
    server: Server,
    serial: String,
    /// What both the server and the device support.
    features: BTreeSet<String>,
}

/// The output of a command. On devices with a single stream (before Android 7), `stdout` holds both streams.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// Its standard output, at most [`MAX_TEXT`] bytes.
    pub stdout: String,
    /// The first 64 KiB of its standard error.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
}

impl Output {
    /// Returns its standard error, or else its standard output, on one line.
    #[must_use]
    pub fn message(&self) -> String {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect::<Vec<_>>().join("; ")
    }
}

impl Device {
    /// Opens the device with this serial, or the only one connected.
    ///
    /// # Errors
    /// If it is not connected or cannot be used.
    pub fn open(server: &Server, serial: Option<&str>) -> Result<Self, Error> {
        let listed = server.choose(serial)?;
        let features = server.features(&listed.serial)?;
        let features = features.split(',').map(|feature| feature.trim().to_owned()).collect();
        Ok(Self { server: server.clone(), serial: listed.serial, features })
    }

    /// Returns its serial.
    #[must_use]
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// Returns the server that it is connected to.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns whether the device and the server support a feature of adb's protocol, such as `cmd` or `abb_exec`.
    #[must_use]
    pub fn has_feature(&self, name: &str) -> bool {
        self.features.contains(name)
    }

    /// Returns a handle to the same device with other timeouts.
    #[must_use]
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        Self { server: self.server.with_timeouts(timeouts), ..self.clone() }
    }

    /// Runs a command once.
    ///
    /// # Errors
    /// If the connection breaks or the output is longer than [`MAX_TEXT`]. A failing command is not an error here.
    pub fn shell(&self, command: &str) -> Result<Output, Error> {
        let mut stdout = Vec::new();
        let doing = || format!("waiting for device {} to run `{}`", self.serial, first_words(command));
        let ended = self.run(command, true, &mut |bytes| {
            if stdout.len() + bytes.len() > MAX_TEXT {
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
            stdout.extend_from_slice(bytes);
            Ok(())
        });
        let (code, stderr) = ended.map_err(|fault| match fault {
            Fault::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Error::too_much(&doing(), MAX_TEXT)
            }
            fault => self.server.link_error(doing(), fault),
        })?;
        Ok(Output { stdout: String::from_utf8_lossy(&stdout).into_owned(), stderr, code })
    }

    /// Runs a command, and runs it again if the connection is lost. Use it only for idempotent commands.
    ///
    /// # Errors
    /// If the device does not reconnect.
    pub fn shell_again(&self, command: &str) -> Result<Output, Error> {
        let mut tries = 0;
        loop {
            match self.shell(command) {
                Err(error) if error.is_lost() && tries < 5 => {
                    tries += 1;
                    self.server.wait_for(&self.serial)?;
                }
                other => return other,
            }
        }
    }

    /// Runs a command and passes its output to `sink` as it arrives. Returns its exit code and its standard error.
    ///
    /// # Errors
    /// If the connection breaks, or `sink` fails.
    pub fn stream(&self, command: &str, sink: Sink<'_>) -> Result<(i32, String), Error> {
        self.run(command, false, sink).map_err(|fault| {
            let doing = format!("reading the output of `{}` on device {}", first_words(command), self.serial);
            self.server.link_error(doing, fault)
        })
    }

    fn run(&self, command: &str, with_errors: bool, sink: Sink<'_>) -> Result<(i32, String), Fault> {
        let open = |service: &str| {
            self.server.open(&self.serial, service).map_err(|error| match error {
                Error::Link { fault, .. } => fault,
                other => Fault::Io(io::Error::other(other)),
            })
        };
        if !self.has_feature("shell_v2") {
            let errors = if with_errors { "2>&1" } else { "2>/dev/null" };
            let marked = format!("{{ {command}\n}} {errors}; echo {MARK}$?");
            return until_mark(open(&format!("exec:{marked}"))?, sink);
        }
        let mut reader = ShellReader::new(open(&format!("shell,v2,raw:{command}"))?);
        // Kind 4 without bytes closes its standard input.
        io::Write::write_all(reader.get_mut(), &[4, 0, 0, 0, 0]).map_err(wire::fault)?;
        let mut stderr = Vec::new();
        loop {
            match reader.read()? {
                ShellPacket::Stdout(bytes) => sink(bytes).map_err(Fault::Io)?,
                ShellPacket::Stderr(bytes) => {
                    let room = (64_usize << 10).saturating_sub(stderr.len());
                    stderr.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                ShellPacket::Exit(code) => {
                    return Ok((i32::from(code), String::from_utf8_lossy(&stderr).into_owned()));
                }
            }
        }
    }

    /// Opens a service of the device.
    ///
    /// # Errors
    /// If the device cannot be reached or does not have the service.
    pub(crate) fn open_service(&self, service: &str) -> Result<Connection, Error> {
        self.server.open(&self.serial, service)
    }

    /// Opens its file service, `sync`.
    ///
    /// # Errors
    /// If the device cannot be reached.
    pub fn files(&self) -> Result<Sync<Connection>, Error> {
        self.server.open(&self.serial, "sync:").map(Sync::new)
    }

    /// Returns a system property, or an empty string if it does not exist.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn property(&self, name: &str) -> Result<String, Error> {
        Ok(self.shell_again(&format!("getprop {name}"))?.stdout.trim().to_owned())
    }
}

/// Passes to `sink` what comes before the final mark; returns the exit code and an empty standard error.
fn until_mark(mut from: impl Read, sink: Sink<'_>) -> Result<(i32, String), Fault> {
    /// The mark, a code of three digits, and the line's end.
    const TAIL: usize = MARK.len() + 5;
    let mut buffer = vec![0; 64 << 10];
    let mut held = 0;
    loop {
        let n = from.read(&mut buffer[held..]).map_err(wire::fault)?;
        held += n;
        if n == 0 {
            break;
        }
        let safe = held.saturating_sub(TAIL);
        sink(&buffer[..safe]).map_err(Fault::Io)?;
        buffer.copy_within(safe..held, 0);
        held -= safe;
    }
    let rest = &buffer[..held];
    let at = rest.windows(MARK.len()).rposition(|window| window == MARK.as_bytes());
    let at = at.ok_or(Fault::Ended)?;
    let code = std::str::from_utf8(&rest[at + MARK.len()..]).ok();
    let code = code.and_then(|text| text.strip_suffix('\n')).and_then(|text| text.trim().parse().ok());
    let code = code.ok_or(Fault::Ended)?;
    sink(&rest[..at]).map_err(Fault::Io)?;
    Ok((code, String::new()))
}

/// Makes a part of a file's name that no other file on a device has.
pub(crate) fn unique_name() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    format!("{:x}-{now:x}", std::process::id())
}

fn first_words(command: &str) -> String {
    let short: String = command.chars().take(60).collect();
    if short.len() < command.len() { format!("{}...", short.trim_end()) } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marked(bytes: &[u8]) -> Result<(Vec<u8>, i32), Fault> {
        let mut got = Vec::new();
        let (code, _) = until_mark(bytes, &mut |bytes| {
            got.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok((got, code))
    }

    #[test]
    fn the_exit_code_of_an_old_shell_is_parsed_from_the_end_of_its_output() {
        assert_eq!(marked(b"anrscope-exit:0\n").unwrap(), (vec![], 0));
        let (got, code) = marked(b"anrscope-exit:1\nanrscope-exit:137\n").unwrap();
        assert_eq!((got.as_slice(), code), (&b"anrscope-exit:1\n"[..], 137));
        let whole = b"some output\nanrscope-exit:12\n";
        for length in 0..whole.len() {
            assert!(matches!(marked(&whole[..length]), Err(Fault::Ended)), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_output_passes_unchanged(bytes in proptest::collection::vec(any::<u8>(), 0..70_000), code in 0..256) {
            let whole = [bytes.as_slice(), format!("{MARK}{code}\n").as_bytes()].concat();
            prop_assert_eq!(marked(&whole).unwrap(), (bytes, code));
        }
    }
}
