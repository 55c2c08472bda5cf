//! ActivityManager's log of an ANR, also found in dropbox and bug reports:
//!
//! ```text
//! ANR in com.example (com.example/.Main)
//! PID: 12345
//! Reason: Input dispatching timed out (...)
//! Parent: com.example/.Main
//! ErrorId: 0a1b...
//! Frozen: false
//! Load: 1.2 / 3.4 / 5.6
//! ----- Output from /proc/pressure/memory -----
//! some avg10=0.10 avg60=0.05 avg300=0.01 total=51
//! full avg10=0.00 avg60=0.00 avg300=0.00 total=20
//! ----- End output from /proc/pressure/memory -----
//! CPU usage from 0ms to 5987ms later (2026-01-01 10:00:00.000 to 2026-01-01 10:00:05.987):
//!   81% 1234/system_server: 50% user + 31% kernel / faults: 2045 minor 12 major
//! 32% TOTAL: 19% user + 10% kernel + 0.9% iowait
//! ```
//! AOSP `ProcessErrorStateRecord.appNotResponding` (Android 11 and later; `ActivityManagerService`, then `AppErrors` before)
//! and `ProcessCpuTracker.printCurrentState`; `time=` after the first line up to Android 4, no pressure before Android 11.

use serde::{Serialize, Serializer};

use super::facts::{self, Fact};
use super::limits::{self, cut};
use super::pressure::Pressure;
use super::subject::Subject;

/// Maximum length of a text in the report, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// One ANR as reported by the system.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct AnrReport {
    /// The process that did not respond.
    pub process: String,
    /// The component, if the report names one.
    pub component: Option<String>,
    /// Its process id.
    pub pid: Option<u32>,
    /// Why the system reported it.
    #[serde(serialize_with = "serialize_text")]
    pub reason: Option<Subject>,
    /// The component that the process belongs to in the system's records.
    pub parent: Option<String>,
    /// The report's id in dropbox.
    pub error_id: Option<String>,
    /// Whether the process was frozen.
    pub frozen: Option<bool>,
    /// The system load of the last 1, 5 and 15 minutes, as written.
    pub load: Option<String>,
    /// Pressure on memory, CPU and I/O.
    #[serde(serialize_with = "facts::serialize")]
    pub pressure: Vec<Fact>,
    /// CPU usage of processes, per interval.
    pub cpu: Vec<CpuUsage>,
    /// Its first line in the text, from 1.
    pub line: u32,
}

/// Serializes the text of a reason.
fn serialize_text<S: Serializer>(reason: &Option<Subject>, serializer: S) -> Result<S::Ok, S::Error> {
    reason.as_ref().map(|reason| &reason.text).serialize(serializer)
}

/// The CPU usage in an interval.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CpuUsage {
    /// The interval as written: `from 0ms to 5987ms later (...)`.
    pub interval: String,
    /// Processes and, indented in the text, threads; highest usage first.
    pub rows: Vec<CpuRow>,
    /// The total, as written after `TOTAL: `.
    pub total: Option<String>,
}

/// The CPU usage of one process or thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CpuRow {
    /// Percent of one CPU.
    pub percent: f64,
    /// Its id.
    pub id: u32,
    /// The process or thread name.
    pub name: String,
    /// The breakdown: `50% user + 31% kernel`.
    pub parts: String,
}

/// Parses reports line by line.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnrReports {
    pub(crate) reports: Vec<AnrReport>,
    open: bool,
    pressure: Pressure,
}

impl AnrReports {
    /// Takes a line; returns whether it belongs to a report.
    pub(crate) fn take(&mut self, text: &str, line: u32) -> bool {
        if let Some(report) = first_line(text, line) {
            self.open = self.reports.len() < limits::REMARKS;
            if self.open {
                self.reports.push(report);
            }
            return true;
        }
        let Some(report) = self.reports.last_mut().filter(|_| self.open) else { return false };
        self.pressure.take(text, &mut report.pressure) || take(report, text)
    }

    /// Ends the report: a dump follows.
    pub(crate) fn end(&mut self) {
        self.open = false;
    }
}

fn first_line(text: &str, line: u32) -> Option<AnrReport> {
    let rest = text.strip_prefix("ANR in ")?;
    let (process, rest) = rest.split_once([' ', ',']).unwrap_or((rest, ""));
    // WindowManager also logs `ANR in Window{...}`, on one line.
    if process.is_empty() || process.contains(['{', '=']) {
        return None;
    }
    let component = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    Some(AnrReport {
        process: cut(process, MAX_TEXT).to_owned(),
        component: component.map(|(component, _)| cut(component, MAX_TEXT).to_owned()),
        line,
        ..AnrReport::default()
    })
}

fn take(report: &mut AnrReport, text: &str) -> bool {
    fn first<T>(place: &mut Option<T>, value: impl FnOnce() -> T) -> bool {
        place.get_or_insert_with(value);
        true
    }
    let owned = |text: &str| cut(text.trim(), MAX_TEXT).to_owned();
    if let Some(interval) = text.strip_prefix("CPU usage from ") {
        if report.cpu.len() < limits::REMARKS {
            let interval = format!("from {}", cut(interval.trim_end_matches(':'), MAX_TEXT));
            report.cpu.push(CpuUsage { interval, ..CpuUsage::default() });
        }
        return true;
    }
    if let Some(cpu) = report.cpu.last_mut().filter(|_| text.contains("% ")) {
        return cpu_line(cpu, text);
    }
    let Some((key, value)) = text.split_once(": ") else { return false };
    match key {
        "PID" => match value.trim().parse() {
            Ok(pid) => first(&mut report.pid, || pid),
            Err(_) => false,
        },
        "Reason" => first(&mut report.reason, || Subject::parse(cut(value, MAX_TEXT))),
        "Parent" => first(&mut report.parent, || owned(value)),
        "ErrorId" => first(&mut report.error_id, || owned(value)),
        "Frozen" => first(&mut report.frozen, || value.trim() == "true"),
        "Load" => first(&mut report.load, || owned(value)),
        _ => false,
    }
}

/// Parses `81% 1234/system_server: 50% user + 31% kernel`; `+` marks a new process and `-` one that has ended.
fn cpu_line(cpu: &mut CpuUsage, text: &str) -> bool {
    let Some((percent, rest)) = text.trim_start_matches(['+', '-', ' ']).split_once("% ") else {
        return false;
    };
    let Ok(percent) = percent.parse::<f64>() else { return false };
    if !percent.is_finite() {
        return false;
    }
    if let Some(total) = rest.strip_prefix("TOTAL: ") {
        cpu.total.get_or_insert_with(|| format!("{percent}%: {}", cut(total, MAX_TEXT)));
        return true;
    }
    let Some((id, rest)) = rest.split_once('/') else { return false };
    let (Ok(id), Some((name, parts))) = (id.parse(), rest.rsplit_once(": ")) else { return false };
    // Process names may contain colons, and `faults` is followed by one.
    let (name, parts) = match name.strip_suffix(" / faults").and_then(|before| before.rsplit_once(": ")) {
        Some((name, parts)) => (name, parts),
        None => (name, parts),
    };
    if cpu.rows.len() < limits::REMARKS {
        cpu.rows.push(CpuRow {
            percent,
            id,
            name: cut(name, MAX_TEXT).to_owned(),
            parts: cut(parts, MAX_TEXT).to_owned(),
        });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::facts;

    #[test]
    fn a_report_is_read_by_line_with_other_lines_between() {
        let text = "ANR in com.acme:sync (com.acme/.Main)\nPID: 77\nReason: Input dispatching timed out (x). Waited 5001ms\n\
            Parent: com.acme/.Main\nsome other line: of the log\nFrozen: false\nLoad: 1.2 / 3.4 / 5.6\n\
            ----- Output from /proc/pressure/memory -----\nsome avg10=1.50 avg60=0.05 avg300=0.01 total=51\n\
            full avg10=16.62 avg60=0.00 avg300=0.00 total=20\n----- End output from /proc/pressure/memory -----\n\
            CPU usage from 0ms to 5987ms later (a to b) with 99% awake:\n\
            81% 1234/system_server: 50% user + 31% kernel / faults: 2045 minor 12 major\n\
            +0.5% 77/com.acme:sync: 0.5% user + 0% kernel\n32% TOTAL: 19% user + 10% kernel\n";
        let mut reports = AnrReports::default();
        for (number, line) in text.lines().enumerate() {
            assert_eq!(reports.take(line, number as u32), !line.starts_with("some other"), "{line}");
        }
        let report = &reports.reports[0];
        assert_eq!(
            (report.process.as_str(), report.component.as_deref()),
            ("com.acme:sync", Some("com.acme/.Main"))
        );
        assert_eq!(
            (report.pid, report.frozen, report.load.as_deref()),
            (Some(77), Some(false), Some("1.2 / 3.4 / 5.6"))
        );
        assert_eq!(report.reason.as_ref().unwrap().waited_ms, Some(5001));
        assert_eq!(facts::text(&report.pressure, "pressure_memory_full_avg10_percent"), Some("16.62"));
        let cpu = &report.cpu[0];
        assert_eq!(cpu.interval, "from 0ms to 5987ms later (a to b) with 99% awake");
        let rows: Vec<_> =
            cpu.rows.iter().map(|r| (r.percent, r.id, r.name.as_str(), r.parts.as_str())).collect();
        assert_eq!(
            rows,
            [
                (81.0, 1234, "system_server", "50% user + 31% kernel"),
                (0.5, 77, "com.acme:sync", "0.5% user + 0% kernel")
            ]
        );
        assert_eq!(cpu.total.as_deref(), Some("32%: 19% user + 10% kernel"));
        for line in ["ANR in Window{3b0709 u0 a.b}. Reason:x", "ANR in ", "NaN% 1/a: x", "inf% TOTAL: x"] {
            assert!(!AnrReports::default().take(line, 1) && !reports.take(line, 1), "{line}");
        }
    }
}
