//! Finds deadlocks in the text of a thread dump, by Matrix's rules (`SignalAnrTracer`): which threads wait for a monitor that another
//! thread owns, and whether they wait in a cycle. The app uses this for its listener; the host's reader of dumps understands far more,
//! and shares [`cycles`].

use trace_format::android::NATIVE_POLL_ONCE;

/// A thread that waits for a monitor that another thread owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting<'a> {
    /// Its tid in the dump.
    pub tid: u32,
    /// The owner's tid.
    pub owner: u32,
    /// The monitor's class.
    pub lock: &'a str,
    /// Its lines in the dump.
    pub text: &'a str,
}

/// The lock waits of a dump.
///
/// ```
/// use trace_rules::locks::Locks;
///
/// let dump = "\"main\" prio=5 tid=1 Blocked\n  - waiting to lock <0x1> (a a.B) held by thread 2\n\n\
///             \"b\" prio=5 tid=2 Blocked\n  - waiting to lock <0x2> (a a.C) held by thread 1\n\n";
/// let locks = Locks::parse(dump);
/// assert!(locks.main_waits);
/// assert_eq!(locks.cycle.iter().map(|thread| thread.lock).collect::<Vec<_>>(), ["a.B", "a.C"]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Locks<'a> {
    /// The first deadlock, from its smallest tid on; empty without a deadlock.
    pub cycle: Vec<Waiting<'a>>,
    /// Main's lines; empty if the dump lacks main.
    pub main: &'a str,
    /// Whether main waits for a monitor that another thread owns.
    pub main_waits: bool,
}

/// Main's tid: ART numbers its threads from main on.
const MAIN: u32 = 1;
/// The most waiting threads that are read, since the text is untrusted.
const MAX_WAITING: usize = 1 << 14;

impl<'a> Locks<'a> {
    /// Reads the text of one process's dump.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let mut locks = Locks::default();
        let mut waiting: Vec<Waiting<'a>> = Vec::new();
        let mut rest = text;
        while let Some((block, behind)) = next_block(rest) {
            rest = behind;
            let Some(tid) = block.lines().next().and_then(tid) else { continue };
            let is_main = locks.main.is_empty() && tid == MAIN;
            if is_main {
                locks.main = block;
            }
            if let Some((lock, owner)) = block.lines().find_map(held_lock)
                && waiting.len() < MAX_WAITING
            {
                locks.main_waits |= is_main;
                waiting.push(Waiting { tid, owner, lock, text: block });
            }
        }
        let cycle = cycles(waiting.iter().map(|one| (one.tid, one.owner))).into_iter().next();
        let with_tid = |tid: u32| waiting.iter().find(|one| one.tid == tid).copied();
        locks.cycle = cycle.unwrap_or_default().into_iter().filter_map(with_tid).collect();
        locks
    }

    /// Whether main was idle when the dump was made: it waited for its next message.
    #[must_use]
    pub fn is_main_idle(&self) -> bool {
        self.main
            .lines()
            .find(|line| line.trim_start().starts_with("at "))
            .is_some_and(|line| line.contains(NATIVE_POLL_ONCE))
    }
}

/// A thread's lines up to the next empty line, and the rest.
fn next_block(text: &str) -> Option<(&str, &str)> {
    let begin = if text.starts_with('"') { 0 } else { text.find("\n\"")? + 1 };
    let block = &text[begin..];
    let end = block.find("\n\n").map_or(block.len(), |end| end + 1);
    Some(block.split_at(end))
}

/// The tid in `"name" daemon prio=5 tid=1 Blocked`; a thread that is not attached has none, and owns no monitor.
fn tid(line: &str) -> Option<u32> {
    let (_, behind) = line.rsplit_once(" tid=")?;
    let (tid, state) = behind.split_once(' ')?;
    (!state.is_empty() && !state.contains(' ')).then(|| tid.parse().ok()).flatten()
}

/// `  - waiting to lock <0x0abc> (a a.B) held by thread 2`: the class, and the owner.
fn held_lock(line: &str) -> Option<(&str, u32)> {
    let rest = line.strip_prefix("  - ")?;
    let (object, owner) = rest.rsplit_once(" held by thread ")?;
    let (_, class) = object.split_once("(a ")?;
    Some((class.strip_suffix(')')?, owner.trim_end().parse().ok()?))
}

/// The cycles of a graph in which each node has one edge, given as (from, to); the first edge of a node counts. Each cycle begins with
/// its smallest node; the cycles are in the order of their first edges.
///
/// ```
/// use trace_rules::locks::cycles;
///
/// assert_eq!(cycles([(9, 3), (3, 7), (7, 3)].into_iter()), [[3, 7]]);
/// ```
#[must_use]
pub fn cycles(edges: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<u32>> {
    let order: Vec<(u32, u32)> = edges.collect();
    // Sorted by node; the sort is stable, so the first edge of a node stays first.
    let mut next = order.clone();
    next.sort_by_key(|edge| edge.0);
    next.dedup_by_key(|edge| edge.0);
    let place = |node: u32| next.binary_search_by_key(&node, |edge| edge.0).ok();
    // The walk on which a node was visited, 0 for none yet.
    let mut met = vec![0usize; next.len()];
    let mut found = Vec::new();
    for (walk, (start, _)) in order.iter().enumerate() {
        let walk = walk + 1;
        let mut at = place(*start);
        let mut path: Vec<usize> = Vec::new();
        while let Some(here) = at.filter(|here| met[*here] == 0) {
            met[here] = walk;
            path.push(here);
            at = place(next[here].1);
        }
        // Visited on this very walk: the cycle begins there.
        if let Some(begin) =
            at.filter(|here| met[*here] == walk).and_then(|here| path.iter().position(|p| *p == here))
        {
            let mut cycle: Vec<u32> = path[begin..].iter().map(|here| next[*here].0).collect();
            let least = (0..cycle.len()).min_by_key(|n| cycle[*n]).unwrap_or(0);
            cycle.rotate_left(least);
            found.push(cycle);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_once_and_without_their_tails() {
        for (edges, expected) in [
            (&[(1, 2), (2, 1)][..], vec![vec![1, 2]]),
            (&[(9, 3), (3, 7), (7, 3)], vec![vec![3, 7]]),
            (&[(1, 2), (2, 3)], vec![]),
            (&[(5, 5)], vec![vec![5]]),
            (&[(4, 6), (6, 5), (5, 4), (1, 2), (2, 1), (3, 1)], vec![vec![4, 6, 5], vec![1, 2]]),
            (&[(1, 2), (1, 1)], vec![]),
            (&[], vec![]),
        ] {
            assert_eq!(cycles(edges.iter().copied()), expected, "{edges:?}");
        }
    }

    #[test]
    fn first_lines_and_locks_of_threads() {
        assert_eq!(tid("\"main\" prio=5 tid=1 Blocked"), Some(1));
        assert_eq!(tid("\"a \"b\" tid=9 x\" daemon prio=5 tid=12 TimedWaiting"), Some(12));
        for none in [
            "\"x\" prio=10 (not attached)",
            "\"x\" tid=1",
            "\"x\" tid=1 two words",
            "\"x\" tid=999999999999 Native",
        ] {
            assert_eq!(tid(none), None, "{none}");
        }
        assert_eq!(
            held_lock("  - waiting to lock <0x1> (a java.lang.Class<a.b.C>) held by thread 31"),
            Some(("java.lang.Class<a.b.C>", 31))
        );
        assert_eq!(held_lock("  - waiting on <0x1> (a a.B)"), None);
        assert_eq!(held_lock("  - locked <0x1> (a a.B"), None);
    }

    #[test]
    fn main_is_idle_only_if_its_innermost_frame_waits_for_a_message() {
        let of = |frames: &str| format!("\"main\" prio=5 tid=1 Native\n  | sysTid=1\n{frames}\n\n");
        let idle = of(
            "  native: #00 pc 0\n  at android.os.MessageQueue.nativePollOnce(Native method)\n  at a.B.c(B.java:1)",
        );
        assert!(Locks::parse(&idle).is_main_idle());
        let busy = of("  at a.B.c(B.java:1)\n  at android.os.MessageQueue.nativePollOnce(Native method)");
        assert!(!Locks::parse(&busy).is_main_idle() && !Locks::parse("").is_main_idle());
    }
}
