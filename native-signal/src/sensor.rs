//! The API of the sensor: install, query, uninstall.

use crate::displaced::Displaced;
use crate::error::{InstallError, OpenError, OsError};
use crate::mode::{Mode, PassiveReason, Uninstalled};
use crate::passive_watch::PassiveWatch;
use crate::poller;
use crate::previous::Action;
use crate::rescue::Rescue;
use crate::sensed::Sensed;
use crate::shared::{CHAIN, Shared};
use crate::{catcher, fork, handler, mask, task};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;
use trace_format::verdict::Counters;

/// Options of [`install`].
#[derive(Clone, Debug)]
pub struct Config {
    /// How long a signal may stay pending before it is taken from a leader that does not run and forwarded. `None`: never.
    pub rescue_after: Option<Duration>,
    /// For the test that a lost signal is detected: sense, but do not forward. An app with this set hides its
    /// ANRs from the system.
    #[doc(hidden)]
    pub withhold_for_test: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { rescue_after: Some(Duration::from_millis(200)), withhold_for_test: false }
    }
}

/// The installed sensor. Dropping it uninstalls.
#[derive(Debug)]
pub struct Sensor {
    installed: Option<Installed>,
    passive: Option<PassiveReason>,
}

struct Installed {
    shared: &'static Shared,
    thread: OnceLock<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    rescue_after: Option<Duration>,
}

impl fmt::Debug for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installed").field("thread", &self.thread).finish_non_exhaustive()
    }
}

/// Installs the sensor and starts its thread.
///
/// Call it on the group leader (on Android the main thread). It may also be called on another thread: on a JVM, where
/// SIGQUIT is unblocked in the leader, that is enough; where the leader blocks it the sensor stays
/// [`PassiveReason::LeaderClosed`] until [`open_in_this_thread`] is called there.
///
/// `on_sensed` runs on the sensor's own thread, after the signal was forwarded. If it panics, the sensor disarms itself
/// and only forwards signals from then on; [`Sensor::mode`] says so.
///
/// Sources: man 2 sigaction, man 7 signal, man 7 signal-safety, man 2 tgkill; AOSP `art/runtime/signal_catcher.cc`.
///
/// # Errors
///
/// [`InstallError`]. Where sensing would do harm the result is no error but [`Mode::Passive`].
pub fn install(config: Config, on_sensed: Box<dyn FnMut(Sensed) + Send>) -> Result<Sensor, InstallError> {
    install_and_listen(config, Some(on_sensed))
}

/// As [`install`], without the sensor's thread, for a leader that has no time to start one: the handler forwards signals
/// from now on, and its notes wait for [`Sensor::listen`], which another thread must call at once. Until then
/// nothing is rescued, and signals that the handler could not forward wait as well.
///
/// # Errors
///
/// As [`install`].
pub fn install_quietly(config: Config) -> Result<Sensor, InstallError> {
    install_and_listen(config, None)
}

fn install_and_listen(config: Config, on_sensed: Option<poller::Observer>) -> Result<Sensor, InstallError> {
    if Shared::get().is_some_and(|shared| shared.pid != task::process_id()) {
        return Err(InstallError::ForkedChild);
    }
    // Never waited for: its owner installs, or ends the thread on which this may be called.
    let mut chain = match CHAIN.try_lock() {
        Ok(chain) => chain,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(InstallError::AlreadyInstalled),
    };
    if chain.has_sensor {
        return Err(InstallError::AlreadyInstalled);
    }
    let previous = match chain.has_ours {
        // Our handler is in the chain and keeps its place, even behind a later one: installing it on top of that one, which may
        // chain to us, would close a cycle. But if it was removed since it is in no chain.
        true => Action::current().ok().filter(|action| !action.is_handler()),
        false => Some(Action::current().map_err(OsError::of("sigaction"))?),
    };
    // If a previous handler is called, our thread searches for the catcher later: HotSpot has no Signal Catcher,
    // and every thread's name would have to be read.
    let catcher = match &previous {
        Some(previous)
            if previous.is_handler() && !previous.is_one_shot() && mask::is_open_on_the_leader() =>
        {
            None
        }
        _ => catcher::find(0).map_err(OsError::of_io("reading /proc/self/task"))?,
    };
    if let Some(reason) = previous.as_ref().and_then(|previous| reason_to_stay_out(previous, catcher)) {
        return Ok(Sensor { installed: None, passive: Some(reason) });
    }

    let shared = Shared::get_or_make();
    fork::close_in_children();
    if previous.is_none() && shared.previous().is_none() && catcher.is_none() {
        // The second time, and the catcher is gone: as at the first time without one.
        return Ok(Sensor { installed: None, passive: Some(PassiveReason::DefaultAction) });
    }
    let calls_previous = match &previous {
        Some(previous) => previous.is_handler(),
        None => shared.previous().is_some(),
    };
    if !calls_previous && task::send(shared.pid, task::own_id(), 0).is_err() {
        return Ok(Sensor { installed: None, passive: Some(PassiveReason::CannotForward) });
    }
    shared.reset.store(false, Ordering::Relaxed);
    shared.withhold.store(config.withhold_for_test, Ordering::Relaxed);
    shared.refused.store(0, Ordering::Release);
    shared.catcher.store(catcher.unwrap_or(0), Ordering::Release);
    if let Some(previous) = previous {
        shared.set_previous(previous.is_handler().then_some(previous));
    }
    let installed = Installed {
        shared,
        thread: OnceLock::new(),
        stop: Arc::default(),
        rescue_after: config.rescue_after,
    };
    if let Some(on_sensed) = on_sensed {
        installed.listen(on_sensed).map_err(InstallError::Thread)?;
    }
    shared.armed.store(true, Ordering::Release);

    if let Some(expected) = previous {
        let ours = Action::ours(handler::on_sigquit, shared.previous());
        match ours.put() {
            Ok(found) => {
                chain.has_ours = true;
                // Other code installed a handler since the check: that handler must be called.
                if found.is_handler() && found.address() != expected.address() {
                    shared.set_previous(Some(found));
                }
            }
            Err(errno) => {
                installed.stop();
                return Err(OsError::of("sigaction")(errno).into());
            }
        }
    }
    chain.has_sensor = true;
    drop(chain);
    // Last: from here on signals arrive. A refusal shows in `mode`.
    let _ = open_in_this_thread();
    Ok(Sensor { installed: Some(installed), passive: None })
}

/// Unblocks SIGQUIT in the calling thread, which must be the group leader, so that the handler senses it, and gives it an
/// alternate signal stack if it has none. [`install`] does so itself if it runs on the leader. Repeated calls are harmless.
///
/// # Errors
///
/// [`OpenError`]; nothing is unblocked then.
pub fn open_in_this_thread() -> Result<(), OpenError> {
    let shared = Shared::get().filter(|shared| {
        shared.pid == task::process_id()
            && shared.armed.load(Ordering::Acquire)
            && shared.previous().is_none()
    });
    let shared = shared.ok_or(OpenError::NotBesideCatcher)?;
    if !Action::current().is_ok_and(|action| action.is_handler()) {
        return Err(OpenError::NotBesideCatcher);
    }
    if task::own_id() != shared.pid {
        return Err(OpenError::NotTheLeader);
    }
    shared.altstack.provide();
    shared.reset.store(false, Ordering::Relaxed);
    if !mask::is_open_here() {
        shared.opened.store(fork::mask_owner(), Ordering::Release);
        let _ = mask::only_sigquit().thread_unblock();
    }
    Ok(())
}

/// Blocks SIGQUIT in the calling thread again if [`open_in_this_thread`] had unblocked it there; true if it did. Also removes
/// the alternate stack that it gave to the thread.
pub fn close_in_this_thread() -> bool {
    let Some(shared) = Shared::get() else { return false };
    if task::own_id() == shared.pid {
        shared.altstack.remove();
    }
    if shared.opened.load(Ordering::Acquire) != fork::mask_owner() {
        return false;
    }
    let _ = mask::only_sigquit().thread_block();
    shared.opened.store(0, Ordering::Release);
    true
}

fn reason_to_stay_out(previous: &Action, catcher: Option<i32>) -> Option<PassiveReason> {
    if previous.is_handler() {
        if previous.is_one_shot() {
            return Some(PassiveReason::PreviousHandlerOneShot);
        }
        if catcher.is_some() && !mask::is_open_on_the_leader() {
            return Some(PassiveReason::PreviousHandlerNotReached);
        }
        return None;
    }
    match catcher {
        Some(_) => None,
        None if previous.is_ignore() => Some(PassiveReason::Ignored),
        None => Some(PassiveReason::DefaultAction),
    }
}

impl Sensor {
    /// Starts the thread of a sensor that was installed by [`install_quietly`]; `on_sensed` as for [`install`]. A sensor
    /// that has its thread keeps it, and a passive one needs none. Any thread.
    ///
    /// # Errors
    ///
    /// The thread could not be started: signals are forwarded and not reported.
    pub fn listen(&self, on_sensed: Box<dyn FnMut(Sensed) + Send>) -> io::Result<()> {
        let Some(installed) = &self.installed else { return Ok(()) };
        if installed.thread.get().is_some() {
            return Ok(());
        }
        installed.listen(on_sensed).inspect_err(|_| installed.shared.armed.store(false, Ordering::Release))
    }

    /// How signals are sensed at this moment.
    pub fn mode(&self) -> Mode {
        let Some(Installed { shared, .. }) = &self.installed else {
            return Mode::Passive { reason: self.passive.unwrap_or(PassiveReason::Disarmed) };
        };
        if !shared.armed.load(Ordering::Acquire) {
            Mode::Passive { reason: PassiveReason::Disarmed }
        } else if shared.previous().is_some() {
            Mode::BeforePreviousHandler
        } else if shared.reset.load(Ordering::Relaxed) {
            Mode::Passive { reason: PassiveReason::HandlerRemoved }
        } else if shared.opened.load(Ordering::Acquire) == 0 && !mask::is_open_on_the_leader() {
            Mode::Passive { reason: PassiveReason::LeaderClosed }
        } else {
            Mode::BesideCatcher { tid: shared.catcher.load(Ordering::Acquire) }
        }
    }

    /// The counters so far; all zero if nothing is installed.
    pub fn counters(&self) -> Counters {
        let Some(Installed { shared, .. }) = &self.installed else { return Counters::default() };
        let totals = &shared.totals;
        Counters {
            sensed: totals.sensed.load(Ordering::Relaxed),
            forwarded: totals.forwarded.load(Ordering::Relaxed),
            failed: totals.failed.load(Ordering::Relaxed),
            merged: totals.merged.load(Ordering::Relaxed),
            rescued: totals.rescued.load(Ordering::Relaxed),
        }
    }

    /// How often the sensor's thread woke in this process, to measure its cost.
    pub fn wakeups(&self) -> u64 {
        self.installed.as_ref().map_or(0, |installed| installed.shared.totals.wakeups.load(Ordering::Relaxed))
    }

    /// Whether another handler was installed after ours, which may still chain to ours. Ours is never put
    /// on top again. One system call.
    pub fn displaced(&self) -> bool {
        self.installed.is_some() && Action::current().is_ok_and(|action| !action.is(handler::on_sigquit))
    }

    /// [`Sensor::displaced`] for frequent calls, such as at the end of each message: it makes a system call once a second
    /// by the caller's clock (`now_ns` must only grow), and is a load and a compare in between. Each
    /// handler that displaces our handler is reported once.
    ///
    /// On the leader it also blocks SIGQUIT again if other code has removed our handler: see [`Displaced`].
    pub fn check_displaced(&self, now_ns: u64) -> Option<Displaced> {
        let shared = self.installed.as_ref()?.shared;
        let (handler, is_new) = shared.displaced.check(now_ns, handler::on_sigquit)?;
        let blocked = [libc::SIG_DFL, libc::SIG_IGN].contains(&handler) && close_in_this_thread();
        if blocked {
            shared.reset.store(true, Ordering::Relaxed);
        }
        (is_new || blocked).then_some(Displaced { handler, blocked })
    }

    /// Puts our handler back if other code has set SIGQUIT to the default action or to ignore, as long as SIGQUIT is unblocked in the
    /// leader because of us: until the leader calls [`Sensor::check_displaced`] and blocks it, the next signal would end the process.
    /// A real handler is left in place. One system call; any thread, meant for one that wakes when the leader does not.
    pub fn keep_handled(&self) {
        let Some(Installed { shared, .. }) = &self.installed else { return };
        if shared.opened.load(Ordering::Acquire) != 0 && shared.pid == task::process_id() {
            shared.displaced.put_back(&Action::ours(handler::on_sigquit, shared.previous()));
        }
    }

    /// A watch over the catcher if the sensor is passive; `None` if it senses.
    pub fn passive_watch(&self) -> Option<PassiveWatch> {
        matches!(self.mode(), Mode::Passive { .. }).then(PassiveWatch::default)
    }

    /// Stops sensing: the thread ends, and the previous action is restored if ours is still the current one
    /// and the previous one is a real handler. In every other case ours stays and only forwards.
    ///
    /// On the leader SIGQUIT is blocked again if we had unblocked it.
    pub fn uninstall(mut self) -> Uninstalled {
        self.remove()
    }

    fn remove(&mut self) -> Uninstalled {
        let Some(installed) = self.installed.take() else { return Uninstalled::NothingInstalled };
        let shared = installed.shared;
        if shared.pid != task::process_id() {
            // A forked child has no thread and nothing to undo.
            std::mem::forget(installed.thread);
            return Uninstalled::PassThrough { leader_open: mask::is_open_here() };
        }
        let mut chain = CHAIN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        close_in_this_thread();
        let restored = restore(shared);
        if restored {
            chain.has_ours = false;
        }
        installed.stop();
        chain.has_sensor = false;
        drop(chain);
        if restored {
            Uninstalled::Restored
        } else {
            Uninstalled::PassThrough { leader_open: shared.opened.load(Ordering::Acquire) != 0 }
        }
    }
}

impl Drop for Sensor {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Restores the previous handler if ours is current; true if it did.
fn restore(shared: &Shared) -> bool {
    let Some(previous) = shared.previous() else { return false };
    if !Action::current().is_ok_and(|action| action.is(handler::on_sigquit)) {
        return false;
    }
    match previous.put() {
        Ok(replaced) if replaced.is(handler::on_sigquit) => true,
        Ok(replaced) => {
            // Other code installed a handler in between: put that one back.
            let _ = replaced.put();
            false
        }
        Err(_) => false,
    }
}

impl Installed {
    fn listen(&self, on_sensed: poller::Observer) -> io::Result<()> {
        let rescue = self.rescue_after.map(Rescue::new);
        let thread = poller::start(self.shared, on_sensed, rescue, self.stop.clone())?;
        let _ = self.thread.set(thread);
        Ok(())
    }

    /// Ends the thread. Called on that thread (an observer that drops its own sensor) it only requests the end.
    fn stop(mut self) {
        self.shared.armed.store(false, Ordering::Release);
        self.stop.store(true, Ordering::Release);
        self.shared.wake();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread catches its panics.
            let _ = thread.join();
        }
    }
}
