//! Pulls recordings with a progress line, and exports and reads what was pulled.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use device::pull::{Pulled, Step, pull};
use device::{App, Remote};
use exporter::Report;
use exporter::facts::Facts;

use crate::export;
use crate::progress::Progress;
use crate::recordings::{MAP_NAME, MethodMaps, Recordings};
use crate::terminal::warn;

/// Pulls one recording into `directory` with a progress line; problems on the way are warnings. Refuses a recording of
/// more than `limit` bytes or more than the disk has room for.
pub(super) fn fetch(
    app: &App,
    remote: &Remote,
    directory: &Path,
    limit: u64,
    quiet: bool,
) -> Result<Pulled, device::Error> {
    let progress = Progress::new(!quiet);
    let began = Instant::now();
    // Bytes that were here before say nothing about this connection's speed.
    let first = RefCell::new(None);
    // A part that is here already needs no more room.
    let here = directory.join(format!(".{}.part", remote.name)).metadata().map_or(0, |part| part.len());
    let limit = room_in(directory).map_or(limit, |room| limit.min(room.saturating_add(here)));
    let pulled = pull(app, remote, directory, limit, &mut |step| match step {
        Step::Bytes(done, total) => progress.show(|| {
            let (at, from) = *first.borrow_mut().get_or_insert((Instant::now(), done));
            let rate = (done - from.min(done)) as f64 / at.elapsed().as_secs_f64().max(0.001);
            let left = if rate > 0.0 { total.saturating_sub(done) as f64 / rate } else { 0.0 };
            format!("{}: {} of {} KiB, {left:.0} s left", remote.name, done >> 10, total >> 10)
        }),
        Step::Lost(error) => {
            *first.borrow_mut() = None;
            if !quiet && began.elapsed() > Duration::from_secs(1) {
                progress.show(|| format!("{}: {error}; waiting for the device", remote.name));
            }
        }
    })?;
    drop(progress);
    if let Some(left) = &pulled.left_behind {
        // Out of reach now; the next pull, an hour or more later, removes it.
        let _ = warn(format_args!("{left} was left on the device, which went away: a later pull removes it"));
    }
    if !pulled.checked {
        let _ = warn(format_args!(
            "{}: the app writes to it and the device has no room for a copy: it was read while in use, and its \
             checksum could not be verified",
            remote.name
        ));
    }
    Ok(pulled)
}

/// Free bytes of the file system of `directory`, which need not exist yet; `None` if the system does not say.
#[cfg(target_os = "linux")]
fn room_in(directory: &Path) -> Option<u64> {
    let there = std::path::absolute(directory).ok()?;
    let there = there.ancestors().find(|directory| directory.is_dir())?;
    let disk = nix::sys::statvfs::statvfs(there).ok()?;
    Some(disk.blocks_available() * disk.fragment_size())
}

#[cfg(not(target_os = "linux"))]
fn room_in(_: &Path) -> Option<u64> {
    None
}

/// Describes a pull, in a phrase.
pub(super) fn in_words(pulled: &Pulled, remote: &Remote) -> String {
    if pulled.already {
        return format!("{} is up to date", pulled.path.display());
    }
    let lost = match pulled.lost {
        0 => String::new(),
        1 => ", the connection lost once".into(),
        n => format!(", the connection lost {n} times"),
    };
    let live = if pulled.live { ", of a running process" } else { "" };
    format!(
        "{} bytes by {}, sum {}{live}{lost} -> {}",
        pulled.bytes,
        remote.place.name(),
        pulled.sum,
        pulled.path.display()
    )
}

/// What a recording says of its process.
pub(super) struct Incidents {
    /// When its ANRs were detected, by the device's clock, ns since 1970.
    pub(super) anrs: Vec<u64>,
    /// How many SIGQUITs the process has judged.
    pub(super) judged: usize,
}

/// Reads the incidents of a recording.
pub(super) fn incidents_of(file: &Path) -> anyhow::Result<Incidents> {
    let recording = exporter::open_recording(file)?;
    let facts = Facts::of(&recording).with_context(|| format!("cannot read {}", file.display()))?;
    let (anrs, captures) = (&facts.incidents.anrs, &facts.incidents.captures);
    let start = recording.header().start;
    let wall = |boottime: u64| start.realtime.saturating_add(boottime.saturating_sub(start.boottime));
    let judged = anrs.iter().filter(|anr| anr.verdict.is_some()).count()
        + captures.iter().filter(|capture| capture.verdict.is_some()).count();
    Ok(Incidents { anrs: anrs.iter().map(|anr| wall(anr.detected)).collect(), judged })
}

/// Returns the map for recordings of a device: the one that was given, or one in the output directory.
pub(super) fn map_for(given: Option<&Path>, directory: &Path) -> Option<PathBuf> {
    let beside = || Some(directory.join(MAP_NAME)).filter(|path| path.is_file());
    given.map(Path::to_owned).or_else(beside)
}

/// Exports `file` beside it and returns the trace's path and the report's text.
pub(super) fn answer(file: &Path, map: Option<&Path>) -> anyhow::Result<(PathBuf, String)> {
    let trace = file.with_extension("pftrace");
    let recordings = Recordings::open(&[file.to_owned()], &mut MethodMaps::new(map, None)?)?;
    export::write(&recordings, &trace)?;
    let mut text = String::new();
    for input in recordings.inputs() {
        text.push_str(&Report::build(input.file, input.recording, input.map)?.to_string());
    }
    Ok((trace, text))
}
