//! The native methods of the Java classes, one file for each class or few related ones, and the conversion
//! of Java strings.

mod app;
mod components;
mod error_states;
mod frames;
mod looper;
pub(crate) mod method_beat;
mod overlay;
mod platform_status;
mod reports;
mod sampler;
mod stack_bytes;

use ::jni::EnvUnowned;
use ::jni::objects::JString;
use ::jni::sys::{jint, jstring};

use crate::guard::disarm_on_panic;
use crate::recorder;

/// `System.identityHashCode` as the identity of an activity or a lock. 0 stands for "no lock".
fn identity(hash: jint) -> u64 {
    u64::from(hash as u32)
}

/// The text id of a Java string in the recording, 0 for none.
fn text_id(env: &EnvUnowned<'_>, text: &JString<'_>) -> jint {
    disarm_on_panic(|| string(env, text).map_or(0, |text| recorder::text(&text).0 as jint)).unwrap_or(0)
}

/// Writes a Java string as a notice.
fn record_notice(env: &EnvUnowned<'_>, text: &JString<'_>) {
    disarm_on_panic(|| {
        if let Some(text) = string(env, text) {
            recorder::notice(&text);
        }
    });
}

/// Converts a Java string; `None` for null. Lone surrogates become U+FFFD.
///
/// It calls JNI's function table directly. `jni`'s `try_to_string` would bring exception handling and class
/// lookups, a fifth of the library's size on a device.
fn string(env: &EnvUnowned<'_>, text: &JString<'_>) -> Option<String> {
    let (env, text) = (env.as_raw(), text.as_raw());
    if env.is_null() || text.is_null() {
        return None;
    }
    // SAFETY: the JVM has just handed both to this thread's native call, which has not returned; both functions
    // are in every table since JNI 1.2. The range asked for is the string's own, and `units` has room for it.
    unsafe {
        let length = ((**env).v1_1.GetStringLength)(env, text);
        let mut units = vec![0u16; usize::try_from(length).ok()?];
        ((**env).v1_2.GetStringRegion)(env, text, 0, length, units.as_mut_ptr());
        Some(String::from_utf16_lossy(&units))
    }
}

/// Returns the text that `text` makes as a Java string; null without one.
fn returned(env: &EnvUnowned<'_>, text: impl FnOnce() -> Option<String>) -> jstring {
    disarm_on_panic(text).flatten().map_or(std::ptr::null_mut(), |text| java_string(env, &text))
}

/// Creates a Java string; null if there is no memory for it, with an exception pending.
///
/// From UTF-16, because `NewStringUTF` takes modified UTF-8.
fn java_string(env: &EnvUnowned<'_>, text: &str) -> jstring {
    let env = env.as_raw();
    let units: Vec<u16> = text.encode_utf16().collect();
    let Ok(length) = jint::try_from(units.len()) else { return std::ptr::null_mut() };
    if env.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the JVM has just handed `env` to this thread's native call, which has not returned; the function is in every
    // table since JNI 1.1, and reads `length` units.
    unsafe { ((**env).v1_1.NewString)(env, units.as_ptr(), length) }
}
