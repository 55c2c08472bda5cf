//! The sections that the app's monitors write, read without trusting them: keys that are missing or no numbers are not
//! known, what is too long is passed over, and there is a limit to how many are kept.

use trace_format::section::{SectionKind, key_values};
use trace_format::{ReadError, Recording, Section, Source};

use super::unit::Unit;

/// The longest section of keys that is read, and the longest of samples or a dump.
const MAX_KEYS: u64 = 1 << 20;
const MAX_TEXT: u64 = 16 << 20;
/// Sections of one kind that are kept.
const MAX_KEPT: usize = 1024;
/// Samples of main's stack that are kept, frames of one, and frames of all.
const MAX_SAMPLES: usize = 4096;
const MAX_FRAMES: usize = 1024;
const MAX_ALL_FRAMES: usize = 1 << 20;
/// A sample so long before or after a signal shows what main did at the signal, ns.
const NEAR: u64 = 1_000_000_000;
/// Pending messages that are kept.
const MAX_PENDING: usize = 512;

/// What was known when an ANR was found (section AnrSnapshot). Times are BOOTTIME ns, 0 if not known.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// Who found it: `looper` or `sigquit`.
    pub detector: String,
    /// When.
    pub at: u64,
    /// Begin of the message that main was in.
    pub message_since: u64,
    /// The frame stage that was open, and since when.
    pub stage: Option<(String, u64)>,
    /// Whether the app was in the foreground.
    pub foreground: Option<bool>,
    /// The scene.
    pub scene: Option<String>,
    /// Main's `Thread.State`.
    pub state: Option<String>,
    /// Fields 18 and 19 of `/proc/self/stat`.
    pub priority: Option<i32>,
    /// The nice value.
    pub nice: Option<i32>,
    /// Java heap in use, KiB.
    pub dalvik_kib: Option<u64>,
    /// Native heap in use, KiB.
    pub native_kib: Option<u64>,
    /// Address space, KiB.
    pub vm_kib: Option<u64>,
    /// The scheduler's group of the process, such as `/background`.
    pub cgroup: Option<String>,
    /// Main's Java stack, innermost first, as Java's `StackTraceElement` writes a frame.
    pub stack: Vec<String>,
    /// The messages that were waiting, in the form of `Looper.dump`.
    pub pending: Vec<String>,
}

/// A sample of main's stack, taken while it was stuck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackSample {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// Innermost first.
    pub frames: Vec<String>,
}

/// A report as the app got it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppIssue {
    /// When, BOOTTIME ns.
    pub at: u64,
    /// One JSON object.
    pub json: String,
}

/// What the monitors left.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Sections {
    /// Snapshots of ANRs, in the file's order.
    pub snapshots: Vec<Snapshot>,
    /// Samples of main's stack, in the file's order.
    pub samples: Vec<StackSample>,
    /// Reports.
    pub issues: Vec<AppIssue>,
    /// Thread dumps: when asked for, and their text.
    pub dumps: Vec<(u64, String)>,
    /// What the system said of the process's end: keys and text.
    pub exits: Vec<(Vec<(String, String)>, String)>,
    /// Profiles of its ANRs that the platform left on the device.
    pub profiles: Vec<PlatformProfile>,
    /// Sections that could not be read, or that were too many.
    pub skipped: u64,
}

/// A profile that the platform took of an ANR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlatformProfile {
    /// Where it is on the device.
    pub path: String,
    /// How large it is.
    pub bytes: u64,
}

impl PlatformProfile {
    fn of(text: &str) -> Option<Self> {
        let value = |wanted| key_values(text).find(|(key, _)| *key == wanted).map(|(_, value)| value);
        Some(Self { path: value("path")?.to_owned(), bytes: value("bytes")?.parse().ok()? })
    }

    /// The file's name, without its folder.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl Sections {
    /// Reads them.
    ///
    /// # Errors
    /// If the device fails.
    pub fn of<S: Source>(recording: &Recording<S>) -> Result<Self, ReadError> {
        let mut found = Self::default();
        for section in recording.sections() {
            let limit = match section.kind {
                Some(SectionKind::AnrSnapshot | SectionKind::Issue | SectionKind::AnrProfile) => MAX_KEYS,
                Some(SectionKind::StackSamples | SectionKind::DumpText | SectionKind::ExitInformation) => {
                    MAX_TEXT
                }
                _ => continue,
            };
            let payload = if section.length <= limit { recording.payload(section)? } else { None };
            match payload {
                Some(payload) if found.add(section, &payload).is_some() => {}
                _ => found.skipped += 1,
            }
        }
        Ok(found)
    }

    fn add(&mut self, section: &Section, payload: &[u8]) -> Option<()> {
        match section.kind? {
            SectionKind::AnrSnapshot if self.snapshots.len() < MAX_KEPT => {
                self.snapshots.push(snapshot(std::str::from_utf8(payload).ok()?)?);
            }
            SectionKind::Issue if self.issues.len() < MAX_KEPT => {
                let (at, json) = timed(payload)?;
                self.issues.push(AppIssue { at, json: one_line(std::str::from_utf8(json).ok()?)? });
            }
            SectionKind::StackSamples => self.samples(std::str::from_utf8(payload).ok()?),
            SectionKind::DumpText if self.dumps.len() < 16 => {
                let (at, text) = timed(payload)?;
                self.dumps.push((at, String::from_utf8_lossy(text).into_owned()));
            }
            SectionKind::AnrProfile if self.profiles.len() < 16 => {
                self.profiles.push(PlatformProfile::of(std::str::from_utf8(payload).ok()?)?);
            }
            SectionKind::ExitInformation if self.exits.len() < 16 => {
                let text = String::from_utf8_lossy(payload);
                let (keys, text) = text.split_once("\n\n").unwrap_or((&text, ""));
                let keys = key_values(keys).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
                self.exits.push((keys, text.to_owned()));
            }
            _ => return None,
        }
        Some(())
    }

    fn samples(&mut self, text: &str) {
        let mut kept: usize = self.samples.iter().map(|sample| sample.frames.len()).sum();
        // Where the samples of this section begin: what is kept of a sample is of one before it here.
        let first = self.samples.len();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some((at, keep)) = line.strip_prefix('@').and_then(|head| head.split_once(' ')) else {
                continue;
            };
            let (Ok(at), Ok(keep)) = (at.parse::<u64>(), keep.trim().parse::<usize>()) else {
                self.skipped += 1;
                continue;
            };
            let mut frames = Vec::new();
            while let Some(frame) = lines.next_if(|line| !line.starts_with('@')) {
                if !frame.is_empty() && frames.len() < MAX_FRAMES {
                    frames.push(frame.to_owned());
                }
            }
            let before = self.samples.get(first..).and_then(|samples| samples.last());
            if let Some(before) = before {
                let from = before.frames.len().saturating_sub(keep);
                let room = MAX_FRAMES - frames.len();
                frames.extend(before.frames[from..].iter().take(room).cloned());
            }
            kept += frames.len();
            if self.samples.len() >= MAX_SAMPLES || kept > MAX_ALL_FRAMES {
                self.skipped += 1;
                return;
            }
            self.samples.push(StackSample { at, frames });
        }
    }

    /// The snapshot of the message that began at `since`, or the first that was taken from `since` to `until`.
    #[must_use]
    pub fn snapshot(&self, since: u64, until: u64) -> Option<&Snapshot> {
        let own = self.snapshots.iter().find(|s| since > 0 && s.message_since == since);
        own.or_else(|| self.snapshots.iter().find(|s| (since..=until).contains(&s.at)))
    }

    /// What a sample or snapshot of main's stack shows that it was in at `at`, if that is not the poll.
    pub(super) fn seen_at(&self, at: u64) -> Option<Unit> {
        let near = at.saturating_sub(NEAR)..=at.saturating_add(NEAR);
        let snapshots = self.snapshots.iter().filter(|s| near.contains(&s.at) && !s.stack.is_empty());
        let snapshots = snapshots.map(|s| (s.at, &s.stack));
        let samples = self.samples.iter().filter(|s| near.contains(&s.at)).map(|s| (s.at, &s.frames));
        let (at, frames) = snapshots.chain(samples).min_by_key(|(taken, _)| taken.abs_diff(at))?;
        Unit::sampled(std::iter::once(&StackSample { at, frames: frames.clone() }))
    }

    /// The samples that were taken from `since` to `until`.
    pub fn samples_within(&self, since: u64, until: u64) -> impl Iterator<Item = &StackSample> {
        self.samples.iter().filter(move |sample| (since..=until).contains(&sample.at))
    }
}

fn timed(payload: &[u8]) -> Option<(u64, &[u8])> {
    let (time, rest) = payload.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*time), rest))
}

/// A JSON object in one line; `None` if it is none.
fn one_line(json: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value.is_object().then(|| {
        let json = json.trim();
        // Line feeds are only between its parts: inside a text they must be escaped.
        if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json.to_owned() }
    })
}

/// `key=value` lines, asked by key.
struct Keys<'a>(&'a str);

impl<'a> Keys<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        key_values(self.0).find(|(k, _)| *k == key).map(|(_, value)| value.trim()).filter(|v| !v.is_empty())
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    fn time(&self, key: &str) -> u64 {
        self.number(key).unwrap_or(0)
    }

    fn owned(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }
}

fn snapshot(text: &str) -> Option<Snapshot> {
    let mut parts = text.splitn(3, "\n\n");
    let keys = Keys(parts.next()?);
    let mut lines = |limit| -> Vec<String> {
        let part = parts.next().unwrap_or_default();
        part.lines().filter(|l| !l.trim().is_empty()).take(limit).map(str::to_owned).collect()
    };
    Some(Snapshot {
        detector: keys.owned("detector")?,
        at: keys.number("at")?,
        message_since: keys.time("message_since"),
        stage: keys.owned("stage").map(|stage| (stage, keys.time("stage_since"))),
        foreground: keys.text("foreground").and_then(|value| match value {
            "1" | "yes" | "true" => Some(true),
            "0" | "no" | "false" => Some(false),
            _ => None,
        }),
        scene: keys.owned("scene"),
        state: keys.owned("state"),
        priority: keys.number("priority"),
        nice: keys.number("nice"),
        dalvik_kib: keys.number("dalvik_kib"),
        native_kib: keys.number("native_kib"),
        vm_kib: keys.number("vm_kib"),
        cgroup: keys.owned("cgroup"),
        stack: lines(MAX_FRAMES),
        pending: lines(MAX_PENDING),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trace_format::synth::RecordingBuilder;

    fn sections(parts: &[(SectionKind, &[u8])]) -> Sections {
        let mut b = RecordingBuilder::new(1, "p");
        for (kind, payload) in parts {
            b = b.section(*kind, payload);
        }
        Sections::of(&Recording::open(b.build()).unwrap()).unwrap()
    }

    #[test]
    fn a_snapshot_has_keys_a_stack_and_what_was_waiting() {
        let text = "detector=looper\nat=500\nmessage_since=100\nforeground=1\nnice=-10\nstate=BLOCKED\nstage=INPUT\n\
                    stage_since=120\nvm_kib=x\n\na.B.c(B.java:1)\na.M.d(M.java:2)\n\nMessage 0: { when=-1s }\n";
        let found = sections(&[(SectionKind::AnrSnapshot, text.as_bytes())]);
        let [s] = &found.snapshots[..] else { panic!("{found:?}") };
        assert_eq!((s.at, s.foreground, s.nice, s.vm_kib), (500, Some(true), Some(-10), None));
        assert_eq!(s.stage, Some(("INPUT".to_owned(), 120)));
        assert_eq!((s.stack.len(), s.pending.len(), s.state.as_deref()), (2, 1, Some("BLOCKED")));
        assert!(found.snapshot(100, 0).is_some() && found.snapshot(400, 600).is_some());
        assert!(found.snapshot(501, 600).is_none());
    }

    #[test]
    fn a_sample_keeps_the_outermost_frames_of_the_one_before() {
        let text = b"@10 0\na.B.c(B.java:1)\na.M.m(M.java:2)\n@20 1\na.X.y(X.java:3)\n@x 1\n@30 9\n";
        let found = sections(&[(SectionKind::StackSamples, text)]);
        let frames: Vec<_> = found.samples.iter().map(|s| (s.at, s.frames.join(" "))).collect();
        assert_eq!(
            frames,
            [
                (10, "a.B.c(B.java:1) a.M.m(M.java:2)".to_owned()),
                (20, "a.X.y(X.java:3) a.M.m(M.java:2)".to_owned()),
                (30, "a.X.y(X.java:3) a.M.m(M.java:2)".to_owned()),
            ]
        );
        assert_eq!(found.skipped, 1);
    }

    #[test]
    fn a_profile_of_the_platforms_has_a_path_and_a_size() {
        let whole = b"path=/data/user/0/a.b/files/profiling/p.perfetto-trace\nbytes=12\ntime_ms=5\n";
        let found =
            sections(&[(SectionKind::AnrProfile, &whole[..]), (SectionKind::AnrProfile, b"path=/x\n")]);
        assert_eq!(found.profiles.len(), 1);
        assert_eq!((found.profiles[0].file_name(), found.profiles[0].bytes), ("p.perfetto-trace", 12));
        assert_eq!(found.skipped, 1);
    }

    #[test]
    fn an_issue_is_an_object_in_one_line_or_none() {
        let issue = |json: &str| [&7u64.to_le_bytes()[..], json.as_bytes()].concat();
        let (good, bad) = (issue("{\n\"tag\": \"Trace_FPS\"\n}"), issue("[1]"));
        let found = sections(&[(SectionKind::Issue, &good), (SectionKind::Issue, &bad)]);
        assert_eq!(found.issues, [AppIssue { at: 7, json: "{ \"tag\": \"Trace_FPS\" }".to_owned() }]);
        assert_eq!(found.skipped, 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_skipped(
            bytes: Vec<u8>,
            text in "(@[0-9]{0,3} [0-9]{0,3}\n|[a-z.(]{0,9}\n|(kind|begin|detector|at|stage)=[a-z0-9]{0,21}\n|\n){0,20}",
        ) {
            for kind in [
                SectionKind::AnrSnapshot,
                SectionKind::StackSamples,
                SectionKind::Issue,
                SectionKind::DumpText,
                SectionKind::ExitInformation,
                SectionKind::AnrProfile,
            ] {
                sections(&[(kind, &bytes), (kind, text.as_bytes())]);
            }
        }
    }
}
