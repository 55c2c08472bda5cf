//! Asks for a stack, and waits.

use super::error::Refusal;
use super::kernel::{self, CpuTimer};
use super::request::REQUEST;
use super::slot::Slot;
use super::stacks::{Range, TABLE};
use super::thread::{Place, Thread, kernel_function, place, thread};
use super::{Taken, calls, memory, mutex, numbers};
use crate::clock::boottime_ns;
use crate::error::OsError;
use crate::task;
use nix::errno::Errno;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};
use trace_format::native_slot::{MAX_STACK, Machine, REGISTERS, Reason, at, flags, state};
use trace_format::sections::native_stack::SystemCall;

/// How long a capture may take.
const LIMIT: Duration = Duration::from_millis(200);
/// How long a timer may take before the thread is checked again: some ticks.
const TIMER: Duration = Duration::from_millis(20);

/// What is kept between captures. Its lock lets one capture at a time go on.
struct Kept {
    /// The number of the last capture.
    number: u64,
    /// Stacks of threads that were captured.
    stacks: [Option<(i32, u64, Range)>; 8],
    /// Which of them is replaced next.
    next: usize,
}

static BETWEEN_CAPTURES: Mutex<Kept> = Mutex::new(Kept { number: 0, stacks: [None; 8], next: 0 });

pub(super) fn take(signal: i32, tid: u32, reason: Reason, slot: &Slot) -> Result<Taken, Refusal> {
    let begun = Instant::now();
    let pid = task::process_id();
    if pid != REQUEST.pid.load(Ordering::Acquire) {
        return Err(Refusal::ForkedChild);
    }
    let tid = i32::try_from(tid).map_err(|_| Refusal::NoThread)?;
    if tid == task::own_id() {
        return Err(Refusal::OwnThread);
    }
    let mut kept = match BETWEEN_CAPTURES.try_lock() {
        Ok(kept) => kept,
        Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(Refusal::Busy),
    };
    // A handler that had no CPU for longer than its capture lasted may still fill its slot.
    if !REQUEST.is_idle() || !slot.advance(state::FREE, state::ASKED) {
        return Err(Refusal::Busy);
    }
    let mut asking =
        Asking { signal, pid, tid, slot, until: begun + LIMIT, kept: &mut kept, ranges: 0, from_kept: false };
    let taken = asking.take(reason);
    if taken.is_err() && !slot.advance(state::ASKED, state::FREE) {
        // Its handler is at work, and frees the slot; or it has just filled it.
        let _ = slot.advance(state::FILLING, state::ABANDONED) || slot.advance(state::FULL, state::FREE);
    }
    taken
}

/// One capture.
struct Asking<'a> {
    signal: i32,
    pid: i32,
    tid: i32,
    slot: &'a Slot,
    until: Instant,
    kept: &'a mut Kept,
    /// How many ranges the table has.
    ranges: usize,
    /// Whether the table has the range that was kept from an earlier capture.
    from_kept: bool,
}

/// What to do with a thread.
enum Way {
    /// Copy it from outside; `sleeps` counts how often it left the CPU by itself.
    Copy { call: Option<SystemCall>, sp: u64, pc: u64, sleeps: u64 },
    /// Queue the signal; the call that it sleeps in, if that is known, and its stack pointer.
    Queue { call: Option<(SystemCall, u64, u64)> },
    /// Have its timer send the signal.
    Timer,
}

impl Asking<'_> {
    fn take(&mut self, reason: Reason) -> Result<Taken, Refusal> {
        let Some(this) = self.thread()? else { return Err(Refusal::NoThread) };
        let slot = self.slot;
        slot.store(at::TID, self.tid as u32);
        slot.store(at::ASKED, boottime_ns());
        slot.store(at::FILLED, 0u64);
        // `install` has refused other machines.
        slot.store(at::MACHINE, Machine::HERE.map_or(0, |machine| machine as u8));
        slot.store(at::REASON, reason as u8);
        REQUEST.by_kernel.store(kernel::checks_tags(), Ordering::Relaxed);
        REQUEST.slot.store(slot.memory().as_ptr(), Ordering::Relaxed);
        self.find_ranges(this)?;
        loop {
            self.kept.number += 1;
            slot.store(at::NUMBER, self.kept.number);
            let taken = match self.way()? {
                Way::Copy { call, sp, pc, sleeps } => self.copy(call, sp, pc, sleeps)?,
                Way::Queue { call } => self.queue(call)?,
                Way::Timer => self.time()?,
            };
            if let Some(taken) = taken {
                let outside = slot.load::<u16>(at::FLAGS) & flags::FOREIGN_STACK != 0;
                if !(outside && self.from_kept) {
                    self.keep(this);
                    return Ok(taken);
                }
                // The stack that was kept is not this thread's any more, or it has grown.
                self.forget();
                self.find_ranges(this)?;
                if !slot.advance(state::FULL, state::ASKED) {
                    return Err(Refusal::Busy);
                }
            }
            if Instant::now() >= self.until {
                return Err(Refusal::TimedOut);
            }
        }
    }

    fn thread(&self) -> Result<Option<Thread>, Refusal> {
        Ok(thread(self.tid).map_err(OsError::of_io("/proc/self/task/TID/stat"))?)
    }

    /// Decides how the thread is captured, by what it does now.
    fn way(&self) -> Result<Way, Refusal> {
        let place = place(self.tid)?;
        let status = task::status(self.tid)
            .map_err(OsError::of_io("/proc/self/task/TID/status"))?
            .ok_or(Refusal::NoThread)?;
        let may_signal = status.is_open(self.signal);
        let sleeps = status.state == 'S';
        match place {
            Place::Blocked { call: Some(call), sp, pc }
                if may_signal && sleeps && calls::is_restarted(&call) =>
            {
                Ok(Way::Queue { call: Some((call, sp, pc)) })
            }
            Place::Blocked { call, sp, pc } => Ok(Way::Copy { call, sp, pc, sleeps: status.sleeps }),
            _ if !may_signal => Err(Refusal::Blocked),
            Place::Running => Ok(Way::Timer),
            Place::Hidden if status.state == 'R' => Ok(Way::Timer),
            Place::Hidden if !sleeps => Err(Refusal::UnknownCall),
            Place::Hidden => {
                let mut room = [0; 128];
                if calls::is_restarted_function(kernel_function(self.tid, &mut room)) {
                    Ok(Way::Queue { call: None })
                } else {
                    Err(Refusal::UnknownCall)
                }
            }
        }
    }

    /// Copies from outside; `None` if the thread has moved meanwhile.
    fn copy(
        &mut self,
        call: Option<SystemCall>,
        sp: u64,
        pc: u64,
        sleeps: u64,
    ) -> Result<Option<Taken>, Refusal> {
        let slot = self.slot;
        // SAFETY: this thread holds the lock of captures.
        let range = unsafe { TABLE.find(self.ranges, sp) };
        let mut found = flags::WITHOUT_SIGNAL;
        let mut length = 0;
        if let Some(range) = range {
            length = range.end.saturating_sub(sp as usize);
            if length > MAX_STACK {
                length = MAX_STACK;
                found |= flags::CUT;
            }
            // SAFETY: the slot's place for stack bytes, which has room for `MAX_STACK`; this thread has the slot.
            length = unsafe { memory::copy(sp, slot.stack_bytes(), length) };
        } else {
            found |= flags::FOREIGN_STACK;
        }
        for register in 0..REGISTERS {
            slot.store(at::REGISTERS + 8 * register, 0u64);
        }
        if let Some(machine) = Machine::HERE {
            slot.store(at::REGISTERS + 8 * machine.stack_pointer(), sp);
            slot.store(at::REGISTERS + 8 * (machine.registers() - 1), pc);
        }
        self.store_call(call);
        slot.store(at::STACK_END, range.map_or(0, |range| range.end as u64));
        slot.store(at::SP, sp);
        slot.store(at::STACK_LEN, length as u32);
        slot.store(at::FLAGS, found);
        slot.store(at::FILLED, boottime_ns());
        // The bytes are of one moment if the thread is where it was, and has not left the CPU since, as it does when it sleeps again.
        let status = task::status(self.tid).map_err(OsError::of_io("/proc/self/task/TID/status"))?;
        if status.is_none_or(|status| status.sleeps != sleeps)
            || place(self.tid)? != (Place::Blocked { call, sp, pc })
        {
            return Ok(None);
        }
        Ok(slot.advance(state::ASKED, state::FULL).then_some(Taken::WithoutSignal))
    }

    /// Queues the signal and waits for the handler.
    fn queue(&mut self, call: Option<(SystemCall, u64, u64)>) -> Result<Option<Taken>, Refusal> {
        self.store_call(call.map(|(call, ..)| call));
        self.ask()?;
        let number = self.kept.number;
        if let Err(errno) = kernel::queue(self.pid, self.tid, self.signal, REQUEST.cookie(number)) {
            REQUEST.withdraw(number);
            return Err(match errno {
                Errno::ESRCH => Refusal::NoThread,
                errno => OsError::of("rt_tgsigqueueinfo")(errno).into(),
            });
        }
        if !self.wait(self.until) && (REQUEST.withdraw(number) || !REQUEST.is_done(number)) {
            return Err(Refusal::TimedOut);
        }
        if let Some((_, sp, pc)) = call {
            // The kernel has set the program counter back to the call's instruction, so that it is made again.
            let stored =
                self.slot.load::<u64>(at::REGISTERS + 8 * (Machine::HERE.map_or(1, Machine::registers) - 1));
            if self.slot.load::<u64>(at::SP) != sp || pc.wrapping_sub(stored) > 4 {
                self.store_call(None);
            }
        }
        Ok(Some(Taken::BySignal))
    }

    /// Starts a timer that sends the signal when the thread runs, and waits for the handler; `None` if the thread does not run.
    fn time(&mut self) -> Result<Option<Taken>, Refusal> {
        self.store_call(None);
        self.ask()?;
        let number = self.kept.number;
        let timer = match CpuTimer::start(self.tid, self.signal, REQUEST.cookie(number)) {
            Ok(timer) => timer,
            Err(errno) => {
                REQUEST.withdraw(number);
                let ended = matches!(thread(self.tid), Ok(None));
                return Err(if ended {
                    Refusal::NoThread
                } else {
                    OsError::of("timer_create")(errno).into()
                });
            }
        };
        let mut answered = false;
        while !answered && Instant::now() < self.until {
            answered = self.wait(self.until.min(Instant::now() + TIMER));
            if !answered && !matches!(place(self.tid), Ok(Place::Running)) && !self.runs_hidden() {
                break;
            }
        }
        drop(timer);
        if answered || (!REQUEST.withdraw(number) && REQUEST.is_done(number)) {
            return Ok(Some(Taken::BySignal));
        }
        // With the request withdrawn, or with a handler at work that has no CPU.
        if REQUEST.is_idle() { Ok(None) } else { Err(Refusal::TimedOut) }
    }

    /// Whether a thread whose place is hidden runs.
    fn runs_hidden(&self) -> bool {
        matches!(place(self.tid), Ok(Place::Hidden))
            && matches!(thread(self.tid), Ok(Some(this)) if this.state == b'R')
    }

    /// Opens the request for the handler.
    fn ask(&self) -> Result<(), Refusal> {
        if !numbers::is_ours(self.signal) {
            return Err(Refusal::HandlerReplaced);
        }
        REQUEST.ranges.store(TABLE.first(), Ordering::Relaxed);
        REQUEST.ranges_len.store(self.ranges, Ordering::Relaxed);
        REQUEST.ask(self.kept.number);
        Ok(())
    }

    /// Waits until the handler is done; false if it is not at this time.
    fn wait(&self, until: Instant) -> bool {
        let mut pause = Duration::from_micros(10);
        loop {
            if REQUEST.is_done(self.kept.number) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Stores the system call, and the owner of the mutex that it waits for.
    fn store_call(&self, call: Option<SystemCall>) {
        let (address, owner) = call.as_ref().map_or((0, 0), |call| mutex::owner(self.tid, call));
        let SystemCall { number, arguments } =
            call.unwrap_or(SystemCall { number: u64::MAX, arguments: [0; 6] });
        self.slot.store(at::SYSTEM_CALL, number);
        for (place, argument) in arguments.into_iter().enumerate() {
            self.slot.store(at::ARGUMENTS + 8 * place, argument);
        }
        self.slot.store(at::OWNER, u64::from(owner));
        self.slot.store(at::MUTEX, address);
    }

    /// Fills the table: with the stack that is known of this thread, or with all memory that may hold it.
    fn find_ranges(&mut self, this: Thread) -> Result<(), Refusal> {
        let known = self
            .kept
            .stacks
            .iter()
            .flatten()
            .find(|(tid, started, _)| (*tid, *started) == (self.tid, this.started));
        self.from_kept = known.is_some();
        self.ranges = match known {
            Some((.., range)) => {
                // SAFETY: this thread holds the lock of captures, and no request is open.
                unsafe { TABLE.set(*range) };
                1
            }
            // SAFETY: as above.
            None => unsafe { TABLE.fill() }.map_err(OsError::of_io("/proc/self/maps"))?,
        };
        Ok(())
    }

    /// Keeps the stack that the capture found.
    fn keep(&mut self, this: Thread) {
        let found = self.slot.load::<u16>(at::FLAGS);
        if self.from_kept || found & (flags::FOREIGN_STACK | flags::IN_HANDLER) != 0 {
            return;
        }
        // SAFETY: this thread holds the lock of captures.
        if let Some(range) = unsafe { TABLE.find(self.ranges, self.slot.load(at::SP)) } {
            let next = self.kept.next;
            self.kept.stacks[next] = Some((self.tid, this.started, range));
            self.kept.next = (next + 1) % self.kept.stacks.len();
        }
    }

    fn forget(&mut self) {
        for kept in &mut self.kept.stacks {
            if kept.is_some_and(|(tid, ..)| tid == self.tid) {
                *kept = None;
            }
        }
    }
}
