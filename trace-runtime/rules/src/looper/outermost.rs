//! Stands in for the messages of a thread whose Looper calls no Printer: each outermost recorded call is a message, or a part of one, from
//! where the app's own code begins.

use crate::stack::{Call, CallTree, Finished};

/// A call without a recorded caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outer {
    /// The method.
    pub id: u32,
    /// When it began, ns.
    pub begun_ns: u64,
    /// How long it took, ns, until now if it is open.
    pub took_ns: u64,
}

/// Finds the outermost calls, call by call. An exit without an enter changes nothing, as in [`CallTree`].
#[derive(Default)]
pub struct Outermost {
    open: Option<(u32, u64, CallTree)>,
}

impl Outermost {
    /// Takes the thread's next call; returns the outermost call that it ends, with the calls inside of it.
    pub fn push(&mut self, call: Call) -> Option<(Outer, Finished)> {
        match &mut self.open {
            None if call.entered => {
                let mut tree = CallTree::new();
                tree.push(call);
                self.open = Some((call.id, call.at_ns, tree));
                None
            }
            None => None,
            Some((_, _, tree)) => {
                tree.push(call);
                if tree.is_open() {
                    return None;
                }
                let (id, begun_ns, tree) = self.open.take()?;
                let took_ns = call.at_ns.saturating_sub(begun_ns);
                Some((Outer { id, begun_ns, took_ns }, tree.finish(call.at_ns)))
            }
        }
    }

    /// The open outermost call.
    #[must_use]
    pub fn open(&self, now_ns: u64) -> Option<Outer> {
        let (id, begun_ns, _) = self.open.as_ref()?;
        Some(Outer { id: *id, begun_ns: *begun_ns, took_ns: now_ns.saturating_sub(*begun_ns) })
    }

    /// Forgets the open calls, since a part of the recording is missing.
    pub fn forget(&mut self) {
        self.open = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `i7@3`: method 7 is entered at 3.
    fn calls(text: &str) -> Vec<Call> {
        let call = |word: &str| {
            let (id, at) = word[1..].split_once('@').unwrap();
            let (id, at) = (id.parse().unwrap(), at.parse().unwrap());
            if word.starts_with('i') { Call::enter(id, at) } else { Call::exit(id, at) }
        };
        text.split(' ').map(call).collect()
    }

    #[test]
    fn each_outermost_call_is_reported_with_its_callees() {
        let mut outermost = Outermost::default();
        let mut found = Vec::new();
        // In the middle: an exit without an enter, and an exception that goes through 3.
        for call in calls("o9@1 i1@2 i2@3 o2@4 o1@5 o8@6 i1@7 i3@8 i4@9 o1@12 i5@20 i6@21") {
            found.extend(outermost.push(call).map(|(outer, tree)| {
                (
                    outer.id,
                    outer.begun_ns,
                    outer.took_ns,
                    tree.lines.iter().map(|line| line.id).collect::<Vec<_>>(),
                )
            }));
        }
        assert_eq!(found, [(1, 2, 3, vec![1, 2]), (1, 7, 5, vec![1, 3, 4])]);
        assert_eq!(outermost.open(30), Some(Outer { id: 5, begun_ns: 20, took_ns: 10 }));
        outermost.forget();
        assert!(outermost.open(30).is_none() && outermost.push(Call::exit(5, 31)).is_none());
    }
}
