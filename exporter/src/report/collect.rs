//! Gathers the facts of a report: the service ring, then main once, then the holder of its lock.

use std::path::Path;

use trace_format::verdict::{Outcome, Verdict};
use trace_format::{Item, ReadError, Recording, Source, Thread};

use super::busy::busy;
use super::cause::{Cause, Facts};
use super::chart::{Chart, ChartBuilder};
use super::findings::{Report, ThreadCoverage};
use super::hang::{Hang, LONG_HANG, hang, middle, open_at_end, wait_sums, worst};
use super::history::BEFORE;
use super::recorder::recorder_report;
use super::sections::Sections;
use super::walk::{Counts, Walk};
use super::words::thread_name;
use crate::export::names_of;
use crate::model::{Covering, Incidents, Names, RecorderFacts, clean, last_moment, reasons_text, starts};
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
    // An ANR that is no hang, or another process's, is asked for too: what was main in then?
    let others = incidents.captures.iter().find(|c| c.verdict.as_ref().is_some_and(of_others)).map(|c| c.at);
    let at = incidents.anrs.iter().map(|anr| anr.detected).next_back().or(others);
    let Read { mut walk, events, covering, end } =
        read(recording, &names, main, asked, at).map_err(placed)?;
    let ended = walk.longest(LONG_HANG).filter(|_| worst.is_none() && open_at_end(&walk, end).is_none());
    let ended = ended.filter(|ended| at.is_none_or(|at| (ended.since..=ended.until).contains(&at)));
    if let (Some(ended), Some(main)) = (ended, main) {
        // Known only now: once more, to what main was in then.
        let mut again = Walk::new(recording, &names);
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
    let facts = RecorderFacts::of(recording).map_err(placed)?;
    let sections = Sections::of(recording).map_err(placed)?;
    let open_at_the_end = walk.unit();
    let mut hang = hang(recording, &names, &walk, &sections, worst, ended, end).map_err(placed)?;
    if let (Some(hang), Some(main)) = (&mut hang, main) {
        // The last look is taken right after main went on.
        let until = if hang.ended { hang.until.saturating_add(LOOK_AFTER) } else { hang.until };
        hang.processor = facts.processor(main.tid, hang.since, until);
        hang.busy =
            busy(recording, &names, main, &facts.switches(), hang.since, hang.until).map_err(placed)?;
        hang.standstill = facts.standstills.within(hang.since, hang.until);
    }
    let cause =
        cause(recording, &walk, &incidents, hang.as_ref(), main, &facts, &sections, end).map_err(placed)?;
    let until = hang.as_ref().map_or(end, |h| h.since);
    let (starts, _) = starts(recording).map_err(placed)?;
    let threads = recording.threads();
    let pauses = facts.pauses();
    let coverage = threads.iter().zip(&covering).map(|(thread, covering)| ThreadCoverage {
        name: thread_name(thread),
        tid: thread.tid,
        main: thread.main,
        coverage: covering.finish(thread, end, &pauses),
    });
    let first = threads.iter().map(Thread::first_time).filter(|t| *t > 0).min().unwrap_or(end);
    Ok(Report {
        process: clean(&header.process_name).into_owned(),
        pid: header.pid,
        start: header.start,
        first,
        end,
        state: header.state,
        before: walk.before(until.saturating_sub(BEFORE).max(first.min(until)), until),
        open: if at.is_some() { walk.at_unit.clone() } else { open_at_the_end },
        cause,
        starts,
        profiles: sections.profiles,
        slowest: walk.slowest(until),
        waits: walk.waits.into_vec(),
        coverage: coverage.filter(|thread| thread.coverage.lived() > 0).collect(),
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
        let verdict = capture.verdict.as_ref().filter(|v| of_others(v))?;
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
    facts.set_before(walk.before(asked.saturating_sub(STORM_WINDOW), asked));
    facts.set_unit(walk.at_unit.clone());
    facts.set_events(walk.history.events, walk.history.last);
    // What main used of the processor is told of the whole hang, whenever somebody noticed.
    let until = hang.map_or(asked, |h| h.until).max(asked).saturating_add(LOOK_AFTER);
    facts.set_looks(&main.map_or_else(Vec::new, |main| recorder.looks(main.tid)), until);
    facts.set_slept(&recording.clocks()?, until);
    facts.set_sections(sections, until, recording.header().pid);
    Ok(Some(Cause::of(&facts)))
}

fn of_others(verdict: &Verdict) -> bool {
    verdict.outcome == Outcome::SomebodyElses
}

/// What the first pass over all threads finds.
struct Read<'a, S> {
    /// Main's.
    walk: Walk<'a, S>,
    /// How many events each thread has.
    events: Vec<u64>,
    /// How much of each thread's time is recorded.
    covering: Vec<Covering>,
    /// The last moment of the recording.
    end: u64,
}

fn read<'a, S: Source>(
    recording: &'a Recording<S>,
    names: &'a Names<'a>,
    main: Option<&'a Thread>,
    asked: Option<u64>,
    at: Option<u64>,
) -> Result<Read<'a, S>, ReadError> {
    let mut walk = Walk::new(recording, names);
    walk.at = at;
    let (mut events, mut covering) = (Vec::new(), Vec::new());
    let mut last = vec![asked.unwrap_or(0)];
    for thread in recording.threads() {
        if main.is_some_and(|m| m.uid == thread.uid) {
            walk.run(thread, asked)?;
            last.push(walk.now);
            events.push(walk.events);
            covering.push(walk.covering);
            continue;
        }
        let (mut now, mut count, mut covered) = (0, 0, Covering::default());
        for item in recording.events(thread) {
            if let Item::Event { time, .. } = item? {
                now = time;
                count += 1;
                covered.event(time);
            } else {
                covered.lost();
            }
        }
        last.push(now);
        events.push(count);
        covering.push(covered);
    }
    Ok(Read { walk, events, covering, end: last_moment(recording, last.into_iter()) })
}
