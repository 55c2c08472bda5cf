//! Panics in the library never reach the app: they end the recording.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use trace_format::layout::State;

use crate::recorder::{self, Recorder};
use crate::system_log;

/// Runs `f`; if it panics, ends recording for good and returns `None`. Every entry from Java and every thread
/// of the recorder runs inside of this.
#[inline]
pub fn disarm_on_panic<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(fault) => {
            disarm(fault);
            None
        }
    }
}

/// Records the panic in the last notice and logs it: on Android what a panic prints is lost.
#[cold]
fn disarm(fault: Box<dyn Any + Send>) {
    let said = fault.downcast_ref::<&str>().copied();
    let said = said.or_else(|| fault.downcast_ref::<String>().map(String::as_str));
    let mut text = String::from("the recorder disarmed itself: ");
    text.push_str(said.unwrap_or("a fault without a text"));
    // The report itself must not panic, in any state that the panic has left.
    let _ = catch_unwind(|| {
        recorder::notice(&text);
        system_log::warn(&text);
    });
    Recorder::deactivate(Some(State::Disarmed));
    // Its destructor may be any code.
    std::mem::forget(fault);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_returns_none_and_goes_no_further_with_any_payload() {
        assert_eq!(disarm_on_panic(|| 7), Some(7));
        assert_eq!(disarm_on_panic(|| panic!("a text")), None::<()>);
        assert_eq!(disarm_on_panic(|| panic!("a number: {}", 1)), None::<()>);
        struct Faulty;
        impl Drop for Faulty {
            fn drop(&mut self) {
                panic!("the next fault");
            }
        }
        assert_eq!(disarm_on_panic(|| std::panic::panic_any(Faulty)), None::<()>);
    }
}
