//! Which methods are switched off, one byte per id: on HotSpot a check of a bit costs 0.6 ns, of a byte 0.3.
//!
//! `MethodBeat` reads the bytes before it does anything else, so a method that is off costs one load and one
//! branch. Ids that are no methods are off from the start: so the check of the switch checks the id as well.

use std::sync::atomic::{AtomicU8, Ordering};

use trace_format::ids;

/// Ids are 20 bits.
const IDS: usize = 1 << 20;

/// Zero pages until they are written: most are only ever read.
static OFF: [AtomicU8; IDS] = [const { AtomicU8::new(0) }; IDS];

/// Switches off all ids that are neither methods nor calls. Before the first event.
pub(crate) fn prepare() {
    for id in (0..=ids::INVALID).filter(|id| !ids::is_plain(*id)) {
        byte(id).store(1, Ordering::Relaxed);
    }
}

/// True if a method or call has this id and is not switched off: it is recorded.
#[inline]
pub(crate) fn is_on(id: u32) -> bool {
    ids::is_plain(id) && byte(id).load(Ordering::Relaxed) == 0
}

/// The bit of a method that the app has switched off, beside those of [`Switch`]: each comes back by its own
/// switch alone.
const BY_THE_APP: u8 = 4;

/// Switches a method for the app; returns whether that changed anything. Ids that are no methods stay off.
pub(crate) fn set(id: u32, on: bool) -> bool {
    if !ids::is_method(id) {
        return false;
    }
    let before = if on {
        byte(id).fetch_and(!BY_THE_APP, Ordering::Relaxed)
    } else {
        byte(id).fetch_or(BY_THE_APP, Ordering::Relaxed)
    };
    (before & BY_THE_APP == 0) != on
}

/// The state of a method by its cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    On = 0,
    Off = 1,
    /// Off, but a call that was open when it went off still ends: `MethodBeat` checks whether its enter is
    /// the last word.
    Closing = 2,
}

/// Switches a method because of its cost; other ids stay off.
pub(crate) fn turn(id: u32, to: Switch) {
    if ids::is_method(id) {
        let turned = |before| Some(before & BY_THE_APP | to as u8);
        // It never fails: there is always a next value.
        let _ = byte(id).fetch_update(Ordering::Relaxed, Ordering::Relaxed, turned);
    }
}

/// The address of the switches: 2^20 bytes, each 0 if the method with that id is on.
pub fn address() -> usize {
    OFF.as_ptr() as usize
}

#[inline]
fn byte(id: u32) -> &'static AtomicU8 {
    &OFF[id as usize % IDS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_methods_can_be_on() {
        prepare();
        for id in [0, ids::EVENT_FIRST, ids::DISPATCH, ids::INVALID] {
            assert!(!is_on(id) && !set(id, true) && !is_on(id), "{id:x}");
            assert_eq!(byte(id).load(Ordering::Relaxed), 1, "Java sees this only");
        }
        assert!(is_on(ids::EVENT_FIRST - 1) && is_on(9) && is_on(10));
        assert!(set(9, false) && !set(9, false));
        assert!(!is_on(9) && is_on(8) && is_on(10));
        assert!(set(9, true) && is_on(9));
    }

    #[test]
    fn what_the_app_and_the_cost_switch_off_each_switches_on_for_itself() {
        prepare();
        turn(11, Switch::Closing);
        assert!(!is_on(11) && set(11, false));
        turn(11, Switch::Off);
        turn(11, Switch::On);
        assert!(!is_on(11), "the app has it off");
        turn(11, Switch::Off);
        assert!(set(11, true) && !is_on(11), "it costs too much");
        turn(11, Switch::On);
        assert!(is_on(11));
    }
}
