//! What was known when an ANR was found, by the timer or by SIGQUIT; and the reports of LAG and ANR, which
//! contain main's stack.
//!
//! ```text
//! timer or signal thread   facts (words and small files of /proc) -> request
//! anrscope-sampler         main's state and stack, memory, waiting messages -> section AnrSnapshot
//! anrscope-worker          the slice of the record -> call tree -> report
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trace_format::section::SectionKind;
use trace_format::sections::anr_snapshot::{self, AnrSnapshot};
use trace_rules::frame::{FrameCosts, OpenStage, Stage};
use trace_rules::looper::Due;
use trace_rules::report::{AnrLog, Issue, LagKind, Memory, Priority, StackStyle, anr_log};

use crate::files::worker;
use crate::kernel_files::keyed;
use crate::main_thread::{message_source, poll, usage};
use crate::memory::mark::Mark;
use crate::monitors::anr::anr_listener;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::looper::{messages, touch, unknown};
use crate::monitors::stacks::sampler::{self, Answer, Wanted};
use crate::monitors::stacks::{calls, java_stack, samples};
use crate::monitors::{app_state, frames, reports};
use crate::recorder::Recorder;
use crate::time::clock;
use crate::unpoisoned::lock;

/// The most messages before an ANR that are written to the log.
const MAX_LOGGED_MESSAGES: usize = 20;

/// What found the ANR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detector {
    /// The timer: the message's age, how much of it the process was frozen, and whether the timer was
    /// delayed.
    Looper(Due),
    /// A SIGQUIT; whether it was certainly an ANR, or only suspected.
    Sigquit { certain: bool },
}

/// What is known without Java.
#[derive(Debug)]
pub(crate) struct Facts {
    detector: Detector,
    at_ns: u64,
    /// When main's message began, 0 if it was in none.
    since_ns: u64,
    /// The message's text.
    message: String,
    mark: Option<Mark>,
    stage: Option<OpenStage>,
    costs: Option<FrameCosts>,
    foreground: bool,
    scene: String,
    priority: Priority,
    vm_kib: u64,
    cgroup: String,
}

impl Facts {
    /// Reads some words and three small files.
    fn now(detector: Detector, at_ns: u64, since_ns: u64) -> Self {
        let open = messages::open().filter(|open| open.since_ns == since_ns);
        let stages = frames::stages();
        Facts {
            detector,
            at_ns,
            since_ns,
            message: open.map(|_| messages::open_text(at_ns)).unwrap_or_default(),
            mark: open.and_then(|open| open.mark),
            stage: stages.open(),
            costs: stages.running(at_ns),
            foreground: app_state::is_foreground(),
            scene: app_state::scene_name(),
            priority: priority(&usage::main_stat()).unwrap_or_default(),
            vm_kib: keyed(&read("/proc/self/status"), "VmSize").unwrap_or(0),
            cgroup: read("/proc/self/cgroup").trim_end().replace('\n', " "),
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Fields 18 and 19; the name before them may contain anything.
fn priority(stat: &str) -> Option<Priority> {
    let mut fields = stat[stat.rfind(')')?..].split_ascii_whitespace().skip(16);
    Some(Priority { priority: fields.next()?.parse().ok()?, nice: fields.next()?.parse().ok()? })
}

/// Reports a LAG, the message that began at `since_ns`, with main's stack if it comes in time. On the timer thread.
pub(crate) fn lag(since_ns: u64) {
    let (scene, foreground) = (app_state::scene_name(), app_state::is_foreground());
    let then = move |answer: Answer| {
        if answer.debugger || is_dying(&answer.stack) || poll::is_innermost(&answer.stack) {
            return;
        }
        let stack = java_stack::styled(&stack_of(since_ns, &answer), StackStyle::Whole);
        // Input that waits for this message is reported when it is handled; what stalled main is known now.
        touch::stalled(clock::uptime_ms(answer.at_ns), &stack);
        let kind = LagKind::Message;
        reports::report(&Issue::Lag { kind, scene: &scene, thread_stack: &stack, foreground });
    };
    sampler::ask(Wanted::Stack, Box::new(then));
}

/// Takes a snapshot of an ANR: the message that began at `since_ns`. On the timer thread.
pub(crate) fn anr(since_ns: u64, now_ns: u64, due: &Due) {
    ask(Facts::now(Detector::Looper(*due), now_ns, since_ns));
}

/// Requests main's stack and the app's memory for a snapshot.
fn ask(facts: Facts) {
    sampler::ask(Wanted::All, Box::new(move |answer| anr_answered(facts, answer)));
}

/// Takes a snapshot after a SIGQUIT at `at_ns` that was judged or suspected to be an ANR. Main was in the
/// message that began at `since_ns`, 0 for none. On the thread that learned of the signal.
pub(crate) fn sigquit(at_ns: u64, since_ns: u64, certain: bool) {
    if !message_source::is_reported() {
        return;
    }
    let facts = Facts::now(Detector::Sigquit { certain }, at_ns, since_ns);
    *lock(&LAST_SIGNAL) = Some(Signal {
        at_ns,
        certain,
        scene: facts.scene.clone(),
        foreground: facts.foreground,
        listed: false,
        answered: None,
    });
    if let Some(recorder) = Recorder::active() {
        usage::record(recorder);
    }
    ask(facts);
}

/// Notes that the SIGQUIT of `at_ns` is certainly an ANR, because the system says so. If it was not even
/// suspected before, a snapshot is taken now.
pub(crate) fn confirmed(at_ns: u64, since_ns: u64) {
    let known = match lock(&LAST_SIGNAL).as_mut().filter(|signal| signal.at_ns == at_ns) {
        Some(signal) => {
            // It was only suspected before: the system's list of processes in error has decided it.
            signal.listed = !std::mem::replace(&mut signal.certain, true);
            true
        }
        None => REPORTED_AT.load(Ordering::Relaxed) == at_ns,
    };
    if known {
        report_signal();
    } else {
        sigquit(at_ns, since_ns, true);
        if let Some(signal) = lock(&LAST_SIGNAL).as_mut().filter(|signal| signal.at_ns == at_ns) {
            signal.listed = true;
        }
    }
}

/// The newest SIGQUIT, until it is reported.
struct Signal {
    at_ns: u64,
    certain: bool,
    scene: String,
    foreground: bool,
    /// Whether the system's list of processes in error names this process.
    listed: bool,
    /// Main's stack, and the snapshot's text.
    answered: Option<(String, String)>,
}

/// Whether an ANR of this process was found, or suspected.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Whether an ANR of this process was found, or suspected.
pub(crate) fn was_found() -> bool {
    FOUND.load(Ordering::Relaxed)
}

static LAST_SIGNAL: Mutex<Option<Signal>> = Mutex::new(None);
/// When the signal came that was reported last.
static REPORTED_AT: AtomicU64 = AtomicU64::new(0);

/// Reports the newest SIGQUIT once it is certain and main's stack is there.
fn report_signal() {
    let signal = lock(&LAST_SIGNAL).take_if(|signal| signal.certain && signal.answered.is_some());
    let Some(signal) = signal else { return };
    REPORTED_AT.store(signal.at_ns, Ordering::Relaxed);
    let (stack, snapshot) = signal.answered.unwrap_or_default();
    anr_listener::anr(&decided(&snapshot), signal.listed);
    if !is_enabled(Setting::SignalAnr) {
        return;
    }
    reports::report(&Issue::SignalAnr {
        scene: &signal.scene,
        thread_stack: &java_stack::styled(&stack, StackStyle::Whole),
        foreground: signal.foreground,
    });
}

/// The snapshot with the verdict of a signal that has become certain.
fn decided(snapshot: &str) -> String {
    snapshot.replacen("\nverdict=suspected-anr\n", "\nverdict=anr\n", 1)
}

/// Adds what only Java knows, if it came in time: first to the recording, then to the report.
fn anr_answered(mut facts: Facts, answer: Answer) {
    if matches!(facts.detector, Detector::Looper(_)) && poll::is_innermost(&answer.stack) {
        return;
    }
    FOUND.store(true, Ordering::Relaxed);
    let stack = stack_of(facts.since_ns, &answer);
    if facts.since_ns == 0
        && message_source::takes_units()
        && !stack.is_empty()
        && !poll::is_innermost(&stack)
    {
        // In no message, and not in the poll either.
        facts.message = unknown::NAME.into();
    }
    let dying = is_dying(&stack);
    let text = section(&facts, &answer, &stack, dying, clock::boottime());
    worker::append(SectionKind::AnrSnapshot, text.clone().into_bytes());
    if answer.debugger || dying {
        return;
    }
    match facts.detector {
        Detector::Looper(due) => {
            worker::then(Box::new(move || {
                anr_listener::anr(&text, false);
                report_anr(&facts, &answer, &stack, &due);
            }));
        }
        Detector::Sigquit { .. } => {
            if let Some(signal) = lock(&LAST_SIGNAL).as_mut().filter(|signal| signal.at_ns == facts.at_ns) {
                signal.answered = Some((stack, text));
            }
            report_signal();
        }
    }
}

/// Reports the ANR. On the worker.
fn report_anr(facts: &Facts, answer: &Answer, stack: &str, due: &Due) {
    let calls = calls::since(facts.mark.as_ref(), facts.at_ns.saturating_sub(due.age_ns), facts.at_ns);
    let style = match number(Setting::StackStyle) {
        0 => StackStyle::Simple,
        1 => StackStyle::Whole,
        _ => StackStyle::Raw,
    };
    let memory =
        Memory { dalvik_heap: answer.dalvik_kib, native_heap: answer.native_kib, vm_size: facts.vm_kib };
    let thread_stack = java_stack::styled(stack, style);
    reports::report(&Issue::Anr {
        cost_ms: calls.cost_ms,
        scene: &facts.scene,
        stack: &calls.text,
        key: &calls.key,
        thread_stack: &thread_stack,
        foreground: facts.foreground,
        priority: facts.priority,
        memory,
    });
    if is_enabled(Setting::Log) {
        reports::hand_over(anr_log(&AnrLog {
            cost_ms: calls.cost_ms,
            scene: &facts.scene,
            foreground: facts.foreground,
            priority: facts.priority,
            is_64_bit: size_of::<usize>() == 8,
            memory,
            stages: facts.costs.map(|costs| {
                [Stage::Input, Stage::Animation, Stage::Traversal].map(|stage| costs.stages[stage.index()])
            }),
            state: &answer.state,
            thread_stack: &thread_stack,
            trace: Some((&calls.key, &calls.log_text())),
        }));
        let wanted = if is_enabled(Setting::History) { MAX_LOGGED_MESSAGES } else { 0 };
        let history = messages::history(wanted, facts.at_ns);
        if wanted > 0 && !history.is_empty() {
            reports::hand_over(["|* [Messages]\n", &history].concat());
        }
    }
}

/// The section's text, complete at `now_ns`.
fn section(facts: &Facts, answer: &Answer, stack: &str, dying: bool, now_ns: u64) -> String {
    let (looper, detector, verdict) = match facts.detector {
        Detector::Looper(due) => (Some(due), "looper", None),
        Detector::Sigquit { certain } => {
            (None, "sigquit", Some(if certain { "anr" } else { "suspected-anr" }))
        }
    };
    let ns_of = |stage: Stage| facts.costs.map(|costs| costs.stages[stage.index()]);
    let snapshot = AnrSnapshot {
        detector: Some(detector.into()),
        age_ns: looper.map(|due| due.age_ns),
        frozen_ns: looper.map(|due| due.frozen_ns),
        timer_late: looper.map(|due| due.timer_late),
        verdict: verdict.map(str::to_owned),
        at: facts.at_ns,
        took_ns: Some(now_ns.saturating_sub(facts.at_ns)),
        message_since: facts.since_ns,
        message: Some(facts.message.clone()),
        head: anr_listener::head(&answer.pending).map(|(head, when_ms)| (head.to_owned(), Some(when_ms))),
        stage: facts.stage.map(|open| anr_snapshot::OpenStage {
            name: open.stage.constant().to_owned(),
            since: Some(open.since_ns),
            estimated: Some(open.estimated),
        }),
        stage_ns: [Stage::Input, Stage::Animation, Stage::Traversal].map(ns_of),
        foreground: Some(facts.foreground),
        scene: Some(facts.scene.clone()),
        state: Some(answer.state.clone()),
        priority: Some(facts.priority.priority),
        nice: Some(facts.priority.nice),
        dalvik_kib: Some(answer.dalvik_kib),
        native_kib: Some(answer.native_kib),
        vm_kib: Some(facts.vm_kib),
        cgroup: Some(facts.cgroup.clone()),
        debugger: Some(answer.debugger),
        dying: Some(dying),
        stack: stack.to_owned(),
        pending: answer.pending.clone(),
    };
    snapshot.encode()
}

/// Main's stack in the message that began at `since_ns`: the answer, if main is still in it; else the
/// newest sample of it; else nothing, rather than the stack of another message. Without a message: the
/// answer.
fn stack_of(since_ns: u64, answer: &Answer) -> String {
    let still = since_ns == 0 || messages::open().is_some_and(|open| open.since_ns == since_ns);
    match answer.stack.as_str() {
        stack if still && !stack.is_empty() => stack.to_owned(),
        _ => samples::newest(since_ns).unwrap_or_default(),
    }
}

/// Whether main is handling an uncaught exception: its crash handler may take any time (Matrix's issue
/// #739).
fn is_dying(stack: &str) -> bool {
    stack.lines().any(|frame| frame.starts_with("java.lang.Thread.dispatchUncaughtException("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_in_its_crash_handler_is_dying() {
        assert!(is_dying(
            "a.Handler.uncaughtException(H.java:1)\njava.lang.Thread.dispatchUncaughtException(Thread.java:2203)\n"
        ));
        assert!(!is_dying("a.b.dispatchUncaughtException(X.java:1)\n"));
    }

    #[test]
    fn priority_and_nice_are_fields_18_and_19() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 -10 33";
        assert_eq!(priority(stat), Some(Priority { priority: 20, nice: -10 }));
        assert_eq!(priority("7 (a) S 1"), None);
        assert!(priority(&read("/proc/self/stat")).is_some());
    }

    #[test]
    fn a_section_has_what_was_known_and_a_stage_only_for_a_frames_message() {
        let due = Due { age_ns: 5_000_000_000, frozen_ns: 0, timer_late: false, reported: true };
        let mut facts = Facts {
            detector: Detector::Looper(due),
            at_ns: 9_000_000_000,
            since_ns: 4_000_000_000,
            message: "a.H: 7".into(),
            mark: None,
            stage: None,
            costs: None,
            foreground: true,
            scene: "a.Page".into(),
            priority: Priority { priority: 20, nice: -10 },
            vm_kib: 3,
            cgroup: "0::/".into(),
        };
        let answer = Answer {
            state: "BLOCKED".into(),
            dalvik_kib: 1,
            native_kib: 2,
            pending: "Message 0: { when=-2s1ms what=3 }".into(),
            ..Answer::default()
        };
        assert_eq!(
            section(&facts, &answer, "a.B.c(B.java:1)\n", false, 9_000_000_004),
            "detector=looper\nage_ns=5000000000\nfrozen_ns=0\ntimer_late=0\nat=9000000000\ntook_ns=4\nmessage_since=4000000000\n\
             message=a.H: 7\nhead={ when=-2s1ms what=3 }\nhead_when_ms=-2001\nforeground=1\nscene=a.Page\nstate=BLOCKED\npriority=20\nnice=-10\ndalvik_kib=1\nnative_kib=2\nvm_kib=3\n\
             cgroup=0::/\ndebugger=0\ndying=0\n\na.B.c(B.java:1)\n\nMessage 0: { when=-2s1ms what=3 }"
        );
        let stages = trace_rules::frame::Stages::default();
        stages.frame_begin(4_000_000_000, 0, 0);
        stages.stage(4_000_000_000, Stage::Input, false);
        stages.stage(4_000_000_007, Stage::Traversal, true);
        facts.detector = Detector::Sigquit { certain: true };
        (facts.stage, facts.costs) = (stages.open(), stages.running(facts.at_ns));
        let text = section(&facts, &answer, "", false, facts.at_ns);
        assert!(text.starts_with("detector=sigquit\nverdict=anr\nat=9000000000\n"), "{text}");
        facts.detector = Detector::Sigquit { certain: false };
        let suspected = section(&facts, &answer, "", false, facts.at_ns);
        assert_ne!(suspected, text);
        assert_eq!(decided(&suspected), text, "the listener learns of it once it is certain");
        assert_eq!(decided(&text), text);
        let stage = "\nstage=TRAVERSAL\nstage_since=4000000007\nstage_estimated=1\n\
                     input_ns=7\nanimation_ns=0\ntraversal_ns=4999999993\n";
        assert!(text.contains(stage), "{text}");
    }
}
