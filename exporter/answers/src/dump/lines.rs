//! Lines of bounded length from arbitrary bytes.

use std::io::{self, BufRead};

use super::limits;
use super::long_methods::TITLE;

/// Reads line by line into one buffer.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Offsets of the current line and of the next one.
    pub(crate) at: u64,
    pub(crate) next: u64,
    /// Number of the current line, from 1.
    pub(crate) number: u32,
    /// Number of lines whose end was skipped.
    pub(crate) cut: u64,
    /// Whether reading stopped at [`limits::TEXT`].
    pub(crate) stopped: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), at: 0, next: 0, number: 0, cut: 0, stopped: false }
    }

    /// The next line without its line end and NULs: some writers of /data/anr leave a NUL after each native
    /// stack. `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<String>> {
        self.buffer.clear();
        self.at = self.next;
        if self.next >= limits::TEXT {
            self.stopped = true;
            return Ok(None);
        }
        let mut was_cut = false;
        loop {
            let piece = match self.input.fill_buf() {
                Ok(piece) => piece,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if piece.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', piece);
            let length = end.unwrap_or(piece.len());
            let title = TITLE.as_bytes();
            let long = self.buffer.starts_with(title) || (self.buffer.is_empty() && piece.starts_with(title));
            let limit = if long { limits::LONG_METHODS } else { limits::LINE };
            let room = limit.saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&piece[..length.min(room)]);
            was_cut |= length > room;
            let used = length + usize::from(end.is_some());
            self.input.consume(used);
            self.next += used as u64;
            // A line without an end is as endless as a file.
            if end.is_some() || self.next >= limits::TEXT {
                break;
            }
        }
        if self.next == self.at {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        self.cut += u64::from(was_cut);
        self.buffer.retain(|&byte| byte != 0);
        let text = String::from_utf8_lossy(&self.buffer);
        Ok(Some(text.trim_end_matches('\r').to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_cut_or_mended() {
        let long = "x".repeat(limits::LINE + 5);
        let text = [b"a\r\n\0b\0\n\n\xff\xfe\n".as_slice(), long.as_bytes(), b"\nend"].concat();
        // Blocks of three bytes, so that lines end at any offset within a block.
        let mut lines = Lines::new(io::BufReader::with_capacity(3, text.as_slice()));
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((lines.number, lines.at, line.len(), line.chars().take(3).collect::<String>()));
        }
        let bad = "\u{fffd}\u{fffd}".to_owned();
        let expected = [
            (1, 0, 1, "a".to_owned()),
            (2, 3, 1, "b".to_owned()),
            (3, 7, 0, String::new()),
            (4, 8, 6, bad),
            (5, 11, limits::LINE, "xxx".to_owned()),
            (6, 11 + limits::LINE as u64 + 6, 3, "end".to_owned()),
        ];
        assert_eq!(all, expected);
        assert_eq!((lines.cut, lines.next, lines.stopped), (1, text.len() as u64, false));
    }
}
