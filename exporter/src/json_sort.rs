//! Sorts the lines of a JSON trace by time, using temporary files for what does not fit into memory.
//!
//! ```text
//! lines -> memory, by (descriptions first, time, longest first) -> runs on disk -> merged -> output
//! ```
//! Lines of the same time and length keep their order, by which the engine nests them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::output::private;

/// Maximum number of bytes sorted in memory.
const MAX_MEMORY: usize = 48 << 20;

/// The sort key of a line: track descriptions first, then by time in ns, then longest first.
type Key = (bool, u64, Reverse<u64>);

/// The value of `key` in ns, from a line whose times are microseconds with three decimals.
fn nanos(line: &[u8], key: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(line, key)? + key.len();
    let mut ns: u64 = 0;
    for digit in line[at..].iter().filter(|b| **b != b'.').take_while(|b| b.is_ascii_digit()) {
        ns = ns.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    }
    Some(ns)
}

fn key(line: &[u8]) -> Key {
    // Only the part before the name is searched: a name may contain anything.
    let head = &line[..memchr::memmem::find(line, b"\"name\"").unwrap_or(line.len())];
    let at = nanos(head, b"\"ts\":");
    (at.is_some(), at.unwrap_or(0), Reverse(nanos(head, b"\"dur\":").unwrap_or(0)))
}

/// A temporary file that is deleted when it is closed, or on drop if the system cannot do that.
struct Run {
    lines: BufReader<File>,
    path: PathBuf,
    line: Vec<u8>,
}

impl Run {
    fn write(lines: &[u8], order: &[(Key, usize, usize)]) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let directory = std::env::temp_dir();
        // Another user could open the file before it has no name any more.
        let mut options = private();
        options.read(true);
        let (path, file) = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!("anrscope-sort-{}-{number}", std::process::id()));
            match options.open(&path) {
                Ok(file) => break (path, file),
                // Left by a process that was killed and had the same pid.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1 << 20 => {}
                Err(e) => return Err(e),
            }
        };
        #[cfg(unix)]
        std::fs::remove_file(&path)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        for (_, begin, end) in order {
            out.write_all(&lines[*begin..*end])?;
            out.write_all(b"\n")?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Self { lines: BufReader::with_capacity(64 << 10, file), path, line: Vec::new() })
    }

    /// Advances to the next line in `line`; returns its key.
    fn advance(&mut self) -> io::Result<Option<Key>> {
        self.line.clear();
        if self.lines.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.line.pop();
        Ok(Some(key(&self.line)))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Accepts a JSON trace, one event per line, and passes it on sorted when it is complete.
pub(crate) struct SortedLines<W> {
    out: W,
    limit: usize,
    /// The incomplete last line.
    partial: Vec<u8>,
    begun: bool,
    ended: bool,
    lines: Vec<u8>,
    order: Vec<(Key, usize, usize)>,
    runs: Vec<Run>,
}

impl<W: Write> SortedLines<W> {
    pub(crate) fn new(out: W) -> Self {
        Self::with_limit(out, MAX_MEMORY)
    }

    fn with_limit(out: W, limit: usize) -> Self {
        let (partial, lines, order, runs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { out, limit, partial, begun: false, ended: false, lines, order, runs }
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            return self.whole(line);
        }
        if self.ended || line.starts_with(b"]") {
            if !std::mem::replace(&mut self.ended, true) {
                self.merge()?;
            }
            return self.whole(line);
        }
        let line = line.strip_suffix(b",").unwrap_or(line);
        if line.is_empty() {
            return Ok(());
        }
        let begin = self.lines.len();
        self.lines.extend_from_slice(line);
        self.order.push((key(line), begin, self.lines.len()));
        if self.lines.len() >= self.limit { self.spill() } else { Ok(()) }
    }

    fn whole(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.write_all(b"\n")
    }

    fn spill(&mut self) -> io::Result<()> {
        self.order.sort_by_key(|(key, ..)| *key);
        self.runs.push(Run::write(&self.lines, &self.order)?);
        self.lines.clear();
        self.order.clear();
        Ok(())
    }

    fn merge(&mut self) -> io::Result<()> {
        let mut first = true;
        let out = &mut self.out;
        let mut put = |line: &[u8]| {
            if !std::mem::take(&mut first) {
                out.write_all(b",\n")?;
            }
            out.write_all(line)
        };
        if self.runs.is_empty() {
            self.order.sort_by_key(|(key, ..)| *key);
            for (_, begin, end) in &self.order {
                put(&self.lines[*begin..*end])?;
            }
        } else {
            if !self.order.is_empty() {
                self.order.sort_by_key(|(key, ..)| *key);
                self.runs.push(Run::write(&self.lines, &self.order)?);
            }
            let runs = &mut self.runs;
            let mut next = BinaryHeap::new();
            for (i, run) in runs.iter_mut().enumerate() {
                next.extend(run.advance()?.map(|key| Reverse((key, i))));
            }
            // Of equal lines, the earlier run's comes first.
            while let Some(Reverse((_, i))) = next.pop() {
                put(&runs[i].line)?;
                next.extend(runs[i].advance()?.map(|key| Reverse((key, i))));
            }
        }
        if !first {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }
}

impl<W: Write> Write for SortedLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let mut line = std::mem::take(&mut self.partial);
            line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            self.line(&line)?;
            line.clear();
            self.partial = line;
        }
        self.partial.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(ts: u64, dur: u64, name: u32) -> String {
        let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        format!(
            "{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":{},\"name\":\"{name} \\\"ts\\\":9\"}}",
            us(ts),
            us(dur)
        )
    }

    fn sorted(lines: &[String], limit: usize, piece: usize) -> String {
        let text = format!("{{\"traceEvents\":[\n{}\n],\"metadata\":{{}}}}\n", lines.join(",\n"));
        let mut out = Vec::new();
        let mut sorter = SortedLines::with_limit(&mut out, limit);
        text.as_bytes().chunks(piece).for_each(|piece| sorter.write_all(piece).unwrap());
        sorter.flush().unwrap();
        drop(sorter);
        assert_eq!(out.len(), text.len());
        String::from_utf8(out).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_a_temporary_file() {
        use std::os::unix::fs::MetadataExt;
        let run = Run::write(b"", &[]).unwrap();
        let meta = run.lines.get_ref().metadata().unwrap();
        assert_eq!((meta.mode() & 0o777, meta.nlink()), (0o600, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lines_come_by_time_and_keep_their_order_where_it_is_the_same(
            events in prop::collection::vec((0..5000u64, 0..3u64), 1..60),
            limit in 100..3000usize,
            piece in 1..200usize,
        ) {
            let mut numbered: Vec<_> =
                events.iter().enumerate().map(|(i, (ts, dur))| (*ts, *dur, i as u32)).collect();
            let mut lines: Vec<_> = numbered.iter().map(|(ts, dur, i)| line(*ts, *dur, *i)).collect();
            let description = "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"\\\"ts\\\":1\"}}";
            lines.push(description.to_owned());
            numbered.sort_by_key(|(ts, dur, _)| (*ts, Reverse(*dur)));
            let mut wanted = vec![description.to_owned()];
            wanted.extend(numbered.iter().map(|(ts, dur, i)| line(*ts, *dur, *i)));
            let found = sorted(&lines, limit, piece);
            let found: Vec<_> = found.lines().collect();
            let inside: Vec<_> =
                found[1..found.len() - 1].iter().map(|l| l.trim_end_matches(',').to_owned()).collect();
            prop_assert_eq!(inside, wanted);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&found.join("\n")).is_ok());
        }
    }
}
