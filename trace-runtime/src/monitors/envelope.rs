//! What every report says of the device and the process. It is read from small files of /proc when a report
//! is finished, never on main.

use std::sync::OnceLock;

use trace_rules::report::{CpuTicks, Device, Envelope, Issue};

use crate::kernel_files::keyed;
use crate::time::clock;

static PROCESS: OnceLock<String> = OnceLock::new();

/// Sets the process's name, once, at the start.
pub(crate) fn set_process(name: &str) {
    let _ = PROCESS.set(name.to_owned());
}

/// The process's name.
pub(crate) fn process() -> String {
    PROCESS.get().cloned().unwrap_or_default()
}

/// The report as one JSON object in its envelope, with the current time.
pub(crate) fn wrap(issue: &Issue<'_>) -> String {
    let time_ms = i64::try_from(clock::all().realtime / 1_000_000).unwrap_or(i64::MAX);
    let process = PROCESS.get().map_or("", String::as_str);
    issue.to_json(&Envelope { process, time_ms, device: device() })
}

fn device() -> Device {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |key| keyed(&memory, key).and_then(|kib| i64::try_from(kib).ok());
    Device {
        memory: kib("MemTotal").map_or(-1, |kib| kib.saturating_mul(1024)),
        // Kernels before 3.14 do not say what is available.
        free_kib: kib("MemAvailable").or_else(|| kib("MemFree")).unwrap_or(-1),
        cpu_count: cpu_count(),
        cpu: cpu(),
    }
}

/// The device's CPUs, online or not. std reports how many this process may use instead, and weighs 4 KB.
fn cpu_count() -> u32 {
    // SAFETY: it takes and returns a number.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    u32::try_from(configured).unwrap_or(0)
}

/// CPU ticks of the process and the device; `None` where /proc/stat cannot be read: on Android from API 26
/// on.
fn cpu() -> Option<CpuTicks> {
    let all = std::fs::read_to_string("/proc/stat").ok()?;
    let own = std::fs::read_to_string("/proc/self/stat").ok()?;
    Some(CpuTicks { app: app_ticks(&own)?, all: all_ticks(&all)? })
}

/// Fields 14 and 15; the name before them may contain anything.
fn app_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat[stat.rfind(')')?..].split_ascii_whitespace().skip(12);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(ticks()?.saturating_add(ticks()?))
}

/// Columns 2 to 8 of the first line.
fn all_ticks(stat: &str) -> Option<u64> {
    let columns = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().take(7);
    let ticks: Result<Vec<u64>, _> = columns.map(str::parse).collect();
    Some(ticks.ok()?.into_iter().fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_parsed_and_missing_values_are_unknown() {
        assert_eq!(app_ticks("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 110 23 1 1 20 0"), Some(133));
        assert_eq!(app_ticks("7 (a) S 1 2"), None);
        assert_eq!(app_ticks(""), None);
        assert_eq!(all_ticks("cpu  1 2 3 4 5 6 7 8 9\ncpu0 1"), Some(28));
        assert_eq!(all_ticks("cpu0 1"), None);
        assert_eq!(keyed("MemTotal:  100 kB\nMemFree: 7 kB\n", "MemFree"), Some(7));
        assert_eq!(keyed("MemTotal:  100 kB", "MemFree"), None);
        assert!(device().memory > 0 && device().cpu_count > 0);
    }
}
