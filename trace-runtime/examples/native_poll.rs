//! The natives of the fake `android.os.MessageQueue` (`android/fakes`): main waits for messages in native code, as in AOSP's
//! `libutils/Looper.cpp`, so that the top of an idle main's stack is `nativePollOnce` and its state is `RUNNABLE`.

#![cfg(target_os = "linux")]

use std::ffi::c_void;
use std::ptr;

/// `MessageQueue.nativeInit()`: the queue's eventfd.
#[unsafe(no_mangle)]
pub extern "system" fn Java_android_os_MessageQueue_nativeInit(
    _env: *mut c_void,
    _class: *mut c_void,
) -> i64 {
    // SAFETY: eventfd takes two numbers.
    i64::from(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })
}

/// `MessageQueue.nativeWake(long)`: the poll that runs, or else the next one, returns at once.
#[unsafe(no_mangle)]
pub extern "system" fn Java_android_os_MessageQueue_nativeWake(
    _env: *mut c_void,
    _class: *mut c_void,
    queue: i64,
) {
    let one = 1u64;
    // SAFETY: `one` has eight bytes. A full counter has woken the queue already.
    unsafe { libc::write(queue as i32, (&raw const one).cast(), 8) };
}

/// `MessageQueue.nativePollOnce(long, long)`: waits until the queue is woken, for `nanos` at most; without limit if that is negative.
#[unsafe(no_mangle)]
pub extern "system" fn Java_android_os_MessageQueue_nativePollOnce(
    _env: *mut c_void,
    _class: *mut c_void,
    queue: i64,
    nanos: i64,
) {
    let fd = queue as i32;
    let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let limit = libc::timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 };
    let limit = if nanos < 0 { ptr::null() } else { &raw const limit };
    let mut count = 0u64;
    // SAFETY: one pollfd, and a timespec or null, which live until it returns. EINTR is an early return, as for Android's.
    if unsafe { libc::ppoll(&raw mut polled, 1, limit, ptr::null()) } > 0 {
        // SAFETY: `count` has eight bytes; the descriptor does not block.
        unsafe { libc::read(fd, (&raw mut count).cast(), 8) };
    }
}
