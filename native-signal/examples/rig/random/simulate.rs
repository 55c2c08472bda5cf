//! The simulated app of a drawn situation.

use super::super::art::{
    block_as_art, blocks, leader_is_stalled, own_id, page_of_handlers, scribe, set_blocked, set_handler,
};
use super::super::captures;
use super::super::page::{Page, nap, wait_until};
use super::super::second::Second as Copy;
use super::draw::{After, Before, Descriptors, Draw, Leader, Mask, Name, Second};
use native_signal::{Config, Sensor};
use std::fs::File;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::thread;

/// The facts for the judge, by index into [`Page::answers`].
pub(crate) mod answer {
    /// The leader has SIGQUIT open.
    pub(crate) const OPEN: usize = 0;
    /// Taken from a leader that did not run: such a signal has lost its number.
    pub(crate) const RESCUED: usize = 1;
    pub(crate) const SENSED: usize = 2;
    /// Our handler was installed.
    pub(crate) const INSTALLED: usize = 3;
    /// The leader's stack was captured so often.
    pub(crate) const CAPTURED: usize = 4;
    /// Captures that were not as they must be.
    pub(crate) const WRONG_CAPTURES: usize = 5;
}

/// Simulates until the judge lets it end.
pub(crate) fn run(page: &'static Page, draw: &Draw, withhold: bool) {
    if draw.no_altstack {
        drop_altstack();
    }
    block_as_art();
    // All threads that help come first: they inherit a closed mask.
    start_catchers(page, draw.clone());
    let ends = pipe();
    thread::spawn(move || end_the_wait(page, ends[1]));
    for _ in 0..draw.threads {
        thread::Builder::new().stack_size(64 * 1024).spawn(sleep_on).unwrap();
    }
    if draw.forks {
        thread::spawn(move || fork_now_and_then(page));
    }
    if draw.captures {
        let leader = own_id();
        thread::spawn(move || capture_all_the_time(page, leader));
    }
    if draw.interrupts {
        set_interrupt();
    }
    match draw.before {
        Before::Default | Before::Ignored => {}
        Before::HandlerKeeps => foreign(page, keeps as *const () as usize),
        Before::HandlerForwards => foreign(page, forwards as *const () as usize),
    }
    let copy = (draw.second != Second::None).then(Copy::load);
    let install_copy = |when: Second| {
        if let Some(copy) = copy.filter(|_| draw.second == when) {
            copy.install();
        }
    };
    install_copy(Second::InstalledFirst);
    let mut held = Vec::new();
    if draw.descriptors == Descriptors::NoneAtInstall {
        take_all_descriptors(&mut held);
    }
    leader_is_stalled();
    let mut sensor = install(page, withhold);
    if draw.descriptors == Descriptors::NoneAtInstall {
        held.clear();
    }
    install_copy(Second::InstalledLast);
    match draw.after {
        After::Nothing => {}
        // Only before something: it calls what was there.
        After::Chains if is_handler() => chain(page),
        After::Chains => {}
        After::Keeps if is_handler() => {
            set_handler(page, keeps as *const () as usize, libc::SA_SIGINFO | libc::SA_RESTART, &[]);
        }
        After::Keeps => {}
    }
    if draw.name == Name::RenamedLater {
        page.catcher_busy.store(2, Ordering::SeqCst);
    }
    if draw.descriptors == Descriptors::NoneLater {
        take_all_descriptors(&mut held);
    }
    page.catcher_busy.compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst).ok();
    page.answer(answer::OPEN, i64::from(!blocks(libc::SIGQUIT)));
    page.answer(answer::INSTALLED, i64::from(is_handler()));
    page.reach(1);

    let go_on = || page.allowed.load(Ordering::SeqCst) < 2;
    match draw.leader {
        Leader::Nanosleep => {
            while go_on() {
                nap(2000);
            }
        }
        Leader::Read => {
            let mut byte = 0u8;
            // SAFETY: one writable byte.
            while go_on() && unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) } != 1 {}
        }
        Leader::Futex => {
            while go_on() {
                futex(libc::FUTEX_WAIT, 0);
            }
        }
        Leader::Loop => {
            while go_on() {
                std::hint::spin_loop();
            }
        }
        Leader::Vfork => {
            while go_on() {
                vfork_until(page);
            }
        }
        Leader::ComesAndGoes => {
            while go_on() {
                drop(sensor.take());
                nap(300);
                sensor = install(page, withhold);
                nap(300);
            }
        }
    }
    held.clear();
    let counters = sensor.as_ref().map(Sensor::counters).unwrap_or_default();
    page.answer(answer::RESCUED, (counters.rescued + copy.map_or(0, Copy::rescued)) as i64);
    page.answer(answer::SENSED, (counters.sensed + copy.map_or(0, Copy::sensed)) as i64);
    page.reach(2);
    page.wait_allowed(3);
    // In either order.
    if draw.queued {
        drop(sensor.take());
    }
    if let Some(copy) = copy {
        copy.uninstall();
    }
}

fn capture_all_the_time(page: &'static Page, leader: i64) {
    let slot = captures::slot();
    let mut counts = captures::Counts::default();
    loop {
        captures::take(leader, &slot, &mut counts);
        page.answer(answer::CAPTURED, counts.by_signal + counts.without_signal);
        page.answer(answer::WRONG_CAPTURES, counts.wrong);
        nap(300);
    }
}

fn sleep_on() {
    loop {
        nap(1_000_000);
    }
}

fn install(page: &'static Page, withhold: bool) -> Option<Sensor> {
    let config = Config { withhold_for_test: withhold, ..Config::default() };
    native_signal::install(config, scribe(page)).ok()
}

fn is_handler() -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&super::super::art::current_handler())
}

fn drop_altstack() {
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 64 * 1024 };
    // SAFETY: the leader runs on no alternate stack now, and goes on without.
    assert_eq!(unsafe { libc::sigaltstack(&none, ptr::null_mut()) }, 0);
}

fn pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends
}

static FUTEX: AtomicU32 = AtomicU32::new(0);

fn futex(operation: i32, value: u32) {
    // SAFETY: a live word; no timeout.
    unsafe { libc::syscall(libc::SYS_futex, &raw const FUTEX, operation, value, ptr::null::<u8>()) };
}

/// Ends the leader's wait in `read` or on the futex once the judge is done.
fn end_the_wait(page: &Page, pipe: i32) {
    page.wait_allowed(2);
    FUTEX.store(1, Ordering::SeqCst);
    futex(libc::FUTEX_WAKE, 1);
    // SAFETY: one readable byte.
    unsafe { libc::write(pipe, [7u8].as_ptr().cast(), 1) };
}

fn fork_now_and_then(page: &Page) {
    for _ in 0..3 {
        nap(5000);
        if page.allowed.load(Ordering::SeqCst) >= 2 {
            return;
        }
        // SAFETY: the child ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as said.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: our child; its status is not asked for.
        while unsafe { libc::waitpid(child, ptr::null_mut(), 0) } == -1 && errno() == libc::EINTR {}
    }
}

fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

extern "C" fn sleep_while_signals_come(page: *mut libc::c_void) -> i32 {
    // SAFETY: the page that `vfork_until` passed; it is never unmapped.
    let page = unsafe { &*page.cast::<Page>() };
    for _ in 0..400 {
        if page.allowed.load(Ordering::SeqCst) >= 2 {
            break;
        }
        nap(1000);
    }
    // SAFETY: ends the child without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}

/// The leader sleeps uninterruptibly, as the parent of a `vfork`, for 400 ms or until the judge is done.
fn vfork_until(page: &'static Page) {
    let mut stack = vec![0u8; 64 * 1024];
    let top = (stack.as_mut_ptr() as usize + stack.len()) & !15;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let page = ptr::from_ref(page).cast_mut().cast();
    // SAFETY: the stack outlives the child, for this thread waits for its end; the child only sleeps and exits.
    let child = unsafe { libc::clone(sleep_while_signals_come, top as *mut _, flags, page) };
    assert!(child > 0);
    // SAFETY: our child; its status is not asked for.
    while unsafe { libc::waitpid(child, ptr::null_mut(), 0) } == -1 && errno() == libc::EINTR {}
}

/// Takes every descriptor that is left, of a number that makes it quick.
fn take_all_descriptors(held: &mut Vec<File>) {
    let few = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: a valid limit.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &few) };
    while let Ok(file) = File::open("/dev/null") {
        held.push(file);
    }
}

// The foreign handlers. Each writes down what it takes; the first to see a signal writes its number down.

/// A foreign handler, with SIGQUIT open in the leader.
fn foreign(page: &'static Page, handler: usize) {
    set_handler(page, handler, libc::SA_SIGINFO | libc::SA_RESTART, &[]);
    set_blocked(&[libc::SIGUSR1, libc::SIGPIPE]);
}

fn write_down_number(page: &Page, info: *mut libc::siginfo_t) {
    // SAFETY: the kernel's siginfo of this signal.
    let (code, value) = unsafe { ((*info).si_code, (*info).si_value()) };
    if code == libc::SI_QUEUE {
        page.take(value.sival_ptr as usize);
    }
}

extern "C" fn keeps(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let page = page_of_handlers();
    write_down_number(page, info);
    page.previous.note();
}

extern "C" fn forwards(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let page = page_of_handlers();
    write_down_number(page, info);
    // A catcher that dies is not this handler's fault; try its successor.
    loop {
        let tid = page.catcher_tid.load(Ordering::SeqCst);
        // SAFETY: integers.
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid as i32, libc::SIGQUIT) };
        if tid != 0 && sent == 0 {
            return;
        }
        nap(500);
    }
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Puts a handler before the present one, and calls that.
fn chain(page: &'static Page) {
    NEXT.store(super::super::art::current_handler(), Ordering::SeqCst);
    set_handler(page, chains as *const () as usize, libc::SA_SIGINFO | libc::SA_RESTART, &[]);
}

extern "C" fn chains(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // It may be called by a handler that it calls in turn; the number is written down once.
    if draws_a_number(info) {
        write_down_number(page_of_handlers(), info);
    }
    // SAFETY: every handler of the rig and ours has SA_SIGINFO.
    let next: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
        unsafe { std::mem::transmute(NEXT.load(Ordering::SeqCst)) };
    next(signal, info, context);
}

/// Whether the handlers behind this one do not write numbers down.
fn draws_a_number(_info: *mut libc::siginfo_t) -> bool {
    WRITES_FIRST.load(Ordering::SeqCst) == 1
}

/// 1 if a chaining handler is the first to see numbers that no handler behind it writes down.
static WRITES_FIRST: AtomicI32 = AtomicI32::new(0);

// The catcher.

const TAKEN: u64 = 1 << (libc::SIGQUIT - 1) | 1 << (libc::SIGUSR1 - 1);

/// Starts the catcher and, when it ends, the next.
fn start_catchers(page: &'static Page, draw: Draw) {
    WRITES_FIRST.store(i32::from(matches!(draw.before, Before::Default | Before::Ignored)), Ordering::SeqCst);
    if draw.mask == Mask::Dumping {
        page.catcher_busy.store(1, Ordering::SeqCst);
    }
    let leader = own_id();
    let starts_dumping = draw.mask == Mask::Dumping;
    thread::spawn(move || {
        loop {
            let name = if draw.name == Name::Other { "SignalCatcher2" } else { "Signal Catcher" };
            let draw_of_it = draw.clone();
            let thread = thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || catch(page, &draw_of_it, leader))
                .unwrap();
            let _ = thread.join();
            nap(draw.reborn_us);
        }
    });
    wait_until("the catcher", || page.catcher_tid.load(Ordering::SeqCst) != 0);
    if !starts_dumping {
        // Until it waits: its mask shows it.
        let status = format!("/proc/self/task/{}/status", page.catcher_tid.load(Ordering::SeqCst));
        wait_until("its sigwait", || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            text.contains("SigBlk:\t0000000000001000") || text.contains("SigBlk:\t0000000000005000")
        });
    }
}

fn catch(page: &'static Page, draw: &Draw, leader: i64) {
    match draw.mask {
        Mask::WaitingVendor => {
            set_blocked(&[libc::SIGQUIT, libc::SIGUSR1, libc::SIGPIPE, libc::SIGTERM]);
        }
        Mask::Waiting | Mask::Dumping => block_as_art(),
    }
    let mut trace = File::options().write(true).open("/dev/null").unwrap();
    page.catcher_tid.store(own_id(), Ordering::SeqCst);
    let mut taken = 0;
    loop {
        while page.catcher_busy.load(Ordering::SeqCst) == 1 {
            nap(200);
        }
        if page.catcher_busy.compare_exchange(2, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            // SAFETY: a name of less than sixteen bytes.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"Quit Taker".as_ptr()) };
        }
        let Some((signal, code, number)) = sigwait() else { continue };
        if signal != libc::SIGQUIT {
            continue;
        }
        taken += 1;
        let last = taken == draw.lives;
        if last {
            page.catcher_tid.store(0, Ordering::SeqCst);
        }
        if code == libc::SI_QUEUE {
            page.take(number);
        }
        page.catcher.note();
        // The dump: it stops threads, writes, takes its time.
        if draw.interrupts {
            // SAFETY: integers.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), leader as i32, libc::SIGUSR2) };
        }
        let _ = std::io::Write::write_all(&mut trace, b"----- pid 1 at now -----\n");
        if last {
            return;
        }
        if draw.dump_us > 0 {
            nap(draw.dump_us);
        }
    }
}

/// What `sigwait` calls, and with the siginfo: signal, code, number.
fn sigwait() -> Option<(i32, i32, usize)> {
    // SAFETY: plain integers.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel's set of eight bytes and a place for the answer; no timeout.
    let signal = unsafe {
        libc::syscall(libc::SYS_rt_sigtimedwait, &raw const TAKEN_SET, &raw mut info, ptr::null::<u8>(), 8)
    };
    if signal <= 0 {
        return None;
    }
    // SAFETY: filled by the kernel.
    let value = unsafe { info.si_value() };
    Some((signal as i32, info.si_code, value.sival_ptr as usize))
}

static TAKEN_SET: u64 = TAKEN;

/// What ART's dump does to a thread in a system call: it comes back with EINTR.
fn set_interrupt() {
    extern "C" fn nothing(_signal: i32) {}
    // SAFETY: a sigaction is plain data; the handler has the plain form; no SA_RESTART.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut()), 0);
    }
}
