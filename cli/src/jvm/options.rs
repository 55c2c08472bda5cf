//! What `anrscope jvm` takes.

use std::ffi::OsString;
use std::path::PathBuf;

/// Run a Java program and write a trace of all its threads (Linux)
///
/// Takes what the java launcher takes. The jars and class folders of the class path are instrumented
/// into a temporary folder and the program runs on those, with its own streams, arguments, working
/// folder and exit code; nothing of ours is printed by the program's JVM. When it has ended, in order
/// or by a signal, its recording is exported, and a few lines on stderr say where the time went.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Writes anrscope-out/app.pftrace and, beside it, the recording app.anrscope.
    anrscope jvm -jar app.jar --port 8080
    anrscope open anrscope-out/app.pftrace
    anrscope report anrscope-out/app.anrscope

    # Who waits for whom, beside the methods.
    anrscope jvm --waits -- -jar app.jar

    # Every call with its exact time, and room for 4 GB of them.
    anrscope jvm --resolution exact --buffer 4G -- -jar app.jar

    # Another place for the trace, and the instrumented classes kept.
    anrscope jvm --out slow.pftrace --keep slow -- -Xmx2g -cp 'build/classes:libs/*' com.example.Main
    anrscope report slow/*.anrscope

The first word that is not an option of ours begins what java takes; -- makes that plain. A leading
word java is left out, and a path to a java launcher is the one that runs.

Which Java: such a path, else JAVA_HOME/bin/java if JAVA_HOME is set, else java on the search path;
8 or later.

What is kept: beside the trace NAME.pftrace the recording NAME.anrscope and its method map
NAME.methodMapping.txt (with NAME.methodMapping.txt.lines), which the other commands find by that name.
An earlier run's files of these names are replaced. With --keep they are in that folder instead.

What is traced: the class path, wherever it is named: -cp and its other forms, CLASSPATH,
JDK_JAVA_OPTIONS (which java reads by itself; its class path is replaced like any other), @argfiles,
wildcards, -jar and the Class-Path of manifests. What is not: the JDK's own classes, agents, modules
(-m, --module-path), source-file mode, and jars that the program opens by a class loader of its own; a
line on stderr says so, and the program runs as it would. (Such jars are noticed from Java 9 on.)
The program sees other paths than usual in java.class.path and in the code source of its classes.
Archives of loaded classes (-XX:SharedArchiveFile, -XX:AOTCache) are left out, as they fit only the
classes that they were made of.

Signals: what ends the program ends the recording, and the trace is written. Ctrl-C goes to the program;
a SIGTERM or SIGHUP for us is handed on to it.

Exit status:
    The program's own, 128 and the signal's number if a signal ended it; or, before it has started,
    1  the class path cannot be instrumented, or a file not be written
    2  the command line is wrong
"
)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
pub(crate) struct Options {
    /// The trace to write [default: anrscope-out/NAME.pftrace, by the name of the jar or main class]
    #[arg(long, short, value_name = "FILE", value_parser = crate::export::trace_path())]
    pub(super) out: Option<PathBuf>,
    /// Keep recording, method map and instrumented classes in this folder; those classes replace the ones of an earlier run
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Room for events: bytes, or a number with K, M or G. When it is full the oldest are overwritten. One half is for
    /// the main thread, the other for all others; what is kept of it is as large as what was recorded [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = buffer_size)]
    pub(super) buffer: Option<u64>,
    /// How exact times are. 100us and 1ms: of a clock that ticks so often, and a call that no tick falls into leaves nothing;
    /// exact: every call, each with a clock reading of its own [default: 1ms]
    #[arg(long, value_enum, value_name = "RESOLUTION")]
    pub(super) resolution: Option<Resolution>,
    /// Percent of the program's time that recording may cost: above it, methods that cost much and say little are switched
    /// off; 0: never [default: 3]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(super) max_overhead: Option<f64>,
    /// A file of rules that say what is traced, as for anrscope instrument
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
    /// Also record what waits: who waits for which lock or blocking call, and who holds the lock
    #[arg(long)]
    pub(super) waits: bool,
    /// A file of more calls that block, as for anrscope instrument; says --waits too
    #[arg(long, value_name = "FILE")]
    pub(super) waits_catalogue: Option<PathBuf>,
    /// Say nothing on stderr but errors
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// What the java launcher takes
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "JAVA-ARGUMENTS"
    )]
    pub(super) arguments: Vec<OsString>,
}

/// How exact the times of a recording are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
pub(super) enum Resolution {
    /// A clock that ticks every 100 µs
    #[value(name = "100us")]
    Us100,
    /// A clock that ticks every millisecond
    #[value(name = "1ms")]
    Ms1,
    /// The clock is read for each event
    Exact,
}

impl Resolution {
    /// The property's value.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Us100 => "100us",
            Self::Ms1 => "1ms",
            Self::Exact => "exact",
        }
    }
}

/// The least that rings can have.
const MIN_BUFFER: u64 = 256 << 10;
/// The most that the recorder gives to its rings.
const MAX_BUFFER: u64 = 4 << 30;

/// Bytes, or a number with a unit.
fn buffer_size(text: &str) -> Result<u64, String> {
    let shape = "a size is a number of bytes, or has a unit: 512K, 256M, 2G";
    let upper = text.to_ascii_uppercase();
    let number = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let (digits, shift) = units
        .into_iter()
        .find_map(|(unit, shift)| Some((number.strip_suffix(unit)?, shift)))
        .unwrap_or((number, 0));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(shape.to_owned());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if (MIN_BUFFER..=MAX_BUFFER).contains(&bytes) => Ok(bytes),
        _ => Err("a size from 256K to 4G is possible".to_owned()),
    }
}

/// A part of the time in percent.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a number from 0 to 100 is possible".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("262144", 262_144),
            ("256k", 262_144),
            ("64M", 64 << 20),
            ("64MB", 64 << 20),
            ("1GiB", 1 << 30),
            ("4G", 4 << 30),
        ] {
            assert_eq!(buffer_size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "M", "1.5M", "-1M", "5G", "1K", "0", "99999999999999999999", "64 M", "64T", "½M"] {
            assert!(buffer_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percents_are_numbers_up_to_100() {
        assert_eq!([percent("3"), percent("0.5%"), percent("0")], [Ok(3.0), Ok(0.5), Ok(0.0)]);
        for bad in ["", "-1", "101", "NaN", "inf", "x"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
