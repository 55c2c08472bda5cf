//! The part of a report about the device and the process.

use super::json::JsonObject;

/// How capable the device is, by Matrix's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// 8 GiB and more.
    Best,
    /// 6 GiB and more.
    High,
    /// 4 GiB and more, or 2 with four CPUs.
    Middle,
    /// 2 GiB and more.
    Low,
    /// Less.
    Bad,
    /// The memory is not known.
    Unknown,
}

impl Machine {
    /// The class of a device with this memory in bytes, negative if it is not known, and this number of CPUs.
    #[must_use]
    pub fn new(memory: i64, cpu_count: u32) -> Self {
        const GIB: i64 = 1 << 30;
        match memory {
            n if n >= 8 * GIB => Machine::Best,
            n if n >= 6 * GIB => Machine::High,
            n if n >= 4 * GIB => Machine::Middle,
            n if n >= 2 * GIB && cpu_count >= 4 => Machine::Middle,
            n if n >= 2 * GIB => Machine::Low,
            0.. => Machine::Bad,
            _ => Machine::Unknown,
        }
    }

    /// Its name in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Machine::Best => "BEST",
            Machine::High => "HIGH",
            Machine::Middle => "MIDDLE",
            Machine::Low => "LOW",
            Machine::Bad => "BAD",
            Machine::Unknown => "UN_KNOW",
        }
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
            .text("machine", Machine::new(self.memory, self.cpu_count).name())
            .fraction("cpu_app", self.cpu_app(), 6)
            .int("mem", self.memory)
            .int("mem_free", self.free_kib);
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
        object.text("tag", tag).text("process", self.process).int("time", self.time_ms);
    }
}
