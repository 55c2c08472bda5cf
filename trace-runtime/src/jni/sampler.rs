//! The native methods of `dev.anrscope.StackSampler`.

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::{jboolean, jlong};

use crate::guard::disarm_on_panic;
use crate::jni::{record_notice, string};
use crate::monitors::stacks::sampler::{self, Answer};

/// Notes that requests will be answered.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StackSampler_begin(_: EnvUnowned, _: JClass) {
    disarm_on_panic(sampler::start);
}

/// Notes that they will not be answered any more.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StackSampler_end(_: EnvUnowned, _: JClass) {
    disarm_on_panic(sampler::stop);
}

/// The next request: eight times its number, plus 1 if everything is requested and not only the stack, plus
/// 2 if the stack may be taken, plus 4 if a system trace is requested and nothing else. 0 after the end.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StackSampler_next(_: EnvUnowned, _: JClass) -> jlong {
    let request = disarm_on_panic(sampler::next).flatten();
    request.map_or(0, |asked| {
        let bits =
            jlong::from(asked.system_trace) << 2 | jlong::from(asked.stack) << 1 | jlong::from(asked.all);
        (asked.id as jlong) << 3 | bits
    })
}

/// Answers a request.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StackSampler_answer(
    env: EnvUnowned,
    _: JClass,
    request: jlong,
    state: JString,
    stack: JString,
    took_ns: jlong,
    debugger: jboolean,
    dalvik_kib: jlong,
    native_kib: jlong,
    pending: JString,
) {
    disarm_on_panic(|| {
        let text = |of: &JString<'_>| string(&env, of).unwrap_or_default();
        let answer = Answer {
            at_ns: 0,
            state: text(&state),
            stack: text(&stack),
            debugger,
            dalvik_kib: u64::try_from(dalvik_kib).unwrap_or(0),
            native_kib: u64::try_from(native_kib).unwrap_or(0),
            pending: text(&pending),
        };
        sampler::answer(request as u64 >> 3, answer, u64::try_from(took_ns).unwrap_or(0));
    });
}

/// Records a notice.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StackSampler_notice(env: EnvUnowned, _: JClass, text: JString) {
    record_notice(&env, &text);
}
