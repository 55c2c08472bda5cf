//! The native methods of `dev.anrscope.ErrorStates`.

use ::jni::EnvUnowned;
use ::jni::objects::JClass;
use ::jni::sys::{jboolean, jint};
use native_signal::ProcessInError;

use crate::guard::disarm_on_panic;
use crate::sigquit::error_states;

/// Notes that lists can be fetched.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_ErrorStates_begin(_: EnvUnowned, _: JClass) {
    disarm_on_panic(error_states::start);
}

/// Notes that they cannot be fetched any more.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_ErrorStates_end(_: EnvUnowned, _: JClass) {
    disarm_on_panic(error_states::stop);
}

/// Waits until a list is requested; false after the end.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_ErrorStates_next(_: EnvUnowned, _: JClass) -> jboolean {
    disarm_on_panic(error_states::next) == Some(true)
}

/// Adds an entry.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_ErrorStates_entry(
    _: EnvUnowned,
    _: JClass,
    pid: jint,
    uid: jint,
    not_responding: jboolean,
) {
    disarm_on_panic(|| error_states::entry(ProcessInError { pid, uid: uid as u32, not_responding }));
}

/// Completes the list.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_ErrorStates_whole(_: EnvUnowned, _: JClass) {
    disarm_on_panic(error_states::complete);
}
