//! Prints requests.

use answers::words::times;

use super::{Requests, SlowRequest};
use crate::profile::{path_line, time};

impl Requests {
    /// The lines for a terminal: how many requests there were and how long they took, then the slow ones.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        if self.threads == 0 {
            let all = self.all_threads.join(", ");
            return vec![format!("requests: no thread has such a name; the recording has {all}")];
        }
        if let Some(method) = &self.unknown_method {
            return vec![format!(
                "requests: the method map has no method {method}: write it as Class.method"
            )];
        }
        let mut lines = Vec::new();
        let mut first = format!("{} on {}", times(self.ended, "request"), times(self.threads, "thread"));
        if self.ended > 0 {
            let (median, most, longest) = (time(self.median), time(self.most), time(self.longest));
            first += &format!(": median {median}, 95 % below {most}, longest {longest}");
        }
        if self.open > 0 {
            first += &format!("; {} not ended", self.open);
        }
        if self.cut > 0 {
            first += &format!("; {} of which the start is no longer recorded", self.cut);
        }
        lines.push(first);
        if self.ended + self.open + self.cut == 0 {
            lines.push("  nothing that is recorded ran on these threads".to_owned());
        }
        for (name, count) in &self.methods {
            lines.push(format!("  {count:>7} {name}"));
        }
        lines.push(match self.slow_count {
            0 => format!("none took {} or longer", time(self.limit)),
            count => format!("{count} took {} or longer:", time(self.limit)),
        });
        for slow in &self.slow {
            lines.push(of_slow(slow));
            lines.extend(path_line(&slow.path));
        }
        if let Some(more) = self.slow_count.checked_sub(self.slow.len() as u64).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more"));
        }
        lines
    }
}

fn of_slow(slow: &SlowRequest) -> String {
    let SlowRequest { tid, method, .. } = slow;
    let (took, since) = (time(slow.duration), slow.since_start as f64 / 1e9);
    let thread = if slow.thread.is_empty() { "a thread without a name" } else { &slow.thread };
    let mut line = format!("  {took:>8} at +{since:.3} s on {thread} (tid {tid}): {method}");
    if slow.waited > 0 {
        line += &format!(", of it waiting {}", time(slow.waited));
    }
    if !slow.ended {
        line += ", not ended";
    }
    line
}
