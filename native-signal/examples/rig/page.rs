//! The page that simulated app and judge share: plain counters and logs in a mapped file.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const LOG: usize = 8192;

/// The most signals that can be distinguished by number in one case.
pub(crate) const NUMBERS: usize = 1 << 15;

/// Times (CLOCK_BOOTTIME), in the order in which they came.
#[repr(C)]
pub(crate) struct Log {
    count: AtomicU64,
    newest: AtomicU64,
    at: [AtomicU64; LOG],
}

impl Log {
    /// Safe in a signal handler.
    pub(crate) fn note(&self) {
        self.note_at(native_signal::boottime_ns());
    }

    /// Safe in a signal handler.
    pub(crate) fn note_at(&self, now: u64) {
        let index = self.count.fetch_add(1, Ordering::SeqCst) as usize;
        if let Some(place) = self.at.get(index) {
            place.store(now, Ordering::SeqCst);
        }
        self.newest.fetch_max(now, Ordering::SeqCst);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// The time of the newest one, 0 if the log is empty. It is written last: a reader that sees it also sees it counted.
    pub(crate) fn last(&self) -> u64 {
        self.newest.load(Ordering::SeqCst)
    }
}

/// One call of the observer.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Reported {
    pub(crate) time_ns: AtomicU64,
    pub(crate) si_code: AtomicI64,
    pub(crate) si_pid: AtomicI64,
    pub(crate) si_uid: AtomicI64,
    /// 0 catcher, 1 previous, 2 late, 3 rescued, 4 failed.
    pub(crate) kind: AtomicI64,
    pub(crate) detail: AtomicI64,
}

/// All zero at first.
#[repr(C)]
pub(crate) struct Page {
    /// What the Signal Catcher took by sigwait.
    pub(crate) catcher: Log,
    /// What the handler took that was there before ours, or came after.
    pub(crate) previous: Log,
    /// Calls of the observer.
    pub(crate) observer: Log,
    pub(crate) reports: [Reported; LOG],
    /// The simulated app has come this far.
    pub(crate) reached: AtomicU64,
    /// The simulated app may go this far.
    pub(crate) allowed: AtomicU64,
    /// Answers of a case; what they mean is between its two sides.
    pub(crate) answers: [AtomicI64; 16],
    pub(crate) catcher_tid: AtomicI64,
    /// The catcher dumps (does not wait for signals) while this is 1.
    pub(crate) catcher_busy: AtomicU64,
    /// When the signal of this number was first taken from the kernel.
    pub(crate) taken_ns: [AtomicU64; NUMBERS],
    /// How many were taken under a number that had been taken before.
    pub(crate) taken_again: AtomicU64,
}

impl Page {
    /// A new page file; the judge removes it.
    pub(crate) fn create(name: &str) -> (PathBuf, &'static Page) {
        let path = std::env::temp_dir().join(format!("anrscope-rig-{}-{name}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.set_len(size_of::<Page>() as u64).unwrap();
        (path.clone(), Page::open(path.to_str().unwrap()))
    }

    pub(crate) fn open(path: &str) -> &'static Page {
        assert!(CString::new(path).is_ok());
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        // SAFETY: a fresh shared mapping of a file that is as long as the page; never unmapped.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Page>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(address, libc::MAP_FAILED);
        // SAFETY: the mapping is page-aligned, long enough and lives on; a Page is atomics, for which zeroes are values.
        unsafe { &*address.cast::<Page>() }
    }

    /// Notes the number of a signal that was taken from the kernel. Safe in a signal handler.
    pub(crate) fn take(&self, number: usize) {
        let Some(place) = self.taken_ns.get(number) else { return };
        if place
            .compare_exchange(0, native_signal::boottime_ns(), Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            self.taken_again.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The simulated app says how far it is.
    pub(crate) fn reach(&self, step: u64) {
        self.reached.store(step, Ordering::SeqCst);
    }

    /// The simulated app waits until it may go on; signals may come in at any time.
    pub(crate) fn wait_allowed(&self, step: u64) {
        // Longer than the judge waits for anything.
        wait_for(Duration::from_secs(600), "the judge", || self.allowed.load(Ordering::SeqCst) >= step);
    }

    pub(crate) fn answer(&self, index: usize, value: i64) {
        self.answers[index].store(value, Ordering::SeqCst);
    }

    pub(crate) fn answered(&self, index: usize) -> i64 {
        self.answers[index].load(Ordering::SeqCst)
    }
}

/// Waits for something that must come; the limit is for a machine under heavy load.
#[track_caller]
pub(crate) fn wait_until(what: &str, done: impl FnMut() -> bool) {
    wait_for(Duration::from_secs(30), what, done);
}

#[track_caller]
fn wait_for(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let give_up = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < give_up, "waited too long for {what}");
        nap(200);
    }
}

/// Sleeps some microseconds, or less if a signal comes.
pub(crate) fn nap(micros: u64) {
    let time =
        libc::timespec { tv_sec: (micros / 1_000_000) as _, tv_nsec: (micros % 1_000_000 * 1000) as _ };
    // SAFETY: a valid timespec; the rest is not asked for.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}
