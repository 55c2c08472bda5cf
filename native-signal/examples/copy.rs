//! The library once more, as a shared library of its own: what a second class loader makes of it. The rig loads it.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod copy {
    use native_signal::{Config, Mode, Sensor, StallTimer, Uninstalled, boottime_ns, check_pending};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, OnceLock};

    static SENSOR: Mutex<Option<Sensor>> = Mutex::new(None);
    static SENSED: AtomicU64 = AtomicU64::new(0);

    /// The leader looks stuck to this copy's timer as well.
    fn leader_is_stalled() {
        static TIMER: OnceLock<StallTimer> = OnceLock::new();
        TIMER.get_or_init(|| {
            let timer = StallTimer::new();
            timer.message_begin(boottime_ns());
            let every_5_ms = |_| {
                check_pending();
                5_000_000
            };
            timer.run(boottime_ns, Box::new(every_5_ms)).expect("a thread");
            timer
        });
    }

    /// 0 passive, 1 beside the catcher, 2 before a previous handler, -1 refused.
    #[unsafe(no_mangle)]
    extern "C" fn copy_install() -> i32 {
        let observer = Box::new(|_| {
            SENSED.fetch_add(1, Ordering::SeqCst);
        });
        leader_is_stalled();
        let Ok(sensor) = native_signal::install(Config::default(), observer) else { return -1 };
        let mode = match sensor.mode() {
            Mode::Passive { .. } => 0,
            Mode::BesideCatcher { .. } => 1,
            Mode::BeforePreviousHandler => 2,
        };
        *SENSOR.lock().unwrap() = Some(sensor);
        mode
    }

    /// 0 restored, 1 passes through, 2 nothing was there.
    #[unsafe(no_mangle)]
    extern "C" fn copy_uninstall() -> i32 {
        match SENSOR.lock().unwrap().take().map(Sensor::uninstall) {
            Some(Uninstalled::Restored) => 0,
            Some(Uninstalled::PassThrough { .. }) => 1,
            Some(Uninstalled::NothingInstalled) | None => 2,
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn copy_rescued() -> u64 {
        SENSOR.lock().unwrap().as_ref().map_or(0, |sensor| sensor.counters().rescued)
    }

    #[unsafe(no_mangle)]
    extern "C" fn copy_sensed() -> u64 {
        SENSED.load(Ordering::SeqCst)
    }
}
