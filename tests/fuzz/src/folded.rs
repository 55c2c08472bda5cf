//! A recording as a list of short pieces, so that a mutation changes one part only.
//!
//! A recording is mostly zeros, its parts start at multiples of 4 KiB, and its sections have checksums, so few mutations of the
//! file itself are useful. It is folded into pieces with a mark between them: a letter, and bytes without trailing zeros.
//!
//! ```text
//! h  the header                   t  the thread table    w  offset 4, bytes that are written there last
//! m  a block of main's ring       x  the strings         r  bytes after everything else
//! p  a block of the pool's ring   c  type 2, version 2, payload of a section
//! s  a block of the service ring
//! ```
//! An unfolded recording has consistent regions and correct checksums, unless a `w` or an `r` overwrites them.

use trace_format::section::HEADER_LEN as SECTION_HEADER_LEN;

/// Separates two pieces; it is not valid in text.
const MARK: [u8; 3] = [0xF5, 0x5F, 0xF5];
const HEADER: usize = 4096;
const BLOCK: usize = 8192;
const TABLE: usize = 128;
const ENTRY: usize = 32;
/// The most blocks of a ring that are unfolded.
const MAX_BLOCKS: usize = 32;
/// The most bytes of any other part that are unfolded.
const MAX_LENGTH: usize = 256 << 10;
const MAGIC: &[u8] = b"ANRSCOPE";

fn number(bytes: &[u8], at: usize, length: usize) -> usize {
    bytes.iter().skip(at).take(length).rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
}

fn pieces(folded: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = folded;
    while let Some(at) = rest.windows(MARK.len()).position(|bytes| bytes == MARK) {
        pieces.push(&rest[..at]);
        rest = &rest[at + MARK.len()..];
    }
    pieces.push(rest);
    pieces
}

/// CRC-32 (ISO-HDLC), bit by bit, independent of the reader's code.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xEDB8_8320 * (sum & 1)))
    })
}

/// Builds the recording from its pieces. Bytes that start like a recording are returned unchanged.
#[must_use]
pub fn unfold(folded: &[u8]) -> Vec<u8> {
    if folded.starts_with(MAGIC) {
        return folded.to_vec();
    }
    let mut header = vec![0; HEADER];
    let mut regions: [Vec<u8>; 5] = Default::default();
    let (mut sections, mut torn, mut patches) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces(folded) {
        let Some((letter, bytes)) = piece.split_first() else { continue };
        let ring = match letter {
            b'm' => 0,
            b'p' => 1,
            b's' => 2,
            b't' | b'x' => {
                let region = &mut regions[if *letter == b't' { 3 } else { 4 }];
                region.extend_from_slice(&bytes[..bytes.len().min(MAX_LENGTH.saturating_sub(region.len()))]);
                continue;
            }
            b'h' => {
                let length = bytes.len().min(HEADER);
                header[..length].copy_from_slice(&bytes[..length]);
                continue;
            }
            b'c' if bytes.len() >= 4 && sections.len() < MAX_LENGTH => {
                section(&bytes[..4], &bytes[4..], &mut sections);
                continue;
            }
            b'w' if bytes.len() >= 4 => {
                patches.push((number(bytes, 0, 4), &bytes[4..]));
                continue;
            }
            b'r' => {
                torn.extend_from_slice(bytes);
                continue;
            }
            _ => continue,
        };
        if regions[ring].len() < MAX_BLOCKS * BLOCK {
            let end = regions[ring].len() + BLOCK;
            regions[ring].extend_from_slice(&bytes[..bytes.len().min(BLOCK)]);
            regions[ring].resize(end, 0);
        }
    }
    let mut file = header;
    for (n, region) in regions.iter().enumerate() {
        let at = TABLE + n * ENTRY;
        let (offset, length) = (file.len() as u64, region.len() as u64);
        file[at..at + 4].copy_from_slice(&(n as u32 + 1).to_le_bytes());
        file[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
        file[at + 16..at + 24].copy_from_slice(&length.to_le_bytes());
        file.extend_from_slice(region);
        file.resize(file.len().next_multiple_of(HEADER), 0);
    }
    let fixed = file.len() as u64;
    file[..MAGIC.len()].copy_from_slice(MAGIC);
    file[12..16].copy_from_slice(&(HEADER as u32).to_le_bytes());
    file[16..20].copy_from_slice(&(BLOCK as u32).to_le_bytes());
    file[20..24].copy_from_slice(&5_u32.to_le_bytes());
    file[24..32].copy_from_slice(&fixed.to_le_bytes());
    file.extend_from_slice(&sections);
    file.extend_from_slice(&torn);
    for (at, bytes) in patches {
        file.iter_mut().skip(at).zip(bytes).for_each(|(old, new)| *old = *new);
    }
    file
}

fn section(kind_and_version: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    let mut header = b"SECT".to_vec();
    header.extend_from_slice(kind_and_version);
    header.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    header.extend_from_slice(&crc32(payload).to_le_bytes());
    let sum = crc32(&header);
    header.extend_from_slice(&sum.to_le_bytes());
    header.resize(SECTION_HEADER_LEN, 0);
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Splits a well-formed recording into its pieces.
#[must_use]
pub fn fold(recording: &[u8]) -> Vec<u8> {
    fn put(out: &mut Vec<u8>, letter: u8, bytes: &[u8]) {
        let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        if !out.is_empty() {
            out.extend_from_slice(&MARK);
        }
        out.push(letter);
        out.extend_from_slice(&bytes[..length]);
    }
    let mut out = Vec::new();
    put(&mut out, b'h', &recording[..HEADER]);
    for n in 0..number(recording, 20, 4) {
        let at = TABLE + n * ENTRY;
        let (kind, offset) = (number(recording, at, 4), number(recording, at + 8, 8));
        let region = &recording[offset..offset + number(recording, at + 16, 8)];
        match kind {
            1..=3 => {
                let used = region.chunks(BLOCK).filter(|block| block.iter().any(|byte| *byte != 0));
                used.for_each(|block| put(&mut out, b"mps"[kind - 1], block));
            }
            4 => put(&mut out, b't', region),
            5 => put(&mut out, b'x', region),
            _ => {}
        }
    }
    let mut at = number(recording, 24, 8);
    while recording[at..].starts_with(b"SECT") {
        let length = number(recording, at + 8, 8);
        let payload = at + SECTION_HEADER_LEN;
        let mut section = recording[at + 4..at + 8].to_vec();
        section.extend_from_slice(&recording[payload..payload + length]);
        put(&mut out, b'c', &section);
        at = (payload + length).next_multiple_of(8).min(recording.len());
    }
    out
}
