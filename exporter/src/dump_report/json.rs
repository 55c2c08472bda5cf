//! A dump as JSON. `docs/dump.md` describes it; keys are added, never renamed or removed.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::{address, why};
use crate::answer::Answer;
use crate::dump::anr_report::{AnrReport, CpuRow};
use crate::dump::facts::{Fact, FactValue};
use crate::dump::frame::{Frame, Place};
use crate::dump::graph::{Edge, LockGraph};
use crate::dump::lock_line::{LockKind, LockLine};
use crate::dump::long_methods::LongRun;
use crate::dump::model::{Dump, Section, SectionKind, Thread, ThreadForm, WaitChannel};

impl Dump {
    /// The whole dump; `file` is its name. Uses many times the memory of the dump; [`write_json`] does not.
    #[must_use]
    pub fn to_json(&self, file: &str) -> Value {
        let mut value = self.head(file);
        let sections = self.sections.iter().map(|section| {
            let section = SectionJson { section, file: None, thread: None };
            // Keys are texts, and every number has a JSON form.
            serde_json::to_value(section).unwrap_or_default()
        });
        value["sections"] = sections.collect();
        value
    }

    /// The fields that a file has once.
    fn head(&self, file: &str) -> Value {
        let events = self.events.iter().map(|event| {
            let values: serde_json::Map<String, Value> =
                event.values.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            json!({"kind": event.kind, "timestamp_ms": event.timestamp_ms, "values": values})
        });
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
            "anr_reports": self.anr_reports.iter().map(report).collect::<Vec<_>>(),
            "facts": facts(&self.facts),
            "events": events.collect::<Vec<_>>(),
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
    Ok(serde_json::to_writer_pretty(out, &DumpsJson { dumps, thread })?)
}

/// One document for all files.
struct DumpsJson<'a> {
    dumps: &'a [(String, &'a Dump)],
    thread: Option<&'a str>,
}

impl Serialize for DumpsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("files", &LazyArray(|| self.dumps.iter().map(|(file, dump)| dump.head(file))))?;
        let sections = || {
            self.dumps.iter().flat_map(|(file, dump)| {
                let json = move |section| SectionJson { section, file: Some(file), thread: self.thread };
                dump.sections.iter().map(json)
            })
        };
        map.serialize_entry("sections", &LazyArray(sections))?;
        map.end()
    }
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
        let edges = |inferred| graph.edges.iter().filter(move |e| e.inferred == inferred).map(edge);
        let kind = match section.kind {
            SectionKind::Threads => "threads",
            SectionKind::WaitingChannels => "waiting_channels",
        };
        let runs = section.long_methods.as_ref().map(|long| LazyArray(|| long.runs.iter().map(run)));
        let wanted = |thread: &&Thread| {
            let named = |part: &str| thread.name.as_ref().is_some_and(|name| name.contains(part));
            self.thread.is_none_or(named)
        };
        let channel = |c: &WaitChannel| json!({"sys_tid": c.sys_tid, "state": c.state.map(String::from), "channel": c.channel});
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cmdline", &section.cmdline)?;
        map.serialize_entry("complete", &section.ended)?;
        map.serialize_entry("deadlocks", &graph.deadlocks)?;
        map.serialize_entry("declared_threads", &section.declared_threads)?;
        map.serialize_entry("facts", &facts(&section.facts))?;
        if let Some(file) = self.file {
            map.serialize_entry("file", file)?;
        }
        map.serialize_entry("inferred_lock_edges", &LazyArray(|| edges(true)))?;
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("line", &section.line)?;
        map.serialize_entry("lock_edges", &LazyArray(|| edges(false)))?;
        map.serialize_entry("long_methods", &runs)?;
        map.serialize_entry("main", &section.main().and_then(|main| main.tid))?;
        map.serialize_entry("pid", &section.pid)?;
        map.serialize_entry("possible_deadlocks", &graph.possible_deadlocks)?;
        map.serialize_entry("threads", &LazyArray(|| section.threads.iter().filter(wanted).map(thread)))?;
        map.serialize_entry("time", &section.time)?;
        map.serialize_entry("wait_channels", &LazyArray(|| section.channels.iter().map(channel)))?;
        map.end()
    }
}

fn report(report: &AnrReport) -> Value {
    let cpu = report.cpu.iter().map(|cpu| {
        let row = |r: &CpuRow| json!({"percent": r.percent, "id": r.id, "name": r.name, "parts": r.parts});
        let rows: Vec<Value> = cpu.rows.iter().map(row).collect();
        json!({"interval": cpu.interval, "rows": rows, "total": cpu.total})
    });
    json!({
        "process": report.process,
        "component": report.component,
        "pid": report.pid,
        "reason": report.reason.as_ref().map(|reason| &reason.text),
        "parent": report.parent,
        "error_id": report.error_id,
        "frozen": report.frozen,
        "load": report.load,
        "pressure": facts(&report.pressure),
        "cpu": cpu.collect::<Vec<_>>(),
        "line": report.line,
    })
}

fn edge(edge: &Edge) -> Value {
    json!({
        "from": edge.from,
        "to": edge.to,
        "lock_class": edge.class,
        "lock": address(edge.address),
    })
}

fn run(run: &LongRun) -> Value {
    json!({
        "sys_tid": run.sys_tid,
        "thread": run.thread,
        "method": run.method,
        "depth": run.depth,
        "begin_us": run.begin_us,
        "end_us": run.end_us,
    })
}

fn thread(thread: &Thread) -> Value {
    json!({
        "name": thread.name,
        "form": match thread.form {
            ThreadForm::Art => "art",
            ThreadForm::Native => "native",
            ThreadForm::Tombstone => "tombstone",
            ThreadForm::PlayConsole => "play_console",
            ThreadForm::Crashlytics => "crashlytics",
            ThreadForm::HotSpot => "hotspot",
            ThreadForm::HotSpotFile => "hotspot_file",
            ThreadForm::AndroidStudio => "android_studio",
            ThreadForm::Coroutine => "coroutine",
            ThreadForm::Headless => "headless",
            ThreadForm::Stack => "stack",
        },
        "tid": thread.tid,
        "sys_tid": thread.sys_tid,
        "state": thread.state,
        "native_state": thread.native_state.map(String::from),
        "attached": thread.attached,
        "daemon": thread.daemon,
        "starting": thread.starting,
        "priority": thread.priority,
        "group": thread.group,
        "suspend_count": thread.suspend_count,
        "other_suspend_count": thread.other_suspend_count,
        "nice": thread.nice,
        "cgroup": thread.cgroup,
        "sched": thread.sched,
        "schedstat": thread.schedstat,
        "utm": thread.utm,
        "stm": thread.stm,
        "hz": thread.hz,
        "core": thread.core,
        "cpu_ns": thread.cpu_ns,
        "elapsed_ns": thread.elapsed_ns,
        "virtual": thread.is_virtual,
        "stack_bytes": thread.stack_size,
        "held_mutexes": thread.held_mutexes,
        "frames": thread.frames.iter().map(frame).collect::<Vec<_>>(),
        "locks": thread.locks.iter().map(lock).collect::<Vec<_>>(),
        "remarks": thread.remarks,
        "cut_frames": thread.cut_frames,
        "lines": [thread.lines.0, thread.lines.1],
    })
}

fn frame(frame: &Frame) -> Value {
    match frame {
        Frame::Java(java) => {
            let (file, line) = match &java.place {
                Place::Source { file, line } => (Some(file), *line),
                Place::Native | Place::Unknown => (None, None),
            };
            json!({
                "kind": "java",
                "class": java.class,
                "method": java.method,
                "file": file,
                "line": line,
                "native_method": java.place == Place::Native,
                "repeated": java.repeated,
                "or": java.or,
                "inlined": java.inlined,
                "synthesized": java.synthesized,
            })
        }
        Frame::Native(native) => json!({
            "kind": "native",
            "number": native.number,
            "pc": address(Some(native.pc)),
            "map": native.map,
            "map_offset": native.map_offset,
            "symbol": native.symbol,
            "symbol_offset": native.symbol_offset,
            "build_id": native.build_id,
            "file": native.file,
            "line": native.line,
            "inlined": native.inlined,
        }),
        Frame::Kernel(kernel) => json!({"kind": "kernel", "symbol": kernel.symbol}),
    }
}

fn lock(lock: &LockLine) -> Value {
    json!({
        "kind": match lock.kind {
            LockKind::WaitingOn => "waiting_on",
            LockKind::SleepingOn => "sleeping_on",
            LockKind::WaitingToLock => "waiting_to_lock",
            LockKind::Locked => "locked",
            LockKind::ParkingFor => "parking_for",
            LockKind::Owned => "owned",
        },
        "lock": address(lock.address),
        "class": lock.class,
        "owner": lock.owner,
        "frame": lock.frame,
    })
}

fn facts(facts: &[Fact]) -> Value {
    let pairs = facts.iter().map(|fact| {
        let value = match &fact.value {
            FactValue::Text(text) => json!(text),
            FactValue::Number(number) => json!(number),
        };
        (fact.key.clone(), value)
    });
    Value::Object(pairs.collect())
}
