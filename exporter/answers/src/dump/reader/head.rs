//! Parses the lines of a section's head, and those before the first section.

use super::Reader;
use crate::dump::facts::{self, FactValue};
use crate::dump::model::{SectionKind, WaitChannel};
use crate::dump::subject::Subject;
use crate::dump::{limits, long_binary, long_methods, section};

impl Reader {
    /// Takes a line of the head; returns whether it was one.
    pub(super) fn of_section(&mut self, text: &str) -> bool {
        if let Some(count) = section::thread_list(text) {
            if let Some(section) = self.section() {
                section.declared_threads = section.declared_threads.or(count);
            }
        } else if let Some(name) = text.strip_prefix("Cmd line: ").or_else(|| text.strip_prefix("Cmdline: "))
        {
            if self.keep(name.len())
                && let Some(section) = self.section()
            {
                section.cmdline.get_or_insert_with(|| name.trim().to_owned());
            }
        } else if let Some(subject) = text.strip_prefix("Subject: ") {
            if self.dump.subject.is_none() && self.keep(subject.len()) {
                self.dump.subject = Some(Subject::parse(subject));
            }
        } else if text == "Dumping registered class loaders" {
            self.loaders = Some(0);
        } else if let Some(loaders) = self.loaders.filter(|_| text.starts_with("Done dumping class loaders"))
        {
            self.loaders = None;
            self.add_fact("class_loaders", loaders);
        } else if let Some(loaders) = self.loaders.as_mut().filter(|_| text.starts_with('#')) {
            *loaders += 1;
        } else if let Some((sys_tid, state, channel)) = section::channel(text).filter(|_| self.in_channels())
        {
            if self.keep(size_of::<WaitChannel>() + channel.len())
                && let Some(section) = self.dump.sections.last_mut()
            {
                section.channels.push(WaitChannel { sys_tid, state, channel: channel.to_owned() });
            }
        } else if text.starts_with("libdebuggerd_client: ") {
            self.warn(format!("line {}: the system says: {text}", self.number));
        } else if let Some(long) = long_methods::Reader::begin(text) {
            self.end_thread();
            self.long = Some(long);
        } else if let Some(encoded) = text.strip_prefix(long_methods::TITLE) {
            match long_binary::read(encoded) {
                Ok(long) => self.add_long(long),
                Err(why) => self.warn(format!("line {}: ART's long running methods {why}", self.number)),
            }
        } else if self.kept < limits::MEMORY {
            let facts = match self.dump.sections.last_mut().filter(|_| self.in_section) {
                Some(section) => &mut section.facts,
                None => &mut self.dump.facts,
            };
            if !self.pressure.take(text, facts) && !facts::parse(text, facts) {
                return false;
            }
            self.kept += size_of::<facts::Fact>() + text.len();
        }
        true
    }

    pub(super) fn add_fact(&mut self, key: &str, number: u64) {
        if let Some(section) = self.section() {
            facts::push(&mut section.facts, key, FactValue::Number(number));
        }
    }

    fn in_channels(&self) -> bool {
        self.in_section && self.dump.sections.last().is_some_and(|s| s.kind == SectionKind::WaitingChannels)
    }
}
