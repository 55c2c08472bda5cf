use proptest::prelude::*;
use test_support::signed::check;

use super::{Error, Options, lay_out};
use crate::layout::sections::Sections;
use crate::layout::{DEFLATED, Data, Entry, STORED, read};

fn stored<'a>(name: &'a str, contents: &'a [u8]) -> Entry<'a> {
    Entry::new(name.as_bytes(), contents, false)
}

fn deflated<'a>(name: &'a str, contents: &'a [u8]) -> Entry<'a> {
    Entry::new(name.as_bytes(), contents, true)
}

fn method(entry: &Entry<'_>) -> u16 {
    match entry.data {
        Data::Copied { method, .. } => method,
        Data::New { .. } => panic!("not from an archive"),
    }
}

#[test]
fn stored_entries_start_at_their_multiple() {
    let entries = [
        stored("a", b"1"),
        deflated("b", &[0; 100]),
        stored("resources.arsc", b"12345"),
        stored("lib/arm64-v8a/libx.so", b"code"),
        stored("lib/x86/sub/liby.so", b"code"),
        stored("assets/lib/z.so", b"code"),
        stored("empty", b""),
    ];
    let apk = lay_out(&entries, &Options::default()).unwrap();
    let checked = check(&apk).unwrap();
    assert_eq!((checked.entries, checked.stored), (7, 6));
    assert_eq!(checked.misaligned, []);
    // As scripts/android/pack writes it: the multiple, then zeros.
    let read = read(&apk).unwrap();
    assert_eq!(read[3].local_extra[..2], [0x35, 0xd9]);
    assert_eq!(read[3].local_extra[4..6], [0, 0x40]);
    assert!(read[3].extra.is_empty() && read[1].local_extra.is_empty());
}

#[test]
fn libraries_and_resources_are_stored_on_demand() {
    let entries = [
        deflated("lib/x86/libx.so", &[1; 100]),
        deflated("resources.arsc", &[2; 100]),
        deflated("a", &[3; 100]),
    ];
    let apk = lay_out(&entries, &Options::default()).unwrap();
    let checked = check(&apk).unwrap();
    assert_eq!((checked.stored, checked.resources_compressed, checked.libraries_compressed), (0, true, 1));
    let copied = read(&apk).unwrap();
    let options = Options { store_libraries: true, store_resources: true, ..Options::default() };
    let from_copies = lay_out(&copied, &options).unwrap();
    let checked = check(&from_copies).unwrap();
    assert_eq!((checked.stored, checked.resources_compressed, checked.libraries_compressed), (2, false, 0));
    assert_eq!(checked.misaligned, []);
    assert_eq!(from_copies, lay_out(&entries, &options).unwrap());
    assert_eq!(
        read(&from_copies).unwrap().iter().map(method).collect::<Vec<_>>(),
        [STORED, STORED, DEFLATED]
    );
}

#[test]
fn a_wrong_place_is_found() {
    let mut apk = lay_out(&[stored("ab", b"1")], &Options::default()).unwrap();
    // Takes a byte from the alignment field and gives it to the data of another name: lengths stay.
    let extra = apk[28];
    apk[28] = extra - 1;
    let found = check(&apk).unwrap().misaligned;
    assert_eq!(found, [("ab".to_owned(), 31 + 2 + usize::from(extra) - 2, 4)]);
}

#[test]
fn names_that_android_refuses_are_refused() {
    let bad = |name: &[u8]| {
        let entries = [Entry::new(name.to_vec(), b"".as_slice(), false)];
        lay_out(&entries, &Options::default()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(bad(b"a\xff").contains("is not UTF-8"));
    assert!(bad(b"a\0b").contains("contains NUL"));
    assert!(bad(&[b'x'; 65_536]).contains("longer than 65,535"));
    let error = lay_out(&[stored("a", b"1"), stored("a", b"2")], &Options::default()).unwrap_err();
    assert_eq!(error, Error::Name { name: "a".into(), what: "occurs twice" });
    // Android takes these.
    let entries =
        [stored("../a", b""), stored("/b", b""), stored("a//b", b""), stored("A", b""), stored("a", b"")];
    let apk = lay_out(&entries, &Options::default()).unwrap();
    assert_eq!(read(&apk).unwrap()[0].name.as_ref(), b"../a");
}

#[test]
fn a_comment_with_an_end_record_is_refused() {
    let comment = |comment| {
        lay_out(&[], &Options { comment, ..Options::default() }).map(|apk| read(&apk).unwrap().len())
    };
    assert_eq!(comment(b"PK\x05\x06"), Err(Error::Comment));
    assert_eq!(comment(b"PK\x05\x05"), Ok(0));
    assert!(matches!(comment(&[0; 65_536]), Err(Error::TooLarge(_))));
}

#[test]
fn the_files_of_a_signature_are_dropped() {
    let entries = [
        stored("META-INF/MANIFEST.MF", b""),
        stored("META-INF/x.version", b""),
        stored("META-INF/CERT.RSA", b""),
    ];
    let apk = lay_out(&entries, &Options::default()).unwrap();
    let read = read(&apk).unwrap();
    assert_eq!(read.iter().map(Entry::display_name).collect::<Vec<_>>(), ["META-INF/x.version"]);
}

#[test]
fn a_descriptor_flag_and_old_alignment_are_removed_and_other_fields_are_kept() {
    let mut entry = stored("a", b"1");
    entry.flags = 0x0808;
    entry.comment = b"why".as_slice().into();
    entry.attributes.time = [1, 2, 3, 4];
    let field = [0x55, 0x54, 1, 0, 9];
    entry.local_extra = [&[0x35, 0xd9, 3, 0, 4, 0, 0][..], &field, &[0; 7]].concat().into();
    entry.extra = [&field[..], &[1, 0, 0, 0]].concat().into();
    let options = Options { comment: b"the end", ..Options::default() };
    let apk = lay_out(&[entry], &options).unwrap();
    assert!(apk.ends_with(b"\x07\0the end"));
    let read = read(&apk).unwrap().remove(0);
    assert_eq!(
        (read.flags, read.attributes.time, read.comment.as_ref()),
        (0x0800, [1, 2, 3, 4], &b"why"[..])
    );
    assert_eq!(read.extra.as_ref(), field);
    assert_eq!(read.local_extra[..5], field);
    assert_eq!(read.local_extra[5..7], [0x35, 0xd9]);
}

#[test]
fn an_entry_that_is_only_flagged_as_encrypted_is_read() {
    let mut entry = deflated("a", &[7; 100]);
    entry.flags = 1;
    let apk = lay_out(&[entry], &Options::default()).unwrap();
    let read = read(&apk).unwrap().remove(0);
    assert_eq!((read.flags, read.contents(100).unwrap().as_ref()), (1, &[7; 100][..]));
}

#[test]
fn a_directory_that_is_not_where_the_end_record_says_is_refused() {
    let apk = lay_out(&[stored("a", b"1")], &Options::default()).unwrap();
    let what = "the central directory does not end at the end record";
    let moved = [&[0; 4], &apk[..]].concat();
    assert_eq!(read(&moved).unwrap_err().what, what);
    assert_eq!(Sections::find(&moved).unwrap_err().what, what);
    // Behind the end there is nothing that Android reads.
    let longer = [&apk[..], &[0; 4]].concat();
    assert_eq!(read(&longer).unwrap(), read(&apk).unwrap());
    assert_eq!(Sections::find(&longer).unwrap_err().what, "bytes behind the end record");
}

#[test]
fn an_entry_that_must_be_stored_and_is_damaged_is_named() {
    let mut entry = deflated("resources.arsc", b"");
    let options = Options { store_resources: true, ..Options::default() };
    for (size, crc, bytes, what) in [
        (5_000_u32, 0, vec![0; 4], "its size is larger than its data can inflate to"),
        (10, 0, vec![0xff; 4], "its deflate data is damaged"),
        (0, 0, vec![1, 0, 0, 0xff, 0xff], ""),
        (0, 1, vec![1, 0, 0, 0xff, 0xff], "its CRC-32 differs from the directory's"),
        (1, 0, vec![1, 0, 0, 0xff, 0xff], "its size differs from the directory's"),
    ] {
        entry.data = Data::Copied { method: DEFLATED, crc, size, bytes: bytes.into() };
        let result = lay_out(core::slice::from_ref(&entry), &options);
        let error = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.ends_with(what) && error.is_empty() == what.is_empty(), "{error}");
    }
}

#[test]
fn entries_that_must_be_stored_are_bounded_together_before_they_are_inflated() {
    let large = |name: &'static str| {
        let mut entry = deflated(name, b"");
        // As much as so many bytes may inflate to, of data that does not inflate.
        let bytes = vec![0xff; 600 << 10];
        entry.data = Data::Copied { method: DEFLATED, crc: 0, size: 600 << 20, bytes: bytes.into() };
        entry
    };
    let options = Options { store_libraries: true, ..Options::default() };
    let result = lay_out(&[large("lib/x86/a.so"), large("lib/x86/b.so")], &options);
    assert_eq!(result.unwrap_err(), Error::Inflated);
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{1,3}(/[a-c]{1,9}){0,2}", "lib/x86/[a-c]{1,3}\\.so"]
}

fn any_contents() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..300)
}

proptest! {
    #[test]
    fn what_is_laid_out_is_read_again(
        files in prop::collection::btree_map(any_name(), (any_contents(), any::<bool>()), 0..12),
        comment in prop::collection::vec(any::<u8>(), 0..30),
        cut: prop::sample::Index,
    ) {
        let entries: Vec<Entry<'_>> =
            files.iter().map(|(name, (contents, deflate))| Entry::new(name.as_bytes(), contents.as_slice(), *deflate)).collect();
        let apk = lay_out(&entries, &Options { comment: &comment, ..Options::default() }).unwrap();
        prop_assert_eq!(check(&apk).unwrap().misaligned, []);
        let copied = read(&apk).unwrap();
        prop_assert_eq!(copied.len(), files.len());
        for (entry, (name, (plain, _))) in copied.iter().zip(&files) {
            prop_assert_eq!(entry.name.as_ref(), name.as_bytes());
            let read = entry.contents(u64::MAX).unwrap();
            prop_assert_eq!(read.as_ref(), plain.as_slice());
            let Data::Copied { crc, .. } = entry.data else { panic!("not copied") };
            prop_assert_eq!(crc, zip_archive::crc32(plain));
        }
        // Laid out again, it is the same.
        prop_assert_eq!(lay_out(&copied, &Options { comment: &comment, ..Options::default() }).unwrap(), apk.clone());
        prop_assert!(read(&apk[..cut.index(apk.len())]).is_err());
    }

    #[test]
    fn a_damaged_archive_is_read_within_bounds(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let entries = [stored("a", b"123"), deflated("bcd", &[0; 50]), stored("lib/x.so", b"4")];
        let mut apk = lay_out(&entries[..2], &Options::default()).unwrap();
        for (at, byte) in changes {
            *at.get_mut(&mut apk) = byte;
        }
        let _ = check(&apk);
        if let Ok(entries) = read(&apk) {
            for entry in &entries {
                let _ = entry.contents(u64::MAX);
            }
            let _ = lay_out(&entries, &Options::default());
        }
    }
}
