//! Main's CPU time and context switches while its message is stalled. They answer the first question about
//! a stall: is main running, runnable, or waiting for something else? Read by the timer thread, never by
//! main; each sample reads three small files.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use trace_format::event::{Event, Usage};

use crate::kernel_files;
use crate::recorder::Recorder;

/// The sampling interval while a message is stalled, ns.
const SAMPLE_INTERVAL: u64 = 500_000_000;

/// The sampling interval of a process without a Looper, ns: short while it starts, then long, so that the
/// service ring holds about two hours of it.
const INTERVALS_WITHOUT_LOOPER: [u64; 2] = [1_000_000_000, 5_000_000_000];
/// How long the short one lasts, ns.
const SHORT_INTERVALS_FOR: u64 = 60_000_000_000;

/// When main was last sampled.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    last: u64,
}

impl Watch {
    /// Records main's usage every half second. Main's message is stalled at `now`.
    pub(crate) fn sample(&mut self, recorder: &Recorder, now: u64) {
        if now.saturating_sub(self.last) >= SAMPLE_INTERVAL {
            self.last = now;
            record(recorder);
        }
    }
}

/// When main was last sampled without a Looper, BOOTTIME ns.
static SAMPLED: AtomicU64 = AtomicU64::new(0);

/// Records main's usage now and then in a process whose main thread has no Looper, such as a JVM: there no
/// message tells when main is stalled, and a call that does not end is known only afterwards. On the
/// ticker's thread.
pub(crate) fn without_looper(recorder: &Recorder, now: u64) {
    if recorder.message_since.load(Relaxed) != Recorder::NO_LOOPER {
        return;
    }
    let running = now.saturating_sub(recorder.start_boottime());
    let interval = INTERVALS_WITHOUT_LOOPER[usize::from(running >= SHORT_INTERVALS_FOR)];
    if now.saturating_sub(SAMPLED.load(Relaxed)) >= interval {
        SAMPLED.store(now, Relaxed);
        record(recorder);
    }
}

/// Records main's usage so far.
pub(crate) fn record(recorder: &Recorder) {
    if let Some(usage) = of_thread(recorder.main_tid) {
        recorder.service(&Event::Usage(usage));
    }
}

/// The usage of a thread of this process; `None` if it has ended or /proc cannot be read.
fn of_thread(tid: u32) -> Option<Usage> {
    let mut buffer = [0; 4096];
    let state = state(read(tid, "stat", &mut buffer)?)?;
    // Missing in kernels without CONFIG_SCHED_INFO.
    let (ran, waited) = read(tid, "schedstat", &mut buffer).and_then(schedstat).unwrap_or_default();
    let (voluntary, involuntary) = read(tid, "status", &mut buffer).map(switches)?;
    Some(Usage { tid, state, ran, waited, voluntary, involuntary })
}

/// The number of context switches of a thread of this process, voluntary and involuntary; `None` if /proc
/// cannot be read.
pub(crate) fn switches_of(tid: u32) -> Option<u64> {
    let (voluntary, involuntary) = switches(read(tid, "status", &mut [0; 4096])?);
    Some(u64::from(voluntary) + u64::from(involuntary))
}

/// Main's `/proc/self/task/TID/stat`; empty if nothing is recorded.
pub(crate) fn main_stat() -> String {
    let tid = Recorder::active().map_or(0, |recorder| recorder.main_tid);
    std::fs::read_to_string(["/proc/self/task/", &tid.to_string(), "/stat"].concat()).unwrap_or_default()
}

fn read<'a>(tid: u32, name: &str, buffer: &'a mut [u8; 4096]) -> Option<&'a str> {
    kernel_files::behind_name(kernel_files::of_thread(tid, name, buffer)?)
}

/// The state letter after the name (man 5 proc_pid_stat).
pub(crate) fn state(stat: &str) -> Option<u8> {
    stat.strip_prefix(") ")?.bytes().next()
}

/// Time run and time runnable, ns (Documentation/scheduler/sched-stats.rst).
pub(crate) fn schedstat(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Voluntary and involuntary context switches (man 5 proc_pid_status).
fn switches(status: &str) -> (u32, u32) {
    let of = |key| kernel_files::keyed(status, key).and_then(|number| number.try_into().ok()).unwrap_or(0);
    (of("voluntary_ctxt_switches"), of("nonvoluntary_ctxt_switches"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_parsed_for_any_thread_name() {
        assert_eq!(state(") S 1 2 3"), Some(b'S'));
        assert_eq!(state("12 (x"), None);
        assert_eq!(schedstat("120 34 5\n"), Some((120, 34)));
        assert_eq!(schedstat("120"), None);
        let status = "Threads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(switches(status), (150, 545));
        assert_eq!(switches(""), (0, 0));
    }

    #[test]
    fn usage_of_the_calling_thread_grows() {
        let tid = crate::writing::thread::gettid();
        let before = of_thread(tid).expect("this thread");
        std::thread::sleep(std::time::Duration::from_millis(2));
        let mut sum = 0_u64;
        for i in 0..20_000_000_u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        let after = of_thread(tid).expect("this thread");
        assert_eq!((after.tid, after.state), (tid, b'R'));
        assert!(after.ran > before.ran && after.voluntary > before.voluntary, "{before:?} {after:?}");
        assert_eq!(of_thread(u32::MAX), None);
    }
}
