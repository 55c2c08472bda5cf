//! The kernel's figures of the process and of the whole system.

use trace_format::sections::system_state::Quantity as Q;
use trace_format::sections::system_state::SystemState;

use crate::kernel_files::{self, keyed};

/// Kernel files that could not be read at the first poll are not tried again: SELinux denies them for good.
#[derive(Debug, Default)]
pub(super) struct Files {
    denied: [bool; SOURCES.len()],
}

type Take = fn(&mut SystemState, &str);

/// Each file, and what is taken of it.
const SOURCES: [(&str, Take); 8] = [
    ("/proc/self/stat", |state, text| {
        if let Some(text) = kernel_files::behind_name(text.as_bytes()) {
            process(state, text);
        }
    }),
    ("/proc/self/io", io),
    ("/proc/stat", cpus),
    ("/proc/meminfo", memory),
    ("/proc/vmstat", paging),
    ("/proc/pressure/cpu", |state, text| state.set(Q::CpuPressure, stalled(text, "some"))),
    ("/proc/pressure/memory", |state, text| {
        state.set(Q::MemoryPressure, stalled(text, "some"));
        state.set(Q::MemoryPressureFull, stalled(text, "full"));
    }),
    ("/proc/pressure/io", |state, text| state.set(Q::IoPressure, stalled(text, "some"))),
];

impl Files {
    /// Sets what the files have.
    pub(super) fn read(&mut self, state: &mut SystemState) {
        let mut buffer = [0; 8192];
        for ((path, take), denied) in SOURCES.into_iter().zip(&mut self.denied) {
            if *denied {
                continue;
            }
            match kernel_files::read(path, &mut buffer).and_then(|bytes| std::str::from_utf8(bytes).ok()) {
                Some(text) => take(state, text),
                None => *denied = true,
            }
        }
    }
}

/// Page faults that needed a disk: field 12, the tenth behind the name (man 5 proc_pid_stat).
fn process(state: &mut SystemState, stat: &str) {
    let faults = stat.split_ascii_whitespace().nth(10);
    state.set(Q::MajorFaults, faults.and_then(|faults| faults.parse().ok()));
}

fn io(state: &mut SystemState, text: &str) {
    state.set(Q::Read, keyed(text, "read_bytes"));
    state.set(Q::Written, keyed(text, "write_bytes"));
}

/// Time in any state but idle and waiting for I/O (man 5 proc_stat). Guests' time is part of the user time.
fn cpus(state: &mut SystemState, text: &str) {
    let ticks = text.strip_prefix("cpu ").and_then(|rest| rest.lines().next()).map(|line| {
        let numbers = line.split_ascii_whitespace().take(8).map(|ticks| ticks.parse().unwrap_or(0_u64));
        numbers.enumerate().filter(|(at, _)| !matches!(at, 3 | 4)).map(|(_, ticks)| ticks).sum::<u64>()
    });
    // SAFETY: sysconf reads a constant of the system.
    let hertz = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100).max(1);
    state.set(Q::Busy, ticks.map(|ticks| ticks.saturating_mul(1_000_000_000 / hertz)));
}

fn memory(state: &mut SystemState, text: &str) {
    let bytes = |key| keyed(text, key).map(|kib| kib.saturating_mul(1024));
    state.set(Q::Available, bytes("MemAvailable"));
    state.set(Q::SwapFree, bytes("SwapFree"));
}

/// `pgpgin` and `pgpgout` are KiB, `pswpin` and `pswpout` pages (mm/vmstat.c, fs/proc: `vm_events`).
fn paging(state: &mut SystemState, text: &str) {
    // SAFETY: sysconf reads a constant of the system.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    for (quantity, key, unit) in [
        (Q::SystemRead, "pgpgin", 1024),
        (Q::SystemWritten, "pgpgout", 1024),
        (Q::SwappedIn, "pswpin", page),
        (Q::SwappedOut, "pswpout", page),
    ] {
        state.set(quantity, keyed(text, key).map(|number| number.saturating_mul(unit)));
    }
    // Linux 5.9 counts anonymous pages and those of files apart.
    let of_files = keyed(text, "workingset_refault_file").or_else(|| keyed(text, "workingset_refault"));
    let anonymous = keyed(text, "workingset_refault_anon").unwrap_or(0);
    state.set(Q::Refaults, of_files.map(|pages| pages.saturating_add(anonymous)));
}

/// The `total` of a line of a pressure file, which is in µs (Documentation/accounting/psi.rst), in ns.
fn stalled(text: &str, which: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(which))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()?.saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(take: Take, text: &str) -> SystemState {
        let mut state = SystemState::new(1);
        take(&mut state, text);
        state
    }

    #[test]
    fn the_kernels_files_are_read_in_their_units() {
        let io_text = "rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        let found = taken(io, io_text);
        assert_eq!((found.get(Q::Read), found.get(Q::Written)), (Some(4096), Some(8192)));
        let found = taken(process, ") S 1 2 3 0 -1 4194560 100 0 77 0 5 6 0 0 20 0 1 0 9 0 0");
        assert_eq!(found.get(Q::MajorFaults), Some(77));
        let found = taken(memory, "MemTotal:  9 kB\nMemAvailable:   3 kB\nSwapFree:     0 kB\n");
        assert_eq!((found.get(Q::Available), found.get(Q::SwapFree)), (Some(3072), Some(0)));
        let found = taken(
            paging,
            "pgpgin 2\npgpgout 3\npswpin 0\nworkingset_refault_anon 4\nworkingset_refault_file 5\n",
        );
        assert_eq!(found.get(Q::Refaults), Some(9));
        assert_eq!((found.get(Q::SystemRead), found.get(Q::SystemWritten)), (Some(2048), Some(3072)));
        assert_eq!((found.get(Q::SwappedIn), found.get(Q::SwappedOut)), (Some(0), None));
        let text = "some avg10=0.22 avg60=0.17 avg300=1.11 total=58761459\nfull avg10=0.00 avg60=0.13 avg300=0.96 total=5\n";
        assert_eq!((stalled(text, "some"), stalled(text, "full")), (Some(58_761_459_000), Some(5_000)));
        assert_eq!(stalled("some avg10=0.22", "some"), None);
    }

    #[test]
    fn busy_time_leaves_idle_and_waiting_for_io_out() {
        let text = "cpu  10 1 5 1000 100 2 3 4 50 0\ncpu0 1 1 1 1\n";
        let found = taken(cpus, text).get(Q::Busy).unwrap();
        // SAFETY: as above.
        let hertz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        assert_eq!(found, 25 * (1_000_000_000 / hertz));
    }

    #[test]
    fn this_process_has_figures() {
        let mut state = SystemState::new(1);
        Files::default().read(&mut state);
        assert!(
            state.get(Q::MajorFaults).is_some() && state.get(Q::Available).is_some_and(|bytes| bytes > 0)
        );
    }
}
