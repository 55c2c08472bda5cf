//! Reads this process's memory through the kernel, which answers with an error where nothing is mapped.

/// Copies up to `length` bytes at `address` to `to`; returns how many from the start could be read. Safe in a signal handler.
///
/// # Safety
///
/// `to` has room for `length` bytes.
pub(super) unsafe fn copy(address: u64, to: *mut u8, length: usize) -> usize {
    let local = libc::iovec { iov_base: to.cast(), iov_len: length };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: length };
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::syscall(libc::SYS_getpid) };
    // SAFETY: by contract; the kernel checks the other address.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            own,
            &raw const local,
            1usize,
            &raw const remote,
            1usize,
            0usize,
        )
    };
    usize::try_from(read).unwrap_or(0)
}

/// Fills `to` with what is at `address`; returns how many bytes from the start could be read.
pub(super) fn read(address: u64, to: &mut [u8]) -> usize {
    if usize::try_from(address).is_err() {
        return 0;
    }
    // SAFETY: the slice's own length.
    unsafe { copy(address, to.as_mut_ptr(), to.len()) }.min(to.len())
}

/// `length` bytes.
pub(super) fn bytes(address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    (read(address, &mut bytes) == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_is_not_read() {
        let text = *b"abcdefgh";
        assert_eq!(bytes(text.as_ptr().addr() as u64, 8), Some(text.to_vec()));
        assert_eq!(bytes(16, 8), None);
        assert_eq!(bytes(u64::MAX - 3, 8), None);
        // A page, and nothing behind it.
        // SAFETY: a new mapping wherever the kernel likes.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                128 << 10,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(pages, libc::MAP_FAILED);
        // SAFETY: the upper half of the mapping just made.
        assert_eq!(unsafe { libc::mprotect(pages.byte_add(64 << 10), 64 << 10, libc::PROT_NONE) }, 0);
        let edge = pages.addr() as u64 + (64 << 10);
        assert_eq!(read(edge - 100, &mut [1; 200]), 100);
        // SAFETY: the mapping just made.
        unsafe { libc::munmap(pages, 128 << 10) };
    }
}
