//! The dumps of all threads where an attachment begins and where it ends. Calls that began before it are not in the recording;
//! the dumps show them, and so the answer for a program that hangs already.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use answers::answer::Answer;
use answers::dump::Dump;
use anyhow::Context;
use exporter::Report;
use exporter::profile::time;
use jvm_agent::client::Target;
use jvm_agent::connections;
use trace_format::section::{self, SectionKind};
use trace_format::sections::timed;
use trace_format::verdict::Confidence;
use trace_runtime::boottime;

use crate::jvm::notices::answered;
use crate::output;

/// What all threads did.
#[derive(Debug)]
pub(super) struct ThreadDump {
    /// The time at which it was asked for, BOOTTIME ns.
    at: u64,
    text: Vec<u8>,
    dump: Dump,
}

impl ThreadDump {
    /// Asks the JVM for it, and the kernel where the program's connections end.
    ///
    /// # Errors
    /// If it does not answer, or with something else.
    pub(super) fn take(target: &Target) -> anyhow::Result<Self> {
        let at = boottime();
        let mut text = target.thread_dump()?;
        if connections::end_in(&PathBuf::from(format!("/proc/{}", target.pid()))) {
            say_connections_end_here(&mut text);
        }
        let dump = Dump::read(Path::new("the thread dump"), text.as_slice())?;
        Ok(Self { at, text, dump })
    }
}

/// Adds the line about the process's connections below the title of a dump, where the agent has it in its own.
fn say_connections_end_here(dump: &mut Vec<u8>) {
    const END: &[u8] = b":\n";
    if let Some(title) = dump.windows(END.len()).position(|end| end == END) {
        let below = title + END.len();
        dump.splice(below..below, connections::LINE.bytes());
    }
}

/// The dumps before the first class was changed and after the recording. A call that has begun just before its class was changed
/// has no lines, so that the first one has the answer.
#[derive(Debug)]
pub(super) struct ThreadDumps {
    pub(super) before: ThreadDump,
    /// Unless the program had ended.
    pub(super) after: Option<ThreadDump>,
}

impl ThreadDumps {
    /// Lines about the hang that the recording shows, with these dumps in it. Without one, about the thread of the first dump
    /// that may have hung, or waits for what may be owed to it. `none` says that the recording has no call, if so.
    pub(super) fn lines(&self, report: &Report, hang: Option<&Answer>, none: Option<&str>) -> Vec<String> {
        let dump = &self.before.dump;
        let deadlocks = dump.deadlock_lines();
        let indented = deadlocks.iter().map(|line| format!("  {line}"));
        let (title, answer) = match (hang, &report.at_start, none) {
            (Some(answer), ..) if !deadlocks.is_empty() => {
                ("the program hangs, as a thread dump before the recording shows:".to_owned(), answer)
            }
            (Some(answer), ..) => {
                let (name, took) = (&answer.thread.name, time(answer.span.map_or(0, |span| span.duration)));
                // Such a hang has no recorded part.
                match report.hang {
                    Some(_) => (format!("{name} hung for {took}:"), answer),
                    None => (
                        format!("{name} did not come on in {took}, by thread dumps before and after:"),
                        answer,
                    ),
                }
            }
            (None, Some(answer), Some(none)) => {
                (format!("{none}; {}, by a thread dump:", answer.thread.name), answer)
            }
            (None, Some(answer), None) => {
                let name = &answer.thread.name;
                let stands = self.after.as_ref().and_then(|after| after.dump.stands_since(dump));
                let came_on = match stands {
                    Some(_) => "it still waits, and hangs if the end of that was due",
                    None => "it came on meanwhile, or calls others",
                };
                (format!("{name} when the recording began, by a thread dump: {came_on}:"), answer)
            }
            (None, None, none) => return idle_lines(dump, none),
        };
        answered(title, answer).into_iter().chain(indented).collect()
    }

    /// Adds both to a recording, each with the time at which it was asked for.
    pub(super) fn add_to(&self, recording: &Path) -> anyhow::Result<()> {
        let cannot_write = || format!("cannot write to {}", recording.display());
        let mut file = OpenOptions::new().append(true).open(recording).with_context(cannot_write)?;
        let length = file.metadata().with_context(cannot_write)?.len();
        let mut bytes = vec![0; (length.next_multiple_of(8) - length) as usize];
        for dump in [Some(&self.before), self.after.as_ref()].into_iter().flatten() {
            bytes.extend(section::encode(SectionKind::DumpText, 1, &timed::encode(dump.at, &dump.text)));
        }
        file.write_all(&bytes).with_context(cannot_write)
    }

    /// Saves the first one beside the trace, and returns where.
    pub(super) fn save(&self, trace: &Path) -> anyhow::Result<PathBuf> {
        let file = trace.with_extension("threads.txt");
        output::write(&file, &self.before.text)?;
        Ok(file)
    }
}

/// Of a dump in which no thread hangs: the one that might, if the end of its wait was due.
fn idle_lines(dump: &Dump, none: Option<&str>) -> Vec<String> {
    let none = none.map_or_else(String::new, |none| format!("{none}; "));
    let mut answer = Answer::from(dump);
    if answer.root.is_none() {
        return vec![format!("{none}no thread hangs, by a thread dump")];
    }
    answer.cause.confidence = Confidence::Low;
    let name = &answer.thread.name;
    answered(
        format!("{none}no thread hangs, unless this wait was to end; {name}, by a thread dump:"),
        &answer,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_of_a_jvm_say_that_all_connections_end_in_its_process() {
        let mut text = b"2026-12-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode, sharing):\n\n\
            \"main\" #1 prio=5 os_prio=0 cpu=9.00ms elapsed=8.00s tid=0x00007f0000000001 nid=0x8 runnable  [0x00007f0000000000]\n   \
            java.lang.Thread.State: RUNNABLE\n\tat shop.Client.ask(Client.java:7)\n\n"
            .to_vec();
        let says = |text: &[u8]| {
            let dump = Dump::read(Path::new("dump"), text).unwrap();
            dump.answer().unwrap().connects_to_itself
        };
        assert!(!says(&text));
        say_connections_end_here(&mut text);
        assert!(says(&text));
    }
}
