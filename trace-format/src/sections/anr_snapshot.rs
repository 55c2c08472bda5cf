//! The state of the app when an ANR was detected: the payload of [`SectionKind::AnrSnapshot`].
//!
//! ```text
//! detector=looper | sigquit
//! age_ns= frozen_ns=             looper: the message's age, and how long of it the process was frozen
//! timer_late=0 | 1               looper: the timer itself was late
//! verdict=anr | suspected-anr    sigquit: what the signal was judged to be
//! at=<BOOTTIME ns>               when it was detected; the only required key
//! took_ns=                       how long it took to gather all this
//! message_since=<BOOTTIME ns>    start of main's message, 0 if it was in none
//! message=<text>                 that message, empty if it was in none
//! head=<text> head_when_ms=      the first message that waits, and when it is due from `at` on
//! stage=<name> stage_since=      the frame stage that was open, and since when, BOOTTIME ns
//! stage_estimated=0 | 1          its start is estimated from public callbacks
//! input_ns= animation_ns= traversal_ns=     what the stages of the running frame had taken
//! foreground=0 | 1    scene=<class>
//! state=<Thread.State of main>   priority= nice=    fields 18 and 19 of /proc/self/task/TID/stat, of main
//! dalvik_kib= native_kib= vm_kib=           memory in use, KiB
//! cgroup=<text>    debugger=0 | 1    dying=0 | 1    main is in its handler of an uncaught exception
//!
//! main's Java stack, a frame a line, innermost first
//!
//! the messages that were waiting, in the form of `Looper.dump`
//! ```

use super::lines::{Keys, Lines, plain_lines, split_blank};
use super::{MAX_TIME, text_of};
use crate::section::SectionKind;

/// The stage of the frame that main was in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenStage {
    /// `INPUT`, `ANIMATION`, `INSETS_ANIMATION`, `TRAVERSAL` or `COMMIT`.
    pub name: String,
    /// When it began, BOOTTIME ns, if that is known.
    pub since: Option<u64>,
    /// Whether that is estimated from public callbacks.
    pub estimated: Option<bool>,
}

/// The state of the app when an ANR was detected.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AnrSnapshot {
    /// The detector: `looper` or `sigquit`.
    pub detector: Option<String>,
    /// By the looper's timer: the age of main's message, ns.
    pub age_ns: Option<u64>,
    /// By the looper's timer: how long of that the process was frozen, ns.
    pub frozen_ns: Option<u64>,
    /// By the looper's timer: whether the timer itself was late.
    pub timer_late: Option<bool>,
    /// By SIGQUIT: `anr` or `suspected-anr`.
    pub verdict: Option<String>,
    /// When it was detected, BOOTTIME ns.
    pub at: u64,
    /// How long it took to gather this, ns.
    pub took_ns: Option<u64>,
    /// When main's message began, BOOTTIME ns; 0 if it was in none.
    pub message_since: u64,
    /// That message.
    pub message: Option<String>,
    /// The first message that waited, and when it was due from then on, ms.
    pub head: Option<(String, Option<i64>)>,
    /// The stage of the frame that main was in.
    pub stage: Option<OpenStage>,
    /// What INPUT, ANIMATION and TRAVERSAL of the running frame had taken, ns.
    pub stage_ns: [Option<u64>; 3],
    /// Whether the app was in the foreground.
    pub foreground: Option<bool>,
    /// The scene.
    pub scene: Option<String>,
    /// Main's `Thread.State`.
    pub state: Option<String>,
    /// The kernel's priority of main.
    pub priority: Option<i32>,
    /// Main's nice value.
    pub nice: Option<i32>,
    /// Java heap in use, KiB.
    pub dalvik_kib: Option<u64>,
    /// Native heap in use, KiB.
    pub native_kib: Option<u64>,
    /// Address space, KiB.
    pub vm_kib: Option<u64>,
    /// The scheduler's group of the process, such as `/background`.
    pub cgroup: Option<String>,
    /// Whether a debugger was attached.
    pub debugger: Option<bool>,
    /// Whether main was in its handler of an uncaught exception.
    pub dying: Option<bool>,
    /// Main's Java stack, a frame a line, innermost first, as Java's `StackTraceElement` writes a frame.
    pub stack: String,
    /// The messages that were waiting, a line each, in the form of `Looper.dump`.
    pub pending: String,
}

const STAGE_NS: [&str; 3] = ["input_ns", "animation_ns", "traversal_ns"];

impl AnrSnapshot {
    /// The section's text. A blank line inside of the stack would end it, so the stack must not contain one.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut lines = Lines::default();
        lines.texts("detector", self.detector.as_deref());
        lines.numbers("age_ns", self.age_ns);
        lines.numbers("frozen_ns", self.frozen_ns);
        lines.flags("timer_late", self.timer_late);
        lines.texts("verdict", self.verdict.as_deref());
        lines.number("at", self.at);
        lines.numbers("took_ns", self.took_ns);
        lines.number("message_since", self.message_since);
        lines.texts("message", self.message.as_deref());
        if let Some((head, when_ms)) = &self.head {
            lines.text("head", head);
            lines.numbers("head_when_ms", *when_ms);
        }
        if let Some(stage) = &self.stage {
            lines.text("stage", &stage.name);
            lines.numbers("stage_since", stage.since);
            lines.flags("stage_estimated", stage.estimated);
        }
        for (key, ns) in STAGE_NS.into_iter().zip(self.stage_ns) {
            lines.numbers(key, ns);
        }
        lines.flags("foreground", self.foreground);
        lines.texts("scene", self.scene.as_deref());
        lines.texts("state", self.state.as_deref());
        lines.numbers("priority", self.priority);
        lines.numbers("nice", self.nice);
        lines.numbers("dalvik_kib", self.dalvik_kib);
        lines.numbers("native_kib", self.native_kib);
        lines.numbers("vm_kib", self.vm_kib);
        lines.texts("cgroup", self.cgroup.as_deref());
        lines.flags("debugger", self.debugger);
        lines.flags("dying", self.dying);
        let mut out = lines.into_text();
        for part in ["\n", self.stack.trim_end(), "\n\n", &self.pending] {
            out.push_str(part);
        }
        out
    }

    /// Reads a payload; `None` if it is too long or has no valid time.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::AnrSnapshot, payload)?;
        let (head, rest) = split_blank(&text);
        let (stack, pending) = split_blank(rest);
        let keys = Keys::new(head);
        let stage = keys.owned("stage").filter(|stage| stage != "none");
        Some(Self {
            detector: keys.owned("detector"),
            age_ns: keys.number("age_ns"),
            frozen_ns: keys.number("frozen_ns"),
            timer_late: keys.flag("timer_late"),
            verdict: keys.owned("verdict"),
            at: keys.time("at")?,
            took_ns: keys.number("took_ns"),
            message_since: keys.number("message_since").filter(|since| *since < MAX_TIME).unwrap_or(0),
            message: keys.owned("message"),
            head: keys.owned("head").map(|head| (head, keys.number("head_when_ms"))),
            stage: stage.map(|name| OpenStage {
                name,
                since: keys.time("stage_since"),
                estimated: keys.flag("stage_estimated"),
            }),
            stage_ns: STAGE_NS.map(|key| keys.number(key)),
            foreground: keys.flag("foreground"),
            scene: keys.owned("scene"),
            state: keys.owned("state"),
            priority: keys.number("priority"),
            nice: keys.number("nice"),
            dalvik_kib: keys.number("dalvik_kib"),
            native_kib: keys.number("native_kib"),
            vm_kib: keys.number("vm_kib"),
            cgroup: keys.owned("cgroup"),
            debugger: keys.flag("debugger"),
            dying: keys.flag("dying"),
            stack: plain_lines(stack),
            pending: plain_lines(pending),
        })
    }

    /// The frames of main's Java stack, innermost first.
    pub fn frames(&self) -> std::str::Lines<'_> {
        self.stack.lines()
    }

    /// Whether main's stack is known.
    #[must_use]
    pub fn has_stack(&self) -> bool {
        !self.stack.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_snapshot() -> impl Strategy<Value = AnrSnapshot> {
        let word = || prop::option::of("[a-z.:/]([a-z ]{0,9}[a-z])?");
        let texts = (word(), word(), word(), word(), word(), word());
        let numbers = (any::<[Option<u64>; 6]>(), any::<[Option<i32>; 2]>(), any::<[Option<bool>; 4]>());
        let times = (1..MAX_TIME, 0..MAX_TIME, prop::option::of(1..MAX_TIME));
        let lines = ("([a-zé.]{1,9}\\(B\\.java:1\\)\n){0,5}", "(Message [0-9]: \\{ when=-1ms \\}\n){0,5}");
        (texts, numbers, times, any::<(bool, [Option<u64>; 3], Option<i64>)>(), lines).prop_map(
            |(texts, (n, i, f), (at, message_since, since), (looper, stage_ns, when), (stack, pending))| {
                AnrSnapshot {
                    detector: Some(if looper { "looper" } else { "sigquit" }.to_owned()),
                    age_ns: n[0],
                    frozen_ns: n[1],
                    timer_late: f[0],
                    verdict: texts.0,
                    at,
                    took_ns: n[2],
                    message_since,
                    message: texts.1,
                    head: texts.2.map(|head| (head, when)),
                    stage: looper.then(|| OpenStage { name: "INPUT".to_owned(), since, estimated: f[1] }),
                    stage_ns,
                    foreground: f[2],
                    scene: texts.3,
                    state: texts.4,
                    priority: i[0],
                    nice: i[1],
                    dalvik_kib: n[3],
                    native_kib: n[4],
                    vm_kib: n[5],
                    cgroup: texts.5,
                    debugger: f[3],
                    dying: f[0],
                    stack,
                    pending,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn snapshots_round_trip_with_line_ends_of_both_kinds(snapshot in any_snapshot()) {
            let text = snapshot.encode();
            let crlf = text.replace('\n', "\r\n");
            prop_assert_eq!(AnrSnapshot::parse(text.as_bytes()), Some(snapshot.clone()));
            prop_assert_eq!(AnrSnapshot::parse(crlf.as_bytes()), Some(snapshot));
        }

        #[test]
        fn one_cut_anywhere_is_bounded(snapshot in any_snapshot()) {
            let text = snapshot.encode();
            for cut in 0..text.len() {
                if let Some(read) = AnrSnapshot::parse(&text.as_bytes()[..cut]) {
                    prop_assert!((1..MAX_TIME).contains(&read.at) && read.stack.len() <= text.len() + 2);
                }
            }
        }
    }

    #[test]
    fn a_snapshot_needs_a_valid_time() {
        for bad in ["", "stage=INPUT\n", "at=0\n", "at=x\n", "at=4611686018427387904\n"] {
            assert_eq!(AnrSnapshot::parse(bad.as_bytes()), None, "{bad}");
        }
        let read = AnrSnapshot::parse(b"at=7\nstage=none\nvm_kib=x\n\n\xffa.B.c(B.java:1)\n").unwrap();
        assert_eq!((read.at, read.stage, read.vm_kib), (7, None, None));
        assert_eq!(read.stack, "\u{fffd}a.B.c(B.java:1)\n");
    }
}
