//! A dump as JSON. `docs/dump.md` describes it; keys are added, never renamed or removed.

use serde_json::{Value, json};

use super::facts::{Fact, FactValue};
use super::frame::{Frame, Place};
use super::graph::{Edge, LockGraph};
use super::lock_line::{LockKind, LockLine};
use super::model::{Dump, Section, SectionKind, Thread, ThreadForm};

impl Dump {
    /// The whole dump; `file` is named in it.
    #[must_use]
    pub fn to_json(&self, file: &str) -> Value {
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
            "facts": facts(&self.facts),
            "events": events.collect::<Vec<_>>(),
            "sections": self.sections.iter().map(section).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

fn section(section: &Section) -> Value {
    let graph = LockGraph::of(section);
    let edge = |edge: &Edge| {
        json!({
            "from": edge.from,
            "to": edge.to,
            "lock_class": edge.class,
            "lock": address(edge.address),
        })
    };
    let edges =
        |inferred| graph.edges.iter().filter(|e| e.inferred == inferred).map(edge).collect::<Vec<_>>();
    let long = section.long_methods.as_ref().map(|long| {
        let runs = long.runs.iter().map(|run| {
            json!({
                "sys_tid": run.sys_tid,
                "thread": run.thread,
                "method": run.method,
                "depth": run.depth,
                "begin_us": run.begin_us,
                "end_us": run.end_us,
            })
        });
        runs.collect::<Vec<_>>()
    });
    json!({
        "kind": match section.kind {
            SectionKind::Threads => "threads",
            SectionKind::WaitingChannels => "waiting_channels",
        },
        "pid": section.pid,
        "cmdline": section.cmdline,
        "time": section.time,
        "line": section.line,
        "complete": section.ended,
        "declared_threads": section.declared_threads,
        "facts": facts(&section.facts),
        "threads": section.threads.iter().map(thread).collect::<Vec<_>>(),
        "main": section.main().and_then(|main| main.tid),
        "lock_edges": edges(false),
        "inferred_lock_edges": edges(true),
        "deadlocks": graph.deadlocks,
        "possible_deadlocks": graph.possible_deadlocks,
        "wait_channels": section.channels.iter().map(|c| json!({"sys_tid": c.sys_tid, "channel": c.channel})).collect::<Vec<_>>(),
        "long_methods": long,
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
            ThreadForm::Headless => "headless",
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
        },
        "lock": address(lock.address),
        "class": lock.class,
        "holder": lock.holder,
        "frame": lock.frame,
    })
}

/// As a text: JSON's numbers end at 2^53 for many readers.
fn address(address: Option<u64>) -> Option<String> {
    address.map(|address| format!("0x{address:08x}"))
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
