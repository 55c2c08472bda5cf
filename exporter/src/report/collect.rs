//! Builds a report from the facts: the question, its answer, and what else the page says.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use answers::answer::CauseId;
use answers::text::clean;
use answers::words::{seconds, times};
use trace_format::{ReadError, Recording, Source, Thread};

use super::answered::Answered;
use super::chart::{Chart, ChartBuilder};
use super::history::BEFORE_WINDOW;
use super::question::{Question, Wanted, latest, walk_of};
use super::recorder::recorder_report;
use super::sources::Sources;
use super::walk::{Counts, Walk};
use super::{MIN_ENDED_HANG, Report, ThreadCoverage};
use crate::facts::{Facts, Survey};
use crate::model::{Names, start_split};
use crate::names::names_of;
use crate::native::NativeStacks;
use crate::native_warnings::native_warnings;
use crate::words::thread_name;
use crate::{ExportError, MethodMap, Warning};

impl Report {
    /// Reads a recording. `file` is used in messages, and in the commands that the page lists.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn build(
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
    ) -> Result<Self, ExportError> {
        Self::with_symbols(file, recording, map, &[])
    }

    /// As [`Report::build`]; functions of native stacks are named by the files in the directories `symbols`.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn with_symbols(
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
        symbols: &[PathBuf],
    ) -> Result<Self, ExportError> {
        build(file, recording, map, symbols, None)
    }

    /// As [`Report::with_symbols`], where facts and survey were read already.
    pub(crate) fn of_facts(
        file: &Path,
        facts: &Facts<'_>,
        survey: &Survey,
        map: &MethodMap,
        symbols: &[PathBuf],
    ) -> Result<Self, ExportError> {
        let placed = ExportError::reading(file);
        let (names, warnings) = names_of(file, facts.recording, map);
        let mut walk = walk_of(facts, &names);
        if let Some(main) = facts.main() {
            walk.run(main).map_err(placed)?;
        }
        answered(file, facts, (&names, warnings), survey, walk, symbols, Wanted::Worst)
    }

    /// The report on the last stall of main: the last message, or call outside of messages, that took at least
    /// `least` ns, or what main has been in for 2 s or more at the end. Earlier hangs and their ANRs are left out.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn latest_stall(
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
        least: u64,
    ) -> Result<Self, ExportError> {
        build(file, recording, map, &[], Some(least))
    }

    /// A chart of what main did in the hang and the 10 s before it, or in the last 10 s.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn chart(
        &self,
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
    ) -> Result<Chart, ExportError> {
        let placed = ExportError::reading(file);
        let names = Names::of(recording, map);
        let facts = Facts::of(recording).map_err(placed)?;
        let (since, to) = self.hang.as_ref().map_or((self.end, self.end), |h| (h.since, h.until));
        let from = since.saturating_sub(BEFORE_WINDOW).max(self.first.min(since));
        let mut walk = Walk::new(&facts, &names);
        walk.chart = Some(ChartBuilder::new(from, to));
        if let Some(main) = facts.main() {
            walk.run(main).map_err(placed)?;
        }
        Ok(walk.into_chart())
    }
}

/// Reads a recording, for the last hang of at least this length, ns, or else the worst.
fn build(
    file: &Path,
    recording: &Recording<dyn Source + '_>,
    map: &MethodMap,
    symbols: &[PathBuf],
    least: Option<u64>,
) -> Result<Report, ExportError> {
    let placed = ExportError::reading(file);
    let (names, warnings) = names_of(file, recording, map);
    let mut facts = Facts::of(recording).map_err(placed)?;
    let mut wanted = Wanted::Worst;
    if let Some(least) = least {
        let latest = latest(&facts, &names, least).map_err(placed)?;
        // ANRs of earlier hangs are not about this one.
        let within = |at: u64| latest.is_some_and(|latest| (latest.since..=latest.until).contains(&at));
        facts.incidents.anrs.retain(|anr| within(anr.detected));
        facts.incidents.captures.retain(|capture| within(capture.at));
        wanted = Wanted::Latest(latest);
    }
    let mut walk = walk_of(&facts, &names);
    let survey = walk.survey().map_err(placed)?;
    answered(file, &facts, (&names, warnings), &survey, walk, symbols, wanted)
}

/// The report that answers the question about what was read; `walk` is the one over main.
fn answered<'a>(
    file: &Path,
    facts: &'a Facts<'a>,
    (names, mut warnings): (&'a Names<'a>, Vec<Warning>),
    survey: &'a Survey,
    walk: Walk<'a>,
    symbols: &[PathBuf],
    wanted: Wanted,
) -> Result<Report, ExportError> {
    let placed = ExportError::reading(file);
    let native = NativeStacks::of(facts, names, symbols).map_err(placed)?;
    let sources = &Sources { facts, names, survey, native: &native, last_chains: RefCell::default() };
    let question = Question::of(sources, walk, wanted).map_err(placed)?;
    if question.walk.lost > 0 {
        warnings.push(Warning::Lost { words: question.walk.lost });
    }
    warnings.extend(Warning::of_skipped(file, &facts.all_skipped(survey)));
    warnings.extend(native_warnings(file, &native));
    let answered = Answered::of(sources, &question).map_err(placed)?;
    let mut report = assembled(sources, question, answered).map_err(placed)?;
    report.file = file.display().to_string();
    report.warnings = warnings;
    Ok(report)
}

/// Everything that a page says, without the file's name and the warnings.
fn assembled(sources: &Sources<'_>, question: Question<'_>, answered: Answered) -> Result<Report, ReadError> {
    let Sources { facts, names, survey, .. } = *sources;
    let Question { walk, at, end, idle, .. } = question;
    let Answered { hang, mut answer, at_start, if_due, observed, native, preference_writes } = answered;
    let (recording, incidents) = (facts.recording, &facts.incidents);
    let (header, threads) = (recording.header(), recording.threads());
    let first = threads.iter().map(Thread::first_time).filter(|t| *t > 0).min().unwrap_or(end);
    let until = hang.as_ref().map_or(end, |hang| hang.since);
    let (from, to) = match (&hang, at) {
        (Some(hang), _) => (hang.since, hang.until),
        (None, at) => (at.unwrap_or(end), end),
    };
    let has_question =
        hang.is_some() || !incidents.anrs.is_empty() || observed.others.is_some() || observed.hung;
    let posters = match answer.cause.id {
        CauseId::MessageStorm => sources.chains(observed.noticed)?.storm(),
        _ => None,
    };
    let coverage = coverage(facts, survey, end);
    if !has_question {
        answer.not_shown = not_recorded(&coverage);
    }
    Ok(Report {
        preference_writes,
        posters,
        file: String::new(),
        process: clean(&header.process_name).into_owned(),
        pid: header.pid,
        system: facts.system(),
        foreground: facts.sections.snapshot(from, to).and_then(|snapshot| snapshot.foreground),
        start: header.start,
        first,
        end,
        state: header.state,
        before: walk.before(until.saturating_sub(BEFORE_WINDOW).max(first.min(until)), until),
        open: if at.is_some() { walk.at_unit.clone() } else { walk.unit() },
        cause: has_question.then(|| answer.cause.clone()),
        answer,
        at_start,
        idle: idle.map(|(_, idle)| idle).filter(|_| !has_question),
        if_due: if_due.filter(|_| !has_question),
        native,
        device: observed.share,
        start_split: start_split(facts, names, &facts.sections.starts)?,
        starts: facts.sections.starts.clone(),
        profiles: facts.sections.profiles.clone(),
        slowest: walk.slowest(until),
        long_call: if walk.has_messages() { None } else { walk.long_calls.longest },
        waits: walk.waits.0,
        coverage,
        counts: counts(facts, survey, walk.counts),
        recorder: recorder_report(recording, &facts.recorder, names, &survey.events, end),
        notices: notices(facts),
        anrs: incidents.anrs.clone(),
        captures: incidents.captures.clone(),
        signals: incidents.counters,
        hang,
        warnings: Vec::new(),
    })
}

fn coverage(facts: &Facts<'_>, survey: &Survey, end: u64) -> Vec<ThreadCoverage> {
    let pauses = facts.recorder.pauses();
    let threads = facts.recording.threads().iter().zip(&survey.coverage_builder);
    let coverage = threads.map(|(thread, builder)| ThreadCoverage {
        name: thread_name(thread),
        tid: thread.tid,
        main: thread.main,
        coverage: builder.finish(thread, end, &pauses),
    });
    coverage.filter(|thread| thread.coverage.lived() > 0).collect()
}

/// The thread that may have hung although nothing says so, since most is missing of its time; `None` if no thread may have.
fn not_recorded(coverage: &[ThreadCoverage]) -> Option<String> {
    let missing = |thread: &&ThreadCoverage| thread.coverage.lived() - thread.coverage.recorded;
    let mut may_hang: Vec<_> = coverage.iter().filter(|thread| missing(thread) >= MIN_ENDED_HANG).collect();
    may_hang.sort_by_key(|thread| Reverse(missing(thread)));
    let (first, others) = may_hang.split_first()?;
    let besides = match others.len() as u64 {
        0 => String::new(),
        more => format!(", and as much of {}", times(more, "other thread")),
    };
    let (missing, lived) = (seconds(missing(first)), seconds(first.coverage.lived()));
    let name = clean(&first.name);
    Some(format!("what \"{name}\" did in {missing} of its {lived}, which are not recorded{besides}"))
}

fn counts(facts: &Facts<'_>, survey: &Survey, of_main: Counts) -> Counts {
    let threads = facts.recording.threads();
    Counts {
        threads: threads.len() as u64,
        words: threads.iter().map(Thread::words).sum(),
        events: survey.events.iter().sum(),
        frame_metrics_dropped: survey.frames.metrics_dropped,
        overwritten: threads.iter().fold(0, |sum, t| sum.saturating_add(t.overwritten())),
        ..of_main
    }
}

fn notices(facts: &Facts<'_>) -> Vec<(u64, String)> {
    let texts = facts.recording.texts();
    let notices = facts.incidents.notices.iter();
    notices.filter_map(|(at, id)| Some((*at, clean(texts.get(*id)?).into_owned()))).collect()
}
