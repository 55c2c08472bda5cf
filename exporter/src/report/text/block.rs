//! The answer as rows: what main does, who owns the lock, the message, and what to do.

use answers::answer::{Answer, CauseId, Conclusion, MAX_OWNERS, Owner};
use answers::text::clean;
use answers::words::{rounded, seconds, times};

use super::super::why::posted;
use super::super::{Busy, Hang, MIN_ENDED_HANG, Report, WaitFact};
use super::names::Names;
use super::wrap::Row;
use crate::facts::{Unit, UnitKind};

/// Maximum number of facts listed.
const EVIDENCE: usize = 3;

pub(super) fn rows(r: &Report, names: &mut Names) -> Vec<Row> {
    if r.answer.conclusion == Conclusion::NoHang {
        return no_hang(r, names);
    }
    let answer = &r.answer;
    let wait = r.hang.as_ref().and_then(|hang| Some((hang, main_wait(hang)?)));
    let mut rows = vec![(first_label(answer), main(r, wait, names))];
    if let Some(why) = r.hang.as_ref().and_then(|hang| hang.why.as_ref()) {
        rows.push(("Why", why.lines.iter().map(|line| names.text(line)).collect()));
    }
    if let Some(posters) = &r.posters {
        rows.push(("Posted by", vec![names.text(&posted(posters, "of main's looper"))]));
    }
    rows.extend(answer.deadlock().map(|names| ("Deadlock", vec![names])));
    for (at, owner) in answer.owners.iter().take(MAX_OWNERS).enumerate() {
        let label = if at == 0 { "Lock owner" } else { "Its owner" };
        let next = answer.owners.get(at + 1).map(|next| next.lock.clone());
        let recorded = wait.and_then(|(_, wait)| wait.owner.as_ref()?.waits_for.as_ref());
        let recorded = recorded.filter(|_| at == 0).map(|waited| Some(waited.lock.clone()));
        let of_cycle = answer.cycle.contains(&owner.thread).then_some(None);
        rows.push((label, vec![owns(owner, next.or(recorded).or(of_cycle), names)]));
    }
    rows.extend(messages(r, names));
    let evidence = evidence(r, wait.is_some(), names);
    if !evidence.is_empty() {
        rows.push(("Evidence", evidence));
    }
    rows.extend(answer.not_shown.clone().map(|what| ("Not shown", vec![what])));
    rows.push(("What to do", vec![names.bare(&answer.advice())]));
    rows
}

/// The message that main was in; no other thread runs messages.
fn messages(r: &Report, names: &mut Names) -> Vec<Row> {
    let answer = &r.answer;
    if !answer.thread.main {
        return Vec::new();
    }
    let mut rows = Vec::new();
    if let Some(unit) = r.hang.as_ref().and_then(|hang| hang.unit.as_ref()) {
        rows.push(("Message", vec![message(unit, names)]));
        rows.extend(component(r).map(|line| ("Component", vec![line])));
    } else if let Some(unit) = r.open.as_ref().filter(|_| r.hang.is_none() && !r.anrs.is_empty()) {
        let since = r.moment(unit.since);
        rows.push(("Message", vec![format!("{}, since {since}", message(unit, names))]));
    } else if r.hang.is_some() {
        rows.push(("Message", vec!["not recorded".to_owned()]));
    } else if matches!(answer.cause.id, CauseId::MessageStorm | CauseId::Recovered) {
        let before = answer.root.iter().map(|root| names.message(&clean(&root.name)));
        rows.push(("Message", before.map(|name| format!("{name}, most of the time before")).collect()));
    }
    rows
}

fn first_label(answer: &Answer) -> &'static str {
    match (answer.span.is_some(), answer.thread.main) {
        (true, true) => "Main thread",
        (true, false) => "Thread",
        (false, _) => "Finding",
    }
}

/// What main does, since when, and what it calls.
fn main(r: &Report, wait: Option<(&Hang, &WaitFact)>, names: &mut Names) -> Vec<String> {
    let answer = &r.answer;
    // A message has its own row, which does not say what it is in.
    let is_whole = answer.mostly.is_none() && answer.around.is_none();
    let is_message = answer.root.as_ref().is_some_and(|root| Some(&root.name) == answer.message.as_ref());
    let root = answer.place().filter(|_| !(is_message && is_whole)).map(|place| names.text(&place));
    let mut lines = Vec::new();
    let mut percent = None;
    match (wait, root) {
        (Some((hang, wait)), root) => {
            let root = root.unwrap_or_else(|| answer.thread.name.clone());
            lines.push(format!("{root} {}", waits(wait)));
            let whole = hang.at.saturating_sub(hang.since).max(1);
            let part = u128::from(hang.at.saturating_sub(wait.since.max(hang.since)));
            // A share of 99.9 % is displayed as 100 %.
            percent = Some(((part * 100 + u128::from(whole) / 2) / u128::from(whole)).min(100));
        }
        (None, Some(root)) if answer.span.is_some() => {
            lines.push(root);
            lines.push(finding(r, names));
        }
        (None, _) => lines.push(finding(r, names)),
    }
    if let Some(hang) = &r.hang {
        let day = r.time_of_day(hang.since).and_then(|at| Some(format!(" ({})", at.get(11..)?)));
        let before = if hang.began_before() { "before " } else { "" };
        let share = percent.map_or_else(String::new, |percent| format!(", {percent} % of the hang"));
        lines.push(format!("since {before}{}{}{share}", r.moment(hang.since), day.unwrap_or_default()));
        let called = hang.busy.as_ref().and_then(Busy::called);
        lines.extend(called.map(|called| names.text(&format!("calls {called}"))));
    }
    lines
}

/// The wait that main is in, if it takes half of the hang or more.
pub(super) fn main_wait(hang: &Hang) -> Option<&WaitFact> {
    let half = hang.at.saturating_sub(hang.since) / 2;
    hang.wait.as_ref().filter(|wait| hang.at.saturating_sub(wait.since) >= half)
}

/// What main waits for, following the method's name.
pub(super) fn waits(wait: &WaitFact) -> String {
    let phrases = wait.kind.phrases();
    let object = || format!("{} {}", phrases.does, wait.waited().object());
    if phrases.has_object { object() } else { phrases.does.to_owned() }
}

fn finding(r: &Report, names: &mut Names) -> String {
    let finding = r.answer.finding();
    let finding = if r.hang.is_some() && r.answer.is_known() {
        finding.strip_prefix("main ").unwrap_or(finding)
    } else {
        finding
    };
    let unknown = if r.answer.is_known() { "" } else { "nothing recorded says why: " };
    format!("{unknown}{}", names.text(&clean(finding)))
}

/// The facts that no other row has.
fn evidence(r: &Report, waits: bool, names: &mut Names) -> Vec<String> {
    let cpu = r.hang.as_ref().is_some_and(|hang| hang.cpu.is_some());
    let finding = r.answer.finding();
    let listed = |text: &str| {
        let sampled = [text, finding].iter().all(|text| text.contains("samples of main's stack"));
        sampled && text.rsplit(' ').next() == finding.rsplit(' ').next()
            || text.contains("calls too short to record")
            || text.starts_with("owned by ")
            || text.contains(" was open for ")
            || cpu && text.starts_with("main was running for ")
            || waits && text.ends_with("of the hang)")
    };
    let facts = r.answer.cause.evidence.iter().skip(1).filter(|fact| !listed(&fact.text));
    let lines = facts.take(EVIDENCE).map(|fact| {
        let at = fact.at.map_or_else(String::new, |at| format!("{}: ", r.moment(at)));
        format!("{at}{}", names.text(&clean(&fact.text)))
    });
    lines.collect()
}

/// What an owner does with the lock; `waits`: the lock that it waits for itself, if known.
fn owns(owner: &Owner, waits: Option<Option<String>>, names: &mut Names) -> String {
    let who = format!("\"{}\" (tid {})", owner.thread, owner.tid);
    let place = owner.root.as_ref().map(|root| names.bare(&root.title()));
    if let Some(lock) = waits {
        let at = place.map_or_else(String::new, |place| format!(" in {place}"));
        let lock =
            lock.map_or_else(|| "a lock of the cycle".to_owned(), |lock| format!("the lock of {lock}"));
        return format!("{who} itself waits for {lock}{at}");
    }
    let innermost = owner.stack.first().filter(|line| owner.root.as_ref() != Some(&line.site));
    let inner = innermost.map(|line| names.bare(&line.site.name));
    let place = [place, inner].into_iter().flatten().collect::<Vec<_>>().join(" > ");
    let open = owner.stack.iter().find(|line| line.own).and_then(|line| line.open_ns);
    let open = open.map_or_else(String::new, |ns| format!(", for {} so far", rounded(ns)));
    match (&*place, &*owner.activity) {
        ("", activity) => format!("{who} owns it: {activity}"),
        (place, "running") => format!("{who} owns it while it runs {place}{open}"),
        (place, "unknown") => format!("{who} owns it while in {place}{open}"),
        (place, activity) => format!("{who} owns it while in {place} ({activity}){open}"),
    }
}

/// The component that the message runs, with its package as in the manifest, and how long the system lets it.
fn component(r: &Report) -> Option<String> {
    let hang = r.hang.as_ref()?;
    Some(hang.component.as_ref()?.words(hang.duration()))
}

/// What main was in, a message or not.
fn message(unit: &Unit, names: &mut Names) -> String {
    let name = clean(&unit.name);
    if unit.kind != UnitKind::Message {
        return format!("none; main was in {}", names.text(&name));
    }
    names.message(&name)
}

/// What was recorded if nothing hung.
fn no_hang(r: &Report, names: &mut Names) -> Vec<Row> {
    let main = match (&r.open, r.counts.messages + r.counts.not_queued) {
        (Some(open), _) => {
            let took = seconds(r.end.saturating_sub(open.since));
            format!("in {} at the end, for {took} so far", names.text(&clean(&open.name)))
        }
        (None, 0) if r.end.saturating_sub(r.first) < MIN_ENDED_HANG => {
            let took = seconds(r.end.saturating_sub(r.first));
            format!("ran no message; {took} recorded, too short for a call or wait of 5 s to show")
        }
        (None, 0) if r.long_call.is_none() && r.waits.iter().all(|wait| wait.duration < MIN_ENDED_HANG) => {
            "ran no message; no wait, and no call inside its outermost one, took 5 s".to_owned()
        }
        (None, 0) => {
            let call = r.long_call.as_ref().map_or_else(String::new, |call| {
                let at = r.moment(call.since);
                format!("; in {} for {} at {at}", names.text(&clean(&call.name)), rounded(call.duration))
            });
            format!("ran no message, so how long a call or wait may take is not known{call}")
        }
        (None, n) => format!("ran {}, none of them long", times(n, "message")),
    };
    let mut rows = vec![("Main thread", vec![main])];
    if let Some(idle) = &r.idle {
        let (took, at) = (rounded(idle.duration), r.moment(idle.since));
        let place = names.text(&clean(&idle.place()));
        let long = format!("\"{}\" for {took} at {at}: {place}", clean(&idle.thread));
        let mut lines = vec![long, idle.condition().to_owned()];
        if let Some(answer) = &r.if_due {
            let root = answer.root.as_ref().map(|root| format!(", in {}", names.text(&root.title())));
            lines[1] += &format!(": {}{}", answer.cause_title(), root.unwrap_or_default());
        }
        rows.push((if idle.computes { "Busy" } else { "Idle" }, lines));
    }
    rows.extend(r.answer.not_shown.clone().map(|what| ("Not shown", vec![what])));
    if let Some(answer) = &r.at_start {
        let dumped = format!("{}, by a thread dump: {}", answer.thread.name, answer.cause_title());
        let root = answer.root.as_ref().map(|root| names.text(&root.title()));
        let lines = [Some(names.bare(&dumped)), Some(names.text(answer.finding())), root];
        rows.push(("At the start", lines.into_iter().flatten().collect()));
    }
    rows
}
