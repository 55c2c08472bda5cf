//! Reads Matrix's reports, each a stretch of main's time with its calls.

use serde_json::Value;
use trace_format::event::{Clocks, Event, Stall};
use trace_format::section::SectionKind;
use trace_format::sections::timed;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::time::MS;
use trace_format::{TextId, ids};

use super::axis::{BASE, MAX_MS, at};
use super::json::Document;
use super::layout::{self, Placed};
use crate::matrix::issues::MAX_ISSUES;

/// Maximum number of calls per file into which multi-call lines are split: each becomes two words of the
/// resulting recording.
const MAX_CALLS: u64 = 1 << 20;
/// A call on the last path of an ANR with this share of its cost was open when the report was made: Matrix's
/// share of a key.
const OPEN_SHARE: f64 = 0.3;

type Bad = (String, &'static str);

/// A report.
struct Issue {
    json: String,
    tag: String,
    detail: String,
    scene: String,
    process: String,
    /// When it was made, ms since 1970; 0 if unknown.
    time: u64,
    calls: Vec<Placed>,
    /// Duration of what it reports, ms.
    cost: u64,
}

pub(super) fn recording(bytes: &[u8]) -> Result<Vec<u8>, Bad> {
    let (mut issues, mut room) = (Vec::new(), MAX_CALLS);
    let stream = serde_json::Deserializer::from_slice(bytes).into_iter::<Document>();
    for document in stream {
        let Document(value) = document.map_err(|e| {
            let what = if e.is_data() {
                "too many values for one document: split the file"
            } else {
                "this is no JSON"
            };
            (format!("line {}, column {}", e.line(), e.column()), what)
        })?;
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for value in values {
            if issues.len() == MAX_ISSUES {
                return Err((
                    format!("report {MAX_ISSUES}"),
                    "more reports than are read at once: split the file",
                ));
            }
            issues.push(issue(value, issues.len() + 1, &mut room)?);
        }
    }
    if issues.is_empty() {
        return Err(("the whole file".to_owned(), "there is no report in it"));
    }
    issues.sort_by_key(|issue| issue.time);
    Ok(build(&issues))
}

fn issue(value: Value, number: usize, room: &mut u64) -> Result<Issue, Bad> {
    let bad = |what| Err((format!("report {number}"), what));
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let tag = text("tag");
    if !value.is_object() || !(tag.starts_with("Trace_") || value["stack"].is_string()) {
        return bad(
            "it has neither a tag that begins with Trace_ nor a `stack`: is it a report of Matrix's?",
        );
    }
    let lines = layout::parse(value["stack"].as_str().unwrap_or_default()).map_err(|line| {
        let what = "this is no `depth,methodId,count,costMs` with a method's id (1 to 1042431, or 1048574)";
        (format!("report {number}, line {line} of its stack"), what)
    })?;
    let calls = layout::place(&lines, room);
    let cost = ["cost", "startup_duration"].iter().find_map(|key| value[*key].as_u64()).unwrap_or(0);
    let own = calls.iter().map(|call| call.end).max().unwrap_or(0);
    let time = value["time"].as_u64().or_else(|| value["time"].as_str()?.parse().ok()).unwrap_or(0);
    Ok(Issue {
        tag,
        detail: text("detail"),
        scene: text("scene"),
        process: text("process"),
        time: time.min(MAX_MS * 10),
        cost: cost.min(MAX_MS).max(own),
        calls,
        json: value.to_string(),
    })
}

fn build(issues: &[Issue]) -> Vec<u8> {
    let begin = |issue: &Issue| issue.time.saturating_sub(issue.cost);
    let first = issues.iter().filter(|i| i.time > 0).map(begin).min().unwrap_or(0);
    let start = Clocks { boottime: BASE, monotonic: BASE, realtime: first * MS };
    let process = issues.iter().map(|i| &*i.process).find(|p| !p.is_empty()).unwrap_or("(from Matrix)");
    let mut b = RecordingBuilder::new(0, process).start(start);
    let mut names: Vec<TextId> = Vec::new();
    for issue in issues {
        let parts = [&issue.tag, &issue.detail, &issue.scene];
        let parts: Vec<&str> = parts.iter().map(|p| p.as_str()).filter(|p| !p.is_empty()).collect();
        names.push(b.text(&parts.join(" ")));
    }
    let notice = b.text(&format!(
        "converted from {} Matrix reports, which contain the duration of a call but not its position within its caller",
        issues.len()
    ));
    // One after another: two reports of one stretch do not fit into one thread.
    let mut free = 0;
    let mut places = Vec::new();
    for issue in issues {
        let from = begin(issue).saturating_sub(first).max(free);
        free = from.saturating_add(issue.cost).min(MAX_MS);
        places.push(from);
    }
    let mut stalls = Vec::new();
    b = b.main("main", |t| {
        for (n, (issue, from)) in issues.iter().zip(&places).enumerate() {
            let to = from.saturating_add(issue.cost);
            if issue.cost == 0 {
                t.event(at(*from), Event::Mark(names[n]));
                continue;
            }
            t.event(at(*from), Event::SpanBegin(names[n]));
            // Its message was still running when the report was made.
            let last = n + 1 == issues.len();
            let open = if issue.detail == "ANR" && last { open_at_the_end(issue) } else { Vec::new() };
            let message = write_calls(t, issue, *from, &open);
            if open.is_empty() {
                t.event(at(to), Event::SpanEnd);
            }
            if issue.detail == "ANR" {
                stalls.push((at(to), message.unwrap_or_else(|| at(*from))));
            }
        }
    });
    let end = at(free);
    b = b.service(|t| {
        t.event(BASE, Event::Notice(notice));
        for (time, stuck_since) in stalls {
            t.event(time, Event::Stall(Stall { stuck_since }));
        }
    });
    for (issue, from) in issues.iter().zip(&places) {
        let time = at(from.saturating_add(issue.cost));
        b = b.section(SectionKind::Issue, &timed::encode(time, issue.json.as_bytes()));
    }
    b.last_alive(end).build()
}

/// The calls of an ANR that were still open: the last one under each caller, if it is long enough.
fn open_at_the_end(issue: &Issue) -> Vec<usize> {
    let least = (issue.cost as f64 * OPEN_SHARE) as u64;
    let mut last_of: Vec<Option<usize>> = vec![None; issue.calls.len()];
    let mut top = None;
    for (i, call) in issue.calls.iter().enumerate() {
        match call.caller {
            Some(caller) => last_of[caller] = Some(i),
            None => top = Some(i),
        }
    }
    let mut open = Vec::new();
    while let Some(i) = top.filter(|i| issue.calls[*i].end - issue.calls[*i].begin >= least) {
        open.push(i);
        top = last_of[i];
    }
    open
}

/// Writes the calls, those in `open` without their end. Returns when the first message among them started.
fn write_calls(t: &mut ThreadBuilder, issue: &Issue, from: u64, open: &[usize]) -> Option<u64> {
    let time = |ms: u64| at(from.saturating_add(ms));
    let mut message = None;
    let mut entered: Vec<usize> = Vec::new();
    let close = |t: &mut ThreadBuilder, i: usize| {
        // Sorted from caller to callee.
        if open.binary_search(&i).is_err() {
            t.exit(time(issue.calls[i].end), issue.calls[i].id);
        }
    };
    for (i, call) in issue.calls.iter().enumerate() {
        while let Some(last) = entered.pop_if(|last| Some(*last) != call.caller) {
            close(t, last);
        }
        if call.id == ids::DISPATCH {
            message.get_or_insert(time(call.begin));
        }
        let whole = (time(call.end) - time(call.begin)) / call.calls;
        for n in 1..call.calls {
            let begin = time(call.begin) + (n - 1) * whole;
            t.enter(begin, call.id).exit(begin + whole, call.id);
        }
        t.enter(time(call.begin) + (call.calls - 1) * whole, call.id);
        entered.push(i);
    }
    while let Some(last) = entered.pop() {
        close(t, last);
    }
    message
}
