//! What the app's other threads and the rest of the device did during the hang, as lines.

use answers::answer::SystemShare;
use answers::words::{megabytes, rounded, thousands, times};
use trace_format::time::SECOND;

/// Threads named in a line.
const NAMED: usize = 3;
/// Less is not worth a line: faults a second, and percent.
const LEAST_FAULTS: u64 = 10;
const LEAST_PERCENT: u64 = 2;

fn is_noticeable(part: u64, share: &SystemShare) -> bool {
    u128::from(part) * 100 >= u128::from(share.polled) * u128::from(LEAST_PERCENT)
}

/// The lines of the report's page. What took no noticeable time is left out.
pub(super) fn lines(share: &SystemShare) -> Vec<String> {
    let named = share.ran_most.iter().filter(|thread| is_noticeable(thread.ran, share)).take(NAMED);
    let named: Vec<_> = named.map(|thread| format!("{} {}", thread.title(), rounded(thread.ran))).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let others =
        share.other_processes.map_or_else(String::new, |ns| format!(", other processes for {}", rounded(ns)));
    let cpus = share.cpus.map_or_else(String::new, |cpus| format!(" on {}", times(cpus, "CPU")));
    let mut lines = Vec::new();
    // A JVM's polls have its collections alone.
    if share.cpus.is_some() || share.others.threads > 0 {
        let (ran, polled) = (rounded(share.others.ran), rounded(share.polled));
        lines.push(format!("the app's other threads ran for {ran}{named}{others}, in {polled}{cpus}"));
    }
    if share.frozen > 0 {
        lines.push(format!("the process was frozen or stopped for {}", rounded(share.frozen)));
    }
    if is_noticeable(share.throttled, share) {
        lines.push(format!("its CPU limit stopped it for {}", rounded(share.throttled)));
    }
    if share.gcs > 0 {
        let heap = share.heap.map_or_else(String::new, |(used, max)| {
            format!("; Java heap: {} of {} in use", megabytes(used), megabytes(max))
        });
        let collections = times(share.gcs, "garbage collection");
        lines.push(format!("{collections} took {}{heap}", rounded(share.gc_time)));
    }
    if let (Some(own), Some(all)) = (share.own_bytes, share.system_bytes)
        && own.max(all) >= SystemShare::MUCH_IO
    {
        lines.push(format!("storage: this process {}, all processes {}", megabytes(own), megabytes(all)));
    }
    if share.major_faults >= (share.polled / SECOND).max(1).saturating_mul(LEAST_FAULTS)
        || is_noticeable(share.memory_some, share)
    {
        let (read, waited) = (thousands(share.major_faults), rounded(share.memory_some));
        lines.push(format!(
            "memory: {read} pages read from storage, some task waited for memory for {waited}"
        ));
    }
    if let Some(word) = share.thermal_status() {
        lines.push(format!("thermal status: {word}"));
    }
    if share.clock_step.unsigned_abs() >= SystemShare::CLOCK_STEP {
        let way = if share.clock_step < 0 { "back" } else { "forward" };
        lines.push(format!("the wall clock was set {way} by {}", rounded(share.clock_step.unsigned_abs())));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_took_noticeable_time_has_a_line() {
        let quiet = SystemShare { polled: 5 * SECOND, cpus: Some(1), ..SystemShare::default() };
        assert_eq!(lines(&quiet), ["the app's other threads ran for 0 ms, in 5.0 s on 1 CPU"]);
        let share = SystemShare {
            frozen: 3 * SECOND,
            gcs: 2,
            gc_time: SECOND,
            heap: Some((47 << 20, 61 << 20)),
            thermal: 3,
            clock_step: -2_000_000_000,
            own_bytes: Some(2 << 20),
            system_bytes: Some(9 << 20),
            ..quiet
        };
        let expected = [
            "the app's other threads ran for 0 ms, in 5.0 s on 1 CPU",
            "the process was frozen or stopped for 3.0 s",
            "2 garbage collections took 1.0 s; Java heap: 47 MB of 61 MB in use",
            "storage: this process 2 MB, all processes 9 MB",
            "thermal status: severe",
            "the wall clock was set back by 2.0 s",
        ];
        assert_eq!(lines(&share), expected);
        let of_a_jvm = SystemShare { polled: SECOND, gcs: 1, gc_time: 20_000_000, ..SystemShare::default() };
        assert_eq!(lines(&of_a_jvm), ["1 garbage collection took 20.0 ms"]);
    }
}
