//! Reads the kernel's clocks.

/// CLOCK_BOOTTIME in nanoseconds: it runs during deep sleep, and recordings use it as their time axis.
///
/// Safe to call in a signal handler (`clock_gettime` is on the list of man 7 signal-safety), from any thread. A kernel
/// without the clock gives 0.
pub fn boottime_ns() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// The CPU time of this process, of all its threads, in nanoseconds (CLOCK_PROCESS_CPUTIME_ID); 0 if the kernel has no such clock.
pub(crate) fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    // SAFETY: `timespec` is plain integers, for which all zeroes is a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is a live, writable timespec for the length of the call.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
