//! The answer as JSON: the key `answer` of a report and of a dump. `docs/report-schema.json` describes each
//! key.

use serde_json::{Value, json};

use super::{Answer, Owner, Site, StackLine};

/// Maximum number of stack frames and of facts listed.
const MAX_LISTED: usize = 512;

fn site(site: &Site) -> Value {
    json!({"name": site.name, "file": site.file, "line": site.line})
}

fn stack(lines: &[StackLine]) -> Value {
    let lines = lines.iter().take(MAX_LISTED);
    lines
        .map(|line| {
            let native = line.native.as_ref().map(|native| {
                json!({"library": native.library, "build_id": native.build_id, "rel_pc": format!("{:#x}", native.rel_pc),
                    "inlined": native.inlined})
            });
            json!({"name": line.site.name, "file": line.site.file, "line": line.site.line, "own": line.own,
                "samples": line.samples, "open_ns": line.open_ns, "native": native})
        })
        .collect()
}

fn owner(owner: &Owner) -> Value {
    json!({"thread": owner.thread, "tid": owner.tid, "lock": owner.lock, "doing": owner.activity,
        "root": owner.root.as_ref().map(site), "stack": stack(&owner.stack)})
}

impl Answer {
    /// The answer as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let cause = &self.cause;
        let evidence =
            cause.evidence.iter().take(MAX_LISTED).map(|fact| json!({"at_ns": fact.at, "text": fact.text}));
        json!({
            "verdict": self.conclusion.word(),
            "process": self.process,
            "pid": self.pid,
            "thread": {"name": self.thread.name, "tid": self.thread.tid, "main": self.thread.main},
            "since_ns": self.span.map(|span| span.since),
            "duration_ns": self.span.map(|span| span.duration),
            "ended": self.span.map(|span| span.ended),
            "at_least": self.span.map(|span| span.at_least),
            "message": self.message,
            "cause": {"id": cause.id.word(), "name": cause.id.name(), "kind": cause.kind.word(),
                "confidence": cause.confidence.word()},
            "finding": self.finding(),
            "root": self.root.as_ref().map(site),
            "stack": stack(&self.stack),
            "samples": self.samples,
            "owners": self.owners.iter().map(owner).collect::<Value>(),
            "cycle": self.cycle,
            "evidence": evidence.collect::<Value>(),
            "also": cause.also.iter().map(|id| id.word()).collect::<Value>(),
            "next": cause.next,
        })
    }
}
