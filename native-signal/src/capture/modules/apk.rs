//! The name of a file inside an APK that is mapped from there.

use crate::elf::number;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// How far before a file's bytes its header may start: the name, and padding to 16 KiB.
const MOST_HEADER: u64 = 20 << 10;
const HEADER: usize = 30;

/// The name of the entry of a zip whose bytes start at this offset, as in `lib/arm64-v8a/libx.so`.
pub(super) fn entry(path: &str, offset: u64) -> Option<String> {
    let from = offset.saturating_sub(MOST_HEADER);
    let mut before = vec![0; (offset - from) as usize];
    File::open(path).ok()?.read_exact_at(&mut before, from).ok()?;
    last_name(&before)
}

/// The name in the local file header that ends where these bytes do (APPNOTE.TXT, 4.3.7).
fn last_name(before: &[u8]) -> Option<String> {
    (0..before.len().checked_sub(HEADER)? + 1).rev().find_map(|at| {
        let header = &before[at..];
        if !header.starts_with(b"PK\x03\x04") {
            return None;
        }
        let (name, extra) = (number(header, 26, 2)? as usize, number(header, 28, 2)? as usize);
        let name_bytes = header.get(HEADER..HEADER + name)?;
        (HEADER + name + extra == header.len())
            .then(|| std::str::from_utf8(name_bytes).ok().map(str::to_owned))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, extra: usize) -> Vec<u8> {
        let mut header = vec![0; HEADER];
        header[..4].copy_from_slice(b"PK\x03\x04");
        header[26..28].copy_from_slice(&(name.len() as u16).to_le_bytes());
        header[28..30].copy_from_slice(&(extra as u16).to_le_bytes());
        [header, name.as_bytes().to_vec(), vec![0; extra]].concat()
    }

    #[test]
    fn the_header_that_ends_at_the_bytes_counts() {
        let earlier = [header("AndroidManifest.xml", 0), vec![1; 100]].concat();
        let zip = [earlier, header("lib/x86_64/liba.so", 4000)].concat();
        assert_eq!(last_name(&zip).as_deref(), Some("lib/x86_64/liba.so"));
        assert_eq!(last_name(&zip[..zip.len() - 1]), None);
        assert_eq!(last_name(b"PK\x03\x04"), None);
    }
}
