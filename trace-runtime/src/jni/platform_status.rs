//! The native method of `dev.anrscope.PlatformStatus`.

use ::jni::EnvUnowned;
use ::jni::objects::JClass;
use ::jni::sys::jlong;
use trace_format::sections::system_state::Quantity as Q;

use crate::guard::disarm_on_panic;
use crate::monitors::system_state;

/// Records a poll; -1 is an unknown number.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_PlatformStatus_record(
    _: EnvUnowned,
    _: JClass,
    gc_ms: jlong,
    gcs: jlong,
    blocking_gc_ms: jlong,
    heap_used: jlong,
    heap_max: jlong,
    thermal: jlong,
    power_save: jlong,
) {
    let ns = |ms: jlong| if ms < 0 { ms } else { ms.saturating_mul(1_000_000) };
    disarm_on_panic(|| {
        system_state::record_platform(&[
            (Q::GcTime, ns(gc_ms)),
            (Q::Gcs, gcs),
            (Q::BlockingGcTime, ns(blocking_gc_ms)),
            (Q::HeapUsed, heap_used),
            (Q::HeapMax, heap_max),
            (Q::Thermal, thermal),
            (Q::PowerSave, power_save),
        ]);
    });
}
