//! Bounds of messages against a simulated main thread: nested loops, exceptions that are caught around a loop, compiled
//! code that moves the stack a little.

use proptest::prelude::*;
use trace_rules::looper::{Ended, MAX_NESTED, Pairing, Tag};

#[derive(Clone, Debug)]
struct Message {
    target: u32,
    before_ns: u64,
    after_ns: u64,
    /// It throws instead of ending, and its loop goes on.
    throws: bool,
    /// How far the stack is from where its loop's usually is.
    moved: usize,
    /// Its own loop's messages.
    inner: Vec<Message>,
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let one = || (0..4u32, 1..50u64, 1..50u64, prop::bool::weighted(0.2), 0..128usize);
    let leaf = one().prop_map(|(target, before_ns, after_ns, throws, moved)| Message {
        target,
        before_ns,
        after_ns,
        throws,
        moved,
        inner: Vec::new(),
    });
    let tree = leaf.prop_recursive(MAX_NESTED as u32 - 1, 60, 4, move |inner| {
        (one(), prop::collection::vec(inner, 0..4)).prop_map(
            |((target, before_ns, after_ns, throws, moved), inner)| Message {
                target,
                before_ns,
                after_ns,
                throws,
                moved,
                inner,
            },
        )
    });
    prop::collection::vec(tree, 1..8)
}

struct Main {
    now_ns: u64,
    pairing: Pairing,
    paired: Vec<Ended>,
    truth: Vec<(u32, u64, u64, u64, u8)>,
}

impl Main {
    /// Runs a loop's messages. Returns the start of the first, and the end of the last unless that threw.
    fn run(&mut self, messages: &[Message], level: usize) -> Option<(u64, Option<u64>)> {
        let mut bounds = None;
        for message in messages {
            let tag = Tag { target: message.target, callback: 0, what: 0 };
            let begun_ns = self.now_ns;
            self.pairing.begin(begun_ns, tag, 0x10_0000 - level * 2_048 - message.moved);
            self.now_ns += message.before_ns;
            let inner = self.run(&message.inner, level + 1);
            self.now_ns += message.after_ns;
            let last = &mut bounds.get_or_insert((begun_ns, None)).1;
            if message.throws {
                *last = None;
                continue;
            }
            *last = Some(self.now_ns);
            self.paired.extend(self.pairing.end(self.now_ns, Some(tag)));
            let inner_ns = inner.map_or(0, |(from, to)| to.unwrap_or(self.now_ns) - from);
            let took_ns = self.now_ns - begun_ns;
            self.truth.push((message.target, begun_ns, self.now_ns, took_ns - inner_ns, level as u8));
        }
        bounds
    }
}

proptest! {
    /// A loop's last message may throw just before the message around it ends; both having the same handler, the end then
    /// fits the wrong one. Here each loop has its own handlers.
    #[test]
    fn every_end_is_paired_with_its_own_begin(mut messages in messages()) {
        fn tell_apart(messages: &mut [Message], level: u32) {
            for message in messages {
                message.target += 10 * level;
                tell_apart(&mut message.inner, level + 1);
            }
        }
        tell_apart(&mut messages, 1);
        let mut main = Main { now_ns: 1, pairing: Pairing::default(), paired: Vec::new(), truth: Vec::new() };
        main.run(&messages, 0);
        let paired: Vec<_> = main
            .paired
            .iter()
            .map(|ended| (ended.tag.target, ended.begun_ns, ended.ended_ns, ended.own_ns, ended.nested))
            .collect();
        prop_assert_eq!(paired, main.truth);
    }

    #[test]
    fn the_pairing_stays_consistent_after_any_calls(calls in prop::collection::vec((any::<bool>(), 0..4u32, any::<usize>()), 0..200)) {
        let mut pairing = Pairing::default();
        for (at_ns, (begin, target, stack)) in calls.into_iter().enumerate() {
            let tag = Tag { target, callback: 0, what: 0 };
            if begin {
                pairing.begin(at_ns as u64, tag, stack);
            } else if let Some(ended) = pairing.end(at_ns as u64, Some(tag)) {
                prop_assert!(ended.begun_ns < ended.ended_ns && ended.own_ns <= ended.ended_ns - ended.begun_ns);
                prop_assert_eq!(ended.tag.target, target);
            }
            prop_assert!(pairing.open() <= MAX_NESTED);
        }
    }
}
