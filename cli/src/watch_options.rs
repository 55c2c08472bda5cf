//! The options that say what a request is, for `anrscope requests` and `anrscope jvm`.

use exporter::requests::Watch;

use crate::export::duration;

/// Which threads have requests, and which requests are slow.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WatchOptions {
    /// The call of this method is a request: Class.method, with or without the package [default: each thread's outermost call]
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
