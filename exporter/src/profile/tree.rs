//! A call tree of a thread, by caller and callee.

use std::collections::HashMap;

/// The node of time outside of calls.
pub(crate) const ROOT: u32 = 0;

/// Maximum number of nodes per thread. A program has tens of thousands of different paths; a hostile recording
/// may have as many as events.
const MAX_NODES: usize = 1 << 18;
/// Maximum number of pairs of caller and callee remembered.
const MAX_PAIRS: usize = 1 << 20;
/// Maximum length of a path. A method occurs once in a path, so this is many different methods.
const MAX_DEPTH: u32 = 1024;

/// A tree in which each node represents all calls of one method by the same callers. Recursion returns to the
/// node of the outer call, so that each method occurs once in a path and the times of all nodes add up to the
/// whole.
#[derive(Debug)]
pub(crate) struct CallTree {
    nodes: Vec<Node>,
    /// The node to which a call of a method leads.
    next: HashMap<(u32, u32), u32>,
    /// The nodes of the open calls, outermost first.
    open: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    key: u32,
    parent: u32,
    depth: u32,
    own: u64,
}

impl Default for CallTree {
    fn default() -> Self {
        // No call has this key.
        let root = Node { key: u32::MAX, parent: ROOT, depth: 0, own: 0 };
        Self { nodes: vec![root], next: HashMap::new(), open: Vec::new() }
    }
}

impl CallTree {
    /// The node of a call of `key` by `from`: a new one only if the path from the root has no node of this key.
    /// At the limit it is `from` itself.
    fn call(&mut self, from: u32, key: u32) -> u32 {
        if let Some(known) = self.next.get(&(from, key)) {
            return *known;
        }
        let mut at = from;
        while at != ROOT && self.nodes[at as usize].key != key {
            at = self.nodes[at as usize].parent;
        }
        let depth = self.nodes[from as usize].depth + 1;
        let node = if at != ROOT {
            at
        } else if self.nodes.len() < MAX_NODES && depth <= MAX_DEPTH {
            self.nodes.push(Node { key, parent: from, depth, own: 0 });
            self.nodes.len() as u32 - 1
        } else {
            from
        };
        if self.next.len() < MAX_PAIRS {
            self.next.insert((from, key), node);
        }
        node
    }

    /// Opens a call inside of the innermost open one.
    pub(crate) fn open(&mut self, key: u32) {
        let node = self.call(self.innermost(), key);
        self.open.push(node);
    }

    /// Closes the innermost open call.
    pub(crate) fn close(&mut self) {
        self.open.pop();
    }

    /// The node of the innermost open call; [`ROOT`] outside of calls.
    pub(crate) fn innermost(&self) -> u32 {
        self.open.last().copied().unwrap_or(ROOT)
    }

    /// Adds self time to the innermost open call.
    pub(crate) fn spend(&mut self, time: u64) {
        let node = self.innermost() as usize;
        self.nodes[node].own = self.nodes[node].own.saturating_add(time);
    }

    pub(crate) fn key(&self, node: u32) -> u32 {
        self.nodes[node as usize].key
    }

    pub(crate) fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    pub(crate) fn own(&self, node: u32) -> u64 {
        self.nodes[node as usize].own
    }

    /// All nodes, callers before callees.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.nodes.len() as u32
    }

    /// By node: self time plus that of all descendants.
    pub(crate) fn totals(&self) -> Vec<u64> {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| node.own).collect();
        for (at, node) in self.nodes.iter().enumerate().skip(1).rev() {
            let total = totals[at];
            let parent = &mut totals[node.parent as usize];
            *parent = parent.saturating_add(total);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_leads_back_to_the_outer_call() {
        let mut tree = CallTree::default();
        let a = tree.call(ROOT, 1);
        let b = tree.call(a, 2);
        assert_eq!((tree.call(b, 1), tree.call(b, 2), tree.call(a, 2)), (a, b, b));
        let c = tree.call(a, 3);
        assert_eq!((tree.parent(c), tree.key(c), tree.nodes().count()), (a, 3, 4));
        for (node, time) in [(b, 5), (c, 7), (a, 1)] {
            tree.open = vec![node];
            tree.spend(time);
        }
        assert_eq!(tree.totals(), [13, 13, 5, 7]);
    }

    #[test]
    fn a_path_without_end_and_a_tree_without_bound_are_cut() {
        let mut tree = CallTree::default();
        let deepest = (1..5_000).fold(ROOT, |at, key| tree.call(at, key));
        assert_eq!(tree.nodes().count(), 1 + MAX_DEPTH as usize);
        tree.open = vec![deepest];
        tree.spend(3);
        assert_eq!(tree.totals()[0], 3);
        for key in 0..MAX_NODES as u32 + 10 {
            tree.call(ROOT, key);
        }
        assert_eq!(tree.nodes().count(), MAX_NODES);
    }
}
