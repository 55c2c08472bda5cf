//! The kinds of slow methods that only Matrix 0.4 reports (option `older_methods`): a page that opens
//! slowly (ENTER), with the depth and number of its views, and a message that filled main's ring (FULL).
//!
//! Views can be accessed on main only. So ENTER is decided when the page gains focus, and a separate later
//! message walks over its views (`EntryViews.java`): the walk does not delay the slow page further.
//!
//! In 0.4 the buffer started anew with each frame. Here the ring wraps, so it counts as full when it has
//! wrapped since the message began and its first words are gone. The report shows what is left, seven
//! eighths of the ring.

use std::ops::Range;
use std::sync::Mutex;

use trace_rules::matrix_04::MATRIX_04_FULL_KEY;
use trace_rules::report::{Issue, Matrix04Method, OldView};

use crate::files::worker;
use crate::memory::mark::Mark;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::reports;
use crate::monitors::stacks::calls;
use crate::unpoisoned::lock;
use trace_format::time::MS;

/// A page that opened slowly and whose views are requested.
#[derive(Debug)]
struct Entered {
    activity: u64,
    class: String,
    cost_ms: i64,
    created_ns: u64,
    focused_ns: u64,
    mark: Option<Mark>,
}

#[derive(Debug, Default)]
struct State {
    /// The page that is opening: its identity, when it was created, and the mark in main's record.
    opens: Option<(u64, u64, Option<Mark>)>,
    entered: Option<Entered>,
}

static STATE: Mutex<State> = Mutex::new(State { opens: None, entered: None });

/// Notes that an activity is created. On main.
pub(crate) fn created(activity: u64, at_ns: u64) {
    if is_enabled(Setting::OlderMethods) {
        lock(&STATE).opens = Some((activity, at_ns, recorder::mark_here()));
    }
}

/// Notes that its window has gained focus. On main.
pub(crate) fn focused(activity: u64, class: &str, at_ns: u64) {
    if is_enabled(Setting::OlderMethods) {
        // 0.4 drops pages that took 6 s, but a page of 8 s matters more, not less. Above page_ms the
        // user was away.
        let reported_ms = number(Setting::EnterMs) as i64..number(Setting::PageMs) as i64;
        lock(&STATE).focused(activity, class, at_ns, reported_ms);
    }
}

/// Whether that page opened slowly and its views are to be counted.
pub(crate) fn waits_for_views(activity: u64) -> bool {
    lock(&STATE).entered.as_ref().is_some_and(|page| page.activity == activity)
}

/// Reports the page with its views: the deepest nesting, the root being 1, and how many below the root are
/// not GONE.
pub(crate) fn views(activity: u64, depth: u32, count: u32) {
    let Some(page) = lock(&STATE).entered.take_if(|page| page.activity == activity) else { return };
    worker::then(Box::new(move || {
        let stack = calls::matrix_04_since(page.mark.as_ref(), page.created_ns, page.focused_ns);
        let view = OldView { depth, count, activity: &page.class };
        reports::report(&Issue::Matrix04Method {
            kind: Matrix04Method::Enter(view),
            cost_ms: page.cost_ms,
            stack: &stack.text,
            key: &stack.key,
        });
    }));
}

impl State {
    fn focused(&mut self, activity: u64, class: &str, at_ns: u64, reported_ms: Range<i64>) {
        // 0.4 counts any page's focus as that of the one created last.
        let Some((_, created_ns, mark)) = self.opens.take_if(|opens| opens.0 == activity) else { return };
        let cost_ms = (at_ns / MS) as i64 - (created_ns / MS) as i64;
        self.entered = reported_ms.contains(&cost_ms).then(|| Entered {
            activity,
            class: class.to_owned(),
            cost_ms,
            created_ns,
            focused_ns: at_ns,
            mark,
        });
    }
}

#[inline]
pub(crate) fn message_ended(mark: Option<&Mark>, begun_ns: u64, ended_ns: u64) {
    if is_enabled(Setting::OlderMethods)
        && let Some(mark) = mark
        && !recorder::is_valid(mark)
    {
        full(begun_ns, ended_ns);
    }
}

#[cold]
fn full(begun_ns: u64, ended_ns: u64) {
    let oldest = recorder::oldest_mark();
    worker::then(Box::new(move || {
        let stack = calls::matrix_04_since(oldest.as_ref(), begun_ns, ended_ns);
        reports::report(&Issue::Matrix04Method {
            kind: Matrix04Method::Full,
            cost_ms: i64::try_from(ended_ns.saturating_sub(begun_ns) / MS).unwrap_or(i64::MAX),
            stack: &stack.text,
            key: MATRIX_04_FULL_KEY,
        });
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(reported_ms: &Range<i64>, steps: &[(&str, u64, u64)]) -> Vec<(u64, i64)> {
        let mut state = State::default();
        let mut entered = Vec::new();
        for (step, activity, at_ms) in steps {
            match *step {
                "created" => state.opens = Some((*activity, at_ms * MS, None)),
                _ => state.focused(*activity, "a.Page", at_ms * MS, reported_ms.clone()),
            }
            entered.extend(state.entered.take().map(|page| (page.activity, page.cost_ms)));
        }
        entered
    }

    #[test]
    fn a_page_enters_once_and_another_pages_focus_does_not_count() {
        let of = |steps: &[_]| entered(&(3_000..30_000), steps);
        assert_eq!(of(&[("created", 1, 10), ("focus", 1, 3_009)]), []);
        assert_eq!(of(&[("created", 1, 10), ("focus", 1, 3_010), ("focus", 1, 9_000)]), [(1, 3_000)]);
        // The page below regains focus while the new one is opening.
        assert_eq!(of(&[("created", 2, 10), ("focus", 1, 4_000), ("focus", 2, 8_010)]), [(2, 8_000)]);
        assert_eq!(of(&[("created", 1, 0), ("focus", 1, 29_999)]), [(1, 29_999)]);
        assert_eq!(of(&[("created", 1, 0), ("focus", 1, 30_000)]), []);
        // A page that was replaced before it was shown.
        assert_eq!(of(&[("created", 1, 0), ("created", 2, 5_000), ("focus", 1, 6_000)]), []);
    }
}
