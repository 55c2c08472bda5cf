//! What main has used of the processor, once its message is late: whether it computes, waits for a processor, or waits
//! for something else is the first question. Read by the timer thread, never by main: each look is three small files.

use std::fs::File;
use std::io::Read;

use trace_format::event::{Event, Usage};

use crate::recorder::Recorder;

/// A late message is looked at this often, ns.
const INTERVAL: u64 = 500_000_000;

/// When main was looked at last.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    last: u64,
}

impl Watch {
    /// Main's message is late at `now`: records what main has used so far, every half second.
    pub(crate) fn late(&mut self, recorder: &Recorder, now: u64) {
        if now.saturating_sub(self.last) >= INTERVAL {
            self.last = now;
            look(recorder);
        }
    }
}

/// Records what main has used so far.
pub(crate) fn look(recorder: &Recorder) {
    if let Some(usage) = of_thread(recorder.main_tid) {
        recorder.service(&Event::Usage(usage));
    }
}

/// Figures of a thread of this process; `None` where it has ended or /proc is not to be read.
fn of_thread(tid: u32) -> Option<Usage> {
    let mut buffer = [0; 4096];
    let state = state(read(tid, "stat", &mut buffer)?)?;
    // Missing in kernels without CONFIG_SCHED_INFO.
    let (ran, waited) = read(tid, "schedstat", &mut buffer).and_then(schedstat).unwrap_or_default();
    let (voluntary, involuntary) = read(tid, "status", &mut buffer).map(switches)?;
    Some(Usage { tid, state, ran, waited, voluntary, involuntary })
}

/// How often a thread of this process was switched away from, by itself or not; `None` where /proc is not to be read.
pub(crate) fn switches_of(tid: u32) -> Option<u64> {
    let (voluntary, involuntary) = switches(read(tid, "status", &mut [0; 4096])?);
    Some(u64::from(voluntary) + u64::from(involuntary))
}

/// Main's `/proc/self/task/TID/stat`; empty where nothing is recorded.
pub(crate) fn main_stat() -> String {
    let tid = Recorder::active().map_or(0, |recorder| recorder.main_tid);
    std::fs::read_to_string(["/proc/self/task/", &tid.to_string(), "/stat"].concat()).unwrap_or_default()
}

fn read<'a>(tid: u32, name: &str, buffer: &'a mut [u8; 4096]) -> Option<&'a str> {
    let mut file = File::open(format!("/proc/self/task/{tid}/{name}")).ok()?;
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    // A name of other bytes than UTF-8 stands before what is wanted.
    let from = buffer[..length].iter().rposition(|b| *b == b')').unwrap_or(0);
    std::str::from_utf8(&buffer[from..length]).ok()
}

/// The state letter behind the name (man 5 proc_pid_stat).
fn state(stat: &str) -> Option<u8> {
    stat.strip_prefix(") ")?.bytes().next()
}

/// Time run and time runnable, ns (Documentation/scheduler/sched-stats.rst).
fn schedstat(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Voluntary and involuntary switches (man 5 proc_pid_status).
fn switches(status: &str) -> (u32, u32) {
    let of = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|rest| rest.trim_start_matches(':').trim().parse().ok()).unwrap_or(0)
    };
    (of("voluntary_ctxt_switches"), of("nonvoluntary_ctxt_switches"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read_whatever_the_thread_is_called() {
        assert_eq!(state(") S 1 2 3"), Some(b'S'));
        assert_eq!(state("12 (x"), None);
        assert_eq!(schedstat("120 34 5\n"), Some((120, 34)));
        assert_eq!(schedstat("120"), None);
        let status = "Threads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(switches(status), (150, 545));
        assert_eq!(switches(""), (0, 0));
    }

    #[test]
    fn figures_of_the_own_thread_grow() {
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
