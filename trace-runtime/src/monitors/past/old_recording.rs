//! A recording that an earlier process left: what its header and its sections say, without reading the rest.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_format::layout::{self, header};
use trace_format::section::{self, HEADER_LEN, MAX_PAYLOAD, SectionHeader, SectionKind};
use trace_format::sections::exit_info::ExitInformation;
use trace_format::sections::profile::AnrProfile;
use trace_format::sections::verdict::Outcome;

/// More sections than any recording has: a file from outside must not keep us.
const MOST_SECTIONS: usize = 100_000;
/// Payloads that are looked into, in bytes: verdicts and the lines of an exit's information are far shorter.
const LOOKED_INTO: u64 = 64 << 10;

/// What is known of it.
#[derive(Debug)]
pub(crate) struct OldFile {
    pub(crate) path: PathBuf,
    file: File,
    pub(crate) pid: u32,
    pub(crate) process: String,
    /// When it began, ms since 1970.
    pub(crate) start_ms: u64,
    pub(crate) bytes: u64,
    /// Where the next section goes.
    end: u64,
    pub(crate) has_exit: bool,
    pub(crate) has_anr: bool,
    /// What became of the process, as its exit's information says; empty where there is none.
    pub(crate) reason: String,
    /// Names of the profiles that the platform left of its ANRs, as the file says: it may come from anywhere.
    pub(crate) profiles: Vec<OsString>,
}

static BUSY: Mutex<()> = Mutex::new(());

/// Whoever looks through the folder holds this: two threads of ours would take each other's locks on the files for those of
/// processes that live.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OldFile {
    /// Opens it. `None` for what is no recording, or whose process still writes to it.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        // What is appended must not land where a link leads.
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
        // SAFETY: flock takes a descriptor that is open and touches no memory. The lock ends with `file`.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0
            && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
        {
            return None;
        }
        let mut head = [0; layout::HEADER_LEN];
        file.read_exact_at(&mut head, 0).ok()?;
        let u32_at = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        let known = head[..8] == layout::MAGIC
            && u16::from_le_bytes([head[header::MAJOR], head[header::MAJOR + 1]]) == layout::MAJOR;
        let pid = u32_at(header::PID);
        if !known || pid == std::process::id() {
            return None;
        }
        let name = &head[header::PROCESS_NAME..header::PROCESS_NAME + layout::PROCESS_NAME_LEN];
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let mut old = Self {
            path: path.to_owned(),
            pid,
            process: String::from_utf8_lossy(&name[..length]).into_owned(),
            start_ms: u64_at(header::START_REALTIME) / 1_000_000,
            bytes: file.metadata().ok()?.len(),
            end: u64_at(header::SECTIONS_AT),
            file,
            has_exit: false,
            has_anr: false,
            reason: String::new(),
            profiles: Vec::new(),
        };
        if old.end < layout::HEADER_LEN as u64 || old.end > old.bytes {
            // Cut short: nobody knows where a section would be looked for.
            return None;
        }
        old.walk();
        Some(old)
    }

    /// Finds the end of the last whole section, and what kinds there are.
    fn walk(&mut self) {
        for _ in 0..MOST_SECTIONS {
            let mut head = [0; HEADER_LEN];
            if self.file.read_exact_at(&mut head, self.end).is_err() {
                return;
            }
            let Some(section) = SectionHeader::parse(&head).filter(|section| section.length <= MAX_PAYLOAD)
            else {
                return;
            };
            let payload = self.end + HEADER_LEN as u64;
            let next = payload + section.length.next_multiple_of(8);
            if next > self.bytes {
                return;
            }
            self.note(section, payload);
            self.end = next;
        }
    }

    fn note(&mut self, section: SectionHeader, payload: u64) {
        match SectionKind::of_number(section.kind) {
            Some(SectionKind::AnrSnapshot) => self.has_anr = true,
            Some(SectionKind::ExitInformation) => {
                self.has_exit = true;
                if let Some(exit) = ExitInformation::parse(&self.payload(section, payload)) {
                    self.has_anr |= exit.reason == "anr";
                    self.reason = exit.reason;
                }
            }
            Some(SectionKind::AnrProfile) => {
                self.has_anr = true;
                let profile = AnrProfile::parse(&self.payload(section, payload));
                let name = profile.as_ref().and_then(|profile| Path::new(&profile.path).file_name());
                self.profiles.extend(name.map(OsString::from));
            }
            Some(SectionKind::Verdict) => {
                let outcome = Outcome::of_payload(&self.payload(section, payload));
                self.has_anr |= matches!(outcome, Some(Outcome::Anr | Outcome::SuspectedAnr));
            }
            _ => {}
        }
    }

    fn payload(&self, section: SectionHeader, payload: u64) -> Vec<u8> {
        let mut bytes = vec![0; section.length.min(LOOKED_INTO) as usize];
        if self.file.read_exact_at(&mut bytes, payload).is_err() {
            bytes.clear();
        }
        bytes
    }

    /// Appends a section. What a process that was killed in the middle of one has left of it gives way.
    ///
    /// # Errors
    /// The file cannot be written; a reader passes over what is there of the section.
    pub(crate) fn append(&mut self, kind: SectionKind, payload: &[u8]) -> io::Result<()> {
        let bytes = section::encode(kind, 1, payload);
        self.file.set_len(self.end)?;
        self.file.write_all_at(&bytes, self.end)?;
        self.end += bytes.len() as u64;
        self.bytes = self.end;
        Ok(())
    }
}

/// All that can be opened in a folder.
pub(crate) fn all(folder: &Path) -> Vec<OldFile> {
    paths(folder)
        .filter(|path| path.extension().is_some_and(|e| e == "anrscope"))
        .filter_map(|p| OldFile::open(&p))
        .collect()
}

/// What is in a folder.
pub(crate) fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
