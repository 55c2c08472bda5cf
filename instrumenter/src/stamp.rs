//! Recognising unchanged files.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libdeflater::{Crc, adler32};

/// Times and length of a file, as far as the system reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Last modification of the content, in ns since 1970; 0 if unknown.
    pub(crate) modified: i64,
    /// Last change of content or attributes, in ns since 1970; 0 where the system has no such time. It also reveals a
    /// file that was replaced by one with an earlier time.
    pub(crate) changed: i64,
    /// Its length, bytes.
    pub(crate) length: u64,
}

/// File systems with whole seconds may have a resolution of two seconds (FAT).
const COARSE_TICK: Duration = Duration::from_secs(2);
/// Other file systems have at least the resolution of the system's timer tick, at most 10 ms; the rest is a margin
/// for delayed threads.
const FINE_TICK: Duration = Duration::from_millis(100);

impl Stamp {
    /// A stamp that no file has.
    pub(crate) const NONE: Self = Self { modified: -1, changed: -1, length: u64::MAX };

    /// Returns the stamp of the file at `path`, or [`Stamp::NONE`] if there is none.
    pub(crate) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::NONE, |file| Self::from(&file))
    }

    /// Returns this stamp, or [`Stamp::NONE`] if the file could change after `read` without getting another stamp.
    pub(crate) fn if_settled(self, read: SystemTime) -> Self {
        let last = self.modified.max(self.changed);
        let tick = if last % 1_000_000_000 == 0 { COARSE_TICK } else { FINE_TICK };
        let until = u64::try_from(last).ok().map(|last| UNIX_EPOCH + Duration::from_nanos(last) + tick);
        if last != 0 && until.is_some_and(|until| until < read) { self } else { Self::NONE }
    }
}

impl From<&Metadata> for Stamp {
    fn from(file: &Metadata) -> Self {
        let modified = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or(0);
        Self { modified, changed: changed(file), length: file.len() }
    }
}

#[cfg(unix)]
fn changed(file: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    file.ctime().saturating_mul(1_000_000_000).saturating_add(file.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> i64 {
    0
}

/// Two checksums and the length of some content. They detect changes, not forgeries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) first: u32,
    pub(crate) second: u32,
    pub(crate) length: u64,
}

impl Sum {
    pub(crate) fn compute(contents: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(contents);
        Self { first: crc.sum(), second: adler32(contents), length: contents.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_just_written_is_read_again() {
        let at = |ns: i64| Stamp { modified: ns, changed: 0, length: 1 };
        let read = |ns: u64| UNIX_EPOCH + Duration::from_nanos(ns);
        let second = 1_000_000_000_i64;
        assert_eq!(at(5).if_settled(read(second as u64)), at(5));
        assert_eq!(at(5).if_settled(read(50_000_000)), Stamp::NONE);
        assert_eq!(at(3 * second).if_settled(read(4 * second as u64)), Stamp::NONE);
        assert_eq!(at(3 * second).if_settled(read(6 * second as u64)), at(3 * second));
        assert_eq!(at(0).if_settled(read(6 * second as u64)), Stamp::NONE);
        // The later time counts: content with an old time was moved there just now.
        let replaced = Stamp { changed: 3 * second + 1, ..at(5) };
        assert_eq!(replaced.if_settled(read(3 * second as u64 + 2)), Stamp::NONE);
    }
}
