//! Finds where in the kernel each dumped thread waits, by pid and sysTid.

use std::collections::HashMap;

use super::model::{Dump, Section, SectionKind, Thread};

/// A pid and a sysTid.
type Key = (Option<u32>, u32);

/// The waiting channels of a dump.
#[derive(Debug)]
pub(crate) struct Channels<'a> {
    /// Section line and channel, in the order of the text, so by line.
    places: HashMap<Key, Vec<(u32, &'a str)>>,
}

impl<'a> Channels<'a> {
    pub(crate) fn of(dump: &'a Dump) -> Self {
        let mut places: HashMap<Key, Vec<_>> = HashMap::new();
        for section in dump.sections.iter().filter(|s| s.kind == SectionKind::WaitingChannels) {
            for channel in &section.channels {
                let key = (section.pid, channel.sys_tid);
                places.entry(key).or_default().push((section.line, channel.channel.as_str()));
            }
        }
        Self { places }
    }

    /// The wait channel of a thread: that of its process whose list is closest in the text. The system writes
    /// the list just before or after the dump, and may do so several times.
    pub(crate) fn get(&self, section: &Section, thread: &Thread) -> Option<&'a str> {
        let found = self.places.get(&(section.pid, thread.sys_tid?))?;
        let behind = found.partition_point(|(line, _)| *line < section.line);
        let near = [behind.checked_sub(1), Some(behind)].into_iter().flatten().filter_map(|at| found.get(at));
        near.min_by_key(|(line, _)| line.abs_diff(section.line)).map(|(_, channel)| *channel)
    }
}
