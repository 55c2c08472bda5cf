//! The verdict on a SIGQUIT, with reasons: the payload of [`crate::section::SectionKind::Verdict`].
//!
//! ```text
//! signal=<BOOTTIME ns>           when it was sensed: the same number as in its event of the service ring
//! si_code= si_pid= si_uid=       as it came; zeros where it was seen without being taken
//! forward=catcher | older-handler | failed | passive | unknown-<number>
//! stuck_since=<BOOTTIME ns>      start of main's message, 0 if it was in no message or its start is unknown
//! judged=first | reconsidered    the second one has what the system's error state said
//! policy=anrscope | matrix
//! verdict=anr | suspected-anr | somebody-elses | dump-requested | duplicate | unknown
//! confidence=low | medium | high
//! sender=ourselves | system | root | shell | own-app | other-app | unknown
//! foreground=yes | no | unknown
//! counters=<sensed> <forwarded> <failed> <merged> <rescued>   of the process until then
//! reason=<code> <text>           one line each, in the order in which they were weighed
//! ```
//! UTF-8 lines, each with its newline; what follows the last newline was cut and is not read. The first line of a
//! key counts, unknown keys are skipped. Later versions of the section add keys, codes and senders;
//! a word that this version does not know reads as the type's `Unknown`, `anrscope` (policy) or `low` (confidence), and is
//! listed as it was read among the reasons, with the code [`UNKNOWN_WORD`].
//!
//! A section repeats all of its event in the ring, since a ring overwrites events and sections stay.

use std::str::FromStr;

use crate::event::{Forward, Sigquit};
use crate::section::key_values;
use crate::sections::lines::{Keys, Lines};

/// Version of the section's payload.
pub const VERSION: u16 = 1;
/// The longest payload that is written or read, in bytes.
pub const MAX_LEN: usize = 16 * 1024;
/// The most reasons that are written or read.
pub const MAX_REASONS: usize = 16;
/// The longest text of a reason, in bytes.
pub const MAX_REASON_LEN: usize = 256;
/// The longest code of a reason, in bytes.
pub const MAX_CODE_LEN: usize = 64;
/// [`Reason::code`] of a word of a later version, with `key=word` as its text.
pub const UNKNOWN_WORD: &str = "unknown-word";

const VERDICT: &str = "verdict";

words! {
    /// What a signal was.
    Outcome {
        /// An ANR of this process.
        Anr = "anr",
        /// Possibly an ANR: worth keeping, to be settled by the system's exit info on the next start.
        SuspectedAnr = "suspected-anr",
        /// Another process's ANR; this one was dumped as a bystander.
        OtherProcess = "somebody-elses",
        /// A request for a thread dump: this process's, a shell's, a bug report's, or the system's while nothing is wrong here.
        DumpRequested = "dump-requested",
        /// A tool has attached to the JVM, which it asks for by SIGQUIT. There is no dump.
        ToolAttached = "tool-attached",
        /// One more signal of an ANR that was reported before.
        Duplicate = "duplicate",
        /// Too little is known, or (Matrix) nothing confirmed it.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// The outcome as a noun.
    ///
    /// ```
    /// use trace_format::verdict::Outcome;
    ///
    /// let outcome: Outcome = "suspected-anr".parse()?;
    /// assert_eq!(outcome.name(), "suspected ANR");
    /// # Ok::<(), trace_format::UnknownWord>(())
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anr => "ANR",
            Self::SuspectedAnr => "suspected ANR",
            Self::OtherProcess => "another process's ANR",
            Self::DumpRequested => "dump requested",
            Self::ToolAttached => "tool attached",
            Self::Duplicate => "duplicate",
            Self::Unknown => "unknown",
        }
    }

    /// The outcome in a payload, even if its other keys are missing or of a later version.
    #[must_use]
    pub fn from_payload(payload: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(payload.get(..MAX_LEN).unwrap_or(payload));
        Keys::new(&text).text("verdict")?.parse().ok()
    }
}

words! {
    /// How sure a verdict is.
    #[derive(PartialOrd, Ord)]
    Confidence {
        /// One weak sign.
        Low = "low",
        /// The observations agree, and nothing outside of the process confirmed it.
        Medium = "medium",
        /// Confirmed from outside, or there is nothing to doubt.
        High = "high",
    }
}

impl Confidence {
    /// One step more.
    #[must_use]
    pub fn more(self) -> Self {
        if self == Self::Low { Self::Medium } else { Self::High }
    }

    /// One step less.
    #[must_use]
    pub fn less(self) -> Self {
        if self == Self::High { Self::Medium } else { Self::Low }
    }
}

words! {
    /// Who sent a signal.
    ///
    /// Known by uid and pid alone. `si_code` names the *call* it was sent with: AOSP's system_server uses `sigqueue` from
    /// Android 8 on (`debuggerd_client.cpp`), at least the OPPO A1 uses `kill` (`SI_USER`), and both are the system.
    Sender {
        /// The process itself: print on demand, or another SDK in it.
        Ourselves = "ourselves",
        /// Uid 1000: system_server, or another part of the system that shares its uid.
        System = "system",
        /// Uid 0: `dumpstate` for a bug report, a rooted shell.
        Root = "root",
        /// Uid 2000: `adb shell`, or a bug report that runs as it.
        Shell = "shell",
        /// Another process of the same uid, such as a watchdog in a process of the same app.
        OwnApp = "own-app",
        /// Another app, of any user.
        OtherApp = "other-app",
        /// A uid or form that AOSP does not send with: a vendor's daemon, the kernel, a sender outside of the pid namespace
        /// (which reads as pid 0, uid 0), or this process's pid with another uid.
        Unknown = "unknown",
    }
}

words! {
    /// By which rules a signal is judged. `native-signal/tests/data/verdicts.tsv` shows both side by side.
    #[derive(Default)]
    Policy {
        /// anrscope's: the record of main first, then the sender; the error state settles it where it lists a process.
        ///
        /// A main thread that is stalled for as long as the system's shortest timeout (5 s in the foreground, input; 10 s
        /// in the background, broadcasts) makes a system's signal an ANR; from 2 s (5 s) on it is a suspicion. A shell, a
        /// bug report or another SDK asks for dumps and declares no ANRs.
        #[default]
        Anrscope = "anrscope",
        /// Matrix's `SignalAnrTracer`: any foreign signal is an ANR if the head of the queue is late by more than 2 s in
        /// the foreground or 10 s in the background, or if the error state lists this process. Its duplicates are duplicates
        /// only for signal 35 within 20 s of a report; a second SIGQUIT is a second report (its issue #849).
        Matrix = "matrix",
    }
}

/// A reason, as a word for programs and a text for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Without spaces, such as `main-stuck`.
    pub code: String,
    /// One line.
    pub text: String,
}

/// The counters of the SIGQUIT sensor in this process.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// SIGQUITs received, in the handler or by rescue.
    pub sensed: u64,
    /// Forwarded to the catcher or the previous handler.
    pub forwarded: u64,
    /// Not forwarded, since there was no receiver.
    pub failed: u64,
    /// Forwarded, but reported together with another one: more came than there are slots.
    pub merged: u64,
    /// Taken from a main thread that did not run.
    pub rescued: u64,
}

/// A verdict on one signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The signal, as in the service ring.
    pub sigquit: Sigquit,
    /// Whether the system's error state was polled before.
    pub reconsidered: bool,
    /// The rules.
    pub policy: Policy,
    /// What the signal was.
    pub outcome: Outcome,
    /// How sure the outcome is.
    pub confidence: Confidence,
    /// Who sent it.
    pub sender: Sender,
    /// Whether the app was in the foreground, where that was known.
    pub foreground: Option<bool>,
    /// The sensor's counters at that time.
    pub counters: Counters,
    /// The reasons; at most [`MAX_REASONS`].
    pub reasons: Vec<Reason>,
}

/// The value of a word, or the fallback. A word that this version does not know is added to `unknown`.
fn read<T: FromStr>(unknown: &mut Vec<Reason>, key: &str, word: Option<&str>, fallback: T) -> T {
    let Some(word) = word else { return fallback };
    word.parse().unwrap_or_else(|_| {
        let text = [key, "=", &word[..word.floor_char_boundary(MAX_CODE_LEN)]].concat();
        unknown.push(Reason { code: UNKNOWN_WORD.to_owned(), text });
        fallback
    })
}

impl Verdict {
    /// The section's payload. Reasons beyond the limits are left out or cut; control characters become spaces.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let s = &self.sigquit;
        let foreground = match self.foreground {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        let c = &self.counters;
        let mut lines = Lines::default();
        lines.number("signal", s.sensed);
        lines.number("si_code", s.si_code);
        lines.number("si_pid", s.si_pid);
        lines.number("si_uid", s.si_uid);
        lines.number("forward", s.forward);
        lines.number("stuck_since", s.stuck_since);
        lines.text("judged", if self.reconsidered { "reconsidered" } else { "first" });
        lines.text("policy", self.policy.word());
        lines.text(VERDICT, self.outcome.word());
        lines.text("confidence", self.confidence.word());
        lines.text("sender", self.sender.word());
        lines.text("foreground", foreground);
        let counters = [c.sensed, c.forwarded, c.failed, c.merged, c.rescued];
        lines.text("counters", &counters.map(|count| count.to_string()).join(" "));
        let line = |text: &str| text.replace(|c: char| c.is_control(), " ");
        for reason in self.reasons.iter().take(MAX_REASONS) {
            let text = &reason.text[..reason.text.floor_char_boundary(MAX_REASON_LEN)];
            let code = &reason.code[..reason.code.floor_char_boundary(MAX_CODE_LEN)];
            lines.text("reason", &[line(code).replace(' ', "-"), line(text)].join(" "));
        }
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it lacks the signal, the verdict or its confidence, is no UTF-8, or is longer than
    /// [`MAX_LEN`].
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        if payload.len() > MAX_LEN {
            return None;
        }
        // A character may be cut in two with its line.
        let whole = payload.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let text = std::str::from_utf8(&payload[..whole]).ok()?;
        let value = |key: &str| key_values(text).find(|(k, _)| *k == key).map(|(_, v)| v);
        let mut unknown = Vec::new();
        let stuck_since = value("stuck_since").and_then(|v| v.parse().ok()).unwrap_or(0);
        let mut counters = value("counters").unwrap_or("").split(' ').map(|n| n.parse().unwrap_or(0));
        let mut counter = || counters.next().unwrap_or(0);
        Some(Self {
            sigquit: Sigquit {
                sensed: value("signal")?.parse().ok()?,
                si_code: value("si_code").and_then(|v| v.parse().ok()).unwrap_or(0),
                si_pid: value("si_pid").and_then(|v| v.parse().ok()).unwrap_or(0),
                si_uid: value("si_uid").and_then(|v| v.parse().ok()).unwrap_or(0),
                forward: read(&mut unknown, "forward", value("forward"), Forward::Unknown(0)),
                stuck_since,
            },
            reconsidered: value("judged") == Some("reconsidered"),
            policy: read(&mut unknown, "policy", value("policy"), Policy::Anrscope),
            outcome: read(&mut unknown, VERDICT, Some(value(VERDICT)?), Outcome::Unknown),
            confidence: read(&mut unknown, "confidence", Some(value("confidence")?), Confidence::Low),
            sender: read(&mut unknown, "sender", value("sender"), Sender::Unknown),
            foreground: match value("foreground") {
                Some("yes") => Some(true),
                Some("no") => Some(false),
                _ => None,
            },
            counters: Counters {
                sensed: counter(),
                forwarded: counter(),
                failed: counter(),
                merged: counter(),
                rescued: counter(),
            },
            reasons: {
                let reasons = key_values(text).filter(|(key, _)| *key == "reason").map(|(_, reason)| {
                    let (code, text) = reason.split_once(' ').unwrap_or((reason, ""));
                    let text = &text[..text.floor_char_boundary(MAX_REASON_LEN)];
                    let code = &code[..code.floor_char_boundary(MAX_CODE_LEN)];
                    Reason { code: code.to_owned(), text: text.to_owned() }
                });
                unknown.into_iter().chain(reasons).take(MAX_REASONS).collect()
            },
        })
    }

    /// Whether [`Verdict::outcome`] is what was recorded. If not, it is [`Outcome::Unknown`], and the word of a later version is
    /// among the reasons.
    #[must_use]
    pub fn is_outcome_known(&self) -> bool {
        let is_unread = |reason: &Reason| {
            reason.code == UNKNOWN_WORD
                && reason.text.strip_prefix(VERDICT).is_some_and(|rest| rest.starts_with('='))
        };
        !self.reasons.iter().any(is_unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_verdict() -> impl Strategy<Value = Verdict> {
        let forwards = [Forward::ALL, &[Forward::Unknown(0), Forward::Unknown(9)]].concat();
        let sigquit = (any::<(u64, i32, u32, u32, u64)>(), prop::sample::select(forwards)).prop_map(
            |((sensed, si_code, si_pid, si_uid, stuck_since), forward)| Sigquit {
                sensed,
                si_code,
                si_pid,
                si_uid,
                forward,
                stuck_since,
            },
        );
        let words = (
            prop::sample::select(Outcome::ALL),
            prop::sample::select(Confidence::ALL),
            prop::sample::select(Sender::ALL),
            prop::sample::select(Policy::ALL),
        );
        let reasons = prop::collection::vec(("[a-z-]{1,20}", "[a-zA-Zé=(): 0-9]{0,60}"), 0..=MAX_REASONS);
        (sigquit, words, any::<bool>(), any::<Option<bool>>(), any::<[u64; 5]>(), reasons).prop_map(
            |(sigquit, (outcome, confidence, sender, policy), reconsidered, foreground, c, reasons)| {
                Verdict {
                    sigquit,
                    reconsidered,
                    policy,
                    outcome,
                    confidence,
                    sender,
                    foreground,
                    counters: Counters {
                        sensed: c[0],
                        forwarded: c[1],
                        failed: c[2],
                        merged: c[3],
                        rescued: c[4],
                    },
                    reasons: reasons.into_iter().map(|(code, text)| Reason { code, text }).collect(),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn verdicts_round_trip(verdict in any_verdict()) {
            prop_assert!(verdict.encode().len() <= MAX_LEN);
            prop_assert_eq!(Verdict::parse(&verdict.encode()), Some(verdict));
        }

        #[test]
        fn a_verdict_cut_anywhere_has_nothing_wrong(verdict in any_verdict()) {
            let bytes = verdict.encode();
            for length in 0..bytes.len() {
                let Some(cut) = Verdict::parse(&bytes[..length]) else { continue };
                prop_assert_eq!(cut.sigquit, verdict.sigquit);
                prop_assert_eq!((cut.outcome, cut.confidence), (verdict.outcome, verdict.confidence));
                prop_assert!(verdict.reasons.starts_with(&cut.reasons));
            }
        }

        #[test]
        fn any_bytes_are_a_bounded_verdict_or_none(bytes: Vec<u8>, lines in "([a-z_]{1,8}=.{0,40}\n){0,30}") {
            let _ = Verdict::parse(&bytes);
            let text = format!("signal=1\nverdict=anr\nconfidence=low\n{lines}");
            let verdict = Verdict::parse(text.as_bytes()).expect("what it needs is there");
            prop_assert!(verdict.reasons.len() <= MAX_REASONS);
        }

        #[test]
        fn no_text_can_forge_a_line(text: String, code: String) {
            let mut verdict = Verdict::parse(b"signal=1\nverdict=unknown\nconfidence=low\n").unwrap();
            verdict.reasons.push(Reason { code, text });
            let read = Verdict::parse(&verdict.encode()).unwrap();
            prop_assert_eq!(read.reasons.len(), 1);
            prop_assert_eq!((read.outcome, read.sigquit.sensed), (Outcome::Unknown, 1));
        }
    }

    #[test]
    fn limits_hold_in_both_directions() {
        let mut verdict = Verdict::parse(b"signal=1\nverdict=anr\nconfidence=low\n").unwrap();
        verdict.reasons = vec![Reason { code: "x".to_owned(), text: "ü".repeat(MAX_REASON_LEN) }; 100];
        verdict.reasons[1].code = "c".repeat(MAX_LEN);
        let read = Verdict::parse(&verdict.encode()).unwrap();
        assert_eq!(read.reasons.len(), MAX_REASONS);
        assert_eq!((read.reasons[0].text.len(), read.reasons[1].code.len()), (MAX_REASON_LEN, MAX_CODE_LEN));
        let long = [verdict.encode(), vec![b'\n'; MAX_LEN]].concat();
        assert_eq!(Verdict::parse(&long), None);
    }

    #[test]
    fn words_of_a_later_version_fall_back_and_stay_visible() {
        let read = |text: &str| Verdict::parse(text.as_bytes()).unwrap();
        let later = read("signal=1\nverdict=haunted\nconfidence=total\nreason=x y\n");
        assert_eq!((later.outcome, later.confidence), (Outcome::Unknown, Confidence::Low));
        let texts: Vec<_> = later.reasons.iter().map(|r| (r.code.as_str(), r.text.as_str())).collect();
        assert_eq!(
            texts,
            [(UNKNOWN_WORD, "verdict=haunted"), (UNKNOWN_WORD, "confidence=total"), ("x", "y")]
        );
        assert!(!later.is_outcome_known());
        let read = read(
            "signal=1\nforward=post\nverdict=anr\nconfidence=low\nsender=moon\nmood=blue\npolicy=ours\n",
        );
        assert_eq!((read.sender, read.policy), (Sender::Unknown, Policy::Anrscope));
        assert_eq!(read.sigquit.forward, Forward::Unknown(0));
        let texts: Vec<_> = read.reasons.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(texts, ["forward=post", "policy=ours", "sender=moon"]);
        assert!(read.is_outcome_known());
        // The recorder itself writes this word if it does not know.
        let unknown = Verdict::parse(b"signal=1\nverdict=unknown\nconfidence=low\n").unwrap();
        assert!(unknown.is_outcome_known() && unknown.reasons.is_empty());
        assert_eq!(Verdict::parse(b"signal=1\nconfidence=low\n"), None, "cut before the verdict");
    }
}
