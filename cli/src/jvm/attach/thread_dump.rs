//! A thread dump at the end of an attachment. Calls that began before it are not in the recording, so that of a program which hangs already
//! is empty; the dump has the answer.

use std::path::{Path, PathBuf};

use exporter::answer::Answer;
use exporter::dump::Dump;
use jvm_agent::client::Target;

use crate::jvm::notices::answered;
use crate::output;

/// What all threads did.
#[derive(Debug)]
pub(super) struct ThreadDump {
    text: Vec<u8>,
    dump: Dump,
}

impl ThreadDump {
    /// Asks the JVM for it.
    ///
    /// # Errors
    /// If it does not answer, or with something else.
    pub(super) fn take(target: &Target) -> anyhow::Result<Self> {
        let text = target.thread_dump()?;
        let dump = Dump::read(Path::new("the thread dump"), text.as_slice())?;
        Ok(Self { text, dump })
    }

    /// What hangs: each deadlock, or if nothing was recorded what main waits for. Empty if neither is the case.
    pub(super) fn lines(&self, is_empty: bool) -> Vec<String> {
        let deadlocks = self.dump.deadlock_lines();
        if !deadlocks.is_empty() {
            let title = "the program hangs, as a thread dump at the end shows:".to_owned();
            return std::iter::once(title).chain(deadlocks.iter().map(|line| format!("  {line}"))).collect();
        }
        if !is_empty {
            return Vec::new();
        }
        let title =
            "no call began while it was recorded; main, as a thread dump at the end shows it:".to_owned();
        answered(title, &Answer::from(&self.dump))
    }

    /// Saves it beside the trace, and returns where.
    pub(super) fn save(&self, trace: &Path) -> anyhow::Result<PathBuf> {
        let file = trace.with_extension("threads.txt");
        output::write(&file, &self.text)?;
        Ok(file)
    }
}
