//! The native methods of `dev.anrscope.Overlay`.

use ::jni::EnvUnowned;
use ::jni::objects::{JClass, JIntArray, JString};
use ::jni::sys::{jint, jlong, jstring};
use trace_rules::frame::{BARS, Level};

use crate::guard::disarm_on_panic;
use crate::jni::{raw_array, record_notice, returned};
use crate::monitors::frames::overlay::{self, Shown};
use crate::time::clock;

/// Colour; four counts and four shares twice; two means; the bars; their colours; the four levels' colours.
const NUMBERS: usize = 1 + 4 * 4 + 2 + BARS + BARS + 4;
const LEVELS: [Level; 4] = [Level::Normal, Level::Middle, Level::High, Level::Frozen];

/// Starts counting: the window is shown.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Overlay_shown(_: EnvUnowned, _: JClass) {
    disarm_on_panic(overlay::show);
}

/// Stops counting: the window is gone.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Overlay_hidden(_: EnvUnowned, _: JClass) {
    disarm_on_panic(overlay::hide);
}

/// What to show: numbers into the array, and the returned texts separated by line feeds: frames per second,
/// the weighted values since the start and of the page, all dropped frames. Null if nothing changes yet.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Overlay_next(
    env: EnvUnowned,
    _: JClass,
    uptime_ms: jlong,
    numbers: JIntArray,
) -> jstring {
    returned(&env, || {
        let uptime_ns = u64::try_from(uptime_ms).unwrap_or(0).saturating_mul(1_000_000);
        let shown = overlay::refresh(clock::of_monotonic(uptime_ns) / 1_000_000)?;
        put(&env, &numbers, &shown)?;
        let [sum, page] = &shown.text.weighted;
        Some([shown.text.fps.as_str(), sum, page, &shown.text.dropped].join("\n"))
    })
}

/// Records a notice.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_Overlay_notice(env: EnvUnowned, _: JClass, text: JString) {
    record_notice(&env, &text);
}

fn put(env: &EnvUnowned<'_>, numbers: &JIntArray<'_>, shown: &Shown) -> Option<()> {
    let (env, numbers) = raw_array(env, numbers.as_raw(), NUMBERS)?;
    let text = &shown.text;
    let mut values = [0; NUMBERS];
    let counts = text.sum.iter().chain(&text.page).map(|count| jint::try_from(*count).unwrap_or(jint::MAX));
    let shares = text.shares.iter().flatten().map(|share| jint::from(*share));
    let rest = shown.means.iter().chain(&shown.bars).copied();
    let colours = shown.colours.iter().chain(&LEVELS).map(|colour| colour.rgb() as jint);
    let all =
        std::iter::once(text.colour.rgb() as jint).chain(counts).chain(shares).chain(rest).chain(colours);
    for (value, number) in values.iter_mut().zip(all) {
        *value = number;
    }
    // SAFETY: the JVM has just handed both to this thread's native call, which has not returned; the function is in every
    // table since JNI 1.1. The array was asked for its length.
    unsafe { ((**env).v1_1.SetIntArrayRegion)(env, numbers, 0, NUMBERS as jint, values.as_ptr()) };
    Some(())
}
