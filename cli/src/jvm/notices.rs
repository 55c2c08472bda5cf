//! Lines of a run on stderr, beside the program's own.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use answers::answer::Answer;
use exporter::ExportOptions;
use exporter::profile::{Profile, share, time};
use jvm_agent::{NOT_RESTORED, NOT_TRACED};
use trace_format::{Event, Item, Recording, Source};

use crate::export;
use crate::progress::Progress;
use crate::recordings::Recordings;
use crate::terminal::counted;

/// How many untraced classes get a line each.
const LISTED: usize = 5;

/// How many threads the profile lists.
const THREADS: usize = 3;

/// Prints lines of a run, all on stderr.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notices {
    pub(super) quiet: bool,
}

impl Notices {
    pub(super) fn line(self, text: impl Display) {
        self.raw(format_args!("anrscope: {text}"));
    }

    /// Prints a line that continues the one before.
    fn raw(self, text: impl Display) {
        if !self.quiet {
            // If stderr is closed, the lines are dropped.
            let _ = writeln!(crate::terminal::stderr(), "{}", crate::terminal::plain(text));
        }
    }

    /// Prints a line, and those that continue it.
    pub(super) fn lines(self, lines: &[String]) {
        for (n, line) in lines.iter().enumerate() {
            if n == 0 { self.line(line) } else { self.raw(line) }
        }
    }

    /// Prints warnings, a line each.
    pub(super) fn warn_all(self, warnings: impl IntoIterator<Item = impl Display>) {
        warnings.into_iter().for_each(|warning| self.line(format_args!("warning: {warning}")));
    }

    /// Prints an error, also with --quiet.
    pub(super) fn error(self, text: impl Display) {
        let _ = writeln!(crate::terminal::stderr(), "anrscope: error: {}", crate::terminal::plain(text));
    }

    /// Names classes and methods that the agent could not trace, and those that wait, which are notices in the recording.
    /// Those before `from` (BOOTTIME ns) are left out. Returns true if classes still wait to be traced.
    pub(super) fn untraced(self, recording: &Recording<dyn Source + '_>, from: u64) -> bool {
        let notices = notices_of(recording, from);
        let all: Vec<&String> = notices.iter().filter(|text| text.contains(" runs untraced: ")).collect();
        self.warn_all(all.iter().take(LISTED));
        if let Some(more) = all.len().checked_sub(LISTED).filter(|more| *more > 0) {
            self.line(format_args!("warning: and {more} more run untraced"));
        }
        // The last one is what holds at the end.
        let last = [NOT_TRACED, NOT_RESTORED].map(|start| {
            notices.iter().rfind(|text| text.starts_with(start)).filter(|text| !text.ends_with(": none"))
        });
        last.into_iter().flatten().for_each(|text| self.line(text));
        last[0].is_some()
    }

    /// Exports recordings to `out`, in which so many methods were traced, and says so.
    pub(super) fn export(
        self,
        recordings: &Recordings,
        options: ExportOptions,
        out: &Path,
        traced: usize,
    ) -> anyhow::Result<()> {
        let written = export::write_watched(recordings, options, out, Progress::new(!self.quiet))?;
        self.warn_all(&written.warnings);
        let (words, traced) = (export::in_words(&written), counted(traced, "method"));
        self.line(format_args!("{words}, {traced} traced -> {}", out.display()));
        Ok(())
    }

    /// Prints how much of the program's time the recording covers, and where the time went.
    pub(super) fn profile(self, profile: &Profile, ran: Duration, buffer: u64) {
        let ran = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        let recorded = profile.end.saturating_sub(profile.begin).min(ran);
        let part = if ran > 0 { recorded as f64 / ran as f64 } else { 1.0 };
        let mut text = format!(
            "recorded {} of the {} that the program ran ({}): {}",
            time(recorded),
            time(ran),
            share(part),
            counted(profile.events, "event"),
        );
        if profile.missing == 0 {
            text.push_str(", none lost");
        } else {
            text.push_str(&format!(
                "; {} older ones were overwritten, so {} of the threads' time is covered: use a --buffer larger than {} to \
                 keep more",
                profile.missing,
                share(profile.coverage()),
                size(buffer)
            ));
        }
        self.line(text);
        self.lines(&profile.lines(THREADS));
    }

    /// Prints the commands that open and read the result.
    pub(super) fn next(self, trace: &Path, recordings: &[PathBuf]) {
        self.line(format_args!("open it: anrscope open {}", shell_word(trace)));
        let names: Vec<String> = recordings.iter().map(|path| shell_word(path)).collect();
        if !names.is_empty() {
            self.line(format_args!("read it: anrscope report {}", names.join(" ")));
        }
    }
}

/// The notices of a recording from a time on, BOOTTIME ns.
fn notices_of(recording: &Recording<dyn Source + '_>, from: u64) -> Vec<String> {
    let service = recording.service().into_iter().flat_map(|service| recording.events(service));
    let notices = service.filter_map(|item| match item {
        Ok(Item::Event { event: Event::Notice(text), time }) if time >= from => {
            recording.texts().get(text).map(str::to_owned)
        }
        _ => None,
    });
    notices.collect()
}

/// A title, and the answer's lines below it.
pub(super) fn answered(title: String, answer: &Answer) -> Vec<String> {
    let rows = answer.lines().into_iter().map(|(label, text)| format!("  {label:<11} {text}"));
    std::iter::once(title).chain(rows).collect()
}

/// Formats bytes in the largest unit that fits.
pub(super) fn size(bytes: u64) -> String {
    [('G', 30), ('M', 20), ('K', 10)]
        .into_iter()
        .find(|(_, shift)| bytes >= 1 << shift)
        .map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

/// Quotes a path for a shell.
pub(super) fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=,@%".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(shell_word(Path::new("/a/b-1.anrscope")), "/a/b-1.anrscope");
        assert_eq!(shell_word(Path::new("it's here")), r"'it'\''s here'");
    }

    #[test]
    fn sizes_are_formatted_as_options_take_them() {
        assert_eq!([1 << 26, 1 << 30, 300 << 10, 7].map(size), ["64M", "1G", "300K", "7"]);
    }
}
