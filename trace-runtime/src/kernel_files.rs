//! Small files of the kernel, such as those under `/proc`, read into a buffer of the caller's.

/// What a file has, up to the length of the buffer; `None` if it cannot be read.
pub(crate) fn read<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    native_signal::read_file(path, buffer).ok()?
}

/// A file's text from the bracket behind the thread's name on, which need not be UTF-8, or the whole text if it has no name.
pub(crate) fn behind_name(bytes: &[u8]) -> Option<&str> {
    let from = bytes.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    std::str::from_utf8(&bytes[from..]).ok()
}

/// What a file of a thread of this process has: `/proc/self/task/TID/NAME`.
pub(crate) fn of_thread<'a>(tid: u32, name: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    native_signal::read_thread_file(tid as i32, name, buffer).ok()?
}

/// The number behind a key at the start of a line, such as `MemAvailable:    4 kB` or `pswpin 7`.
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix([':', ' ']))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}
