//! Directories and files of the target, opened so that nothing in them leads elsewhere.
//!
//! Code in the target's container or chroot chooses what each name in it is. A path such as
//! `/proc/4711/root/tmp/x` is followed in the root of the process that opens it: if `x` is a link to `/etc/passwd`, that
//! is the host's file. So nothing is opened by a path through the target's directories:
//!
//! * The root is opened once, and `/tmp` in it by openat2 (man 2 openat2) with RESOLVE_IN_ROOT: a link leads where it
//!   leads the target, and never out of its root.
//! * All else is opened by a single name in an open directory, with O_NOFOLLOW. Such a name cannot leave its directory
//!   on any kernel. One without openat2 (before Linux 5.6) therefore refuses a `/tmp` that is a link, and nothing else.
//! * A file is opened with O_PATH first, which waits for no pipe and starts no device, and is read or written only if it
//!   is a regular file of this user with no second name. The descriptor that was checked is the one that is opened
//!   again, so that the file cannot be exchanged in between.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::Mode;
use thiserror::Error;

/// Tries of openat2, which fails with EAGAIN if names are moved meanwhile, which a process could do without end.
const TRIES: usize = 32;

/// An open directory of a process.
#[derive(Debug)]
pub struct Dir {
    /// With O_PATH.
    file: File,
    /// Its path as the process sees it, for messages and for the JVM.
    path: PathBuf,
    pid: u32,
}

/// Why a path of the target is not used. A message names the path, as the target sees it, and the cure.
#[derive(Debug, Error)]
pub enum PathError {
    /// The system does not open or create it.
    #[error("cannot use {} of process {pid}: {error}: make it usable for this user, or start the program with anrscope jvm", path.display())]
    System {
        /// The path.
        path: PathBuf,
        /// The process whose path it is.
        pid: u32,
        /// What the system says.
        error: io::Error,
    },
    /// Another program or user has put it there.
    #[error("{} of process {pid} {what}, and is left alone: {}", path.display(), remover(*owner))]
    Foreign {
        /// The path.
        path: PathBuf,
        /// The process whose path it is.
        pid: u32,
        /// Why it cannot be this program's own, such as "is a link".
        what: String,
        /// The user who owns it, if that is not this one: only that user and root may remove it from a `/tmp`.
        owner: Option<u32>,
    },
}

/// Says who can remove what another program or user has put there.
fn remover(owner: Option<u32>) -> String {
    owner.map_or("remove it".to_owned(), |owner| format!("have user {owner} or root remove it"))
}

impl Dir {
    /// Opens the directory `here` of this process's own file system, which process `pid` sees as `path`.
    ///
    /// # Errors
    /// If it cannot be opened, or is no directory.
    pub fn open(here: &Path, path: &Path, pid: u32) -> io::Result<Self> {
        let flags = (OFlag::O_PATH | OFlag::O_DIRECTORY).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(here)?;
        Ok(Self { file, path: path.to_owned(), pid })
    }

    /// Opens `/tmp` in this root. It may be a link to another directory in it.
    pub(super) fn tmp(&self) -> Result<Self, PathError> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let resolve = ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let how = OpenHow::new().flags(flags).resolve(resolve);
        let mut tries = (0..TRIES).map(|_| openat2(&self.file, "tmp", how));
        let opened = match tries.find(|opened| !matches!(opened, Err(Errno::EAGAIN))) {
            // EPERM is what some sandboxes answer to calls that they do not know.
            Some(Err(Errno::ENOSYS | Errno::EPERM)) => {
                openat(&self.file, "tmp", flags | OFlag::O_NOFOLLOW, Mode::empty())
            }
            opened => opened.unwrap_or(Err(Errno::EAGAIN)),
        };
        let name = OsStr::new("tmp");
        match opened {
            Ok(fd) => Ok(self.child(fd.into(), name)),
            Err(error) => Err(match self.peek(name) {
                Ok(Some((_, meta))) if meta.is_symlink() => self.foreign(
                    name,
                    "is a link that leads to no directory inside its root".to_owned(),
                    None,
                ),
                _ => self.system(name, error.into()),
            }),
        }
    }

    /// Its path as the process sees it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path from here, valid as long as this value lives, for calls that do not follow a link in the last name:
    /// to list it, to create with O_EXCL, to rename, and to remove.
    #[must_use]
    pub fn here(&self) -> PathBuf {
        again(&self.file)
    }

    /// The names in it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, PathError> {
        let entries = fs::read_dir(self.here()).map_err(|error| self.system(OsStr::new(""), error))?;
        Ok(entries.flatten().map(|entry| entry.file_name()).collect())
    }

    /// Opens a directory in it that is this user's alone. `None` if there is nothing of that name.
    ///
    /// # Errors
    /// If it is no directory, or other users own it or may read or write it.
    pub fn private(&self, name: &OsStr) -> Result<Option<Self>, PathError> {
        let Some((file, meta)) = self.peek(name)? else { return Ok(None) };
        self.check(name, &meta, meta.is_dir(), "a directory")?;
        self.check_others(name, &meta, "")?;
        Ok(Some(self.child(file, name)))
    }

    /// Opens a directory as [`Self::private`] does, and creates it before if it is missing.
    ///
    /// # Errors
    /// As there, or if it cannot be created.
    pub fn create_private(&self, name: &OsStr) -> Result<Self, PathError> {
        match fs::DirBuilder::new().mode(0o700).create(self.here().join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(self.system(name, error)),
            _ => self.private(name)?.ok_or_else(|| self.system(name, Errno::ENOENT.into())),
        }
    }

    /// Opens a file in it for reading. `None` if there is nothing of that name.
    ///
    /// # Errors
    /// If it is not a regular file of this user with this name alone.
    pub fn read(&self, name: &OsStr) -> Result<Option<File>, PathError> {
        self.reopen(name, OpenOptions::new().read(true))
    }

    /// Opens a file in it for reading and writing, and creates it before if it is missing. It keeps its content.
    ///
    /// # Errors
    /// If it is not a regular file of this user with this name alone, or cannot be created.
    pub fn write(&self, name: &OsStr) -> Result<File, PathError> {
        let options = || OpenOptions::new().read(true).write(true).clone();
        match options().create_new(true).mode(0o600).open(self.here().join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.reopen(name, &mut options())?.ok_or_else(|| self.system(name, error))
            }
            created => created.map_err(|error| self.system(name, error)),
        }
    }

    /// Finds a socket in it that this user has, and no other may write to. `None` if there is nothing of that name.
    pub(super) fn socket(&self, name: &OsStr) -> Result<Option<Socket>, PathError> {
        let Some((file, meta)) = self.peek(name)? else { return Ok(None) };
        self.check(name, &meta, meta.file_type().is_socket(), "a socket")?;
        // A JVM makes it for its own user before it gives it this name, and the JDK's own tools ask for the same.
        self.check_others(name, &meta, ", so no JVM made it")?;
        Ok(Some(Socket(file)))
    }

    /// Says that what has this name is not what it should be.
    pub(super) fn foreign(&self, name: &OsStr, what: String, owner: Option<u32>) -> PathError {
        PathError::Foreign { path: self.path.join(name), pid: self.pid, what, owner }
    }

    fn system(&self, name: &OsStr, error: io::Error) -> PathError {
        PathError::System { path: self.path.join(name), pid: self.pid, error }
    }

    fn child(&self, file: File, name: &OsStr) -> Self {
        Self { file, path: self.path.join(name), pid: self.pid }
    }

    /// Opens what has this name with O_PATH, which has no effect on it.
    fn peek(&self, name: &OsStr) -> Result<Option<(File, Metadata)>, PathError> {
        debug_assert!(Path::new(name).file_name() == Some(name), "one name: {}", name.display());
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = match openat(&self.file, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(self.system(name, error.into())),
        };
        let meta = file.metadata().map_err(|error| self.system(name, error))?;
        Ok(Some((file, meta)))
    }

    /// Refuses what is not of the expected kind, or not this user's.
    fn check(&self, name: &OsStr, meta: &Metadata, is_kind: bool, kind: &str) -> Result<(), PathError> {
        let user = nix::unistd::geteuid().as_raw();
        let owner = Some(meta.uid()).filter(|owner| *owner != user);
        let what = match owner {
            _ if meta.is_symlink() => "is a link".to_owned(),
            _ if !is_kind => format!("is not {kind}"),
            Some(owner) => format!("belongs to user {owner}"),
            None => return Ok(()),
        };
        Err(self.foreign(name, what, owner))
    }

    /// Refuses what other users may read or write; `so` says what that shows.
    fn check_others(&self, name: &OsStr, meta: &Metadata, so: &str) -> Result<(), PathError> {
        if meta.mode() & 0o077 == 0 {
            return Ok(());
        }
        let what = format!("is open to other users (mode {:03o}){so}", meta.mode() & 0o777);
        Err(self.foreign(name, what, None))
    }

    fn reopen(&self, name: &OsStr, options: &mut OpenOptions) -> Result<Option<File>, PathError> {
        let Some((file, meta)) = self.peek(name)? else { return Ok(None) };
        self.check(name, &meta, meta.is_file(), "a regular file")?;
        if meta.nlink() > 1 {
            return Err(self.foreign(name, "has a second name elsewhere (a hard link)".to_owned(), None));
        }
        // Without O_NONBLOCK, another process's lease on the file would hold this one up.
        let opened = options.custom_flags(OFlag::O_NONBLOCK.bits()).open(again(&file));
        opened.map(Some).map_err(|error| self.system(name, error))
    }
}

/// A socket's file, which cannot be exchanged any more.
#[derive(Debug)]
pub(super) struct Socket(File);

impl Socket {
    /// Its path from here, valid as long as this value lives.
    pub(super) fn here(&self) -> PathBuf {
        again(&self.0)
    }
}

/// The path by which this process opens again what it has open.
fn again(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A directory for one test, removed when it has passed.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("anrscope-dir-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn open(&self) -> Dir {
            Dir::open(&self.0, Path::new("/seen"), 7).unwrap()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn name(name: &str) -> &OsStr {
        OsStr::new(name)
    }

    #[track_caller]
    fn refused<T: std::fmt::Debug>(result: Result<T, PathError>, says: &str) {
        assert_eq!(result.unwrap_err().to_string(), says);
    }

    #[test]
    fn only_files_of_its_own_are_opened() {
        let place = Place::new("files");
        let (dir, elsewhere) = (place.open(), place.0.join("elsewhere"));
        fs::write(&elsewhere, "mine").unwrap();
        assert!(dir.read(name("new")).unwrap().is_none());
        drop(dir.write(name("new")).unwrap());
        assert_eq!(fs::metadata(place.0.join("new")).unwrap().mode() & 0o777, 0o600);
        fs::write(place.0.join("new"), "kept").unwrap();
        assert_eq!(io::read_to_string(dir.write(name("new")).unwrap()).unwrap(), "kept");
        symlink(&elsewhere, place.0.join("link")).unwrap();
        symlink(place.0.join("missing"), place.0.join("loose")).unwrap();
        nix::unistd::mkfifo(&place.0.join("pipe"), Mode::S_IRWXU).unwrap();
        for (of, what) in [("link", "is a link"), ("loose", "is a link"), ("pipe", "is not a regular file")] {
            let says = format!("/seen/{of} of process 7 {what}, and is left alone: remove it");
            refused(dir.write(name(of)), &says);
            refused(dir.read(name(of)), &says);
        }
        assert!(!place.0.join("missing").exists());
        fs::hard_link(&elsewhere, place.0.join("second")).unwrap();
        assert!(dir.write(name("second")).unwrap_err().to_string().contains("(a hard link)"));
        assert_eq!(fs::read(&elsewhere).unwrap(), b"mine");
    }

    #[test]
    fn directories_are_this_users_alone() {
        let place = Place::new("directories");
        let dir = place.open();
        for _ in 0..2 {
            dir.create_private(name("own")).unwrap();
        }
        assert_eq!(fs::metadata(place.0.join("own")).unwrap().mode() & 0o777, 0o700);
        symlink(place.0.join("own"), place.0.join("link")).unwrap();
        refused(
            dir.create_private(name("link")),
            "/seen/link of process 7 is a link, and is left alone: remove it",
        );
        fs::set_permissions(place.0.join("own"), fs::Permissions::from_mode(0o770)).unwrap();
        refused(
            dir.private(name("own")),
            "/seen/own of process 7 is open to other users (mode 770), and is left alone: remove it",
        );
    }

    #[test]
    fn a_tmp_is_found_inside_its_root_only() {
        let place = Place::new("tmp");
        let (root, outside) = (place.0.join("root"), place.0.join("outside"));
        fs::create_dir_all(root.join("var/tmp")).unwrap();
        fs::create_dir(&outside).unwrap();
        let dir = Dir::open(&root, Path::new("/"), 7).unwrap();
        let identity = |dir: &Dir| dir.file.metadata().unwrap().ino();
        for (link, leads) in
            [("/var/tmp", true), ("../../var/tmp", true), ("../outside", false), ("/proc/self/cwd", false)]
        {
            symlink(link, root.join("tmp")).unwrap();
            match dir.tmp() {
                Ok(tmp) => {
                    assert!(leads, "{link}");
                    assert_eq!(identity(&tmp), fs::metadata(root.join("var/tmp")).unwrap().ino());
                    assert_eq!(tmp.path(), Path::new("/tmp"));
                }
                Err(error) => {
                    assert!(!leads && error.to_string().contains("/tmp of process 7 is a link"), "{error}")
                }
            }
            fs::remove_file(root.join("tmp")).unwrap();
        }
        refused(
            dir.tmp(),
            "cannot use /tmp of process 7: No such file or directory (os error 2): make it usable for this user, or start the \
             program with anrscope jvm",
        );
    }

    #[test]
    fn a_socket_of_other_users_is_refused() {
        let place = Place::new("socket");
        let (dir, path) = (place.open(), place.0.join("s"));
        assert!(dir.socket(name("s")).unwrap().is_none());
        let _listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        refused(
            dir.socket(name("s")),
            "/seen/s of process 7 is open to other users (mode 777), so no JVM made it, and is left alone: remove it",
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let socket = dir.socket(name("s")).unwrap().unwrap();
        std::os::unix::net::UnixStream::connect(socket.here()).unwrap();
    }
}
