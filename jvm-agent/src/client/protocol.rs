//! The handshake, and a command.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::target::{AttachError, Target};

/// How long the JVM may take to listen. It creates the socket on its own thread for signals, at once as a rule.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// How long a command may take. Loading an agent runs it.
const ANSWERS_WITHIN: Duration = Duration::from_secs(300);

/// The longest answer to `load` that is read, bytes.
const MAX_ANSWER: u64 = 1 << 20;

/// The longest thread dump that is read, bytes: some 10,000 threads with long stacks.
const MAX_DUMP: u64 = 64 << 20;

fn socket(target: &Target) -> PathBuf {
    target.path(Path::new(&format!("/tmp/.java_pid{}", target.inner_pid())))
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket())
}

/// Has the JVM listen on its socket.
pub(super) fn listen(target: &Target, catches_quit: bool) -> Result<(), AttachError> {
    if is_socket(&socket(target)) {
        return Ok(());
    }
    let pid = target.pid();
    if !catches_quit {
        return Err(AttachError::NoSignal(pid));
    }
    let name = format!(".attach_pid{}", target.inner_pid());
    let places = [PathBuf::from(format!("/proc/{pid}/cwd")), target.path(Path::new("/tmp"))];
    let request = places.iter().map(|place| place.join(&name)).find(|path| create(path).is_ok());
    let request = Request(request.ok_or(AttachError::Silent(pid))?);
    // The file stands before the signal comes: without it, the JVM would print a thread dump.
    let signalled = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGQUIT);
    signalled.map_err(|error| AttachError::Connection(pid, error.into()))?;
    let (begun, mut pause) = (Instant::now(), Duration::from_millis(1));
    while begun.elapsed() < LISTENS_WITHIN {
        if is_socket(&socket(target)) {
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

/// The JVM takes the request only from its own user, which this process runs as.
fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result.map(drop),
    }
}

/// The file that asks for the socket, removed when dropped.
struct Request(PathBuf);

impl Drop for Request {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The answer to a command with three arguments, of at most `most` bytes.
fn answer(target: &Target, command: &str, arguments: [&[u8]; 3], most: u64) -> Result<Vec<u8>, AttachError> {
    let pid = target.pid();
    let failed = |error| AttachError::Connection(pid, error);
    // A socket's name is limited to 107 bytes, and those of namespaces are short.
    let mut stream = UnixStream::connect(socket(target)).map_err(failed)?;
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

/// Asks for a thread dump. Without `-l`, for which HotSpot searches the whole heap for locks while the program stands; it finds deadlocks
/// of them all the same (`thread_dump` in src/hotspot/share/services/attachListener.cpp).
pub(super) fn thread_dump(target: &Target) -> Result<Vec<u8>, AttachError> {
    let answer = answer(target, "threaddump", [b""; 3], MAX_DUMP)?;
    match answer.strip_prefix(b"0\n") {
        Some(text) => Ok(text.to_vec()),
        None => Err(AttachError::NoDump(target.pid(), String::from_utf8_lossy(&answer).trim().to_owned())),
    }
}

/// Loads an agent.
pub(super) fn load(target: &Target, library: &Path, options: &str) -> Result<(), AttachError> {
    let pid = target.pid();
    let arguments = [library.as_os_str().as_bytes(), b"true", options.as_bytes()];
    let answer = answer(target, "load", arguments, MAX_ANSWER)?;
    match parse(&String::from_utf8_lossy(&answer)) {
        Answer::Done => Ok(()),
        Answer::Agent(number) => Err(AttachError::Agent(pid, number)),
        Answer::Refused(text) => Err(AttachError::Refused(pid, text)),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Done,
    /// What `Agent_OnAttach` has returned.
    Agent(i32),
    Refused(String),
}

/// The answer to `load`: the protocol's number, and if that is 0 the agent's: `return code: N` from Java 9 on, `N` before.
/// If the library cannot be loaded, a text instead.
fn parse(answer: &str) -> Answer {
    let mut lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let second = rest.first().copied().unwrap_or_default();
    let second = second.strip_prefix("return code:").unwrap_or(second).trim();
    match (first.parse::<i32>(), second.parse::<i32>()) {
        (Ok(0), Ok(0)) => Answer::Done,
        (Ok(0), Ok(number)) => Answer::Agent(number),
        _ if rest.is_empty() => Answer::Refused(format!("it answers {first:?}")),
        _ => Answer::Refused(rest.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_all_versions_are_understood() {
        for (answer, expected) in [
            ("0\nreturn code: 0\n", Answer::Done),
            ("0\n0\n", Answer::Done),
            ("0\nreturn code: -1\n", Answer::Agent(-1)),
            ("0\n102\n", Answer::Agent(102)),
            (
                "0\n/x.so: cannot open shared object file\n",
                Answer::Refused("/x.so: cannot open shared object file".into()),
            ),
            (
                "1\nDynamic agent loading is not enabled. \n",
                Answer::Refused("Dynamic agent loading is not enabled.".into()),
            ),
            ("", Answer::Refused("it answers \"\"".into())),
        ] {
            assert_eq!(parse(answer), expected, "{answer:?}");
        }
    }
}
