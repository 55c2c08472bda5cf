//! Builds a report from the facts: the service ring, one pass over main, then the owners of the lock that it
//! waits for.

use std::path::{Path, PathBuf};

use trace_format::event::WaitKind;
use trace_format::verdict::{Outcome, Verdict};
use trace_format::{Header, ReadError, Recording, Source, Thread};

use super::MIN_ENDED_HANG;
use super::busy::busy;
use super::chart::{Chart, ChartBuilder};
use super::findings::{Report, ThreadCoverage};
use super::hang::{Hang, hang, middle, open_at_end, wait_sums, worst};
use super::history::BEFORE_WINDOW;
use super::native::NativeReport;
use super::owners;
use super::question::Question;
use super::recorder::recorder_report;
use super::walk::{Counts, EndedUnit, Walk};
use super::why::{Chains, PreferenceWrites, STORM_WINDOW};
use crate::answer::native_summary::NativeSummary;
use crate::answer::observed::{Observed, cpu_time, sampled, slept};
use crate::answer::{Answer, CauseId, Evidence, HungThread, Span, SystemShare, WantedThread};
use crate::dump::Dump;
use crate::facts::{Facts, Incidents, Survey, Unit, last_moment, reasons_text};
use crate::model::{Names, start_split};
use crate::names::names_of;
use crate::native::NativeStacks;
use crate::native_warnings::native_warnings;
use crate::text::clean;
use crate::words::thread_name;
use crate::{ExportError, MethodMap, Warning};

/// Maximum delay after a hang of a poll of main's CPU time that still belongs to it, ns.
const MAX_POLL_DELAY: u64 = 50_000_000;
/// Maximum time from an ANR to the request of its dump, ns.
const MAX_DUMP_DELAY: u64 = 20_000_000_000;
/// Maximum time from an ANR to a native stack of main, ns.
const MAX_STACK_DELAY: u64 = 2_000_000_000;

/// What main is in while it waits for writes of SharedPreferences (AOSP `QueuedWork.java`, API 21 to 36).
const WAIT_TO_FINISH: &str = "android.app.QueuedWork.waitToFinish";

/// Which hang a report is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wanted {
    /// The worst one: of the longest ANR, else the one at the end, else the longest of 5 s or more.
    Worst,
    /// The last one that took at least this long, ns, or that main is still in.
    Latest(u64),
}

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
        build(file, recording, map, symbols, Wanted::Worst)
    }

    /// The report on the last stall of main: the last message, or call outside of messages, that took at least
    /// `least` ns, or what main has been in for 2 s or more at the end. Earlier hangs and their ANRs are left out.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn latest_stall<S: Source>(
        file: &Path,
        recording: &Recording<S>,
        map: &MethodMap,
        least: u64,
    ) -> Result<Self, ExportError> {
        build(file, recording, map, &[], Wanted::Latest(least))
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
        let (names, _) = names_of(file, recording, map);
        let facts = Facts::of(recording).map_err(placed)?;
        let (since, to) = self.hang.as_ref().map_or((self.end, self.end), |h| (h.since, h.until));
        let from = since.saturating_sub(BEFORE_WINDOW).max(self.first.min(since));
        let mut walk = Walk::new(&facts, &names);
        walk.chart = Some(ChartBuilder::new(from, to));
        if let Some(main) = facts.main() {
            walk.run(main, None).map_err(placed)?;
        }
        Ok(walk.into_chart())
    }
}

fn build<S: Source + ?Sized>(
    file: &Path,
    recording: &Recording<S>,
    map: &MethodMap,
    symbols: &[PathBuf],
    wanted: Wanted,
) -> Result<Report, ExportError> {
    let placed = ExportError::reading(file);
    let (names, name_warning) = names_of(file, recording, map);
    let mut facts = Facts::of(recording).map_err(placed)?;
    let survey = facts.survey().map_err(placed)?;
    let latest = match wanted {
        Wanted::Worst => None,
        Wanted::Latest(least) => latest(&facts, &names, &survey, least).map_err(placed)?,
    };
    if wanted != Wanted::Worst {
        // ANRs of earlier hangs are not about this one.
        let within = |at: u64| latest.is_some_and(|latest| (latest.since..=latest.until).contains(&at));
        facts.incidents.anrs.retain(|anr| within(anr.detected));
        facts.incidents.captures.retain(|capture| within(capture.at));
    }
    let facts = facts;
    let incidents = &facts.incidents;
    let worst = worst(&incidents.anrs);
    let main = facts.main();
    let requested = worst.map(|anr| anr.detected);
    let end = last_moment(recording, survey.last.iter().copied().chain(requested));
    // An ANR that is not a hang, or is another process's, needs an answer too: what was main in then?
    let others = others(incidents).map(|(at, _)| at);
    let at = incidents.anrs.iter().map(|anr| anr.detected).next_back().or(others);
    let mut walk = Walk::new(&facts, &names);
    walk.at = at;
    if let Some(main) = main {
        walk.run(main, requested).map_err(placed)?;
    }
    // Without messages, not only main may hang.
    let asks = !walk.has_messages() && worst.is_none();
    let question = if asks { Question::of(&facts, end).map_err(placed)? } else { None };
    let subject = question.as_ref().map(|question| question.thread).or(main);
    let ended = match (&question, wanted) {
        (Some(question), _) => Some(EndedUnit { since: question.since, until: question.until }),
        (None, Wanted::Worst) => walk.longest(MIN_ENDED_HANG),
        (None, Wanted::Latest(_)) => latest,
    };
    let open = match &question {
        Some(question) => (!question.ended).then_some(question.since),
        None => open_at_end(&walk, end),
    };
    let ended = ended.filter(|_| worst.is_none() && open.is_none());
    let ended = ended.filter(|ended| at.is_none_or(|at| (ended.since..=ended.until).contains(&at)));
    if let Some(subject) = subject.filter(|_| ended.is_some() || question.is_some()) {
        // Only known now: read the thread again, for what it was in then.
        let mut again = Walk::new(&facts, &names);
        again.at = at;
        again.run(subject, ended.map(middle)).map_err(placed)?;
        walk = again;
    }

    let mut warnings: Vec<Warning> = name_warning.into_iter().collect();
    warnings.extend(Warning::of_recording(file, recording));
    let header = recording.header();
    if walk.lost > 0 {
        warnings.push(Warning::Lost { words: walk.lost });
    }
    warnings.extend(Warning::of_skipped(file, facts.skipped()));
    let native = NativeStacks::of(&facts, &names, symbols).map_err(placed)?;
    warnings.extend(native_warnings(file, &native));
    let name_of = |tid: u32| {
        let thread = recording.threads().iter().find(|thread| thread.tid == tid);
        let known = || native.names.get(&tid).cloned().unwrap_or_else(|| format!("tid {tid}"));
        thread.map_or_else(known, thread_name)
    };
    let native_report = NativeReport::of(&native, &name_of);
    let recorder = &facts.recorder;
    let open_at_the_end = walk.unit();
    let mut hang = hang(&facts, &names, &walk, subject, worst, (open, ended), end).map_err(placed)?;
    if let (Some(hang), Some(main)) = (&mut hang, subject) {
        // The last poll comes right after main recovered.
        let until = if hang.ended { hang.until.saturating_add(MAX_POLL_DELAY) } else { hang.until };
        hang.cpu = recorder.cpu(main.tid, hang.since, until);
        hang.busy = busy(&facts, &names, main, hang.since, hang.until).map_err(placed)?;
        if hang.wait.is_some() {
            let chains = Chains::of(&facts, &names, hang.at).map_err(placed)?;
            hang.why = chains.why(main).map_err(placed)?;
        }
        hang.component =
            facts.sections.components.of_message(hang.since, hang.until, facts.sections.process.sdk);
        hang.standstill = recorder.standstills.within(hang.since, hang.until);
    }
    let mut observed = observed(&facts, &names, &walk, subject, hang.as_ref(), end).map_err(placed)?;
    if let (Some(main), true) = (subject, hang.is_some() || observed.anr) {
        // An ANR that is no hang of main has stacks of the moment of the request.
        let until = hang.as_ref().map_or(observed.noticed.saturating_add(MAX_STACK_DELAY), |hang| hang.until);
        observed.native = NativeSummary::of(&native, main.tid, (observed.since, until), &name_of);
        if let Some(native) = observed.native.as_mut() {
            native.thread = if main.main { "main".to_owned() } else { thread_name(main) };
            native.at_least = hang.as_ref().is_some_and(Hang::began_before);
        }
    }
    let name = subject.map_or_else(|| "main".to_owned(), thread_name);
    let mut thread = HungThread {
        name,
        tid: subject.map(|subject| subject.tid),
        main: subject.is_none_or(|subject| subject.main),
    };
    if let Some(hang) = &mut hang {
        let chain = std::mem::take(&mut hang.chain);
        (observed.owners, observed.cycle) = (chain.owners, chain.cycle);
        observed.cycle_reached = !observed.cycle.is_empty();
    }
    // Of waits that have ended, the first of the longest.
    let longest =
        observed.waits.iter().filter(|sum| sum.kind == WaitKind::Monitor).max_by_key(|sum| sum.total);
    if let (Some(sum), Some(main), true) = (longest, subject, observed.owners.is_empty()) {
        let at = sum.since.saturating_add(1);
        observed.owners = owners::chain(&facts, &names, main, sum.first, at).map_err(placed)?.owners;
    }
    if observed.cycle.is_empty() {
        (observed.cycle, observed.cycle_reached) =
            owners::cycle_at_the_end(&facts, subject, &survey.waits, end);
        if let Some(first) = observed.cycle.first().filter(|_| hang.is_none() && !observed.anr) {
            observed.hung = true;
            let tid = threads_named(recording, first);
            thread = HungThread { name: first.clone(), tid, main: *first == thread.name };
        }
    }
    let mut beat_span = None;
    if let Some(missed) = native_report
        .missed
        .first()
        .filter(|_| hang.is_none() && !observed.hung && !observed.anr && observed.others.is_none())
    {
        let span = (missed.since, missed.until);
        thread = HungThread {
            name: missed.thread.clone(),
            tid: Some(missed.tid),
            main: main.is_some_and(|main| main.tid == missed.tid),
        };
        observed = Observed {
            hung: true,
            since: missed.since,
            noticed: missed.until,
            native: super::native::summary(&native, missed.tid, span, &name_of),
            missed_beat: Some(missed.words()),
            on_jvm: observed.on_jvm,
            ..Observed::default()
        };
        beat_span = Some(Span {
            since: missed.since,
            duration: missed.until - missed.since,
            ended: false,
            at_least: true,
        });
    }
    let span = hang.as_ref().map(|hang| Span {
        since: hang.since,
        duration: hang.duration(),
        ended: hang.ended,
        at_least: hang.began_before(),
    });
    let span = span.or(beat_span);
    let process = clean(&header.process_name).into_owned();
    let pid = Some(header.pid).filter(|pid| *pid > 0);
    let mut answer = Answer::of(&observed, Some(process), pid, thread, span);
    let preference_writes = match &hang {
        Some(hang) if answer.cause.id == CauseId::SharedPreferences => {
            preference_writes(&facts, &names, &observed, hang).map_err(placed)?
        }
        _ => None,
    };
    if let Some(writes) = &preference_writes {
        // The first fact says that main waits.
        let evidence = &mut answer.cause.evidence;
        evidence.insert(evidence.len().min(1), Evidence { at: None, text: writes.words() });
    }
    let has_question =
        hang.is_some() || !incidents.anrs.is_empty() || observed.others.is_some() || observed.hung;
    let cause = has_question.then(|| answer.cause.clone());
    let until = hang.as_ref().map_or(end, |h| h.since);
    let threads = recording.threads();
    let pauses = recorder.pauses();
    let coverage =
        threads.iter().zip(&survey.coverage_builder).map(|(thread, coverage_builder)| ThreadCoverage {
            name: thread_name(thread),
            tid: thread.tid,
            main: thread.main,
            coverage: coverage_builder.finish(thread, end, &pauses),
        });
    let first = threads.iter().map(Thread::first_time).filter(|t| *t > 0).min().unwrap_or(end);
    let (from, to) = match (&hang, at) {
        (Some(hang), _) => (hang.since, hang.until),
        (None, at) => (at.unwrap_or(end), end),
    };
    let posters = match answer.cause.id {
        CauseId::MessageStorm => Chains::of(&facts, &names, observed.noticed).map_err(placed)?.storm(),
        _ => None,
    };
    Ok(Report {
        preference_writes,
        posters,
        file: file.display().to_string(),
        process: clean(&header.process_name).into_owned(),
        pid: header.pid,
        system: facts.system(),
        foreground: facts.sections.snapshot(from, to).and_then(|snapshot| snapshot.foreground),
        start: header.start,
        first,
        end,
        state: header.state,
        before: walk.before(until.saturating_sub(BEFORE_WINDOW).max(first.min(until)), until),
        open: if at.is_some() { walk.at_unit.clone() } else { open_at_the_end },
        cause,
        answer,
        native: native_report,
        device: observed.share,
        start_split: start_split(&facts, &names, &facts.sections.starts).map_err(placed)?,
        starts: facts.sections.starts.clone(),
        profiles: facts.sections.profiles.clone(),
        slowest: walk.slowest(until),
        long_call: if walk.has_messages() { None } else { walk.long_calls.longest },
        waits: walk.waits.into_vec(),
        coverage: coverage.filter(|thread| thread.coverage.lived() > 0).collect(),
        counts: Counts {
            threads: threads.len() as u64,
            words: threads.iter().map(Thread::words).sum(),
            events: survey.events.iter().sum(),
            frame_metrics_dropped: survey.frames.metrics_dropped,
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

/// The last unit of main that took `least` or longer, or what main is in since long ago.
fn latest<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    names: &Names<'_>,
    survey: &Survey,
    least: u64,
) -> Result<Option<EndedUnit>, ReadError> {
    let Some(main) = facts.main() else { return Ok(None) };
    let requested = worst(&facts.incidents.anrs).map(|anr| anr.detected);
    let end = last_moment(facts.recording, survey.last.iter().copied().chain(requested));
    let mut walk = Walk::new(facts, names);
    walk.latest_from = Some(least);
    walk.run(main, None)?;
    Ok(match open_at_end(&walk, end) {
        Some(since) => Some(EndedUnit { since, until: end }),
        None => walk.longest(least),
    })
}

/// The facts about the hang, or about the system's request.
fn observed<S: Source + ?Sized>(
    recorded: &Facts<'_, S>,
    names: &Names<'_>,
    walk: &Walk<'_, S>,
    subject: Option<&Thread>,
    hang: Option<&Hang>,
    end: u64,
) -> Result<Observed, ReadError> {
    let (recording, incidents, sections) = (recorded.recording, &recorded.incidents, &recorded.sections);
    let others = others(incidents).map(|(at, verdict)| (at, reasons_text(verdict)));
    let detected = incidents.anrs.iter().map(|anr| anr.detected).next_back();
    let captured = incidents.captures.last().map(|capture| capture.at);
    let at = detected.or(others.as_ref().map(|(at, _)| *at)).or(captured);
    let noticed = hang.map(|h| h.at).or(at).unwrap_or(end);
    let mut facts = Observed {
        noticed,
        since: noticed,
        anr: !incidents.anrs.is_empty(),
        others,
        on_jvm: sections.process.is_off_android() && !walk.has_messages(),
        ..Observed::default()
    };
    if let Some(hang) = hang {
        hang.observe(&mut facts);
        facts.waits = wait_sums(recording, names, walk, hang);
    }
    facts.before = walk.before(noticed.saturating_sub(STORM_WINDOW), noticed);
    facts.events = (walk.history.events, walk.history.last);
    // Main's CPU time counts for the whole hang, whenever it was noticed.
    let until = hang.map_or(noticed, |h| h.until).max(noticed).saturating_add(MAX_POLL_DELAY);
    let usage = subject.map_or_else(Vec::new, |subject| recorded.recorder.polls(subject.tid));
    facts.cpu = cpu_time(&usage, facts.since, until);
    let tid = subject.map_or(0, |subject| subject.tid);
    facts.share = SystemShare::of(&sections.polls, tid, facts.since, until);
    facts.slept = slept(&recorded.clocks, facts.since, until);
    let snapshot = sections.snapshot(facts.since, until);
    facts.state = snapshot.and_then(|snapshot| snapshot.state.clone());
    facts.cgroup = snapshot.and_then(|snapshot| snapshot.cgroup.clone());
    facts.sampled = sampled(sections.samples.within(facts.since, until), "");
    facts.open = walk.at_unit.clone().or_else(|| Unit::seen_at(sections, noticed));
    let pid = Some(recording.header().pid).filter(|pid| *pid > 0);
    let named = subject.filter(|subject| !subject.main).map(thread_name);
    let wanted = named.as_deref().map_or(WantedThread::Main, WantedThread::Named);
    facts.came_back = hang.filter(|hang| hang.ended).and_then(|hang| {
        let later = incidents.anrs.iter().map(|anr| anr.detected).rfind(|at| *at >= hang.until)?;
        Some((hang.until, later))
    });
    let confirmed = incidents.anrs.iter().any(|anr| anr.verdict.is_some());
    let until_dumped =
        facts.came_back.map_or(0, |(_, requested)| requested.saturating_add(MAX_DUMP_DELAY)).max(until);
    // A dump is written after its request, and shows that moment. The JVM agent's are its own, and the last one knows most.
    let until_dumped = match hang {
        Some(hang) if facts.on_jvm => {
            if hang.ended {
                hang.until
            } else {
                u64::MAX
            }
        }
        _ => until_dumped,
    };
    for dump in recorded.dumps() {
        let (at, dump) = dump?;
        if !(facts.since..=until_dumped).contains(&at) {
            continue;
        }
        if !confirmed && let Some(why) = of_another(&dump, recording.header()) {
            (facts.anr, facts.others) = (false, Some((at, why)));
        }
        if facts.set_dump(at, &dump, pid, wanted) && !facts.on_jvm {
            return Ok(facts);
        }
    }
    for exit in recorded.exits().take(if facts.anr { usize::MAX } else { 0 }) {
        let Ok(dump) = Dump::read(Path::new("exit"), &exit?.text[..]) else { continue };
        if facts.set_dump(0, &dump, pid, wanted) {
            break;
        }
    }
    Ok(facts)
}

/// The writes that main waits for, if its stack shows that it waits for the end of all of them.
fn preference_writes<S: Source + ?Sized>(
    facts: &Facts<'_, S>,
    names: &Names<'_>,
    observed: &Observed,
    hang: &Hang,
) -> Result<Option<PreferenceWrites>, ReadError> {
    let sections = &facts.sections;
    let is_wait = |frame: &str| frame.trim_start().trim_start_matches("at ").starts_with(WAIT_TO_FINISH);
    let sampled = sections.samples.within(hang.since, hang.until).any(|sample| sample.frames().any(is_wait));
    let in_snapshot = || sections.snapshot(hang.since, hang.until).is_some_and(|s| s.frames().any(is_wait));
    let dumped =
        || observed.dumped().is_some_and(|main| main.stack.iter().any(|line| is_wait(&line.site.name)));
    if !sampled && !in_snapshot() && !dumped() {
        return Ok(None);
    }
    Ok(Chains::of(facts, names, hang.at)?.applies(hang.since))
}

/// Whether a dump is about a process other than the recorded one, in words.
fn of_another(dump: &Dump, header: &Header) -> Option<String> {
    let anr_process = dump.anr_process()?;
    let ours = match (anr_process.pid, &anr_process.name) {
        (Some(pid), _) => pid == header.pid,
        (None, Some(name)) => {
            let rest = header.process_name.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        }
        (None, None) => true,
    };
    (!ours).then(|| format!("the dump is about {}", anr_process.title()))
}

/// The tid of the thread with this name.
fn threads_named<S: Source + ?Sized>(recording: &Recording<S>, name: &str) -> Option<u32> {
    recording.threads().iter().find(|thread| thread_name(thread) == name).map(|thread| thread.tid)
}

/// The first signal that was another process's, with its verdict.
fn others(incidents: &Incidents) -> Option<(u64, &Verdict)> {
    let mut judged =
        incidents.captures.iter().filter_map(|capture| Some((capture.at, capture.verdict.as_ref()?)));
    judged.find(|(_, verdict)| verdict.outcome == Outcome::OtherProcess)
}
