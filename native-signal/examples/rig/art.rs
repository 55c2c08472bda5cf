//! The simulated app's side: threads, masks and handlers as ART has them.

use super::page::{Page, nap, wait_until};
use native_signal::{Config, Counters, Forwarded, Sensed, Sensor, StallTimer, boottime_ns};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

/// SIGQUIT, SIGUSR1 and SIGPIPE: what ART blocks in every thread (0x1204).
pub(crate) fn block_as_art() {
    set_blocked(&[libc::SIGQUIT, libc::SIGUSR1, libc::SIGPIPE]);
}

/// Gives the calling thread exactly this mask.
pub(crate) fn set_blocked(signals: &[i32]) {
    let set = set_of(signals);
    // SAFETY: a valid set.
    assert_eq!(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) }, 0);
}

pub(crate) fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: a set is bits; it is emptied before use, and the signal numbers are valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Whether the calling thread blocks a signal.
pub(crate) fn blocks(signal: i32) -> bool {
    // SAFETY: a set is bits, filled by the call; no new mask is given.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut set);
        libc::sigismember(&set, signal) == 1
    }
}

/// Starts a thread that does what ART's does; returns when it waits. It ends after `lives` signals.
///
/// It is born with ART's mask (`Runtime::BlockSignals` comes before any thread): one that bears the name with SIGQUIT
/// open runs our handler on a forwarded signal, and is refused as the catcher from then on.
pub(crate) fn start_catcher(page: &'static Page, name: &str, lives: u64) -> thread::JoinHandle<()> {
    page.catcher_tid.store(0, Ordering::SeqCst);
    let mut own = set_of(&[]);
    // SAFETY: a valid set, and a place for the old one.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set_of(&[libc::SIGQUIT, libc::SIGUSR1]), &mut own) };
    let thread = thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            block_as_art();
            let wanted = set_of(&[libc::SIGQUIT, libc::SIGUSR1]);
            page.catcher_tid.store(own_id(), Ordering::SeqCst);
            for _ in 0..lives {
                while page.catcher_busy.load(Ordering::SeqCst) == 1 {
                    nap(500);
                }
                let mut signal = 0;
                // SAFETY: a valid set and a place for the answer.
                while unsafe { libc::sigwait(&wanted, &mut signal) } != 0 {}
                if signal == libc::SIGQUIT {
                    page.catcher.note();
                }
            }
        })
        .unwrap();
    // SAFETY: the set that it had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &own, std::ptr::null_mut()) };
    wait_until("the catcher", || page.catcher_tid.load(Ordering::SeqCst) != 0);
    thread
}

/// The calling thread's id.
pub(crate) fn own_id() -> i64 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as i64 }
}

/// An observer that records its reports.
pub(crate) fn scribe(page: &'static Page) -> Box<dyn FnMut(Sensed) + Send> {
    Box::new(move |sensed| write_down(page, sensed))
}

pub(crate) fn write_down(page: &Page, sensed: Sensed) {
    let (kind, detail) = match sensed.forwarded {
        Forwarded::ToCatcher { tid } => (0, tid),
        Forwarded::ToPreviousHandler => (1, 0),
        Forwarded::LateToCatcher { tid } => (2, tid),
        Forwarded::Rescued { tid } => (3, tid),
        Forwarded::Failed { errno } => (4, errno),
    };
    if let Some(report) = page.reports.get(page.observer.count() as usize) {
        report.time_ns.store(sensed.time_ns, Ordering::SeqCst);
        report.si_code.store(sensed.si_code.into(), Ordering::SeqCst);
        report.si_pid.store(sensed.si_pid.into(), Ordering::SeqCst);
        report.si_uid.store(sensed.si_uid.into(), Ordering::SeqCst);
        report.kind.store(kind, Ordering::SeqCst);
        report.detail.store(detail.into(), Ordering::SeqCst);
    }
    page.observer.note();
}

/// Starts a timer for which the leader is in one message from now on, as main is at an ANR; at each wake-up the sensor
/// checks for a pending signal, as the recorder does. Once a process; it is never stopped.
pub(crate) fn leader_is_stalled() {
    static TIMER: OnceLock<StallTimer> = OnceLock::new();
    TIMER.get_or_init(|| {
        let timer = StallTimer::new();
        timer.message_begin(boottime_ns());
        let every_5_ms = |_| {
            native_signal::check_pending();
            5_000_000
        };
        timer.run(boottime_ns, Box::new(every_5_ms)).unwrap();
        timer
    });
}

/// Installs with the usual observer, on a leader that looks stuck.
pub(crate) fn install(page: &'static Page) -> Sensor {
    leader_is_stalled();
    native_signal::install(Config::default(), scribe(page)).unwrap()
}

/// Gives the sensor's own numbers to the judge: answers 8 to 12.
pub(crate) fn answer_counters(page: &Page, sensor: &Sensor) {
    let Counters { sensed, forwarded, failed, merged, rescued } = sensor.counters();
    for (index, number) in [sensed, forwarded, failed, merged, rescued].into_iter().enumerate() {
        page.answer(8 + index, number as i64);
    }
}

/// The page for handlers, which get no captures.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(std::ptr::null_mut());

/// The page, inside a handler.
pub(crate) fn page_of_handlers() -> &'static Page {
    // SAFETY: set by `set_handler` before any handler of this file is installed; the page is never unmapped.
    unsafe { &*PAGE.load(Ordering::SeqCst) }
}

/// Installs a handler of the rig's own and gives the action that it replaced.
pub(crate) fn set_handler(page: &'static Page, handler: usize, flags: i32, mask: &[i32]) -> libc::sigaction {
    PAGE.store(std::ptr::from_ref(page).cast_mut(), Ordering::SeqCst);
    // SAFETY: a sigaction is plain data; the handler has the form that the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut replaced: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        action.sa_mask = set_of(mask);
        assert_eq!(libc::sigaction(libc::SIGQUIT, &action, &mut replaced), 0);
        replaced
    }
}

/// The address of SIGQUIT's handler now.
pub(crate) fn current_handler() -> usize {
    // SAFETY: a sigaction is plain data, filled by the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGQUIT, std::ptr::null(), &mut action);
        action.sa_sigaction
    }
}
