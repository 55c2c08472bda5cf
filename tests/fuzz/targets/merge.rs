//! Perfetto traces of other tools, in which `anrscope merge` searches clocks and tracks.
//!
//! An input that starts with 'Z' stands for a compressed file. The rest gives a prefix and a piece that is repeated, so that a
//! few bytes stand for hundreds of megabytes.
#![no_main]

use std::io::{self, Read, Write};
use std::path::Path;

use exporter::merge::{Budget, Metered, RemoveEnd, Walk};

/// The most bytes that an input starting with 'Z' unpacks to: more than the budget of a small file.
const MAX_UNPACKED: u64 = 96 << 20;

/// A writer that only counts the bytes.
struct Counted<'c>(&'c mut u64);

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RemoveEnd for Counted<'_> {
    fn remove_end(&mut self, count: u64) -> io::Result<()> {
        *self.0 -= count;
        Ok(())
    }
}

/// A reader that repeats a piece forever.
struct Repeated<'p> {
    piece: &'p [u8],
    at: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() {
            return Ok(0);
        }
        for byte in &mut *buffer {
            *byte = self.piece[self.at];
            self.at = (self.at + 1) % self.piece.len();
        }
        Ok(buffer.len())
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Merge never holds a whole packet or unpacked file.
    fuzz::bounded(bytes.len(), 1, || {
        let (mut latest, mut written) = (0, 0);
        let budget = Budget::for_inputs(bytes.len() as u64);
        let mut walk = Walk::new(Path::new("x"), Counted(&mut written), &budget, &mut latest);
        let (done, length) = match bytes {
            [b'Z', first, rest @ ..] => {
                let (prefix, piece) = rest.split_at(rest.len().min(usize::from(*first)));
                let unpacked = prefix.chain(Repeated { piece, at: 0 }).take(MAX_UNPACKED);
                (walk.all(Metered::new(unpacked, &budget)), MAX_UNPACKED)
            }
            _ => (walk.all(bytes), bytes.len() as u64),
        };
        if done.is_ok() {
            let whole = walk.finish().is_ok_and(|(_, warnings)| warnings.is_empty());
            assert!(written <= length && (!whole || written > 0));
        }
    });
});
