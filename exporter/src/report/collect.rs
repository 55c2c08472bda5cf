//! Gathers the facts of a report: the service ring, then main once, then the holder of its lock.

use std::path::Path;

use trace_format::verdict::{Outcome, Verdict};
use trace_format::{ReadError, Recording, Source, Thread};

use super::busy::busy;
use super::cause::{self, Cause};
use super::chart::{Chart, ChartBuilder};
use super::findings::{Report, ThreadCoverage};
use super::hang::{Hang, LONG_HANG, hang, middle, open_at_end, wait_sums, worst};
use super::history::BEFORE;
use super::recorder::recorder_report;
use super::walk::{Counts, Walk};
use super::words::thread_name;
use crate::export::names_of;
use crate::facts::{Facts, last_moment, reasons_text};
use crate::text::clean;
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
    let mut facts = Facts::of(recording).map_err(placed)?;
    let survey = facts.survey().map_err(placed)?;
    let facts = facts;
    let incidents = &facts.incidents;
    let worst = worst(&incidents.anrs);
    let main = facts.main();
    let asked = worst.map(|anr| anr.detected);
    let end = last_moment(recording, survey.last.iter().copied().chain(asked));
    // An ANR that is no hang, or another process's, is asked for too: what was main in then?
    let others = incidents.captures.iter().find(|c| c.verdict.as_ref().is_some_and(of_others)).map(|c| c.at);
    let at = incidents.anrs.iter().map(|anr| anr.detected).next_back().or(others);
    let mut walk = Walk::new(&facts, &names);
    walk.at = at;
    if let Some(main) = main {
        walk.run(main, asked).map_err(placed)?;
    }
    let ended = walk.longest(LONG_HANG).filter(|_| worst.is_none() && open_at_end(&walk, end).is_none());
    let ended = ended.filter(|ended| at.is_none_or(|at| (ended.since..=ended.until).contains(&at)));
    if let (Some(ended), Some(main)) = (ended, main) {
        // Known only now: once more, to what main was in then.
        let mut again = Walk::new(&facts, &names);
        again.at = at;
        again.run(main, Some(middle(ended))).map_err(placed)?;
        walk = again;
    }

    let mut warnings: Vec<Warning> = name_warning.into_iter().collect();
    warnings.extend(Warning::of_recording(file, recording));
    let header = recording.header();
    if walk.lost > 0 {
        warnings.push(Warning::Lost { words: walk.lost });
    }
    warnings.extend(Warning::of_skipped(file, facts.skipped()));
    let recorder = &facts.recorder;
    let open_at_the_end = walk.unit();
    let mut hang = hang(&facts, &names, &walk, worst, ended, end).map_err(placed)?;
    if let (Some(hang), Some(main)) = (&mut hang, main) {
        // The last look is taken right after main went on.
        let until = if hang.ended { hang.until.saturating_add(LOOK_AFTER) } else { hang.until };
        hang.processor = recorder.processor(main.tid, hang.since, until);
        hang.busy = busy(&facts, &names, main, hang.since, hang.until).map_err(placed)?;
        hang.standstill = recorder.standstills.within(hang.since, hang.until);
    }
    let cause = cause(&facts, &walk, hang.as_ref(), end).map_err(placed)?;
    let until = hang.as_ref().map_or(end, |h| h.since);
    let threads = recording.threads();
    let pauses = recorder.pauses();
    let coverage = threads.iter().zip(&survey.covering).map(|(thread, covering)| ThreadCoverage {
        name: thread_name(thread),
        tid: thread.tid,
        main: thread.main,
        coverage: covering.finish(thread, end, &pauses),
    });
    let first = threads.iter().map(Thread::first_time).filter(|t| *t > 0).min().unwrap_or(end);
    let (from, to) = match (&hang, at) {
        (Some(hang), _) => (hang.since, hang.until),
        (None, at) => (at.unwrap_or(end), end),
    };
    Ok(Report {
        process: clean(&header.process_name).into_owned(),
        pid: header.pid,
        system: facts.system(),
        foreground: facts.sections.snapshot(from, to).and_then(|snapshot| snapshot.foreground),
        start: header.start,
        first,
        end,
        state: header.state,
        before: walk.before(until.saturating_sub(BEFORE).max(first.min(until)), until),
        open: if at.is_some() { walk.at_unit.clone() } else { open_at_the_end },
        cause,
        starts: facts.sections.starts.clone(),
        profiles: facts.sections.profiles.clone(),
        slowest: walk.slowest(until),
        waits: walk.waits.into_vec(),
        coverage: coverage.filter(|thread| thread.coverage.lived() > 0).collect(),
        counts: Counts {
            threads: threads.len() as u64,
            words: threads.iter().map(Thread::words).sum(),
            overwritten: threads.iter().fold(0, |sum, t| sum.saturating_add(t.overwritten())),
            ..walk.counts
        },
        recorder: recorder_report(recording, recorder, &names, &survey.events, end),
        notices: incidents
            .notices
            .iter()
            .filter_map(|(at, id)| Some((*at, clean(recording.texts().get(*id)?).into_owned())))
            .collect(),
        anrs: incidents.anrs.clone(),
        captures: incidents.captures.clone(),
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
    let placed = |source| ExportError::Recording { file: file.to_owned(), source };
    let (names, _) = names_of(file, recording, map);
    let facts = Facts::of(recording).map_err(placed)?;
    let (since, to) = report.hang.as_ref().map_or((report.end, report.end), |h| (h.since, h.until));
    let from = since.saturating_sub(BEFORE).max(report.first.min(since));
    let mut walk = Walk::new(&facts, &names);
    walk.chart = Some(ChartBuilder::new(from, to));
    if let Some(main) = facts.main() {
        walk.run(main, None).map_err(placed)?;
    }
    Ok(walk.into_chart())
}

/// Why main did not come back. Asked where it did not, and where the system asked.
fn cause<S: Source>(
    recorded: &Facts<'_, S>,
    walk: &Walk<'_, S>,
    hang: Option<&Hang>,
    end: u64,
) -> Result<Option<Cause>, ReadError> {
    let (recording, incidents) = (recorded.recording, &recorded.incidents);
    let others = incidents.captures.iter().find_map(|capture| {
        let verdict = capture.verdict.as_ref().filter(|v| of_others(v))?;
        Some((capture.at, reasons_text(verdict)))
    });
    if hang.is_none() && incidents.anrs.is_empty() && others.is_none() {
        return Ok(None);
    }
    let detected = incidents.anrs.iter().map(|anr| anr.detected).next_back();
    let asked = hang.map(|h| h.at).or(detected).or(others.as_ref().map(|(at, _)| *at)).unwrap_or(end);
    let mut facts = cause::Facts::new(asked, !incidents.anrs.is_empty(), others);
    if let Some(hang) = hang {
        facts.set_hang(hang);
        facts.set_waits(wait_sums(recording, walk, hang));
    }
    facts.set_before(walk.before(asked.saturating_sub(STORM_WINDOW), asked));
    facts.set_unit(walk.at_unit.clone());
    facts.set_events(walk.history.events, walk.history.last);
    // What main used of the processor is told of the whole hang, whenever somebody noticed.
    let until = hang.map_or(asked, |h| h.until).max(asked).saturating_add(LOOK_AFTER);
    let looks = recorded.main().map_or_else(Vec::new, |main| recorded.recorder.looks(main.tid));
    facts.set_looks(&looks, until);
    facts.set_slept(&recorded.clocks, until);
    facts.set_left(recorded, until)?;
    Ok(Some(Cause::of(&facts)))
}

fn of_others(verdict: &Verdict) -> bool {
    verdict.outcome == Outcome::SomebodyElses
}
