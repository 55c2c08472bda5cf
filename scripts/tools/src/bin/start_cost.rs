//! What `start` costs the main thread, in a process that looks as an app does to the kernel: SIGQUIT blocked everywhere,
//! a thread "Signal Catcher" in `sigwait`, and some others. One start a process: `scripts/bench monitors` runs many.
//!
//! Prints `us WALL CPU FAULTS SWITCHES`: wall time and CPU time in microseconds, page faults, and main's context
//! switches, involuntary and voluntary. Two calls of `getppid`, which nothing else here makes, enclose what is
//! measured: with `strace` the calls between them are those of the start.

#[cfg(any(target_os = "linux", target_os = "android"))]
fn main() {
    linux::main();
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn main() {}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::sync::mpsc;
    use std::thread::{self, Builder};

    use nix::sys::resource::{Usage, UsageWho, getrusage};
    use nix::sys::signal::{SigSet, Signal};
    use nix::time::{ClockId, clock_gettime};
    use nix::unistd::getppid;
    use trace_runtime::{Config, Destination};

    /// What an app of Android 14 has running before its first class, besides main and the Signal Catcher.
    const OTHERS: [&str; 12] = [
        "perfetto_hprof_",
        "ADB-JDWP Connec",
        "Jit thread pool",
        "HeapTaskDaemon",
        "ReferenceQueueD",
        "FinalizerDaemon",
        "FinalizerWatchd",
        "binder:1_1",
        "binder:1_2",
        "binder:1_3",
        "Profile Saver",
        "binder:1_4",
    ];

    fn ns(clock: ClockId) -> i64 {
        let now = clock_gettime(clock).unwrap();
        now.tv_sec() * 1_000_000_000 + now.tv_nsec()
    }

    fn faults_and_switches(usage: &Usage) -> (i64, i64) {
        let faults = usage.minor_page_faults() + usage.major_page_faults();
        (faults, usage.voluntary_context_switches() + usage.involuntary_context_switches())
    }

    pub(super) fn main() {
        let mut quit = SigSet::empty();
        quit.add(Signal::SIGQUIT);
        quit.thread_block().unwrap();
        let (ready, all_ready) = mpsc::channel();
        let begin = |name: &str, body: fn(SigSet)| {
            let ready = ready.clone();
            let run = move || {
                ready.send(()).unwrap();
                body(quit);
            };
            Builder::new().name(name.to_owned()).spawn(run).unwrap();
            all_ready.recv().unwrap();
        };
        begin("Signal Catcher", |quit| {
            loop {
                let _ = quit.wait();
            }
        });
        for name in OTHERS {
            begin(name, |_| {
                loop {
                    thread::park();
                }
            });
        }
        let directory = std::env::args()
            .nth(1)
            .map_or(Destination::Later, |directory| Destination::Directory(directory.into()));
        let config = Config::new(directory, "com.example.start");
        let before = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
        let (wall, cpu) = (ns(ClockId::CLOCK_MONOTONIC), ns(ClockId::CLOCK_THREAD_CPUTIME_ID));
        getppid();
        let started = trace_runtime::start(&config);
        trace_runtime::enter(1);
        getppid();
        let (cpu, wall) = (ns(ClockId::CLOCK_THREAD_CPUTIME_ID) - cpu, ns(ClockId::CLOCK_MONOTONIC) - wall);
        let after = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
        started.unwrap();
        let (faults, switches) = (faults_and_switches(&after), faults_and_switches(&before));
        println!(
            "us {:.1} {:.1} {} {}",
            wall as f64 / 1e3,
            cpu as f64 / 1e3,
            faults.0 - switches.0,
            faults.1 - switches.1
        );
    }
}
