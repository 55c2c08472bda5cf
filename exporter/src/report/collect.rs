//! Gathers the facts of a report: the service ring, then main once, then the holder of its lock.

use std::path::Path;

use trace_format::verdict::Outcome;
use trace_format::{Item, ReadError, Recording, Source, Thread};

use super::cause::{Cause, Facts};
use super::chart::{Chart, ChartBuilder};
use super::findings::Report;
use super::hang::{Hang, hang, wait_sums, worst};
use super::history::BEFORE;
use super::recorder::recorder_report;
use super::sections::Sections;
use super::walk::{Counts, Walk};
use crate::export::names_of;
use crate::model::{Incidents, Names, RecorderFacts, clean, last_moment, reasons_text, starts};
use crate::{ExportError, MethodMap, Warning};

/// A look at main this long after its hang still belongs to it, ns.
const LOOK_AFTER: u64 = 50_000_000;
/// How far back a storm of messages is looked for, ns.
const STORM_WINDOW: u64 = 5_000_000_000;

pub(super) fn build<S: Source>(
    file: &Path,
    recording: &Recording<S>,
    map: &MethodMap,
) -> Result<Report, ExportError> {
    let placed = |source| ExportError::Recording { file: file.to_owned(), source };
    let (names, name_warning) = names_of(file, recording, map);
    let incidents = Incidents::of(recording).map_err(placed)?;
    let worst = worst(&incidents.anrs);
    let main = recording.threads().iter().find(|t| t.main);
    let asked = worst.map(|anr| anr.detected);
    let (walk, events, end) = read(recording, &names, main, asked).map_err(placed)?;

    let mut warnings: Vec<Warning> = name_warning.into_iter().collect();
    warnings.extend(Warning::of_recording(file, recording));
    let header = recording.header();
    if header.dropped > 0 {
        warnings.push(Warning::Dropped { events: header.dropped });
    }
    if walk.lost > 0 {
        warnings.push(Warning::Lost { words: walk.lost });
    }
    let facts = RecorderFacts::of(recording).map_err(placed)?;
    let mut hang = hang(recording, &names, &walk, worst, end).map_err(placed)?;
    if let (Some(hang), Some(main)) = (&mut hang, main) {
        // The last look is taken right after main went on.
        let until = if hang.ended { hang.until.saturating_add(LOOK_AFTER) } else { hang.until };
        hang.processor = facts.processor(main.tid, hang.since, until);
    }
    let sections = Sections::of(recording).map_err(placed)?;
    let cause =
        cause(recording, &walk, &incidents, hang.as_ref(), main, &facts, &sections, end).map_err(placed)?;
    let until = hang.as_ref().map_or(end, |h| h.since);
    let (starts, _) = starts(recording).map_err(placed)?;
    let threads = recording.threads();
    let first = threads.iter().map(Thread::first_time).filter(|t| *t > 0).min().unwrap_or(end);
    Ok(Report {
        process: clean(&header.process_name).into_owned(),
        pid: header.pid,
        start: header.start,
        first,
        end,
        state: header.state,
        before: walk.history.between(
            until.saturating_sub(BEFORE).max(first.min(until)),
            until,
            recording.texts(),
        ),
        cause,
        starts,
        profiles: sections.profiles,
        slowest: walk.slowest(until),
        waits: walk.waits.into_vec(),
        counts: Counts {
            threads: threads.len() as u64,
            words: threads.iter().map(Thread::words).sum(),
            overwritten: threads.iter().fold(0, |sum, t| sum.saturating_add(t.overwritten())),
            ..walk.counts
        },
        recorder: recorder_report(recording, &facts, &names, &events, end),
        notices: incidents
            .notices
            .iter()
            .filter_map(|(at, id)| Some((*at, clean(recording.texts().get(*id)?).into_owned())))
            .collect(),
        anrs: incidents.anrs,
        captures: incidents.captures,
        signals: incidents.counters,
        hang,
        warnings,
    })
}

/// Main's slices in the hang and before it.
pub(super) fn chart<S: Source>(
    file: &Path,
    recording: &Recording<S>,
    map: &MethodMap,
    report: &Report,
) -> Result<Chart, ExportError> {
    let (names, _) = names_of(file, recording, map);
    let (since, to) = report.hang.as_ref().map_or((report.end, report.end), |h| (h.since, h.until));
    let from = since.saturating_sub(BEFORE).max(report.first.min(since));
    let mut walk = Walk::new(recording, &names);
    walk.chart = Some(ChartBuilder::new(from, to));
    if let Some(main) = recording.threads().iter().find(|t| t.main) {
        walk.run(main, None).map_err(|source| ExportError::Recording { file: file.to_owned(), source })?;
    }
    Ok(walk.into_chart())
}

/// Why main did not come back. Asked where it did not, and where the system asked.
#[expect(clippy::too_many_arguments, reason = "all that was read")]
fn cause<S: Source>(
    recording: &Recording<S>,
    walk: &Walk<'_, S>,
    incidents: &Incidents,
    hang: Option<&Hang>,
    main: Option<&Thread>,
    recorder: &RecorderFacts,
    sections: &Sections,
    end: u64,
) -> Result<Option<Cause>, ReadError> {
    let others = incidents.captures.iter().find_map(|capture| {
        let verdict = capture.verdict.as_ref().filter(|v| v.outcome == Outcome::SomebodyElses)?;
        Some((capture.at, reasons_text(verdict)))
    });
    if hang.is_none() && incidents.anrs.is_empty() && others.is_none() {
        return Ok(None);
    }
    let detected = incidents.anrs.iter().map(|anr| anr.detected).next_back();
    let asked = hang.map(|h| h.at).or(detected).or(others.as_ref().map(|(at, _)| *at)).unwrap_or(end);
    let mut facts = Facts::new(asked, !incidents.anrs.is_empty(), others);
    if let Some(hang) = hang {
        facts.set_hang(hang);
        facts.set_waits(wait_sums(recording, walk, hang));
    }
    facts.set_before(walk.history.between(asked.saturating_sub(STORM_WINDOW), asked, recording.texts()));
    facts.set_events(walk.history.events, walk.history.last);
    // What main used of the processor is told of the whole hang, whenever somebody noticed.
    let until = hang.map_or(asked, |h| h.until).max(asked).saturating_add(LOOK_AFTER);
    facts.set_looks(&main.map_or_else(Vec::new, |main| recorder.looks(main.tid)), until);
    facts.set_slept(&recording.clocks()?, until);
    facts.set_sections(sections, until, recording.header().pid);
    Ok(Some(Cause::of(&facts)))
}

fn read<'a, S: Source>(
    recording: &'a Recording<S>,
    names: &'a Names<'a>,
    main: Option<&'a Thread>,
    asked: Option<u64>,
) -> Result<(Walk<'a, S>, Vec<u64>, u64), ReadError> {
    let mut walk = Walk::new(recording, names);
    let mut events = Vec::new();
    let mut last = vec![asked.unwrap_or(0)];
    for thread in recording.threads() {
        if main.is_some_and(|m| m.uid == thread.uid) {
            walk.run(thread, asked)?;
            last.push(walk.now);
            events.push(walk.events);
            continue;
        }
        let (mut now, mut count) = (0, 0);
        for item in recording.events(thread) {
            if let Item::Event { time, .. } = item? {
                now = time;
                count += 1;
            }
        }
        last.push(now);
        events.push(count);
    }
    Ok((walk, events, last_moment(recording, last.into_iter())))
}
