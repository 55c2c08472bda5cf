//! Parses stacks without a thread's first line: an exception's text, and ANRs as Sentry, Bugsnag and
//! Crashlytics show them. They count only if the text has no dump.

use super::Reader;
use crate::dump::frame::{self, Frame};
use crate::dump::limits::{self, cut};
use crate::dump::model::{Section, Thread, ThreadForm};

/// Maximum length of the line above a stack, in bytes.
const MAX_TITLE: usize = 1 << 10;

impl Reader {
    /// Takes a line that belongs to no thread.
    pub(super) fn of_stack(&mut self, text: &str) {
        if self.dump.sections.iter().any(|section| !section.threads.is_empty()) {
            return;
        }
        let Some(java) = frame::java(text) else {
            self.stacks.open = false;
            self.stacks.title.clear();
            self.stacks.title.push_str(cut(text, MAX_TITLE));
            return;
        };
        if !self.keep(size_of::<Frame>() + text.len()) {
            return;
        }
        let title = std::mem::take(&mut self.stacks.title);
        if !self.stacks.open {
            if self.stacks.threads.len() == limits::REMARKS || !self.keep(size_of::<Thread>() + title.len()) {
                return;
            }
            self.stacks.open = true;
            self.stacks.threads.push(begin(&title, self.number));
        }
        if let Some(thread) = self.stacks.threads.last_mut() {
            thread.lines.1 = self.number;
            if thread.frames.len() < limits::FRAMES {
                thread.frames.push(Frame::Java(java));
            } else {
                thread.cut_frames += 1;
            }
        }
    }

    /// Whether there is a stack of more than one frame.
    pub(super) fn has_stack(&self) -> bool {
        self.stacks.threads.iter().any(|thread| thread.frames.len() > 1)
    }

    /// Turns the stacks into a section if the text has nothing else.
    pub(super) fn end_stacks(&mut self) {
        let threads = std::mem::take(&mut self.stacks.threads);
        let nothing = self.dump.sections.is_empty() && self.reports.reports.is_empty();
        if let Some(line) = threads.first().map(|thread| thread.lines.0).filter(|_| nothing) {
            self.dump.sections.push(Section { threads, line, ..Section::default() });
            self.warn(format!(
                "line {line}: stacks without the first lines of their threads: the first is shown as main's"
            ));
        }
    }
}

/// A thread with the name above its stack, or with that line as a remark.
fn begin(title: &str, line: u32) -> Thread {
    let word = title.trim().trim_end_matches(':');
    let word = word
        .strip_prefix("Thread ")
        .or_else(|| word.strip_prefix("Thread: "))
        .unwrap_or(word)
        .trim_matches('"');
    let is_name = !word.is_empty() && !word.contains(char::is_whitespace) && !word.contains('.');
    let mut thread = Thread::new(is_name.then(|| word.to_owned()), ThreadForm::Stack);
    if !is_name && !title.is_empty() {
        thread.remarks.push(title.to_owned());
    }
    thread.lines = (line, line);
    thread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_above_names_the_thread_or_is_a_remark() {
        for (title, name, remarks) in [
            ("main", Some("main"), 0),
            ("Thread \"main\":", Some("main"), 0),
            ("java.lang.IllegalStateException: no", None, 1),
            ("a.b.SomeException", None, 1),
            ("", None, 0),
        ] {
            let thread = begin(title, 1);
            assert_eq!((thread.name.as_deref(), thread.remarks.len()), (name, remarks), "{title}");
        }
    }
}
