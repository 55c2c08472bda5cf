//! The lines of Matrix's files.

use std::fmt::Write as _;

use trace_format::ids;

use super::java_map::JavaMap;
use super::names::Names;
use super::traced::{Collected, Traced};
use crate::class_facts::ClassFacts;
use crate::method_map::DISPATCH;

/// The key of [`DISPATCH`] in a set.
pub(super) const DISPATCH_KEY: &str = "android.os.Handler.dispatchMessage.(Landroid.os.Message;)V";

/// Returns `methodMapping.txt`, sorted by id.
pub(super) fn method_lines(collected: &Collected, names: Option<&Names>) -> String {
    let mut sorted: Vec<&Traced> = collected.methods.iter().collect();
    // If the base map contains it, it is not written twice.
    sorted.retain(|method| method.key() != DISPATCH_KEY);
    let dispatch = i64::from(ids::DISPATCH);
    sorted.sort_by_key(|method| method.id);
    let mut text = String::with_capacity(sorted.len() * 96 + 128);
    let behind = sorted.partition_point(|method| method.id <= dispatch);
    let (before, behind) = sorted.split_at(behind);
    let push = |text: &mut String, methods: &[&Traced]| {
        for method in methods {
            let _ = writeln!(text, "{},{},{}", method.id, method.access as i32, method.line(names));
        }
    };
    push(&mut text, before);
    let _ = writeln!(text, "{dispatch},{DISPATCH}");
    push(&mut text, behind);
    text
}

/// Returns `ignoreMethodMapping.txt`.
pub(super) fn ignored_lines(ignored: &JavaMap<Traced>, names: Option<&Names>) -> String {
    let mut sorted: Vec<&Traced> = ignored.values().collect();
    // Java compares strings by UTF-16 units.
    sorted.sort_by(|a, b| a.class.encode_utf16().cmp(b.class.encode_utf16()));
    let mut text = String::from("ignore methods:\n");
    for method in sorted {
        text.push_str(&method.line(names));
        text.push('\n');
    }
    text
}

/// Returns the file of source lines, which Matrix does not write.
pub(super) fn source_lines(classes: &[ClassFacts], numbered: &[Vec<u32>]) -> String {
    let methods = classes.iter().zip(numbered).flat_map(|(class, ids)| {
        let methods = class.methods.iter().zip(ids).filter(|&(_, &id)| id != 0);
        methods.map(move |(method, &id)| (id, class, method))
    });
    let mut sorted: Vec<_> = methods.collect();
    sorted.sort_by_key(|&(id, ..)| id);
    sorted.dedup_by_key(|&mut (id, ..)| id);
    crate::method_map::source_lines(sorted.into_iter())
}
