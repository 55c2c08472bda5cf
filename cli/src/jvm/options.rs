//! Options of `anrscope jvm`.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use jvm_agent::{JdkClasses, Settings, Waits};

use crate::requests::WatchOptions;

/// Run a Java program and write a trace of its threads (Linux)
///
/// Takes the arguments of the java launcher, and runs them with an agent that traces classes as the JVM loads them. The program has
/// its own streams, arguments, class path, working directory and exit code; anrscope adds no output to the program's JVM. When the
/// program has ended, normally or by a signal, its recording is exported, and a few lines on stderr summarise where the time went.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Writes anrscope-out/app.pftrace and the recording anrscope-out/app.anrscope.
    anrscope jvm -jar app.jar --port 8080
    anrscope open anrscope-out/app.pftrace
    anrscope report anrscope-out/app.anrscope

    # Record methods only: no waits, no tasks.
    anrscope jvm --no-waits -- -jar app.jar

    # Record every call with its exact time, with room for 4 GB of events.
    anrscope jvm --resolution exact --buffer 4G -- -jar app.jar

    # A server: which requests took two seconds or longer, and where.
    anrscope jvm --watch 'http-nio-*' --limit 2s -- -jar server.jar

    # A program in modules.
    anrscope jvm -- -p mods -m com.example/com.example.Main

    # Write the trace elsewhere and keep recording and map in a directory.
    anrscope jvm --out slow.pftrace --keep slow -- -Xmx2g -cp 'build/classes:libs/*' com.example.Main
    anrscope report slow/*.anrscope

Arguments of java begin at the first word that is not an option of anrscope jvm; use -- to make that explicit. A leading
word java is ignored; a leading path to a java launcher selects that launcher.

Which Java: such a path, else JAVA_HOME/bin/java if JAVA_HOME is set, else java on the search path;
8 or later.

Output: the trace NAME.pftrace and beside it the recording NAME.anrscope and its method map
NAME.methodMapping.txt (with NAME.methodMapping.txt.lines), where the other commands find them.
Files with these names from an earlier run are replaced. With --keep they are in that directory instead.

Traced: the classes of every class loader: class path, modules, source files, nested jars, plug-ins. Not
traced: virtual threads, the JDK's own classes unless --jdk names them, hidden classes, and classes whose loader does
not give them the recorder's class (some of OSGi); the trace has a notice for each of those. A method's short calls
are left out, as for anrscope instrument. -XX:AOTCache and the options that write class archives are not used, since
a JVM does not combine them with an agent.

Signals: if a signal ends the program, the trace is written all the same. Ctrl-C goes to the program;
SIGTERM and SIGHUP sent to anrscope are forwarded to it.

Exit status:
    The program's own, or 128 plus the signal's number if a signal ended it; or, before it has started,
    1  a file cannot be read or written
    2  the command line is wrong
"
)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
pub(crate) struct Options {
    /// The trace to write [default: anrscope-out/NAME.pftrace, named after the jar or main class]
    #[arg(long, short, value_name = "FILE", value_parser = crate::export::trace_path())]
    pub(super) out: Option<PathBuf>,
    /// Keep recording and method map in this directory; those of an earlier run are replaced
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(super) recording: Recording,
    /// Print the requests of the threads with these names at the end, in which * stands for any characters; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "A server")]
    pub(super) watch: Vec<String>,
    #[command(flatten, next_help_heading = "A server")]
    pub(super) watched: WatchOptions,
    /// Print only errors on stderr
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Arguments of the java launcher
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "JAVA-ARGUMENTS"
    )]
    pub(super) arguments: Vec<OsString>,
}

/// What is recorded, and how.
#[derive(Clone, Debug, Default, clap::Args)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
pub(super) struct Recording {
    /// Buffer size for events: bytes, or a number with K, M or G. When it is full the oldest events are overwritten. Half of it is for the
    /// main thread, half for all others; the saved recording is only as large as its events [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = buffer_size)]
    pub(super) buffer: Option<u64>,
    /// Time resolution. 100us and 1ms: a clock that ticks at this interval; a call between two ticks is not recorded. exact: every call is
    /// recorded with its own clock reading [default: 1ms]
    #[arg(long, value_enum, value_name = "RESOLUTION")]
    pub(super) resolution: Option<Resolution>,
    /// Maximum overhead of recording, in percent of the program's time: above it, expensive methods with little information are
    /// switched off; 0: no limit [default: 3]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(super) max_overhead: Option<f64>,
    /// A file of rules that choose what is traced, as for anrscope instrument
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
    /// Trace these packages or classes of the JDK too, such as java.util.concurrent,java.net; without their waits. Not those that the
    /// recorder or the JVM needs itself, such as java.lang
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[cfg_attr(target_os = "linux", arg(value_parser = jdk_name))]
    pub(super) jdk: Vec<String>,
    /// Do not record waits and tasks: which thread waits for which lock, task or blocking call, who owns the lock, who submitted
    /// the task and which thread runs it
    #[arg(long, conflicts_with = "waits_catalogue")]
    pub(super) no_waits: bool,
    /// A file of additional blocking calls, as for anrscope instrument
    #[arg(long, value_name = "FILE")]
    pub(super) waits_catalogue: Option<PathBuf>,
}

#[cfg(target_os = "linux")]
impl Recording {
    /// The agent's settings for a method map at this path. `placed` says where the agent finds a file that was given;
    /// the second argument is a name for a copy.
    ///
    /// # Errors
    /// If `placed` fails, or `--jdk` names what is not traced.
    pub(super) fn settings(
        &self,
        map: PathBuf,
        properties: Vec<(String, String)>,
        placed: impl Fn(&Path, &str) -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Settings> {
        let mut jdk = JdkClasses::default();
        self.jdk.iter().try_for_each(|name| jdk.add(name))?;
        let rules = self.rules.as_ref().map(|file| placed(file, "rules")).transpose()?;
        let waits = match (&self.waits_catalogue, self.no_waits) {
            (Some(file), _) => Waits::File(placed(file, "waits")?),
            (None, true) => Waits::Off,
            (None, false) => Waits::On,
        };
        Ok(Settings { map, rules, waits, jdk, properties, ..Settings::default() })
    }

    /// How classes are instrumented.
    ///
    /// # Errors
    /// If the list of waits cannot be read.
    pub(super) fn instrumenter(&self) -> anyhow::Result<instrumenter::Options> {
        Ok(instrumenter::Options {
            rules: self.rules.clone(),
            waits: crate::instrument::waits(!self.no_waits, self.waits_catalogue.as_deref())?,
            ..instrumenter::Options::default()
        })
    }
}

/// The time resolution of a recording.
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
    /// The system property's value, which is also the option's.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
    pub(super) fn name(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.expect("each is a value of the option").get_name().to_owned()
    }
}

/// Checks a name of packages or classes of the JDK.
#[cfg(target_os = "linux")]
fn jdk_name(text: &str) -> Result<String, jvm_agent::JdkError> {
    JdkClasses::default().add(text).map(|()| text.to_owned())
}

/// Minimum size of the rings.
const MIN_BUFFER: u64 = 256 << 10;
/// Maximum size of the recorder's rings.
const MAX_BUFFER: u64 = 4 << 30;

/// Parses bytes, or a number with a unit.
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
        _ => Err("the size must be from 256K to 4G".to_owned()),
    }
}

/// Parses a percentage.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("the value must be a number from 0 to 100".to_owned()),
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
