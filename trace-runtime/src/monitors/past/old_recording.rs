//! A recording that an earlier process left: its header and its sections, without the rest.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use trace_format::layout::{self, header};
use trace_format::recording_id;
use trace_format::section::{self, HEADER_LEN, MAX_PAYLOAD, SectionHeader, SectionKind};
use trace_format::sections::Keys;
use trace_format::sections::exit_info::ExitInformation;
use trace_format::sections::profile::ANR;
use trace_format::sections::verdict::Outcome;
use trace_format::wipe::{self, InFile, WipeError};

use crate::unpoisoned::lock;

/// More sections than any recording has: a file from outside must not occupy the reader.
const MAX_SECTIONS: usize = 100_000;
/// The part of a payload that is read, bytes: verdicts and the lines of an exit's information are far
/// shorter.
const MAX_READ: u64 = 64 << 10;

/// What is known of the recording.
#[derive(Debug)]
pub(crate) struct OldRecording {
    pub(crate) path: PathBuf,
    file: File,
    pub(crate) pid: u32,
    pub(crate) process: String,
    /// Its id ([`recording_id`]).
    pub(crate) id: String,
    /// When it started, ms since 1970.
    pub(crate) start_ms: u64,
    pub(crate) bytes: u64,
    /// Where the next section goes.
    end: u64,
    pub(crate) has_exit: bool,
    pub(crate) has_anr: bool,
    /// How the process ended, as its exit's information says; empty without one.
    pub(crate) reason: String,
    /// Names of the platform's profiles of it, according to the file, which may come from anywhere.
    pub(crate) profiles: Vec<OsString>,
}

static SEARCH_LOCK: Mutex<()> = Mutex::new(());

/// The lock for searching the directory: two threads of this process would mistake each other's file locks
/// for those of living processes.
pub(crate) fn lock_search() -> MutexGuard<'static, ()> {
    lock(&SEARCH_LOCK)
}

/// Opens a file for reading and writing, and locks it. `None` if it cannot be opened, or if a process has its lock.
pub(crate) fn open_unused(path: &Path) -> Option<File> {
    // What is written must not land where a link leads.
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
    // SAFETY: flock takes a descriptor that is open and touches no memory. The lock ends with `file`.
    let is_used = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0
        && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
    (!is_used).then_some(file)
}

impl OldRecording {
    /// Opens a recording. `None` if it is not one, or if its process still writes to it.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = open_unused(path)?;
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
            id: recording_id(pid, u64_at(header::START_REALTIME)),
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
            // Truncated: the position of sections is unknown.
            return None;
        }
        old.walk();
        Some(old)
    }

    /// Finds the end of the last complete section, and which kinds there are.
    fn walk(&mut self) {
        for _ in 0..MAX_SECTIONS {
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
        match SectionKind::try_from(section.kind).ok() {
            Some(SectionKind::AnrSnapshot) => self.has_anr = true,
            Some(SectionKind::ExitInformation) => {
                self.has_exit = true;
                if let Some(exit) = ExitInformation::parse(&self.payload(section, payload)) {
                    self.has_anr |= exit.reason == "anr";
                    self.reason = exit.reason;
                }
            }
            Some(SectionKind::PlatformProfile) => {
                // Two keys, and not the whole: its parser would be code in each app.
                let payload = self.payload(section, payload);
                let text = String::from_utf8_lossy(&payload);
                let keys = Keys::new(&text);
                self.has_anr |= keys.text("trigger").is_none_or(|trigger| trigger == ANR);
                let name = keys.text("path").and_then(|path| Path::new(path).file_name());
                self.profiles.extend(name.map(OsString::from));
            }
            Some(SectionKind::Verdict) => {
                let outcome = Outcome::from_payload(&self.payload(section, payload));
                self.has_anr |= matches!(outcome, Some(Outcome::Anr | Outcome::SuspectedAnr));
            }
            _ => {}
        }
    }

    fn payload(&self, section: SectionHeader, payload: u64) -> Vec<u8> {
        let mut bytes = vec![0; section.length.min(MAX_READ) as usize];
        if self.file.read_exact_at(&mut bytes, payload).is_err() {
            bytes.clear();
        }
        bytes
    }

    /// Appends a section. It replaces an incomplete one that a killed process left.
    ///
    /// # Errors
    /// The file cannot be written; a reader skips what was written of the section.
    pub(crate) fn append(&mut self, kind: SectionKind, payload: &[u8]) -> io::Result<()> {
        let bytes = section::encode(kind, 1, payload);
        self.file.set_len(self.end)?;
        self.file.write_all_at(&bytes, self.end)?;
        self.end += bytes.len() as u64;
        self.bytes = self.end;
        Ok(())
    }

    /// Overwrites the stack bytes of native stacks. Their frames are lost, unless the exporter of the app has added them before.
    ///
    /// # Errors
    /// Stack bytes may be left; another call completes it.
    pub(crate) fn wipe(&mut self) -> Result<(), WipeError> {
        wipe::wipe(&mut InFile(&self.file), &[])?;
        // Sections may have been appended, and an incomplete one removed.
        self.bytes = self.file.metadata()?.len();
        self.walk();
        Ok(())
    }
}

/// All recordings in a directory that can be opened, one after the other: an app has few descriptors, and may keep 10,000 recordings.
pub(crate) fn all(directory: &Path) -> impl Iterator<Item = OldRecording> {
    paths(directory)
        .filter(|path| path.extension().is_some_and(|e| e == "anrscope"))
        .filter_map(|p| OldRecording::open(&p))
}

/// All files in a directory.
pub(crate) fn paths(directory: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
