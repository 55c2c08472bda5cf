//! Pulling with progress, and what is made of what was pulled.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use device::pull::{MAX_RECORDING, Pulled, Step, pull_at_most};
use device::{App, Remote};
use exporter::Report;
use exporter::facts::Facts;

use crate::export::{self, Settings};
use crate::progress::Progress;
use crate::recordings::{MAP_NAME, MethodMaps, Recordings};

/// Pulls one recording into `folder`, with a line of progress; what went wrong on the way is told.
pub(super) fn fetch(app: &App, remote: &Remote, folder: &Path, quiet: bool) -> Result<Pulled, device::Error> {
    fetch_at_most(app, remote, folder, MAX_RECORDING, quiet)
}

/// The same, of a recording that has `limit` bytes at most, and no more than the disk has room for.
pub(super) fn fetch_at_most(
    app: &App,
    remote: &Remote,
    folder: &Path,
    limit: u64,
    quiet: bool,
) -> Result<Pulled, device::Error> {
    let progress = Progress::new(!quiet);
    let began = Instant::now();
    // Where this connection began: what was here before says nothing about its speed.
    let first = RefCell::new(None);
    // What is here of it already needs no room.
    let here = folder.join(format!(".{}.part", remote.name)).metadata().map_or(0, |part| part.len());
    let limit = room_in(folder).map_or(limit, |room| limit.min(room.saturating_add(here)));
    let pulled = pull_at_most(app, remote, folder, limit, &mut |step| match step {
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
        // It is out of reach now; the next pull that comes an hour later removes it.
        let _ = writeln!(
            crate::terminal::stderr(),
            "warning: {left} was left on the device, which went away: a later pull removes it"
        );
    }
    if !pulled.checked {
        let _ = writeln!(
            crate::terminal::stderr(),
            "warning: {}: the app writes to it and the device has no room for a copy: it was read as it stood, and its \
             sum could not be compared",
            remote.name
        );
    }
    Ok(pulled)
}

/// How many bytes can be written below `folder`, of which a part need not be there yet; `None` where the system does not say.
#[cfg(target_os = "linux")]
fn room_in(folder: &Path) -> Option<u64> {
    let there = std::path::absolute(folder).ok()?;
    let there = there.ancestors().find(|folder| folder.is_dir())?;
    let disk = nix::sys::statvfs::statvfs(there).ok()?;
    Some(disk.blocks_available() * disk.fragment_size())
}

#[cfg(not(target_os = "linux"))]
fn room_in(_: &Path) -> Option<u64> {
    None
}

/// What was pulled, as a phrase.
pub(super) fn in_words(pulled: &Pulled, remote: &Remote) -> String {
    if pulled.already {
        return format!("{} is here already, the same", pulled.path.display());
    }
    let lost = match pulled.lost {
        0 => String::new(),
        1 => ", the connection lost once".into(),
        n => format!(", the connection lost {n} times"),
    };
    let live = if pulled.live { ", of a process that lives" } else { "" };
    format!(
        "{} bytes by {}, sum {}{live}{lost} -> {}",
        pulled.bytes,
        remote.place.name(),
        pulled.sum,
        pulled.path.display()
    )
}

/// When the ANRs of a recording were detected, by the device's clock, ns since 1970.
pub(super) fn anrs_of(file: &Path) -> anyhow::Result<Vec<u64>> {
    let recording = exporter::open_recording(file)?;
    let facts = Facts::of(&recording).with_context(|| format!("cannot read {}", file.display()))?;
    let incidents = &facts.incidents;
    let start = recording.header().start;
    let wall = |boottime: u64| start.realtime.saturating_add(boottime.saturating_sub(start.boottime));
    Ok(incidents.anrs.iter().map(|anr| wall(anr.detected)).collect())
}

/// How many SIGQUITs a recording tells of that its process has judged.
pub(super) fn judged_in(file: &Path) -> anyhow::Result<usize> {
    let recording = exporter::open_recording(file)?;
    let facts = Facts::of(&recording).with_context(|| format!("cannot read {}", file.display()))?;
    let incidents = &facts.incidents;
    let anrs = incidents.anrs.iter().filter(|anr| anr.verdict.is_some()).count();
    Ok(anrs + incidents.captures.iter().filter(|capture| capture.verdict.is_some()).count())
}

/// The map for what comes off a device: the one that was given, or one in the folder it goes to.
pub(super) fn map_for(given: Option<&Path>, folder: &Path) -> Option<PathBuf> {
    let beside = || Some(folder.join(MAP_NAME)).filter(|path| path.is_file());
    given.map(Path::to_owned).or_else(beside)
}

/// Exports `file` beside it and gives the trace's path and the report's text.
pub(super) fn answer(file: &Path, map: Option<&Path>) -> anyhow::Result<(PathBuf, String)> {
    let trace = file.with_extension("pftrace");
    let recordings = Recordings::open(&[file.to_owned()], &mut MethodMaps::new(map, None)?)?;
    export::write(&recordings, Settings::default(), &trace)?;
    let mut text = String::new();
    for input in recordings.inputs() {
        text.push_str(&Report::build(input.file, input.recording, input.map)?.to_string());
    }
    Ok((trace, text))
}
