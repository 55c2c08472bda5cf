//! The thread that does what needs files: makes the recording's, moves in, appends sections. No other thread of the
//! app ever waits for a disk because of us.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use trace_format::layout::Sizes;
use trace_format::section::{self, SectionKind};

use crate::files::file::{self, Destination};
use crate::files::migration;
use crate::memory::bus_fault;
use crate::memory::mapping::Mapping;
use crate::memory::storage::Left;

use crate::recorder::{self, Recorder};
use crate::sync::plain::{Condvar, Mutex, MutexGuard};
use crate::system_log;

/// What it is asked for. Not a channel of the standard library's: that one brings all of its kinds, 14 KB on a device.
static REQUESTS: Mutex<Requests> = Mutex::new(Requests { queue: VecDeque::new(), worker_waits: false });
static ASKED: Condvar = Condvar::new();
/// There is a worker.
static RUNNING: AtomicBool = AtomicBool::new(false);

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
enum Place {
    /// In memory, and nothing else was asked for.
    Memory,
    /// Destinations that the worker has not yet answered for.
    Asked(u32),
    File(PathBuf),
}

static PLACE: Mutex<Place> = Mutex::new(Place::Memory);
static PLACE_CHANGED: Condvar = Condvar::new();

/// Sections that wait for a file take this many bytes at most: a handful of thread dumps.
const MAX_WAITING: usize = 4 << 20;
/// Sections of a recording take this many bytes at most, what tells of an ANR twice as many: an app that is slow for weeks must not
/// fill the disk. An ANR takes some 50 KB.
const MAX_SECTIONS: u64 = 64 << 20;
/// While something is left to bring: the first and the longest interval at which the worker looks.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_secs(2);

/// Says where the recording goes, if it is in memory: at the start nobody knew, or there was no room. What is in memory
/// moves there; a thread of ours does that, and this returns at once. A recording that is in a file stays there, which
/// a notice in it says.
pub fn set_destination(destination: Destination) {
    if !matches!(destination, Destination::Later) && RUNNING.load(Ordering::Acquire) {
        let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *place {
            Place::Memory => *place = Place::Asked(1),
            Place::Asked(times) => *times += 1,
            Place::File(_) => {}
        }
        drop(place);
        ask(Request::Destination(destination));
    }
}

/// The recording's file, once all that was recorded before is in it and all that comes will be; waits for that as long
/// as `timeout`. `None` if there is no destination, if it could not be made (a notice says why), or if the time is up.
#[must_use]
pub fn wait_for_file(timeout: Duration) -> Option<PathBuf> {
    let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = |place: &mut Place| matches!(place, Place::Asked(_));
    let waited = PLACE_CHANGED.wait_timeout_while(place, timeout, asked);
    match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
        Place::File(path) => Some(path.clone()),
        Place::Memory | Place::Asked(_) => None,
    }
}

/// The recording's file, once everything that was recorded and told before is in it; waits as long as `timeout`. `None` as
/// for [`wait_for_file`].
pub fn flush(timeout: Duration) -> Option<PathBuf> {
    let end = Instant::now() + timeout;
    drain(timeout);
    wait_for_file(end.saturating_duration_since(Instant::now()))
}

/// Waits until the worker has done what it was asked for so far, as long as `timeout`.
pub(crate) fn drain(timeout: Duration) {
    let done = Arc::new((Mutex::new(false), Condvar::new()));
    let told = done.clone();
    then(Box::new(move || {
        *told.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.1.notify_all();
    }));
    let waiting = done.0.lock().unwrap_or_else(PoisonError::into_inner);
    // In vain if there is no worker any more.
    let _ = done.1.wait_timeout_while(waiting, timeout, |done| !*done && RUNNING.load(Ordering::Acquire));
}

fn requests() -> MutexGuard<'static, Requests> {
    // Nothing panics with it locked.
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for a section to be appended; nothing happens before the start.
pub fn append(kind: SectionKind, payload: Vec<u8>) {
    ask(Request::Append(kind, payload));
}

/// Has something done on the worker, after what was asked for before; it must be short.
pub fn then(task: Box<dyn FnOnce() + Send>) {
    ask(Request::Then(task));
}

/// Has something done on the worker when `delay` is over, device's sleep not counted; it must be short. Main needs no timer of
/// its own for what only has to be noticed.
pub fn after(delay: Duration, task: Box<dyn FnOnce() + Send>) {
    ask(Request::At(Instant::now() + delay, task));
}

fn ask(request: Request) {
    if RUNNING.load(Ordering::Acquire) {
        let mut requests = requests();
        requests.queue.push_back(request);
        let waits = requests.worker_waits;
        drop(requests);
        // A system call even where nobody waits.
        if waits {
            ASKED.notify_one();
        }
    }
}

/// The next request; `None` when it is time to look again.
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
            None => ASKED.wait(requests).unwrap_or_else(PoisonError::into_inner),
            Some(left) => ASKED.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner).0,
        };
        requests.worker_waits = false;
    }
}

/// Starts the worker, which does `first`, makes the file with the sections that this gave, and sleeps until there is something
/// to do.
pub(crate) fn start(
    recorder: &'static Recorder,
    destination: Destination,
    process_name: &str,
    sizes: Sizes,
    first: impl FnOnce() -> [Option<(SectionKind, Vec<u8>)>; 2] + Send + 'static,
) -> io::Result<()> {
    RUNNING.store(true, Ordering::Release);
    // Before the thread is there: nobody has to be woken.
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
                told: false,
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

/// A destination was answered for.
fn answer(file: Option<PathBuf>) {
    let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    match (&mut *place, file) {
        (place, Some(path)) => *place = Place::File(path),
        (Place::Asked(times), None) if *times > 1 => *times -= 1,
        (Place::File(_), None) => {}
        (place, None) => *place = Place::Memory,
    }
    PLACE_CHANGED.notify_all();
}

struct Worker {
    recorder: &'static Recorder,
    process_name: String,
    sizes: Sizes,
    file: Option<&'static Mapping>,
    /// How far the file's sections go.
    end: u64,
    /// Sections that wait for the file.
    waiting: VecDeque<(SectionKind, Vec<u8>)>,
    waiting_bytes: usize,
    /// The file's path, until everything in use has followed into it.
    unsettled: Option<PathBuf>,
    /// Something may still be written to memory alone: when to look again.
    interval: Option<Duration>,
    /// It was told that sections are missing.
    told: bool,
    /// What is to be done later, in no order: a handful.
    timed: Vec<(Instant, Box<dyn FnOnce() + Send>)>,
}

impl Worker {
    fn run(mut self) {
        let mut look = Instant::now();
        loop {
            let look_at = self.interval.map(|_| look);
            let timed_at = self.timed.iter().map(|timed| timed.0).min();
            let request = next(look_at.into_iter().chain(timed_at).min());
            if Recorder::active().is_none() {
                return;
            }
            match request {
                None => {
                    self.do_timed();
                    if look_at.is_none_or(|at| at > Instant::now()) {
                        continue;
                    }
                    self.look_again();
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
                look = Instant::now() + interval;
            }
        }
    }

    fn do_timed(&mut self) {
        let now = Instant::now();
        while let Some(due) = self.timed.iter().position(|(at, _)| *at <= now) {
            self.timed.swap_remove(due).1();
        }
    }

    /// Makes the file, moves in and gives it its name; gives whether it did.
    fn settle(&mut self, destination: &Destination) -> bool {
        if self.file.is_some() {
            recorder::notice("the recording has its place already and stays there");
            return false;
        }
        let (file, path) = match file::create(destination, &self.process_name, &self.sizes) {
            Ok(Some(made)) => made,
            Ok(None) => return false,
            Err(error) => {
                // In the recording for whoever gives it another place, in the log because most give it none.
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
        let left = migration::move_in(self.recorder, file);
        // From here on it can be read, and a search for recordings finds it.
        let published = file::publish(&path);
        if let Err(error) = &published {
            self.tell(&format!("the recording's file has no name, and is gone with the process: {error}"));
        }
        let named = published.is_ok();
        self.unsettled = named.then_some(path);
        self.look(left);
        for (kind, payload) in std::mem::take(&mut self.waiting) {
            self.write(file, kind, &payload);
        }
        named
    }

    fn look_again(&mut self) {
        let left = migration::bring(self.recorder);
        self.look(left);
    }

    /// Decides what a look has left to do, and when.
    fn look(&mut self, left: Left) {
        let next = match (left, self.interval) {
            (Left::Nothing, _) => None,
            (Left::Moving, _) | (_, None) => Some(FIRST_LOOK),
            (Left::InUse, Some(last)) => Some(last * 2),
        };
        // Who has not followed by then does so whenever it goes on.
        self.interval = next.filter(|next| *next <= LAST_LOOK);
        // The looks before took as long as this interval.
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
            None => self.tell(&format!(
                "a section of kind {} left out: in memory there is no room for more",
                kind as u16
            )),
        }
    }

    fn write(&mut self, file: &Mapping, kind: SectionKind, payload: &[u8]) {
        if bus_fault::has_faulted() {
            // Sections behind a hole would be no recording either.
            return;
        }
        if !has_room(self.end, kind, payload.len()) {
            self.tell(&format!(
                "a section of kind {} left out, others may be missing: there are {} MB of them",
                kind as u16,
                self.end >> 20
            ));
            return;
        }
        match file.append(self.end, &section::encode(kind, 1, payload)) {
            Ok(end) => self.end = end,
            Err(error) => self.tell(&format!(
                "a section of kind {} not written, others may be missing: {error}",
                kind as u16
            )),
        }
        if file.is_removed() {
            self.tell("the recording's file was removed: it goes on in memory and is gone with the process");
        }
    }

    /// Once: a disk that is full stays full.
    fn tell(&mut self, what: &str) {
        if !std::mem::replace(&mut self.told, true) {
            recorder::notice(what);
            system_log::warn(what);
        }
    }
}

/// Whether a section may still be written behind so many bytes of others.
fn has_room(end: u64, kind: SectionKind, length: usize) -> bool {
    let tells_of_anr =
        matches!(kind, SectionKind::Verdict | SectionKind::AnrSnapshot | SectionKind::DumpText);
    let limit = if tells_of_anr { 2 * MAX_SECTIONS } else { MAX_SECTIONS };
    end.saturating_add(length as u64) <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_end_before_what_tells_of_an_anr() {
        assert!(has_room(0, SectionKind::Issue, 1 << 20) && !has_room(MAX_SECTIONS, SectionKind::Issue, 1));
        assert!(has_room(MAX_SECTIONS, SectionKind::AnrSnapshot, 1 << 20));
        assert!(
            !has_room(2 * MAX_SECTIONS, SectionKind::Verdict, 1)
                && !has_room(u64::MAX, SectionKind::DumpText, 9)
        );
    }
}
