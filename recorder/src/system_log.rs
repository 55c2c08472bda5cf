//! A line in the system's log, for what no recording can tell because there will be none: logcat on Android, standard
//! error elsewhere.

/// Under which logcat shows our lines: `adb logcat -s anrscope`.
#[cfg(target_os = "android")]
const TAG: &std::ffi::CStr = c"anrscope";

/// Says that something is given up. Rarely called and never on the app's threads for an event: it writes at once.
#[cfg(not(target_os = "android"))]
pub fn warn(text: &str) {
    use std::io::Write as _;
    // One write: a line of another process stays whole. A closed standard error is the host's own wish.
    let _ = std::io::stderr().write_all(["anrscope: ", text, "\n"].concat().as_bytes());
}

/// Says that something is given up. Rarely called and never on the app's threads for an event: it writes at once.
#[cfg(target_os = "android")]
pub fn warn(text: &str) {
    use std::ffi::{CString, c_char, c_int};

    /// `ANDROID_LOG_WARN` of `android/log.h`.
    const WARN: c_int = 5;

    // liblog is public for apps since API 3 and loaded in every app's process.
    #[link(name = "log")]
    unsafe extern "C" {
        fn __android_log_write(priority: c_int, tag: *const c_char, text: *const c_char) -> c_int;
    }

    let Ok(text) = CString::new(text) else { return };
    // SAFETY: both texts end in a null byte and live through the call, which copies them.
    unsafe { __android_log_write(WARN, TAG.as_ptr(), text.as_ptr()) };
}
