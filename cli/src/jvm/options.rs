//! What `anrscope jvm` takes.

use std::ffi::OsString;
use std::path::PathBuf;

/// Run a Java program and write a trace of all its threads (Linux)
///
/// Takes what the java launcher takes. The jars and class folders of the class path are instrumented
/// into a temporary folder and the program runs on those, with its own streams, arguments, working
/// folder and exit code; nothing of ours is printed by the program's JVM. When it has ended, in order
/// or by a signal, its recording is exported.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Writes anrscope-out/app.pftrace; open it in https://ui.perfetto.dev.
    anrscope jvm -- -jar app.jar --port 8080

    # Who waits for whom, beside the methods.
    anrscope jvm --waits -- -jar app.jar

    # Another place for the trace, and the recording kept for later.
    anrscope jvm --out slow.pftrace --keep slow -- -Xmx2g -cp 'build/classes:libs/*' com.example.Main
    anrscope report slow/*.anrscope

Which Java: JAVA_HOME/bin/java if JAVA_HOME is set, else java on the search path; 8 or later.

What is traced: the class path, wherever it is named: -cp and its other forms, CLASSPATH,
JDK_JAVA_OPTIONS (which java reads by itself; its class path is replaced like any other), @argfiles,
wildcards, -jar and the Class-Path of manifests. What is not: the JDK's own classes, agents, modules
(-m, --module-path) and source-file mode; a line on stderr says so, and the program runs as it would.
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
    /// Keep recording, method map and instrumented classes in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
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
    #[arg(last = true, required = true, value_name = "JAVA-ARGUMENTS")]
    pub(super) arguments: Vec<OsString>,
}
