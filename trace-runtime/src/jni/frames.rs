//! What `dev.anrscope.FrameMonitor` and `dev.anrscope.FrameMetricsShim` call. Times come by CLOCK_MONOTONIC, as Android tells them.

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JLongArray};
use ::jni::sys::{jboolean, jfloat, jint, jlong, jstring};
use trace_format::event::TextId;
use trace_rules::frame::Stage;

use crate::guard::disarm_on_panic;
use crate::jni::java_string;
use crate::monitors::frames::counting::{self, Next, Told};
use crate::monitors::frames::measured::Measured;
use crate::monitors::{app_state, frames};

/// How many numbers a frame's array has: first what `FrameMetrics` tell by their own numbers, then what observers are told.
const NUMBERS: usize = 23;
/// `FrameMetrics.FIRST_DRAW_FRAME`, and its other numbers behind the parts.
const FIRST_DRAW: usize = 9;
const INTENDED: usize = 10;
const VSYNC: usize = 11;
const GPU: usize = 12;
const DEADLINE: usize = 13;
/// Where the observers' begin.
const TOLD: usize = 14;

/// The system's API level.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_api(_: EnvUnowned<'_>, _: JClass<'_>, level: jint) {
    counting::set_api(u32::try_from(level).unwrap_or(0));
}

/// Frames are told by their messages from now on, or no longer.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_byMessages(_: EnvUnowned<'_>, _: JClass<'_>, on: jboolean) {
    disarm_on_panic(|| frames::by_messages(on));
}

/// The message that main is in is a frame's.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_frame(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    intended: jlong,
    estimated: jboolean,
) {
    disarm_on_panic(|| frames::frame_begin(u64::try_from(intended).unwrap_or(0), estimated));
}

/// The frame is in this stage (0 INPUT to 4 COMMIT) from now on; its vsync, if it became known, or 0.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_stage(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    stage: jint,
    intended: jlong,
    estimated: jboolean,
) {
    let Some(stage) = usize::try_from(stage).ok().and_then(|stage| Stage::ALL.get(stage)) else { return };
    disarm_on_panic(|| {
        frames::intended(u64::try_from(intended).unwrap_or(0));
        frames::stage(*stage, estimated);
    });
}

/// A window is about to be drawn.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_drawn(_: EnvUnowned<'_>, _: JClass<'_>) {
    disarm_on_panic(frames::drawn);
}

/// The oldest and newest input event of the frame, as `FrameInfo` has them.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_inputEvents(
    _: EnvUnowned<'_>,
    _: JClass<'_>,
    oldest: jlong,
    newest: jlong,
) {
    disarm_on_panic(|| frames::input_events(oldest, newest));
}

/// The display's rate, Hz.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_refresh(_: EnvUnowned<'_>, _: JClass<'_>, hz: jfloat) {
    frames::set_refresh(hz);
}

/// Counts the next frame: 0 there is none, 1 it is not to be told, 2 it is, and the numbers are there, 3 a little later.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_next(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    numbers: JLongArray<'_>,
) -> jint {
    match disarm_on_panic(counting::next) {
        None | Some(Next::Nothing) => 0,
        Some(Next::Later) => 3,
        Some(Next::Counted(None)) => 1,
        Some(Next::Counted(Some(told))) => {
            put(&env, &numbers, &told);
            2
        }
    }
}

/// A window's frame: it is counted when its turn comes. The system has dropped the numbers of `lost` frames of that window since
/// the one before.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_measured(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    numbers: JLongArray<'_>,
    lost: jint,
) {
    let Some(values) = taken(&env, &numbers) else { return };
    let mut frame = Measured {
        metrics: std::array::from_fn(|part| values[part]),
        first_draw: values[FIRST_DRAW] == 1,
        intended: values[INTENDED],
        vsync: values[VSYNC],
        deadline: values[DEADLINE],
        lost: u32::try_from(lost).unwrap_or(0),
    };
    frame.metrics[trace_rules::frame::Metric::Gpu as usize] = values[GPU];
    disarm_on_panic(|| counting::measured(&frame));
}

/// The page was left.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_flush(_: EnvUnowned<'_>, _: JClass<'_>) {
    disarm_on_panic(counting::flush);
}

/// A scene's name.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_scene(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    id: jint,
) -> jstring {
    let name = disarm_on_panic(|| app_state::name_of(TextId(id as u32)));
    name.map_or(std::ptr::null_mut(), |name| java_string(&env, &name))
}

fn taken(env: &EnvUnowned<'_>, numbers: &JLongArray<'_>) -> Option<[jlong; NUMBERS]> {
    let (env, numbers) = (env.as_raw(), numbers.as_raw());
    if env.is_null() || numbers.is_null() {
        return None;
    }
    let mut values = [0; NUMBERS];
    // SAFETY: the JVM has just handed both to this thread's native call, which has not returned; the functions are in every
    // table since JNI 1.1. The array was asked for its length, and `values` has room for as many as are read.
    unsafe {
        if ((**env).v1_1.GetArrayLength)(env, numbers) < NUMBERS as jint {
            return None;
        }
        ((**env).v1_1.GetLongArrayRegion)(env, numbers, 0, NUMBERS as jint, values.as_mut_ptr());
    }
    Some(values)
}

fn put(env: &EnvUnowned<'_>, numbers: &JLongArray<'_>, told: &Told) {
    let long = |ns: u64| jlong::try_from(ns).unwrap_or(jlong::MAX);
    let [input, animation, traversal] = told.stages.map(long);
    let values: [jlong; NUMBERS - TOLD] = [
        told.scene.0.into(),
        long(told.begun_ns),
        long(told.total_ns),
        input,
        animation,
        traversal,
        told.latency_ns.map_or(-1, long),
        told.dropped.into(),
        told.tell_dropped.into(),
    ];
    let (env, numbers) = (env.as_raw(), numbers.as_raw());
    if env.is_null() || numbers.is_null() {
        return;
    }
    // SAFETY: as in `taken`; the length is looked at before.
    unsafe {
        if ((**env).v1_1.GetArrayLength)(env, numbers) >= NUMBERS as jint {
            let (from, count) = (TOLD as jint, values.len() as jint);
            ((**env).v1_1.SetLongArrayRegion)(env, numbers, from, count, values.as_ptr());
        }
    }
}
