//! Dead-locks in the text of a thread dump, by Matrix's rules (`SignalAnrTracer`): which threads wait for a monitor that another one holds,
//! and whether they wait in a circle. The desk's reader of dumps knows far more of them ([`cycles`] is its, too); this one is for the app, which
//! tells its listener.

use trace_format::android::NATIVE_POLL_ONCE;

/// A thread that waits for a monitor that another one holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting<'a> {
    /// Its tid in the dump.
    pub tid: u32,
    /// The holder's.
    pub holder: u32,
    /// The monitor's class.
    pub lock: &'a str,
    /// Its lines.
    pub text: &'a str,
}

/// What a dump says of locks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Locks<'a> {
    /// The first dead-lock, from its smallest tid on; empty without one.
    pub circle: Vec<Waiting<'a>>,
    /// Main's lines; empty if it is not there.
    pub main: &'a str,
    /// Whether main waits for a monitor that another thread holds.
    pub main_waits: bool,
}

/// ART counts its threads from main on.
const MAIN: u32 = 1;
/// Threads that wait, at most: a file from outside must not keep us.
const MOST: usize = 1 << 14;

impl<'a> Locks<'a> {
    /// Reads the text of one process's dump.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
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
            if let Some((lock, holder)) = block.lines().find_map(held_lock)
                && waiting.len() < MOST
            {
                locks.main_waits |= is_main;
                waiting.push(Waiting { tid, holder, lock, text: block });
            }
        }
        let circle = cycles(waiting.iter().map(|one| (one.tid, one.holder))).into_iter().next();
        let of_tid = |tid: u32| waiting.iter().find(|one| one.tid == tid).copied();
        locks.circle = circle.unwrap_or_default().into_iter().filter_map(of_tid).collect();
        locks
    }

    /// Whether main was not stuck at all when the dump was made, but waiting for its next message.
    #[must_use]
    pub fn is_main_idle(&self) -> bool {
        self.main
            .lines()
            .find(|line| line.trim_start().starts_with("at "))
            .is_some_and(|line| line.contains(NATIVE_POLL_ONCE))
    }
}

/// A thread's lines, from its first to the empty one behind it, and what follows.
fn next_block(text: &str) -> Option<(&str, &str)> {
    let begin = if text.starts_with('"') { 0 } else { text.find("\n\"")? + 1 };
    let block = &text[begin..];
    let end = block.find("\n\n").map_or(block.len(), |end| end + 1);
    Some(block.split_at(end))
}

/// `"name" daemon prio=5 tid=1 Blocked`; a thread that is not attached has no tid and holds nothing.
fn tid(line: &str) -> Option<u32> {
    let (_, behind) = line.rsplit_once(" tid=")?;
    let (tid, state) = behind.split_once(' ')?;
    (!state.is_empty() && !state.contains(' ')).then(|| tid.parse().ok()).flatten()
}

/// `  - waiting to lock <0x0abc> (a a.B) held by thread 2`: the class, and the holder.
fn held_lock(line: &str) -> Option<(&str, u32)> {
    let rest = line.strip_prefix("  - ")?;
    let (object, holder) = rest.rsplit_once(" held by thread ")?;
    let (_, class) = object.split_once("(a ")?;
    Some((class.strip_suffix(')')?, holder.trim_end().parse().ok()?))
}

/// The circles of a graph in which each node has one way out, given as (from, to); of a node's ways the first counts. Each circle begins with its
/// smallest node; they are in the order in which their first ways were given.
#[must_use]
pub fn cycles(ways: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<u32>> {
    let order: Vec<(u32, u32)> = ways.collect();
    // By node; the sort is stable, so the first way of a node stays in front of its others.
    let mut next = order.clone();
    next.sort_by_key(|way| way.0);
    next.dedup_by_key(|way| way.0);
    let place = |node: u32| next.binary_search_by_key(&node, |way| way.0).ok();
    // On which walk a node was met, 0 for none yet.
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
        // Back on this very walk: from there on it goes round.
        if let Some(begin) =
            at.filter(|here| met[*here] == walk).and_then(|here| path.iter().position(|p| *p == here))
        {
            let mut circle: Vec<u32> = path[begin..].iter().map(|here| next[*here].0).collect();
            let least = (0..circle.len()).min_by_key(|n| circle[*n]).unwrap_or(0);
            circle.rotate_left(least);
            found.push(circle);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once_and_without_their_tails() {
        for (ways, expected) in [
            (&[(1, 2), (2, 1)][..], vec![vec![1, 2]]),
            (&[(9, 3), (3, 7), (7, 3)], vec![vec![3, 7]]),
            (&[(1, 2), (2, 3)], vec![]),
            (&[(5, 5)], vec![vec![5]]),
            (&[(4, 6), (6, 5), (5, 4), (1, 2), (2, 1), (3, 1)], vec![vec![4, 6, 5], vec![1, 2]]),
            (&[(1, 2), (1, 1)], vec![]),
            (&[], vec![]),
        ] {
            assert_eq!(cycles(ways.iter().copied()), expected, "{ways:?}");
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
    fn main_that_waits_for_a_message_is_idle_and_one_that_only_came_from_there_is_not() {
        let of = |frames: &str| format!("\"main\" prio=5 tid=1 Native\n  | sysTid=1\n{frames}\n\n");
        let idle = of(
            "  native: #00 pc 0\n  at android.os.MessageQueue.nativePollOnce(Native method)\n  at a.B.c(B.java:1)",
        );
        assert!(Locks::of(&idle).is_main_idle());
        let busy = of("  at a.B.c(B.java:1)\n  at android.os.MessageQueue.nativePollOnce(Native method)");
        assert!(!Locks::of(&busy).is_main_idle() && !Locks::of("").is_main_idle());
    }
}
