//! Numbers for names, one numbering a sequence; and what has a name, written with its number.

use std::collections::HashMap;

use super::packets::event;
use super::wire::Message;
use crate::model::{Arg, CATEGORIES, Value};

/// Bytes of names that one sequence remembers. Beyond that names are written out where they are used:
/// larger, but memory stays flat.
const MAX_BYTES: usize = 16 << 20;

/// Texts of one kind.
#[derive(Debug, Default)]
struct Texts {
    numbers: HashMap<Box<str>, u32>,
    bytes: usize,
}

/// What became of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Interned {
    /// It has this number already.
    Known(u32),
    /// It has this number from now on: say so in this packet.
    New(u32),
    /// There is no more room.
    Full,
}

impl Texts {
    /// The number of `text`; `next` gives a fresh one.
    fn number(&mut self, text: &str, next: &mut u32) -> Interned {
        if let Some(number) = self.numbers.get(text) {
            return Interned::Known(*number);
        }
        let size = text.len() + 48;
        if self.bytes + size > MAX_BYTES {
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

/// All names of the sequence in hand. Numbers start at 1: 0 means "not set".
#[derive(Debug, Default)]
pub(crate) struct Interning {
    /// Event names that are no methods; they share the methods' numbers.
    names: Texts,
    next_name: u32,
    keys: Texts,
    next_key: u32,
    values: Texts,
    next_value: u32,
    /// By method id: in which round it got which number. Rounds save clearing it for each thread.
    methods: Vec<(u32, u32)>,
    round: u32,
    /// Which of the categories were told, by place.
    categories: [bool; CATEGORIES.len()],
}

impl Interning {
    /// Forgets all names: a new sequence begins.
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

    /// Gives a method's name a number.
    pub(crate) fn add_method(&mut self, id: u32) -> u32 {
        if self.methods.len() <= id as usize {
            self.methods.resize(id as usize + 1, (0, 0));
        }
        self.next_name += 1;
        self.methods[id as usize] = (self.round, self.next_name);
        self.next_name
    }
}

/// Puts an event's name into its body, by number if there is room for one.
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

/// Says what an event is about.
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

/// An argument of an event.
pub(super) fn annotation<'m>(
    m: &'m mut Message,
    interned: &mut Message,
    interning: &mut Interning,
    arg: &Arg<'_>,
) -> &'m mut Message {
    // Keys are few and ours, so they always find room.
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
        // They are no arguments.
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
