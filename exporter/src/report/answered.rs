//! The answer to the question of a report: the hang, the facts about it, and its cause.

use answers::answer::{
    Answer, CauseId, Conclusion, Evidence, HungThread, Observed, Span, Stands, SystemShare, WantedThread,
};
use answers::dump::Dump;
use answers::text::clean;
use trace_format::event::WaitKind;
use trace_format::verdict::Confidence;
use trace_format::{Header, ReadError, Thread};

use super::busy::busy;
use super::hang::{Hang, wait_sums};
use super::measured::{cpu_time, sampled, slept};
use super::native::{self, NativeReport};
use super::native_summary;
use super::owners;
use super::question::Question;
use super::sources::Sources;
use super::why::{PreferenceWrites, STORM_WINDOW, Why};
use crate::facts::{Facts, Sections, Unit, reasons_text};
use crate::words::thread_name;

/// Maximum delay after a hang of a poll of main's CPU time that still belongs to it, ns.
const MAX_POLL_DELAY: u64 = 50_000_000;
/// Maximum time from an ANR to the request of its dump, ns.
const MAX_DUMP_DELAY: u64 = 20_000_000_000;
/// Maximum time from an ANR to a native stack of main, ns.
const MAX_STACK_DELAY: u64 = 2_000_000_000;

/// The method in which main waits for writes of SharedPreferences (AOSP `QueuedWork.java`, API 21 to 36).
const WAIT_TO_FINISH: &str = "android.app.QueuedWork.waitToFinish";

/// The hang, if there is one, and the answer.
pub(super) struct Answered {
    pub(super) hang: Option<Hang>,
    pub(super) observed: Observed,
    pub(super) answer: Answer,
    /// Without a hang, the answer of the dump with which an attachment began, if its thread may have hung.
    pub(super) at_start: Option<Answer>,
    /// Without a hang, the answer about what was taken for idle, if the end of that wait was due: without confidence.
    pub(super) if_due: Option<Answer>,
    pub(super) native: NativeReport,
    pub(super) preference_writes: Option<PreferenceWrites>,
}

impl Answered {
    pub(super) fn of<'a>(sources: &Sources<'a>, question: &Question<'a>) -> Result<Self, ReadError> {
        let native = NativeReport::of(sources);
        let mut hang = hang(sources, question)?;
        let mut observed = observed(sources, question, hang.as_ref())?;
        let mut thread = HungThread {
            name: question.thread.map_or_else(|| "main".to_owned(), thread_name),
            tid: question.thread.map(|thread| thread.tid),
            main: question.thread.is_none_or(|thread| thread.main),
        };
        owners(sources, question, hang.as_mut(), &mut observed)?;
        if let Some(first) = observed.cycle.first().filter(|_| hang.is_none() && !observed.anr) {
            // A deadlock of other threads.
            observed.hung = true;
            let threads = sources.facts.recording.threads();
            let tid = threads.iter().find(|known| thread_name(known) == *first).map(|known| known.tid);
            thread = HungThread { name: first.clone(), tid, main: *first == thread.name };
        }
        let mut span = hang.as_ref().map(|hang| Span {
            since: hang.since,
            duration: hang.duration(),
            ended: hang.ended,
            at_least: hang.began_before(),
        });
        if hang.is_none()
            && !observed.hung
            && !observed.anr
            && observed.others.is_none()
            && let Some(unrecorded) =
                standing(sources, observed.on_jvm).or_else(|| missed_beat(sources, &native, observed.on_jvm))
        {
            (thread, observed, span) = (unrecorded.thread, unrecorded.observed, Some(unrecorded.span));
        }
        let header = sources.facts.recording.header();
        let pid = Some(header.pid).filter(|pid| *pid > 0);
        let process = clean(&header.process_name).into_owned();
        let mut answer = Answer::of(&observed, Some(process), pid, thread, span);
        let preference_writes = match &hang {
            Some(hang) if answer.cause.id == CauseId::SharedPreferences => {
                preference_writes(sources, &observed, hang)?
            }
            _ => None,
        };
        if let Some(writes) = &preference_writes {
            // The first fact says that main waits.
            let evidence = &mut answer.cause.evidence;
            evidence.insert(evidence.len().min(1), Evidence { at: None, text: writes.words() });
        }
        let at_start = match answer.conclusion {
            Conclusion::NoHang => at_start(sources),
            _ => None,
        };
        let if_due = match answer.conclusion {
            Conclusion::NoHang => if_due(sources, question)?,
            _ => None,
        };
        Ok(Self { hang, observed, answer, at_start, if_due, native, preference_writes })
    }
}

/// The hang with what the recording knows of its time.
fn hang(sources: &Sources<'_>, question: &Question<'_>) -> Result<Option<Hang>, ReadError> {
    let Sources { facts, names, .. } = *sources;
    let mut hang = Hang::of(facts, names, question)?;
    if let (Some(hang), Some(thread)) = (&mut hang, question.thread) {
        // The last poll comes right after main recovered.
        let until = if hang.ended { hang.until.saturating_add(MAX_POLL_DELAY) } else { hang.until };
        hang.cpu = facts.recorder.cpu(thread.tid, hang.since, until);
        hang.busy = busy(facts, names, thread, hang.since, hang.until)?;
        hang.why = why(sources, thread, hang)?;
        hang.component =
            facts.sections.components.of_message(hang.since, hang.until, facts.sections.process.sdk);
        hang.standstill = facts.recorder.standstills.within(hang.since, hang.until);
    }
    Ok(hang)
}

/// The reason why the thread's wait is not over; of one that has to give main's result, why main's is not.
fn why(sources: &Sources<'_>, thread: &Thread, hang: &Hang) -> Result<Option<Why>, ReadError> {
    let own = if hang.wait.is_some() { sources.chains(hang.at)?.why(thread)? } else { None };
    // That the thread waits for something outside of the process is said anyway.
    let is_plain =
        own.as_ref().is_none_or(|why| why.links.len() == 1 && why.links[0].waits_for == "blocking");
    let Some(main) = sources.facts.main().filter(|main| is_plain && main.uid != thread.uid) else {
        return Ok(own);
    };
    let mains = sources.chains(hang.at)?.why(main)?;
    Ok(mains.filter(|why| why.giver() == Some(thread.tid)).or(own))
}

/// Adds the owners of the lock that the hung thread waits for, and the cycle that they are part of.
fn owners(
    sources: &Sources<'_>,
    question: &Question<'_>,
    hang: Option<&mut Hang>,
    observed: &mut Observed,
) -> Result<(), ReadError> {
    let Sources { facts, names, survey, .. } = *sources;
    if let Some(hang) = hang {
        let chain = std::mem::take(&mut hang.chain);
        (observed.owners, observed.cycle) = (chain.owners, chain.cycle);
        observed.cycle_reached = !observed.cycle.is_empty();
    }
    // Of waits that have ended, the first of the longest.
    let longest =
        observed.waits.iter().filter(|sum| sum.kind == WaitKind::Monitor).max_by_key(|sum| sum.total);
    if let (Some(sum), Some(thread), true) = (longest, question.thread, observed.owners.is_empty()) {
        let at = sum.since.saturating_add(1);
        observed.owners = owners::chain(facts, names, thread, sum.first, at)?.owners;
    }
    if observed.cycle.is_empty() {
        (observed.cycle, observed.cycle_reached) =
            owners::cycle_at_the_end(facts, question.thread, &survey.waits, question.end);
    }
    Ok(())
}

/// A hang of which the thread's own events say nothing.
struct Unrecorded {
    thread: HungThread,
    observed: Observed,
    span: Span,
}

/// The thread that did not come on between the two dumps of an attachment: the call that it is in began before the recording.
fn standing(sources: &Sources<'_>, on_jvm: bool) -> Option<Unrecorded> {
    let mut dumps = of_attachment(&sources.facts.sections);
    let ((since, before), (until, after)) = (dumps.next()?, dumps.next_back()?);
    let stands = after.stands_since(before).filter(|_| on_jvm && before.is_held_up())?;
    let mut observed = Observed { hung: true, since, noticed: until, on_jvm, ..Observed::default() };
    observed.set_dump(since, before, None, WantedThread::Asked);
    let dumped = observed.dumped()?;
    let thread = HungThread { name: dumped.name.clone(), tid: dumped.tid, main: dumped.main };
    // A thread that computes and records nothing is in one call; one that records may be in one after the other.
    if stands == Stands::Computing && has_recorded(sources, |known| thread_name(known) == thread.name, since)
    {
        return None;
    }
    // The first dump was taken before the agent came, which counts collections.
    let counted = sources.facts.recording.header().start.boottime.max(since).min(until);
    observed.share = SystemShare::of(&sources.facts.sections.polls, thread.tid.unwrap_or(0), counted, until);
    let span = Span { since, duration: until.saturating_sub(since), ended: false, at_least: true };
    Some(Unrecorded { thread, observed, span })
}

/// The dumps of the JVM itself with their times: an attachment's first and last one.
fn of_attachment(sections: &Sections) -> impl DoubleEndedIterator<Item = (u64, &Dump)> {
    let dumps = sections.dumps.iter().filter(|_| sections.process.is_off_android());
    let of_jvm = dumps.filter(|(_, dump)| dump.answer().is_some_and(|section| !section.is_of_agent()));
    of_jvm.map(|(at, dump)| (*at, dump))
}

/// The answer of the dump with which an attachment began, without confidence, if its thread may have hung: calls may be too
/// short for a hang, or too old to be in the recording. A thread that only may have hung still waits in the last dump.
fn at_start(sources: &Sources<'_>) -> Option<Answer> {
    let mut dumps = of_attachment(&sources.facts.sections);
    let (_, before) = dumps.next()?;
    let mut still =
        || dumps.next_back().is_none_or(|(_, after)| after.stands_since(before) == Some(Stands::Waiting));
    let may_hang = before.is_held_up() || before.may_hang() && still();
    may_hang.then(|| {
        let mut answer = Answer::from(before);
        answer.cause.confidence = Confidence::Low;
        answer
    })
}

/// The answer about what was taken for idle, without confidence.
fn if_due<'a>(sources: &Sources<'a>, question: &Question<'a>) -> Result<Option<Answer>, ReadError> {
    let Some(question) = question.if_due(sources)? else { return Ok(None) };
    let mut answer = Answered::of(sources, &question)?.answer;
    answer.cause.confidence = Confidence::Low;
    Ok(Some(answer))
}

/// Returns true if one of these threads has recorded something since then.
fn has_recorded(sources: &Sources<'_>, is_one: impl Fn(&Thread) -> bool, since: u64) -> bool {
    let mut threads = sources.facts.recording.threads().iter().zip(&sources.survey.last);
    threads.any(|(thread, last)| *last >= since && is_one(thread))
}

/// The first watched thread that missed its heartbeat, if no other thread is known to hang.
fn missed_beat(sources: &Sources<'_>, native: &NativeReport, on_jvm: bool) -> Option<Unrecorded> {
    let missed = native.missed.first()?;
    let main = sources.facts.main().is_some_and(|main| main.tid == missed.tid);
    let thread = HungThread { name: missed.thread.clone(), tid: Some(missed.tid), main };
    let time = (missed.since, missed.until);
    let observed = Observed {
        hung: true,
        since: missed.since,
        noticed: missed.until,
        native: native::summary(sources, missed.tid, time),
        missed_beat: Some(missed.words()),
        on_jvm,
        ..Observed::default()
    };
    let duration = missed.until - missed.since;
    let span = Span { since: missed.since, duration, ended: false, at_least: true };
    Some(Unrecorded { thread, observed, span })
}

/// The facts about the hang, or about the system's request.
fn observed(
    sources: &Sources<'_>,
    question: &Question<'_>,
    hang: Option<&Hang>,
) -> Result<Observed, ReadError> {
    let recorded = sources.facts;
    let Question { walk, thread, end, .. } = question;
    let (incidents, sections) = (&recorded.incidents, &recorded.sections);
    let others = incidents.of_another().map(|(at, verdict)| (at, reasons_text(verdict)));
    let detected = incidents.anrs.iter().map(|anr| anr.detected).next_back();
    let captured = incidents.captures.last().map(|capture| capture.at);
    let at = detected.or(others.as_ref().map(|(at, _)| *at)).or(captured);
    let noticed = hang.map(|hang| hang.at).or(at).unwrap_or(*end);
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
        facts.waits = wait_sums(recorded, sources.names, walk, hang);
    }
    facts.before = walk.before(noticed.saturating_sub(STORM_WINDOW), noticed);
    facts.events = (walk.history.events, walk.history.last);
    // Main's CPU time counts for the whole hang, whenever it was noticed.
    let until = hang.map_or(noticed, |h| h.until).max(noticed).saturating_add(MAX_POLL_DELAY);
    let tid = thread.map_or(0, |thread| thread.tid);
    facts.cpu = cpu_time(&recorded.recorder.polled(tid, facts.since, until));
    facts.share = SystemShare::of(&sections.polls, tid, facts.since, until);
    facts.slept = slept(&recorded.clocks, facts.since, until);
    let snapshot = sections.snapshot(facts.since, until);
    facts.state = snapshot.and_then(|snapshot| snapshot.state.clone());
    facts.cgroup = snapshot.and_then(|snapshot| snapshot.cgroup.clone());
    facts.sampled = sampled(sections.samples.within(facts.since, until));
    let open = walk.at_unit.clone().or_else(|| Unit::seen_at(sections, noticed));
    facts.open = open.map(|unit| unit.name);
    facts.came_back = hang.filter(|hang| hang.ended).and_then(|hang| {
        let later = incidents.anrs.iter().map(|anr| anr.detected).rfind(|at| *at >= hang.until)?;
        Some((hang.until, later))
    });
    dumped(recorded, *thread, hang, until, &mut facts);
    if let (Some(thread), true) = (*thread, hang.is_some() || facts.anr) {
        // An ANR that is no hang of main has stacks of the moment of the request.
        let until = hang.map_or(facts.noticed.saturating_add(MAX_STACK_DELAY), |hang| hang.until);
        facts.native = native_summary::of(sources, thread.tid, (facts.since, until));
        if let Some(native) = facts.native.as_mut() {
            native.thread = if thread.main { "main".to_owned() } else { thread_name(thread) };
            native.at_least = hang.is_some_and(Hang::began_before);
        }
    }
    Ok(facts)
}

/// Adds the facts of the dump that shows the hang, and of the system's records of the process's exit.
fn dumped(
    recorded: &Facts<'_>,
    thread: Option<&Thread>,
    hang: Option<&Hang>,
    until: u64,
    facts: &mut Observed,
) {
    let (header, incidents) = (recorded.recording.header(), &recorded.incidents);
    let pid = Some(header.pid).filter(|pid| *pid > 0);
    let named = thread.filter(|thread| !thread.main).map(thread_name);
    let wanted = named.as_deref().map_or(WantedThread::Main, WantedThread::Named);
    let confirmed = incidents.anrs.iter().any(|anr| anr.verdict.is_some());
    // A dump is written after its request, and shows that moment. The JVM agent's are its own, and the last one knows most.
    let until_dumped = match hang {
        Some(hang) if facts.on_jvm && hang.ended => hang.until,
        Some(_) if facts.on_jvm => u64::MAX,
        _ => facts.came_back.map_or(0, |(_, requested)| requested.saturating_add(MAX_DUMP_DELAY)).max(until),
    };
    let since = facts.since;
    for (at, dump) in recorded.sections.dumps.iter().filter(|(at, _)| (since..=until_dumped).contains(at)) {
        if !confirmed && let Some(why) = of_another(dump, header) {
            (facts.anr, facts.others) = (false, Some((*at, why)));
        }
        // One of all threads knows more than a later one that had no time for them.
        let is_cut = dump.answer().is_some_and(|section| section.left_out > 0);
        if is_cut && facts.dumped().is_some() {
            continue;
        }
        if facts.set_dump(*at, dump, pid, wanted) && !facts.on_jvm {
            return;
        }
    }
    if facts.anr {
        let mut dumps = recorded.sections.exits.iter().filter_map(|(_, dump)| dump.as_ref());
        dumps.any(|dump| facts.set_dump(0, dump, pid, wanted));
    }
}

/// The writes that main waits for, if its stack shows that it waits for the end of all of them.
fn preference_writes(
    sources: &Sources<'_>,
    observed: &Observed,
    hang: &Hang,
) -> Result<Option<PreferenceWrites>, ReadError> {
    let sections = &sources.facts.sections;
    let is_wait = |frame: &str| frame.trim_start().trim_start_matches("at ").starts_with(WAIT_TO_FINISH);
    let sampled = sections.samples.within(hang.since, hang.until).any(|sample| sample.frames().any(is_wait));
    let in_snapshot = || sections.snapshot(hang.since, hang.until).is_some_and(|s| s.frames().any(is_wait));
    let dumped =
        || observed.dumped().is_some_and(|main| main.stack.iter().any(|line| is_wait(&line.site.name)));
    if !sampled && !in_snapshot() && !dumped() {
        return Ok(None);
    }
    Ok(sources.chains(hang.at)?.applies(hang.since))
}

/// The other process that a dump is about, in words; `None` if it is about the recorded one.
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
