//! Interns names, with one numbering per sequence, and writes what has a name.

use std::collections::HashMap;

use super::packets::event;
use crate::model::{Arg, CATEGORIES, Value};
use crate::protobuf::write::Message;

/// Maximum size of the interned names of a sequence, in bytes. Further names are written inline: larger, but
/// memory stays bounded.
const MAX_NAME_BYTES: usize = 16 << 20;

/// Interned texts of one kind.
#[derive(Debug, Default)]
struct Texts {
    numbers: HashMap<Box<str>, u32>,
    bytes: usize,
}

/// The result of interning a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interned {
    /// It already has this number.
    Known(u32),
    /// It gets this number, which this packet must declare.
    New(u32),
    /// The limit is reached.
    Full,
}

impl Texts {
    /// The number of `text`; `next` provides a new one.
    fn number(&mut self, text: &str, next: &mut u32) -> Interned {
        if let Some(number) = self.numbers.get(text) {
            return Interned::Known(*number);
        }
        let size = text.len() + 48;
        if self.bytes + size > MAX_NAME_BYTES {
            return Interned::Full;
        }
        self.bytes += size;
        *next += 1;
        self.numbers.insert(text.into(), *next);
        Interned::New(*next)
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.bytes = 0;
    }
}

/// All interned names of the current sequence. Numbers start at 1: 0 means unset.
#[derive(Debug, Default)]
pub(crate) struct Interning {
    /// Event names other than methods; they share the methods' numbers.
    names: Texts,
    next_name: u32,
    keys: Texts,
    next_key: u32,
    values: Texts,
    next_value: u32,
    /// By method id: its number, and the round in which it got it. Rounds avoid clearing this for each thread.
    methods: Vec<(u32, u32)>,
    round: u32,
    /// Which categories have been declared, by index.
    categories: [bool; CATEGORIES.len()],
}

impl Interning {
    /// Forgets all names: a new sequence starts.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.keys.clear();
        self.values.clear();
        (self.next_name, self.next_key, self.next_value) = (0, 0, 0);
        self.round += 1;
        self.categories = Default::default();
    }

    /// The number of a method's name, if it has one.
    #[inline]
    pub(crate) fn method(&self, id: u32) -> Option<u32> {
        self.methods.get(id as usize).filter(|(round, _)| *round == self.round).map(|(_, number)| *number)
    }

    /// Assigns a number to a method's name.
    pub(crate) fn add_method(&mut self, id: u32) -> u32 {
        if self.methods.len() <= id as usize {
            self.methods.resize(id as usize + 1, (0, 0));
        }
        self.next_name += 1;
        self.methods[id as usize] = (self.round, self.next_name);
        self.next_name
    }
}

/// Writes an event's name into its body, by number if the limit allows.
pub(super) fn named<'m>(
    body: &'m mut Message,
    interned: &mut Message,
    interning: &mut Interning,
    name: &str,
) -> &'m mut Message {
    match interning.names.number(name, &mut interning.next_name) {
        Interned::Known(number) => body.uint(event::NAME_IID, number.into()),
        Interned::New(number) => {
            interned.message(2, |m| m.uint(1, number.into()).text(2, name));
            body.uint(event::NAME_IID, number.into())
        }
        Interned::Full => body.text(event::NAME, name),
    }
}

/// Writes an event's category.
pub(super) fn category<'m>(
    body: &'m mut Message,
    interned: &mut Message,
    interning: &mut Interning,
    name: &str,
) -> &'m mut Message {
    let Some(place) = CATEGORIES.iter().position(|known| *known == name) else { return body };
    let number = place as u64 + 1;
    if !std::mem::replace(&mut interning.categories[place], true) {
        interned.message(1, |m| m.uint(1, number).text(2, name));
    }
    body.uint(event::CATEGORY_IIDS, number)
}

/// Writes an argument of an event.
pub(super) fn annotation<'m>(
    m: &'m mut Message,
    interned: &mut Message,
    interning: &mut Interning,
    arg: &Arg<'_>,
) -> &'m mut Message {
    // Keys are few and constant, so they are always interned.
    match interning.keys.number(arg.key, &mut interning.next_key) {
        Interned::Known(number) => m.uint(1, number.into()),
        Interned::New(number) => {
            interned.message(3, |m| m.uint(1, number.into()).text(2, arg.key));
            m.uint(1, number.into())
        }
        Interned::Full => m.text(10, arg.key),
    };
    match arg.value {
        Value::Bool(value) => m.uint(2, value.into()),
        Value::Uint(value) => m.uint(3, value),
        Value::Int(value) => m.int(4, value),
        Value::Millis(ns) => m.double(5, ns as f64 / 1e6),
        Value::Number(value) => m.double(5, value),
        Value::Text(text) => match interning.values.number(text, &mut interning.next_value) {
            Interned::Known(number) => m.uint(17, number.into()),
            Interned::New(number) => {
                interned.message(29, |m| m.uint(1, number.into()).text(2, text));
                m.uint(17, number.into())
            }
            Interned::Full => m.text(6, text),
        },
        // These are not arguments.
        Value::Flow(_) | Value::Group(_) | Value::Category(_) | Value::ThreadTime(_) => m,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_at_one_and_again_with_each_sequence() {
        let mut interning = Interning::default();
        for _ in 0..2 {
            interning.clear();
            assert_eq!(interning.method(7), None);
            assert_eq!(interning.add_method(7), 1);
            assert_eq!(interning.names.number("a", &mut interning.next_name), Interned::New(2));
            assert_eq!(interning.names.number("a", &mut interning.next_name), Interned::Known(2));
            assert_eq!((interning.method(7), interning.method(8)), (Some(1), None));
            assert_eq!(interning.keys.number("a", &mut interning.next_key), Interned::New(1));
        }
    }

    #[test]
    fn a_flood_of_names_ends_in_full() {
        let mut interning = Interning::default();
        let long = "x".repeat(1000);
        let full = (0..100_000).any(|i| {
            interning.names.number(&format!("{i}{long}"), &mut interning.next_name) == Interned::Full
        });
        assert!(full);
    }
}
