//! One device that can be used.

use std::io::{self, Read};

use crate::connection::{Connection, Patience};
use crate::error::{Error, Fault};
use crate::server::Server;
use crate::shell::{LONGEST_TEXT, ShellPacket, ShellReader};
use crate::sync::Sync;
use crate::wire;

/// Ends what a command said where the wire carries no exit code: this, the code, a line's end.
const MARK: &str = "anrscope-exit:";

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    server: Server,
    serial: String,
    shell_v2: bool,
}

/// What a command said. Where the device has one stream only (before Android 7), `stdout` holds both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// Its standard output, at most [`LONGEST_TEXT`] bytes.
    pub stdout: String,
    /// The first 64 KiB of its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
}

impl Output {
    /// What it complained of: its standard error, or else its output, on one line.
    #[must_use]
    pub fn said(&self) -> String {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect::<Vec<_>>().join("; ")
    }
}

impl Device {
    /// The device of this serial, or the only one there is.
    ///
    /// # Errors
    /// If it is not there or cannot be used.
    pub fn open(server: &Server, serial: Option<&str>) -> Result<Self, Error> {
        let listed = server.choose(serial)?;
        let features = server.features(&listed.serial)?;
        let shell_v2 = features.split(',').any(|feature| feature.trim() == "shell_v2");
        Ok(Self { server: server.clone(), serial: listed.serial, shell_v2 })
    }

    /// What it is called.
    #[must_use]
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// The server that it is attached to.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Whether its shell tells exit codes and keeps the streams apart, as from Android 7 on.
    #[must_use]
    pub fn has_shell_v2(&self) -> bool {
        self.shell_v2
    }

    /// The same device with other waits.
    #[must_use]
    pub fn with_patience(&self, patience: Patience) -> Self {
        Self { server: self.server.with_patience(patience), ..self.clone() }
    }

    /// Runs a command, once.
    ///
    /// # Errors
    /// If the connection breaks or the answer has no end. A command that fails is no error here.
    pub fn shell(&self, command: &str) -> Result<Output, Error> {
        let mut stdout = Vec::new();
        let doing = || format!("waiting for device {} to run `{}`", self.serial, first_words(command));
        let ended = self.run(command, true, &mut |bytes| {
            if stdout.len() + bytes.len() > LONGEST_TEXT {
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
            stdout.extend_from_slice(bytes);
            Ok(())
        });
        let (code, stderr) = ended.map_err(|fault| match fault {
            Fault::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Error::TooMuch { doing: doing(), limit: LONGEST_TEXT }
            }
            fault => self.server.told(doing(), fault),
        })?;
        Ok(Output { stdout: String::from_utf8_lossy(&stdout).into_owned(), stderr, code })
    }

    /// Runs a command, and once more on a new connection if the one is lost: only for what may be done twice.
    ///
    /// # Errors
    /// If the device does not come back.
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

    /// Runs a command and hands its output to `sink` as it comes; gives its exit code and what it said on its standard
    /// error.
    ///
    /// # Errors
    /// If the connection breaks, or `sink` fails.
    pub fn stream(
        &self,
        command: &str,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(i32, String), Error> {
        self.run(command, false, sink).map_err(|fault| {
            let doing = format!("reading what `{}` says on device {}", first_words(command), self.serial);
            self.server.told(doing, fault)
        })
    }

    fn run(
        &self,
        command: &str,
        with_errors: bool,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(i32, String), Fault> {
        let open = |service: &str| {
            self.server.open(&self.serial, service).map_err(|error| match error {
                Error::Link { fault, .. } => fault,
                other => Fault::Io(io::Error::other(other)),
            })
        };
        if !self.shell_v2 {
            let errors = if with_errors { "2>&1" } else { "2>/dev/null" };
            let marked = format!("{{ {command}\n}} {errors}; echo {MARK}$?");
            return until_mark(open(&format!("exec:{marked}"))?, sink);
        }
        let mut reader = ShellReader::new(open(&format!("shell,v2,raw:{command}"))?);
        // Kind 4, no bytes: its standard input ends at once.
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

    /// Opens its file service.
    ///
    /// # Errors
    /// If the device cannot be reached.
    pub fn files(&self) -> Result<Sync<Connection>, Error> {
        self.server.open(&self.serial, "sync:").map(Sync::new)
    }

    /// A property of the system's; empty if it has none of that name.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn property(&self, name: &str) -> Result<String, Error> {
        Ok(self.shell_again(&format!("getprop {name}"))?.stdout.trim().to_owned())
    }
}

/// Hands on what comes before the mark at the very end.
fn until_mark(
    mut from: impl Read,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<(i32, String), Fault> {
    /// The mark, a code of three digits, and the line's end.
    const TAIL: usize = MARK.len() + 5;
    let mut buffer = vec![0; 64 << 10];
    let mut held = 0;
    loop {
        let n = match from.read(&mut buffer[held..]) {
            Ok(n) => n,
            Err(error) => return Err(wire::fault(error)),
        };
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
    fn an_old_shells_exit_code_is_found_behind_its_output() {
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
        fn output_of_any_bytes_comes_through(bytes in proptest::collection::vec(any::<u8>(), 0..70_000), code in 0..256) {
            let whole = [bytes.as_slice(), format!("{MARK}{code}\n").as_bytes()].concat();
            prop_assert_eq!(marked(&whole).unwrap(), (bytes, code));
        }
    }
}
