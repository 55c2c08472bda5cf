//! Names in a dex file, as class files have them.

use std::borrow::Cow;

use dex::Dex;

use crate::class::text;

/// Returns the descriptor of a type; empty if there is no such type.
pub(crate) fn descriptor<'d>(dex: &'d Dex<'_>, kind: u32) -> Cow<'d, str> {
    text::decode(dex.descriptor(kind).unwrap_or_default())
}

/// Returns a string; empty if there is no such string.
pub(crate) fn string<'d>(dex: &'d Dex<'_>, index: u32) -> Cow<'d, str> {
    text::decode(dex.string(index).unwrap_or_default())
}

/// Returns the internal name of a class (`a/B`); of an array its descriptor, as in class files.
pub(crate) fn class<'d>(dex: &'d Dex<'_>, kind: u32) -> Cow<'d, str> {
    match descriptor(dex, kind) {
        Cow::Borrowed(text) => Cow::Borrowed(internal(text)),
        Cow::Owned(text) => Cow::Owned(internal(&text).to_owned()),
    }
}

fn internal(descriptor: &str) -> &str {
    descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(descriptor)
}

/// Returns the descriptor of a method, such as `(I)V`.
pub(crate) fn method_descriptor(dex: &Dex<'_>, proto: u32) -> String {
    let mut text = String::from("(");
    if let Some(proto) = dex.protos.get(proto as usize) {
        for &parameter in &proto.parameters {
            text.push_str(&descriptor(dex, parameter));
        }
        text.push(')');
        text.push_str(&descriptor(dex, proto.result));
    }
    text
}
