//! Groups threads with the same stack.

use std::collections::HashMap;

use crate::dump::frame::Frame;
use crate::dump::model::Thread;
use crate::dump::state;

/// Groups threads that are in the same state with the same stack: the largest groups first, equal sizes and the threads of a
/// group in the dump's order.
pub(crate) fn fold<'a>(threads: impl Iterator<Item = &'a Thread>) -> Vec<Vec<&'a Thread>> {
    let mut groups: Vec<Vec<&'a Thread>> = Vec::new();
    let mut places: HashMap<(&str, Vec<Key<'a>>), usize> = HashMap::new();
    for thread in threads {
        let key = (state::name(thread), thread.frames.iter().map(key).collect());
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(thread);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

/// The identity of a frame; for native frames without a name, the address in the library.
#[derive(PartialEq, Eq, Hash, Debug)]
enum Key<'a> {
    Java(&'a str, &'a str, Option<u32>),
    Symbol(&'a str),
    Address(&'a str, u64),
}

fn key(frame: &Frame) -> Key<'_> {
    match frame {
        Frame::Java(java) => Key::Java(&java.class, &java.method, java.place.line),
        Frame::Native(native) => match &native.symbol {
            Some(symbol) => Key::Symbol(symbol),
            None => Key::Address(&native.map, native.pc),
        },
        Frame::Kernel(kernel) => Key::Symbol(&kernel.symbol),
    }
}
