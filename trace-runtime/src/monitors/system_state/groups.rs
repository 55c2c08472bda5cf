//! The process's control groups: which CPUs it may use, and for how long it was throttled.

use trace_format::sections::system_state::{Quantity, SystemState};

use crate::kernel_files::{self, keyed};

/// Where the groups' files are, found again at the first poll of a stall: a process changes its group.
#[derive(Debug, Default)]
pub(super) struct Groups {
    cpuset: Option<String>,
    /// `cpu.stat` of the group, if it can be read.
    cpu_stat: Option<String>,
}

impl Groups {
    pub(super) fn read(&mut self, state: &mut SystemState, find: bool) {
        let mut buffer = [0; 4096];
        if find || self.cpuset.is_none() {
            self.find(&mut buffer);
        }
        state.cpuset.clone_from(&self.cpuset);
        let text = self.cpu_stat.as_ref().and_then(|path| kernel_files::read(path, &mut buffer));
        let text = text.and_then(|text| std::str::from_utf8(text).ok());
        state.set(Quantity::Throttled, text.and_then(throttled));
    }

    fn find(&mut self, buffer: &mut [u8; 4096]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        self.cpuset = kernel_files::read("/proc/self/cpuset", buffer).map(text);
        let groups = kernel_files::read("/proc/self/cgroup", buffer).map(text).unwrap_or_default();
        let candidates = stat_files(&groups);
        self.cpu_stat = candidates.into_iter().find(|path| kernel_files::read(path, buffer).is_some());
    }
}

/// Where `cpu.stat` may be, by the lines `id:controllers:path` of /proc/self/cgroup (man 7 cgroups). Android mounts version 1 of
/// the CPU controller at /dev/cpuctl (system/core/libprocessgroup/profiles/cgroups.json).
fn stat_files(groups: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_end_matches('/');
        if controllers.is_empty() {
            found.push(["/sys/fs/cgroup", path, "/cpu.stat"].concat());
            found.push(["/sys/fs/cgroup/unified", path, "/cpu.stat"].concat());
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            for mounted in ["/dev/cpuctl", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
                found.push([mounted, path, "/cpu.stat"].concat());
            }
        }
    }
    // Version 1 first: a hybrid system has both, and its version 2 has no limit.
    found.sort_by_key(|path| path.starts_with("/sys/fs/cgroup/unified"));
    found
}

/// Version 2 has µs, version 1 ns (Documentation/scheduler/sched-bwc.rst).
fn throttled(stat: &str) -> Option<u64> {
    let micros = keyed(stat, "throttled_usec").map(|micros| micros.saturating_mul(1000));
    micros.or_else(|| keyed(stat, "throttled_time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_read() {
        assert_eq!(throttled("usage_usec 5\nnr_throttled 2\nthrottled_usec 7\n"), Some(7000));
        assert_eq!(throttled("nr_periods 9\nnr_throttled 2\nthrottled_time 7\n"), Some(7));
        assert_eq!(throttled("usage_usec 5\n"), None);
        assert_eq!(
            stat_files("0::/a/b"),
            ["/sys/fs/cgroup/a/b/cpu.stat", "/sys/fs/cgroup/unified/a/b/cpu.stat"]
        );
        let first = stat_files("4:cpu,cpuacct:/top-app\n0::/\n2:cpuset:/x\n");
        assert_eq!(first[0], "/dev/cpuctl/top-app/cpu.stat");
        assert_eq!(first.len(), 5);
    }
}
