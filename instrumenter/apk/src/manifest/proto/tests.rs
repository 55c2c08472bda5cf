//! Messages that are built here, field by field, and what an edit makes of them.

use proptest::prelude::*;

use super::super::attribute;
use super::super::axml::any_element;

use super::super::document::{Document as _, Edit as _, Place};
use super::super::element::{NewAttribute, NewElement};
use super::*;
use crate::protobuf::{put_bytes, put_number, put_varint};

const AAPT2: &[u8] = include_bytes!("../../../tests/data/manifest/aapt2.pb");

/// A field that no version of the schema has.
fn unknown(out: &mut Vec<u8>, salt: u8) {
    match salt % 4 {
        0 => put_number(out, 901, u64::MAX),
        1 => put_bytes(out, 902, &[salt, 0xff]),
        2 => {
            put_varint(out, 903 << 3 | 1);
            out.extend([salt; 8]);
        }
        _ => {
            put_varint(out, 904 << 3 | 5);
            out.extend([salt; 4]);
        }
    }
}

/// A node of a generated file.
#[derive(Clone, Debug)]
enum Node {
    Text(String),
    Element {
        name: String,
        attributes: Vec<(String, Option<Attribute>)>,
        children: Vec<Node>,
        salt: u8,
    },
    /// Encoded already.
    Raw(Vec<u8>),
}

fn encode(node: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    match node {
        Node::Text(text) => put_bytes(&mut out, 2, text.as_bytes()),
        Node::Raw(bytes) => return bytes.clone(),
        Node::Element { name, attributes, children, salt } => {
            let mut element = Vec::new();
            unknown(&mut element, *salt);
            put_bytes(&mut element, ELEMENT_NAME, name.as_bytes());
            for (value, attribute) in attributes {
                put_bytes(&mut element, ELEMENT_ATTRIBUTE, &encode_attribute(value, *attribute, *salt));
            }
            for child in children {
                put_bytes(&mut element, ELEMENT_CHILD, &encode(child));
            }
            unknown(&mut element, salt / 4);
            unknown(&mut out, salt / 16);
            put_bytes(&mut out, NODE_ELEMENT, &element);
            put_bytes(&mut out, 3, &[8, 1, 16, 2]);
        }
    }
    out
}

fn encode_attribute(value: &str, attribute: Option<Attribute>, salt: u8) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(Attribute { name, id }) = attribute {
        put_bytes(&mut out, 1, NAMESPACE.as_bytes());
        put_bytes(&mut out, 2, name.as_bytes());
        put_number(&mut out, 5, id.into());
    } else {
        put_bytes(&mut out, 2, b"plain");
    }
    unknown(&mut out, salt / 2);
    put_bytes(&mut out, 3, value.as_bytes());
    out
}

fn any_node() -> impl Strategy<Value = Node> {
    let attributes = proptest::collection::vec(("[a-z]{0,9}", Just(None)), 0..2);
    let some = |attribute| ("[a-z]{0,9}", Just(Some(attribute)));
    let android = (proptest::option::of(some(attribute::NAME)), proptest::option::of(some(attribute::VALUE)));
    let attributes = (attributes, android).prop_map(|(mut all, (name, value))| {
        all.extend(name);
        all.extend(value);
        all
    });
    let attributes = attributes.boxed();
    let leaf = "[ a-z]{0,200}".prop_map(Node::Text);
    leaf.prop_recursive(5, 30, 4, move |inner| {
        ("[a-z]{1,6}", attributes.clone(), proptest::collection::vec(inner, 0..4), any::<u8>())
            .prop_map(|(name, attributes, children, salt)| Node::Element { name, attributes, children, salt })
    })
}

fn any_root() -> impl Strategy<Value = Node> {
    (proptest::collection::vec(any_node(), 0..4), any::<u8>()).prop_map(|(children, salt)| Node::Element {
        name: "manifest".to_owned(),
        attributes: vec![("com.example".to_owned(), None)],
        children,
        salt,
    })
}

/// Calls `change` with the children that hold element `*left`, its place among them, and the element's own children.
fn at_element(children: &mut Vec<Node>, left: &mut usize, change: &mut dyn FnMut(&mut Vec<Node>, usize)) {
    for index in 0..children.len() {
        if !matches!(children[index], Node::Element { .. }) {
            continue;
        }
        if *left == 0 {
            *left = usize::MAX;
            change(children, index);
            return;
        }
        *left -= 1;
        if let Node::Element { children: inner, .. } = &mut children[index] {
            at_element(inner, left, change);
        }
        if *left == usize::MAX {
            return;
        }
    }
}

proptest! {
    #[test]
    fn inserted_elements_are_where_an_encoder_would_put_them(
        root in any_root(),
        new in proptest::collection::vec(any_element(), 1..3),
        place in any::<proptest::sample::Index>(),
        before in any::<bool>(),
    ) {
        let file = encode(&root);
        let mut document = Document::read(&file).unwrap();
        prop_assert_eq!(&document.write(), &file);
        let element = place.index(document.len());
        let nodes: Vec<Node> = new.iter().map(|new| Node::Raw(edit::new_node(new))).collect();
        let mut model = vec![root];
        let place = if before { Place::Before(element) } else { Place::StartOf(element) };
        if !(before && element == 0) {
            at_element(&mut model, &mut element.clone(), &mut |siblings, index| {
                if before {
                    siblings.splice(index..index, nodes.clone());
                } else if let Node::Element { children, .. } = &mut siblings[index] {
                    children.splice(0..0, nodes.clone());
                }
            });
        }
        document.insert(place, &new).unwrap();
        // Fields behind the children of an element without children stand before new ones; their order has no meaning.
        prop_assert_eq!(sorted(&document.write()), sorted(&encode(&model[0])));
    }

    #[test]
    fn a_set_attribute_keeps_the_others_and_unknown_fields(
        root in any_root(),
        place in any::<proptest::sample::Index>(),
        flag in any::<bool>(),
    ) {
        let file = encode(&root);
        let mut document = Document::read(&file).unwrap();
        let element = place.index(document.len());
        let elements = document.len();
        let others = |document: &Document| (0..document.len())
            .flat_map(|e| document.attributes(e).map(move |(range, at)| (e, range, at)).collect::<Vec<_>>())
            .filter(|(e, _, at)| !(*e == element && document.is_android(at, attribute::NAME)))
            .map(|(e, range, _)| (e, document.bytes[range].to_vec()))
            .collect::<Vec<_>>();
        let salts = |bytes: &[u8]| [901u64, 902, 903, 904].map(|n| count(bytes, n));
        let before = (others(&document), salts(&file));
        document.set_attribute(element, &NewAttribute::boolean(attribute::NAME, flag)).unwrap();
        prop_assert_eq!(document.len(), elements);
        prop_assert_eq!((others(&document), salts(&document.write())), before);
        prop_assert_eq!(document.android_attribute(element, attribute::NAME).unwrap(), Some(Value::Boolean(flag)));
        document.set_attribute(element, &NewAttribute::text(attribute::NAME, "x")).unwrap();
        prop_assert_eq!(document.android_attribute(element, attribute::NAME).unwrap(), Some(Value::Text("x".to_owned())));
    }

    #[test]
    fn random_bytes_are_an_error_or_a_file(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes);
    }

    #[test]
    fn damaged_files_are_an_error_or_a_file(
        root in any_root(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for file in [encode(&root), AAPT2.to_vec()] {
            let mut file = file;
            for (at, byte) in &damage {
                let at = at.index(file.len());
                file[at] = *byte;
            }
            exercise(&file);
        }
    }
}

/// The number of fields with this number, at any depth of the tree.
fn count(bytes: &[u8], number: u64) -> usize {
    let mut all = 0;
    let mut messages = Vec::new();
    messages.push(0..bytes.len());
    while let Some(range) = messages.pop() {
        for field in fields(bytes, range).flatten() {
            all += usize::from(field.number == number);
            if matches!(field.number, NODE_ELEMENT | ELEMENT_ATTRIBUTE | ELEMENT_CHILD) {
                messages.extend(field.bytes(field.number));
            }
        }
    }
    all
}

/// A message with the fields of each element by number; children and attributes stay in their order.
fn sorted(node: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields(node, 0..node.len()) {
        let field = field.unwrap();
        let Some(element) = field.bytes(NODE_ELEMENT) else {
            out.extend(&node[field.range]);
            continue;
        };
        let element = &node[element];
        let mut all: Vec<Field> = fields(element, 0..element.len()).map(Result::unwrap).collect();
        all.sort_by_key(|field| field.number);
        let mut message = Vec::new();
        for field in all {
            match field.bytes(ELEMENT_CHILD) {
                Some(child) => put_bytes(&mut message, ELEMENT_CHILD, &sorted(&element[child])),
                None => message.extend(&element[field.range]),
            }
        }
        put_bytes(&mut out, NODE_ELEMENT, &message);
    }
    out
}

/// Reads, edits and writes; nothing may panic, and what is written can be read.
fn exercise(bytes: &[u8]) {
    let Ok(mut document) = Document::read(bytes) else { return };
    assert_eq!(document.write(), bytes);
    let new = NewElement { name: "provider".to_owned(), ..NewElement::default() };
    for element in 0..document.len().min(3) {
        let _ = document.android_attribute(element, attribute::NAME);
        let _ = document.plain_attribute(element, "package");
        let _ = document.insert(Place::StartOf(element), std::slice::from_ref(&new));
        let _ = document.insert(Place::Before(element), std::slice::from_ref(&new));
        let _ = document.set_attribute(element, &NewAttribute::integer(attribute::INIT_ORDER, -1));
        assert_eq!(Document::read(&document.write()).unwrap().len(), document.len());
    }
}

#[test]
fn truncated_files_are_an_error() {
    assert_eq!(Document::read(AAPT2).unwrap().write(), AAPT2);
    for end in 0..AAPT2.len() {
        // The file ends with the root's position: without it, it is whole.
        let root_is_whole = Document::read(&AAPT2[..end]).is_ok();
        assert!(!root_is_whole || end + 8 > AAPT2.len(), "{end}");
        exercise(&AAPT2[..end]);
    }
}

#[test]
fn padded_lengths_are_read_and_become_minimal_around_an_edit() {
    // XmlNode { element { name "a" } } with lengths of three bytes.
    let file = [0x0a, 0x83, 0x80, 0x00, 0x1a, 0x01, b'a'];
    let mut document = Document::read(&file).unwrap();
    assert!(document.is_named(0, "a"));
    document
        .insert(Place::StartOf(0), &[NewElement { name: "b".to_owned(), ..NewElement::default() }])
        .unwrap();
    assert_eq!(document.write(), [0x0a, 0x0a, 0x1a, 0x01, b'a', 0x2a, 0x05, 0x0a, 0x03, 0x1a, 0x01, b'b']);
}

#[test]
fn what_is_ambiguous_or_too_deep_is_an_error() {
    let error = |bytes: &[u8]| Document::read(bytes).unwrap_err().what;
    assert_eq!(error(&[]), "the file has no element");
    assert_eq!(error(&[0x0a, 0x00, 0x0a, 0x00]), "a node with two elements");
    assert_eq!(error(&[0x0b]), "a field has a wire type that manifests do not have");
    assert_eq!(error(&[0x02, 0x00]), "a field has the number 0");
    assert_eq!(error(&[0x0a, 0x05, 0x00]), "a field is longer than its message");
    assert_eq!(
        error(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        "a field is longer than its message"
    );
    assert_eq!(error(&[0x80; 12]), "a number is longer than its message or than 10 bytes");
    let nested = |depth: usize| {
        let mut node = Node::Text(String::new());
        for _ in 0..depth {
            node =
                Node::Element { name: "a".to_owned(), attributes: Vec::new(), children: vec![node], salt: 0 };
        }
        Document::read(&encode(&node))
    };
    assert_eq!(nested(256).unwrap().len(), 256);
    assert!(nested(257).is_err());
}
