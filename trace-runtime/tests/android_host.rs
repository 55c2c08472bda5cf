//! The shims of `android/aar/java`, compiled unchanged against fakes of Android's classes
//! (`android/fakes`), on a real JVM with the real library. The tests check the recording and the
//! reports.

#[path = "android_host/app.rs"]
mod app;
#[path = "android_host/components.rs"]
mod components;
#[path = "android_host/exits.rs"]
mod exits;
#[path = "android_host/frames.rs"]
mod frames;
#[path = "android_host/guards.rs"]
mod guards;
#[path = "android_host/harness.rs"]
mod harness;
#[path = "android_host/life.rs"]
mod life;
#[path = "android_host/lifetime.rs"]
mod lifetime;
#[path = "android_host/looper.rs"]
mod looper;
#[path = "android_host/marked.rs"]
mod marked;
#[path = "android_host/matrix_04.rs"]
mod matrix_04;
#[path = "android_host/native_stacks.rs"]
mod native_stacks;
#[path = "android_host/options.rs"]
mod options;
#[path = "android_host/platform.rs"]
mod platform;
#[path = "android_host/sampler.rs"]
mod sampler;
#[path = "android_host/served.rs"]
mod served;
#[path = "android_host/stall.rs"]
mod stall;
#[path = "android_host/system_state.rs"]
mod system_state;
#[path = "android_host/units.rs"]
mod units;
#[path = "android_host/uploads.rs"]
mod uploads;

use harness::Case;

#[test]
fn the_fakes_run_a_life_without_events_in_virtual_time() {
    let run = Case::new("EmptyLife").sdk(24).run();
    assert_eq!(run.printed, "at 1250\nlogged 0 sdk 24\n");
    assert_eq!(run.recording().header().dropped, 0);
}
