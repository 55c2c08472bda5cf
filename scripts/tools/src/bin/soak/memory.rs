//! Whether the app's process grows, and what of it is the JVM's own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

/// By how much the median of the private memory may grow from the second third of the time to the last, MB: the JVM goes on
/// compiling all along.
const GROWTH_MB: f64 = 16.0;

/// The JVM counts what it allocates, and answers a question about it on a socket: without the second, `jcmd` would send it a
/// SIGQUIT.
pub(crate) const JVM: [&str; 2] = ["-XX:NativeMemoryTracking=summary", "-XX:+StartAttachListener"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// MB that are the process's alone.
    private: f64,
    descriptors: f64,
    threads: f64,
    ours: f64,
}

pub(crate) fn sample(pid: u32) -> Option<Sample> {
    let base = PathBuf::from(format!("/proc/{pid}"));
    let status = std::fs::read_to_string(base.join("status")).ok()?;
    let number = |key: &str| -> Option<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let names = std::fs::read_dir(base.join("task")).ok()?.flatten();
    let ours = names.filter(|task| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("anrscope"))
    });
    Some(Sample {
        private: number("RssAnon:")? / 1024.0,
        descriptors: std::fs::read_dir(base.join("fd")).ok()?.count() as f64,
        threads: number("Threads:")?,
        ours: ours.count() as f64,
    })
}

fn median(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The medians of the second and of the last third.
fn thirds(samples: &[Sample], of: fn(&Sample) -> f64) -> (f64, f64) {
    let third = samples.len() / 3;
    (median(&samples[third..2 * third], of), median(&samples[2 * third..], of))
}

pub(crate) fn in_words(samples: &[Sample]) -> String {
    let both = |name: &str, of: fn(&Sample) -> f64| {
        let (early, late) = thirds(samples, of);
        format!("{name} {early:.0} to {late:.0}")
    };
    let (early, late) = thirds(samples, |s| s.private);
    let most = samples.iter().map(|s| s.private).fold(0.0, f64::max);
    format!(
        "private memory {early:.1} to {late:.1} MB, {most:.1} at most, {}, {}, {}",
        both("descriptors", |s| s.descriptors),
        both("threads", |s| s.threads),
        both("ours", |s| s.ours)
    )
}

/// Fails if something grew.
pub(crate) fn flat(samples: &[Sample]) {
    assert!(samples.len() >= 6, "too short: {} samples", samples.len());
    let figures = in_words(samples);
    let grew = |of: fn(&Sample) -> f64| {
        let (early, late) = thirds(samples, of);
        late - early
    };
    assert!(grew(|s| s.private) <= GROWTH_MB, "{figures}");
    assert!(grew(|s| s.descriptors).abs() <= 2.0, "{figures}");
    // Those of the load come and go.
    assert!(grew(|s| s.threads).abs() <= 10.0, "{figures}");
    assert!(grew(|s| s.ours) <= 0.0, "{figures}");
}

/// MB that the JVM has committed, by what for (`jcmd PID VM.native_memory`).
pub(crate) struct JvmMemory(BTreeMap<String, f64>);

impl JvmMemory {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let mut command = Command::new("jcmd");
        command.arg(pid.to_string()).args(["VM.native_memory", "summary", "scale=KB"]);
        let text = String::from_utf8(command.output().ok()?.stdout).ok()?;
        // -                      Code (reserved=247747KB, committed=12345KB)
        let parts = text.lines().filter_map(|line| {
            let (name, numbers) = line.strip_prefix('-')?.split_once('(')?;
            let (committed, _) = numbers.split_once("committed=")?.1.split_once("KB")?;
            Some((name.trim().to_owned(), committed.parse::<f64>().ok()? / 1024.0))
        });
        let parts: BTreeMap<_, _> = parts.collect();
        (!parts.is_empty()).then_some(Self(parts))
    }

    /// What was added since `early`.
    pub(crate) fn since(&self, early: &Self) -> Self {
        let grown = |(name, late): (&String, &f64)| {
            (name.clone(), late - early.0.get(name).copied().unwrap_or_default())
        };
        Self(self.0.iter().map(grown).collect())
    }
}

impl fmt::Display for JvmMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the JVM's own part of it in the last two thirds {:+.1} MB", self.0.values().sum::<f64>())?;
        let mut parts: Vec<_> = self.0.iter().filter(|(_, grown)| grown.abs() >= 0.1).collect();
        parts.sort_by(|a, b| b.1.total_cmp(a.1));
        let parts: Vec<_> = parts.iter().map(|(name, grown)| format!("{name} {grown:+.1}")).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}
