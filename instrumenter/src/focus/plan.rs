//! Decides how each class is changed for focus calls; see [`super`] for the method.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Change, Part, part_name};
use crate::class_facts::focus::FocusFacts;
use crate::class_facts::{ClassFacts, Node};
use crate::hierarchy::Hierarchy;

pub(crate) const ACTIVITY: &str = "android/app/Activity";

/// Well-known activities of the platform, the support library and AndroidX, which may be missing from the inputs and
/// the class path.
const PLATFORM_ACTIVITIES: [&str; 17] = [
    "android/accounts/AccountAuthenticatorActivity",
    "android/app/ActivityGroup",
    "android/app/AliasActivity",
    "android/app/ExpandableListActivity",
    "android/app/LauncherActivity",
    "android/app/ListActivity",
    "android/app/NativeActivity",
    "android/app/TabActivity",
    "android/preference/PreferenceActivity",
    "android/support/v4/app/FragmentActivity",
    "android/support/v4/app/SupportActivity",
    "android/support/v7/app/AppCompatActivity",
    "androidx/activity/ComponentActivity",
    "androidx/appcompat/app/AppCompatActivity",
    "androidx/car/app/activity/CarAppActivity",
    "androidx/core/app/ComponentActivity",
    "androidx/fragment/app/FragmentActivity",
];

/// The state of `onWindowFocusChanged` in a class, as its subclasses see it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    NoActivity,
    /// Nothing is known about this super class.
    Unknown(String),
    /// No class of the app is above.
    Top,
    /// The lowest override is split, and this is its second part.
    Covered(String),
    /// The lowest override is in a class that is not changed.
    Open {
        is_final: bool,
        calls_super: bool,
        /// Whether an override above it is split.
        covered: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The override in a class that is not changed is final.
    Final,
    /// This super class, which looks like an activity, was not found.
    UnknownSuper(String),
}

/// The changes, and the problems.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// For each class.
    pub(crate) changes: Vec<Option<Change>>,
    /// The number of the class, and its problem.
    pub(crate) problems: Vec<(usize, Problem)>,
}

struct States<'a> {
    hierarchy: &'a Hierarchy,
    known: HashMap<String, State>,
}

/// Decides the change of each class.
pub(crate) fn plan(classes: &[ClassFacts], hierarchy: &Hierarchy) -> Plan {
    let mut states = States { hierarchy, known: HashMap::new() };
    let mut plan = Plan { changes: vec![None; classes.len()], problems: Vec::new() };
    for (number, (class, slot)) in classes.iter().zip(&mut plan.changes).enumerate() {
        let Some(above) = class.super_class() else { continue };
        if class.name_in_file() == ACTIVITY {
            continue;
        }
        let above = states.state(above);
        let (change, problem, _) = decide(class.name_in_file(), &class.focus, above);
        *slot = change;
        plan.problems.extend(problem.map(|problem| (number, problem)));
    }
    plan
}

impl States<'_> {
    /// Returns the state of the class `name`. Walks up without recursion, because the chain may be long.
    fn state(&mut self, name: &str) -> State {
        let mut below: Vec<(String, Arc<Node>)> = Vec::new();
        let mut here = name.to_owned();
        let mut state = loop {
            if let Some(known) = self.known.get(&here) {
                break known.clone();
            }
            if here == ACTIVITY {
                break State::Top;
            }
            // These classes all end at Object, and none is an activity.
            if here.starts_with("java/") || below.iter().any(|(name, _)| *name == here) {
                break State::NoActivity;
            }
            let Some(node) = self.hierarchy.find(&here) else {
                break if PLATFORM_ACTIVITIES.contains(&here.as_str()) {
                    State::Top
                } else {
                    State::Unknown(here)
                };
            };
            let above = node.supertypes.first().map(|name| name.to_string());
            below.push((here, node));
            let Some(above) = above else { break State::NoActivity };
            here = above;
        };
        while let Some((name, node)) = below.pop() {
            state = decide(&name, &node.focus, state).2;
            self.known.insert(name, state.clone());
        }
        state
    }
}

/// Returns the change of a class below `above`, its problem, and its state as seen from below.
fn decide(name: &str, facts: &FocusFacts, above: State) -> (Option<Change>, Option<Problem>, State) {
    if matches!(above, State::NoActivity) {
        return (None, None, above);
    }
    if let State::Unknown(unknown) = &above {
        // Most of these are not activities: other platforms, optional libraries.
        let problem =
            (facts.eligible && unknown.ends_with("Activity")).then(|| Problem::UnknownSuper(unknown.clone()));
        return (None, problem, above);
    }
    if let Some(part) = &facts.part {
        return (None, None, State::Covered(part.clone()));
    }
    let covered = matches!(above, State::Covered(_) | State::Open { covered: true, .. });
    if !facts.eligible {
        let state = match facts.overrides() {
            Some(_) => State::Open { is_final: facts.is_final(), calls_super: facts.calls_super, covered },
            None => above,
        };
        return (None, None, state);
    }
    let part = part_name(name);
    let state = State::Covered(part.clone());
    // A class that is not changed is in between and calls `super` of a class that is split.
    let passes = matches!(above, State::Open { calls_super: true, covered: true, .. });
    match (facts.overrides(), above) {
        // Abstract: a subclass has the override, and cannot call this one.
        (None, above) if facts.own.is_some() => (None, None, above),
        (Some(_), _) if passes && facts.calls_super => {
            (None, None, State::Open { is_final: facts.is_final(), calls_super: true, covered: true })
        }
        (Some(method), above) => {
            let above = if let State::Covered(above) = above { Some(above) } else { None };
            (Some(Change::Split { method, part, above, traced: Part::Second }), None, state)
        }
        (None, above @ State::Covered(_)) => (None, None, above),
        (None, above) if passes => (None, None, above),
        (None, above @ State::Open { is_final: true, .. }) => (None, Some(Problem::Final), above),
        (None, _) => (Some(Change::Add { part: Some(part) }), None, state),
    }
}
