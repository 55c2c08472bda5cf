//! What each thread of the process did since the poll before.

use trace_format::sections::system_state::{MAX_THREADS, Quantity, SystemState, ThreadState};

use crate::kernel_files::{self, keyed};
use crate::main_thread::usage;
use crate::monitors::config::redact;

/// A process that read or wrote less since the poll before has no thread worth asking, bytes.
const MUCH_IO: i64 = 64 << 10;

/// What is known of the threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// Each thread's id, time run and time runnable, in the kernel's order. A list: a map takes kilobytes of code on a device.
    known: Vec<(u32, (u64, u64))>,
    /// Bytes that the process read and wrote.
    bytes: i64,
}

impl Threads {
    /// Adds threads: all of them, or main and those that ran or were runnable since.
    pub(super) fn read(&mut self, state: &mut SystemState, main: u32, all: bool) {
        let sum = [Quantity::Read, Quantity::Written].map(|quantity| state.get(quantity).unwrap_or(0));
        let bytes = sum[0].saturating_add(sum[1]);
        let io = all || bytes.saturating_sub(self.bytes) >= MUCH_IO;
        self.bytes = bytes;
        let before = std::mem::take(&mut self.known);
        // Most threads are where they were in the poll before.
        let mut next = 0;
        let mut buffer = [0; 4096];
        for tid in tids().take(MAX_THREADS) {
            let Some(times) = text(tid, "schedstat", &mut buffer).and_then(usage::schedstat) else {
                continue;
            };
            self.known.push((tid, times));
            let (earlier, later) = before.split_at(next.min(before.len()));
            let at = later.iter().chain(earlier).position(|(known, _)| *known == tid);
            let at = at.map(|at| (next + at) % before.len());
            next = at.map_or(next, |at| at + 1);
            // A thread that the polls before had not is new.
            if all || tid == main || at.is_none_or(|at| before[at].1 != times) {
                state.threads.extend(thread(tid, times, io, tid == main, &mut buffer));
            }
        }
        if main != 0 {
            let status = text(main, "status", &mut buffer).unwrap_or_default();
            state.set(Quantity::Tracer, keyed(status, "TracerPid"));
            state.set(Quantity::Cpus, cpus(status));
        }
    }
}

/// On how many CPUs a thread may run, by its mask in hexadecimal digits (man 5 proc_pid_status).
fn cpus(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
    let ones =
        mask.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| u64::from(digit.count_ones())).sum();
    Some(ones).filter(|cpus| *cpus > 0)
}

/// The threads of this process.
fn tids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn text<'a>(tid: u32, name: &str, buffer: &'a mut [u8; 4096]) -> Option<&'a str> {
    std::str::from_utf8(kernel_files::of_thread(tid, name, buffer)?).ok()
}

/// A thread; `None` if it has ended.
fn thread(
    tid: u32,
    (ran, waited): (u64, u64),
    io: bool,
    main: bool,
    buffer: &mut [u8; 4096],
) -> Option<ThreadState> {
    let stat = kernel_files::of_thread(tid, "stat", buffer)?;
    let name = name(stat).to_owned();
    let state = kernel_files::behind_name(stat).and_then(usage::state)?;
    let mut thread = ThreadState { tid, state, ran, waited, ..ThreadState::default() };
    thread.name = redact::thread(&name).into_owned();
    if main || state == b'D' {
        // "0" is a thread that runs, and what the kernel says without the right to know.
        thread.channel =
            text(tid, "wchan", buffer).filter(|name| !matches!(*name, "0" | "")).map(str::to_owned);
    }
    if io {
        let bytes = text(tid, "io", buffer);
        thread.read = bytes.and_then(|text| keyed(text, "read_bytes"));
        thread.written = bytes.and_then(|text| keyed(text, "write_bytes"));
    }
    Some(thread)
}

/// The name between the brackets of `stat`, as far as it is UTF-8.
fn name(stat: &[u8]) -> &str {
    let from = stat.iter().position(|byte| *byte == b'(').map_or(0, |at| at + 1);
    let to = stat.iter().rposition(|byte| *byte == b')').filter(|to| *to >= from).unwrap_or(from);
    stat[from..to].utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writing::thread::gettid;

    #[test]
    fn a_thread_that_ran_is_in_the_next_poll_and_one_that_sleeps_is_not() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (tell, sleeper) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(gettid()).unwrap();
            let _ = stopped.recv();
        });
        let sleeper = sleeper.recv().unwrap();
        let mut threads = Threads::default();
        let poll = |threads: &mut Threads, all| {
            let mut state = SystemState::new(1);
            threads.read(&mut state, 0, all);
            state.threads
        };
        let of = |polled: &[ThreadState], tid| polled.iter().find(|thread| thread.tid == tid).cloned();
        let first = poll(&mut threads, true);
        let own = of(&first, gettid()).expect("this thread");
        assert!(of(&first, sleeper).is_some() && own.state == b'R' && own.written.is_some(), "{own:?}");
        // The kernel counts at its ticks, and a thread that has just been started may run a last time.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let next = poll(&mut threads, false);
            let ran = of(&next, gettid()).is_some_and(|thread| thread.ran > own.ran);
            if ran && of(&next, sleeper).is_none() {
                break;
            }
            assert!(std::time::Instant::now() < end, "{next:?}");
        }
        drop(stop);
        thread.join().unwrap();
    }

    #[test]
    fn the_cpus_that_a_thread_may_use_are_counted() {
        assert_eq!(cpus("Threads:\t1\nCpus_allowed:\tff,0000000f\nCpus_allowed_list:\t0-3\n"), Some(12));
        assert_eq!((cpus("Cpus_allowed:\t3\n"), cpus("Cpus_allowed:\t0\n"), cpus("")), (Some(2), None, None));
    }

    #[test]
    fn names_are_taken_from_between_the_outer_brackets() {
        assert_eq!(name(b"12 (a (b) c) S 1"), "a (b) c");
        assert_eq!(name(b"12 (\xff\xfe) S 1"), "");
        assert_eq!(name(b"12"), "");
        assert_eq!(name(b")("), "");
    }
}
