//! The native methods of `dev.anrscope.MethodBeat`.
//!
//! Those on the hot path take numbers only and use neither the environment nor the class, so that on
//! Android 8+ they can be registered as `@CriticalNative`.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JString};
use ::jni::sys::{jboolean, jint, jlong};
use trace_format::event::{CallId, TextId, Wait, WaitKind};

use crate::control::Clock;
use crate::files::file::Destination;
use crate::files::kept_sizes;
use crate::guard::disarm_on_panic;
use crate::jni::{answer, identity, record_notice, string, text_id, with_string};
use crate::monitors::starts;
use crate::recorder::{self, Recorder, Threads};
use crate::resolution::{Resolution, hundredths};
use crate::start::{Config, start};
use crate::system_log;
use crate::time::{clock, coarse};
use crate::writing::thread::ThreadWriter;
use crate::writing::{losses, overhead};

/// Records a method's begin, on the thread whose writer is at `thread`. Returns the address after which
/// Java writes the next word, or 0 if Java may not write.
///
/// There is no guard against panics here: the fast path cannot panic, and the slow path has a guard.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_enter(
    _: EnvUnowned,
    _: JClass,
    thread: jlong,
    id: jint,
    behind: jlong,
) -> jlong {
    // SAFETY: MethodBeat keeps what `join` or `start` returned on this thread; the native methods never
    // call Java, so they are never nested.
    let thread = unsafe { ThreadWriter::from_address(thread) };
    thread.map_or(0, |thread| thread.method_for_java(id as u32, true, behind as u64) as jlong)
}

/// Records a method's end.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_exit(
    _: EnvUnowned,
    _: JClass,
    thread: jlong,
    id: jint,
    behind: jlong,
) -> jlong {
    // SAFETY: as for `enter`.
    let thread = unsafe { ThreadWriter::from_address(thread) };
    thread.map_or(0, |thread| thread.method_for_java(id as u32, false, behind as u64) as jlong)
}

/// Notes that the exit of a method was lost, or, if `what` is negative, the end of a wait.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_lost(_: EnvUnowned, _: JClass, what: jint) {
    disarm_on_panic(|| losses::note(what));
}

/// The Java thread under which HotSpot's launcher ends the JVM, on the kernel's thread that has run `main`
/// (`DestroyJavaVM` in jni.cpp). Only the JDK's own classes run in it.
const ENDS_THE_JVM: &str = "DestroyJavaVM";

/// Adds the calling thread to the recording under its Java name. Returns the address of its writer, 0 if
/// there is no room.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_join(env: EnvUnowned, _: JClass, name: JString) -> jlong {
    answer(|| {
        let name = string(&env, &name);
        // Main is over, and keeps its name in the recording.
        let recorder = Recorder::active().filter(|_| name.as_deref() != Some(ENDS_THE_JVM))?;
        Some(crate::writing::thread::address_here(recorder, name.as_deref()))
    })
}

/// The addresses that Java reads itself: 0 the time word, 1 the switches, 3 main's gate, 4 the table of locks' owners; and
/// 2 the size of an address in bytes.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_address(_: EnvUnowned, _: JClass, what: jint) -> jlong {
    match what {
        0 => coarse::word_address() as jlong,
        1 => crate::writing::switches::address() as jlong,
        3 => coarse::main_gate_address() as jlong,
        4 => recorder::lock_owners_address() as jlong,
        _ => size_of::<usize>() as jlong,
    }
}

/// Records a step of concurrent work; `head`, `objects` and `classes` are its payload. Returns as `enter`.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_step(
    _: EnvUnowned,
    _: JClass,
    thread: jlong,
    behind: jlong,
    head: jlong,
    objects: jlong,
    classes: jlong,
) -> jlong {
    let words = [head, objects, classes].map(|word| word as u64);
    // SAFETY: as for `enter`.
    let thread = unsafe { ThreadWriter::from_address(thread) };
    thread.map_or(0, |thread| thread.step_for_java(words, behind as u64) as jlong)
}

/// The number of the calling thread in the recording, 0 if it has none.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_uid(_: EnvUnowned, _: JClass, thread: jlong) -> jint {
    // SAFETY: as for `enter`.
    unsafe { ThreadWriter::from_address(thread) }.map_or(0, |thread| thread.uid() as jint)
}

/// Records that the calling thread has taken a lock.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_acquired(_: EnvUnowned, _: JClass, lock: jint) {
    disarm_on_panic(|| crate::acquired(identity(lock)));
}

/// Records that the calling thread gave a lock up, however often it had taken it.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_gaveUp(_: EnvUnowned, _: JClass, lock: jint) {
    disarm_on_panic(|| crate::gave_up(identity(lock)));
}

/// The id of a text.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_text(env: EnvUnowned, _: JClass, text: JString) -> jint {
    text_id(&env, &text)
}

/// Records a notice.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_notice(env: EnvUnowned, _: JClass, text: JString) {
    record_notice(&env, &text);
}

/// Controls recording: 0 pause, 1 resume with the precise clock, 2 with the coarse one.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_control(_: EnvUnowned, _: JClass, what: jint) {
    disarm_on_panic(|| {
        let clock = match what {
            0 => return crate::pause(),
            1 => Clock::Precise,
            _ => Clock::Coarse,
        };
        crate::resume(clock);
        crate::set_clock(clock);
    });
}

/// Switches a method on or off.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_setMethod(_: EnvUnowned, _: JClass, id: jint, on: jboolean) {
    disarm_on_panic(|| crate::set_method(id as u32, on));
}

/// Records that an activity, identified by its identity hash, gained or lost window focus.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_focus(
    env: EnvUnowned,
    _: JClass,
    class: JString,
    activity: jint,
    gained: jboolean,
) {
    disarm_on_panic(|| {
        let class = string(&env, &class).unwrap_or_default();
        starts::focused(identity(activity), &class, gained, clock::boottime());
    });
}

/// Records the start of a wait, with the object's identity and class. `what` has its kind and the call, as [`CallId::with_kind`]
/// makes it. Returns as `enter`.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_waitBegin(
    _: EnvUnowned,
    _: JClass,
    thread: jlong,
    behind: jlong,
    what: jint,
    lock: jint,
    class: jint,
) -> jlong {
    let (kind, call) = CallId::split(what as u32);
    // SAFETY: as for `enter`.
    let (Some(thread), Some(kind)) =
        (unsafe { ThreadWriter::from_address(thread) }, WaitKind::from_number(kind))
    else {
        return behind;
    };
    let wait = Wait { lock: identity(lock), class: TextId(class as u32), call, ..Wait::new(kind) };
    recorder::wait_begin_for_java(thread, wait, behind as u64) as jlong
}

/// Records a wait's end. Returns as `enter`.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_waitEnd(
    _: EnvUnowned,
    _: JClass,
    thread: jlong,
    behind: jlong,
    kind: jint,
    lock: jint,
) -> jlong {
    // SAFETY: as for `enter`.
    let (Some(thread), Some(kind)) =
        (unsafe { ThreadWriter::from_address(thread) }, WaitKind::from_number(kind as u32))
    else {
        return behind;
    };
    recorder::wait_end_for_java(thread, kind, identity(lock), behind as u64) as jlong
}

/// Records that a monitor was released.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_released(_: EnvUnowned, _: JClass, lock: jint) {
    disarm_on_panic(|| crate::released(identity(lock)));
}

/// Sets the directory of the recording's file.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_setDestination(
    env: EnvUnowned,
    _: JClass,
    directory: JString,
) {
    with_string(&env, &directory, |directory| {
        crate::set_destination(Destination::Directory(PathBuf::from(directory)));
    });
}

/// The thread that `start` records as main, 0 for the one that calls it.
static MAIN_TID: AtomicU32 = AtomicU32::new(0);

/// Makes the thread with the kernel's id `tid` the one that is recorded as main, in place of the thread that initialises
/// `MethodBeat`. For an agent that comes while the program runs.
pub fn set_main_thread(tid: u32) {
    MAIN_TID.store(tid, Ordering::Relaxed);
}

/// Whether `start` installs no handler of SIGQUIT.
static LEAVES_SIGQUIT: AtomicBool = AtomicBool::new(false);

/// Leaves SIGQUIT to the JVM: it is not recorded. For a JVM that reports a handler which is not its own. To be called
/// before `MethodBeat` is initialised.
pub fn leave_sigquit() {
    LEAVES_SIGQUIT.store(true, Ordering::Relaxed);
}

/// Starts recording, into a new file in `directory` once that is known. Returns the address of the calling
/// thread's writer, 0 if recording did not start.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_start(
    env: EnvUnowned,
    _: JClass,
    directory: JString,
    process: JString,
    map_id: JString,
    resolution: JString,
    main_words: jlong,
    pool_words: jlong,
    max_overhead: JString,
    trace_text: jboolean,
    main_only: jboolean,
) -> jlong {
    let process = string(&env, &process).unwrap_or_else(own_name);
    let directory = string(&env, &directory).map(PathBuf::from);
    let map_id = string(&env, &map_id).and_then(|id| id.parse().ok());
    let resolution = Resolution::of_text(&string(&env, &resolution).unwrap_or_default());
    let max_overhead = string(&env, &max_overhead).and_then(|percent| hundredths(&percent));
    answer(|| {
        let mut config = Config::new(directory.map_or(Destination::Later, Destination::Directory), process);
        config.sense_sigquit = !LEAVES_SIGQUIT.load(Ordering::Relaxed);
        config.recording.threads = if main_only { Threads::Main } else { Threads::All };
        config.recording.main_tid = Some(MAIN_TID.load(Ordering::Relaxed)).filter(|tid| *tid != 0);
        config.recording.map_id = map_id.unwrap_or(config.recording.map_id);
        // A JVM has no Looper whose timer would record that the process is alive.
        config.recording.heartbeat = Some(Duration::from_millis(100));
        let words = |words: jlong| u64::try_from(words).unwrap_or(0);
        config.recording.sizes =
            kept_sizes::with(config.recording.sizes, words(main_words), words(pool_words));
        if matches!(config.recording.destination, Destination::Later) {
            config.recording.sizes =
                kept_sizes::of_last_start(&config.recording.process_name, config.recording.sizes);
        }
        resolution.apply(&mut config.recording);
        config.recording.max_overhead = max_overhead.unwrap_or(overhead::DEFAULT_MAX);
        start(&config).map_err(|error| system_log::warn(&format!("not started: {error}"))).ok()?;
        if !config.sense_sigquit {
            recorder::notice("SIGQUIT is not captured: it is left to the JVM");
        }
        if trace_text {
            capture_trace_text();
        }
        Recorder::active().map(|recorder| crate::writing::thread::address_here(recorder, None))
    })
}

/// The process's name: the first word of its command line, as on Android.
fn own_name() -> String {
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let end = line.iter().position(|byte| *byte == 0).unwrap_or(line.len());
    String::from_utf8_lossy(&line[..end]).into_owned()
}

/// Captures thread dumps from the start. Not on Android, where dumps are copied around an ANR or kept by
/// the system, depending on the API level.
#[cfg(not(target_os = "android"))]
fn capture_trace_text() {
    match crate::TraceTextSource::of_this_process(0) {
        Some(source) => crate::capture_trace_text(source),
        None => recorder::notice(crate::sigquit::trace_text::NO_SOURCE),
    }
}

#[cfg(target_os = "android")]
fn capture_trace_text() {
    recorder::notice(
        "thread dumps are not copied from the start: on Android 5 to 10 they are around an ANR, and later systems keep them",
    );
}

/// Records the duration of a sampled call. Returns after how many calls `MethodBeat` measures the next one.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_sampled(
    _: EnvUnowned,
    _: JClass,
    thread: jlong,
    id: jint,
    nanos: jlong,
) -> jint {
    let sampled = || {
        // SAFETY: as for `enter`.
        unsafe { ThreadWriter::from_address(thread) }.map(|thread| thread.sampled(id as u32, nanos) as jint)
    };
    disarm_on_panic(sampled).flatten().unwrap_or(jint::MAX)
}

/// Requests a thread dump. Returns whether it was requested.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_MethodBeat_askForDump(_: EnvUnowned, _: JClass) -> jboolean {
    disarm_on_panic(|| crate::dump().is_ok()) == Some(true)
}

/// A native method of `dev.anrscope.MethodBeat`, as JNI's `RegisterNatives` takes it.
#[derive(Clone, Copy, Debug)]
pub struct NativeMethod {
    /// Its name.
    pub name: &'static CStr,
    /// Its descriptor (JVMS 4.3.3).
    pub descriptor: &'static CStr,
    /// The function. Its parameters are JNI's environment and class, and those of the descriptor.
    pub function: *const (),
}

/// The native methods of `dev.anrscope.MethodBeat`, for a JVM that did not load this library through `System.load`.
#[must_use]
pub fn method_beat_natives() -> [NativeMethod; 21] {
    let native = |name, descriptor, function| NativeMethod { name, descriptor, function };
    [
        native(c"start", c"(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;JJLjava/lang/String;ZZ)J", Java_dev_anrscope_MethodBeat_start as *const ()),
        native(c"setDestination", c"(Ljava/lang/String;)V", Java_dev_anrscope_MethodBeat_setDestination as *const ()),
        native(c"join", c"(Ljava/lang/String;)J", Java_dev_anrscope_MethodBeat_join as *const ()),
        native(c"address", c"(I)J", Java_dev_anrscope_MethodBeat_address as *const ()),
        native(c"text", c"(Ljava/lang/String;)I", Java_dev_anrscope_MethodBeat_text as *const ()),
        native(c"notice", c"(Ljava/lang/String;)V", Java_dev_anrscope_MethodBeat_notice as *const ()),
        native(c"control", c"(I)V", Java_dev_anrscope_MethodBeat_control as *const ()),
        native(c"setMethod", c"(IZ)V", Java_dev_anrscope_MethodBeat_setMethod as *const ()),
        native(c"sampled", c"(JIJ)I", Java_dev_anrscope_MethodBeat_sampled as *const ()),
        native(c"enter", c"(JIJ)J", Java_dev_anrscope_MethodBeat_enter as *const ()),
        native(c"exit", c"(JIJ)J", Java_dev_anrscope_MethodBeat_exit as *const ()),
        native(c"waitBegin", c"(JJIII)J", Java_dev_anrscope_MethodBeat_waitBegin as *const ()),
        native(c"focus", c"(Ljava/lang/String;IZ)V", Java_dev_anrscope_MethodBeat_focus as *const ()),
        native(c"waitEnd", c"(JJII)J", Java_dev_anrscope_MethodBeat_waitEnd as *const ()),
        native(c"released", c"(I)V", Java_dev_anrscope_MethodBeat_released as *const ()),
        native(c"acquired", c"(I)V", Java_dev_anrscope_MethodBeat_acquired as *const ()),
        native(c"gaveUp", c"(I)V", Java_dev_anrscope_MethodBeat_gaveUp as *const ()),
        native(c"uid", c"(J)I", Java_dev_anrscope_MethodBeat_uid as *const ()),
        native(c"step", c"(JJJJJ)J", Java_dev_anrscope_MethodBeat_step as *const ()),
        native(c"lost", c"(I)V", Java_dev_anrscope_MethodBeat_lost as *const ()),
        native(c"askForDump", c"()Z", Java_dev_anrscope_MethodBeat_askForDump as *const ()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The descriptor of a Java method's types, as far as `MethodBeat` has them.
    fn descriptor(result: &str, parameters: &str) -> String {
        let of = |java: &str| match java.trim() {
            "void" => "V",
            "int" => "I",
            "long" => "J",
            "boolean" => "Z",
            "String" => "Ljava/lang/String;",
            other => panic!("{other:?} is new"),
        };
        let types = parameters.split(',').filter_map(|parameter| parameter.trim().split_once(' '));
        format!("({}){}", types.map(|(java, _)| of(java)).collect::<String>(), of(result))
    }

    #[test]
    fn the_list_has_every_native_method_of_the_class() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../android/method-beat/dev/anrscope/MethodBeat.java");
        let source = std::fs::read_to_string(path).unwrap();
        let mut declared: Vec<(String, String)> = source
            .split("private static native ")
            .skip(1)
            .map(|rest| {
                let (head, rest) = rest.split_once('(').unwrap();
                let (result, name) = head.split_once(' ').unwrap();
                (name.to_owned(), descriptor(result, rest.split_once(')').unwrap().0))
            })
            .collect();
        let text = |text: &CStr| text.to_str().unwrap().to_owned();
        let mut listed = method_beat_natives().map(|method| (text(method.name), text(method.descriptor)));
        declared.sort();
        listed.sort();
        assert_eq!(declared, listed);
    }
}
