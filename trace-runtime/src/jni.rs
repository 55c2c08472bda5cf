//! What `dev.anrscope.MethodBeat` calls.
//!
//! The natives on the hot path take numbers only and use neither the environment nor the class that they
//! are handed, so that on Android 8+ they can be registered as `@CriticalNative`.

use std::path::PathBuf;
use std::time::Duration;

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::{jboolean, jint, jlong};
use trace_format::event::{Event, TextId, WaitKind};
use trace_format::ids;
use trace_format::layout::Sizes;

use crate::guard::disarm_on_panic;
use crate::recorder::Recorder;
use crate::start::{Config, Destination, start};

/// A method's begin. Gives 1 at the calling thread's first event: the caller then tells its name.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_enter(_: EnvUnowned<'_>, _: JClass<'_>, id: jint) -> jint {
    disarm_on_panic(|| {
        if !ids::is_method(id as u32) {
            return 0;
        }
        let Some(recorder) = Recorder::active() else { return 0 };
        crate::thread::with_writer(recorder, |thread| {
            thread.put(&Event::Enter(id as u32).encode());
            jint::from(thread.take_unnamed())
        })
        .unwrap_or(0)
    })
    .unwrap_or(0)
}

/// A method's end.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_exit(_: EnvUnowned<'_>, _: JClass<'_>, id: jint) {
    disarm_on_panic(|| crate::exit(id as u32));
}

/// A wait's begin, with the lock's identity and class.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_waitBegin(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    kind: jint,
    lock: jint,
    class: JString<'_>,
) {
    let Some(kind) = WaitKind::of_number(kind as u32) else { return };
    disarm_on_panic(|| {
        let class = string(&env, &class).map_or(TextId(0), |name| crate::text(&name));
        crate::wait_begin(kind, lock_identity(lock), class);
    });
}

/// A wait's end.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_waitEnd(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    kind: jint,
    lock: jint,
) {
    let Some(kind) = WaitKind::of_number(kind as u32) else { return };
    disarm_on_panic(|| crate::wait_end(kind, lock_identity(lock)));
}

/// A monitor's exit.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_released(_: EnvUnowned<'_>, _: JClass<'_>, lock: jint) {
    disarm_on_panic(|| crate::released(lock_identity(lock)));
}

/// The calling thread's Java name.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_nameThread(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    name: JString<'_>,
) {
    disarm_on_panic(|| {
        if let Some(name) = string(&env, &name) {
            crate::name_thread(&name);
        }
    });
}

/// Starts recording into a new file in `folder`. Gives whether it did.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_start(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    folder: JString<'_>,
    process: JString<'_>,
    map_id: JString<'_>,
    coarse: jboolean,
    main_words: jlong,
    pool_words: jlong,
) -> jboolean {
    let (Some(folder), Some(process)) = (string(&env, &folder), string(&env, &process)) else {
        return false;
    };
    let map_id = string(&env, &map_id).and_then(|id| id.parse().ok());
    let started = disarm_on_panic(|| {
        let mut config = Config::new(Destination::Folder(PathBuf::from(folder)), process);
        config.map_id = map_id.unwrap_or(config.map_id);
        // A JVM has no looper whose timer would note that the process is alive.
        config.heartbeat = Some(Duration::from_millis(100));
        config.sizes = sizes(main_words, pool_words);
        let started = start(&config).is_ok();
        if started && coarse {
            crate::notice("coarse time was asked for and is not there yet: times are precise");
        }
        started
    });
    started == Some(true)
}

/// Sizes for these many words; 0 or less means the default. Bounded so that a typing error does not ask
/// for more than 4 GiB.
fn sizes(main_words: jlong, pool_words: jlong) -> Sizes {
    let blocks = |words: jlong, default: u32| {
        let words = u64::try_from(words).unwrap_or(0).min(1 << 28);
        if words == 0 {
            default
        } else {
            words.div_ceil(trace_format::layout::BLOCK_WORDS as u64).max(2) as u32
        }
    };
    let mut sizes = Sizes::DEFAULT;
    sizes.main_blocks = blocks(main_words, sizes.main_blocks);
    sizes.pool_blocks = blocks(pool_words, sizes.pool_blocks);
    sizes.threads = sizes.threads.max(sizes.pool_blocks + 64);
    sizes
}

/// `System.identityHashCode` as a lock's identity. 0 stands for "no lock".
fn lock_identity(hash: jint) -> u64 {
    u64::from(hash as u32)
}

/// A Java string; `None` for null. Lone surrogates become U+FFFD.
///
/// By two calls of JNI's own table and not by `jni`'s `try_to_string`: that one brings its whole machinery of
/// exceptions and class look-ups, a fifth of the library's size on a device.
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
