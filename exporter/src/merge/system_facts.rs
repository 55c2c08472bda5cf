//! Finds the processes and ANRs of a system trace.

use std::collections::HashSet;
use std::io::BufRead;

use memchr::memmem;

use crate::protobuf::read::Stop;

/// Maximum number of remembered processes and ANRs; a device has fewer.
const MAX_REMEMBERED: usize = 1 << 16;
/// Prefix of the system's counter from which Perfetto's `android.anrs` knows of an ANR: `ErrorId:com.example.app 4242#UUID`; early
/// versions of Android leave out the pid.
const ERROR_ID: &[u8] = b"ErrorId:";
/// Maximum length of a process's name with its pid, bytes.
const MAX_NAME: usize = 300;

/// Facts of a system trace that a recording of one of its processes would repeat.
#[derive(Debug, Default)]
pub struct SystemFacts {
    /// The processes in its process trees.
    pub processes: HashSet<u32>,
    /// The processes that it has ANRs of: the texts after `ErrorId:`.
    anrs: HashSet<Vec<u8>>,
}

impl SystemFacts {
    /// Adds the facts of another trace.
    pub fn extend(&mut self, other: Self) {
        self.processes.extend(other.processes);
        self.anrs.extend(other.anrs);
    }

    /// True if it has an ANR of this process.
    #[must_use]
    pub fn has_anr(&self, name: &str, pid: u32) -> bool {
        let name = name.replace([' ', '#'], "_");
        self.anrs.contains(format!("{name} {pid}").as_bytes()) || self.anrs.contains(name.as_bytes())
    }

    pub(super) fn process(&mut self, pid: u64) {
        if self.processes.len() < MAX_REMEMBERED {
            self.processes.extend(u32::try_from(pid));
        }
    }

    /// Searches the next `length` bytes for ANRs, without parsing their messages.
    pub(super) fn find_anrs(&mut self, from: &mut dyn BufRead, mut length: u64) -> Result<(), Stop> {
        let mut unread: Vec<u8> = Vec::new();
        while length > 0 {
            let there = from.fill_buf().map_err(|_| Stop::Io)?;
            if there.is_empty() {
                return Err(Stop::End);
            }
            let n = there.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            unread.extend_from_slice(&there[..n]);
            from.consume(n);
            length -= n as u64;
            let mut at = 0;
            while let Some(found) = memmem::find(&unread[at..], ERROR_ID) {
                let name = at + found + ERROR_ID.len();
                let rest = &unread[name..unread.len().min(name + MAX_NAME)];
                match rest.iter().position(|byte| *byte == b'#') {
                    Some(end) if self.anrs.len() < MAX_REMEMBERED => {
                        self.anrs.insert(rest[..end].to_vec());
                    }
                    // The name's end may be in the bytes that follow.
                    None if rest.len() < MAX_NAME && length > 0 => break,
                    _ => {}
                }
                at = name;
            }
            let kept = memmem::find(&unread[at..], ERROR_ID)
                .map_or(unread.len().saturating_sub(ERROR_ID.len() - 1).max(at), |found| at + found);
            unread.drain(..kept);
        }
        Ok(())
    }
}
