//! The shims of `android/aar/java`, compiled unchanged against fakes of Android's classes
//! (`android/fakes`), on a real JVM with the real library. The tests check the recording and the
//! reports.

mod app;
mod components;
mod exits;
mod frames;
mod guards;
mod life;
mod looper;
mod matrix_04;
mod native_stacks;
mod options;
mod platform;
mod sampler;
mod served;
mod stall;
mod system_state;
mod units;
mod uploads;

use test_support::android::Case;

#[test]
fn the_fakes_run_a_life_without_events_in_virtual_time() {
    let run = Case::new("EmptyLife").sdk(24).run();
    assert_eq!(run.printed, "at 1250\nlogged 0 sdk 24\n");
    assert_eq!(run.recording().header().dropped, 0);
}
