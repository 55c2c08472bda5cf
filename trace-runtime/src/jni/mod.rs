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
use ::jni::sys::{JNIEnv, jint, jobject, jstring};

use crate::guard::disarm_on_panic;
use crate::recorder;

/// `System.identityHashCode` as the identity of an activity or a lock. 0 stands for "no lock".
fn identity(hash: jint) -> u64 {
    u64::from(hash as u32)
}

/// Answers Java with what `body` finds; with 0 or false if it finds nothing or has a fault.
fn answer<T: Default>(body: impl FnOnce() -> Option<T>) -> T {
    disarm_on_panic(body).flatten().unwrap_or_default()
}

/// The text id of a Java string in the recording, 0 for none.
fn text_id(env: &EnvUnowned<'_>, text: &JString<'_>) -> jint {
    answer(|| string(env, text).map(|text| recorder::text(&text).0 as jint))
}

/// Writes a Java string as a notice.
fn record_notice(env: &EnvUnowned<'_>, text: &JString<'_>) {
    with_string(env, text, |text| recorder::notice(&text));
}

/// Gives a Java string to `body`, unless it is null.
fn with_string(env: &EnvUnowned<'_>, text: &JString<'_>, body: impl FnOnce(String)) {
    disarm_on_panic(|| string(env, text).map(body));
}

/// The environment and an object as JNI's functions take them; `None` if one is null.
fn raw(env: &EnvUnowned<'_>, object: jobject) -> Option<(*mut JNIEnv, jobject)> {
    Some((env.as_raw(), object)).filter(|(env, object)| !env.is_null() && !object.is_null())
}

/// As [`raw`], an array with at least `least` elements.
fn raw_array(env: &EnvUnowned<'_>, array: jobject, least: usize) -> Option<(*mut JNIEnv, jobject)> {
    let (env, array) = raw(env, array)?;
    // SAFETY: the JVM has just handed both to this thread's native call, which has not returned; the function is in every
    // table since JNI 1.1.
    let length = unsafe { ((**env).v1_1.GetArrayLength)(env, array) };
    (length >= least as jint).then_some((env, array))
}

/// Converts a Java string; `None` for null. Lone surrogates become U+FFFD.
///
/// It calls JNI's function table directly. `jni`'s `try_to_string` would bring exception handling and class
/// lookups, a fifth of the library's size on a device.
fn string(env: &EnvUnowned<'_>, text: &JString<'_>) -> Option<String> {
    let (env, text) = raw(env, text.as_raw())?;
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
