//! The worker thread, which does all that needs files: creates the recording's file, migrates to it, appends
//! sections. No other thread of the app waits for a disk because of the recorder.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use trace_format::layout::{RegionKind, Sizes};
use trace_format::section::{self, SectionKind};

use crate::files::file::{self, Destination};
use crate::files::migration;
use crate::memory::bus_fault;
use crate::memory::mapping::Mapping;
use crate::memory::storage::Remaining;

use crate::recorder::{self, Recorder};
use crate::sync::plain::{Condvar, Mutex, MutexGuard};
use crate::system_log;

/// The queue of requests. Not a channel of the standard library: that one brings all of its kinds, 14 KB on a
/// device.
static REQUESTS: Mutex<Requests> = Mutex::new(Requests { queue: VecDeque::new(), worker_waits: false });
static REQUESTED: Condvar = Condvar::new();
/// The worker runs.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Slots for native stacks in the file that is created next.
static NATIVE_SLOTS: AtomicU32 = AtomicU32::new(0);

struct Requests {
    queue: VecDeque<Request>,
    worker_waits: bool,
}

/// What the worker is asked to do, in order.
enum Request {
    Append(SectionKind, Vec<u8>),
    Then(Box<dyn FnOnce() + Send>),
    At(Instant, Box<dyn FnOnce() + Send>),
    Destination(Destination),
}

/// Where the recording is.
#[derive(Debug)]
enum Location {
    /// In memory, with no destination requested.
    Memory,
    /// Destinations that the worker has not yet answered.
    Requested(u32),
    File(PathBuf),
}

static LOCATION: Mutex<Location> = Mutex::new(Location::Memory);
static LOCATION_CHANGED: Condvar = Condvar::new();

/// Sections that wait for a file take at most this many bytes: a handful of thread dumps.
const MAX_WAITING: usize = 4 << 20;
/// Sections of a recording take at most this many bytes, those about an ANR twice as many: an app that is
/// slow for weeks must not fill the disk. An ANR takes some 50 KB.
const MAX_SECTIONS: u64 = 64 << 20;
/// The first and the longest interval between retries of a migration.
const FIRST_RETRY: Duration = Duration::from_millis(2);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// Sets where the recording is stored, if it is in memory: the destination was unknown at the start, or had
/// no room. The worker migrates it there; this returns at once. A recording that has a file stays there, with
/// a notice.
pub fn set_destination(destination: Destination) {
    if !matches!(destination, Destination::Later) && RUNNING.load(Ordering::Acquire) {
        let mut place = LOCATION.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *place {
            Location::Memory => *place = Location::Requested(1),
            Location::Requested(times) => *times += 1,
            Location::File(_) => {}
        }
        drop(place);
        send(Request::Destination(destination));
    }
}

/// Sets how many slots for native stacks the recording's file gets. Without effect on a file that exists.
pub fn set_native_slots(count: u32) {
    NATIVE_SLOTS.store(count, Ordering::Release);
}

/// Waits until the recording's file has all that was recorded before, and will have all that comes; at most
/// for `timeout`. Returns the file; `None` if there is no destination, if the file could not be created (a
/// notice says why), or on a timeout.
#[must_use]
pub fn wait_for_file(timeout: Duration) -> Option<PathBuf> {
    let place = LOCATION.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = |place: &mut Location| matches!(place, Location::Requested(_));
    let waited = LOCATION_CHANGED.wait_timeout_while(place, timeout, asked);
    match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
        Location::File(path) => Some(path.clone()),
        Location::Memory | Location::Requested(_) => None,
    }
}

/// As [`wait_for_file`], but also waits for the sections that were requested before.
pub fn flush(timeout: Duration) -> Option<PathBuf> {
    let end = Instant::now() + timeout;
    drain(timeout);
    wait_for_file(end.saturating_duration_since(Instant::now()))
}

/// Waits until the worker has handled all earlier requests, at most for `timeout`.
pub(crate) fn drain(timeout: Duration) {
    let done = Arc::new((Mutex::new(false), Condvar::new()));
    let notified = done.clone();
    then(Box::new(move || {
        *notified.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        notified.1.notify_all();
    }));
    let waiting = done.0.lock().unwrap_or_else(PoisonError::into_inner);
    // Returns at once if the worker has ended.
    let _ = done.1.wait_timeout_while(waiting, timeout, |done| !*done && RUNNING.load(Ordering::Acquire));
}

fn requests() -> MutexGuard<'static, Requests> {
    // No code panics with it locked.
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requests that a section is appended; does nothing before the start.
pub fn append(kind: SectionKind, payload: Vec<u8>) {
    send(Request::Append(kind, payload));
}

/// Runs a task on the worker, after the earlier requests; it must be short.
pub fn then(task: Box<dyn FnOnce() + Send>) {
    send(Request::Then(task));
}

/// Runs a task on the worker after `delay`, not counting the device's sleep; it must be short. So main needs
/// no timer of its own.
pub fn after(delay: Duration, task: Box<dyn FnOnce() + Send>) {
    send(Request::At(Instant::now() + delay, task));
}

fn send(request: Request) {
    if RUNNING.load(Ordering::Acquire) {
        let mut requests = requests();
        requests.queue.push_back(request);
        let waits = requests.worker_waits;
        drop(requests);
        // It is a system call even if no thread waits.
        if waits {
            REQUESTED.notify_one();
        }
    }
}

/// The next request; `None` when it is time to retry.
fn next(until: Option<Instant>) -> Option<Request> {
    let mut requests = requests();
    loop {
        if let Some(request) = requests.queue.pop_front() {
            return Some(request);
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return None;
        }
        requests.worker_waits = true;
        requests = match left {
            None => REQUESTED.wait(requests).unwrap_or_else(PoisonError::into_inner),
            Some(left) => REQUESTED.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner).0,
        };
        requests.worker_waits = false;
    }
}

/// Starts the worker. It runs `first`, creates the file with the sections that `first` returned, and waits
/// for requests.
pub(crate) fn start(
    recorder: &'static Recorder,
    destination: Destination,
    process_name: &str,
    sizes: Sizes,
    first: impl FnOnce() -> [Option<(SectionKind, Vec<u8>)>; 2] + Send + 'static,
) -> io::Result<()> {
    RUNNING.store(true, Ordering::Release);
    // Before the thread exists: there is nothing to wake.
    set_destination(destination);
    let process_name = process_name.to_owned();
    let spawned = (recorder.hooks.spawn)(
        "anrscope-worker",
        Box::new(move || {
            let mut worker = Worker {
                recorder,
                process_name,
                sizes,
                file: None,
                end: 0,
                waiting: VecDeque::new(),
                waiting_bytes: 0,
                unsettled: None,
                interval: None,
                limit_reported: false,
                timed: Vec::new(),
            };
            crate::guard::disarm_on_panic(|| {
                for (kind, text) in first().into_iter().flatten() {
                    worker.append(kind, text);
                }
                worker.run();
            });
            RUNNING.store(false, Ordering::Release);
        }),
    );
    if let Err(error) = spawned {
        RUNNING.store(false, Ordering::Release);
        requests().queue.clear();
        answer(None);
        return Err(error);
    }
    Ok(())
}

/// Notes the answer to a destination.
fn answer(file: Option<PathBuf>) {
    let mut place = LOCATION.lock().unwrap_or_else(PoisonError::into_inner);
    match (&mut *place, file) {
        (place, Some(path)) => *place = Location::File(path),
        (Location::Requested(times), None) if *times > 1 => *times -= 1,
        (Location::File(_), None) => {}
        (place, None) => *place = Location::Memory,
    }
    LOCATION_CHANGED.notify_all();
}

struct Worker {
    recorder: &'static Recorder,
    process_name: String,
    sizes: Sizes,
    file: Option<&'static Mapping>,
    /// The end of the file's sections.
    end: u64,
    /// Sections that wait for the file.
    waiting: VecDeque<(SectionKind, Vec<u8>)>,
    waiting_bytes: usize,
    /// The file's path, until all blocks in use have migrated.
    unsettled: Option<PathBuf>,
    /// Something may still be written to memory alone: the interval to the next retry.
    interval: Option<Duration>,
    /// A notice says that sections are missing.
    limit_reported: bool,
    /// Tasks for later, unsorted: a handful.
    timed: Vec<(Instant, Box<dyn FnOnce() + Send>)>,
}

impl Worker {
    fn run(mut self) {
        let mut retry = Instant::now();
        loop {
            let retry_at = self.interval.map(|_| retry);
            let timed_at = self.timed.iter().map(|timed| timed.0).min();
            let request = next(retry_at.into_iter().chain(timed_at).min());
            if Recorder::active().is_none() {
                return;
            }
            match request {
                None => {
                    self.do_timed();
                    if retry_at.is_none_or(|at| at > Instant::now()) {
                        continue;
                    }
                    self.retry_migration();
                }
                Some(Request::At(at, task)) => self.timed.push((at, task)),
                Some(Request::Then(task)) => task(),
                Some(Request::Append(kind, payload)) => self.append(kind, payload),
                Some(Request::Destination(destination)) => {
                    if !self.settle(&destination) {
                        answer(None);
                    }
                }
            }
            if let Some(interval) = self.interval {
                retry = Instant::now() + interval;
            }
        }
    }

    fn do_timed(&mut self) {
        let now = Instant::now();
        while let Some(due) = self.timed.iter().position(|(at, _)| *at <= now) {
            self.timed.swap_remove(due).1();
        }
    }

    /// Creates the file, migrates to it and names it; returns whether it did.
    fn settle(&mut self, destination: &Destination) -> bool {
        if self.file.is_some() {
            recorder::notice("the recording has its place already and stays there");
            return false;
        }
        let native_slots = self.sizes.native_slots.max(NATIVE_SLOTS.load(Ordering::Acquire));
        let sizes = Sizes { native_slots, ..self.sizes };
        let (file, path) = match file::create(destination, &self.process_name, &sizes) {
            Ok(Some(made)) => made,
            Ok(None) => return false,
            Err(error) => {
                // In the recording for a later destination, in the log because most recordings get none.
                let said =
                    format!("no recording file, in memory only until there is another destination: {error}");
                recorder::notice(&said);
                system_log::warn(&said);
                return false;
            }
        };
        let file: &'static Mapping = Box::leak(Box::new(file));
        self.file = Some(file);
        file.guard();
        if let Some(slots) = file.find_region(RegionKind::NativeStacks) {
            // A handler stores there, which must not wait for the file system.
            file.touch(slots.offset as usize, slots.length as usize);
        }
        let left = migration::start(self.recorder, file);
        // From here on it can be read, and a search for recordings finds it.
        let published = file::publish(&path);
        if let Err(error) = &published {
            self.report_once(&format!(
                "the recording's file has no name, and is gone with the process: {error}"
            ));
        }
        let named = published.is_ok();
        self.unsettled = named.then_some(path);
        self.schedule(left);
        for (kind, payload) in std::mem::take(&mut self.waiting) {
            self.write(file, kind, &payload);
        }
        named
    }

    fn retry_migration(&mut self) {
        let left = migration::copy_to_file(self.recorder);
        self.schedule(left);
    }

    /// Schedules the next retry of the migration, if something remains.
    fn schedule(&mut self, left: Remaining) {
        let next = match (left, self.interval) {
            (Remaining::Nothing, _) => None,
            (Remaining::Reopened, _) | (_, None) => Some(FIRST_RETRY),
            (Remaining::InUse, Some(last)) => Some(last * 2),
        };
        // A thread that has not migrated by then does so at its next event.
        self.interval = next.filter(|next| *next <= LONGEST_RETRY);
        // The earlier retries took as long as this interval.
        if self.interval.is_none_or(|next| next >= migration::SETTLED)
            && let Some(path) = self.unsettled.take()
        {
            answer(Some(path));
        }
    }

    fn append(&mut self, kind: SectionKind, payload: Vec<u8>) {
        match self.file {
            Some(file) => self.write(file, kind, &payload),
            None if self.waiting_bytes + payload.len() <= MAX_WAITING => {
                self.waiting_bytes += payload.len();
                self.waiting.push_back((kind, payload));
            }
            None => self.report_once(&format!(
                "a section of kind {} left out: in memory there is no room for more",
                kind as u16
            )),
        }
    }

    fn write(&mut self, file: &Mapping, kind: SectionKind, payload: &[u8]) {
        if bus_fault::has_faulted() {
            // After a hole sections could not be read either.
            return;
        }
        if !has_room(self.end, kind, payload.len()) {
            self.report_once(&format!(
                "a section of kind {} left out, others may be missing: there are {} MB of them",
                kind as u16,
                self.end >> 20
            ));
            return;
        }
        match file.append(self.end, &section::encode(kind, 1, payload)) {
            Ok(end) => self.end = end,
            Err(error) => self.report_once(&format!(
                "a section of kind {} not written, others may be missing: {error}",
                kind as u16
            )),
        }
        if file.is_removed() {
            self.report_once(
                "the recording's file was removed: it goes on in memory and is gone with the process",
            );
        }
    }

    /// Reports a loss once: a full disk stays full.
    fn report_once(&mut self, what: &str) {
        if !std::mem::replace(&mut self.limit_reported, true) {
            recorder::notice(what);
            system_log::warn(what);
        }
    }
}

/// Whether a section may be written behind so many bytes of others.
fn has_room(end: u64, kind: SectionKind, length: usize) -> bool {
    let is_of_anr = matches!(kind, SectionKind::Verdict | SectionKind::AnrSnapshot | SectionKind::DumpText);
    let limit = if is_of_anr { 2 * MAX_SECTIONS } else { MAX_SECTIONS };
    end.saturating_add(length as u64) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_about_an_anr_have_more_room_than_reports() {
        assert!(has_room(0, SectionKind::Issue, 1 << 20) && !has_room(MAX_SECTIONS, SectionKind::Issue, 1));
        assert!(has_room(MAX_SECTIONS, SectionKind::AnrSnapshot, 1 << 20));
        assert!(
            !has_room(2 * MAX_SECTIONS, SectionKind::Verdict, 1)
                && !has_room(u64::MAX, SectionKind::DumpText, 9)
        );
    }
}
