//! Groups threads with the same stack.

use std::collections::HashMap;

use crate::dump::frame::Frame;
use crate::dump::model::Thread;
use crate::dump::state;

/// Threads in the same state with the same stack.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// The threads, in the dump's order.
    pub(crate) threads: Vec<&'a Thread>,
}

/// Groups threads: largest groups first, equal sizes in the dump's order.
pub(crate) fn fold<'a>(threads: impl Iterator<Item = &'a Thread>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: HashMap<(&str, Vec<Key<'a>>), usize> = HashMap::new();
    for thread in threads {
        let key = (state::name(thread), thread.frames.iter().map(key).collect());
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Group { threads: Vec::new() });
            groups.len() - 1
        });
        groups[place].threads.push(thread);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.threads.len()));
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
        Frame::Java(java) => {
            let line = match java.place {
                crate::dump::Place::Source { line, .. } => line,
                _ => None,
            };
            Key::Java(&java.class, &java.method, line)
        }
        Frame::Native(native) => match &native.symbol {
            Some(symbol) => Key::Symbol(symbol),
            None => Key::Address(&native.map, native.pc),
        },
        Frame::Kernel(kernel) => Key::Symbol(&kernel.symbol),
    }
}
