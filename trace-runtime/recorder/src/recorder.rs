//! The recorder: what all threads share.
//!
//! There is at most one per process. [`crate::start()`] makes it and leaks it (threads of the app may use it
//! at any time, so it can never be freed). It is reached through one pointer, which is null while nothing is
//! recorded: before the start, after a panic in the recorder, in a forked child.

pub(crate) mod blocks;
pub(crate) mod hooks;
pub(crate) mod owners;
pub(crate) mod sources;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_format::event::{Event, TextId};
use trace_format::layout::{ClockMode, RegionKind, State, THREAD_LEN, header, thread as entry};
use trace_format::native_slot;

use crate::gate::{self, Gate};
use crate::memory::mapping::Mapping;
use crate::memory::pool::Pool;
use crate::memory::storage::BlockStorage;
use crate::memory::texts::Interner;
use crate::memory::writer::Writer;
use crate::recorder::blocks::RingBlocks;
use crate::recorder::hooks::Hooks;
use crate::recorder::owners::{OWNERS, Owners};
use crate::time;
use crate::time::time_word::Pace;
use crate::time::{clock, coarse, fold};

/// Which threads are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    /// Every thread that calls in.
    #[default]
    All,
    /// The recorded main thread alone; [`pool_blocks`](trace_format::layout::Sizes::pool_blocks) may then be
    /// minimal.
    Main,
}

/// Blocks of main that are touched in advance: at a tick of 1 ms enough for 8 million events a second.
pub(crate) const TOUCH_MAIN: usize = 8;
/// The same for all other threads together, each of which takes a thousand words at a time.
const TOUCH_POOL: usize = 4;

/// From here on only main joins the recording, although it records all threads.
static MAIN_ONLY: AtomicBool = AtomicBool::new(false);

/// Sets whether only main joins the recording from here on. Threads that joined before go on.
pub fn set_main_only(on: bool) {
    MAIN_ONLY.store(on, Ordering::Relaxed);
}

static ACTIVE: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// What all threads share.
#[derive(Debug)]
pub struct Recorder {
    /// The memory in which everything is before there is a file.
    pub(crate) memory: &'static Mapping,
    /// The mapping whose header is valid: the memory, then the file.
    live: AtomicPtr<Mapping>,
    /// The mapping that has the thread table.
    table: Mutex<&'static Mapping>,
    pub(crate) texts: Interner,
    pub(crate) owners: &'static Owners,
    pub(crate) pool: Pool,
    /// The kernel's tid of the recorded main thread.
    pub main_tid: u32,
    /// The start of main's current message; 0 between messages, [`Recorder::NO_LOOPER`] before the first one.
    pub message_since: AtomicU64,
    /// The lock that main waits for, 0 for none.
    pub(crate) main_waits_for: AtomicU64,
    /// Which threads are recorded.
    threads: Threads,
    pub(crate) hooks: Hooks,
    next_uid: AtomicU32,
    /// The blocks of main's ring.
    pub(crate) main_blocks: RingBlocks,
    /// The blocks of the service ring.
    pub(crate) service_blocks: RingBlocks,
    /// The blocks of all other threads.
    pub(crate) pool_blocks: BlockStorage,
    service: Mutex<Writer>,
    service_gate: &'static Gate,
}

impl Recorder {
    /// No message has started on main: perhaps it has no Looper.
    pub const NO_LOOPER: u64 = u64::MAX;

    pub(crate) fn new(
        memory: &'static Mapping,
        pool: Pool,
        main_tid: u32,
        threads: Threads,
        hooks: Hooks,
    ) -> Self {
        let service_gate = Box::leak(Box::new(Gate::new()));
        Self {
            texts: Interner::new(memory),
            owners: &OWNERS,
            pool,
            main_tid,
            message_since: AtomicU64::new(Self::NO_LOOPER),
            main_waits_for: AtomicU64::new(0),
            // 0 is the service ring's uid.
            next_uid: AtomicU32::new(1),
            main_blocks: RingBlocks::new(memory, RegionKind::MainRing),
            service_blocks: RingBlocks::new(memory, RegionKind::ServiceRing),
            pool_blocks: BlockStorage::new(memory, RegionKind::PoolRing),
            service: Mutex::new(Writer::new(0, 0, service_gate)),
            service_gate,
            live: AtomicPtr::new(std::ptr::from_ref(memory).cast_mut()),
            table: Mutex::new(memory),
            threads,
            hooks,
            memory,
        }
    }

    /// The recorder, while events are recorded.
    #[inline]
    pub fn active() -> Option<&'static Self> {
        // SAFETY: the pointer is null or came from `Box::leak` in `activate`.
        unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
    }

    /// Makes `recorder` the process's recorder, unless there is one.
    pub(crate) fn activate(recorder: Box<Self>) -> Result<&'static Self, Box<Self>> {
        let pointer = Box::into_raw(recorder);
        match ACTIVE.compare_exchange(std::ptr::null_mut(), pointer, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked: nothing frees it from here on.
            Ok(_) => Ok(unsafe { &*pointer }),
            // SAFETY: it came from `into_raw` above, and no other thread has seen it.
            Err(_) => Err(unsafe { Box::from_raw(pointer) }),
        }
    }

    /// Ends recording for good. Only stores, so that an exit or fork handler may call it.
    pub fn deactivate(state: Option<State>) {
        // SAFETY: as in `active`.
        let recorder = unsafe { ACTIVE.swap(std::ptr::null_mut(), Ordering::AcqRel).as_ref() };
        // Java writes by itself as long as this word is open.
        coarse::set_pace(Pace::Off);
        if let (Some(recorder), Some(state)) = (recorder, state) {
            recorder.live().store_u32(header::STATE, state as u32);
            // If the header is being copied just now: the worker checks this one again.
            recorder.memory.store_u32(header::STATE, state as u32);
        }
    }

    /// Whether only main may join.
    pub(crate) fn is_main_only(&self) -> bool {
        self.threads == Threads::Main || MAIN_ONLY.load(Ordering::Relaxed)
    }

    /// A uid for a new thread.
    pub(crate) fn new_uid(&self) -> u32 {
        self.next_uid.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes to the service ring. For the recorder's own threads and the start: it locks, so no thread of
    /// the app may call it in the middle of its work, nor a signal handler.
    pub fn service(&self, event: &Event) -> u64 {
        let mut writer = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        writer.put(&mut &self.service_blocks, &event.encode(), time::now(), ClockMode::Precise, fold::NOTHING)
    }

    /// Touches the block that main writes to and the ones that come next, without changing them. The first
    /// store to a page of a file's mapping waits for the file system, and so does the first one after the
    /// page was written back: the ticker waits for that, so that main does not.
    pub(crate) fn touch_ahead(&self) {
        self.main_blocks.touch(TOUCH_MAIN);
        self.pool.ahead(TOUCH_POOL, |number| self.pool_blocks.touch_next(number as usize));
    }

    /// The mapping whose header is valid.
    pub(crate) fn live(&self) -> &'static Mapping {
        // SAFETY: it points to `memory` or to what `set_live` was given, both of which live forever.
        unsafe { &*self.live.load(Ordering::Acquire) }
    }

    pub(crate) fn set_live(&self, file: &'static Mapping) {
        self.live.store(std::ptr::from_ref(file).cast_mut(), Ordering::SeqCst);
    }

    /// The mapping that has the thread table, which does not migrate while the guard lives. Taken at a
    /// thread's first event, at its end, when it is named, and by the worker for the few microseconds of
    /// copying the table.
    pub(crate) fn table(&self) -> MutexGuard<'_, &'static Mapping> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks every writer to migrate its block to the file, which the storage knows.
    pub(crate) fn request_migration(&self) {
        self.service_gate.ask(gate::MIGRATE);
        self.ask_all(gate::MIGRATE);
    }

    /// Requests `what` of every thread of the program.
    pub(crate) fn ask_all(&self, what: u32) {
        coarse::MAIN_GATE.ask(what);
        self.pool.gates(|of_thread| of_thread.ask(what));
    }

    /// When recording began, CLOCK_BOOTTIME ns.
    pub fn start_boottime(&self) -> u64 {
        self.memory.u64(header::START_BOOTTIME).load(Ordering::Relaxed)
    }

    /// When recording began, ns since 1970.
    pub fn start_realtime(&self) -> u64 {
        self.memory.u64(header::START_REALTIME).load(Ordering::Relaxed)
    }

    /// The slots for native stacks in the recording's file, each of [`native_slot::LEN`] bytes that stay mapped; none if the file was
    /// created without, or is not created yet.
    pub fn native_slots(&self) -> impl Iterator<Item = NonNull<u8>> + use<> {
        let live = self.live();
        let region = live.find_region(RegionKind::NativeStacks);
        let (offset, length) =
            region.map_or((0, 0), |region| (region.offset as usize, region.length as usize));
        (0..length / native_slot::LEN)
            .map(move |slot| live.at(offset + slot * native_slot::LEN, native_slot::LEN))
    }

    /// The tid of the thread that owns the lock main waits for, as far as the app reports its waits. It searches the thread table: not on a thread
    /// of the app.
    pub fn owner_for_main(&self) -> Option<u32> {
        let lock = self.main_waits_for.load(Ordering::Relaxed);
        let uid = Some(self.owners.owner(lock)).filter(|uid| lock != 0 && *uid != 0)?;
        let live = self.live();
        let region = live.region(RegionKind::Threads);
        let first = region.offset as usize;
        let entries = (first..first + region.length as usize).step_by(THREAD_LEN);
        let read = |at: usize| live.u32(at).load(Ordering::Acquire);
        entries.into_iter().find(|at| read(at + entry::UID) == uid).map(|at| read(at + entry::TID))
    }

    /// Notes that the process was alive at `now`.
    pub fn alive(&self, now: u64) {
        self.live().u64(header::LAST_ALIVE).fetch_max(now, Ordering::Relaxed);
    }

    /// Adds a writer's losses to the header at once, so that a kill loses none of them.
    #[cold]
    pub(crate) fn count_losses(&self, clamped: u32, dropped: u32) {
        self.live().u64(header::CLAMPED).fetch_add(clamped.into(), Ordering::Relaxed);
        self.live().u64(header::DROPPED).fetch_add(dropped.into(), Ordering::Relaxed);
    }

    /// Polls the threads of the pool for silent ones. On the ticker's thread.
    pub(crate) fn poll_silent(&self) {
        if self.pool.is_crowded() {
            self.pool.poll_silent(clock::boottime(), &self.owners.owners());
        }
    }
}

/// The id of `text`, which is stored once; [`TextId`] 0 if there is no recording or no room. Keep the id:
/// this locks, and allocates at a text's first use.
#[must_use]
pub fn text(text: &str) -> TextId {
    Recorder::active().map_or(TextId(0), |r| r.texts.intern(text))
}

/// The text with this id. Not on a hot path.
pub fn text_of(id: u32) -> Option<String> {
    Recorder::active()?.texts.text_of(TextId(id))
}

/// Records a diagnostic notice about the recorder. Not on a hot path.
pub fn notice(text: &str) {
    if let Some(recorder) = Recorder::active() {
        let text = recorder.texts.intern(text);
        recorder.service(&Event::Notice(text));
    }
}
