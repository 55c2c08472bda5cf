//! The process to attach to: whether it can be, by what /proc shows (man 5 proc).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::dir::{Dir, PathError};

/// A JVM that agents can be loaded into.
#[derive(Debug)]
pub struct Target {
    /// Its pid.
    pid: u32,
    /// Its pid in its own namespace.
    inner_pid: u32,
    /// When it started, in clock ticks since the system did.
    started: u64,
    /// Whether it catches SIGQUIT, which would end it otherwise.
    pub(super) catches_quit: bool,
    /// The root of its file system, which may be that of a container or a chroot.
    root: Dir,
}

/// A library in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its path as the process sees it.
    pub path: PathBuf,
    /// True if no path leads the process to the file: it was removed, or is outside its root.
    pub is_removed: bool,
}

/// Why an agent cannot be loaded.
#[derive(Debug, Error)]
pub enum AttachError {
    /// There is no such process.
    #[error("there is no process {0}: name the pid of a running JVM")]
    NoProcess(u32),
    /// What /proc has about it cannot be read.
    #[error("cannot read /proc/{0}: {1}: run it as the process's user")]
    Unreadable(u32, io::Error),
    /// It belongs to another user.
    #[error(
        "process {0} belongs to user {1}, and a JVM takes agents of its own user only: run it as that user"
    )]
    OtherUser(u32, u32),
    /// It is in a container whose users are others here.
    #[error(
        "process {0} runs in a container that maps its users to others, and a JVM takes agents of its own user only: \
             copy anrscope into the container and run it there, with the pid that the process has inside"
    )]
    OtherUserMap(u32),
    /// It is no JVM.
    #[error("process {0} is no JVM (it has not loaded libjvm.so): name the pid of java itself")]
    NoJvm(u32),
    /// It is a JVM with another protocol.
    #[error("process {0} runs {1}, which takes agents in another way: start the program with anrscope jvm")]
    OtherJvm(u32, &'static str),
    /// It was started with an option that forbids it.
    #[error("process {0} was started with {1}, which forbids it: start the program with anrscope jvm")]
    Forbidden(u32, &'static str),
    /// It takes no SIGQUIT, and has no socket.
    #[error(
        "process {0} does not catch SIGQUIT, which would end it, and does not listen (it may be starting, or was \
             started with -Xrs): try it again, or start the program with anrscope jvm"
    )]
    NoSignal(u32),
    /// It did not listen.
    #[error(
        "process {0} does not answer: it may be stopped; try it again, or start the program with anrscope jvm"
    )]
    Silent(u32),
    /// A path in its file system cannot be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Another process listens on the socket that should be its own, of this pid; 0 if that is in another pid namespace.
    #[error("process {} listens on {}, the socket of process {}, and nothing was sent to it: end that process and \
             remove the socket", .2, .1.display(), .0)]
    OtherPeer(u32, PathBuf, i32),
    /// The connection failed.
    #[error("cannot talk to process {0}: {1}: try it again")]
    Connection(u32, io::Error),
    /// It closed the connection without an answer.
    #[error("process {0} has closed the connection, as one does that ends: is it still running?")]
    NoAnswer(u32),
    /// The JVM could not load the agent, and said this.
    #[error("process {0} does not load the agent: {1}")]
    Refused(u32, String),
    /// It answers a request for a thread dump so.
    #[error("process {0} gives no thread dump: {1}")]
    NoDump(u32, String),
    /// The agent could not do what it was asked for; its number.
    #[error("the agent in process {0} answers {1}")]
    Agent(u32, i32),
}

impl Target {
    /// Examines a process.
    ///
    /// # Errors
    /// Why no agent can be loaded into it.
    pub fn find(pid: u32) -> Result<Self, AttachError> {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}"));
        let text = |name: &str| read(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // In another user namespace, the process's own user may be refused too.
        let has_our_users = || fs::read("/proc/self/uid_map").ok() == read("uid_map").ok();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => AttachError::NoProcess(pid),
            // It ended while it was examined.
            _ if error.raw_os_error() == Some(nix::errno::Errno::ESRCH as i32) => AttachError::NoProcess(pid),
            _ if !has_our_users() => AttachError::OtherUserMap(pid),
            _ => AttachError::Unreadable(pid, error),
        };
        let (status, stat) = (text("status").map_err(failed)?, text("stat").map_err(failed)?);
        let user = effective_uid(&status);
        if let Some(uid) = user.filter(|uid| *uid != nix::unistd::geteuid().as_raw()) {
            return Err(match has_our_users() {
                true => AttachError::OtherUser(pid, uid),
                false => AttachError::OtherUserMap(pid),
            });
        }
        let maps = text("maps").map_err(failed)?;
        if library_path(&maps, "libj9vm").is_some() {
            return Err(AttachError::OtherJvm(pid, "OpenJ9"));
        }
        if library_path(&maps, "libjvm.so").is_none() {
            return Err(AttachError::NoJvm(pid));
        }
        let command = read("cmdline").map_err(failed)?;
        const FORBIDS: &str = "-XX:+DisableAttachMechanism";
        if has_word(&command, FORBIDS) {
            return Err(AttachError::Forbidden(pid, FORBIDS));
        }
        let root = Path::new("/proc").join(pid.to_string()).join("root");
        let this = Self {
            pid,
            inner_pid: inner_pid(&status).unwrap_or(pid),
            started: started(&stat).unwrap_or(0),
            catches_quit: catches_quit(&status),
            root: Dir::open(&root, Path::new("/"), pid).map_err(failed)?,
        };
        // Otherwise the root may be that of a later process with the same pid.
        if this.is_alive() { Ok(this) } else { Err(AttachError::NoProcess(pid)) }
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its pid in its own namespace.
    #[must_use]
    pub fn inner_pid(&self) -> u32 {
        self.inner_pid
    }

    /// When it started, in clock ticks since the system did: with the pid, its identity.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started
    }

    /// Whether its command line has this word.
    #[must_use]
    pub fn was_started_with(&self, option: &str) -> bool {
        fs::read(format!("/proc/{}/cmdline", self.pid)).is_ok_and(|command| has_word(&command, option))
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let Ok(stat) = fs::read(format!("/proc/{}/stat", self.pid)) else { return false };
        let stat = String::from_utf8_lossy(&stat);
        let is_zombie =
            stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
        started(&stat) == Some(self.started) && !is_zombie
    }

    /// Opens its `/tmp`.
    ///
    /// # Errors
    /// If its root has no such directory.
    pub fn tmp(&self) -> Result<Dir, PathError> {
        self.root.tmp()
    }

    /// Opens its working directory.
    pub(super) fn working_directory(&self) -> io::Result<Dir> {
        let here = Path::new("/proc").join(self.pid.to_string()).join("cwd");
        Dir::open(&here, &fs::read_link(&here)?, self.pid)
    }

    /// A library that it has loaded, by its file's name. `None` if it has none of that name.
    #[must_use]
    pub fn loaded(&self, name: &str) -> Option<Loaded> {
        let maps = fs::read(format!("/proc/{}/maps", self.pid)).ok()?;
        let maps = String::from_utf8_lossy(&maps).into_owned();
        let root = fs::read_link(format!("/proc/{}/root", self.pid)).ok()?;
        Some(loaded(Path::new(library_path(&maps, name)?), &root))
    }
}

/// Whether a command line as /proc has it, with a zero after each word, has this one.
fn has_word(command: &[u8], word: &str) -> bool {
    command.split(|byte| *byte == 0).any(|of| of == word.as_bytes())
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn effective_uid(status: &str) -> Option<u32> {
    field(status, "Uid")?.split_whitespace().nth(1)?.parse().ok()
}

/// The last of `NSpid` is the innermost namespace's. Kernels before 4.1 have no such line.
fn inner_pid(status: &str) -> Option<u32> {
    field(status, "NSpid")?.split_whitespace().last()?.parse().ok()
}

fn catches_quit(status: &str) -> bool {
    const SIGQUIT: u32 = 3;
    let caught = field(status, "SigCgt").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & 1 << (SIGQUIT - 1) != 0)
}

/// The start of a process or thread in clock ticks: field 22 of its `stat` (man 5 proc), whose name, in parentheses, may have
/// blanks.
pub(crate) fn started(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The library at a path of `maps`, which like `root` is one of this process's own root, or of the mount namespace if the target
/// has another.
fn loaded(path: &Path, root: &Path) -> Loaded {
    let bytes = path.as_os_str().as_bytes();
    let kept = bytes.strip_suffix(b" (deleted)");
    let path = Path::new(OsStr::from_bytes(kept.unwrap_or(bytes)));
    match path.strip_prefix(root) {
        Ok(inside) => Loaded { path: Path::new("/").join(inside), is_removed: kept.is_some() },
        Err(_) => Loaded { path: path.to_owned(), is_removed: true },
    }
}

fn library_path<'a>(maps: &'a str, name: &str) -> Option<&'a str> {
    // The path is the sixth field, and may have blanks.
    let path = |line: &'a str| line.find('/').map(|at| &line[at..]);
    maps.lines()
        .filter_map(path)
        .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_shows_is_read() {
        let status = "Name:\tjava\nUid:\t0\t1000\t0\t0\nNSpid:\t812\t7\nSigCgt:\t2000000181005ccf\n";
        assert_eq!((effective_uid(status), inner_pid(status)), (Some(1000), Some(7)));
        assert!(catches_quit(status) && !catches_quit("SigCgt:\t0000000000000002\n") && !catches_quit(""));
        let stat = "812 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(started(stat), Some(4711));
        let maps = "7f-80 r-xp 00000000 08:01 12 /usr/lib/j v/libjvm.so\n80-81 rw-p 0 00:00 0 [stack]\n\
                    90-91 r-xp 0 08:01 1 /tmp/x/libanrscope.so (deleted)\n";
        assert_eq!(library_path(maps, "libjvm.so"), Some("/usr/lib/j v/libjvm.so"));
        assert!(library_path(maps, "libj9vm").is_none() && library_path(maps, "libanrscope.so").is_some());
    }

    #[test]
    fn a_librarys_path_is_the_one_that_the_target_sees() {
        for (path, root, inside, is_removed) in [
            ("/tmp/x/lib.so", "/", "/tmp/x/lib.so", false),
            ("/tmp/x/lib.so (deleted)", "/", "/tmp/x/lib.so", true),
            ("/srv/root/tmp/x/lib.so", "/srv/root", "/tmp/x/lib.so", false),
            // Loaded before its chroot.
            ("/srv/roots/x/lib.so", "/srv/root", "/srv/roots/x/lib.so", true),
        ] {
            let expected = Loaded { path: inside.into(), is_removed };
            assert_eq!(loaded(Path::new(path), Path::new(root)), expected, "{path} in {root}");
        }
    }

    #[test]
    fn a_process_that_is_no_jvm_is_refused() {
        let own = Target::find(std::process::id()).unwrap_err().to_string();
        assert!(own.contains("is no JVM"), "{own}");
        // Above the highest pid of Linux, 2^22.
        let none = Target::find(5_000_000).unwrap_err().to_string();
        assert!(none.contains("no process 5000000"), "{none}");
    }
}
