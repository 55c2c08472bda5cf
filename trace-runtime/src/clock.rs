//! The clocks. Only CLOCK_BOOTTIME reaches the recording: it goes on in deep sleep, and a trace of the
//! system uses it too.

use trace_format::event::Clocks;

use crate::cycles;

/// BOOTTIME − MONOTONIC may move by this much between two snapshots for no other reason than that clocks
/// are read one after the other, ns.
pub(crate) const NOISE: u64 = 1_000_000;

/// How often clocks are compared while anything is recorded, ms.
pub(crate) const CHECK_MS: u32 = 100;

/// The time axis, ns, by the cheapest means that is right: what events are stamped with.
#[inline]
pub(crate) fn now() -> u64 {
    cycles::now().unwrap_or_else(boottime)
}

/// The time axis, ns, as the kernel has it. A vDSO read on every kernel that Android uses: no system call.
#[inline]
pub(crate) fn boottime() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// The three clocks, as near to each other as three reads can be.
pub(crate) fn all() -> Clocks {
    Clocks {
        boottime: boottime(),
        monotonic: read(libc::CLOCK_MONOTONIC),
        realtime: read(libc::CLOCK_REALTIME),
    }
}

/// BOOTTIME − MONOTONIC: how long the device has slept, ns.
pub(crate) fn ahead() -> i64 {
    boottime().wrapping_sub(read(libc::CLOCK_MONOTONIC)) as i64
}

/// The processor time of this whole process, ns.
pub(crate) fn process_cpu() -> Option<u64> {
    Some(read(libc::CLOCK_PROCESS_CPUTIME_ID)).filter(|ns| *ns > 0)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec; clock_gettime writes nothing else. It cannot fail for these
    // clocks (Linux 2.6.39); if it did, `now` stays zero and the writer clamps it.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
