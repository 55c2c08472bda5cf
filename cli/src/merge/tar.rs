//! Writes tar archives (POSIX ustar), as far as a few files with plain names need.

use std::path::Path;

use anyhow::bail;

/// Everything is padded to a multiple of this.
pub(super) const BLOCK: usize = 512;
/// Maximum length of a member's name.
const MAX_NAME: usize = 100;
/// Eleven octal digits.
const MAX_LENGTH: u64 = (1 << 33) - 1;

/// Builds the header of a member.
pub(super) fn header(name: &str, length: u64) -> anyhow::Result<[u8; BLOCK]> {
    if length > MAX_LENGTH {
        bail!("{name} is larger than the maximum of 8 GiB for a file in an archive: export a part of it");
    }
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{length:011o}\0"));
    // No time: equal inputs make equal archives.
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\0");
    put(263, "00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// The padding after a member of this length.
pub(super) fn padding(length: u64) -> &'static [u8] {
    let over = (length % BLOCK as u64) as usize;
    &[0; BLOCK][..if over == 0 { 0 } else { BLOCK - over }]
}

/// A file's name in the archive: as on disk, if it is unique; a recording becomes a trace.
pub(super) fn member_name(path: &Path, recording: bool, number: usize, taken: &[String]) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = if recording { format!("{}.pftrace", name.trim_end_matches(".anrscope")) } else { name };
    if name.len() <= MAX_NAME && name != "perfetto_manifest.json" && !taken.contains(&name) {
        return name;
    }
    let end = Path::new(&name).extension().map_or("trace".into(), |e| e.to_string_lossy());
    format!("trace-{}.{}", number + 1, if end.len() > 20 { "trace".into() } else { end })
}
