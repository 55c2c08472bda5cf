//! A line in the system's log, for what no recording can tell because there will be none: logcat on Android, standard
//! error elsewhere.

/// Under which logcat shows our lines: `adb logcat -s anrscope`.
#[cfg(target_os = "android")]
const TAG: &std::ffi::CStr = c"anrscope";

/// Says that something is given up. Rarely called and never on the app's threads for an event: it writes at once.
#[cfg(not(target_os = "android"))]
pub(crate) fn warn(text: &str) {
    use std::io::Write as _;
    // One write: a line of another process stays whole. A closed standard error is the host's own wish.
    let _ = std::io::stderr().write_all(["anrscope: ", text, "\n"].concat().as_bytes());
}

/// Says that something is given up. Rarely called and never on the app's threads for an event: it writes at once.
///
/// The writer is looked up only now: liblog is public for apps (NDK, `android/log.h`), and a start without faults need not
/// load it.
#[cfg(target_os = "android")]
pub(crate) fn warn(text: &str) {
    use std::ffi::{CString, c_char, c_int};

    /// `ANDROID_LOG_WARN` of `android/log.h`.
    const WARN: c_int = 5;
    type Write = unsafe extern "C" fn(c_int, *const c_char, *const c_char) -> c_int;

    let Ok(text) = CString::new(text.replace('\0', " ")) else { return };
    // SAFETY: both names end in a null byte. The library is loaded in every app process already and never unloaded: the
    // handle is kept open, which a second call may do again.
    let write = unsafe {
        let library = libc::dlopen(c"liblog.so".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return;
        }
        libc::dlsym(library, c"__android_log_write".as_ptr())
    };
    if write.is_null() {
        return;
    }
    // SAFETY: this is the type that `android/log.h` gives the function since API 3.
    let write: Write = unsafe { std::mem::transmute(write) };
    // SAFETY: both texts end in a null byte and live through the call, which copies them.
    unsafe { write(WARN, TAG.as_ptr(), text.as_ptr()) };
}
