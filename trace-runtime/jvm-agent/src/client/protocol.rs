//! The handshake, and a command.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::dir::{Dir, PathError, Socket};
use super::target::{AttachError, Target};

/// How long the JVM may take to listen. It creates the socket on its own thread for signals, at once as a rule.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// How long a command may take. Loading an agent runs it.
const ANSWERS_WITHIN: Duration = Duration::from_secs(300);

/// The longest answer to `load` that is read, bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// The longest thread dump that is read, bytes: some 10,000 threads with long stacks.
const MAX_DUMP: u64 = 64 << 20;

fn socket_name(target: &Target) -> OsString {
    format!(".java_pid{}", target.inner_pid()).into()
}

/// The JVM's socket. `None` if it does not listen yet.
fn socket(target: &Target) -> Result<Option<Socket>, PathError> {
    target.tmp()?.socket(&socket_name(target))
}

/// Has the JVM listen on its socket.
fn listen(target: &Target) -> Result<(), AttachError> {
    if socket(target)?.is_some() {
        return Ok(());
    }
    let pid = target.pid();
    if !target.catches_quit {
        return Err(AttachError::NoSignal(pid));
    }
    let request = Request::create(target)?;
    // The file stands before the signal comes: without it, the JVM would print a thread dump.
    let signalled = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGQUIT);
    signalled.map_err(|error| AttachError::Connection(pid, error.into()))?;
    let (begun, mut pause) = (Instant::now(), Duration::from_millis(1));
    while begun.elapsed() < LISTENS_WITHIN {
        if socket(target)?.is_some() {
            return Ok(());
        }
        if !target.is_alive() {
            return Err(AttachError::NoProcess(pid));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
    drop(request);
    Err(AttachError::Silent(pid))
}

/// The file that asks for the socket, removed when dropped.
struct Request {
    directory: Dir,
    name: OsString,
}

impl Request {
    /// The JVM looks into its working directory first, and takes a file only from its own user, which this process runs as.
    fn create(target: &Target) -> Result<Self, PathError> {
        let name = OsString::from(format!(".attach_pid{}", target.inner_pid()));
        if let Ok(directory) = target.working_directory()
            && directory.write(&name).is_ok()
        {
            return Ok(Self { directory, name });
        }
        let directory = target.tmp()?;
        directory.write(&name)?;
        Ok(Self { directory, name })
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.directory.here().join(&self.name));
    }
}

/// The process that listens at the other end; 0 if that is in another pid namespace.
fn peer(stream: &UnixStream) -> Result<i32, Errno> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `stream`, and the kernel writes at most `length` bytes, which is the size of `peer`, of
    // which any content is valid.
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    Errno::result(done).map(|_| peer.pid)
}

/// Sends a command with three arguments, and returns the answer, of at most `most` bytes.
fn ask(target: &Target, command: &str, arguments: [&[u8]; 3], most: u64) -> Result<Vec<u8>, AttachError> {
    listen(target)?;
    let pid = target.pid();
    let failed = |error| AttachError::Connection(pid, error);
    let socket = socket(target)?.ok_or_else(|| failed(Errno::ENOENT.into()))?;
    // The name of its descriptor leads to the socket that was checked, and fits into the 107 bytes that such a name may have.
    let mut stream = UnixStream::connect(socket.here()).map_err(failed)?;
    let peer = peer(&stream).map_err(|error| failed(error.into()))?;
    if peer != pid.cast_signed() {
        let path = Path::new("/tmp").join(socket_name(target));
        return Err(AttachError::OtherPeer(pid, path, peer));
    }
    stream.set_read_timeout(Some(ANSWERS_WITHIN)).map_err(failed)?;
    let mut request = Vec::new();
    for word in [b"1", command.as_bytes()].into_iter().chain(arguments) {
        request.extend_from_slice(word);
        request.push(0);
    }
    stream.write_all(&request).map_err(failed)?;
    let mut answer = Vec::new();
    stream.take(most).read_to_end(&mut answer).map_err(failed)?;
    if answer.is_empty() { Err(AttachError::NoAnswer(pid)) } else { Ok(answer) }
}

impl Target {
    /// Returns the JVM's version, such as 17; `None` if the JVM does not say it in a form that is known.
    ///
    /// # Errors
    /// If the JVM does not listen or answer.
    pub fn version(&self) -> Result<Option<u32>, AttachError> {
        // A path to its `release` file would lead through directories of the target.
        let answer = ask(self, "jcmd", [b"VM.version", b"", b""], MAX_ANSWER)?;
        Ok(parse_version(&String::from_utf8_lossy(&answer)))
    }

    /// Loads the library, unless it is loaded, and calls its `Agent_OnAttach` with these options. The path is one that the
    /// target sees.
    ///
    /// # Errors
    /// If the JVM does not listen, cannot load it, or the agent returns a number other than 0.
    pub fn load(&self, library: &Path, options: &str) -> Result<(), AttachError> {
        let arguments = [library.as_os_str().as_bytes(), b"true", options.as_bytes()];
        let answer = ask(self, "load", arguments, MAX_ANSWER)?;
        parse(self.pid(), &String::from_utf8_lossy(&answer))
    }

    /// Returns a dump of all threads, as jstack prints it, with the deadlocks.
    ///
    /// # Errors
    /// If the JVM does not listen or answer.
    pub fn thread_dump(&self) -> Result<Vec<u8>, AttachError> {
        // Without `-l`, for which HotSpot searches the whole heap for locks while the program stands; it finds deadlocks of them
        // all the same (`thread_dump` in src/hotspot/share/services/attachListener.cpp).
        let answer = ask(self, "threaddump", [b""; 3], MAX_DUMP)?;
        match answer.strip_prefix(b"0\n") {
            Some(text) => Ok(text.to_vec()),
            None => Err(AttachError::NoDump(self.pid(), String::from_utf8_lossy(&answer).trim().to_owned())),
        }
    }
}

/// The answer to `load`: the protocol's number, and if that is 0 the agent's: `return code: N` from Java 9 on, `N` before.
/// If the library cannot be loaded, a text instead.
fn parse(pid: u32, answer: &str) -> Result<(), AttachError> {
    let mut lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let second = rest.first().copied().unwrap_or_default();
    let second = second.strip_prefix("return code:").unwrap_or(second).trim();
    match (first.parse::<i32>(), second.parse::<i32>()) {
        (Ok(0), Ok(0)) => Ok(()),
        (Ok(0), Ok(number)) => Err(AttachError::Agent(pid, number)),
        _ if rest.is_empty() => Err(AttachError::Refused(pid, format!("it answers {first:?}"))),
        _ => Err(AttachError::Refused(pid, rest.join(" "))),
    }
}

/// The version in the answer to `VM.version`: 8 of `JDK 8.0_412`, 17 of `JDK 17.0.15`, 25 of `JDK 25.0.0`.
fn parse_version(answer: &str) -> Option<u32> {
    let version = answer.lines().find_map(|line| line.strip_prefix("JDK "))?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_jvms_answer() {
        for (answer, version) in [
            ("0\nOpenJDK 64-Bit Server VM version 25.412-b08\nJDK 8.0_412\n", Some(8)),
            ("0\nOpenJDK 64-Bit Server VM version 17.0.15+6-Debian-1\nJDK 17.0.15\n", Some(17)),
            ("0\nOpenJDK 64-Bit Server VM version 25+36-LTS\nJDK 25.0.0\n", Some(25)),
            ("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", None),
        ] {
            assert_eq!(parse_version(answer), version, "{answer:?}");
        }
    }

    #[test]
    fn answers_of_all_versions_are_understood() {
        let agent = |number| Some(AttachError::Agent(7, number));
        let refused = |text: &str| Some(AttachError::Refused(7, text.into()));
        for (answer, expected) in [
            ("0\nreturn code: 0\n", None),
            ("0\n0\n", None),
            ("0\nreturn code: -1\n", agent(-1)),
            ("0\n102\n", agent(102)),
            ("0\n/x.so: cannot open shared object file\n", refused("/x.so: cannot open shared object file")),
            ("1\nDynamic agent loading is not enabled. \n", refused("Dynamic agent loading is not enabled.")),
            ("", refused("it answers \"\"")),
        ] {
            let words = |error: Option<AttachError>| error.map(|error| error.to_string());
            assert_eq!(words(parse(7, answer).err()), words(expected), "{answer:?}");
        }
    }
}
