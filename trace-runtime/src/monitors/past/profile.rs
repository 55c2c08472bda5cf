//! What the platform stores at its triggers (ProfilingManager, API 36): the recording of the process says where each file is, or why
//! the platform stored no file.
//!
//! The platform does not say which process of the app a result is of. A snapshot of the running system trace that the
//! library requested has the recording's id as its tag. Any other is complete soon after its trigger, so it belongs to a recording that
//! started before:
//!
//! | trigger | the recording |
//! | --- | --- |
//! | `anr` | this process's if it had an ANR; the youngest of an ended process that had one; this process's; the youngest |
//! | those of a process that ends (`kill_...`, `oom`) | the youngest of an ended process |
//! | any other | this process's; the youngest of an ended process |

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use trace_format::section::SectionKind;
use trace_format::sections::profile::{ANR, Outcome, PlatformProfile, RUNNING_TRACE};

use crate::files::worker;
use crate::monitors::anr::snapshot;
use crate::monitors::config::options::{self, Text};
use crate::monitors::config::redact;
use crate::monitors::past::{self, old_recording};
use crate::recorder::Recorder;
use crate::time::clock;

/// The error of a request that has no result yet, as in `PlatformProfiles.java`; the others are those of
/// `ProfilingResult`.
const REQUESTED: i32 = -1;
/// What an id of a recording begins with ([`trace_format::recording_id`]).
const ID_PREFIX: &str = "anrscope-";
/// The most results without a file that a process records.
const MAX_WITHOUT_FILE: u32 = 16;

static WITHOUT_FILE: AtomicU32 = AtomicU32::new(0);

/// What the platform answered, or a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    /// The trigger's name.
    pub(crate) trigger: &'a str,
    /// The file, if there is one.
    pub(crate) path: Option<&'a str>,
    /// The tag of the request, or the system's; empty without one.
    pub(crate) tag: &'a str,
    /// `ProfilingResult.getErrorCode()`, or [`REQUESTED`].
    pub(crate) error: i32,
}

/// Records an answer. Returns whether there was a recording for it. Reads and writes files: on a background thread.
pub(crate) fn answered(directory: &Path, answer: &Answer<'_>) -> bool {
    let own_id = past::own_id();
    let Some(of) = of(answer, own_id.as_deref(), &options::text(Text::ProfileTriggers)) else { return false };
    let Some(profile) = profile(answer) else { return false };
    if profile.outcome != Outcome::Stored && WITHOUT_FILE.fetch_add(1, Ordering::Relaxed) >= MAX_WITHOUT_FILE
    {
        return false;
    }
    let own = Own {
        start_ms: Recorder::active().map_or(u64::MAX, |recorder| recorder.start_realtime() / 1_000_000),
        had_anr: snapshot::was_found(),
    };
    place(directory, &profile, of, own, |section| worker::append(SectionKind::PlatformProfile, section))
}

/// The section's contents; `None` if the file is not there.
fn profile(answer: &Answer<'_>) -> Option<PlatformProfile> {
    let outcome = match answer.error {
        REQUESTED => Outcome::Requested,
        // The platform replaces this combination by an error of its own (AOSP `ProfilingManager.java`, API 36).
        0 if answer.path.is_none() => Outcome::Unknown,
        error => Outcome::of_error(error),
    };
    let (path, bytes, time_ms) = match answer.path.filter(|_| outcome == Outcome::Stored) {
        Some(path) => {
            let file = std::fs::metadata(path).ok()?;
            (path.to_owned(), file.len(), u64::try_from(file.mtime()).unwrap_or(0) * 1_000)
        }
        None => (String::new(), 0, clock::all().realtime / 1_000_000),
    };
    let tag = answer.tag.to_owned();
    Some(PlatformProfile {
        trigger: answer.trigger.to_owned(),
        outcome,
        path,
        bytes,
        time_ms,
        tag: if tag.starts_with(ID_PREFIX) { tag } else { redact::own(tag) },
        asked_ns: (outcome == Outcome::Requested).then(clock::boottime),
    })
}

/// Whose recording it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of<'a> {
    /// This process.
    Own,
    /// The recording with this id.
    Id(&'a str),
    /// A process that had an ANR.
    Anr,
    /// A process that has ended.
    Ended,
    /// A process that went on.
    Running,
}

/// Whose recording an answer belongs to; `None` for the answer to a request of the app, unless `listed`, the option
/// `profile_triggers`, has its trigger.
fn of<'a>(answer: &Answer<'a>, own_id: Option<&str>, listed: &str) -> Option<Of<'a>> {
    match answer.trigger {
        RUNNING_TRACE if own_id == Some(answer.tag) => Some(Of::Own),
        RUNNING_TRACE if answer.tag.starts_with(ID_PREFIX) => Some(Of::Id(answer.tag)),
        RUNNING_TRACE if !listed.split(';').any(|name| name.trim() == RUNNING_TRACE) => None,
        ANR => Some(Of::Anr),
        "oom" => Some(Of::Ended),
        trigger if trigger.starts_with("kill_") => Some(Of::Ended),
        _ => Some(Of::Running),
    }
}

/// What is known of this process's recording.
#[derive(Clone, Copy, Debug)]
struct Own {
    /// When it started, ms since 1970.
    start_ms: u64,
    had_anr: bool,
}

/// File times are in seconds.
const COARSE_MS: u64 = 1_000;

fn place(
    directory: &Path,
    profile: &PlatformProfile,
    of: Of<'_>,
    own: Own,
    append_own: impl FnOnce(Vec<u8>),
) -> bool {
    let before = |start_ms: u64| start_ms <= profile.time_ms.saturating_add(COARSE_MS);
    let is_own = match of {
        Of::Own => true,
        Of::Anr => before(own.start_ms) && own.had_anr,
        Of::Running => before(own.start_ms),
        Of::Id(_) | Of::Ended => false,
    };
    if is_own {
        append_own(profile.encode());
        return true;
    }
    let own_otherwise = of == Of::Anr && before(own.start_ms);
    let _search = old_recording::lock_search();
    let name = Some(OsStr::new(profile.file_name())).filter(|name| !name.is_empty());
    if old_recording::all(directory)
        .any(|old| old.profiles.iter().any(|known| Some(known.as_os_str()) == name))
    {
        return false;
    }
    let fits = |old: &old_recording::OldRecording| match of {
        Of::Id(id) => old.id == id,
        _ => before(old.start_ms) && (old.has_anr || !own_otherwise),
    };
    let youngest = old_recording::all(directory).filter(fits);
    match youngest.max_by_key(|old| (of == Of::Anr && old.has_anr, old.start_ms)) {
        Some(mut old) => old.append(SectionKind::PlatformProfile, &profile.encode()).is_ok(),
        None if own_otherwise => {
            append_own(profile.encode());
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use trace_format::event::Clocks;
    use trace_format::synth::RecordingBuilder;

    #[test]
    fn a_profile_goes_to_the_recording_of_the_likely_anr() {
        let directory = std::env::temp_dir().join(format!("anrscope-profile-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, pid, start_ms: u64, anr: bool| {
            let start = Clocks { boottime: 1, monotonic: 1, realtime: start_ms * 1_000_000 };
            let mut builder = RecordingBuilder::new(pid, "com.example").start(start);
            if anr {
                builder = builder.section(SectionKind::AnrSnapshot, b"detector=looper\n");
            }
            fs::write(directory.join(name), builder.build()).unwrap();
        };
        write("quiet.anrscope", 11, 20_000, false);
        write("early.anrscope", 12, 10_000, true);
        write("late.anrscope", 13, 90_000, true);
        let of =
            |name: &str| old_recording::OldRecording::open(&directory.join(name)).unwrap().profiles.len();
        let anr = |path: &str, time_ms| PlatformProfile { time_ms, ..PlatformProfile::stored(ANR, path, 7) };
        let own_at = |start_ms, had_anr| Own { start_ms, had_anr };
        let reported = |time_ms, path: &str, own_start_ms, own_anr| {
            let mut own = false;
            let at = own_at(own_start_ms, own_anr);
            let placed = place(&directory, &anr(path, time_ms), Of::Anr, at, |_| own = true);
            (placed, own, ["quiet", "early", "late"].map(|name| of(&format!("{name}.anrscope"))))
        };
        // This process is long-lived, and had an ANR.
        assert_eq!(reported(60_000, "/a", 50_000, true), (true, true, [0, 0, 0]));
        // Another process of the app had it, and the youngest at the time had none.
        assert_eq!(reported(60_000, "/b", 50_000, false), (true, false, [0, 1, 0]));
        assert_eq!(reported(60_000, "/b", 50_000, false), (false, false, [0, 1, 0]), "reported again");
        // Of a process that had ended when this one started.
        assert_eq!(reported(30_000, "/c", 100_000, true), (true, false, [0, 2, 0]));
        assert_eq!(reported(95_000, "/d", 100_000, true), (true, false, [0, 2, 1]));
        // No known process had one.
        fs::remove_file(directory.join("early.anrscope")).unwrap();
        fs::remove_file(directory.join("late.anrscope")).unwrap();
        let of_quiet =
            || old_recording::OldRecording::open(&directory.join("quiet.anrscope")).unwrap().profiles.len();
        let mut own = false;
        let later = own_at(70_000, false);
        let profile = anr("/e", 60_000);
        assert!(place(&directory, &profile, Of::Anr, own_at(50_000, false), |_| own = true));
        assert!(own && of_quiet() == 0);
        assert!(place(&directory, &profile, Of::Anr, later, |_| ()) && of_quiet() == 1);
        assert!(!place(&directory, &anr("/f", 1_000), Of::Anr, later, |_| ()), "before all of them");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn other_profiles_go_to_the_process_that_their_trigger_means() {
        let directory = std::env::temp_dir().join(format!("anrscope-triggers-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, pid, start_ms: u64, section| {
            let start = Clocks { boottime: 1, monotonic: 1, realtime: start_ms * 1_000_000 };
            let builder =
                RecordingBuilder::new(pid, "com.example").start(start).section(section, b"reason=anr\n");
            fs::write(directory.join(name), builder.build()).unwrap();
        };
        write("early.anrscope", 11, 10_000, SectionKind::ExitInformation);
        write("late.anrscope", 12, 20_000, SectionKind::Process);
        let of = |name: &str| old_recording::OldRecording::open(&directory.join(name)).unwrap();
        let mut number = 0;
        let mut placed = |trigger: &str, tag: &str, outcome| {
            number += 1;
            let path = format!("/profile_{number}");
            let path = if outcome == Outcome::Stored { path } else { String::new() };
            let profile = PlatformProfile {
                time_ms: 60_000,
                outcome,
                tag: tag.to_owned(),
                ..PlatformProfile::stored(trigger, &path, 7)
            };
            let answer = Answer { trigger, path: Some("/x"), tag, error: 0 };
            let of = super::of(&answer, Some("anrscope-13-50"), "")?;
            let mut own = false;
            let at = Own { start_ms: 50_000, had_anr: true };
            place(&directory, &profile, of, at, |_| own = true).then_some(own)
        };
        let stored = Outcome::Stored;
        // This process runs, and another one had ended.
        assert_eq!(placed("cold_start", "", stored), Some(true));
        assert_eq!(placed("anomaly", "binder_spam", stored), Some(true));
        assert_eq!(
            (placed("kill_recents", "", stored), of("late.anrscope").profiles.len()),
            (Some(false), 1)
        );
        assert_eq!((placed("oom", "", stored), of("late.anrscope").profiles.len()), (Some(false), 2));
        // By the id of the recording, which is not the youngest.
        let id = trace_format::recording_id(11, 10_000_000_000);
        let running = RUNNING_TRACE;
        assert_eq!((placed(running, &id, stored), of("early.anrscope").profiles.len()), (Some(false), 1));
        assert_eq!(placed(running, "anrscope-13-50", stored), Some(true));
        assert_eq!(placed(running, "anrscope-99-50", stored), None, "its recording is gone");
        assert_eq!(placed(running, "the app's own", stored), None);
        // What has no file names none, and a profile of another trigger is no ANR.
        assert_eq!(placed("kill_recents", "", Outcome::NoDiskSpace), Some(false));
        let late = of("late.anrscope");
        assert_eq!((late.profiles.len(), late.has_anr), (2, false));
        drop(late);
        assert_eq!(placed("anr", "", stored), Some(true));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn an_apps_request_counts_only_if_its_trigger_is_listed() {
        let answer = Answer { trigger: RUNNING_TRACE, path: None, tag: "mine", error: 0 };
        assert_eq!(super::of(&answer, None, "oom;cold_start"), None);
        assert_eq!(super::of(&answer, None, "oom; app_request_running_trace"), Some(Of::Running));
    }

    #[test]
    fn a_result_without_a_file_is_no_file() {
        let answer = Answer { trigger: "oom", path: None, tag: "", error: 0 };
        assert_eq!(profile(&answer).unwrap().outcome, Outcome::Unknown);
        let denied = profile(&Answer { path: Some("/data/x/filesnull"), error: 2, ..answer }).unwrap();
        assert_eq!((denied.outcome, denied.path.as_str()), (Outcome::RateLimitProcess, ""));
        let asked = profile(&Answer { error: REQUESTED, ..answer }).unwrap();
        assert!(asked.outcome == Outcome::Requested && asked.asked_ns.is_some() && asked.time_ms > 0);
        assert_eq!(profile(&Answer { path: Some("/gone/profile"), ..answer }), None);
    }
}
