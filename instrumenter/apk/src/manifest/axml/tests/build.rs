//! Builds binary XML field by field, and strategies that generate it.

use proptest::prelude::*;

use super::super::super::attribute::{self, Attribute, NAMESPACE};
use super::super::super::element::{NewAttribute, NewElement};
use super::super::super::value::Value;
use super::super::{NONE, chunk};
use super::put;

/// A part of a generated file.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Start(String, Vec<(Attribute, Value)>),
    End,
    Text(String),
    Unknown(u16, Vec<u8>),
}

/// Builds a file: strings of the pool in either form, a comment at each node, styles on the first strings.
pub(super) fn build(parts: &[Part], utf8: bool, styled: usize, sorted: bool) -> Vec<u8> {
    let mut ids: Vec<Attribute> = parts
        .iter()
        .flat_map(|part| match part {
            Part::Start(_, attributes) => attributes.iter().map(|(attribute, _)| *attribute).collect(),
            _ => Vec::new(),
        })
        .collect();
    ids.sort_by_key(|attribute| attribute.id);
    ids.dedup();
    let mut strings: Vec<String> = ids.iter().map(|attribute| attribute.name.to_owned()).collect();
    let names = strings.len();
    let intern = |strings: &mut Vec<String>, text: &str, from: usize| -> u32 {
        let found = strings.iter().skip(from).position(|string| string == text).map(|index| index + from);
        let index = found.unwrap_or(strings.len());
        if found.is_none() {
            strings.push(text.to_owned());
        }
        u32::try_from(index).unwrap()
    };
    let mut body = Vec::new();
    let mut node = |kind: u16, comment: u32, fields: &[u8]| {
        body.extend(kind.to_le_bytes());
        body.extend([16, 0]);
        body.extend(u32::try_from(16 + fields.len()).unwrap().to_le_bytes());
        body.extend(9u32.to_le_bytes());
        body.extend(comment.to_le_bytes());
        body.extend(fields);
    };
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let comment = intern(&mut strings, "a comment", names);
    let uri = intern(&mut strings, NAMESPACE, names);
    let prefix = intern(&mut strings, "android", names);
    node(0x0100, NONE, &words(&[prefix, uri]));
    let mut open = Vec::new();
    for part in parts {
        match part {
            Part::Start(name, attributes) => {
                let name = intern(&mut strings, name, names);
                open.push(name);
                let mut fields = words(&[NONE, name]);
                let count = u16::try_from(attributes.len()).unwrap();
                for half in [20u16, 20, count, count, 0, 1] {
                    fields.extend(half.to_le_bytes());
                }
                for (attribute, value) in attributes {
                    let key = u32::try_from(ids.iter().position(|id| id == attribute).unwrap()).unwrap();
                    let (raw, kind, data) = match value {
                        Value::Text(text) => {
                            let index = intern(&mut strings, text, names);
                            (index, chunk::TYPE_STRING, index)
                        }
                        Value::Integer(value) => (NONE, chunk::TYPE_DECIMAL, value.cast_unsigned()),
                        Value::Hex(value) => (NONE, chunk::TYPE_HEX, *value),
                        Value::Boolean(value) => (NONE, chunk::TYPE_BOOLEAN, u32::from(*value)),
                        Value::Reference(value) => (NONE, chunk::TYPE_REFERENCE, *value),
                        Value::Other { kind, data } => (NONE, *kind, *data),
                    };
                    fields.extend(words(&[uri, key, raw]));
                    fields.extend([8, 0, 0, kind]);
                    fields.extend(data.to_le_bytes());
                }
                node(0x0102, comment, &fields);
            }
            Part::End => node(0x0103, NONE, &words(&[NONE, open.pop().unwrap()])),
            Part::Text(text) => {
                let index = intern(&mut strings, text, names);
                let mut fields = words(&[index]);
                fields.extend([8, 0, 0, chunk::TYPE_STRING]);
                fields.extend(words(&[index]));
                node(0x0104, NONE, &fields);
            }
            Part::Unknown(kind, fields) => node(*kind, 0xdead_beef, fields),
        }
    }
    node(0x0101, NONE, &words(&[prefix, uri]));

    // Encoded by the rules of the format and not by the program's own encoder.
    let (mut offsets, mut data) = (Vec::new(), Vec::new());
    for string in &strings {
        offsets.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
        let units: Vec<u16> = string.encode_utf16().collect();
        if utf8 {
            for length in [units.len(), string.len()] {
                if length > 0x7f {
                    data.push(u8::try_from(0x80 | length >> 8).unwrap());
                }
                data.push(u8::try_from(length & 0xff).unwrap());
            }
            data.extend(string.as_bytes());
            data.push(0);
        } else {
            data.extend(u16::try_from(units.len()).unwrap().to_le_bytes());
            data.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            data.extend([0, 0]);
        }
    }
    data.resize(data.len().next_multiple_of(4), 0);
    let styled = styled.min(strings.len());
    let (mut style_offsets, mut style_data) = (Vec::new(), Vec::new());
    for style in 0..styled {
        style_offsets.extend(words(&[u32::try_from(style_data.len()).unwrap()]));
        let tag = u32::try_from(strings.len() - 1 - style % strings.len()).unwrap();
        style_data.extend(words(&[tag, 0, 3, comment, 1, 2, NONE]));
    }
    if styled > 0 {
        style_data.extend(words(&[NONE, NONE]));
    }
    let strings_start = 28 + offsets.len() + style_offsets.len();
    let styles_start = if styled > 0 { strings_start + data.len() } else { 0 };
    let flags = u32::from(utf8) << 8 | u32::from(sorted);
    let numbers = [strings.len(), styled, flags as usize, strings_start, styles_start]
        .map(|n| u32::try_from(n).unwrap());
    let mut file = vec![3, 0, 8, 0, 0, 0, 0, 0, 1, 0, 28, 0];
    let pool_size = strings_start + data.len() + style_data.len();
    file.extend(words(&[u32::try_from(pool_size).unwrap()]));
    file.extend(words(&numbers));
    for part in [offsets, style_offsets, data, style_data] {
        file.extend(part);
    }
    if names > 0 {
        file.extend([0x80, 1, 8, 0]);
        file.extend(words(&[u32::try_from(8 + 4 * names).unwrap()]));
        file.extend(ids.iter().flat_map(|attribute| attribute.id.to_le_bytes()));
    }
    file.extend(body);
    let size = u32::try_from(file.len()).unwrap();
    put(&mut file, 4, size);
    file
}

pub(super) const ATTRIBUTES: [Attribute; 6] = [
    attribute::NAME,
    attribute::EXPORTED,
    attribute::INIT_ORDER,
    attribute::VALUE,
    attribute::MIN_SDK_VERSION,
    attribute::EXTRACT_NATIVE_LIBS,
];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z.]{0,8}",
        Just("name".to_owned()),
        Just("äß €".to_owned()),
        Just("x".repeat(200)),
        // An attribute's name as a value.
        Just("exported".to_owned()),
    ]
}

pub(super) fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_text().prop_map(Value::Text),
        any::<i32>().prop_map(Value::Integer),
        any::<u32>().prop_map(Value::Hex),
        any::<bool>().prop_map(Value::Boolean),
        any::<u32>().prop_map(Value::Reference),
        (0x05..0x0f_u8, any::<u32>()).prop_map(|(kind, data)| Value::Other { kind, data }),
    ]
}

fn any_attributes() -> impl Strategy<Value = Vec<(Attribute, Value)>> {
    let values = proptest::collection::vec(proptest::option::of(any_value()), ATTRIBUTES.len());
    values.prop_map(|values| {
        ATTRIBUTES.into_iter().zip(values).filter_map(|(a, value)| Some((a, value?))).collect()
    })
}

/// The children of an element, well nested.
fn any_parts() -> impl Strategy<Value = Vec<Part>> {
    let leaf = prop_oneof![
        any_text().prop_map(|text| vec![Part::Text(text)]),
        (0x0105..0x0180_u16, proptest::collection::vec(any::<u8>(), 0..12))
            .prop_map(|(kind, bytes)| vec![Part::Unknown(kind, bytes)]),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let children = proptest::collection::vec(inner, 0..4);
        ("[a-z]{1,6}", any_attributes(), children).prop_map(|(name, attributes, children)| {
            let mut parts = vec![Part::Start(name, attributes)];
            parts.extend(children.into_iter().flatten());
            parts.push(Part::End);
            parts
        })
    })
}

pub(super) fn any_file() -> impl Strategy<Value = Vec<u8>> {
    (any_attributes(), any_parts(), any::<bool>(), 0..8_usize, any::<bool>()).prop_map(
        |(attributes, children, utf8, styled, sorted)| {
            let mut parts = vec![Part::Start("manifest".to_owned(), attributes)];
            parts.extend(children);
            parts.push(Part::End);
            build(&parts, utf8, styled, sorted)
        },
    )
}

pub(in crate::manifest) fn any_element() -> impl Strategy<Value = NewElement> {
    let attributes = any_attributes()
        .prop_map(|all| {
            let new = |(attribute, value): (Attribute, Value)| NewAttribute {
                attribute,
                text: format!("{value:?}"),
                value,
            };
            all.into_iter().rev().map(new).collect::<Vec<_>>()
        })
        .boxed();
    let leaf = ("[a-z]{1,6}", attributes.clone()).prop_map(|(name, attributes)| NewElement {
        name,
        attributes,
        children: vec![],
    });
    leaf.prop_recursive(2, 6, 3, move |inner| {
        ("[a-z]{1,6}", attributes.clone(), proptest::collection::vec(inner, 0..3))
            .prop_map(|(name, attributes, children)| NewElement { name, attributes, children })
    })
}
