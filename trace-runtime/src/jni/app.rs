//! The native methods of `Natives`, `Lifecycle`, `StartMonitor`, `IdleMonitor`, `TouchMonitor` and
//! `EntryViews`.

use std::path::Path;
use std::time::Duration;

use ::jni::EnvUnowned;
use ::jni::objects::{JByteArray, JClass, JString};
use ::jni::sys::{jboolean, jdouble, jint, jlong, jstring};
use trace_format::event::TextId;
use trace_format::layout::State;

use crate::files::{kept_sizes, process_facts};
use crate::guard::disarm_on_panic;
use crate::jni::{answer, identity, java_string, raw, record_notice, returned, string, text_id, with_string};
use crate::monitors;
use crate::monitors::config::options::Setting;
use crate::monitors::config::{options, redact};
use crate::monitors::looper::{idle, touch, tuning};
use crate::monitors::native_stacks::watched;
use crate::monitors::past::exit_info::{self, Exit};
use crate::monitors::past::profile::{self, Answer};
use crate::monitors::past::{crash_loop, listing, retention};
use crate::monitors::starts::lifecycle::{self, Step};
use crate::monitors::{app_state, envelope, matrix_04, starts};
use crate::native_api;
use crate::recorder::{self, Recorder};
use crate::writing::events;
use crate::writing::thread::gettid;

/// Sets an option. A refused one is a notice in the recording.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_set(
    env: EnvUnowned,
    _: JClass,
    key: JString,
    value: JString,
) -> jboolean {
    answer(|| {
        let (key, value) = (string(&env, &key)?, string(&env, &value)?);
        match monitors::set(&key, &value) {
            Ok(()) => return Some(true),
            Err(options::Refused::Key) => {
                recorder::notice(&["no option is called ", &redact::own(key)].concat());
            }
            Err(options::Refused::Value) => {
                recorder::notice(&["option ", &key, " cannot be set to ", &redact::own(value)].concat());
            }
        }
        None
    })
}

/// The value of a numeric option, 0 for an unknown key.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_number(env: EnvUnowned, _: JClass, key: JString) -> jlong {
    answer(|| {
        let key = string(&env, &key)?;
        let option = options::NUMBERS.iter().find(|option| option.key == key)?;
        jlong::try_from(options::number(option.setting)).ok()
    })
}

/// The value of a text option; empty by default and for an unknown key.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_text(env: EnvUnowned, _: JClass, key: JString) -> jstring {
    let value: String = answer(|| {
        let key = string(&env, &key)?;
        options::TEXTS.iter().find(|option| option.key == key).map(|option| options::text(option.text))
    });
    java_string(&env, &value)
}

/// All current values.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_inForce(env: EnvUnowned, _: JClass) -> jstring {
    returned(&env, || Some(options::in_force()))
}

/// Keys and Matrix's names.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_keys(env: EnvUnowned, _: JClass) -> jstring {
    returned(&env, || {
        let numbers = options::NUMBERS.iter().map(|option| (option.key, option.matrix));
        let texts = options::TEXTS.iter().map(|option| (option.key, option.matrix));
        let mut lines = String::new();
        for (key, matrix) in numbers.chain(texts) {
            // The part in brackets names Matrix's generation.
            let matrix = matrix.split(' ').next().unwrap_or_default();
            for part in [key, "\t", matrix, "\n"] {
                lines.push_str(part);
            }
        }
        Some(lines)
    })
}

/// Sets the app's own scene; null for the page's class.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_setScene(env: EnvUnowned, _: JClass, name: JString) {
    disarm_on_panic(|| lifecycle::set_scene(string(&env, &name).map(redact::own)));
}

/// Whether the app is in the foreground.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_isForeground(_: EnvUnowned, _: JClass) -> jboolean {
    app_state::is_foreground()
}

/// Records a mark of the app's own.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_mark(env: EnvUnowned, _: JClass, name: JString) {
    with_string(&env, &name, |name| events::mark(redact::text(&name)));
}

/// Watches the calling thread's heartbeat. Returns its tid, 0 if it is not watched.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_watch(_: EnvUnowned, _: JClass, limit_ms: jlong) -> jint {
    disarm_on_panic(|| native_api::watch(u32::try_from(limit_ms.max(0)).unwrap_or(u32::MAX)) as jint)
        .unwrap_or(0)
}

/// The calling thread's heartbeat.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_beat(_: EnvUnowned, _: JClass) {
    watched::beat();
}

/// Stops watching the thread with this tid.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_unwatch(_: EnvUnowned, _: JClass, tid: jint) {
    disarm_on_panic(|| {
        if tid as u32 == gettid() {
            watched::unwatch();
        } else if tid > 0 {
            watched::forget(tid as u32);
        }
    });
}

/// Records a value of the app's own counter.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_counter(
    env: EnvUnowned,
    _: JClass,
    name: JString,
    value: jdouble,
) {
    with_string(&env, &name, |name| crate::counter(redact::text(&name), value));
}

/// Whether this version is disarmed.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_isDisarmed(
    env: EnvUnowned,
    _: JClass,
    mark_directory: JString,
) -> jboolean {
    disarm_on_panic(|| {
        string(&env, &mark_directory).is_some_and(|at| crash_loop::is_disarmed(Path::new(&at)))
    })
    // After a panic the app counts as disarmed.
    .unwrap_or(true)
}

/// Whether the crash-loop guard admits this start. Notes the app's version in the recording.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_admit(
    env: EnvUnowned,
    _: JClass,
    directory: JString,
    mark_directory: JString,
    version: jlong,
    version_name: JString,
    debuggable: jboolean,
) -> jboolean {
    answer(|| {
        process_facts::app(string(&env, &version_name), version);
        let (directory, mark) = (string(&env, &directory)?, string(&env, &mark_directory)?);
        let (directory, mark) = (Path::new(&directory), Path::new(&mark));
        let share = options::number(Setting::InstallsPerMille);
        Some(crash_loop::admit(directory, mark, &envelope::process(), version as u64, debuggable, share))
    })
}

/// Whether an earlier start was switched off.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_isOff(
    env: EnvUnowned,
    _: JClass,
    mark_directory: JString,
) -> jboolean {
    disarm_on_panic(|| string(&env, &mark_directory).is_some_and(|at| crash_loop::is_off(Path::new(&at))))
        .unwrap_or(true)
}

/// Stores what the next start reads: whether anything is recorded, and the rings' sizes.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_keep(env: EnvUnowned, _: JClass, mark_directory: JString) {
    with_string(&env, &mark_directory, |marks| {
        let marks = Path::new(&marks);
        crash_loop::set_off(marks, !options::is_enabled(Setting::Recording));
        let words = [Setting::MainWords, Setting::PoolWords].map(options::number);
        if let Err(error) = kept_sizes::keep(marks, words[0], words[1]) {
            recorder::notice(&["the sizes of the rings are not kept: ", &error.to_string()].concat());
        }
    });
}

/// Records a notice.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_notice(env: EnvUnowned, _: JClass, text: JString) {
    record_notice(&env, &text);
}

/// Ends recording for good.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_disarm(_: EnvUnowned, _: JClass) {
    disarm_on_panic(|| Recorder::deactivate(Some(State::Disarmed)));
}

/// Whether recording is paused.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_isPaused(_: EnvUnowned, _: JClass) -> jboolean {
    disarm_on_panic(crate::control::is_paused).unwrap_or(false)
}

/// Waits until everything is in the file. Not on main.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_flush(env: EnvUnowned, _: JClass, ms: jlong) -> jstring {
    returned(&env, || {
        let file = crate::files::worker::flush(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))?;
        Some(file.to_string_lossy().into_owned())
    })
}

/// The list of recordings of ended processes.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_finished(
    env: EnvUnowned,
    _: JClass,
    directory: JString,
) -> jstring {
    returned(&env, || {
        let directory = string(&env, &directory).unwrap_or_default();
        Some(listing::lines(Path::new(&directory)))
    })
}

/// Removes old recordings.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_retain(env: EnvUnowned, _: JClass, directory: JString) {
    with_string(&env, &directory, |directory| retention::retain(Path::new(&directory)));
}

/// Notes that the monitors are armed. On main.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_armed(_: EnvUnowned, _: JClass, api: jint) {
    disarm_on_panic(|| {
        monitors::arm(u32::try_from(api).unwrap_or(0));
        tuning::begin();
    });
}

/// The id of this process's recording; null if nothing is recorded.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_recordingId(env: EnvUnowned, _: JClass) -> jstring {
    returned(&env, monitors::past::own_id)
}

/// Appends the system's account of an ended process.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_exited(
    env: EnvUnowned,
    _: JClass,
    directory: JString,
    pid: jint,
    process: JString,
    time_ms: jlong,
    reason: jint,
    lines: JString,
    trace: JByteArray,
) -> jboolean {
    answer(|| {
        let directory = string(&env, &directory)?;
        let process = string(&env, &process)?;
        let lines = string(&env, &lines).unwrap_or_default();
        let trace = bytes(&env, &trace);
        let exit = Exit {
            pid: u32::try_from(pid).ok()?,
            process: &process,
            time_ms: u64::try_from(time_ms).ok()?,
            reason,
            lines: &lines,
            trace: trace.as_deref(),
        };
        Some(exit_info::exited(Path::new(&directory), &envelope::process(), &exit))
    })
}

/// Records what the platform stored at a trigger, that it did not, or that it is asked to.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Natives_profiled(
    env: EnvUnowned,
    _: JClass,
    directory: JString,
    trigger: JString,
    path: JString,
    tag: JString,
    error: jint,
) -> jboolean {
    answer(|| {
        let (trigger, path) = (string(&env, &trigger)?, string(&env, &path));
        let tag = string(&env, &tag).unwrap_or_default();
        let answer = Answer { trigger: &trigger, path: path.as_deref(), tag: &tag, error };
        Some(profile::answered(Path::new(&string(&env, &directory)?), &answer))
    })
}

/// Handles a step of an activity's life cycle. Returns whether the application's creation ends with it.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Lifecycle_step(
    env: EnvUnowned,
    _: JClass,
    step: jint,
    activity: jint,
    class: JString,
    at_ns: jlong,
) -> jboolean {
    answer(|| {
        let (step, class) = (Step::of_number(step)?, string(&env, &class)?);
        let debounce_ms = options::number(Setting::BackgroundMs);
        Some(lifecycle::step(step, identity(activity), &class, at_ns as u64, debounce_ms))
    })
}

/// Handles a message of `ActivityThread.H` that creates a component.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StartMonitor_message(
    _: EnvUnowned,
    _: JClass,
    what: jint,
    at_ns: jlong,
) -> jboolean {
    disarm_on_panic(|| starts::message(what, at_ns as u64)).unwrap_or(false)
}

/// Notes an activity's first draw.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_StartMonitor_drawn(
    _: EnvUnowned,
    _: JClass,
    activity: jint,
    at_ns: jlong,
) {
    disarm_on_panic(|| starts::drawn(identity(activity), at_ns as u64));
}

/// The text id of an idle handler's class.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_IdleMonitor_name(env: EnvUnowned, _: JClass, class: JString) -> jint {
    text_id(&env, &class)
}

/// Records that an idle handler begins.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_IdleMonitor_begin(_: EnvUnowned, _: JClass, name: jint) {
    disarm_on_panic(|| idle::begin(TextId(name as u32)));
}

/// Records that it ends.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_IdleMonitor_end(_: EnvUnowned, _: JClass) {
    disarm_on_panic(idle::end);
}

/// Checks an input event that is dispatched to a window.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_TouchMonitor_dispatched(
    _: EnvUnowned,
    _: JClass,
    event_ms: jlong,
    now_ms: jlong,
) {
    disarm_on_panic(|| {
        if let (Ok(event_ms), Ok(now_ms)) = (u64::try_from(event_ms), u64::try_from(now_ms)) {
            touch::dispatched(event_ms, now_ms);
        }
    });
}

/// Records that an activity's window gained or lost focus. Returns whether it was a change.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_TouchMonitor_focused(
    env: EnvUnowned,
    _: JClass,
    activity: jint,
    class: JString,
    gained: jboolean,
    at_ns: jlong,
) -> jboolean {
    answer(|| {
        let class = string(&env, &class)?;
        Some(starts::focused(identity(activity), &class, gained, at_ns as u64))
    })
}

/// Whether this page opened slowly and its views are to be counted.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_EntryViews_wanted(_: EnvUnowned, _: JClass, activity: jint) -> jboolean {
    disarm_on_panic(|| matrix_04::waits_for_views(identity(activity))).unwrap_or(false)
}

/// Reports the page with its views.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_EntryViews_counted(
    _: EnvUnowned,
    _: JClass,
    activity: jint,
    depth: jint,
    count: jint,
) {
    disarm_on_panic(|| {
        let number = |value| u32::try_from(value).unwrap_or(0);
        matrix_04::views(identity(activity), number(depth), number(count));
    });
}

/// A Java array's bytes; `None` for null.
fn bytes(env: &EnvUnowned<'_>, array: &JByteArray<'_>) -> Option<Vec<u8>> {
    let (env, array) = raw(env, array.as_raw())?;
    // SAFETY: the JVM has just handed both to this thread's native call, which has not returned; both functions are in every table
    // since JNI 1.1. The range asked for is the array's own, and `bytes` has room for it.
    unsafe {
        let length = ((**env).v1_1.GetArrayLength)(env, array);
        let mut bytes = vec![0u8; usize::try_from(length).ok()?];
        ((**env).v1_1.GetByteArrayRegion)(env, array, 0, length, bytes.as_mut_ptr().cast());
        Some(bytes)
    }
}
