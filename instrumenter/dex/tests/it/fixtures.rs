//! Files that d8 and smali wrote: read, written, cut off and damaged.

use dex::{Dex, read};
use proptest::prelude::*;

use test_support::dex::{classes, sealed, tables};

/// `Fixture.java` by d8 with `--debug --min-api 21` and 26 (the latter with `--no-desugaring`, for call sites), and `versions.smali` by
/// smali for API 24 and 28.
const FILES: [(u8, &[u8]); 4] = [
    (35, include_bytes!("../data/fixture-21.dex")),
    (38, include_bytes!("../data/fixture-26.dex")),
    (37, include_bytes!("../data/versions-24.dex")),
    (39, include_bytes!("../data/versions-28.dex")),
];

fn with_version(bytes: &[u8], version: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[5..7].copy_from_slice(format!("{version}").as_bytes());
    sealed(bytes)
}

#[test]
fn what_is_written_is_what_was_read() {
    for (version, bytes) in FILES {
        let first = Dex::read(bytes).unwrap();
        assert_eq!(first.version, version);
        let written = first.write().unwrap();
        let second = Dex::read(&written).unwrap();
        assert_eq!(second.version, version);
        assert_eq!(tables(&first), tables(&second));
        assert_eq!(classes(&first), classes(&second));
        assert_eq!(second.write().unwrap(), written, "the same file gives the same bytes");
    }
    let calls = Dex::read(FILES[1].1).unwrap();
    assert!(!calls.call_sites.is_empty() && !calls.handles.is_empty());
}

#[test]
fn the_header_has_the_checksum_and_a_whole_number_of_words() {
    for (_, bytes) in FILES {
        let written = Dex::read(bytes).unwrap().write().unwrap();
        assert_eq!(libdeflater::adler32(&written[12..]).to_le_bytes(), written[8..12]);
        assert_eq!(written.len() % 4, 0);
    }
}

#[test]
fn unused_items_are_left_out_when_asked() {
    let mut dex = Dex::read(FILES[0].1).unwrap();
    let before = classes(&dex);
    dex.find_or_add_type("Lnobody/Uses;");
    let larger = dex.write().unwrap();
    dex.drop_unused = true;
    let smaller = dex.write().unwrap();
    let (larger, smaller) = (Dex::read(&larger).unwrap(), Dex::read(&smaller).unwrap());
    assert_eq!([classes(&larger), classes(&smaller)], [before.clone(), before]);
    assert!(tables(&larger).contains(&"Lnobody/Uses;".to_owned()));
    assert!(!tables(&smaller).contains(&"Lnobody/Uses;".to_owned()));
}

#[test]
fn items_that_are_added_move_all_others() {
    for (_, bytes) in FILES {
        let mut dex = Dex::read(bytes).unwrap();
        let before = classes(&dex);
        for number in 0..300 {
            // They sort before all others, and make one byte of many encoded indices two.
            dex.find_or_add_string(&format!("\u{1}{number}"));
        }
        let first = dex.find_or_add_type("Laa;");
        let proto = dex.find_or_add_proto(first, &[first]);
        dex.find_or_add_method(first, "\u{1}0", proto);
        dex.find_or_add_field(first, "\u{1}1", first);
        let written = dex.write().unwrap();
        let after = Dex::read(&written).unwrap();
        assert_eq!(classes(&after), before);
        assert_eq!(tables(&after), tables(&dex));
    }
}

#[test]
fn versions_that_exist_are_read_and_others_refused() {
    for version in [35, 37, 38, 39, 40] {
        let bytes = with_version(FILES[2].1, version);
        let dex = Dex::read(&bytes).unwrap();
        assert_eq!(Dex::read(&dex.write().unwrap()).unwrap().version, version);
    }
    for version in [34, 36, 42, 99] {
        assert!(Dex::read(&with_version(FILES[2].1, version)).is_err());
    }
    for magic in [b"cdex001\0", b"dey\n036\0", b"dex\n0350", b"PK\x03\x04\0\0\0\0"] {
        let mut bytes = FILES[0].1.to_vec();
        bytes[..8].copy_from_slice(magic);
        assert_eq!(Dex::read(&bytes).unwrap_err().at, 0);
    }
}

/// A container with `copies` dex files, which have all their data in common.
fn container(bytes: &[u8], copies: usize) -> Vec<u8> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut bytes = bytes.to_vec();
    let put =
        |bytes: &mut [u8], at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    // The longer header takes the place of the first two strings' offsets: the table moves behind the rest.
    let (strings, map) = (word(&bytes, 0x38) as usize, word(&bytes, 0x34) as usize);
    assert_eq!(word(&bytes, 0x3c), 0x70);
    let table = bytes[0x70..0x70 + strings * 4].to_vec();
    let table_at = bytes.len() as u32;
    bytes.extend_from_slice(&table);
    put(&mut bytes, 0x3c, table_at);
    let entries = word(&bytes, map) as usize;
    let mut list: Vec<[u8; 12]> =
        (0..entries).map(|entry| bytes[map + 4 + entry * 12..][..12].try_into().unwrap()).collect();
    for entry in &mut list {
        if entry[..2] == [1, 0] {
            put(entry, 8, table_at);
        }
    }
    list.sort_by_key(|entry| word(entry, 8));
    bytes[map + 4..map + 4 + entries * 12].copy_from_slice(list.as_flattened());
    bytes[4..8].copy_from_slice(b"041\0");
    put(&mut bytes, 0x24, 0x78);
    let first = bytes.len();
    let total = first + (copies - 1) * 0x78;
    let header = bytes[..0x78].to_vec();
    (1..copies).for_each(|_| bytes.extend_from_slice(&header));
    for copy in 0..copies {
        let (at, size) = if copy == 0 { (0, first) } else { (first + (copy - 1) * 0x78, 0x78) };
        put(&mut bytes, at + 0x20, size as u32);
        put(&mut bytes, at + 0x70, total as u32);
        put(&mut bytes, at + 0x74, at as u32);
        let sum = libdeflater::adler32(&bytes[at + 12..at + size]);
        put(&mut bytes, at + 8, sum);
    }
    bytes
}

#[test]
fn each_file_of_a_container_is_written_alone() {
    for (_, bytes) in FILES {
        let first = Dex::read(bytes).unwrap();
        let bytes = container(bytes, 3);
        let files = read::all(&bytes).unwrap();
        assert_eq!(files.len(), 3);
        assert!(Dex::read(&bytes).is_err(), "three files are not one");
        for file in files {
            assert_eq!(file.version, 41);
            let written = file.write().unwrap();
            let alone = Dex::read(&written).unwrap();
            assert_eq!((alone.version, classes(&alone)), (40, classes(&first)));
        }
    }
    assert_eq!(Dex::read(&container(FILES[0].1, 1)).unwrap().version, 41);
    // Files that have everything in common do not make the reader's work unbounded.
    assert_eq!(read::all(&container(FILES[0].1, 2000)).unwrap_err().what, "items overlap");
}

#[test]
fn a_file_that_ends_early_is_refused() {
    for (_, bytes) in FILES {
        for length in 0..bytes.len() {
            assert!(Dex::read(&bytes[..length]).is_err());
            // The map is at the end: none of these is a whole file.
            assert!(Dex::read(&sealed(bytes[..length].to_vec())).is_err(), "{length}");
        }
    }
}

#[test]
fn hidden_api_flags_are_refused() {
    let mut bytes = FILES[0].1.to_vec();
    let map = u32::from_le_bytes(bytes[0x34..0x38].try_into().unwrap()) as usize;
    // The second last entry of the map, before the map itself.
    let entries = u32::from_le_bytes(bytes[map..map + 4].try_into().unwrap()) as usize;
    bytes[map + 4 + (entries - 2) * 12..][..2].copy_from_slice(&0xf000_u16.to_le_bytes());
    assert!(Dex::read(&sealed(bytes)).unwrap_err().what.contains("hidden API"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn damaged_files_are_refused_or_written(
        file in 0..FILES.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 1..4),
    ) {
        let mut bytes = FILES[file].1.to_vec();
        for (place, bit) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
        }
        let bytes = sealed(bytes);
        if let Ok(dex) = Dex::read(&bytes)
            && let Ok(written) = dex.write()
        {
            let again = Dex::read(&written);
            prop_assert!(again.is_ok(), "{:?}", again.err());
        }
    }

    #[test]
    fn words_of_any_value_are_refused_or_written(
        file in 0..FILES.len(),
        place in any::<prop::sample::Index>(),
        value in prop_oneof![any::<u32>(), 0..0x2000_u32, Just(u32::MAX), Just(0x7fff_ffff), Just(0x8000_0000)],
    ) {
        let mut bytes = FILES[file].1.to_vec();
        let place = place.index(bytes.len() / 4 - 1) * 4;
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        let bytes = sealed(bytes);
        if let Ok(dex) = Dex::read(&bytes) {
            let _ = dex.write();
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = b"dex\n035\0".to_vec();
        file.extend(bytes);
        prop_assert!(Dex::read(&sealed(file)).is_err());
    }
}
