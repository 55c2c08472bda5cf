//! The native methods of `dev.anrscope.Reports`.

use ::jni::EnvUnowned;
use ::jni::objects::JClass;
use ::jni::sys::jstring;

use crate::guard::disarm_on_panic;
use crate::jni::returned;
use crate::monitors::reports;

/// Starts keeping reports for the listener.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Reports_wanted(_: EnvUnowned, _: JClass) {
    disarm_on_panic(reports::wanted);
}

/// The next report or block for the log; null after the end.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Reports_next(env: EnvUnowned, _: JClass) -> jstring {
    returned(&env, reports::next)
}

/// Ends the waiting.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Reports_end(_: EnvUnowned, _: JClass) {
    disarm_on_panic(reports::stop);
}
