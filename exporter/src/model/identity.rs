//! Assigns pids and tids that are unique in a trace. The engine treats a repeated tid as one thread, and pid or
//! tid 0 as the idle task.

use std::collections::HashSet;

use answers::text::clean;
use trace_format::sections::process::Process;
use trace_format::{Recording, Source};

use super::sink::{ProcessInfo, ThreadInfo, Track};

/// The first synthetic number: kernel tids end at 2^22.
const FIRST_SYNTHETIC: u32 = 1 << 24;

/// The numbers assigned so far.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    taken: HashSet<u32>,
}

impl Identities {
    /// Reserves every real pid of the trace for its main thread.
    pub(crate) fn new(pids: impl Iterator<Item = u32>) -> Self {
        Self { taken: pids.collect() }
    }

    fn take(&mut self, wanted: u32) -> u32 {
        if (1..FIRST_SYNTHETIC).contains(&wanted) && self.taken.insert(wanted) {
            return wanted;
        }
        self.synthetic()
    }

    /// A number that no process or thread of the trace has.
    pub(crate) fn synthetic(&mut self) -> u32 {
        let mut free = FIRST_SYNTHETIC + self.taken.len() as u32;
        while !self.taken.insert(free) {
            free += 1;
        }
        free
    }

    /// The process of a recording. `first` is whether no earlier recording has its pid.
    pub(crate) fn process(&mut self, recording: &Recording<dyn Source + '_>, first: bool) -> ProcessInfo {
        let header = recording.header();
        let keeps = first && (1..FIRST_SYNTHETIC).contains(&header.pid);
        let pid = if keeps { header.pid } else { self.synthetic() };
        let mut has_main = false;
        let threads = recording.threads().iter().map(|thread| {
            // A damaged recording may have two main threads, but a pid is the tid of one.
            let main = thread.main && !has_main;
            has_main |= main;
            let name = thread.name.as_deref().or(main.then_some("main"));
            ThreadInfo {
                tid: if main { pid } else { self.take(thread.tid) },
                recorded_tid: thread.tid,
                name: name.map(|n| clean(n).into_owned()),
                main,
                rank: 0,
            }
        });
        let threads: Vec<ThreadInfo> = threads.collect();
        let name = clean(&header.process_name).into_owned();
        ProcessInfo {
            pid,
            uid: header.uid,
            name: if name.is_empty() { format!("pid {}", header.pid) } else { name },
            started: header.start.boottime,
            plain_tids: Track::PLAIN.map(|_| self.synthetic()),
            description: describe(header.pid, pid, &threads),
            system: Process::default(),
            threads,
        }
    }
}

/// Describes which numbers of a process are synthetic.
fn describe(real_pid: u32, pid: u32, threads: &[ThreadInfo]) -> Option<String> {
    let mut facts = Vec::new();
    if pid != real_pid {
        facts.push(format!("its real pid is {real_pid}"));
    }
    if let Some(main) = threads.iter().find(|t| t.main && t.recorded_tid != real_pid) {
        facts.push(format!("the real tid of its recorded main thread is {}", main.recorded_tid));
    }
    (!facts.is_empty()).then(|| facts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};

    #[test]
    fn main_has_the_pid_and_no_two_threads_share_a_tid() {
        let one = |t: &mut ThreadBuilder| {
            t.enter(5, 1);
        };
        let bytes = RecordingBuilder::new(42, "p")
            .main("main", one)
            .thread("leader", 42, one)
            .thread("a", 50, one)
            .thread("reused", 50, one)
            .thread("idle", 0, one)
            .build();
        let recording = Recording::open(bytes).unwrap();
        let mut identities = Identities::new([42].into_iter());
        let process = identities.process(&recording, true);
        let tids: Vec<_> = process.threads.iter().map(|t| t.tid).collect();
        assert_eq!((process.pid, tids[0], tids[2]), (42, 42, 50));
        let shown = &process.threads[0];
        assert_eq!((process.description.as_deref(), shown.recorded_tid), (None, 42));
        let other = ThreadInfo { recorded_tid: 43, ..shown.clone() };
        let expected = "the real tid of its recorded main thread is 43";
        assert_eq!(describe(42, 42, &[other]).as_deref(), Some(expected));
        let again = identities.process(&recording, false);
        assert!(again.pid != 42 && again.description.is_some());
        let all = tids.iter().chain(again.threads.iter().map(|t| &t.tid));
        let distinct: HashSet<_> = all.clone().collect();
        assert_eq!(distinct.len(), all.count());
        assert!(!distinct.contains(&0));
    }
}
