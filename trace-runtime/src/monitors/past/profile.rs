//! Profiles that the platform took of ANRs (ProfilingManager, API 36): the recording of the process says
//! where each is.
//!
//! The platform does not say which process of the app a profile is of. It is complete soon after the ANR,
//! so it belongs to a recording that started before. The order of choice: this process's recording if it
//! had an ANR; the youngest recording of an ended process that had one; this process's recording; the
//! youngest of all.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trace_format::section::SectionKind;
use trace_format::sections::profile::AnrProfile;

use crate::files::worker;
use crate::monitors::anr::snapshot;
use crate::monitors::past::old_recording;
use crate::recorder::Recorder;

/// A profile that the platform left.
#[derive(Clone, Copy, Debug)]
struct Profile<'a> {
    path: &'a str,
    bytes: u64,
    time_ms: u64,
}

/// Records a profile at this path. Returns whether there was a recording for it. Reads and writes files: on
/// a background thread.
pub(crate) fn left(directory: &Path, path: &str) -> bool {
    let Ok(file) = std::fs::metadata(path) else { return false };
    let time_ms = u64::try_from(file.mtime()).unwrap_or(0) * 1_000;
    let profile = Profile { path, bytes: file.len(), time_ms };
    let own_start_ms = Recorder::active().map_or(u64::MAX, |recorder| recorder.start_realtime() / 1_000_000);
    place(directory, profile, own_start_ms, snapshot::was_found(), |section| {
        worker::append(SectionKind::AnrProfile, section);
    })
}

/// File times are in seconds.
const COARSE_MS: u64 = 1_000;

fn place(
    directory: &Path,
    profile: Profile<'_>,
    own_start_ms: u64,
    own_anr: bool,
    append_own: impl FnOnce(Vec<u8>),
) -> bool {
    let before = |start_ms: u64| start_ms <= profile.time_ms.saturating_add(COARSE_MS);
    let own = before(own_start_ms);
    if own && own_anr {
        append_own(section(profile));
        return true;
    }
    let _search = old_recording::lock_search();
    let all = old_recording::all(directory);
    let name = Path::new(profile.path).file_name();
    if all.iter().any(|old| old.profiles.iter().any(|known| Some(known.as_os_str()) == name)) {
        return false;
    }
    let youngest = all.into_iter().filter(|old| before(old.start_ms) && (old.has_anr || !own));
    match youngest.max_by_key(|old| (old.has_anr, old.start_ms)) {
        Some(mut old) => old.append(SectionKind::AnrProfile, &section(profile)).is_ok(),
        None if own => {
            append_own(section(profile));
            true
        }
        None => false,
    }
}

fn section(Profile { path, bytes, time_ms }: Profile<'_>) -> Vec<u8> {
    AnrProfile { path: path.to_owned(), bytes, time_ms }.encode()
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
        let reported = |time_ms, path: &str, own_start_ms, own_anr| {
            let mut own = false;
            let profile = Profile { path, bytes: 7, time_ms };
            let placed = place(&directory, profile, own_start_ms, own_anr, |_| own = true);
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
        let profile = Profile { path: "/e", bytes: 7, time_ms: 60_000 };
        assert!(place(&directory, profile, 50_000, false, |_| own = true) && own && of_quiet() == 0);
        assert!(place(&directory, profile, 70_000, false, |_| ()) && of_quiet() == 1);
        let profile = Profile { path: "/f", time_ms: 1_000, ..profile };
        assert!(!place(&directory, profile, 70_000, false, |_| ()), "before all of them");
        fs::remove_dir_all(directory).unwrap();
    }
}
