//! Ends calls that were open when their method was switched off.
//!
//! Their ends are not recorded. For a reader, such a call ends when nothing inside it is open: at the switch,
//! or when the call inside it ends. If it stayed open, it would hide the caller, whose loop goes on, and take
//! over the caller's later calls.

use std::collections::{HashMap, VecDeque};

use super::Step;
use crate::facts::recorder::Switch;
use crate::facts::stack::OpenStack;

/// Adds the missing ends to a thread's steps.
#[derive(Debug)]
pub(super) struct SwitchedOff<'a> {
    /// Upcoming switches, by time.
    to_come: std::slice::Iter<'a, Switch>,
    /// Methods that are off, and since when.
    off: HashMap<u32, u64>,
    stack: OpenStack,
    /// Time of the last step, or of the last added end.
    last: u64,
    /// Steps to be returned.
    due: VecDeque<Step>,
}

impl<'a> SwitchedOff<'a> {
    /// `None` if there is nothing to add.
    pub(super) fn new(switches: &'a [Switch]) -> Option<Self> {
        switches.iter().any(|switch| switch.off.is_some()).then(|| Self {
            to_come: switches.iter(),
            off: HashMap::new(),
            stack: OpenStack::default(),
            last: 0,
            due: VecDeque::new(),
        })
    }

    /// The next step to return.
    pub(super) fn next(&mut self) -> Option<Step> {
        self.due.pop_front()
    }

    /// Takes a step of the thread.
    pub(super) fn step(&mut self, step: Step) {
        if let Some((time, begun, ended)) = step.change() {
            self.switch_until(time);
            // The thread may have seen the switch too late to lose the end of its call.
            let innermost = self.stack.frames().last().map(|open| open.key);
            if begun.is_some() || ended.is_some() && ended != innermost {
                self.end_what_is_off();
            }
            self.last = self.last.max(time);
            self.stack.follow(time, begun, ended);
        }
        self.due.push_back(step);
    }

    /// Ends the thread's steps.
    pub(super) fn end(&mut self) {
        self.switch_until(u64::MAX);
        self.end_what_is_off();
    }

    fn switch_until(&mut self, time: u64) {
        while let Some(switch) = self.to_come.as_slice().first().filter(|switch| switch.at <= time) {
            match switch.off {
                Some(_) => drop(self.off.insert(switch.method, switch.at)),
                None => drop(self.off.remove(&switch.method)),
            }
            self.to_come.next();
        }
    }

    fn end_what_is_off(&mut self) {
        while let Some(key) = self.stack.frames().last().map(|open| open.key)
            && let Some(since) = self.off.get(&key)
        {
            self.last = self.last.max(*since);
            self.stack.pop();
            self.due.push_back(Step::Ended { time: self.last, key });
        }
    }
}

#[cfg(test)]
mod tests {
    use trace_format::Event;

    use super::*;
    use crate::facts::recorder::OffReason;

    fn off(at: u64, method: u32) -> Switch {
        Switch { at, method, off: Some(OffReason::Asked) }
    }

    fn on(at: u64, method: u32) -> Switch {
        Switch { at, method, off: None }
    }

    /// Starts (`+7`) and ends (`-7`) of methods at their times, with the added ends as `~7`.
    fn with(switches: &[Switch], steps: &str) -> String {
        let mut ends = SwitchedOff::new(switches).unwrap();
        for step in steps.split(' ') {
            let (time, what) = step.split_once(':').unwrap();
            let (time, id) = (time.parse().unwrap(), what[1..].parse().unwrap());
            let event = if what.starts_with('+') { Event::Enter(id) } else { Event::Exit(id) };
            ends.step(Step::Event { time, event });
        }
        ends.end();
        let mut steps_text = Vec::new();
        while let Some(step) = ends.next() {
            steps_text.push(match step {
                Step::Event { time, event: Event::Enter(id) } => format!("{time}:+{id}"),
                Step::Event { time, event: Event::Exit(id) } => format!("{time}:-{id}"),
                Step::Ended { time, key } => format!("{time}:~{key}"),
                other => panic!("{other:?}"),
            });
        }
        steps_text.join(" ")
    }

    #[test]
    fn a_recursion_that_is_switched_off_leaves_its_caller_on_top() {
        let steps_text = with(&[off(50, 2)], "10:+1 20:+2 30:+2 40:+2 90:+3 95:-3");
        assert_eq!(steps_text, "10:+1 20:+2 30:+2 40:+2 50:~2 50:~2 50:~2 90:+3 95:-3");
        assert_eq!(with(&[off(50, 2)], "10:+1 20:+2"), "10:+1 20:+2 50:~2", "nothing comes behind it");
    }

    #[test]
    fn a_call_ends_behind_what_it_had_called() {
        let steps_text = with(&[off(50, 2)], "10:+1 20:+2 30:+3 70:-3 80:-1");
        assert_eq!(steps_text, "10:+1 20:+2 30:+3 70:-3 70:~2 80:-1");
        // Ends are sorted by time, whichever method was switched off first.
        let steps_text = with(&[off(40, 2), off(60, 3)], "10:+1 20:+2 30:+3 80:-1");
        assert_eq!(steps_text, "10:+1 20:+2 30:+3 60:~3 60:~2 80:-1");
    }

    #[test]
    fn an_end_that_is_recorded_is_the_end() {
        assert_eq!(with(&[off(50, 2)], "10:+1 20:+2 51:-2 80:-1"), "10:+1 20:+2 51:-2 80:-1");
        assert_eq!(with(&[off(50, 2), on(60, 2)], "10:+1 20:+2 70:-2"), "10:+1 20:+2 70:-2");
        assert_eq!(with(&[off(50, 2), on(60, 2)], "10:+2 70:+2 75:-2 90:-2"), "10:+2 70:+2 75:-2 90:-2");
        assert!(SwitchedOff::new(&[on(60, 2)]).is_none());
    }
}
