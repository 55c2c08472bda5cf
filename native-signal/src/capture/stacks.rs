//! The memory that may hold a thread's stack, from `/proc/self/maps` (man 5 proc). Allocates nothing.

use std::cell::UnsafeCell;
use std::fs::File;
use std::io::{self, Read};

/// A mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it ends where the stack does: the kernel, or bionic, gives its name to nothing else.
    pub(super) whole: bool,
}

/// The most ranges. An app has a few hundred.
const MAX_RANGES: usize = 4096;

/// The ranges that the handler searches.
pub(super) struct Table(UnsafeCell<[Range; MAX_RANGES]>);

// SAFETY: written by the one thread that holds the lock of captures, and only while no request is open; see `take`.
unsafe impl Sync for Table {}

pub(super) static TABLE: Table =
    Table(UnsafeCell::new([Range { start: 0, end: 0, whole: false }; MAX_RANGES]));

impl Table {
    /// The first range.
    pub(super) fn first(&self) -> *mut Range {
        self.0.get().cast()
    }

    /// Fills it with all private, writable memory without a file; returns how many.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of captures, and no request is open.
    pub(super) unsafe fn fill(&self) -> io::Result<usize> {
        // SAFETY: by contract no other code has it.
        let table = unsafe { &mut *self.0.get() };
        let mut len = 0;
        for_each_line(File::open("/proc/self/maps")?, |line| {
            if let (Some(range), Some(place)) = (stack(line), table.get_mut(len)) {
                *place = range;
                len += 1;
            }
        })?;
        Ok(len)
    }

    /// Makes this its only range.
    ///
    /// # Safety
    ///
    /// As for [`Table::fill`].
    pub(super) unsafe fn set(&self, range: Range) {
        // SAFETY: by contract no other code has it.
        unsafe { self.first().write(range) };
    }

    /// The range among the first `len` that holds an address.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of captures.
    pub(super) unsafe fn find(&self, len: usize, address: u64) -> Option<Range> {
        // SAFETY: nothing writes to it while the lock is held by the caller.
        let table = unsafe { &*self.0.get() };
        let address = usize::try_from(address).ok()?;
        table.iter().take(len).find(|range| (range.start..range.end).contains(&address)).copied()
    }
}

/// Calls `each` with every line, without its end. A line that is longer than the buffer is cut.
fn for_each_line(mut file: impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = [0u8; 8192];
    let mut filled = 0;
    let mut rest_of_a_cut_line = false;
    loop {
        let read = match file.read(&mut buffer[filled..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        filled += read;
        let mut from = 0;
        while let Some(length) = buffer[from..filled].iter().position(|&byte| byte == b'\n') {
            if !std::mem::take(&mut rest_of_a_cut_line) {
                each(&buffer[from..from + length]);
            }
            from += length + 1;
        }
        if from == 0 && filled == buffer.len() {
            if !std::mem::replace(&mut rest_of_a_cut_line, true) {
                each(&buffer);
            }
            filled = 0;
        } else {
            buffer.copy_within(from..filled, 0);
            filled -= from;
        }
        if read == 0 {
            if filled > 0 && !rest_of_a_cut_line {
                each(&buffer[..filled]);
            }
            return Ok(());
        }
    }
}

/// A line of `/proc/self/maps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// `rwxp`, or `s` at the end for shared memory.
    pub(crate) rights: &'a [u8],
    pub(crate) offset: u64,
    pub(crate) inode: u64,
    /// Empty for memory without a name.
    pub(crate) name: &'a [u8],
}

impl<'a> Line<'a> {
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let length = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            rest = after.get(1..).unwrap_or_default();
            word
        };
        let (range, rights, offset, _device, inode) = (word(), word(), word(), word(), word());
        let dash = range.iter().position(|&byte| byte == b'-')?;
        let line = Line {
            start: hex(&range[..dash])?,
            end: hex(&range[dash + 1..])?,
            rights,
            offset: hex(offset)?,
            inode: std::str::from_utf8(inode).ok()?.parse().ok()?,
            name: rest.trim_ascii_start(),
        };
        (line.start < line.end && rights.len() == 4).then_some(line)
    }
}

fn hex(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

/// The range of a line that may hold a stack.
fn stack(line: &[u8]) -> Option<Range> {
    let line = Line::parse(line)?;
    if !line.rights.starts_with(b"rw") || line.rights[3] != b'p' || line.inode != 0 {
        return None;
    }
    // glibc's stacks have no name. bionic's mapping of a thread ends with data that belongs to the thread.
    let whole = line.name == b"[stack]" || line.name.starts_with(b"[anon:stack_and_tls:");
    if !whole && !line.name.is_empty() && !line.name.starts_with(b"[stack:") {
        return None;
    }
    Some(Range { start: line.start.try_into().ok()?, end: line.end.try_into().ok()?, whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_private_writable_memory_without_a_file() {
        let range = |line: &str| stack(line.as_bytes()).map(|range| (range.start, range.end, range.whole));
        assert_eq!(range("7000-9000 rw-p 00000000 00:00 0 "), Some((0x7000, 0x9000, false)));
        assert_eq!(
            range("7000-9000 rw-p 00000000 00:00 0                  [stack]"),
            Some((0x7000, 0x9000, true))
        );
        assert_eq!(
            range("7000-9000 rw-p 00000000 00:00 0          [anon:stack_and_tls:77]"),
            Some((0x7000, 0x9000, true))
        );
        for other in [
            "7000-9000 rw-p 00000000 00:00 0                  [heap]",
            "7000-9000 rw-p 00000000 00:00 0                  [anon:scudo:primary]",
            "7000-9000 rw-s 00000000 00:00 0 ",
            "7000-9000 r--p 00000000 00:00 0 ",
            "7000-9000 rw-p 00000000 fe:00 12                 /x",
            "9000-7000 rw-p 00000000 00:00 0 ",
            "7000 rw-p",
            "",
        ] {
            assert_eq!(range(other), None, "{other}");
        }
    }

    #[test]
    fn lines_of_any_length_are_read() {
        for length in [0, 1, 8000, 8191, 8192, 8193, 20_000] {
            let text = format!("first\n{}\nlast", "x".repeat(length));
            let mut seen = Vec::new();
            for_each_line(text.as_bytes(), |line| seen.push(line.len())).unwrap();
            assert_eq!(
                (seen.first(), seen.last(), seen.len()),
                (Some(&5), Some(&4), 3),
                "{length}: {seen:?}"
            );
            assert_eq!(seen[1] == length, length <= 8192, "{seen:?}");
        }
    }
}
