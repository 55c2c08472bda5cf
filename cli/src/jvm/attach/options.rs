//! Options of `anrscope attach`.

use std::path::PathBuf;

use crate::jvm::options::Recording;

/// Record a Java program that runs already, and write a trace of it (Linux)
///
/// Loads an agent into the JVM, which traces the loaded classes and those that come. After the given time, or with Ctrl-C, the original
/// classes are restored, and the trace is written; the program goes on. The next attachment to the same process continues its
/// recording.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Records until Ctrl-C, and writes anrscope-out/4711.pftrace and the recording anrscope-out/4711.anrscope.
    anrscope attach 4711

    # Records ten seconds.
    anrscope attach 4711 --for 10s -o slow.pftrace

Which process: one of the same user, by the pid of java itself. No JDK is needed. Refused are processes that are no
HotSpot JVM, and those started with -XX:+DisableAttachMechanism. A process in a container or a chroot has its files
there. If its users are mapped to others, run anrscope in the container. Java 21 and later print a warning about the
agent on the program's stderr, unless it was started with -XX:+EnableDynamicAgentLoading.

Recorded: calls that begin while the program is recorded. A method that runs already, such as main, is not in the
trace itself, but what it calls in other classes is: a class is left as it is while a thread is in it, since its
stack traces would have no lines. The first attachment chooses classes of the JDK, resolution, overhead and buffer for
this process. The agent stays in the process after the end, and its directory
/tmp/anrscope-UID/PID-START until a later attachment finds the process gone.

A program that hangs already begins no call. At the end the JVM is asked for a thread dump: if that shows a deadlock, or
if no call was recorded, its answer is printed, and it is saved beside the trace.

If anrscope attach is killed, the agent restores the classes. A second Ctrl-C ends it at once.

Exit status:
    0  the trace was written
    1  the process cannot be recorded, or a file cannot be written
    2  the command line is wrong
"
)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "elsewhere it only says so"))]
pub(crate) struct Options {
    /// The process, by its pid
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) pid: u32,
    /// How long to record: seconds, or with a unit (10s, 500ms) [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = crate::export::duration)]
    pub(super) time: Option<u64>,
    /// The trace to write [default: anrscope-out/PID.pftrace]
    #[arg(long, short, value_name = "FILE", value_parser = crate::export::trace_path())]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) recording: Recording,
    /// Print only errors on stderr
    #[arg(long, short)]
    pub(super) quiet: bool,
}
