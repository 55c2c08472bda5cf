//! `anrscope requests`: the requests of a server's threads, and where the slow ones spent their time.

use std::path::PathBuf;

use exporter::requests::{Requests, Watch};

use crate::export::duration;
use crate::output;
use crate::recordings::{MethodMaps, Recordings, newest_of};

/// Print the requests of a server's threads, and where the slow ones spent their time
///
/// Threads of a pool have no messages. Here a request is a thread's outermost recorded call, or the call of the method that --unit
/// names. Prints how many there were, how long they took, and the path on which each slow one spent its time.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Requests of Tomcat's threads that took two seconds or longer.
    anrscope requests server.anrscope --threads 'http-nio-*'

    # Requests are calls of one method; those from 300 ms on are slow.
    anrscope requests server.anrscope --threads 'worker-*' --unit Router.handle --limit 300ms

    # JSON for a script.
    anrscope requests server.anrscope --threads '*' --json

Exit status:
    0  done, whether a request was slow or not
    1  a recording or map cannot be read
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// A recording (*.anrscope), or a directory: the newest one in it
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Names of threads, in which * stands for any characters; may be repeated
    #[arg(long, value_name = "NAME", required = true)]
    threads: Vec<String>,
    #[command(flatten)]
    watch: WatchOptions,
    /// The method map of the build, or a directory of maps [default: methodMapping.txt beside the recording]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print as JSON; times are in ns
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let (file, _) = newest_of(&options.recording)?;
    let mut maps = MethodMaps::new(options.method_map.as_deref(), None)?;
    let opened = Recordings::open(std::slice::from_ref(&file), &mut maps)?;
    let watch = options.watch.on(&options.threads);
    let input = opened.inputs()[0];
    let requests = Requests::find(input.recording, input.map, &watch)?;
    output::page(options.out.as_deref(), options.json, |out| {
        if options.json {
            let mut document = requests.to_json();
            document["schema"] = "1.0".into();
            document["file"] = file.display().to_string().into();
            return Ok(writeln!(out, "{document:#}")?);
        }
        Ok(requests.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?)
    })
}

/// Which threads have requests, and which requests are slow.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WatchOptions {
    /// The call of this method is a request: Class.method, with or without the package [default: each thread's
    /// outermost call]
    #[arg(long, value_name = "METHOD")]
    unit: Option<String>,
    /// A request that takes at least this long is slow: 2s, 300ms
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s")]
    limit: u64,
}

impl WatchOptions {
    /// What to look for on threads with these names.
    pub(crate) fn on(&self, threads: &[String]) -> Watch {
        Watch { threads: threads.to_vec(), method: self.unit.clone(), limit: self.limit }
    }
}
