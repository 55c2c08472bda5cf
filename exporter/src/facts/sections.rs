//! Reads the sections of a recording, once.

use std::collections::HashMap;
use std::path::Path;

use answers::dump::Dump;
use answers::text::clean;
use trace_format::section::SectionKind;
use trace_format::sections::anr_snapshot::AnrSnapshot;
use trace_format::sections::component::Component;
use trace_format::sections::exit_info::ExitInformation;
use trace_format::sections::native_frames::NativeFrames;
use trace_format::sections::native_modules::NativeModules;
use trace_format::sections::native_stack::NativeStack;
use trace_format::sections::process::Process;
use trace_format::sections::profile::PlatformProfile;
use trace_format::sections::self_measurement::SelfMeasurement;
use trace_format::sections::startup::Startup;
use trace_format::sections::system_state::SystemState;
use trace_format::sections::verdict::Verdict;
use trace_format::sections::{max_len, timed};
use trace_format::{ReadError, Recording, Section, Source};

use super::component::Components;
use super::overhead::Overhead;
use super::samples::Samples;
use super::skipped::Skipped;
use super::verdicts::Verdicts;

/// Maximum number of snapshots, one of each ANR, and of reports kept.
const MAX_SNAPSHOTS: usize = 1024;
const MAX_ISSUES: usize = 1024;
/// Maximum size of all snapshots in bytes: each is kept whole.
const MAX_SNAPSHOT_BYTES: u64 = 32 << 20;
/// Maximum number of starts, and of components, kept. A page counts as a start.
const MAX_STARTS: usize = 4096;
/// Maximum number of dumps, exit records and platform profiles kept.
const MAX_FEW: usize = 64;
/// Maximum size of all dumps, exit records and reports in bytes: each is kept as it was read.
const MAX_KEPT_BYTES: u64 = 128 << 20;
/// Maximum number of captures of native stacks, and of their frames, kept; and maximum size of the frames, and of
/// the modules, in bytes.
const MAX_NATIVE: usize = 4096;
const MAX_NATIVE_BYTES: u64 = 32 << 20;

/// Maximum number of polls of the system's state, and of their threads.
const MAX_POLLS: usize = 16_384;
const MAX_POLLED_THREADS: usize = 1 << 18;

/// Sections of the monitors, the recorder and the system.
#[derive(Debug, Default)]
pub struct Sections {
    /// Snapshots taken when an ANR was detected, by time.
    pub snapshots: Vec<AnrSnapshot>,
    /// Samples of main's stack, in the file's order.
    pub samples: Samples,
    /// Starts and pages by start time; for equal times the longest first.
    pub starts: Vec<Startup>,
    /// The components that main runs, as recorded and by its stacks.
    pub(crate) components: Components,
    /// What the platform stored at its triggers, or did not.
    pub profiles: Vec<PlatformProfile>,
    /// Polls of the system's state, by time.
    pub polls: Vec<SystemState>,
    polled_threads: usize,
    /// The process and its system.
    pub process: Process,
    pub(super) verdicts: Verdicts,
    pub(super) measurement: Option<SelfMeasurement>,
    pub(super) overhead: Overhead,
    /// Thread dumps in the file's order, each with the moment of its request, BOOTTIME ns.
    pub(crate) dumps: Vec<(u64, Dump)>,
    /// The system's records of the process's exit: the reasons, and the dumps in them.
    pub(crate) exits: Vec<(String, Option<Dump>)>,
    /// Reports as the app received them, each one JSON object on one line, by time.
    pub(crate) issues: Vec<(u64, String)>,
    /// The number of sections kept of each kind, and their bytes.
    kept: HashMap<SectionKind, (usize, u64)>,
    /// Native stacks.
    pub(crate) native: NativeSections,
}

/// A section about one capture of a native stack.
#[derive(Debug)]
pub(crate) struct NativeSection {
    /// The number of the capture.
    pub(crate) number: u64,
    /// When it was, BOOTTIME ns.
    pub(crate) at: u64,
    pub(crate) section: Section,
}

/// Sections with native stacks: each readable, and read again on demand.
#[derive(Debug, Default)]
pub(crate) struct NativeSections {
    pub(crate) captures: Vec<NativeSection>,
    pub(crate) frames: Vec<NativeSection>,
    /// Modules by time.
    pub(crate) modules: Vec<(u64, Section)>,
}

impl NativeSections {
    /// Whether any section has a capture or frames.
    pub(crate) fn has_captures(&self) -> bool {
        !self.captures.is_empty() || !self.frames.is_empty()
    }

    /// Keeps a section; `None` if it has no facts.
    fn take(&mut self, kind: SectionKind, section: &Section, payload: &[u8]) -> Option<()> {
        match kind {
            SectionKind::NativeStack => {
                let NativeStack { number, at, .. } = NativeStack::parse(payload)?;
                self.captures.push(NativeSection { number, at, section: *section });
            }
            SectionKind::NativeFrames => {
                let NativeFrames { number, at, .. } = NativeFrames::parse(payload)?;
                self.frames.push(NativeSection { number, at, section: *section });
            }
            _ => self.modules.push((NativeModules::parse(payload)?.at, *section)),
        }
        Some(())
    }
}

/// Sections that are kept as they were read, and share one limit of bytes.
const WHOLE: [SectionKind; 3] = [SectionKind::DumpText, SectionKind::ExitInformation, SectionKind::Issue];

/// The most sections of a kind that are kept, and the most bytes of them.
fn limits(kind: SectionKind) -> (usize, u64) {
    match kind {
        SectionKind::AnrSnapshot => (MAX_SNAPSHOTS, MAX_SNAPSHOT_BYTES),
        SectionKind::Issue => (MAX_ISSUES, MAX_KEPT_BYTES),
        SectionKind::Startup | SectionKind::Component => (MAX_STARTS, u64::MAX),
        SectionKind::DumpText | SectionKind::ExitInformation => (MAX_FEW, MAX_KEPT_BYTES),
        SectionKind::PlatformProfile => (MAX_FEW, u64::MAX),
        SectionKind::SystemState => (MAX_POLLS, u64::MAX),
        SectionKind::NativeStack => (MAX_NATIVE, u64::MAX),
        SectionKind::NativeFrames => (MAX_NATIVE, MAX_NATIVE_BYTES),
        SectionKind::NativeModules => (MAX_FEW, MAX_NATIVE_BYTES),
        _ => (usize::MAX, u64::MAX),
    }
}

/// The name of a section type for a warning about skipped ones.
fn plural(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Strings => "sections of texts",
        SectionKind::Process => "sections of the process",
        SectionKind::DumpText => "thread dumps",
        SectionKind::StackSamples => "stack samples",
        SectionKind::Verdict => "verdicts",
        SectionKind::ExitInformation => "exits",
        SectionKind::Configuration => "configurations",
        SectionKind::SelfMeasurement => "self-measurements",
        SectionKind::Issue => "reports of the app",
        SectionKind::AnrSnapshot => "ANR snapshots",
        SectionKind::Startup => "starts",
        SectionKind::PlatformProfile => "profiles of the platform",
        SectionKind::Overhead => "lines of overhead",
        SectionKind::NativeStack => "native stacks",
        SectionKind::NativeFrames => "frames of native stacks",
        SectionKind::NativeModules => "lists of native modules",
        SectionKind::SystemState => "polls of the system's state",
        SectionKind::Component => "components",
    }
}

impl Sections {
    pub(super) fn of(
        recording: &Recording<dyn Source + '_>,
        skipped: &mut Skipped,
    ) -> Result<Self, ReadError> {
        let mut found = Self::default();
        for section in recording.sections() {
            let Some(kind) = section.kind else {
                skipped.add("sections of later versions", 1);
                continue;
            };
            // Texts were read when the recording was opened; the configuration is not used.
            if matches!(kind, SectionKind::Strings | SectionKind::Configuration) {
                continue;
            }
            let readable = section.length <= max_len(kind) && found.has_room(kind, section.length);
            let payload = if readable { recording.payload(section)? } else { None };
            let more = payload.and_then(|payload| found.take(kind, section, &payload));
            skipped.add(plural(kind), more.unwrap_or(1));
        }
        found.snapshots.sort_by_key(|snapshot| snapshot.at);
        found.starts.sort_by_key(|start| (start.begin, u64::MAX - start.end));
        found.polls.sort_by_key(|poll| poll.at);
        found.components.complete(&found.samples, &found.snapshots);
        found.issues.sort_by_key(|(at, _)| *at);
        found.overhead.sort();
        found.native.modules.sort_by_key(|(at, _)| *at);
        Ok(found)
    }

    fn has_room(&self, kind: SectionKind, length: u64) -> bool {
        let (most, most_bytes) = limits(kind);
        let kept = |kind: &SectionKind| self.kept.get(kind).copied().unwrap_or_default();
        let bytes: u64 =
            if WHOLE.contains(&kind) { WHOLE.iter().map(|kind| kept(kind).1).sum() } else { kept(&kind).1 };
        kept(&kind).0 < most
            && bytes + length <= most_bytes
            && (kind != SectionKind::SystemState || self.polled_threads < MAX_POLLED_THREADS)
    }

    /// Keeps a section's content; returns how much of it is skipped, `None` if it has no facts.
    fn take(&mut self, kind: SectionKind, section: &Section, payload: &[u8]) -> Option<u64> {
        match kind {
            SectionKind::AnrSnapshot => self.snapshots.push(shown(AnrSnapshot::parse(payload)?)),
            SectionKind::StackSamples => return Some(self.samples.add(&String::from_utf8_lossy(payload))),
            SectionKind::Overhead => return Some(self.overhead.read(&String::from_utf8_lossy(payload))),
            SectionKind::Verdict => return Some(self.verdicts.add(Verdict::parse(payload)?)),
            SectionKind::Startup => {
                let start = Startup::parse(payload)?;
                let activity = clean(&start.activity).into_owned();
                self.starts.push(Startup { activity, ..start });
            }
            SectionKind::Component => {
                let component = Component::parse(payload)?;
                let class = clean(&component.class).into_owned();
                self.components.recorded.push(Component { class, ..component });
            }
            SectionKind::DumpText => {
                let (at, text) = timed::parse(kind, payload)?;
                self.dumps.push((at, Dump::read(Path::new("dump"), text).ok()?));
            }
            SectionKind::ExitInformation => {
                let ExitInformation { reason, text, .. } = ExitInformation::parse(payload)?;
                self.exits.push((reason, Dump::read(Path::new("exit"), &text[..]).ok()));
            }
            SectionKind::Issue => {
                let (at, json) = timed::parse(kind, payload)?;
                self.issues.push((at, one_line(json)?));
            }
            SectionKind::PlatformProfile => self.profiles.push(PlatformProfile::parse(payload)?),
            SectionKind::SelfMeasurement => {
                let measured = SelfMeasurement::parse(payload)?;
                self.measurement =
                    Some(SelfMeasurement { clock: clean(&measured.clock).into_owned(), ..measured });
            }
            SectionKind::Process => {
                self.process.complete(Process::parse(payload)?);
            }
            SectionKind::SystemState => {
                let mut poll = SystemState::parse(payload)?;
                for thread in &mut poll.threads {
                    thread.name = clean(&thread.name).into_owned();
                    thread.channel = thread.channel.as_deref().map(|name| clean(name).into_owned());
                }
                poll.cpuset = poll.cpuset.as_deref().map(|path| clean(path).into_owned());
                self.polled_threads += poll.threads.len();
                self.polls.push(poll);
            }
            SectionKind::NativeStack | SectionKind::NativeFrames | SectionKind::NativeModules => {
                self.native.take(kind, section, payload)?;
            }
            SectionKind::Strings | SectionKind::Configuration => {}
        }
        let (count, bytes) = self.kept.entry(kind).or_default();
        (*count, *bytes) = (*count + 1, *bytes + section.length);
        Some(0)
    }

    /// The snapshot of the message that started at `since`, else the first one taken from `since` to `until`.
    #[must_use]
    pub fn snapshot(&self, since: u64, until: u64) -> Option<&AnrSnapshot> {
        let own = self.snapshots.iter().find(|s| since > 0 && s.message_since == since);
        own.or_else(|| self.snapshots.iter().find(|s| (since..=until).contains(&s.at)))
    }
}

/// A JSON object on one line; `None` if it is not an object.
fn one_line(json: &[u8]) -> Option<String> {
    let json = std::str::from_utf8(json).ok()?.trim();
    json.starts_with('{').then_some(())?;
    serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
    // Line feeds occur only between tokens: inside a text they must be escaped.
    Some(json.replace(['\n', '\r'], " "))
}

/// Cleans a snapshot's texts for display.
fn shown(mut snapshot: AnrSnapshot) -> AnrSnapshot {
    let s = &mut snapshot;
    let texts = [&mut s.detector, &mut s.verdict, &mut s.message, &mut s.scene, &mut s.state, &mut s.cgroup];
    for text in texts.into_iter().flatten().chain(s.stage.as_mut().map(|stage| &mut stage.name)) {
        *text = clean(text).into_owned();
    }
    for lines in [&mut s.stack, &mut s.pending] {
        *lines = lines.lines().flat_map(|line| [clean(line), "\n".into()]).collect();
    }
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trace_format::synth::RecordingBuilder;

    fn sections(parts: &[(SectionKind, &[u8])]) -> (Sections, Skipped) {
        let mut b = RecordingBuilder::new(1, "p");
        for (kind, payload) in parts {
            b = b.section(*kind, payload);
        }
        let mut skipped = Skipped::default();
        (Sections::of(&Recording::open(b.build()).unwrap(), &mut skipped).unwrap(), skipped)
    }

    #[test]
    fn a_snapshot_is_found_by_its_message_or_its_time() {
        let text = b"at=500\nmessage_since=100\nscene=a\x07b\n\na.B.c(B.java:1)\n";
        let (found, _) = sections(&[(SectionKind::AnrSnapshot, text)]);
        assert_eq!(found.snapshots[0].scene.as_deref(), Some("a\u{fffd}b"));
        assert!(found.snapshot(100, 0).is_some() && found.snapshot(400, 600).is_some());
        assert!(found.snapshot(501, 600).is_none());
    }

    #[test]
    fn a_report_of_the_app_is_an_object_in_one_line() {
        assert_eq!(
            one_line(b"{\n\"tag\": \"Trace_FPS\"\n}\n").as_deref(),
            Some("{ \"tag\": \"Trace_FPS\" }")
        );
        assert_eq!((one_line(b"[1]"), one_line(b"{\"a\":}"), one_line(b"\xff")), (None, None, None));
    }

    #[test]
    fn what_cannot_be_read_is_counted_by_its_type() {
        let (found, skipped) = sections(&[
            (SectionKind::AnrSnapshot, b"detector=looper\n"),
            (SectionKind::Issue, &timed::encode(7, b"[1]")),
            (SectionKind::Issue, b"short"),
            (SectionKind::PlatformProfile, b"path=/x\n"),
            (SectionKind::StackSamples, b"@x 1\n@5 0\na.B.c\n"),
            (SectionKind::Process, b"sdk=34\n"),
        ]);
        assert_eq!((found.samples.iter().count(), found.process.sdk), (1, Some(34)));
        let wanted = "ANR snapshots 1, profiles of the platform 1, reports of the app 2, stack samples 1";
        assert_eq!((skipped.to_string().as_str(), skipped.total()), (wanted, 5));
    }

    #[test]
    fn snapshots_are_bounded_in_number_and_in_bytes() {
        let small: Vec<_> =
            (0..MAX_SNAPSHOTS + 5).map(|_| (SectionKind::AnrSnapshot, &b"at=1\n"[..])).collect();
        let (found, skipped) = sections(&small);
        assert_eq!((found.snapshots.len(), skipped.total()), (MAX_SNAPSHOTS, 5));
        let large = [b"at=1\n\n\n\n".to_vec(), vec![b'x'; (3 << 20) + 100]].concat();
        let large: Vec<_> = (0..12).map(|_| (SectionKind::AnrSnapshot, &large[..])).collect();
        let (found, skipped) = sections(&large);
        assert_eq!((found.snapshots.len(), skipped.total()), (10, 2));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_skipped(
            bytes: Vec<u8>,
            text in "(@[0-9]{0,3} [0-9]{0,3}\n|[a-z.(]{0,9}\n|(kind|begin|detector|at|stage)=[a-z0-9]{0,21}\n|\n){0,20}",
        ) {
            for kind in (1..=18).filter_map(|number| SectionKind::try_from(number).ok()).filter(|kind| *kind != SectionKind::Strings) {
                sections(&[(kind, &bytes), (kind, text.as_bytes())]);
            }
        }
    }
}
