//! Chooses the signal.
//!
//! Taken by others, beside what has a handler already:
//!
//! | number | by |
//! | --- | --- |
//! | 32 to 41 | bionic's own (`libc/platform/bionic/reserved_signals.h`), `SIGRTMIN` is behind them; glibc's 32 and 33 |
//! | SIGRTMIN + 4 | Sentry's native SDK: 38 on glibc; 42, 45 or 46 on Android, by version |
//! | from SIGRTMIN upwards | Mono and Unity search upwards for one without a handler |
//! | 62 | OpenJDK on glibc, for blocked I/O |
//! | 63, 64 | Valgrind, and emulators of user programs |

use super::error::CaptureError;
use super::{handler, kernel};
use crate::error::OsError;
use crate::mask;
use nix::errno::Errno;

/// The search goes downwards from here, away from those who search upwards.
const FIRST: i32 = 57;
/// And ends this far above `SIGRTMIN`.
const ABOVE_MIN: i32 = 8;

/// Installs the handler for `wanted`, or for the first signal that is free; returns its number.
pub(super) fn install(wanted: Option<i32>) -> Result<i32, CaptureError> {
    if let Some(signal) = wanted {
        if !may_be_wanted(signal) {
            return Err(CaptureError::Unusable { signal });
        }
        return if put(signal)? { Ok(signal) } else { Err(CaptureError::Taken { signal }) };
    }
    for signal in candidates(libc::SIGRTMIN(), libc::SIGRTMAX()) {
        if put(signal)? {
            return Ok(signal);
        }
    }
    Err(CaptureError::NoFreeSignal)
}

fn may_be_wanted(signal: i32) -> bool {
    /// bionic's highest number of its own; an app built for an old version may get a lower `SIGRTMIN`.
    const BIONIC: i32 = 41;
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(&signal)
        && (cfg!(not(target_os = "android")) || signal > BIONIC)
}

fn candidates(min: i32, max: i32) -> impl Iterator<Item = i32> {
    const SENTRY: [i32; 4] = [38, 42, 45, 46];
    (min + ABOVE_MIN..=FIRST.min(max)).rev().filter(|signal| !SENTRY.contains(signal))
}

/// Installs the handler if the signal has the default action; false if it has another.
fn put(signal: i32) -> Result<bool, CaptureError> {
    let os = OsError::of("sigaction");
    if kernel::handler_of(signal).map_err(os)? != libc::SIG_DFL {
        return Ok(false);
    }
    // SAFETY: `sigaction` is integers, a set of bits and an optional function pointer: all zeroes is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler::on_native_capture as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    action.sa_mask = *mask::all_but_faults().as_ref();
    // SAFETY: as above.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both are live; the handler is safe to run at any instruction.
    Errno::result(unsafe { libc::sigaction(signal, &action, &mut before) }).map_err(os)?;
    if before.sa_sigaction == libc::SIG_DFL {
        return Ok(true);
    }
    // Another thread was faster: its handler comes back.
    // SAFETY: what the kernel has just given.
    Errno::result(unsafe { libc::sigaction(signal, &before, std::ptr::null_mut()) }).map_err(os)?;
    Ok(false)
}

/// Whether our handler is still the signal's.
pub(super) fn is_ours(signal: i32) -> bool {
    kernel::handler_of(signal) == Ok(handler::on_native_capture as *const () as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_leave_out_what_others_use() {
        // glibc; Android about 10, 12 and the newest.
        for min in [34, 38, 41, 42] {
            let all: Vec<i32> = candidates(min, 64).collect();
            assert_eq!(all[0], 57);
            assert!(
                all.iter().all(|&signal| signal >= min + 8 && signal != min + 4 && signal < 62),
                "{all:?}"
            );
            assert!(all.len() >= 6, "{all:?}");
        }
        assert!(
            !may_be_wanted(libc::SIGQUIT) && !may_be_wanted(33) && !may_be_wanted(65) && may_be_wanted(50)
        );
    }
}
