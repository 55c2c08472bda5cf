//! The activities' life cycles: the foreground state, the scene, and what starts need.

use std::sync::Mutex;
use std::time::Duration;

use trace_rules::foreground::{AppState, Foreground};

use crate::files::worker;
use crate::monitors::past::crash_loop;
use crate::monitors::{app_state, matrix_04, reports, starts};
use crate::recorder;
use crate::unpoisoned::lock;
use trace_format::time::MS;

/// A step of an activity's life cycle, by the number that the shim uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Created,
    Started,
    Resumed,
    Paused,
    Stopped,
    Destroyed,
}

impl Step {
    /// The step with this number.
    pub(crate) fn of_number(number: i32) -> Option<Self> {
        use Step::*;
        let steps = [Created, Started, Resumed, Paused, Stopped, Destroyed];
        usize::try_from(number).ok().and_then(|at| steps.get(at)).copied()
    }
}

#[derive(Default)]
struct Life {
    rule: Option<Foreground>,
    /// The class of the activity that was started last.
    page: String,
    /// The scene that the app named.
    own: Option<String>,
}

static LIFE: Mutex<Life> = Mutex::new(Life { rule: None, page: String::new(), own: None });

/// Handles a step of the activity with this identity, on main. `at_ns` is of CLOCK_BOOTTIME. Returns
/// whether the application's creation ends with it. `debounce_ms` is the option `background_ms`.
pub(crate) fn step(step: Step, activity: u64, class: &str, at_ns: u64, debounce_ms: u64) -> bool {
    let mut application = false;
    let mut life = lock(&LIFE);
    let Life { rule, page, own } = &mut *life;
    let rule = rule.get_or_insert_with(Foreground::new);
    rule.set_debounce(debounce_ms);
    let changed = match step {
        Step::Created => {
            matrix_04::created(activity, at_ns);
            application = starts::created(activity, at_ns);
            None
        }
        Step::Started => {
            class.clone_into(page);
            if own.is_none() {
                app_state::set_scene(class);
            }
            // The recording names the class also where the app shows a scene of its own.
            let _ = recorder::text(class);
            rule.started(activity)
        }
        Step::Resumed => {
            rule.resumed(activity);
            None
        }
        Step::Paused => {
            rule.paused(activity, at_ns / MS);
            None
        }
        Step::Stopped => rule.stopped(activity),
        Step::Destroyed => {
            starts::destroyed(activity);
            rule.destroyed(activity, at_ns / MS)
        }
    };
    let leaves = matches!(step, Step::Paused | Step::Destroyed).then(|| rule.due_ms()).flatten();
    drop(life);
    if let Some(due_ms) = leaves {
        let delay = Duration::from_millis(due_ms.saturating_sub(at_ns / MS));
        // The worker checks, so that main is not woken.
        worker::after(delay, Box::new(move || check(due_ms)));
    }
    apply(changed, at_ns);
    application
}

/// Checks the debounce that ends at `due_ms`. If another pause came meanwhile, it has a check of its own,
/// and this one changes nothing.
fn check(due_ms: u64) {
    let changed = lock(&LIFE).rule.as_mut().and_then(|rule| rule.tick(due_ms));
    apply(changed, due_ms * MS);
}

fn apply(changed: Option<AppState>, at_ns: u64) {
    match changed {
        Some(AppState::Foreground) => {
            app_state::set_by_life_cycle(true);
            starts::to_front(at_ns);
            reports::hand_over("!foreground".to_owned());
        }
        Some(AppState::Background) => {
            starts::to_back();
            app_state::set_by_life_cycle(false);
            reports::hand_over("!background".to_owned());
            // A user who leaves the app has seen it work.
            worker::then(Box::new(crash_loop::settled));
        }
        None => {}
    }
}

/// Sets the scene's name; `None` for the page's class again.
pub(crate) fn set_scene(name: Option<String>) {
    let mut life = lock(&LIFE);
    let shown = name.clone().unwrap_or_else(|| life.page.clone());
    life.own = name;
    drop(life);
    app_state::set_scene(&shown);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_identified_by_the_shims_number() {
        assert_eq!(Step::of_number(0), Some(Step::Created));
        assert_eq!(Step::of_number(5), Some(Step::Destroyed));
        assert_eq!((Step::of_number(6), Step::of_number(-1)), (None, None));
    }

    #[test]
    fn the_scene_is_the_page_or_the_name_that_the_app_sets() {
        let step = |step, activity, class, at_ms| super::step(step, activity, class, at_ms * MS, 500);
        step(Step::Started, 1, "a.Home", 5);
        assert_eq!(app_state::scene_name(), "a.Home");
        assert!(app_state::is_foreground());
        set_scene(Some("Checkout".into()));
        step(Step::Started, 2, "a.Next", 6);
        assert_eq!(app_state::scene_name(), "Checkout");
        set_scene(None);
        assert_eq!(app_state::scene_name(), "a.Next");
        // Another page's pause does not put the app in the background; the last one's does, after the
        // debounce.
        step(Step::Resumed, 2, "a.Next", 7);
        step(Step::Stopped, 1, "a.Home", 8);
        step(Step::Paused, 2, "a.Next", 1_000);
        step(Step::Stopped, 2, "a.Next", 1_001);
        check(1_499);
        assert!(app_state::is_foreground());
        check(1_500);
        assert!(!app_state::is_foreground());
    }
}
