//! The API of the sensor: install, ask, uninstall.

use crate::displaced::Displaced;
use crate::error::{InstallError, OpenError};
use crate::mode::{LastError, Mode, PassiveReason, Uninstalled};
use crate::older::Action;
use crate::passive_watch::PassiveWatch;
use crate::poller;
use crate::rescue::Rescue;
use crate::sensed::Sensed;
use crate::shared::{CHAIN, Shared};
use crate::{catcher, fork, handler, mask, task};
use nix::errno::Errno;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;
use trace_format::verdict::Counters;

/// How to sense.
#[derive(Clone, Debug)]
pub struct Config {
    /// How long a signal may stay pending before it is taken from a leader that does not run and handed on. `None`: never.
    pub rescue_after: Option<Duration>,
    /// For the proof that a test notices a lost signal: sense, but hand on to nobody. An app with this set hides its
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
/// the leader has SIGQUIT open, that is all; where the leader blocks it the sensor stays
/// [`PassiveReason::LeaderClosed`] until [`open_in_this_thread`] is called there.
///
/// `on_sensed` runs on the sensor's own thread, after the signal was handed on. If it panics, the sensor disarms itself
/// and hands signals on from then on; [`Sensor::last_error`] says so.
///
/// Sources: man 2 sigaction, man 7 signal, man 7 signal-safety, man 2 tgkill; AOSP `art/runtime/signal_catcher.cc`.
///
/// # Errors
///
/// [`InstallError`]. Where sensing would do harm that is no error but [`Mode::Passive`].
pub fn install(config: Config, on_sensed: Box<dyn FnMut(Sensed) + Send>) -> Result<Sensor, InstallError> {
    install_and_listen(config, Some(on_sensed))
}

/// As [`install`], without the sensor's thread, for a leader that has no time to start one: the handler hands signals on
/// from now on, and what it notes waits for [`Sensor::listen`], which another thread is to call at once. Until then
/// nothing is rescued, and what the handler could not hand on waits as well.
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
    // Never waited for: whoever holds it installs, or ends the thread on which this may be called.
    let mut chain = match CHAIN.try_lock() {
        Ok(chain) => chain,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(InstallError::AlreadyInstalled),
    };
    if chain.has_sensor {
        return Err(InstallError::AlreadyInstalled);
    }
    let older = match chain.has_ours {
        // Our handler is in the chain and keeps its place, even behind a later one: going on top of that one, which may
        // chain to us, would close a circle.
        // But one that was removed since is in no chain.
        true => Action::current().ok().filter(|action| !action.is_handler()),
        false => Some(Action::current().map_err(os("sigaction"))?),
    };
    // Where an older handler is called whoever the catcher is, our thread looks for that one: on HotSpot there is none,
    // and every thread's name would have to be read.
    let catcher = match &older {
        Some(older) if older.is_handler() && !older.is_one_shot() && mask::is_open_on_the_leader() => None,
        _ => catcher::find(0).map_err(|error| InstallError::Os {
            call: "reading /proc/self/task",
            errno: error.raw_os_error().unwrap_or(0),
        })?,
    };
    if let Some(reason) = older.as_ref().and_then(|older| reason_to_stay_out(older, catcher)) {
        return Ok(Sensor { installed: None, passive: Some(reason) });
    }

    let shared = Shared::get_or_make();
    fork::close_in_children();
    if older.is_none() && shared.older().is_none() && catcher.is_none() {
        // The second time, and the catcher is gone: as at the first time without one.
        return Ok(Sensor { installed: None, passive: Some(PassiveReason::DefaultAction) });
    }
    let calls_previous = match &older {
        Some(older) => older.is_handler(),
        None => shared.older().is_some(),
    };
    if !calls_previous && task::send(shared.pid, task::own_id(), 0).is_err() {
        return Ok(Sensor { installed: None, passive: Some(PassiveReason::CannotForward) });
    }
    shared.reset.store(false, Ordering::Relaxed);
    shared.withhold.store(config.withhold_for_test, Ordering::Relaxed);
    shared.last_error.store(0, Ordering::Relaxed);
    shared.refused.store(0, Ordering::Release);
    shared.catcher.store(catcher.unwrap_or(0), Ordering::Release);
    if let Some(older) = older {
        shared.set_older(older.is_handler().then_some(older));
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

    if let Some(expected) = older {
        let ours = Action::ours(handler::on_sigquit, shared.older());
        match ours.put() {
            Ok(found) => {
                chain.has_ours = true;
                // Somebody was quicker between the look and the act: it is theirs that must be called.
                if found.is_handler() && !found.is_same_handler(&expected) {
                    shared.set_older(Some(found));
                }
            }
            Err(errno) => {
                installed.stop();
                return Err(os("sigaction")(errno));
            }
        }
    }
    chain.has_sensor = true;
    drop(chain);
    // Last of all: from here on signals come. A refusal is seen in `mode`.
    let _ = open_in_this_thread();
    Ok(Sensor { installed: Some(installed), passive: None })
}

/// Opens SIGQUIT in the calling thread, which must be the group leader, so that the handler senses it, and gives it an
/// alternate signal stack if it has none. [`install`] does so itself where it can; this is for a leader that did not install. Harmless if repeated.
///
/// # Errors
///
/// [`OpenError`]; nothing is opened then.
pub fn open_in_this_thread() -> Result<(), OpenError> {
    let shared = Shared::get().filter(|shared| {
        shared.pid == task::process_id() && shared.armed.load(Ordering::Acquire) && shared.older().is_none()
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

/// Blocks SIGQUIT in the calling thread again if [`open_in_this_thread`] had opened it there; true if it did. Takes the
/// alternate stack that it gave back too.
pub fn close_in_this_thread() -> bool {
    let Some(shared) = Shared::get() else { return false };
    if task::own_id() == shared.pid {
        shared.altstack.take_back();
    }
    if shared.opened.load(Ordering::Acquire) != fork::mask_owner() {
        return false;
    }
    let _ = mask::only_sigquit().thread_block();
    shared.opened.store(0, Ordering::Release);
    true
}

fn os(call: &'static str) -> impl Fn(Errno) -> InstallError {
    move |errno| InstallError::Os { call, errno: errno as i32 }
}

fn reason_to_stay_out(older: &Action, catcher: Option<i32>) -> Option<PassiveReason> {
    if older.is_handler() {
        if older.is_one_shot() {
            return Some(PassiveReason::OlderHandlerOneShot);
        }
        if catcher.is_some() && !mask::is_open_on_the_leader() {
            return Some(PassiveReason::OlderHandlerNotReached);
        }
        return None;
    }
    match catcher {
        Some(_) => None,
        None if older.is_ignore() => Some(PassiveReason::Ignored),
        None => Some(PassiveReason::DefaultAction),
    }
}

impl Sensor {
    /// Starts the thread of a sensor that was installed by [`install_quietly`]; `on_sensed` as for [`install`]. A sensor
    /// that has its thread keeps it, and a passive one needs none. Any thread.
    ///
    /// # Errors
    ///
    /// The thread could not be started: signals are handed on, and nobody is told.
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
        } else if shared.older().is_some() {
            Mode::BeforeOlderHandler
        } else if shared.reset.load(Ordering::Relaxed) {
            Mode::Passive { reason: PassiveReason::HandlerRemoved }
        } else if shared.opened.load(Ordering::Acquire) == 0 && !mask::is_open_on_the_leader() {
            Mode::Passive { reason: PassiveReason::LeaderClosed }
        } else {
            Mode::BesideCatcher { tid: shared.catcher.load(Ordering::Acquire) }
        }
    }

    /// The numbers so far; all zero if nothing is installed.
    pub fn counters(&self) -> Counters {
        let Some(Installed { shared, .. }) = &self.installed else { return Counters::default() };
        let tally = &shared.tally;
        Counters {
            sensed: tally.sensed.load(Ordering::Relaxed),
            forwarded: tally.forwarded.load(Ordering::Relaxed),
            failed: tally.failed.load(Ordering::Relaxed),
            merged: tally.merged.load(Ordering::Relaxed),
            rescued: tally.rescued.load(Ordering::Relaxed),
        }
    }

    /// How often the sensor's thread woke in this process: its own cost, for those who measure it.
    pub fn wakeups(&self) -> u64 {
        self.installed.as_ref().map_or(0, |installed| installed.shared.tally.wakeups.load(Ordering::Relaxed))
    }

    /// What went wrong last since [`install`].
    pub fn last_error(&self) -> Option<LastError> {
        let Some(Installed { shared, .. }) = &self.installed else { return None };
        [LastError::ObserverPanicked, LastError::CatcherGone]
            .into_iter()
            .find(|error| *error as u32 == shared.last_error.load(Ordering::Relaxed))
    }

    /// Whether another handler was installed after ours. One system call; it may still chain to ours. Ours is never put
    /// on top again.
    pub fn displaced(&self) -> bool {
        self.installed.is_some() && Action::current().is_ok_and(|action| !action.is(handler::on_sigquit))
    }

    /// [`Sensor::displaced`] for a place that is passed often, such as the end of each message: between two system calls
    /// lies a second, by the caller's clock (`now_ns` only ever grows), and until then it is a load and a compare. Each
    /// handler that stands before ours is reported once.
    ///
    /// On the leader it also blocks SIGQUIT again where other code has removed our handler: see [`Displaced`].
    pub fn check_displaced(&self, now_ns: u64) -> Option<Displaced> {
        let shared = self.installed.as_ref()?.shared;
        let (handler, is_new) = shared.displaced.check(now_ns, handler::on_sigquit)?;
        let blocked = [libc::SIG_DFL, libc::SIG_IGN].contains(&handler) && close_in_this_thread();
        if blocked {
            shared.reset.store(true, Ordering::Relaxed);
        }
        (is_new || blocked).then_some(Displaced { handler, blocked })
    }

    /// Puts our handler back where other code has set SIGQUIT to the default action or to ignore, as long as the leader has SIGQUIT
    /// open because of us: until the leader comes to [`Sensor::check_displaced`] and blocks it, the next one would end the process.
    /// A handler of any library is left alone. One system call; any thread, meant for one that wakes when the leader does not.
    pub fn keep_handled(&self) {
        let Some(Installed { shared, .. }) = &self.installed else { return };
        if shared.opened.load(Ordering::Acquire) != 0 && shared.pid == task::process_id() {
            shared.displaced.put_back(&Action::ours(handler::on_sigquit, shared.older()));
        }
    }

    /// A watch over the catcher for a sensor that is passive; nothing for one that senses.
    pub fn passive_watch(&self) -> Option<PassiveWatch> {
        matches!(self.mode(), Mode::Passive { .. }).then(PassiveWatch::new)
    }

    /// Stops sensing: the thread ends, and the action that was there before comes back if ours is still the current one
    /// and the former is a real handler. In every other case ours stays and only hands on.
    ///
    /// On the leader its SIGQUIT is closed again if we had opened it.
    pub fn uninstall(mut self) -> Uninstalled {
        self.remove()
    }

    fn remove(&mut self) -> Uninstalled {
        let Some(installed) = self.installed.take() else { return Uninstalled::NothingInstalled };
        let shared = installed.shared;
        if shared.pid != task::process_id() {
            // A forked child has neither the thread nor anything of its own to undo.
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

/// Puts the older handler back if ours is current; true if it did.
fn restore(shared: &Shared) -> bool {
    let Some(older) = shared.older() else { return false };
    if !Action::current().is_ok_and(|action| action.is(handler::on_sigquit)) {
        return false;
    }
    match older.put() {
        Ok(replaced) if replaced.is(handler::on_sigquit) => true,
        Ok(replaced) => {
            // Somebody was quicker: give it back.
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

    /// Ends the thread. Called on that thread (an observer that drops its own sensor) it only tells it to.
    fn stop(mut self) {
        self.shared.armed.store(false, Ordering::Release);
        self.stop.store(true, Ordering::Release);
        self.shared.wake();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // It catches its panics.
            let _ = thread.join();
        }
    }
}
