//! The dumps of all threads where an attachment begins and where it ends. Calls that began before it are not in the recording;
//! the dumps show them, and so the answer for a program that hangs already.

use std::path::{Path, PathBuf};
use std::time::Duration;

use exporter::answer::{Answer, Stands};
use exporter::dump::Dump;
use jvm_agent::client::Target;
use trace_format::verdict::Confidence;

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
}

/// The dumps before the first class was changed and after the recording, which took `between`. A changed class has no lines for
/// the calls that run, so that the first one has the answer.
#[derive(Debug)]
pub(super) struct ThreadDumps {
    pub(super) before: ThreadDump,
    /// Unless the program had ended.
    pub(super) after: Option<ThreadDump>,
    pub(super) between: Duration,
}

impl ThreadDumps {
    /// Lines about each deadlock, or else about the thread that came no further. `recorded` says if a thread recorded anything:
    /// one that computes and records nothing may be in one call. Else about the thread that most likely hung, without confidence.
    /// Empty if nothing was owed to any thread.
    pub(super) fn lines(&self, is_empty: bool, recorded: impl Fn(&str) -> bool) -> Vec<String> {
        let dump = &self.before.dump;
        let mut answer = Answer::from(dump);
        let name = &answer.thread.name;
        let deadlocks = dump.deadlock_lines();
        let indented = deadlocks.iter().map(|line| format!("  {line}"));
        let title = if !deadlocks.is_empty() {
            "the program hangs, as a thread dump before the recording shows:".to_owned()
        } else if !dump.may_hang() {
            if !is_empty {
                return Vec::new();
            }
            return vec![
                "no call began while it was recorded, and no thread hangs, by a thread dump".to_owned(),
            ];
        } else if dump.is_held_up() && self.stands(|| recorded(name)) {
            let time = exporter::profile::time(u64::try_from(self.between.as_nanos()).unwrap_or(u64::MAX));
            format!("{name} did not come on in {time}, by thread dumps before and after:")
        } else if is_empty {
            format!("no call began while it was recorded; {name}, by a thread dump:")
        } else if !dump.is_held_up() {
            return Vec::new();
        } else {
            let title = format!(
                "{name} when the recording began, by a thread dump: it came on meanwhile, or calls others:"
            );
            answer.cause.confidence = Confidence::Low;
            title
        };
        answered(title, &answer).into_iter().chain(indented).collect()
    }

    /// True if the thread of the first dump is where it was.
    fn stands(&self, recorded: impl Fn() -> bool) -> bool {
        match self.after.as_ref().and_then(|after| after.dump.stands_since(&self.before.dump)) {
            Some(Stands::Waiting) => true,
            Some(Stands::Computing) => !recorded(),
            None => false,
        }
    }

    /// Saves the first one beside the trace, and returns where.
    pub(super) fn save(&self, trace: &Path) -> anyhow::Result<PathBuf> {
        let file = trace.with_extension("threads.txt");
        output::write(&file, &self.before.text)?;
        Ok(file)
    }
}
