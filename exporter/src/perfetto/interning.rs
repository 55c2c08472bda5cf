//! Interns names, with one numbering per sequence, and writes what has a name.

use std::collections::HashMap;

use super::packets::{event, packet};
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
    /// The number that was given last.
    last: u32,
}

/// The fields of a text: its number, its declaration among the interned data, and itself where it has no number.
struct Fields {
    number: u32,
    declaration: u32,
    inline: u32,
}

impl Texts {
    /// Writes a text by its number, which the packet that has it first declares; inline if the limit is reached.
    fn write<'m>(
        &mut self,
        m: &'m mut Message,
        interned: &mut Message,
        text: &str,
        fields: &Fields,
    ) -> &'m mut Message {
        if let Some(number) = self.numbers.get(text) {
            return m.uint(fields.number, (*number).into());
        }
        let size = text.len() + 48;
        if self.bytes + size > MAX_NAME_BYTES {
            return m.text(fields.inline, text);
        }
        self.bytes += size;
        self.last += 1;
        self.numbers.insert(text.into(), self.last);
        interned.message(fields.declaration, |m| m.uint(1, self.last.into()).text(2, text));
        m.uint(fields.number, self.last.into())
    }
}

/// All interned names of the current sequence. Numbers start at 1: 0 means unset.
#[derive(Debug, Default)]
pub(crate) struct Interning {
    /// Event names other than methods; they share the methods' numbers.
    names: Texts,
    keys: Texts,
    values: Texts,
    /// By method id: its number, and the round in which it got it. Rounds avoid clearing this for each thread.
    methods: Vec<(u32, u32)>,
    round: u32,
    /// Which categories have been declared, by index.
    categories: [bool; CATEGORIES.len()],
    /// Declarations of the packet at hand.
    pub(super) declared: Message,
}

impl Interning {
    /// Forgets all names: a new sequence starts.
    pub(crate) fn clear(&mut self) {
        let (methods, round) = (std::mem::take(&mut self.methods), self.round + 1);
        *self = Self { methods, round, ..Self::default() };
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
        self.names.last += 1;
        self.methods[id as usize] = (self.round, self.names.last);
        self.names.last
    }

    /// Writes an event's name into its body, by number if the limit allows.
    pub(super) fn name<'m>(&mut self, body: &'m mut Message, name: &str) -> &'m mut Message {
        let fields = Fields { number: event::NAME_IID, declaration: 2, inline: event::NAME };
        self.names.write(body, &mut self.declared, name, &fields)
    }

    /// Writes an event's category.
    pub(super) fn category<'m>(&mut self, body: &'m mut Message, name: &str) -> &'m mut Message {
        let Some(place) = CATEGORIES.iter().position(|known| *known == name) else { return body };
        let number = place as u64 + 1;
        if !std::mem::replace(&mut self.categories[place], true) {
            self.declared.message(1, |m| m.uint(1, number).text(2, name));
        }
        body.uint(event::CATEGORY_IIDS, number)
    }

    /// Writes an argument of an event.
    pub(super) fn argument<'m>(&mut self, m: &'m mut Message, arg: &Arg<'_>) -> &'m mut Message {
        // Keys are few and constant, so they are always interned.
        let declared = &mut self.declared;
        self.keys.write(m, declared, arg.key, &Fields { number: 1, declaration: 3, inline: 10 });
        match arg.value {
            Value::Bool(value) => m.uint(2, value.into()),
            Value::Uint(value) => m.uint(3, value),
            Value::Int(value) => m.int(4, value),
            Value::Millis(ns) => m.double(5, ns as f64 / 1e6),
            Value::Number(value) => m.double(5, value),
            Value::Text(text) => {
                self.values.write(m, declared, text, &Fields { number: 17, declaration: 29, inline: 6 })
            }
            // These are not arguments.
            Value::Flow(_) | Value::Group(_) | Value::Category(_) | Value::ThreadTime(_) => m,
        }
    }

    /// Moves what the packet declares to it, if anything is new.
    pub(super) fn declare(&mut self, m: &mut Message) {
        if !self.declared.bytes().is_empty() {
            m.data(packet::INTERNED_DATA, self.declared.bytes());
            self.declared.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a text; returns the last number, and whether the text is declared and whether it is inline.
    fn write(texts: &mut Texts, text: &str) -> (u32, bool, bool) {
        let (mut m, mut interned) = (Message::default(), Message::default());
        texts.write(&mut m, &mut interned, text, &Fields { number: 1, declaration: 2, inline: 3 });
        (texts.last, !interned.bytes().is_empty(), m.bytes()[0] == 3 << 3 | 2)
    }

    #[test]
    fn numbers_start_at_one_and_again_with_each_sequence() {
        let mut interning = Interning::default();
        for _ in 0..2 {
            interning.clear();
            assert_eq!(interning.method(7), None);
            assert_eq!(interning.add_method(7), 1);
            assert_eq!(write(&mut interning.names, "a"), (2, true, false));
            assert_eq!(write(&mut interning.names, "a"), (2, false, false));
            assert_eq!((interning.method(7), interning.method(8)), (Some(1), None));
            assert_eq!(write(&mut interning.keys, "a"), (1, true, false));
        }
    }

    #[test]
    fn a_flood_of_names_ends_in_full() {
        let mut interning = Interning::default();
        let long = "x".repeat(1000);
        let full = (0..100_000).any(|i| write(&mut interning.names, &format!("{i}{long}")).2);
        assert!(full);
    }
}
