//! The native method of `StackBytes`.

use std::path::Path;

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::jboolean;

use crate::jni::{answer, string};
use crate::monitors::past::stack_bytes;

/// Wipes the recordings of a directory, or a single recording or copy; one that is in use is only checked. Returns whether a single one
/// has no stack bytes now.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StackBytes_wipe(
    env: EnvUnowned,
    _: JClass,
    path: JString,
    in_use: jboolean,
) -> jboolean {
    answer(|| {
        let path = string(&env, &path)?;
        let path = Path::new(&path);
        if path.is_dir() {
            stack_bytes::wipe_all(path);
            return Some(true);
        }
        Some(if in_use { stack_bytes::has_none(path) } else { stack_bytes::wipe_file(path) })
    })
}
