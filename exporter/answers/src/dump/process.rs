//! Which process a dump is about: the one in the subject, which need not be the first one with stacks, nor be
//! in the text at all.
//!
//! A subject names a component or a window, sometimes a process. The system's event log and its report in
//! logcat name the process. Without any of these it is the first process dumped:
//! `ProcessErrorStateRecord.appNotResponding` (Android 7 to 16) puts the process that did not respond first
//! into the list.

use super::model::{Dump, Section, SectionKind};

/// The process that did not respond.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnrProcess {
    /// Its id, if known.
    pub pid: Option<u32>,
    /// Its name, if known; the package if only a component is named.
    pub name: Option<String>,
}

impl AnrProcess {
    /// Its name for people.
    #[must_use]
    pub fn title(&self) -> String {
        match (&self.name, self.pid) {
            (Some(name), Some(pid)) => format!("{name} (pid {pid})"),
            (Some(name), None) => name.clone(),
            (None, Some(pid)) => format!("the process with pid {pid}"),
            (None, None) => "a process that is not named".to_owned(),
        }
    }

    /// Whether a section belongs to it.
    fn is(&self, section: &Section) -> bool {
        match (self.pid, section.pid) {
            (Some(pid), Some(of)) => pid == of,
            _ => self.name.as_deref().is_some_and(|name| {
                let rest = section.cmdline.as_deref().and_then(|cmdline| cmdline.strip_prefix(name));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
            }),
        }
    }
}

impl Dump {
    /// The process that did not respond, if the text names it.
    #[must_use]
    pub fn anr_process(&self) -> Option<AnrProcess> {
        let subject = self.subject.as_ref()?;
        let mut found = self.in_reports().or_else(|| self.in_events()).or_else(|| in_subject(&subject.text));
        if found.is_none() {
            found = self.first_dumped.map(|pid| AnrProcess { pid: Some(pid), name: None });
        }
        let mut found = found?;
        // Look up the name for the pid in any section.
        if found.name.is_none() {
            let section = self.sections.iter().find(|section| section.pid == found.pid);
            found.name = section.and_then(|section| section.cmdline.clone());
        }
        if found.pid.is_none() {
            found.pid =
                self.sections.iter().find(|section| found.is(section)).and_then(|section| section.pid);
        }
        Some(found)
    }

    /// The section of the process that did not respond; `None` if its stacks are not in the text. If the text
    /// names no process: the first section with a main thread of the virtual machine.
    #[must_use]
    pub fn answer(&self) -> Option<&Section> {
        let sections =
            || self.sections.iter().filter(|s| s.kind == SectionKind::Threads && !s.threads.is_empty());
        if let Some(anr_process) = self.anr_process() {
            let found = sections().find(|section| anr_process.is(section));
            // A text without heads names no processes: its threads are those of the subject.
            return found.or_else(|| sections().find(|s| s.pid.is_none() && s.cmdline.is_none()));
        }
        // A bug report starts with the system's native processes.
        sections()
            .find(|s| s.main().is_some_and(|main| main.attached))
            .or_else(|| sections().find(|s| s.main().is_some()))
            .or_else(|| sections().next())
    }

    /// Whether its threads are those of a program on a JVM.
    pub(crate) fn is_of_a_jvm(&self) -> bool {
        self.answer().is_some_and(Section::is_of_hotspot)
    }

    /// Where in the kernel the threads of this process wait.
    pub(crate) fn channels_of<'a>(
        &'a self,
        anr_process: &'a AnrProcess,
    ) -> impl Iterator<Item = &'a Section> {
        let kind = |section: &&Section| section.kind == SectionKind::WaitingChannels;
        self.sections.iter().filter(kind).filter(|section| anr_process.is(section))
    }

    /// The last report in logcat with this subject.
    fn in_reports(&self) -> Option<AnrProcess> {
        let subject = self.subject.as_ref()?;
        let same = |text: &str| text == subject.text;
        let report =
            self.anr_reports.iter().rev().find(|r| r.reason.as_ref().is_some_and(|r| same(&r.text)))?;
        Some(AnrProcess { pid: report.pid, name: Some(report.process.clone()) })
    }

    /// The last event with this subject, of which the log has only the beginning.
    fn in_events(&self) -> Option<AnrProcess> {
        let subject = self.subject.as_ref()?;
        let event = self.events.iter().rev().filter(|event| event.kind == "anr").find(|event| {
            let text = event.value("subject").unwrap_or_default();
            let begin = text.strip_suffix("[...]").unwrap_or(text);
            !begin.is_empty() && subject.text.starts_with(begin)
        })?;
        let pid = event.value("pid").and_then(|pid| pid.parse().ok());
        Some(AnrProcess { pid, name: event.value("process").map(str::to_owned) })
    }
}

/// Parses `ProcessRecord{d95cfde 7577:com.example/u0a404}`, or the component `com.example/.Main`.
fn in_subject(text: &str) -> Option<AnrProcess> {
    if let Some((_, record)) = text.split_once("ProcessRecord{")
        && let Some((_, process)) = record.split_once(' ')
        && let Some((pid, name)) = process.split_once('/').and_then(|(process, _)| process.split_once(':'))
    {
        return Some(AnrProcess { pid: pid.parse().ok(), name: Some(name.to_owned()) });
    }
    let words = text.split(|c: char| c.is_whitespace() || "(){}=,\"".contains(c));
    let package = words.filter_map(|word| word.split_once('/')).find_map(|(package, class)| {
        let name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let is_one = package.contains('.')
            && !class.is_empty()
            && package.starts_with(|c: char| c.is_ascii_alphabetic())
            && package.chars().all(name)
            && class.starts_with(|c: char| c.is_alphabetic() || c == '.');
        is_one.then_some(package)
    })?;
    Some(AnrProcess { pid: None, name: Some(package.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_name_processes() {
        for (text, pid, name) in [
            (
                "Input dispatching timed out (a1b2c3 com.acme.shop/com.acme.shop.CartActivity (server) is not responding)",
                None,
                Some("com.acme.shop"),
            ),
            (
                "Process ProcessRecord{d95cfde 7577:com.qti.qcc/u0a404} failed to complete startup",
                Some(7577),
                Some("com.qti.qcc"),
            ),
            ("executing service com.acme/.Sync", None, Some("com.acme")),
            ("Broadcast of Intent { act=a.b flg=0x10 cmp=com.acme/.Receiver }", None, Some("com.acme")),
            ("Input dispatching timed out (1a NotificationShade (server) is not responding)", None, None),
            ("content://media/external 1.5/2", None, None),
        ] {
            let anr_process = in_subject(text);
            let seen = anr_process.as_ref().map_or((None, None), |b| (b.pid, b.name.as_deref()));
            assert_eq!(seen, (pid, name), "{text}");
        }
    }
}
