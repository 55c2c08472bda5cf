//! Which old recordings are kept.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::files::file;
use crate::monitors::config::options::{self, Setting};
use crate::monitors::past::old_recording::{self, OldRecording};
use crate::time::clock;

/// What the decision depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kept {
    start_ms: u64,
    kib: u64,
    has_anr: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Limits {
    count: usize,
    kib: u64,
    oldest_ms: u64,
}

/// Removes recordings of ended processes until the options' limits are met. On a background thread.
pub(crate) fn retain(directory: &Path) {
    let now_ms = clock::all().realtime / 1_000_000;
    let limits = Limits {
        count: usize::try_from(options::number(Setting::KeepRecordings)).unwrap_or(usize::MAX),
        kib: options::number(Setting::KeepKib),
        oldest_ms: now_ms.saturating_sub(options::number(Setting::KeepDays) * 24 * 3_600_000),
    };
    retain_within(directory, limits);
}

fn retain_within(directory: &Path, limits: Limits) {
    let _search = old_recording::lock_search();
    let (paths, kept): (Vec<PathBuf>, Vec<Kept>) = old_recording::all(directory)
        .map(|old| {
            let kept = Kept { start_ms: old.start_ms, kib: old.bytes.div_ceil(1024), has_anr: old.has_anr };
            (old.path, kept)
        })
        .unzip();
    for victim in victims(&kept, limits) {
        // While it is locked: no other process appends to it meanwhile.
        let Some(old) = OldRecording::open(&paths[victim]) else { continue };
        let _ = std::fs::remove_file(&old.path);
        // The platform left them for the app, and only the recording names them.
        for name in &old.profiles {
            if let Some(profile) = profile_named(directory, name) {
                let _ = std::fs::remove_file(profile);
            }
        }
    }
    for path in old_recording::paths(directory) {
        if path.as_os_str().as_encoded_bytes().ends_with(b".anrscope.part") {
            file::remove_abandoned(&path);
        }
    }
}

/// The platform's profile of this name, if it is a regular file in the app's profiling directory.
///
/// A recording may come from anywhere (a restored backup, an unpacked archive), so the directory that it
/// names does not count: ProfilingManager leaves its files in `files/profiling` of the app's data (AOSP
/// `ProfilingManager.java`, API 35), and recordings are in `no_backup/anrscope` next to it.
fn profile_named(directory: &Path, name: &OsStr) -> Option<PathBuf> {
    let data = directory.canonicalize().ok()?;
    let directory = data.parent()?.parent()?.join("files/profiling");
    let path = directory.join(name);
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|of| of.is_file());
    // If the directory is a link, the file is elsewhere.
    (is_file && path.canonicalize().is_ok_and(|real| real.parent() == Some(&directory))).then_some(path)
}

/// Which recordings are removed: those that are too old, then the oldest, those without an ANR first.
fn victims(all: &[Kept], limits: Limits) -> Vec<usize> {
    let (mut left, mut victims): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|n| all[*n].start_ms >= limits.oldest_ms);
    left.sort_by_key(|n| (all[*n].has_anr, all[*n].start_ms));
    let mut kib: u64 = left.iter().map(|n| all[*n].kib).fold(0, u64::saturating_add);
    let mut count = left.len();
    for n in left {
        if count <= limits.count && kib <= limits.kib {
            break;
        }
        count -= 1;
        kib -= all[n].kib;
        victims.push(n);
    }
    victims
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn kept(start_ms: u64, kib: u64, has_anr: bool) -> Kept {
        Kept { start_ms, kib, has_anr }
    }

    #[test]
    fn files_of_living_processes_and_other_files_stay() {
        use std::os::fd::AsRawFd;
        use trace_format::event::Clocks;
        use trace_format::section::SectionKind;
        use trace_format::synth::RecordingBuilder;
        let directory = std::env::temp_dir().join(format!("anrscope-retention-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, start_ms: u64, anr: bool| {
            let start = Clocks { boottime: 1, monotonic: 1, realtime: start_ms * 1_000_000 };
            let mut recording = RecordingBuilder::new(1 << 30, "p").start(start);
            if anr {
                recording = recording.section(SectionKind::Verdict, b"verdict=anr\n");
            }
            std::fs::write(directory.join(name), recording.build()).unwrap();
        };
        write("old.anrscope", 1, true);
        write("anr.anrscope", 20, true);
        write("plain.anrscope", 30, false);
        write("last.anrscope", 40, false);
        write("living.anrscope", 2, false);
        std::fs::write(directory.join("notes.txt"), "mine").unwrap();
        std::fs::write(directory.join("strange.anrscope"), "no recording").unwrap();
        let living = std::fs::File::open(directory.join("living.anrscope")).unwrap();
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        assert_eq!(unsafe { libc::flock(living.as_raw_fd(), libc::LOCK_EX) }, 0);
        // A link to a recording elsewhere is not a recording: neither its target nor the link is touched.
        let elsewhere = directory.join("elsewhere");
        std::fs::write(&elsewhere, RecordingBuilder::new(1 << 30, "p").build()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, directory.join("link.anrscope")).unwrap();
        assert!(old_recording::OldRecording::open(&directory.join("link.anrscope")).is_none());
        retain_within(&directory, Limits { count: 2, kib: u64::MAX, oldest_ms: 10 });
        let mut left: Vec<_> =
            std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            [
                "anr.anrscope",
                "elsewhere",
                "last.anrscope",
                "link.anrscope",
                "living.anrscope",
                "notes.txt",
                "strange.anrscope"
            ]
        );
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_planted_recording_removes_only_the_platforms_profiles() {
        use std::os::unix::fs::symlink;
        use trace_format::section::SectionKind;
        use trace_format::synth::RecordingBuilder;
        let data = std::env::temp_dir().join(format!("anrscope-planted-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&data);
        let (directory, profiling) = (data.join("no_backup/anrscope"), data.join("files/profiling"));
        for made in [&directory, &profiling, &data.join("databases")] {
            std::fs::create_dir_all(made).unwrap();
        }
        let precious = data.join("databases/precious.db");
        let kept =
            [precious.clone(), data.join("files/mine"), profiling.join("unnamed"), directory.join("mine")];
        let profile = profiling.join("profile_1.perfetto-trace");
        for path in kept.iter().chain([&profile]) {
            std::fs::write(path, "x").unwrap();
        }
        symlink(&precious, profiling.join("link")).unwrap();
        std::fs::create_dir(profiling.join("directory")).unwrap();
        let mut planted = RecordingBuilder::new(1 << 30, "p");
        let claims = ["..", "../../databases/precious.db", "link", "directory", "mine", "../mine", "/", ""];
        let claims = claims.map(|claim| format!("path={}/{claim}\nbytes=1\n", profiling.display()));
        let absolute = kept.iter().filter(|path| !path.ends_with("unnamed"));
        let absolute = absolute.chain([&profile]).map(|path| format!("path={}\nbytes=1\n", path.display()));
        for claim in claims.into_iter().chain(absolute) {
            planted = planted.section(SectionKind::PlatformProfile, claim.as_bytes());
        }
        std::fs::write(directory.join("planted.anrscope"), planted.build()).unwrap();
        let all = Limits { count: 0, kib: 0, oldest_ms: u64::MAX };
        retain_within(&directory, all);
        assert!(!directory.join("planted.anrscope").exists() && !profile.exists());
        assert!(kept.iter().all(|path| path.exists()), "{kept:?}");
        assert!(profiling.join("link").exists() && profiling.join("directory").exists());

        // A link instead of the platform's directory.
        std::fs::remove_dir_all(&profiling).unwrap();
        symlink(data.join("databases"), &profiling).unwrap();
        let planted = RecordingBuilder::new(1 << 30, "p");
        let planted = planted.section(SectionKind::PlatformProfile, b"path=/x/precious.db\nbytes=1\n");
        std::fs::write(directory.join("planted.anrscope"), planted.build()).unwrap();
        retain_within(&directory, all);
        assert!(!directory.join("planted.anrscope").exists() && precious.exists());
        std::fs::remove_dir_all(data).unwrap();
    }

    #[test]
    fn too_old_recordings_go_first_then_those_without_an_anr_then_the_oldest() {
        let all = [
            kept(50, 1, true),
            kept(10, 1, true),
            kept(70, 1, false),
            kept(60, 1, false),
            kept(80, 9, false),
        ];
        let limits = Limits { count: 9, kib: 99, oldest_ms: 0 };
        assert_eq!(victims(&all, limits), []);
        assert_eq!(victims(&all, Limits { oldest_ms: 20, ..limits }), [1]);
        assert_eq!(victims(&all, Limits { count: 3, ..limits }), [3, 2]);
        assert_eq!(victims(&all, Limits { count: 1, ..limits }), [3, 2, 4, 1]);
        assert_eq!(victims(&all, Limits { kib: 12, ..limits }), [3]);
        assert_eq!(victims(&all, Limits { kib: 2, oldest_ms: 20, ..limits }), [1, 3, 2, 4]);
        assert_eq!(victims(&all, Limits { kib: 0, ..limits }), [3, 2, 4, 1, 0]);
        assert_eq!(victims(&[], Limits { kib: 0, count: 0, oldest_ms: 9 }), []);
    }
}
