//! The part of a report about the device and the process.

use super::json::JsonObject;

/// Returns how capable a device is, by Matrix's table of its memory in bytes, negative if that is not known, and its number
/// of CPUs.
fn machine(memory: i64, cpu_count: u32) -> &'static str {
    const GIB: i64 = 1 << 30;
    match memory {
        n if n >= 8 * GIB => "BEST",
        n if n >= 6 * GIB => "HIGH",
        n if n >= 4 * GIB => "MIDDLE",
        n if n >= 2 * GIB && cpu_count >= 4 => "MIDDLE",
        n if n >= 2 * GIB => "LOW",
        0.. => "BAD",
        _ => "UN_KNOW",
    }
}

/// CPU time in clock ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuTicks {
    /// The process's: fields 14 and 15 of `/proc/self/stat`.
    pub app: u64,
    /// The device's: columns 2 to 8 of `/proc/stat`, which apps cannot read from API 26 on.
    pub all: u64,
}

/// The device, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// Memory in bytes, negative if not known.
    pub memory: i64,
    /// Free memory in KiB, negative if not known.
    pub free_kib: i64,
    /// The number of CPUs.
    pub cpu_count: u32,
    /// The CPU time of process and device, if it is readable.
    pub cpu: Option<CpuTicks>,
}

impl Device {
    /// An unknown device.
    pub const UNKNOWN: Device = Device { memory: -1, free_kib: -1, cpu_count: 0, cpu: None };

    /// `cpu_app` in millionths of a percent: 0 if it is not readable.
    fn cpu_app(&self) -> i64 {
        let Some(CpuTicks { app, all }) = self.cpu else { return 0 };
        let millionths = app.saturating_mul(100_000_000).checked_div(all).unwrap_or(0);
        i64::try_from(millionths).unwrap_or(i64::MAX)
    }

    pub(super) fn put(&self, object: &mut JsonObject) {
        object
            .text("machine", machine(self.memory, self.cpu_count))
            .fraction("cpu_app", self.cpu_app(), 6)
            .plain("mem", self.memory)
            .plain("mem_free", self.free_kib);
    }
}

/// The envelope of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope<'a> {
    /// The process's name.
    pub process: &'a str,
    /// The time of the report, ms since 1970.
    pub time_ms: i64,
    /// The device.
    pub device: Device,
}

impl Envelope<'_> {
    pub(super) fn put(&self, object: &mut JsonObject, tag: &str) {
        object.text("tag", tag).text("process", self.process).plain("time", self.time_ms);
    }
}
