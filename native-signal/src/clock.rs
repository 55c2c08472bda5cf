//! Reads the kernel's clock.

/// CLOCK_BOOTTIME in nanoseconds: it runs during deep sleep, and recordings use it as their time axis.
///
/// Safe to call in a signal handler (`clock_gettime` is on the list of man 7 signal-safety), from any thread. A kernel
/// without the clock gives 0.
pub fn boottime_ns() -> u64 {
    // SAFETY: `timespec` is plain integers, for which all zeroes is a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is a live, writable timespec for the length of the call.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) } != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
