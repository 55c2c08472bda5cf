use std::io::{Cursor, Read, Write};

use proptest::prelude::*;
use zip::write::SimpleFileOptions;

use super::*;

/// Writes an archive with these entries, behind `prefix`.
fn archive(prefix: &[u8], files: &[(&str, Vec<u8>)], level: u8, comment: &[u8]) -> Vec<u8> {
    let (mut out, mut directory) = (prefix.to_vec(), Vec::new());
    let mut deflater = Deflater::new(level);
    for (name, contents) in files {
        let label =
            Label { local_extra: &[0x55, 0x54, 1, 0, 9], comment: b"why", ..Label::new(name.as_bytes()) };
        let deflated = deflater.deflate(contents);
        let method = if deflated.is_some() { DEFLATED } else { STORED };
        let data = deflated.unwrap_or(contents);
        let stored = Stored::fresh(UTF8, method, crc32(contents), data.len() as u64, contents.len() as u64);
        let at = out.len() as u64;
        push_local(&label, &stored, &mut out);
        out.extend_from_slice(data);
        push_central(&label, &stored, at, &mut directory);
    }
    let (at, length) = (out.len() as u64, directory.len() as u64);
    out.append(&mut directory);
    push_end(files.len() as u64, length, at, comment, &mut out);
    out
}

fn sample() -> Vec<u8> {
    archive(b"", &[("a/B.class", vec![7; 300]), ("c", b"123".to_vec())], 6, b"")
}

/// Reads everything, which must not panic, nor allocate more than deflate can produce.
fn read_all(bytes: &[u8]) -> Result<(), Malformed> {
    let mut file = Cursor::new(bytes);
    if let Ok(listing) = Listing::read(&mut file, u64::MAX) {
        listing.entries().flatten().for_each(|entry| drop(entry.data_at(&mut file)));
    }
    for entry in Directory::read(bytes)?.entries {
        assert!(entry.data.end <= bytes.len());
        let _ = Inflater::default().read(bytes, &entry, u64::MAX);
    }
    Ok(())
}

#[test]
fn an_archive_that_is_cut_anywhere_is_refused() {
    let whole = sample();
    assert_eq!(read_all(&whole), Ok(()));
    for length in 0..whole.len() {
        assert!(read_all(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn another_writers_archive_is_read_and_ours_is_read_by_another_reader() {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("a", SimpleFileOptions::default().large_file(true)).unwrap();
    writer.write_all(&[3; 5_000]).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let entry = &Directory::read(&bytes).unwrap().entries[0];
    assert_eq!(Inflater::default().read(&bytes, entry, 5_000).unwrap(), vec![3; 5_000]);
    assert_eq!(Inflater::default().read(&bytes, entry, 4_999), Err(Unreadable::TooLarge(4_999)));

    let mut ours = zip::ZipArchive::new(Cursor::new(sample())).unwrap();
    let mut contents = Vec::new();
    ours.by_name("a/B.class").unwrap().read_to_end(&mut contents).unwrap();
    assert_eq!(contents, [7; 300]);
}

#[test]
fn more_entries_than_16_bits_count_need_and_get_a_zip64_end_record() {
    let names: Vec<String> = (0..65_536).map(|number| number.to_string()).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), Vec::new())).collect();
    let directory = Directory::read(&archive(b"", &files, 6, b"")).unwrap();
    assert_eq!(directory.entries.len(), 65_536);
    assert!(directory.central.is_zip64);
}

#[test]
fn a_size_that_data_cannot_inflate_to_is_not_allocated() {
    let contents = |size, data| Inflater::default().contents(DEFLATED, 0, size, data, u64::MAX);
    assert_eq!(contents(u64::MAX, [0; 4].as_slice()), Err(Unreadable::Ratio));
    assert_eq!(contents(4 * 1032 + 1, &[0; 4]), Err(Unreadable::Ratio));
    assert_eq!(contents(10, &[0xff; 4]), Err(Unreadable::Deflate));
    assert_eq!(contents(1, &[1, 0, 0, 0xff, 0xff]), Err(Unreadable::Size));
    assert_eq!(Inflater::default().contents(STORED, 1, 1, b"x", 0), Err(Unreadable::Checksum));
    assert_eq!(Inflater::default().contents(12, 0, 1, b"x", u64::MAX), Err(Unreadable::Method(12)));
}

#[test]
fn a_size_above_the_limit_is_refused_before_it_is_inflated() {
    // Inflating would find the damage first.
    let damaged = [0xff; 4];
    let contents = |limit| Inflater::default().contents(DEFLATED, 0, 11, &damaged, limit);
    assert_eq!(contents(11), Err(Unreadable::Deflate));
    assert_eq!(contents(10), Err(Unreadable::TooLarge(10)));
}

#[test]
fn bytes_behind_the_end_and_before_the_start_are_not_part_of_the_archive() {
    let bytes =
        [archive(b"#!/bin/sh\n", &[("a", b"1".to_vec())], 6, b"a comment"), b"behind".to_vec()].concat();
    let directory = Directory::read(&bytes).unwrap();
    assert_eq!((directory.prefix, &bytes[directory.central.comment.clone()]), (10, &b"a comment"[..]));
    assert_eq!(directory.central.shift, 0);
    // Prepended later, all offsets are wrong by its length.
    let moved = [b"#!/bin/sh\n".to_vec(), sample()].concat();
    assert_eq!(Directory::read(&moved).unwrap().central.shift, 10);
    assert_eq!(read_all(&moved), Ok(()));
}

/// The names of a file's listing, with the positions of their data.
fn listed(bytes: &[u8], limit: u64) -> Result<Vec<(Vec<u8>, usize)>, Unlisted> {
    let mut file = Cursor::new(bytes);
    let listing = Listing::read(&mut file, limit)?;
    let entries = listing.entries().map(|entry| {
        let entry = entry?;
        Ok((entry.name.to_vec(), entry.data_at(&mut file)? as usize))
    });
    entries.collect()
}

/// The same of the directory, which reads the whole archive.
fn in_directory(bytes: &[u8]) -> Vec<(Vec<u8>, usize)> {
    let entries = Directory::read(bytes).unwrap().entries;
    entries.iter().map(|entry| (entry.name_in(bytes).to_vec(), entry.data.start)).collect()
}

#[test]
fn a_listing_has_the_entries_of_the_directory() {
    let many: Vec<String> = (0..65_536).map(|number| number.to_string()).collect();
    let zip64: Vec<_> = many.iter().map(|name| (name.as_str(), Vec::new())).collect();
    for bytes in [
        sample(),
        archive(b"#!/bin/sh\n", &[("a", b"1".to_vec())], 6, b"a comment"),
        archive(b"", &[], 6, &END.repeat(9)),
        [sample(), b"behind".to_vec()].concat(),
        [b"prepended later".to_vec(), sample()].concat(),
        archive(b"", &zip64, 6, b""),
    ] {
        assert_eq!(listed(&bytes, u64::MAX).unwrap(), in_directory(&bytes));
    }
}

#[test]
fn a_directory_above_the_limit_is_not_read() {
    let length = Directory::read(&sample()).map(|directory| directory.central.end - directory.central.start);
    let length = length.unwrap() as u64;
    assert_eq!(listed(&sample(), length).unwrap(), in_directory(&sample()));
    let refused = listed(&sample(), length - 1).unwrap_err();
    assert!(matches!(refused, Unlisted::TooLarge { length: found, .. } if found == length), "{refused}");
}

#[test]
fn a_damaged_local_header_costs_its_own_entry_only() {
    let mut bytes = sample();
    let at = Directory::read(&bytes).unwrap().entries[0].local_at;
    bytes[at] ^= 1;
    assert!(Directory::read(&bytes).is_err());
    let mut file = Cursor::new(bytes.as_slice());
    let listing = Listing::read(&mut file, u64::MAX).unwrap();
    let read: Vec<_> = listing.entries().map(|entry| entry.unwrap().data_at(&mut file)).collect();
    assert_eq!(read[0].as_ref().unwrap_err().to_string(), "its local header is missing");
    assert!(read[1].is_ok());
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        files in prop::collection::btree_map("[a-cä]{1,3}(/[a-c]{1,9}){0,2}", prop::collection::vec(0..4_u8, 0..300), 0..12),
        level in 0..10_u8,
        comment in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let files: Vec<_> = files.iter().map(|(name, contents)| (name.as_str(), contents.clone())).collect();
        let bytes = archive(b"", &files, level, &comment);
        let directory = Directory::read(&bytes).unwrap();
        prop_assert_eq!(directory.entries.len(), files.len());
        prop_assert_eq!(&bytes[directory.central.comment.clone()], &comment);
        for (entry, (name, contents)) in directory.entries.iter().zip(&files) {
            prop_assert_eq!(entry.name_in(&bytes), name.as_bytes());
            let read = Inflater::default().read(&bytes, entry, u64::MAX).unwrap();
            prop_assert_eq!(read.as_ref(), contents.as_slice());
            // A copy has the same headers.
            let mut copy = Vec::new();
            push_local(&Label::from_entry(&bytes, entry), &Stored::copied(entry), &mut copy);
            prop_assert_eq!(copy.as_slice(), &bytes[entry.local_at..entry.data.start]);
        }
    }

    #[test]
    fn changed_bytes_cause_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        behind in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut bytes = sample();
        for (at, byte) in changes {
            *at.get_mut(&mut bytes) = byte;
        }
        bytes.extend(behind);
        let _ = read_all(&bytes);
    }

    #[test]
    fn random_bytes_in_front_of_an_end_record_cause_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), end: [u8; 18]) {
        let _ = read_all(&bytes);
        bytes.extend(END);
        bytes.extend(end);
        let _ = read_all(&bytes);
    }
}
