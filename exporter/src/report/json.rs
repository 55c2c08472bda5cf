//! The report as JSON. `docs/report-schema.json` describes every key, and `docs/reports.md` what may change.

use serde_json::{Value, json};
use trace_format::layout::State;
use trace_format::sections::profile::{Outcome, PlatformProfile};

use super::busy::Busy;
use super::device;
use super::findings::{Report, ThreadCoverage};
use super::hang::Hang;
use super::native::{missed_json, stacks_json};
use super::open_item::{OpenItem, OpenItemKind};
use super::platform;
use super::recorder::RecorderReport;
use super::waits::WaitFact;
use super::why::{Posters, PreferenceWrites, TaskFact, Why, WhyCause};
use crate::answer::{Cause, MAX_STACK_FRAMES, Site};
use crate::facts::RecentWork;
use crate::facts::Unit;
use crate::facts::{Anr, Detector, MessageComponent, OffReason, Startup};
use crate::model::{StartPart, StartSplit};

/// The version of the schema. The major version changes when a key changes its meaning or is removed.
pub const SCHEMA_VERSION: &str = "1.7";

/// Maximum number of ANRs and captures.
const MAX_LISTED: usize = 1024;

fn kind(kind: OpenItemKind) -> &'static str {
    match kind {
        OpenItemKind::Method => "method",
        OpenItemKind::Message => "message",
        // The set of values is closed within a major version: the hang's `unit` has its kind.
        OpenItemKind::Unit => "span",
        OpenItemKind::Frame => "frame",
        OpenItemKind::Wait => "wait",
        OpenItemKind::Span => "span",
    }
}

fn stack(frames: &[OpenItem]) -> Value {
    let innermost = frames.iter().rev().take(MAX_STACK_FRAMES);
    innermost.map(|f| json!({"kind": kind(f.kind), "name": f.name, "since_ns": f.since, "began_before": f.began_before})).collect()
}

fn wait(wait: &WaitFact) -> Value {
    let owner = wait.owner.as_ref().map(|owner| {
        json!({"name": owner.name, "tid": owner.tid, "stack": stack(&owner.stack), "last_left": owner.last_left,
            "waits_for": owner.waits_for.as_ref().map(|(lock, owner)| json!({"lock": lock, "owner": owner}))})
    });
    json!({"kind": wait.kind.word(), "since_ns": wait.since, "class": wait.class, "lock": lock_word(wait.lock),
        "holder": owner})
}

/// A lock's identity; JSON would lose bits of a number.
fn lock_word(lock: u64) -> Option<String> {
    (lock > 0).then(|| format!("0x{lock:x}"))
}

fn unit(unit: &Unit) -> Value {
    json!({"kind": unit.kind.word(), "name": unit.name, "since_ns": unit.since, "began_before": unit.began_before})
}

fn busy(busy: &Busy) -> Value {
    let hot = busy.hot.iter().map(|(name, percent)| json!({"name": name, "percent": percent}));
    let callees = busy.callees.iter().map(|c| json!({"name": c.name, "calls": c.calls, "total_ns": c.total}));
    json!({
        "method": busy.method().map(|m| &m.name),
        "open_ns": busy.open,
        "of_ns": busy.span.1.saturating_sub(busy.span.0),
        "chain": stack(&busy.chain),
        "callees": callees.collect::<Value>(),
        "short_calls": busy.short_calls,
        "hot": hot.collect::<Value>(),
    })
}

fn thread_coverage(thread: &ThreadCoverage) -> Value {
    let c = &thread.coverage;
    json!({"thread": thread.name, "tid": thread.tid, "main": thread.main, "since_ns": c.since, "until_ns": c.until,
        "from_ns": c.from, "lived_ns": c.lived(), "recorded_ns": c.recorded})
}

fn off(recorder: &RecorderReport) -> Value {
    let all = recorder.off.iter().take(MAX_LISTED);
    let all = all.map(|(name, off)| {
        let (why, rate) = match off.why {
            OffReason::Asked => ("asked", None),
            OffReason::Budget(events) => ("budget", events),
            OffReason::Cost(calls) => ("cost", Some(calls)),
        };
        json!({"name": name, "since_ns": off.since, "until_ns": off.until, "why": why, "per_second": rate})
    });
    all.collect()
}

fn hang(hang: &Hang) -> Value {
    let cpu = hang.cpu.as_ref().map(|p| {
        json!({"mostly": p.mostly(), "looked_ns": p.polled(), "ran_ns": p.ran, "waited_ns": p.waited,
            "voluntary_switches": p.voluntary, "involuntary_switches": p.involuntary})
    });
    json!({
        "message": hang.message(),
        "unit": hang.unit.as_ref().map(unit),
        "component": hang.component.as_ref().map(component),
        "since_ns": hang.since,
        "until_ns": hang.until,
        "duration_ns": hang.duration(),
        "ended": hang.ended,
        "stack_at_ns": hang.at,
        "method": hang.method().map(|m| &m.name),
        "stack": stack(&hang.stack),
        "wait": hang.wait.as_ref().map(wait),
        "why": hang.why.as_ref().map(why),
        "busy": hang.busy.as_ref().map(busy),
        "standstill_ns": hang.standstill,
        "processor": cpu,
    })
}

fn component(component: &MessageComponent) -> Value {
    let limit = component.limit;
    json!({
        "call": component.call.word(),
        "class": component.class.as_ref(),
        "source": if component.by_stack { "stack" } else { "record" },
        "foreground": component.foreground,
        "queued_ns": component.queued,
        "limit_foreground_ms": limit.map(|limit| limit.foreground_ms),
        "limit_background_ms": limit.map(|limit| limit.background_ms.unwrap_or(limit.foreground_ms)),
        "limit_extends": limit.map(|limit| limit.extends),
    })
}

fn why(why: &Why) -> Value {
    let links = why.links.iter().map(|link| {
        json!({"thread": link.thread, "tid": link.tid, "since_ns": link.since, "waits_for": link.waits_for,
            "class": link.class, "id": link.id, "in": link.inside, "owner": link.owner,
            "task": link.task.as_ref().map(task)})
    });
    json!({
        "text": why.text,
        "cause": why.cause.map(WhyCause::word),
        "cycle": why.cycle,
        "links": links.collect::<Value>(),
        "culprit": {"thread": why.culprit.thread, "task": why.culprit.task, "site": why.culprit.site},
        "steps_left_out": why.dropped,
    })
}

fn posters(posters: &Posters) -> Value {
    json!({"task": posters.task, "site": posters.site, "thread": posters.thread, "count": posters.count,
        "of": posters.of})
}

fn preference_writes(writes: &PreferenceWrites) -> Value {
    let sites = writes.sites.iter();
    let sites = sites.map(|site| json!({"site": site.site, "method": site.method, "count": site.count}));
    json!({"count": writes.count, "from_ns": writes.from, "sites": sites.collect::<Value>()})
}

fn task(task: &TaskFact) -> Value {
    let queue = task.queue.as_ref().map(|queue| {
        json!({"class": queue.class, "id": queue.id, "place": queue.place, "pending": queue.pending,
            "workers": queue.workers, "pool": queue.pool,
            "busy": queue.busy.iter().map(|busy| json!({"in": busy.inside, "threads": busy.threads,
                "since_ns": busy.since})).collect::<Value>(),
            "posters": queue.posters.as_ref().map(posters)})
    });
    json!({
        "name": task.name,
        "coroutine": task.is_coroutine,
        "state": task.state,
        "submitted_at": task.submitted_at,
        "submitted_in": task.submitted_in,
        "submitted_by": task.submitted_by,
        "submitted_ns": task.submitted,
        "thread": task.thread,
        "queue": queue,
    })
}

fn cause(cause: &Cause) -> Value {
    let evidence = cause.evidence.iter().map(|e| json!({"at_ns": e.at, "text": e.text}));
    json!({
        "kind": cause.kind.word(),
        "name": cause.kind.name(),
        "confidence": cause.confidence.word(),
        "rule": cause.rule,
        "evidence": evidence.collect::<Value>(),
        "root": cause.root,
        "also": cause.also.iter().map(|id| id.kind().word()).collect::<Value>(),
        "next": cause.next,
    })
}

fn anr(anr: &Anr) -> Value {
    let verdict = anr.verdict.as_ref().map(|v| {
        let reasons = v.reasons.iter().map(|r| json!({"code": r.code, "text": r.text}));
        json!({"outcome": v.outcome.word(), "confidence": v.confidence.word(), "reasons": reasons.collect::<Value>()})
    });
    json!({
        "since_ns": anr.since,
        "detected_ns": anr.detected,
        "blocked_ns": anr.blocked(),
        "recovered_ns": anr.recovered,
        "detector": if matches!(anr.detector, Detector::Watchdog) { "watchdog" } else { "sigquit" },
        "suspected": anr.suspected(),
        "more_signals": anr.more_signals,
        "verdict": verdict,
    })
}

fn before(before: &RecentWork) -> Value {
    let kinds = before.kinds.iter();
    let kinds = kinds
        .map(|k| json!({"name": k.name, "count": k.count, "total_ns": k.total, "longest_ns": k.longest}));
    json!({"from_ns": before.from, "to_ns": before.to, "messages": before.messages, "not_queued": before.not_queued, "busy_ns": before.busy,
        "kinds": kinds.collect::<Value>()})
}

fn start(start: &Startup) -> Value {
    let activity = Some(start.activity.as_str()).filter(|activity| !activity.is_empty());
    json!({"kind": start.kind.word(), "activity": activity, "begin_ns": start.begin,
        "duration_ns": start.duration(), "application_end_ns": start.application_end, "end_ns": start.end,
        "first_draw_ns": start.first_draw, "splash_end_ns": start.splash_end, "grade": start.grade.word()})
}

fn start_split(split: &StartSplit) -> Value {
    let parts = |parts: &[StartPart]| -> Value {
        let part = |part: &StartPart| {
            json!({"kind": part.kind.word(), "name": part.name, "inclusive_ns": part.inclusive,
                "exclusive_ns": part.exclusive, "calls": part.calls})
        };
        parts.iter().map(part).collect()
    };
    json!({"begin_ns": split.begin, "end_ns": split.end, "components": parts(&split.components),
        "libraries": parts(&split.libraries)})
}

/// The answer's five sentences under the keys of version 1.0.
fn answers(report: &Report) -> Value {
    let answer = &report.answer;
    let what = answer.root.as_ref().map_or_else(|| answer.finding().to_owned(), Site::title);
    let message = match &report.hang {
        Some(hang) => hang.unit.as_ref().map_or("not recorded", |unit| &unit.name),
        None => answer.message.as_deref().or(report.open.as_ref().map(|open| &*open.name)).unwrap_or("none"),
    };
    let owner = match answer.owners.first() {
        Some(owner) => {
            let lock = owner.lock.as_deref().unwrap_or("an object of unknown class");
            format!(
                "thread \"{}\" (tid {}) owned the lock of {lock}: {}",
                owner.thread,
                owner.tid,
                owner.place()
            )
        }
        None => "no owner of a lock is known".to_owned(),
    };
    json!({"what": what, "how_long": report.headline(), "message": message, "holder": owner, "next": answer.advice()})
}

impl Report {
    /// The report as JSON; `file` is the recording's name in it.
    #[must_use]
    pub fn to_json(&self, file: &str) -> Value {
        let state = match self.state {
            Some(State::Open) => "open",
            Some(State::Ended) => "ended",
            Some(State::Disarmed) => "disarmed",
            None => "unknown",
        };
        let answers = self.cause.as_ref().map(|_| answers(self));
        let slowest = self.slowest.iter();
        let slowest =
            slowest.map(|s| json!({"name": s.name, "since_ns": s.since, "duration_ns": s.duration}));
        let waits = self.waits.iter().map(|w| {
            json!({"kind": w.kind.word(), "since_ns": w.since, "duration_ns": w.duration, "class": w.class,
                "lock": lock_word(w.lock), "holder": w.owner, "method": w.method})
        });
        let captures = self.captures.iter().take(MAX_LISTED);
        let captures = captures.map(|c| {
            let outcome = c.verdict.as_ref().map(|v| v.outcome.word());
            json!({"at_ns": c.at, "by_pid": c.sigquit.si_pid, "by_uid": c.sigquit.si_uid, "outcome": outcome})
        });
        let tag = |p: &PlatformProfile| Some(p.tag.clone()).filter(|tag| !tag.is_empty());
        let stored = self.profiles.iter().filter(|p| p.outcome == Outcome::Stored);
        let stored =
            stored.map(|p| json!({"path": p.path, "bytes": p.bytes, "trigger": p.trigger, "tag": tag(p)}));
        let missing = platform::missing(&self.profiles).into_iter().map(|p| {
            json!({"trigger": p.trigger, "outcome": p.outcome.word(), "tag": tag(p), "asked_ns": p.asked_ns})
        });
        let notices = self.notices.iter().map(|(at, text)| json!({"at_ns": at, "text": text}));
        let (c, r) = (&self.counts, &self.recorder);
        let measured = r.measured.as_ref().map(|(percent, worst)| {
            json!({"percent": percent, "most_percent": worst.percent, "most_at_ns": worst.at,
                "ns_per_event": worst.ns, "events_per_second": worst.events})
        });
        let coverage = self.coverage.iter().take(MAX_LISTED).map(thread_coverage);
        json!({
            "schema": SCHEMA_VERSION,
            "file": file,
            "process": self.process,
            "pid": self.pid,
            "app_version": self.system.app_version,
            "app_version_code": self.system.app_version_code,
            "start": {"boottime_ns": self.start.boottime, "realtime_ns": self.start.realtime},
            "first_ns": self.first,
            "end_ns": self.end,
            "state": state,
            "hung": self.hung(),
            "answers": answers,
            "hang": self.hang.as_ref().map(hang),
            "posters": self.posters.as_ref().map(posters),
            "preference_writes": self.preference_writes.as_ref().map(preference_writes),
            "open": self.open.as_ref().map(unit),
            "cause": self.cause.as_ref().map(cause),
            "answer": self.answer.to_json(),
            "anrs": self.anrs.iter().take(MAX_LISTED).map(anr).collect::<Value>(),
            "captures": captures.collect::<Value>(),
            "before": before(&self.before),
            "slowest": slowest.collect::<Value>(),
            "waits": waits.collect::<Value>(),
            "device": self.device.as_ref().map(device::json),
            "native_stacks": stacks_json(&self.native),
            "missed_heartbeats": missed_json(&self.native),
            "starts": self.starts.iter().map(start).collect::<Value>(),
            "start_split": self.start_split.as_ref().map(start_split),
            "profiles": stored.collect::<Value>(),
            "profiles_missing": missing.collect::<Value>(),
            "counts": {"threads": c.threads, "words": c.words, "overwritten": c.overwritten, "methods": c.methods,
                "messages": c.messages, "not_queued": c.not_queued, "frames": c.frames,
                "frame_metrics_dropped": c.frame_metrics_dropped},
            "recorder": {"main_cost_percent": r.main_cost_percent, "all_cost_percent": r.all_cost_percent,
                "measured": measured, "standstill_ns": r.standstills.total(), "switched_off": off(r),
                "dropped": r.dropped, "clamped": r.clamped, "pauses": r.pauses.len(), "methods_off": r.methods_off()},
            "coverage": coverage.collect::<Value>(),
            "notices": notices.collect::<Value>(),
            "warnings": self.warnings.iter().map(ToString::to_string).collect::<Value>(),
        })
    }
}
