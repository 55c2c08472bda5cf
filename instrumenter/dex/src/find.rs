//! Finds items of the tables, and adds those that are missing.
//!
//! The tables of a file that was read are sorted, and are searched as such. What was added behind them is in a hash map, which catches
//! up with tables that were appended to directly.

use std::borrow::Cow;

use crate::lookup::Lookup;
use crate::{Dex, Field, Method, Proto, mutf8};

impl<'a> Dex<'a> {
    /// A string as MUTF-8 without the final zero.
    pub fn string(&self, index: u32) -> Option<&[u8]> {
        self.strings.get(index as usize).map(|string| &**string)
    }

    /// The descriptor of a type, such as `Ljava/lang/String;` or `[I`.
    pub fn descriptor(&self, kind: u32) -> Option<&[u8]> {
        self.string(*self.types.get(kind as usize)?)
    }

    /// The index of a string.
    pub fn find_string(&mut self, text: &str) -> Option<u32> {
        self.find_bytes(&mutf8::encode(text))
    }

    fn find_bytes(&mut self, bytes: &[u8]) -> Option<u32> {
        let key_of = |string: &Cow<'a, [u8]>| (**string).into();
        self.lookup.strings.find(&self.strings, bytes, key_of, |string| mutf8::compare(string, bytes))
    }

    /// The index of a string, which is added if it is missing.
    pub fn find_or_add_string(&mut self, text: &str) -> u32 {
        let bytes = mutf8::encode(text);
        self.find_bytes(&bytes).unwrap_or_else(|| push(&mut self.strings, Cow::Owned(bytes.into_owned())))
    }

    /// The index of the type with a descriptor.
    pub fn find_type(&mut self, descriptor: &str) -> Option<u32> {
        let string = self.find_string(descriptor)?;
        self.find_type_of(string)
    }

    fn find_type_of(&mut self, string: u32) -> Option<u32> {
        self.lookup.types.find(&self.types, &string, |&other| other, |other| other.cmp(&string))
    }

    /// The index of the type with a descriptor, which must be valid. The type is added if it is missing.
    pub fn find_or_add_type(&mut self, descriptor: &str) -> u32 {
        let string = self.find_or_add_string(descriptor);
        self.find_type_of(string).unwrap_or_else(|| push(&mut self.types, string))
    }

    /// The index of a proto by the types of its result and its parameters, which must be in the table. It is added if it is missing.
    pub fn find_or_add_proto(&mut self, result: u32, parameters: &[u32]) -> u32 {
        let key = (result, parameters.into());
        let key_of = |proto: &Proto| (proto.result, proto.parameters.clone());
        let compare = |other: &Proto| other.key().cmp(&(result, parameters));
        self.lookup.protos.find(&self.protos, &key, key_of, compare).unwrap_or_else(|| {
            let kinds = std::iter::once(&result).chain(parameters);
            let letters = kinds.filter_map(|&kind| self.descriptor(kind)?.first().copied());
            let shorty: String =
                letters.map(|letter| if letter == b'[' { 'L' } else { char::from(letter) }).collect();
            let shorty = self.find_or_add_string(&shorty);
            push(&mut self.protos, Proto { shorty, result, parameters: key.1 })
        })
    }

    /// The index of a field by the indices of its class and type. It is added if it is missing.
    pub fn find_or_add_field(&mut self, class: u32, name: &str, kind: u32) -> u32 {
        let field = Field { class, kind, name: self.find_or_add_string(name) };
        let key = |field: &Field| (field.class, field.name, field.kind);
        let found = self.lookup.fields.find(&self.fields, &key(&field), key, |other| other.cmp(&field));
        found.unwrap_or_else(|| push(&mut self.fields, field))
    }

    /// The index of a method by the indices of its class and proto. It is added if it is missing.
    pub fn find_or_add_method(&mut self, class: u32, name: &str, proto: u32) -> u32 {
        let method = Method { class, proto, name: self.find_or_add_string(name) };
        let key = |method: &Method| (method.class, method.name, method.proto);
        let found = self.lookup.methods.find(&self.methods, &key(&method), key, |other| other.cmp(&method));
        found.unwrap_or_else(|| push(&mut self.methods, method))
    }

    /// Notes that the tables are sorted as far as they are filled.
    pub(crate) fn tables_are_sorted(&mut self) {
        self.lookup = Lookup::default();
        self.lookup.strings.sorted = self.strings.len();
        self.lookup.types.sorted = self.types.len();
        self.lookup.protos.sorted = self.protos.len();
        self.lookup.fields.sorted = self.fields.len();
        self.lookup.methods.sorted = self.methods.len();
    }
}

fn push<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    (table.len() - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_where_they_are_and_added_once() {
        let mut dex = Dex::default();
        for text in ["A", "I", "V", "VI"] {
            dex.strings.push(Cow::Borrowed(text.as_bytes()));
        }
        dex.types = vec![1];
        dex.tables_are_sorted();
        assert_eq!(dex.find_or_add_string("V"), 2);
        assert_eq!(dex.find_string("none"), None);
        assert_eq!(dex.find_or_add_type("I"), 0);
        let void = dex.find_or_add_type("V");
        let proto = dex.find_or_add_proto(void, &[0]);
        assert_eq!((proto, dex.strings.len(), dex.types.len()), (0, 4, 2));
        assert_eq!(dex.find_or_add_proto(void, &[0]), 0);
        let class = dex.find_or_add_type("La/B;");
        let method = dex.find_or_add_method(class, "run", proto);
        assert_eq!(dex.find_or_add_method(class, "run", proto), method);
        let array = dex.find_or_add_type("[La/B;");
        let field = dex.find_or_add_field(class, "x", array);
        assert_eq!(dex.find_or_add_field(class, "x", array), field);
        // Tables that were appended to directly.
        dex.strings.push(Cow::Borrowed(b"direct"));
        assert_eq!(dex.find_string("direct"), Some(dex.strings.len() as u32 - 1));
        let Proto { result, parameters, .. } = &dex.protos[proto as usize];
        let kinds = [parameters[0], *result].map(|kind| dex.descriptor(kind).unwrap());
        assert_eq!(kinds, [b"I", b"V"]);
    }
}
