//! A line in the system's log, for what cannot be in a recording: logcat on Android, standard error
//! elsewhere.

/// The tag in logcat: `adb logcat -s anrscope`.
#[cfg(target_os = "android")]
const TAG: &std::ffi::CStr = c"anrscope";

/// Logs a warning. For rare faults, and never on the app's threads for an event: it writes at once.
#[cfg(not(target_os = "android"))]
pub fn warn(text: &str) {
    use std::io::Write as _;
    // One write: a line of another process stays whole. If standard error is closed, the host wants no lines.
    let _ = std::io::stderr().write_all(["anrscope: ", text, "\n"].concat().as_bytes());
}

/// Logs a warning. For rare faults, and never on the app's threads for an event: it writes at once.
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
