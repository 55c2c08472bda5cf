//! Files that are built here, field by field, and what an edit makes of them.

pub(in crate::manifest) mod build;

use proptest::prelude::*;
use zip_archive::u32_at;

use super::super::attribute;
use super::super::document::{Document as _, Edit as _, Place};
use super::super::element::{NewAttribute, NewElement};
use super::*;
use build::{ATTRIBUTES, Part, any_element, any_file, any_value, build};

const AAPT: &[u8] = include_bytes!("../../../../tests/data/manifest/aapt.bin");
const AAPT2: &[u8] = include_bytes!("../../../../tests/data/manifest/aapt2.bin");

/// What a file says, in order, without string indices.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Namespace(bool, String, String),
    Start { name: String, attributes: Vec<(String, String, Option<u32>, String, Value)> },
    End(String),
    Text(String, String),
    Unknown(Vec<u8>),
}

fn text(document: &Document, index: u32) -> String {
    document.pool.decode(index).unwrap()
}

fn events(document: &Document) -> Vec<Event> {
    let bytes = &document.bytes;
    let at = |offset| text(document, u32_at(bytes, offset).unwrap());
    let events = document.chunks.iter().filter_map(|chunk| {
        Some(match chunk.kind {
            Kind::Pool | Kind::Map => return None,
            Kind::StartNamespace | Kind::EndNamespace => Event::Namespace(
                chunk.kind == Kind::StartNamespace,
                at(chunk.fields()),
                at(chunk.fields() + 4),
            ),
            Kind::StartElement => {
                let attributes = chunk.attributes(bytes).map(|attribute| {
                    let (namespace, name) = (attribute.namespace(bytes), attribute.name(bytes));
                    let id = document.id_of_name(attribute);
                    let value = document.value(attribute).unwrap();
                    (text(document, namespace), text(document, name), id, at(attribute.at + 8), value)
                });
                Event::Start { name: at(chunk.fields() + 4), attributes: attributes.collect() }
            }
            Kind::EndElement => Event::End(at(chunk.fields() + 4)),
            Kind::Text => Event::Text(at(chunk.fields()), at(chunk.fields() + 8)),
            Kind::Unknown => Event::Unknown(chunk.bytes(bytes).to_vec()),
        })
    });
    events.collect()
}

/// The comments of all nodes that have one.
fn comments(document: &Document) -> Vec<String> {
    let nodes =
        document.chunks.iter().filter(|chunk| !matches!(chunk.kind, Kind::Pool | Kind::Map | Kind::Unknown));
    let all = nodes.map(|chunk| text(document, u32_at(&document.bytes, chunk.start + 12).unwrap()));
    all.filter(|comment| !comment.is_empty()).collect()
}

fn events_of(new: &NewElement) -> Vec<Event> {
    let attributes = new.sorted_attributes().into_iter().map(|new| {
        let raw = new.value.text().unwrap_or_default().to_owned();
        let Attribute { name, id } = new.attribute;
        (NAMESPACE.to_owned(), name.to_owned(), Some(id), raw, new.value.clone())
    });
    let mut events = vec![Event::Start { name: new.name.clone(), attributes: attributes.collect() }];
    events.extend(new.children.iter().flat_map(events_of));
    events.push(Event::End(new.name.clone()));
    events
}

/// A span of a style: name of the tag, first and last character.
type Span = (String, u32, u32);

/// The styled strings, each with the spans of its style.
fn styles(document: &Document) -> Vec<(String, Vec<Span>)> {
    let mut all = Vec::new();
    for (string, spans) in (0..).zip(document.pool.spans()) {
        let spans: Vec<Span> = spans.into_iter().map(|(name, a, b)| (text(document, name), a, b)).collect();
        // A string that was inserted among the styled ones has an empty style.
        if !spans.is_empty() {
            all.push((text(document, string), spans));
        }
    }
    all
}

fn put(file: &mut [u8], at: usize, value: u32) {
    chunk::put_u32(file, at, value);
}

/// The index of the event that starts the element.
fn start_index(events: &[Event], element: usize) -> usize {
    let mut starts = events.iter().enumerate().filter(|(_, event)| matches!(event, Event::Start { .. }));
    starts.nth(element).unwrap().0
}

proptest! {
    #[test]
    fn a_file_is_written_as_it_was_read(file in any_file(), rest in proptest::collection::vec(any::<u8>(), 0..9)) {
        prop_assert_eq!(&Document::read(&file).unwrap().write(), &file);
        // Behind the file chunk, and within it.
        let mut longer = file.clone();
        longer.extend(&rest);
        prop_assert_eq!(&Document::read(&longer).unwrap().write(), &longer);
        if rest.len() < 8 {
            put(&mut longer, 4, u32::try_from(file.len() + rest.len()).unwrap());
            prop_assert_eq!(&Document::read(&longer).unwrap().write(), &longer);
        }
    }

    #[test]
    fn inserted_elements_leave_everything_else_as_it_was(
        file in any_file(),
        new in proptest::collection::vec(any_element(), 1..3),
        place in any::<proptest::sample::Index>(),
        before in any::<bool>(),
    ) {
        let mut document = Document::read(&file).unwrap();
        let (mut expected, spans, strings) = (events(&document), styles(&document), document.pool.len());
        let notes = comments(&document);
        let element = place.index(document.len());
        let at = start_index(&expected, element);
        let (place, at) = if before { (Place::Before(element), at) } else { (Place::StartOf(element), at + 1) };
        document.insert(place, &new).unwrap();
        expected.splice(at..at, new.iter().flat_map(events_of));
        prop_assert_eq!(&events(&document), &expected);
        let again = Document::read(&document.write()).unwrap();
        prop_assert_eq!(comments(&again), notes);
        prop_assert_eq!(events(&again), expected);
        prop_assert_eq!(styles(&again), spans);
        // A pool that is not in order any more must not be looked up by bisection.
        prop_assert!(!document.pool.is_sorted() || document.pool.len() == strings);
    }

    #[test]
    fn a_set_attribute_leaves_everything_else_as_it_was(
        file in any_file(),
        which in 0..ATTRIBUTES.len(),
        value in any_value(),
        place in any::<proptest::sample::Index>(),
    ) {
        let mut document = Document::read(&file).unwrap();
        let mut expected = events(&document);
        let notes = comments(&document);
        let element = place.index(document.len());
        let at = start_index(&expected, element);
        let new = ATTRIBUTES[which];
        document.set_attribute(element, &NewAttribute { attribute: new, value: value.clone(), text: String::new() }).unwrap();
        prop_assert_eq!(document.android_attribute(element, new).unwrap(), Some(value.clone()));
        if let Event::Start { attributes, .. } = &mut expected[at] {
            let raw = value.text().unwrap_or_default().to_owned();
            let entry = (NAMESPACE.to_owned(), new.name.to_owned(), Some(new.id), raw, value);
            let index = attributes.partition_point(|(_, _, id, _, _)| id.unwrap() < new.id);
            if attributes.get(index).is_some_and(|(_, _, id, _, _)| *id == Some(new.id)) {
                attributes[index] = entry;
            } else {
                attributes.insert(index, entry);
            }
        }
        prop_assert_eq!(&events(&document), &expected);
        prop_assert_eq!(comments(&document), notes);
        prop_assert_eq!(events(&Document::read(&document.write()).unwrap()), expected);
    }

    #[test]
    fn random_bytes_are_an_error_or_a_file(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes);
    }

    #[test]
    fn damaged_files_are_an_error_or_a_file(
        file in any_file(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut file = file;
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        exercise(&file);
    }

    #[test]
    fn damaged_numbers_are_an_error_or_a_file(
        at in any::<proptest::sample::Index>(),
        value in prop_oneof![any::<u32>(), 0..40_u32, (u32::MAX - 40)..=u32::MAX, 0x7fff_fff0..0x8000_0010_u32],
    ) {
        for file in [AAPT, AAPT2] {
            let mut file = file.to_vec();
            let at = at.index(file.len() / 4) * 4;
            put(&mut file, at, value);
            exercise(&file);
        }
    }
}

/// Reads, edits and writes; nothing may panic, and what is written can be read.
fn exercise(bytes: &[u8]) {
    let Ok(mut document) = Document::read(bytes) else { return };
    assert_eq!(document.write(), bytes);
    let attributes = vec![
        NewAttribute::text(attribute::AUTHORITIES, "a"),
        NewAttribute::boolean(attribute::ENABLED, true),
    ];
    let new = NewElement { name: "provider".to_owned(), attributes, children: Vec::new() };
    for element in 0..document.len().min(3) {
        let _ = document.android_attribute(element, attribute::NAME);
        let _ = document.plain_attribute(element, "package");
        let done = document.insert(Place::StartOf(element), std::slice::from_ref(&new)).is_ok();
        let set = document.set_attribute(element, &NewAttribute::integer(attribute::INIT_ORDER, 1)).is_ok();
        if done || set {
            let again = Document::read(&document.write()).unwrap();
            assert_eq!(again.len(), document.len());
        }
    }
}

#[test]
fn truncated_files_are_an_error() {
    for file in [AAPT, AAPT2] {
        assert_eq!(Document::read(file).unwrap().write(), file);
        for end in 0..file.len() {
            assert!(Document::read(&file[..end]).is_err(), "{end}");
            // With a size that fits, so that the end is somewhere within.
            let mut cut = file[..end].to_vec();
            put(&mut cut, 4, u32::try_from(end).unwrap());
            exercise(&cut);
        }
    }
}

#[test]
fn the_errors_name_the_offset() {
    let error = |at, value| {
        let mut file = AAPT2.to_vec();
        put(&mut file, at, value);
        Document::read(&file).unwrap_err()
    };
    assert_eq!(error(0, 0x0008_0002), Malformed::new(0, "not a binary XML file"));
    assert_eq!(error(4, 0x7fff_ffff), Malformed::new(0, "a chunk is longer than what contains it"));
    assert_eq!(error(12, 7), Malformed::new(8, "a chunk is shorter than its header"));
    assert_eq!(
        error(16, 0x4000_0000),
        Malformed::new(8, "the string pool has more strings than it has room for")
    );
    assert_eq!(error(20, 0xffff), Malformed::new(8, "the string pool has more strings than it has room for"));
    assert_eq!(error(28, 0x4000_0000), Malformed::new(8, "the string pool's data do not lie within it"));
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| {
        let mut parts = vec![Part::Start("a".to_owned(), Vec::new()); depth];
        parts.resize(2 * depth, Part::End);
        Document::read(&build(&parts, false, 0, false))
    };
    assert_eq!(nested(256).unwrap().len(), 256);
    assert!(nested(257).is_err());
}

#[test]
fn a_name_without_its_id_is_not_used_for_the_attribute() {
    // `name` is a value here and has no id; the map has no entry for it.
    let parts = [
        Part::Start("manifest".to_owned(), vec![(attribute::VALUE, Value::Text("name".to_owned()))]),
        Part::End,
    ];
    let mut document = Document::read(&build(&parts, true, 0, true)).unwrap();
    document.set_attribute(0, &NewAttribute::text(attribute::NAME, "name")).unwrap();
    assert_eq!(document.map, [attribute::VALUE.id, attribute::NAME.id]);
    assert_eq!(text(&document, 1), "name");
    assert!(!document.pool.is_sorted());
    assert_eq!(
        document.android_attribute(0, attribute::VALUE).unwrap(),
        Some(Value::Text("name".to_owned()))
    );
}

#[test]
fn a_file_without_a_resource_map_gets_one() {
    let parts = [Part::Start("manifest".to_owned(), Vec::new()), Part::End];
    let mut document = Document::read(&build(&parts, false, 0, false)).unwrap();
    assert!(document.map.is_empty());
    document
        .insert(
            Place::StartOf(0),
            &[NewElement {
                name: "application".to_owned(),
                attributes: vec![NewAttribute::boolean(attribute::DEBUGGABLE, true)],
                children: Vec::new(),
            }],
        )
        .unwrap();
    let again = Document::read(&document.write()).unwrap();
    assert_eq!(again.map, [attribute::DEBUGGABLE.id]);
    assert_eq!(again.android_attribute(1, attribute::DEBUGGABLE).unwrap(), Some(Value::Boolean(true)));
}

#[test]
fn the_special_attributes_of_an_element_keep_their_numbers() {
    // The builder says that `id` is the last attribute and `style` the first.
    let values = vec![(attribute::NAME, Value::Integer(1)), (attribute::INIT_ORDER, Value::Integer(2))];
    let mut document =
        Document::read(&build(&[Part::Start("a".to_owned(), values), Part::End], false, 0, false)).unwrap();
    document.set_attribute(0, &NewAttribute::boolean(attribute::EXPORTED, true)).unwrap();
    let chunk = document.start_of(0).unwrap();
    let numbers =
        [14, 16, 18].map(|offset| zip_archive::u16_at(&document.bytes, chunk.fields() + offset).unwrap());
    assert_eq!(numbers, [3, 0, 1]);
}

#[test]
fn long_strings_have_two_part_lengths() {
    for (utf8, length) in [(true, 0x80), (true, 0x7fff), (false, 0x7fff), (false, 0x8000), (false, 0x1_2345)]
    {
        let parts = [Part::Start("a".to_owned(), Vec::new()), Part::End];
        let mut document = Document::read(&build(&parts, utf8, 0, false)).unwrap();
        let long = "y".repeat(length);
        document.set_attribute(0, &NewAttribute::text(attribute::NAME, &long)).unwrap();
        let again = Document::read(&document.write()).unwrap();
        assert_eq!(again.android_attribute(0, attribute::NAME).unwrap(), Some(Value::Text(long)));
        let error = document.set_attribute(0, &NewAttribute::text(attribute::NAME, &"z".repeat(0x8000)));
        assert_eq!(error.is_err(), utf8);
    }
}

#[test]
fn characters_outside_of_the_first_plane_become_two_of_modified_utf_8() {
    let parts = [Part::Start("😀".to_owned(), Vec::new()), Part::End];
    for utf8 in [true, false] {
        let mut document = Document::read(&build(&parts, utf8, 0, false)).unwrap();
        document.set_attribute(0, &NewAttribute::text(attribute::NAME, "a😀\0ü€")).unwrap();
        let written = document.write();
        let modified = b"a\xed\xa0\xbd\xed\xb8\x80\xc0\x80\xc3\xbc\xe2\x82\xac\0";
        assert_eq!(written.windows(modified.len()).any(|window| window == modified), utf8);
        let value = Document::read(&written).unwrap().android_attribute(0, attribute::NAME).unwrap();
        assert_eq!(value, Some(Value::Text("a😀\0ü€".to_owned())));
        // What aapt wrote in plain UTF-8 is read as well.
        assert!(matches!(&events(&document)[1], Event::Start { name, .. } if name == "😀"));
    }
}

#[test]
fn an_attribute_stands_before_those_without_an_id() {
    let mut document = Document::read(AAPT2).unwrap();
    document.set_attribute(0, &NewAttribute::text(attribute::SPLIT_TYPES, "a")).unwrap();
    let names: Vec<String> =
        document.attributes(0).map(|at| text(&document, at.name(&document.bytes))).collect();
    assert_eq!(names, ["versionCode", "versionName", "splitTypes", "package"]);
}

#[test]
fn a_resource_map_that_is_longer_than_the_pool_gives_no_id_to_new_strings() {
    let values = vec![(attribute::NAME, Value::Integer(1))];
    let file = build(&[Part::Start("a".to_owned(), values), Part::End], false, 0, false);
    let mut document = Document::read(&file).unwrap();
    let strings = document.pool.len() as usize;
    let map = document.chunks.iter().find(|chunk| chunk.kind == Kind::Map).unwrap();
    let mut longer = file[..map.start].to_vec();
    longer.extend([0x80, 1, 8, 0]);
    longer.extend(u32::try_from(8 + 4 * (strings + 9)).unwrap().to_le_bytes());
    longer.extend(attribute::NAME.id.to_le_bytes());
    longer.extend(std::iter::repeat_n(0x0101_0001_u32.to_le_bytes(), strings + 8).flatten());
    longer.extend(&file[map.end..]);
    let size = u32::try_from(longer.len()).unwrap();
    put(&mut longer, 4, size);
    document = Document::read(&longer).unwrap();
    assert_eq!(document.write(), longer);
    document.set_attribute(0, &NewAttribute::text(attribute::NAME, "a new string")).unwrap();
    let again = Document::read(&document.write()).unwrap();
    assert_eq!(again.map.len(), strings);
    assert_eq!(
        again.android_attribute(0, attribute::NAME).unwrap(),
        Some(Value::Text("a new string".to_owned()))
    );
}

#[test]
fn a_name_that_an_obfuscator_changed_is_not_used_for_new_attributes() {
    let mut file = AAPT2.to_vec();
    let name: Vec<u8> = "exported".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let at = file.windows(name.len()).position(|window| window == name).unwrap();
    file[at] = b'_';
    let mut document = Document::read(&file).unwrap();
    let attributes = vec![NewAttribute::boolean(attribute::EXPORTED, true)];
    document
        .insert(Place::StartOf(0), &[NewElement { name: "a".to_owned(), attributes, children: Vec::new() }])
        .unwrap();
    let new = document.attributes(1).next().unwrap();
    assert_eq!(text(&document, new.name(&document.bytes)), "exported");
    assert_eq!(document.id_of_name(new), Some(attribute::EXPORTED.id));
}

#[test]
fn a_reference_behind_the_last_string_is_an_error() {
    let document = Document::read(AAPT2).unwrap();
    let name = document.start_of(0).unwrap().fields() + 4;
    for (index, valid) in [(document.pool.len() - 1, true), (document.pool.len(), false), (NONE, true)] {
        let mut file = AAPT2.to_vec();
        put(&mut file, name, index);
        let expected = Malformed::new(name, "a reference to a string that the pool does not have");
        assert_eq!(Document::read(&file).err(), (!valid).then_some(expected));
    }
}
