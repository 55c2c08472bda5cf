//! ART's long running methods (Android 17; `TraceProfiler::GetLongRunningMethodsString`), in their text form:
//!
//! ```text
//! Thread:1234
//! ->0x7f3a10 1000000        a method was entered, at this many µs
//! <-1500000                 the innermost one that is open was left
//!
//! *threads
//! 1234<tab>main
//! *methods
//! 0x7f3a10<tab>com.example.Foo<tab>bar<tab>()V<tab>Foo.java
//! *end
//! ```
//! ART keeps methods that ran for 2^23 ticks of its counter (about 341 ms; newer builds 2^22) or longer, and
//! those on the stack when it started watching; these have that moment as their start. For the form of newer
//! builds see [`super::long_binary`].

use std::collections::HashMap;

use serde::Serialize;

use super::limits::{self, cut};

/// The content of the section.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LongMethods {
    /// The runs, by their start on each thread.
    pub runs: Vec<LongRun>,
    /// Runs beyond the limit, and exits without a start.
    pub dropped: u64,
}

/// One long run of a method.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LongRun {
    /// The kernel's thread id.
    pub sys_tid: u32,
    /// Its name, if the section has it.
    pub thread: Option<String>,
    /// `com.example.Foo.bar`, or the method's address if the section does not name it.
    pub method: String,
    /// Number of preceding runs that enclose this one.
    pub depth: u32,
    /// Start, in µs of ART's clock.
    pub begin_us: u64,
    /// End; `None` if it was still running.
    pub end_us: Option<u64>,
}

/// Maximum number of runs kept: ART's buffer has 2048 entries per thread.
const MAX_RUNS: usize = 1 << 15;
/// Maximum length of a name, in bytes: it is repeated for each run.
const MAX_NAME: usize = 1 << 10;

/// Prefix that newer builds write before the section, in either form.
pub(crate) const TITLE: &str = "LongRunningMethods: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Runs,
    Threads,
    Methods,
}

impl LongMethods {
    /// Its memory use in bytes.
    pub(crate) fn size(&self) -> usize {
        let of = |run: &LongRun| {
            size_of::<LongRun>() + run.method.len() + run.thread.as_ref().map_or(0, String::len)
        };
        self.runs.iter().map(of).sum()
    }
}

/// Collects runs of either form.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    out: LongMethods,
    threads: HashMap<u32, String>,
    methods: HashMap<String, String>,
}

impl Runs {
    /// A method was entered on a thread; `open` are the thread's open runs.
    pub(super) fn enter(&mut self, sys_tid: u32, method: &str, open: &mut Vec<usize>, begin_us: u64) {
        if self.out.runs.len() >= MAX_RUNS || open.len() >= limits::FRAMES {
            self.out.dropped += 1;
            return;
        }
        open.push(self.out.runs.len());
        self.out.runs.push(LongRun {
            sys_tid,
            thread: None,
            method: cut(method, MAX_NAME).to_owned(),
            depth: u32::try_from(open.len() - 1).unwrap_or(u32::MAX),
            begin_us,
            end_us: None,
        });
    }

    /// The innermost open run ended.
    pub(super) fn leave(&mut self, open: &mut Vec<usize>, end_us: u64) {
        match open.pop() {
            Some(run) => self.out.runs[run].end_us = Some(end_us),
            None => self.out.dropped += 1,
        }
    }

    pub(super) fn name_thread(&mut self, sys_tid: u32, name: &str) {
        if self.threads.len() < MAX_RUNS {
            self.threads.insert(sys_tid, cut(name, MAX_NAME).to_owned());
        }
    }

    /// Parses `class<tab>method<tab>...`; returns whether the line has this form.
    pub(super) fn name_method(&mut self, id: &str, line: &str) -> bool {
        let mut words = line.split('\t');
        let (Some(class), Some(method)) = (words.next(), words.next()) else { return false };
        // Some builds write type descriptors.
        let class = class.strip_prefix('L').and_then(|class| class.strip_suffix(';')).unwrap_or(class);
        if self.methods.len() < MAX_RUNS {
            let name = format!("{}.{method}", class.replace('/', "."));
            self.methods.insert(cut(id, MAX_NAME).to_owned(), cut(&name, MAX_NAME).to_owned());
        }
        true
    }

    /// The result, with method names filled in.
    pub(super) fn finish(mut self) -> LongMethods {
        for run in &mut self.out.runs {
            run.thread = self.threads.get(&run.sys_tid).cloned();
            if let Some(name) = self.methods.get(&run.method) {
                run.method.clone_from(name);
            }
        }
        self.out
    }
}

/// Parses the section line by line.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    part: Part,
    sys_tid: u32,
    /// The open runs of the thread.
    open: Vec<usize>,
    runs: Runs,
}

impl Reader {
    /// Starts at a line `Thread:12`.
    pub(crate) fn begin(line: &str) -> Option<Self> {
        let line = line.strip_prefix(TITLE).unwrap_or(line);
        let sys_tid = line.strip_prefix("Thread:")?.trim().parse().ok()?;
        Some(Self { part: Part::Runs, sys_tid, open: Vec::new(), runs: Runs::default() })
    }

    /// Takes a line; returns whether it belongs to the section.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        match (self.part, line.trim_end()) {
            (_, "") => true,
            (_, "*threads") => {
                self.part = Part::Threads;
                true
            }
            (_, "*methods") => {
                self.part = Part::Methods;
                true
            }
            (Part::Runs, text) => self.run(text),
            (Part::Threads, text) => {
                let Some((tid, name)) = text.split_once('\t') else { return false };
                let Ok(tid) = tid.parse() else { return false };
                self.runs.name_thread(tid, name);
                true
            }
            (Part::Methods, text) => {
                text.split_once('\t').is_some_and(|(id, line)| self.runs.name_method(id, line))
            }
        }
    }

    fn run(&mut self, text: &str) -> bool {
        if let Some(tid) = text.strip_prefix("Thread:") {
            let Ok(tid) = tid.trim().parse() else { return false };
            if tid != self.sys_tid {
                self.open.clear();
            }
            self.sys_tid = tid;
        } else if let Some((method, at)) = text.strip_prefix("->").and_then(|rest| rest.split_once(' ')) {
            let Ok(begin_us) = at.trim().parse() else { return false };
            self.runs.enter(self.sys_tid, method, &mut self.open, begin_us);
        } else if let Some(at) = text.strip_prefix("<-") {
            let Ok(end_us) = at.trim().parse() else { return false };
            self.runs.leave(&mut self.open, end_us);
        } else {
            return false;
        }
        true
    }

    /// The result, with method names filled in.
    pub(crate) fn finish(self) -> LongMethods {
        self.runs.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_nest_and_get_their_names() {
        let text = "Thread:12\n->0xa 1000\n->0xb 2000\n<-2500\nThread:13\n->0xa 5\n<-9\n<-10\n\n*threads\n12\tmain\n13\ta b\n\
            *methods\n0xa\tcom/acme/A\trun\t()V\tA.java\n*end";
        let mut lines = text.lines();
        let mut reader = Reader::begin(lines.next().unwrap()).unwrap();
        let ended = lines.find(|line| !reader.take(line));
        assert_eq!(ended, Some("*end"));
        let long = reader.finish();
        let run = |sys_tid, thread: &str, method: &str, depth, begin_us, end_us| LongRun {
            sys_tid,
            thread: Some(thread.into()),
            method: method.into(),
            depth,
            begin_us,
            end_us,
        };
        assert_eq!(
            long.runs,
            [
                run(12, "main", "com.acme.A.run", 0, 1000, None),
                run(12, "main", "0xb", 1, 2000, Some(2500)),
                run(13, "a b", "com.acme.A.run", 0, 5, Some(9)),
            ]
        );
        assert_eq!(long.dropped, 1);
        assert!(Reader::begin("Thread:x").is_none());
    }
}
