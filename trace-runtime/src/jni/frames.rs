//! The native methods of `dev.anrscope.FrameMonitor` and `dev.anrscope.FrameMetricsShim`. Times are of
//! CLOCK_MONOTONIC, as in Android's API.

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JLongArray};
use ::jni::sys::{jboolean, jfloat, jint, jlong, jstring};
use trace_format::event::TextId;
use trace_rules::frame::Stage;

use crate::guard::disarm_on_panic;
use crate::jni::{raw_array, returned};
use crate::monitors::frames::counting::{self, Next, ObservedFrame};
use crate::monitors::frames::measured::Measured;
use crate::monitors::{app_state, frames};

/// The length of a frame's array: first the `FrameMetrics` at their own indices, then what observers
/// receive.
const NUMBERS: usize = 23;
/// The indices of `FrameMetrics` after the parts and `FIRST_DRAW_FRAME`.
const INTENDED: usize = 10;
const VSYNC: usize = 11;
const GPU: usize = 12;
const DEADLINE: usize = 13;
/// Results of `next`, as in `FrameMonitor.java`: there is no frame.
const NO_FRAME: jint = 0;
/// A frame was counted, and observers do not receive it.
const COUNTED: jint = 1;
/// A frame was counted, and the array has what observers receive.
const COUNTED_AND_REPORTED: jint = 2;
/// Main has not ended the frame: call again a little later.
const RETRY: jint = 3;
/// The first index of the observers' part.
const REPORTED: usize = 14;

/// The system's API level.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_api(_: EnvUnowned, _: JClass, level: jint) {
    counting::set_api(u32::try_from(level).unwrap_or(0));
}

/// Sets whether frames are identified by their messages.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_byMessages(_: EnvUnowned, _: JClass, on: jboolean) {
    disarm_on_panic(|| frames::by_messages(on));
}

/// Begins a frame: main's current message is a frame's.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_frame(
    _: EnvUnowned,
    _: JClass,
    intended: jlong,
    estimated: jboolean,
) {
    disarm_on_panic(|| frames::frame_begin(u64::try_from(intended).unwrap_or(0), estimated));
}

/// Moves the frame to this stage (0 INPUT to 4 COMMIT); its vsync if it is known by now, or 0.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_stage(
    _: EnvUnowned,
    _: JClass,
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

/// Notes that a window is about to be drawn.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_drawn(_: EnvUnowned, _: JClass) {
    disarm_on_panic(frames::drawn);
}

/// Sets the frame's oldest and newest input event, as `FrameInfo` has them.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_inputEvents(
    _: EnvUnowned,
    _: JClass,
    oldest: jlong,
    newest: jlong,
) {
    disarm_on_panic(|| frames::input_events(oldest, newest));
}

/// Sets the display's refresh rate, Hz.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_refresh(_: EnvUnowned, _: JClass, hz: jfloat) {
    frames::set_refresh(hz);
}

/// Counts the next frame. Returns [`NO_FRAME`], [`COUNTED`], [`COUNTED_AND_REPORTED`] (the array is filled)
/// or [`RETRY`].
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_next(
    env: EnvUnowned,
    _: JClass,
    numbers: JLongArray,
) -> jint {
    match disarm_on_panic(counting::next) {
        None | Some(Next::Nothing) => NO_FRAME,
        Some(Next::Later) => RETRY,
        Some(Next::Counted(None)) => COUNTED,
        Some(Next::Counted(Some(frame))) => {
            put(&env, &numbers, &frame);
            COUNTED_AND_REPORTED
        }
    }
}

/// Queues a window's frame. The system has dropped the metrics of `lost` frames of that window since the
/// last one.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_measured(
    env: EnvUnowned,
    _: JClass,
    numbers: JLongArray,
    lost: jint,
) {
    let Some(values) = read_array(&env, &numbers) else { return };
    let mut frame = Measured {
        metrics: std::array::from_fn(|part| values[part]),
        intended: values[INTENDED],
        vsync: values[VSYNC],
        deadline: values[DEADLINE],
        lost: u32::try_from(lost).unwrap_or(0),
    };
    frame.metrics[trace_rules::frame::Metric::Gpu as usize] = values[GPU];
    disarm_on_panic(|| counting::measured(&frame));
}

/// Reports the page that was left.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_flush(_: EnvUnowned, _: JClass) {
    disarm_on_panic(counting::flush);
}

/// A scene's name.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_FrameMonitor_scene(env: EnvUnowned, _: JClass, id: jint) -> jstring {
    returned(&env, || Some(app_state::name_of(TextId(id as u32))))
}

fn read_array(env: &EnvUnowned<'_>, numbers: &JLongArray<'_>) -> Option<[jlong; NUMBERS]> {
    let (env, numbers) = raw_array(env, numbers.as_raw(), NUMBERS)?;
    let mut values = [0; NUMBERS];
    // SAFETY: the JVM has just handed both to this thread's native call, which has not returned; the function is in every
    // table since JNI 1.1. The array was asked for its length, and `values` has room for as many as are read.
    unsafe { ((**env).v1_1.GetLongArrayRegion)(env, numbers, 0, NUMBERS as jint, values.as_mut_ptr()) };
    Some(values)
}

fn put(env: &EnvUnowned<'_>, numbers: &JLongArray<'_>, frame: &ObservedFrame) {
    let long = |ns: u64| jlong::try_from(ns).unwrap_or(jlong::MAX);
    let [input, animation, traversal] = frame.stages.map(long);
    let values: [jlong; NUMBERS - REPORTED] = [
        frame.scene.0.into(),
        long(frame.begun_ns),
        long(frame.total_ns),
        input,
        animation,
        traversal,
        frame.latency_ns.map_or(-1, long),
        frame.dropped.into(),
        frame.report_dropped.into(),
    ];
    let Some((env, numbers)) = raw_array(env, numbers.as_raw(), NUMBERS) else { return };
    let (from, count) = (REPORTED as jint, values.len() as jint);
    // SAFETY: as in `read_array`.
    unsafe { ((**env).v1_1.SetLongArrayRegion)(env, numbers, from, count, values.as_ptr()) };
}
