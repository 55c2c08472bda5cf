//! The work of the app's other threads and of the rest of the device as JSON.

use answers::answer::{SystemShare, ThreadShare};
use serde::Serialize;

use crate::report::device;

/// The work of the app's other threads and of the rest of the device during the hang, from polls.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Device<'a> {
    /// Time from the first poll to the last one.
    polled_ns: u64,
    /// CPUs that the process may use.
    cpus: Option<u64>,
    /// CPU time of the app's threads without main.
    other_threads_ran_ns: u64,
    /// The threads that ran longest; at most 5.
    threads: &'a [ThreadShare],
    /// CPU time of all other processes, where it is readable.
    other_processes_ran_ns: Option<u64>,
    /// Time for which the control group's CPU limit stopped the process.
    throttled_ns: u64,
    /// Time for which the process was frozen, stopped or suspended.
    frozen_ns: u64,
    /// Garbage collections.
    collections: u64,
    /// Time of the garbage collections; of a JVM the time for which they stopped all threads.
    collections_ns: u64,
    /// The Java heap in use at the end.
    heap_used_bytes: Option<u64>,
    /// The maximum of the Java heap.
    heap_max_bytes: Option<u64>,
    /// Bytes that the process read from and wrote to storage.
    process_io_bytes: Option<u64>,
    /// The same of all processes.
    system_io_bytes: Option<u64>,
    /// Page faults of the process that needed storage.
    major_faults: u64,
    /// Time for which some task of the system waited for memory.
    memory_stall_ns: u64,
    /// Time for which some task of the system waited for I/O.
    io_stall_ns: Option<u64>,
    /// The highest status of PowerManager, 0 to 6.
    thermal_status: i64,
    /// The time by which the wall clock was set; negative if back.
    clock_step_ns: i64,
    /// The process's group of CPUs.
    cpuset: Option<&'a str>,
    /// The same in words; only values that took noticeable time.
    lines: Vec<String>,
}

impl<'a> From<&'a SystemShare> for Device<'a> {
    fn from(share: &'a SystemShare) -> Self {
        Self {
            polled_ns: share.polled,
            cpus: share.cpus,
            other_threads_ran_ns: share.others.ran,
            threads: &share.ran_most,
            other_processes_ran_ns: share.other_processes,
            throttled_ns: share.throttled,
            frozen_ns: share.frozen,
            collections: share.gcs,
            collections_ns: share.gc_time,
            heap_used_bytes: share.heap.map(|(used, _)| used),
            heap_max_bytes: share.heap.map(|(_, max)| max),
            process_io_bytes: share.own_bytes,
            system_io_bytes: share.system_bytes,
            major_faults: share.major_faults,
            memory_stall_ns: share.memory_some,
            io_stall_ns: share.io_some,
            thermal_status: share.thermal,
            clock_step_ns: share.clock_step,
            cpuset: share.cpuset.as_deref(),
            lines: device::lines(share),
        }
    }
}
