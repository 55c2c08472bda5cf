//! The answer in a few lines: what hung, why, where, who owns the lock, what to do.

use super::{Answer, CauseId, Conclusion, Owner, Span};
use crate::words::seconds;

/// Maximum number of owners that a text lists.
pub const MAX_OWNERS: usize = 8;

impl Answer {
    /// The headline: what hung, and for how long.
    #[must_use]
    pub fn headline(&self) -> String {
        let process = match (&self.process, self.pid) {
            (Some(process), Some(pid)) => format!(" in {process} (pid {pid})"),
            (Some(process), None) => format!(" in {process}"),
            _ => String::new(),
        };
        let thread = match self.thread.main {
            true => "main thread".to_owned(),
            false => format!("thread \"{}\"", self.thread.name),
        };
        let took = match &self.span {
            // A single moment.
            Some(Span { duration: 0, at_least: true, .. }) => String::new(),
            Some(span) => {
                format!(" for {}{}", if span.at_least { "at least " } else { "" }, seconds(span.duration))
            }
            None => String::new(),
        };
        match self.conclusion {
            Conclusion::Anr => format!("ANR{process}: {thread} blocked{took}"),
            Conclusion::Hang if self.span.is_some() => format!("Hang{process}: {thread} blocked{took}"),
            Conclusion::Hang => format!("Thread dump{process}: {thread}"),
            Conclusion::Recovered => format!("ANR{process}: main was not stuck when the system asked"),
            Conclusion::OtherProcess => format!("Another process's ANR{process}"),
            Conclusion::NoHang => format!("No hang{process}: {thread}"),
        }
    }

    /// `LOCK WAIT (high confidence)`.
    #[must_use]
    pub fn cause_title(&self) -> String {
        format!("{} ({} confidence)", self.cause.id.name().to_uppercase(), self.cause.confidence.word())
    }

    /// The advice, with the owner's method if it is known.
    #[must_use]
    pub fn advice(&self) -> String {
        let owner = self.owners.first().filter(|_| self.cause.id == CauseId::LockWait);
        match owner.and_then(|owner| Some((owner.lock.as_ref()?, owner.root.as_ref()?))) {
            Some((lock, root)) if self.owners.len() == 1 => {
                let named = format!("the lock of {lock} across {}", root.name);
                self.cause.next.replace("this lock across slow work", &named)
            }
            _ => self.cause.next.to_owned(),
        }
    }

    /// The summary as labelled lines: at most seven, plus the owners.
    #[must_use]
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("Cause", self.cause_title()), ("Finding", self.finding().to_owned())];
        if let Some(place) = self.place() {
            let of = match (self.samples, self.root_samples()) {
                (0, _) | (_, None) => String::new(),
                (all, Some(count)) => format!(", in {count} of {all} samples"),
            };
            lines.push(("In", format!("{place}{of}")));
        }
        lines.extend(self.deadlock().map(|names| ("Deadlock", names)));
        let owners = self.owners.iter().take(MAX_OWNERS);
        lines.extend(
            owners
                .enumerate()
                .map(|(at, owner)| (if at == 0 { "Lock owner" } else { "its owner" }, line(owner))),
        );
        if let Some(message) = &self.message {
            lines.push(("Message", message.clone()));
        }
        lines.extend(self.not_shown.clone().map(|what| ("Not shown", what)));
        lines.push(("What to do", self.cause.next.to_owned()));
        lines
    }

    /// The number of samples that contain the root.
    fn root_samples(&self) -> Option<u64> {
        let root = self.root.as_ref()?;
        self.stack.iter().filter(|line| line.site.name == root.name).filter_map(|line| line.samples).max()
    }

    /// Returns true if there is a finding to show.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.cause.id != CauseId::Unknown
    }
}

/// `"SyncWorker" (tid 8009) owns com.acme.PriceStore: SyncWorker.readReply (network I/O)`.
fn line(owner: &Owner) -> String {
    let lock = owner.lock.as_ref().map_or_else(String::new, |lock| format!(" owns the lock of {lock}"));
    format!("\"{}\" (tid {}){lock}: {}", owner.thread, owner.tid, owner.place())
}
