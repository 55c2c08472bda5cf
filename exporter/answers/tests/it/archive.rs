//! Zip archives: a bug report (`tests/data/bugreport.zip`, packed by Python's zipfile), and hostile ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use answers::dump::{Dump, DumpError, Opened, limits};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A file that is deleted on drop.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("anrscope-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn report() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bugreport.zip")
}

type Names = Vec<(String, Dump)>;

fn open(path: &Path) -> Result<(Names, Opened), DumpError> {
    let mut dumps = Vec::new();
    let opened = Dump::open_each(path, &mut |name, dump| dumps.push((name, dump)))?;
    Ok((dumps, opened))
}

/// An archive of one deflated entry.
fn archive(name: &str, packed: &[u8], method: u16, flags: u16) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04\x14\0".to_vec();
    let mut fields = flags.to_le_bytes().to_vec();
    fields.extend(method.to_le_bytes());
    fields.extend([0; 4]);
    fields.extend(Crc::new().sum().to_le_bytes());
    fields.extend((packed.len() as u32).to_le_bytes());
    fields.extend(0_u32.to_le_bytes());
    fields.extend((name.len() as u16).to_le_bytes());
    fields.extend([0; 2]);
    bytes.extend(&fields);
    bytes.extend(name.bytes());
    bytes.extend(packed);
    let directory = bytes.len() as u32;
    bytes.extend(b"PK\x01\x02\x14\0\x14\0");
    bytes.extend(&fields);
    bytes.extend([0; 10]);
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(name.bytes());
    let length = bytes.len() as u32 - directory;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(length.to_le_bytes());
    bytes.extend(directory.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn every_dump_of_a_bug_report_is_read_and_the_newest_anr_comes_first() {
    let (dumps, opened) = open(&report()).unwrap();
    let names: Vec<&str> = dumps.iter().map(|(name, _)| name.rsplit_once(':').unwrap().1).collect();
    assert_eq!(
        names,
        [
            "FS/data/anr/anr_2026-01-01-11-00-00-456",
            "FS/data/anr/anr_2025-12-31-08-00-00-000",
            "FS/data/tombstones/tombstone_00",
            "bugreport-phone-2026-01-01-11-01-00.txt",
        ]
    );
    assert_eq!((opened.dumps, opened.others, opened.warnings.len()), (4, 2, 0));
    assert_eq!(dumps[0].1, super::open("art14-deadlock.txt"));
    // The bug report's text has both traces, and logcat's report of the ANR.
    let text = &dumps[3].1;
    assert_eq!(text.sections.len(), 4, "{:?}", text.sections.iter().map(|s| s.title()).collect::<Vec<_>>());
    assert_eq!(text.anr_reports[0].pid, Some(4242));
    assert_eq!(text.answer().and_then(|section| section.pid), Some(4242));
}

#[test]
fn a_text_is_one_dump_and_a_name_of_an_entry_is_never_opened() {
    let path = super::data("art14-deadlock.txt");
    let (dumps, _) = open(&path).unwrap();
    assert_eq!((dumps.len(), dumps[0].0.as_str()), (1, path.to_str().unwrap()));
    let text = b"\"main\" prio=5 tid=1 Native\n  at a.B.c(D.java:1)\n";
    let outside =
        Temporary::new("outside.zip", &archive("../../../../tmp/anrscope-outside", &deflated(text), 8, 0));
    let (dumps, _) = open(&outside.0).unwrap();
    assert!(dumps[0].0.ends_with("outside.zip:../../../../tmp/anrscope-outside"), "{}", dumps[0].0);
    assert!(!Path::new("/tmp/anrscope-outside").exists());
}

#[test]
fn a_bomb_ends_with_an_error_that_names_the_file_and_the_limit() {
    // A megabyte of zeros, ending at a byte boundary, repeated; then an empty last block.
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&vec![0; 1 << 20]).unwrap();
    packer.flush().unwrap();
    let block = packer.get_ref().clone();
    let mut packed = block.repeat((limits::ENTRY >> 20) as usize + 2);
    packed.extend([3, 0]);
    let bomb = Temporary::new("bomb.zip", &archive("FS/data/anr/anr_1", &packed, 8, 0));
    let error = open(&bomb.0).unwrap_err().to_string();
    assert!(error.contains("bomb.zip as a zip archive: FS/data/anr/anr_1 unpacks to more than"), "{error}");
    assert!(error.contains(&limits::ENTRY.to_string()), "{error}");
}

#[test]
fn archives_without_a_dump_and_damaged_ones_are_refused_with_the_reason() {
    let text = deflated(b"what a day\n");
    for (name, bytes, reason) in [
        ("none.zip", archive("a.txt", &text, 8, 0), "none of its 1 entries is a thread dump"),
        ("encrypted.zip", archive("a.txt", &text, 8, 1), "it is encrypted"),
        ("packed.zip", archive("a.txt", &text, 93, 0), "its packing method 93 is not known"),
        ("cut.zip", archive("a.txt", &text, 8, 0)[..60].to_vec(), "its directory is missing"),
    ] {
        let file = Temporary::new(name, &bytes);
        let error = open(&file.0).unwrap_err();
        assert!(matches!(error, DumpError::Archive { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(name) && error.contains(reason) && error.contains("adb bugreport"), "{error}");
    }
    // A pipe has no directory.
    let error =
        Dump::read(Path::new("stdin"), std::fs::read(report()).unwrap().as_slice()).unwrap_err().to_string();
    assert!(error.contains("it is a zip archive: give its file"), "{error}");
}

#[test]
fn an_archive_that_is_cut_or_changed_anywhere_is_read_or_refused() {
    let whole = std::fs::read(report()).unwrap();
    let file = Temporary::new("changed.zip", &[]);
    for end in (0..whole.len()).step_by(11) {
        std::fs::write(&file.0, &whole[..end]).unwrap();
        assert!(open(&file.0).is_err(), "{end}");
    }
    // The directory and the last record, byte by byte.
    let directory = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    for at in directory..whole.len() {
        let mut changed = whole.clone();
        changed[at] = [0, 0xff, whole[at] ^ 0x10][at % 3];
        std::fs::write(&file.0, &changed).unwrap();
        if let Ok((dumps, opened)) = open(&file.0) {
            assert_eq!(dumps.len() as u64, opened.dumps);
        }
    }
}
