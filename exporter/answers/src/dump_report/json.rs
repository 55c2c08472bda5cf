//! A dump as JSON, from the types of [`crate::dump`]. `docs/dump.md` describes it; keys are added, never renamed or removed.

use std::io;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::why;
use crate::answer::Answer;
use crate::dump::facts::{self, Fact};
use crate::dump::graph::LockGraph;
use crate::dump::model::{Dump, Section, Thread};

impl Dump {
    /// The whole dump; `file` is its name. Uses many times the memory of the dump; [`write_json`] does not.
    #[must_use]
    pub fn to_json(&self, file: &str) -> Value {
        let mut value = self.head(file);
        let sections = self.sections.iter().map(|section| SectionJson { section, file: None, thread: None });
        value["sections"] = sections.map(sorted).collect();
        value
    }

    /// The fields that a file has once.
    fn head(&self, file: &str) -> Value {
        json!({
            "file": file,
            "subject": self.subject.as_ref().map(|subject| json!({
                "text": subject.text,
                "kind": subject.kind.name(),
                "waited_ms": subject.waited_ms,
            })),
            "process": self.anr_process().map(|anr_process| json!({
                "pid": anr_process.pid,
                "name": anr_process.name,
                "has_stacks": self.answer().is_some(),
            })),
            "anr_reports": self.anr_reports,
            "facts": by_key(&self.facts),
            "events": self.events,
            "answer": Answer::from(self).to_json(),
            "why": why::json(self),
            "warnings": self.warnings,
        })
    }
}

/// Writes dumps, with their files' names, as one document: the sections of all dumps, and the per-file fields.
/// If `thread` is given, only threads with it in their names are written. Threads are converted one at a time,
/// so memory use does not grow with the output.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(dumps: &[(String, &Dump)], thread: Option<&str>, out: impl io::Write) -> io::Result<()> {
    let files = LazyArray(|| dumps.iter().map(|(file, dump)| dump.head(file)));
    let sections = LazyArray(|| {
        dumps.iter().flat_map(move |(file, dump)| {
            dump.sections.iter().map(move |section| SectionJson { section, file: Some(file), thread })
        })
    });
    Ok(serde_json::to_writer_pretty(out, &DumpsJson { files, sections })?)
}

/// One document for all files.
#[derive(Serialize)]
struct DumpsJson<F, S> {
    files: F,
    sections: S,
}

/// An array whose elements are generated one by one.
struct LazyArray<F>(F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for LazyArray<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// A section.
struct SectionJson<'a> {
    section: &'a Section,
    /// The file that it is from, if there are several.
    file: Option<&'a str>,
    /// Include only threads with this text in their names.
    thread: Option<&'a str>,
}

impl Serialize for SectionJson<'_> {
    /// Writes the fields in the order of their keys, which is that of a whole document.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let section = self.section;
        let graph = LockGraph::from(section);
        let edges = |inferred| graph.edges.iter().filter(move |e| e.inferred == inferred).map(sorted);
        let runs = section.long_methods.as_ref().map(|long| LazyArray(|| long.runs.iter().map(sorted)));
        let wanted = |thread: &&Thread| {
            let named = |part: &str| thread.name.as_ref().is_some_and(|name| name.contains(part));
            self.thread.is_none_or(named)
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cmdline", &section.cmdline)?;
        map.serialize_entry("complete", &section.ended)?;
        map.serialize_entry("deadlocks", &graph.deadlocks)?;
        map.serialize_entry("declared_threads", &section.declared_threads)?;
        map.serialize_entry("facts", &by_key(&section.facts))?;
        if let Some(file) = self.file {
            map.serialize_entry("file", file)?;
        }
        map.serialize_entry("inferred_lock_edges", &LazyArray(|| edges(true)))?;
        map.serialize_entry("kind", &section.kind)?;
        map.serialize_entry("line", &section.line)?;
        map.serialize_entry("lock_edges", &LazyArray(|| edges(false)))?;
        map.serialize_entry("long_methods", &runs)?;
        map.serialize_entry("main", &section.main().and_then(|main| main.tid))?;
        map.serialize_entry("pid", &section.pid)?;
        map.serialize_entry("possible_deadlocks", &graph.possible_deadlocks)?;
        map.serialize_entry("threads", &LazyArray(|| section.threads.iter().filter(wanted).map(sorted)))?;
        map.serialize_entry("time", &section.time)?;
        map.serialize_entry("wait_channels", &LazyArray(|| section.channels.iter().map(sorted)))?;
        map.end()
    }
}

/// Returns a part of a dump with its fields in the order of their keys, as in a whole document.
fn sorted(part: impl Serialize) -> Value {
    json!(part)
}

fn by_key(facts: &[Fact]) -> Value {
    // Keys are texts, and every number has a JSON form.
    facts::serialize(facts, serde_json::value::Serializer).unwrap_or_default()
}
