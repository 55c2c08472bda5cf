//! Zip files of every kind, broken ones included. They are built here byte by byte, or by the zip crate, never by the
//! code under test; the zip crate reads the outputs.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use instrumenter::{Error, Input, MapPaths, Options, SkipReason, Summary, Warning, instrument};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::support::*;

/// An entry as it is stored in the file.
#[derive(Clone)]
struct Raw<'a> {
    name: &'a [u8],
    data: &'a [u8],
    method: u16,
    flags: u16,
    size: u64,
    crc: u32,
    extra: &'a [u8],
    comment: &'a [u8],
    /// Whether its sizes are in zip64 fields.
    large: bool,
}

impl<'a> Raw<'a> {
    fn stored(name: &'a str, data: &'a [u8]) -> Self {
        let (method, flags, size, crc) = (0, 0x800, data.len() as u64, crc32(data));
        Self { name: name.as_bytes(), data, method, flags, size, crc, extra: b"", comment: b"", large: false }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(
            crc ^ u32::from(byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 },
        )
    })
}

/// Builds a zip file of these entries after `prefix`; `zip64` adds the zip64 end records.
fn zip(prefix: &[u8], entries: &[Raw<'_>], comment: &[u8], zip64: bool) -> Vec<u8> {
    let mut out = prefix.to_vec();
    let mut central = Vec::new();
    for entry in entries {
        let at = (out.len() - prefix.len()) as u32;
        let sizes = [entry.data.len() as u64, entry.size];
        let shown = |size: u64| if entry.large { u32::MAX } else { size as u32 }.to_le_bytes();
        let descriptor = entry.flags & 8 != 0;
        let mut large = Vec::new();
        if entry.large {
            large.extend([1, 0, 16, 0]);
            large.extend(sizes[1].to_le_bytes());
            large.extend(sizes[0].to_le_bytes());
        }
        let common = |out: &mut Vec<u8>, local: bool| {
            let hidden = local && descriptor;
            for field in [20, entry.flags, entry.method, 0x6A32, 0x5244] {
                out.extend(field.to_le_bytes());
            }
            out.extend(if hidden { [0; 4] } else { entry.crc.to_le_bytes() });
            out.extend(if hidden { [0; 4] } else { shown(sizes[0]) });
            out.extend(if hidden { [0; 4] } else { shown(sizes[1]) });
            out.extend((entry.name.len() as u16).to_le_bytes());
            out.extend(((entry.extra.len() + large.len()) as u16).to_le_bytes());
        };
        out.extend(b"PK\x03\x04");
        common(&mut out, true);
        out.extend(entry.name);
        out.extend(&large);
        out.extend(entry.extra);
        out.extend(entry.data);
        if descriptor {
            out.extend(b"PK\x07\x08");
            out.extend(entry.crc.to_le_bytes());
            sizes.iter().for_each(|&size| out.extend((size as u32).to_le_bytes()));
        }
        central.extend(b"PK\x01\x02\x14\x03");
        common(&mut central, false);
        central.extend((entry.comment.len() as u16).to_le_bytes());
        central.extend([0, 0, 1, 0]);
        central.extend(0o100_750_u32.rotate_left(16).to_le_bytes());
        central.extend(at.to_le_bytes());
        central.extend(entry.name);
        central.extend(&large);
        central.extend(entry.extra);
        central.extend(entry.comment);
    }
    let (at, length, count) = ((out.len() - prefix.len()) as u64, central.len() as u64, entries.len() as u64);
    out.extend(central);
    if zip64 {
        let end = out.len() as u64;
        out.extend(b"PK\x06\x06");
        out.extend(44_u64.to_le_bytes());
        out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        [count, count, length, at].iter().for_each(|value| out.extend(value.to_le_bytes()));
        out.extend(b"PK\x06\x07\0\0\0\0");
        out.extend(end.to_le_bytes());
        out.extend(1_u32.to_le_bytes());
    }
    out.extend(b"PK\x05\x06\0\0\0\0");
    let shown = |value: u64, all: u64| if zip64 { all } else { value };
    (0..2).for_each(|_| out.extend((shown(count, 0xFFFF) as u16).to_le_bytes()));
    out.extend((shown(length, 0xFFFF_FFFF) as u32).to_le_bytes());
    out.extend((shown(at, 0xFFFF_FFFF) as u32).to_le_bytes());
    out.extend((comment.len() as u16).to_le_bytes());
    out.extend(comment);
    out
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        Self(directory(name))
    }

    fn run(&self, bytes: &[u8]) -> Result<(Summary, Vec<u8>), Error> {
        self.run_as("in.jar", bytes)
    }

    fn run_as(&self, name: &str, bytes: &[u8]) -> Result<(Summary, Vec<u8>), Error> {
        let (from, to) = (self.0.join(name), self.0.join("out").join(name));
        fs::write(&from, bytes).unwrap();
        let maps = MapPaths::beside(self.0.join("methodMapping.txt"));
        let options = Options { threads: 2, ..Options::default() };
        let summary = instrument(&[Input::new(&from, &to)], &maps, &options, &|_| {})?;
        Ok((summary, fs::read(to).unwrap()))
    }

    /// Returns the reason for which `bytes` are refused, and checks that no output is left.
    #[track_caller]
    fn refused(&self, bytes: &[u8]) -> String {
        let _ = fs::remove_dir_all(self.0.join("out"));
        let error = self.run(bytes).unwrap_err();
        assert!(matches!(error, Error::NotAnArchive { .. }), "{error:?}");
        assert!(!self.0.join("out/in.jar").exists());
        error.to_string()
    }
}

fn warnings(summary: &Summary) -> Vec<Warning> {
    summary.warnings.iter().map(|(_, warning)| warning.clone()).collect()
}

#[test]
fn descriptors_zip64_and_a_script_before_it_are_read() {
    let place = Place::new("archive_kinds");
    let class = old_class();
    let plain = Raw::stored("fixture/Old.class", class);
    let described = Raw { flags: 0x808, ..plain.clone() };
    let large = Raw { large: true, ..plain.clone() };
    let other = Raw::stored("text.txt", b"text");
    let (_, expected) = place.run(&zip(b"", &[plain.clone(), other.clone()], b"", false)).unwrap();
    let expected = entries(&expected);
    assert!(expected[0].1.len() > class.len());
    for (first, prefix, zip64) in [
        (&described, &b""[..], false),
        (&large, b"", false),
        (&plain, b"", true),
        (&large, b"#!/bin/sh\nexec java -jar $0\n", true),
    ] {
        let input = zip(prefix, &[first.clone(), other.clone()], b"", zip64);
        let (summary, output) = place.run(&input).unwrap();
        assert_eq!((summary.classes, summary.classes_changed), (1, 1));
        assert_eq!(summary.warnings, []);
        assert!(output.starts_with(prefix));
        assert_eq!(entries(&output), expected);
    }
}

#[test]
fn times_attributes_comments_and_extra_fields_are_kept() {
    let place = Place::new("archive_attributes");
    let class = old_class();
    // A Unix time stamp, the field that marks a jar, and the padding of zipalign.
    let stamp = [0x55, 0x54, 5, 0, 1, 1, 2, 3, 4];
    let jar_mark = [0xFE, 0xCA, 0, 0, 0, 0, 0];
    let entries = [
        Raw { extra: &jar_mark, ..Raw::stored("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n") },
        Raw { extra: &stamp, comment: b"the class", ..Raw::stored("fixture/Old.class", class) },
        Raw { extra: &stamp, comment: b"a text", large: true, ..Raw::stored("text.txt", b"text") },
    ];
    let (_, output) = place.run(&zip(b"", &entries, b"all of it", false)).unwrap();
    // In the local and in the central header; the zip crate does not expose all of them.
    let times = |field: &[u8]| output.windows(field.len()).filter(|window| *window == field).count();
    assert_eq!((times(&jar_mark), times(&stamp)), (2, 4));
    let mut output = ZipArchive::new(Cursor::new(output)).unwrap();
    assert_eq!(output.comment(), b"all of it");
    for (index, comment) in ["", "the class", "a text"].into_iter().enumerate() {
        let entry = output.by_index(index).unwrap();
        assert_eq!(entry.comment(), comment);
        let time = entry.last_modified().unwrap();
        assert_eq!((time.year(), time.month(), time.day()), (2021, 2, 4));
        assert_eq!((time.hour(), time.minute()), (13, 17));
        assert_eq!(entry.unix_mode(), Some(0o100_750));
    }
}

#[test]
fn unreadable_entries_are_copied_and_reported() {
    let place = Place::new("archive_unreadable");
    let class = old_class();
    let good = Raw::stored("fixture/Old.class", class);
    for (bad, reason) in [
        (Raw { flags: 0x801, ..Raw::stored("A.class", b"secret") }, "encrypted"),
        (Raw { flags: 0x809, ..Raw::stored("A.class", b"secret") }, "encrypted"),
        (Raw { method: 93, ..Raw::stored("A.class", b"zstd") }, "method 93"),
        (Raw { crc: 7, ..Raw::stored("A.class", class) }, "CRC-32"),
        (Raw { method: 8, ..Raw::stored("A.class", class) }, "deflate"),
        (Raw { method: 8, size: 5, ..Raw::stored("A.class", &[3, 0]) }, "size"),
        (Raw { method: 8, size: 60 << 20, ..Raw::stored("A.class", &[3, 0]) }, "larger than its data"),
        (Raw { size: 3 << 40, large: true, ..Raw::stored("A.class", b"x") }, "larger than 64 MiB"),
    ] {
        let (summary, output) = place.run(&zip(b"", &[bad.clone(), good.clone()], b"", false)).unwrap();
        assert_eq!(summary.classes_changed, 1);
        let skips: Vec<_> =
            summary.skipped.iter().map(|skip| (skip.class.as_str(), skip.reason.to_string())).collect();
        assert!(
            matches!(&skips[..], [("A.class", reported)] if reported.contains(reason)),
            "{reason}: {skips:?}"
        );
        assert!(matches!(summary.skipped[0].reason, SkipReason::Unreadable(_)));
        // The bytes and all metadata are unchanged.
        let mut output = ZipArchive::new(Cursor::new(output)).unwrap();
        let mut entry = output.by_index_raw(0).unwrap();
        assert_eq!((entry.size(), entry.crc32()), (bad.size, bad.crc), "{reason}");
        let mut data = Vec::new();
        std::io::copy(&mut entry, &mut data).unwrap();
        assert_eq!(data, bad.data);
    }
}

#[test]
fn escaping_and_odd_names_are_kept_and_reported() {
    let place = Place::new("archive_names");
    let names: [&[u8]; 6] =
        [b"../up.txt", b"/root.txt", b"c:\\x.txt", b"a/../../b", b"\xFF\xFE.txt", b"a..b/c"];
    let entries: Vec<_> =
        names.iter().map(|&name| Raw { name, flags: 0, ..Raw::stored("", b"text") }).collect();
    let (summary, output) = place.run(&zip(b"", &entries, b"", false)).unwrap();
    assert_eq!(warnings(&summary).len(), 4);
    assert!(warnings(&summary).iter().all(|warning| matches!(warning, Warning::EscapingName(_))));
    let mut output = ZipArchive::new(Cursor::new(output)).unwrap();
    for (index, name) in names.iter().enumerate() {
        assert_eq!(output.by_index_raw(index).unwrap().name_raw(), *name);
    }
}

/// Names that differ only by case are different entries in a jar.
#[test]
fn entry_names_are_case_sensitive() {
    let place = Place::new("archive_case");
    let class = old_class();
    let (summary, output) =
        place.run(&jar_bytes(&[("a/b.class", class), ("A/B.class", class), ("a/B.class", class)])).unwrap();
    assert_eq!((summary.classes_changed, &summary.warnings[..]), (3, &[][..]));
    let names: Vec<_> = entries(&output).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..3], ["a/b.class", "A/B.class", "a/B.class"]);
}

#[test]
fn a_multi_release_jar_has_one_id_for_all_versions_of_a_method() {
    let place = Place::new("archive_versions");
    let class = old_class();
    let jar = jar_bytes(&[
        ("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\nMulti-Release: true\n"),
        ("fixture/Old.class", class),
        ("META-INF/versions/11/fixture/Old.class", class),
    ]);
    let (summary, output) = place.run(&jar).unwrap();
    assert_eq!((summary.classes, summary.classes_changed), (2, 2));
    let output = entries(&output);
    assert_eq!(output[1].1, output[2].1);
    assert_ne!(output[1].1, class);
}

#[test]
fn many_entries_are_read_without_zip64_and_written_with_it() {
    let place = Place::new("archive_many");
    let names: Vec<String> = (0..66_000).map(|number| format!("{number}")).collect();
    let entries: Vec<_> = names.iter().map(|name| Raw::stored(name, b"")).collect();
    // As old tools wrote it: the count modulo 65,536.
    let mut input = zip(b"", &entries, b"", false);
    let (summary, output) = place.run(&input).unwrap();
    assert_eq!(summary.warnings, []);
    assert_eq!(ZipArchive::new(Cursor::new(&output)).unwrap().len(), 66_001);
    let at = input.len() - 12;
    input[at] ^= 1;
    assert!(place.refused(&input).contains("the number of entries differs"));
}

#[test]
fn broken_archives_are_refused_with_the_offset() {
    let place = Place::new("archive_broken");
    let [a, b] = [Raw::stored("a.txt", b"aaaa"), Raw::stored("b.txt", b"bbbb")];
    let good = zip(b"", &[a, b], b"note", false);
    place.run(&good).unwrap();
    let central = good.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let end = good.windows(4).position(|window| window == b"PK\x05\x06").unwrap();
    let second = good[4..].windows(4).position(|window| window == b"PK\x03\x04").unwrap() + 4;
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    for (bytes, reason) in [
        (changed(0, b'Q'), "no local header of an entry at byte 0"),
        (changed(central, b'Q'), "no central header at the start of the directory"),
        (changed(central + 20, 99), "extends into the directory"),
        (changed(central + 42, 200), "outside the file"),
        (changed(central + 28, 255), "central header"),
        (changed(end, b'Q'), "no end of a zip directory"),
        (changed(end + 4, 1), "multi-disk"),
        (changed(end + 12, 255), ""),
        (changed(end + 16, 255), "starts after its own end"),
        // Both entries are the second one.
        (changed(central + 42, second as u8), "two entries overlap"),
    ] {
        let reported = place.refused(&bytes);
        assert!(reported.contains(reason) && reported.contains("at byte "), "{reason}: {reported}");
        assert!(reported.contains("in.jar") && reported.contains("fetch it again"), "{reported}");
    }
}

#[test]
fn a_bomb_in_an_aar_is_refused() {
    let place = Place::new("archive_bomb");
    // 600 MiB of zeros in 600 KiB.
    let mut inner = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    inner.start_file("classes.jar", options).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..600).for_each(|_| inner.write_all(&zeros).unwrap());
    let bomb = inner.finish().unwrap().into_inner();
    assert!(bomb.len() < 1 << 20);
    let error = place.run_as("in.aar", &bomb).unwrap_err().to_string();
    assert!(error.contains("classes.jar") && error.contains("larger than 512 MiB"), "{error}");
    assert_eq!(files(&place.0).len(), 1);
}

fn sample() -> Vec<u8> {
    let class = old_class();
    let mut jar = ZipArchive::new(Cursor::new(jar_bytes(&[("fixture/Old.class", class)]))).unwrap();
    let mut deflated = Vec::new();
    std::io::copy(&mut jar.by_index_raw(0).unwrap(), &mut deflated).unwrap();
    let deflated = Raw {
        method: 8,
        size: class.len() as u64,
        crc: crc32(class),
        ..Raw::stored("a/Old.class", &deflated)
    };
    let entries = [
        deflated,
        Raw { flags: 0x808, large: true, extra: &[9, 9, 1, 0, 7], ..Raw::stored("b.txt", b"text") },
    ];
    zip(b"#!/bin/sh\n", &entries, b"comment", true)
}

/// Runs over broken bytes: the result is an error, or an archive that others can read if they could before; never a
/// panic.
fn try_broken(place: &Place, bytes: &[u8]) -> bool {
    match place.run(bytes) {
        Ok((_, output)) => {
            if ZipArchive::new(Cursor::new(bytes)).is_ok() {
                ZipArchive::new(Cursor::new(output)).unwrap();
            }
            true
        }
        Err(error) => {
            assert!(matches!(error, Error::NotAnArchive { .. } | Error::Entry { .. }), "{error}");
            false
        }
    }
}

#[test]
fn an_archive_truncated_anywhere_causes_no_panic() {
    let place = Place::new("archive_cut");
    let sample = sample();
    assert!(try_broken(&place, &sample));
    for length in 0..sample.len() {
        assert!(!try_broken(&place, &sample[..length]), "cut at {length}");
    }
}

#[test]
fn any_changed_byte_of_an_archive_causes_no_panic() {
    let place = Place::new("archive_bytes");
    let sample = sample();
    let edits = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6);
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 400, ..ProptestConfig::default() });
    runner
        .run(&(edits, any::<bool>()), |(edits, at_end)| {
            let mut broken = sample.clone();
            // Most of the sample is the data of one class, so the directory gets extra attention.
            let directory = broken.len() - 320;
            for (index, value) in edits {
                let at = if at_end { directory + index.index(320) } else { index.index(broken.len()) };
                broken[at] = value;
            }
            try_broken(&place, &broken);
            Ok(())
        })
        .unwrap();
    runner
        .run(&proptest::collection::vec(any::<u8>(), 0..200), |random| {
            try_broken(&place, &random);
            Ok(())
        })
        .unwrap();
}

/// The output can be instrumented again, and stays the same byte for byte except for the map id.
#[test]
fn an_archive_without_classes_is_copied_byte_for_byte() {
    let place = Place::new("archive_same");
    let entries = [
        Raw { comment: b"c", extra: &[9, 9, 0, 0, 0], ..Raw::stored("a.txt", b"aaaa") },
        Raw::stored("b.txt", b"bbbb"),
    ];
    let input = zip(b"", &entries, b"note", false);
    let (_, output) = place.run(&input).unwrap();
    let (local, added) = (60 + 2 * 5 + 5 + 8, output.windows(4).filter(|w| w == b"PK\x03\x04").count());
    assert_eq!(added, 3);
    assert_eq!(output[..local], input[..local]);
    let again = Path::new(&place.0).join("again.jar");
    fs::write(&again, &output).unwrap();
    let (summary, twice) = place.run(&output).unwrap();
    assert_eq!(warnings(&summary), [Warning::OldMapId("dev/anrscope/MapId.class".to_owned())]);
    assert_eq!(twice, output);
}
