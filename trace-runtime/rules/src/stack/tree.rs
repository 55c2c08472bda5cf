//! Our conversion of calls to lines: no recorded call is lost, and none is invented.

use trace_format::ids::DISPATCH;

use super::call::Call;
use super::line::Line;
use super::trim::STEP_MS;

/// The most open calls that are tracked. Deeper ones are counted in [`Loss::too_deep`] and their time is their
/// caller's.
const MAX_OPEN: usize = 1 << 14;

/// With more lines than this, a call that ended within [`SHORT_NS`] and called nothing is dropped at once: the first step of
/// the trim would take it anyway. So a slice of a million words needs no million lines.
const MANY_LINES: usize = 4_096;
const SHORT_NS: u64 = STEP_MS as u64 * 1_000_000;

/// No open call of this id.
const NO_CALL: u32 = u32::MAX;

/// What a slice lacked, or had wrong. All of it is normal at times: recording was switched on in between, an
/// exception was thrown, the slice began inside of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Exits without an enter, which change nothing.
    pub orphan_exits: u32,
    /// Calls whose exit did not come although their caller's did: closed together with the caller.
    pub unwound: u32,
    /// Calls that were open at the end of the slice: closed there.
    pub open_at_end: u32,
    /// Words that were older than the one before them, and got its time.
    pub ran_back: u32,
    /// Calls below the depth that is tracked.
    pub too_deep: u32,
    /// Calls under 5 ms that were dropped because there were thousands of lines.
    pub short: u32,
}

/// The lines of a slice, and what was missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// In the order in which the calls began; each line's caller is above it, one level less deep.
    pub lines: Vec<Line>,
    /// What was missing.
    pub loss: Loss,
}

/// A line while it grows. They are in the order in which calls began, which is the order of the report.
struct Node {
    id: u32,
    depth: u32,
    count: u32,
    ns: u64,
}

struct Open {
    node: u32,
    id: u32,
    begun_ns: u64,
    /// The next outer open call of the same id.
    same: u32,
    /// The last call that it made and that has ended.
    last_child: u32,
}

/// Builds the lines, call by call.
///
/// * An exit closes the innermost open call of its id. Calls inside of that one were unwound by an exception: they end now.
/// * An exit never closes a call outside of the message that it is in.
/// * An exit without an enter changes nothing.
/// * What is open at the end ends there.
/// * A call is merged with the one before it if both have the same caller and the same id and the later one called
///   nothing; calls at depth 0 never are.
#[derive(Default)]
pub struct CallTree {
    nodes: Vec<Node>,
    open: Vec<Open>,
    /// Where the innermost open call of each id is, by id. Few at a time, so a sorted list is smaller and faster than a
    /// hash table; and adds less code to the app.
    innermost: Vec<(u32, u32)>,
    /// Open calls that are too deep to be tracked.
    too_deep: u32,
    now_ns: u64,
    loss: Loss,
}

impl CallTree {
    /// A tree without a call.
    #[must_use]
    pub fn new() -> Self {
        CallTree::default()
    }

    /// The next call of the slice.
    pub fn push(&mut self, call: Call) {
        if call.at_ns < self.now_ns {
            self.loss.ran_back += 1;
        }
        self.now_ns = self.now_ns.max(call.at_ns);
        if call.entered { self.enter(call.id) } else { self.exit(call.id) }
    }

    /// Whether a call is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The whole slice, closed at `end_ns` or at its last call, whichever is later.
    #[must_use]
    pub fn from_calls(calls: impl IntoIterator<Item = Call>, end_ns: u64) -> Finished {
        let mut tree = CallTree::new();
        for call in calls {
            tree.push(call);
        }
        tree.finish(end_ns)
    }

    /// Closes what is open at `end_ns`, or at the last call if that is later.
    #[must_use]
    pub fn finish(mut self, end_ns: u64) -> Finished {
        self.now_ns = self.now_ns.max(end_ns);
        self.loss.open_at_end = self.open.len() as u32;
        while !self.open.is_empty() {
            self.close();
        }
        let ms = |ns: u64| i32::try_from(ns / 1_000_000).unwrap_or(i32::MAX);
        // At most MAX_OPEN deep.
        let line =
            |node: &Node| Line { depth: node.depth as i32, id: node.id, count: node.count, ms: ms(node.ns) };
        Finished { lines: self.nodes.iter().map(line).collect(), loss: self.loss }
    }

    fn enter(&mut self, id: u32) {
        if self.open.len() >= MAX_OPEN || self.nodes.len() >= NO_CALL as usize {
            self.too_deep += 1;
            self.loss.too_deep += 1;
            return;
        }
        let node = self.nodes.len() as u32;
        let depth = self.open.len() as u32;
        self.nodes.push(Node { id, depth, count: 1, ns: 0 });
        let same = match self.place(id) {
            Ok(at) => std::mem::replace(&mut self.innermost[at].1, depth),
            Err(at) => {
                self.innermost.insert(at, (id, depth));
                NO_CALL
            }
        };
        self.open.push(Open { node, id, begun_ns: self.now_ns, same, last_child: NO_CALL });
    }

    fn exit(&mut self, id: u32) {
        // Exits of untracked calls are not known; the end of the message ends all of them.
        if self.too_deep > 0 && id != DISPATCH {
            self.too_deep -= 1;
            return;
        }
        self.too_deep = 0;
        let position = self.innermost(id);
        let message = self.innermost(DISPATCH);
        // Inside of the innermost message, or that message itself.
        if position == NO_CALL || (message != NO_CALL && position < message) {
            self.loss.orphan_exits += 1;
            return;
        }
        self.loss.unwound += self.open.len() as u32 - 1 - position;
        while self.open.len() > position as usize {
            self.close();
        }
    }

    /// Where `id` is in the list, or belongs.
    fn place(&self, id: u32) -> Result<usize, usize> {
        self.innermost.binary_search_by_key(&id, |open| open.0)
    }

    fn innermost(&self, id: u32) -> u32 {
        self.place(id).map_or(NO_CALL, |at| self.innermost[at].1)
    }

    /// The innermost call ends now.
    fn close(&mut self) {
        let Some(call) = self.open.pop() else { return };
        if let Ok(at) = self.place(call.id) {
            if call.same == NO_CALL {
                self.innermost.remove(at);
            } else {
                self.innermost[at].1 = call.same;
            }
        }
        let took_ns = self.now_ns - call.begun_ns;
        self.nodes[call.node as usize].ns = took_ns;
        let Some(caller) = self.open.last_mut() else { return };
        let called_nothing = call.node as usize + 1 == self.nodes.len();
        if !called_nothing {
            caller.last_child = call.node;
        } else if let Some(before) = self.nodes.get_mut(caller.last_child as usize)
            && before.id == call.id
        {
            before.count += 1;
            before.ns += took_ns;
            self.nodes.pop();
        } else if self.nodes.len() > MANY_LINES && took_ns < SHORT_NS {
            self.loss.short += 1;
            self.nodes.pop();
            // The next call is not adjacent to the one before.
            caller.last_child = NO_CALL;
        } else {
            caller.last_child = call.node;
        }
    }
}
