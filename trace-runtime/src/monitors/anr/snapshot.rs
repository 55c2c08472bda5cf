//! What was known at the instant at which an ANR was found, by the timer or by SIGQUIT; and the reports of LAG and ANR, which
//! have main's stack with them.
//!
//! ```text
//! timer or signal thread   facts (words and small files of /proc) -> request
//! anrscope-sampler         main's state and stack, memory, the messages that wait -> section AnrSnapshot
//! anrscope-worker          the slice of the record -> tree -> report
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use trace_format::section::SectionKind;
use trace_format::sections::anr_snapshot::{self, AnrSnapshot};
use trace_rules::frame::{FrameCosts, OpenStage, Stage};
use trace_rules::looper::Due;
use trace_rules::report::{AnrLog, Issue, LagKind, Memory, Priority, StackStyle, anr_log};

use crate::files::worker;
use crate::main_thread::usage;
use crate::memory::mark::Mark;
use crate::monitors::anr::anr_listener;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::looper::{messages, outermost, touch, unknown};
use crate::monitors::stacks::sampler::{self, Answer, Wanted};
use crate::monitors::stacks::{calls, java_stack, samples};
use crate::monitors::{app_state, envelope, frames, reports};
use crate::recorder::Recorder;
use crate::time::clock;

/// Messages before an ANR that the log tells.
const IN_LOG: usize = 20;

/// A LAG that was found.
#[derive(Debug)]
pub(crate) struct Lag {
    since_ns: u64,
    scene: String,
    foreground: bool,
}

/// Who found the ANR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detector {
    /// The timer: the message's age, ms, how long of it the process was frozen, and whether the timer was late.
    Looper(Due),
    /// A SIGQUIT; whether it was an ANR for certain, or only suspected.
    Sigquit { certain: bool },
}

/// What is known without Java.
#[derive(Debug)]
pub(crate) struct Facts {
    detector: Detector,
    at_ns: u64,
    /// Begin of main's message, 0 if it was in none.
    since_ns: u64,
    /// What that message is for.
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
    /// Some words and three small files.
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
            vm_kib: envelope::value(&read("/proc/self/status"), "VmSize:").unwrap_or(0),
            cgroup: read("/proc/self/cgroup").trim_end().replace('\n', " "),
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Fields 18 and 19; the name before them may hold anything.
fn priority(stat: &str) -> Option<Priority> {
    let mut fields = stat[stat.rfind(')')?..].split_ascii_whitespace().skip(16);
    Some(Priority { priority: fields.next()?.parse().ok()?, nice: fields.next()?.parse().ok()? })
}

/// The message that began at `since_ns` is a LAG. On the timer thread.
pub(crate) fn lag(since_ns: u64, _due: &Due) {
    let (scene, foreground) = (app_state::scene_name(), app_state::is_foreground());
    let lag = Lag { since_ns, scene, foreground };
    sampler::ask(Wanted::Stack, Box::new(move |answer| lag_answered(&lag, &answer)));
}

/// Main's stack for it came, or is given up.
fn lag_answered(lag: &Lag, answer: &Answer) {
    if answer.debugger || is_dying(&answer.stack) || outermost::is_idle(&answer.stack) {
        return;
    }
    let stack = java_stack::styled(&stack_of(lag.since_ns, answer), StackStyle::Whole);
    // Input that waits for this message is told when it is handled; what kept main is known now.
    touch::stuck(clock::uptime_ms(answer.at_ns), &stack);
    reports::tell(&Issue::Lag {
        kind: LagKind::Message,
        scene: &lag.scene,
        thread_stack: &stack,
        foreground: lag.foreground,
    });
}

/// The message that began at `since_ns` is an ANR. On the timer thread.
pub(crate) fn anr(since_ns: u64, now_ns: u64, due: &Due) {
    ask(Facts::now(Detector::Looper(*due), now_ns, since_ns));
}

/// Main's stack and the app's memory for a snapshot.
fn ask(facts: Facts) {
    sampler::ask(Wanted::All, Box::new(move |answer| anr_answered(facts, answer)));
}

/// A SIGQUIT at `at_ns` was judged an ANR, or suspected to be one; main was in the message that began at `since_ns`, 0 for none.
/// On the thread that learned of the signal.
pub(crate) fn sigquit(at_ns: u64, since_ns: u64, certain: bool) {
    if !messages::is_started() {
        return;
    }
    let facts = Facts::now(Detector::Sigquit { certain }, at_ns, since_ns);
    *last() = Some(Signal {
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

/// The SIGQUIT of `at_ns` is an ANR for certain by now: the system says so. If it was not even suspected to be one, what is
/// known now is what is known of it.
pub(crate) fn confirmed(at_ns: u64, since_ns: u64) {
    let known = match last().as_mut().filter(|signal| signal.at_ns == at_ns) {
        Some(signal) => {
            // What was only suspected: the system's list of processes in error has decided it.
            signal.listed = !std::mem::replace(&mut signal.certain, true);
            true
        }
        None => TOLD.load(Ordering::Relaxed) == at_ns,
    };
    if known {
        tell_signal();
    } else {
        sigquit(at_ns, since_ns, true);
        if let Some(signal) = last().as_mut().filter(|signal| signal.at_ns == at_ns) {
            signal.listed = true;
        }
    }
}

/// The newest SIGQUIT, until it is told.
struct Signal {
    at_ns: u64,
    certain: bool,
    scene: String,
    foreground: bool,
    /// The system's list of processes in error names us.
    listed: bool,
    /// Main's stack, and the snapshot's text.
    answered: Option<(String, String)>,
}

/// An ANR of this process was found, or suspected.
static FOUND: AtomicBool = AtomicBool::new(false);

/// Whether one was.
pub(crate) fn was_found() -> bool {
    FOUND.load(Ordering::Relaxed)
}

static LAST: Mutex<Option<Signal>> = Mutex::new(None);
/// Time of the one that was told last.
static TOLD: AtomicU64 = AtomicU64::new(0);

fn last() -> std::sync::MutexGuard<'static, Option<Signal>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports the newest SIGQUIT once it is certain and main's stack is there.
fn tell_signal() {
    let signal = last().take_if(|signal| signal.certain && signal.answered.is_some());
    let Some(signal) = signal else { return };
    TOLD.store(signal.at_ns, Ordering::Relaxed);
    let (stack, snapshot) = signal.answered.unwrap_or_default();
    anr_listener::anr(&decided(&snapshot), signal.listed);
    if !is_enabled(Setting::SignalAnr) {
        return;
    }
    reports::tell(&Issue::SignalAnr {
        native_backtrace: false,
        scene: &signal.scene,
        thread_stack: &java_stack::styled(&stack, StackStyle::Whole),
        foreground: signal.foreground,
    });
}

/// The snapshot of a signal that is an ANR for certain by now, as the verdict of the report says.
fn decided(snapshot: &str) -> String {
    snapshot.replacen("\nverdict=suspected-anr\n", "\nverdict=anr\n", 1)
}

/// What only Java knows came, or is given up: into the recording at once, and then the report.
fn anr_answered(mut facts: Facts, answer: Answer) {
    if matches!(facts.detector, Detector::Looper(_)) && outermost::is_idle(&answer.stack) {
        return;
    }
    FOUND.store(true, Ordering::Relaxed);
    let stack = stack_of(facts.since_ns, &answer);
    if facts.since_ns == 0 && messages::takes_units() && !stack.is_empty() && !outermost::is_idle(&stack) {
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
                tell_anr(&facts, &answer, &stack, &due);
            }));
        }
        Detector::Sigquit { .. } => {
            if let Some(signal) = last().as_mut().filter(|signal| signal.at_ns == facts.at_ns) {
                signal.answered = Some((stack, text));
            }
            tell_signal();
        }
    }
}

/// On the worker.
fn tell_anr(facts: &Facts, answer: &Answer, stack: &str, due: &Due) {
    let calls = calls::since(facts.mark.as_ref(), facts.at_ns.saturating_sub(due.age_ns), facts.at_ns);
    let style = match number(Setting::StackStyle) {
        0 => StackStyle::Simple,
        1 => StackStyle::Whole,
        _ => StackStyle::Raw,
    };
    let memory =
        Memory { dalvik_heap: answer.dalvik_kib, native_heap: answer.native_kib, vm_size: facts.vm_kib };
    let thread_stack = java_stack::styled(stack, style);
    reports::tell(&Issue::Anr {
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
        reports::log(anr_log(&AnrLog {
            cost_ms: calls.cost_ms,
            scene: &facts.scene,
            foreground: facts.foreground,
            priority: facts.priority,
            is_64_bit: size_of::<usize>() == 8,
            memory,
            stages: facts.costs.map(|costs| {
                [Stage::Input, Stage::Animation, Stage::Traversal].map(|stage| costs.stages[stage as usize])
            }),
            state: &answer.state,
            thread_stack: &thread_stack,
            trace: Some((&calls.key, &calls.log_text())),
        }));
        let wanted = if is_enabled(Setting::History) { IN_LOG } else { 0 };
        let history = messages::history(wanted, facts.at_ns);
        if wanted > 0 && !history.is_empty() {
            reports::log(["|* [Messages]\n", &history].concat());
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
    let ns_of = |stage| facts.costs.map(|costs| costs.stages[stage as usize]);
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
            name: stage_name(open.stage).to_owned(),
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

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Input => "INPUT",
        Stage::Animation => "ANIMATION",
        Stage::InsetsAnimation => "INSETS_ANIMATION",
        Stage::Traversal => "TRAVERSAL",
        Stage::Commit => "COMMIT",
    }
}

/// Main's stack in the message that began at `since_ns`: what was answered, if main is still in it; else the newest sample of
/// it; else nothing, rather than the stack of another message. Without a message what was answered.
fn stack_of(since_ns: u64, answer: &Answer) -> String {
    let still = since_ns == 0 || messages::open().is_some_and(|open| open.since_ns == since_ns);
    match answer.stack.as_str() {
        stack if still && !stack.is_empty() => stack.to_owned(),
        _ => samples::newest(since_ns).unwrap_or_default(),
    }
}

/// Whether main is busy with an uncaught exception: its own crash handler may take as long as it likes (Matrix's issue #739).
fn is_dying(stack: &str) -> bool {
    stack.lines().any(|frame| frame.starts_with("java.lang.Thread.dispatchUncaughtException("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_in_its_crash_handler_is_dying() {
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
    fn a_section_says_what_was_known_and_leaves_out_the_stage_of_a_message_that_is_no_frame() {
        let due = Due { age_ns: 5_000_000_000, frozen_ns: 0, timer_late: false, suppressed: None };
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
