//! The protection of a page, read and changed.

use super::error::HookError;
use crate::capture::Line;
use crate::error::OsError;
use nix::errno::Errno;
use std::{fs, io};

/// What `/proc/self/maps` says of the mapping that holds this address: `PROT_*`, if it is private.
pub(super) fn of(address: usize) -> io::Result<Option<i32>> {
    Ok(find(&fs::read_to_string("/proc/self/maps")?, address))
}

fn find(maps: &str, address: usize) -> Option<i32> {
    let mut mappings = maps.lines().filter_map(|line| Line::parse(line.as_bytes()));
    let rights = mappings.find(|line| (line.start..line.end).contains(&(address as u64)))?.rights;
    let flag = |at: usize, letter: u8, value: i32| if rights[at] == letter { value } else { 0 };
    // A shared page is the file's: writing to it would change every process.
    (rights[3] == b'p').then(|| {
        flag(0, b'r', libc::PROT_READ) | flag(1, b'w', libc::PROT_WRITE) | flag(2, b'x', libc::PROT_EXEC)
    })
}

/// Sets the protection of the page of this address.
pub(super) fn set(address: usize, protection: i32) -> Result<(), HookError> {
    // SAFETY: the call has one plain argument.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).ok().filter(|page| page.is_power_of_two()).unwrap_or(4096);
    let start = address & !(page - 1);
    // SAFETY: the page is part of a loaded object that holds a slot; the callers only add the right to write to what
    // it has, or take it away again, so no thread that could read or run it before is affected.
    if unsafe { libc::mprotect(start as *mut libc::c_void, page, protection) } != 0 {
        return Err(OsError { call: "mprotect", errno: Errno::last_raw() }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps() {
        let maps = "55a0-55b0 r--p 00000000 00:00 0 /x\n55b0-55c0 rw-s 0 0 0\n7000-8000 rwxp 0 0 0 [heap]\n";
        assert_eq!(find(maps, 0x55a0), Some(libc::PROT_READ));
        assert_eq!(find(maps, 0x55b8), None);
        assert_eq!(find(maps, 0x7fff), Some(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC));
        assert_eq!(find(maps, 0x8000), None);
        assert_eq!(find("gibberish\n\n-\n", 1), None);
    }

    #[test]
    fn of_this_process() {
        let mut writable = 1_u8;
        let there = of(std::ptr::from_mut(&mut writable) as usize).unwrap();
        assert_eq!(there, Some(libc::PROT_READ | libc::PROT_WRITE));
        assert_eq!(
            of(of_this_process as *const () as usize).unwrap(),
            Some(libc::PROT_READ | libc::PROT_EXEC)
        );
        assert_eq!(of(0).unwrap(), None);
    }
}
