//! Requests: what the threads of a pool did one after the other, and which of it was slow.
//!
//! A request is a thread's outermost recorded call, or the call of a named method. On main, messages have this part. Times are
//! wall-clock times.
//!
//! ```text
//!   http-nio-1   [---- service ----]   [-- service --]          no request in between: the thread waits for one
//! ```

mod text;
mod walk;

use std::cmp::Reverse;
use std::collections::HashSet;

use answers::text::clean;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use trace_format::{ReadError, Recording, Source};

use crate::facts::{Facts, last_moment};
use crate::method_map::MethodMap;
use crate::model::Names;
use crate::profile::{self, PathCall};
use walk::{Found, Walk};

/// How many methods are listed.
const MAX_METHODS: usize = 5;

/// What is a request, and which are slow.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Names of threads, in which `*` stands for any characters.
    pub threads: Vec<String>,
    /// The method whose call is a request: `Class.method` with or without the package. The thread's outermost call if `None`.
    pub method: Option<String>,
    /// A request that takes at least this long is slow, ns.
    pub limit: u64,
}

/// The requests of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Requests {
    /// Watched threads that the recording has.
    pub threads: u64,
    /// Requests that began in the recording and have ended.
    #[serde(rename = "requests")]
    pub ended: u64,
    /// Requests that had not ended when the recording did.
    pub open: u64,
    /// Requests of which the start is no longer in the recording.
    pub cut: u64,
    /// Median duration of those that have ended, ns.
    #[serde(rename = "median_ns")]
    pub median: u64,
    /// Duration below which 95 % of them are, ns.
    #[serde(rename = "p95_ns")]
    pub most: u64,
    /// The longest of them, ns.
    #[serde(rename = "longest_ns")]
    pub longest: u64,
    /// Requests that took the limit or longer, open ones included.
    pub slow_count: u64,
    /// The longest slow ones, at most ten.
    pub slow: Vec<SlowRequest>,
    /// Methods that were requests, with their number; the most frequent first, at most five.
    #[serde(serialize_with = "serialize_methods")]
    pub methods: Vec<(String, u64)>,
    /// Words that were overwritten or lost in the watched threads.
    #[serde(rename = "missing_words")]
    pub missing: u64,
    /// The limit, ns.
    #[serde(rename = "limit_ns")]
    pub limit: u64,
    /// Names of all threads, at most twenty, for a watch that fits none.
    #[serde(skip)]
    pub all_threads: Vec<String>,
    /// The watched method, if the method map does not have it.
    #[serde(skip)]
    pub unknown_method: Option<String>,
}

/// A slow request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlowRequest {
    /// Name of the thread.
    pub thread: String,
    /// Its kernel thread id.
    pub tid: u32,
    /// The method.
    pub method: String,
    /// From the start of the recording to its start, ns.
    #[serde(rename = "since_start_ns")]
    pub since_start: u64,
    /// Its duration, for an open one up to the end of the recording, ns.
    #[serde(rename = "duration_ns")]
    pub duration: u64,
    /// Whether it has ended.
    pub ended: bool,
    /// How much of it was waits, ns.
    #[serde(rename = "waited_ns")]
    pub waited: u64,
    /// Where the time went: the heaviest path below it, outermost call first.
    pub path: Vec<PathCall>,
}

impl Requests {
    /// Reads a recording once. `map` provides the names if it belongs to the recording.
    ///
    /// # Errors
    /// If reading fails.
    pub fn find(
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
        watch: &Watch,
    ) -> Result<Self, ReadError> {
        let names = Names::of(recording, map);
        let facts = Facts::of(recording)?;
        let wanted = watch.method.as_deref().map(|wanted| -> HashSet<u32> {
            let all = names.all().map(|(id, _)| id);
            all.filter(|id| fits_method(&names.method(*id), wanted)).collect()
        });
        let is_unknown = wanted.as_ref().is_some_and(HashSet::is_empty);
        let so_far = Self {
            limit: watch.limit,
            all_threads: thread_names(recording),
            unknown_method: watch.method.clone().filter(|_| is_unknown),
            ..Self::default()
        };
        let mut found = Found { so_far, ..Found::default() };
        let (mut last, mut still_open) = (Vec::new(), Vec::new());
        for (number, thread) in recording.threads().iter().enumerate() {
            let name = thread.name.as_deref().unwrap_or_default();
            if !watch.threads.iter().any(|pattern| fits_pattern(name.as_bytes(), pattern.as_bytes())) {
                continue;
            }
            found.so_far.threads += 1;
            found.so_far.missing = found.so_far.missing.saturating_add(thread.overwritten());
            let mut walk = Walk::new(number, wanted.as_ref(), &mut found);
            let mut spans = facts.spans(thread);
            while let Some((change, open)) = spans.change()? {
                walk.change(&change, open.depth());
            }
            let (now, open) = walk.finish();
            last.push(now);
            still_open.extend(open.map(|request| (thread.ended, request)));
        }
        let end = last_moment(recording, last.into_iter());
        for (ended, request) in still_open {
            found.still_open(request, if ended > 0 { ended } else { end });
        }
        Ok(found.requests(recording, &names))
    }

    /// Returns them as JSON. Times are in ns.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Keys are texts, and every number has a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The names of all threads, as many as a page lists.
fn thread_names(recording: &Recording<dyn Source + '_>) -> Vec<String> {
    let names = recording.threads().iter().map(|thread| thread.name.as_deref().unwrap_or_default());
    let mut names: Vec<String> = names.map(|name| clean(name).into_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(20);
    names
}

impl Found {
    /// The requests of all watched threads.
    fn requests(mut self, recording: &Recording<dyn Source + '_>, names: &Names<'_>) -> Requests {
        let begin = recording.header().start.boottime;
        let described = self.slow.iter().map(|request| {
            let thread = &recording.threads()[request.thread];
            SlowRequest {
                thread: clean(thread.name.as_deref().unwrap_or_default()).into_owned(),
                tid: thread.tid,
                method: names.method(request.key).into_owned(),
                since_start: request.begun.saturating_sub(begin),
                duration: request.duration,
                ended: request.ended,
                waited: profile::waited(&request.tree),
                path: profile::path(&request.tree, names),
            }
        });
        let slow = described.collect();
        let mut methods: Vec<(String, u64)> =
            self.methods.iter().map(|(key, count)| (names.method(*key).into_owned(), *count)).collect();
        methods.sort_unstable_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        methods.truncate(MAX_METHODS);
        let [median, most] = self.ranks();
        Requests { median, most, slow, methods, ..self.so_far }
    }
}

/// Serializes methods as objects with their names and numbers of requests.
fn serialize_methods<S: Serializer>(methods: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(methods.iter().map(|(name, count)| json!({"name": name, "requests": count})))
}

/// Whether a name fits a pattern in which `*` stands for any characters.
fn fits_pattern(name: &[u8], pattern: &[u8]) -> bool {
    let (mut n, mut p) = (0, 0);
    // Where the last `*` is, and where the rest of the name began for it.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == name.get(n) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, n) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

/// Whether a method with this full name is the wanted one, which may lack the package, or the package and the class.
fn fits_method(name: &str, wanted: &str) -> bool {
    name.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests;
