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
//! ART keeps what ran for 2^23 ticks of its counter (about 341 ms) or longer, and what was on the stack when it
//! began to look; those have that moment as their begin. The form of newer builds is binary: it is seen by its
//! bytes, left out.

use std::collections::HashMap;

use super::limits::{self, cut};

/// What is in the section.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LongMethods {
    /// The runs, in the order in which they began on their thread.
    pub runs: Vec<LongRun>,
    /// Runs above the bound, and exits without a begin.
    pub dropped: u64,
}

/// One method that ran long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongRun {
    /// The kernel's id of the thread.
    pub sys_tid: u32,
    /// Its name, if the section has it.
    pub thread: Option<String>,
    /// `com.example.Foo.bar`, or the method's address if the section does not name it.
    pub method: String,
    /// How many of the runs before enclose it.
    pub depth: u32,
    /// When it began, in µs of ART's clock.
    pub begin_us: u64,
    /// When it ended; `None` if it had not.
    pub end_us: Option<u64>,
}

/// How many runs are kept: ART's buffer has 2048 entries a thread.
const RUNS: usize = 1 << 15;
/// Bytes of a name: it is repeated for each of its runs.
const NAME: usize = 1 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Runs,
    Threads,
    Methods,
}

impl LongMethods {
    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        let of = |run: &LongRun| {
            size_of::<LongRun>() + run.method.len() + run.thread.as_ref().map_or(0, String::len)
        };
        self.runs.iter().map(of).sum()
    }
}

/// Reads the section by line.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    part: Part,
    sys_tid: u32,
    /// Runs that are open on the thread.
    open: Vec<usize>,
    out: LongMethods,
    threads: HashMap<u32, String>,
    methods: HashMap<String, String>,
}

impl Reader {
    /// Begins at a line `Thread:12`.
    pub(crate) fn begin(line: &str) -> Option<Self> {
        let sys_tid = line.strip_prefix("Thread:")?.trim().parse().ok()?;
        let (threads, methods) = (HashMap::new(), HashMap::new());
        Some(Self {
            part: Part::Runs,
            sys_tid,
            open: Vec::new(),
            out: LongMethods::default(),
            threads,
            methods,
        })
    }

    /// Takes in a line; says whether it was one of the section.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        match (self.part, line.trim_end()) {
            (_, "") => return true,
            (_, "*threads") => self.part = Part::Threads,
            (_, "*methods") => self.part = Part::Methods,
            (Part::Runs, text) => return self.run(text),
            (Part::Threads, text) => {
                let Some((tid, name)) = text.split_once('\t') else { return false };
                let Ok(tid) = tid.parse() else { return false };
                if self.threads.len() < RUNS {
                    self.threads.insert(tid, cut(name, NAME).to_owned());
                }
            }
            (Part::Methods, text) => {
                let mut words = text.split('\t');
                let (Some(id), Some(class), Some(method)) = (words.next(), words.next(), words.next()) else {
                    return false;
                };
                if self.methods.len() < RUNS {
                    let name = format!("{}.{method}", class.replace('/', "."));
                    self.methods.insert(cut(id, NAME).to_owned(), cut(&name, NAME).to_owned());
                }
            }
        }
        true
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
            if self.out.runs.len() >= RUNS || self.open.len() >= limits::FRAMES {
                self.out.dropped += 1;
                return true;
            }
            self.out.runs.push(LongRun {
                sys_tid: self.sys_tid,
                thread: None,
                method: cut(method, NAME).to_owned(),
                depth: u32::try_from(self.open.len()).unwrap_or(u32::MAX),
                begin_us,
                end_us: None,
            });
            self.open.push(self.out.runs.len() - 1);
        } else if let Some(at) = text.strip_prefix("<-") {
            let Ok(end_us) = at.trim().parse() else { return false };
            match self.open.pop() {
                Some(run) => self.out.runs[run].end_us = Some(end_us),
                None => self.out.dropped += 1,
            }
        } else {
            return false;
        }
        true
    }

    /// What was read, with names.
    pub(crate) fn finish(mut self) -> LongMethods {
        for run in &mut self.out.runs {
            run.thread = self.threads.get(&run.sys_tid).cloned();
            if let Some(name) = self.methods.get(&run.method) {
                run.method.clone_from(name);
            }
        }
        self.out
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
