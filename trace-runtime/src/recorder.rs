//! The recorder: who writes where.
//!
//! There is at most one a process. It is made by [`crate::start`], leaked (threads of the app may be in it
//! at any time, so it can never be freed) and reached through one pointer, which is null whenever nothing
//! is to be recorded: before the start, after a fault of our own, in a forked child.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_format::event::{Event, TextId};
use trace_format::layout::{ClockMode, RegionKind, State, header};

use crate::memory::block::RawBlock;
use crate::memory::home::{Homes, Left};
use crate::memory::mapping::Mapping;
use crate::memory::pool::{Kept, Pool};
use crate::memory::ring::Ring;
use crate::memory::stale::Stale;
use crate::memory::texts::Interner;
use crate::time;
use crate::time::time_word::Pace;
use crate::time::{clock, coarse, fold};
use crate::writing::door::{self, Door};
use crate::writing::owners::Owners;
use crate::writing::writer::{BlockSource, Followed, Writer};

/// Which threads are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    /// Every thread that calls in.
    #[default]
    All,
    /// The recorded main thread alone; [`pool_blocks`](trace_format::layout::Sizes::pool_blocks) may then be as small as it gets.
    Main,
}

static ACTIVE: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Where everything is before the file is there.
    pub(crate) memory: &'static Mapping,
    /// What holds the header that counts: the memory's, then the file's.
    live: AtomicPtr<Mapping>,
    /// What holds the thread table.
    table: Mutex<&'static Mapping>,
    pub(crate) texts: Interner,
    pub(crate) owners: Owners,
    pub(crate) pool: Pool,
    /// The kernel's tid of the recorded main thread.
    pub(crate) main_tid: u32,
    /// Begin of the message that main is in; 0 between messages, [`Recorder::NO_LOOPER`] before the first one.
    pub(crate) message_since: AtomicU64,
    /// Which threads are recorded.
    pub(crate) threads: Threads,
    next_uid: AtomicU32,
    /// Main's blocks, in turn.
    pub(crate) main_blocks: RingBlocks,
    /// The service ring's.
    pub(crate) service_blocks: RingBlocks,
    /// Everybody else's.
    pub(crate) pool_blocks: Homes,
    service: Mutex<Writer>,
    service_door: &'static Door,
}

impl Recorder {
    /// No message has begun on main: perhaps it has no Looper, and nothing is known of it.
    pub(crate) const NO_LOOPER: u64 = u64::MAX;

    pub(crate) fn new(memory: &'static Mapping, pool: Pool, main_tid: u32, threads: Threads) -> Self {
        let service_door = Box::leak(Box::new(Door::new()));
        Self {
            texts: Interner::new(memory),
            owners: Owners::of_the_recorder(),
            pool,
            main_tid,
            message_since: AtomicU64::new(Self::NO_LOOPER),
            // 0 is the service ring's.
            next_uid: AtomicU32::new(1),
            main_blocks: RingBlocks::new(memory, RegionKind::MainRing),
            service_blocks: RingBlocks::new(memory, RegionKind::ServiceRing),
            pool_blocks: Homes::new(memory, RegionKind::PoolRing),
            service: Mutex::new(Writer::new(0, 0, service_door)),
            service_door,
            live: AtomicPtr::new(std::ptr::from_ref(memory).cast_mut()),
            table: Mutex::new(memory),
            threads,
            memory,
        }
    }

    /// The recorder, if events are wanted.
    #[inline]
    pub(crate) fn active() -> Option<&'static Self> {
        // SAFETY: the pointer is null or came from `Box::leak` in `activate`.
        unsafe { ACTIVE.load(Ordering::Acquire).as_ref() }
    }

    /// Makes `recorder` the process's, if there was none.
    pub(crate) fn activate(recorder: Box<Self>) -> Result<&'static Self, Box<Self>> {
        let pointer = Box::into_raw(recorder);
        match ACTIVE.compare_exchange(std::ptr::null_mut(), pointer, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: leaked: nothing frees it from here on.
            Ok(_) => Ok(unsafe { &*pointer }),
            // SAFETY: it came from `into_raw` above, and nobody else has seen it.
            Err(_) => Err(unsafe { Box::from_raw(pointer) }),
        }
    }

    /// Ends recording for good. Only stores, so that an exit or fork handler may call it.
    pub(crate) fn deactivate(state: Option<State>) {
        // SAFETY: as in `active`.
        let recorder = unsafe { ACTIVE.swap(std::ptr::null_mut(), Ordering::AcqRel).as_ref() };
        // Java writes by itself as long as this word is open.
        coarse::set_pace(Pace::Off);
        if let (Some(recorder), Some(state)) = (recorder, state) {
            recorder.live().store_u32(header::STATE, state as u32);
            // If the header is moving just now: whoever moves it looks here once more.
            recorder.memory.store_u32(header::STATE, state as u32);
        }
    }

    /// A uid for a new thread.
    pub(crate) fn new_uid(&self) -> u32 {
        self.next_uid.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes to the service ring. Only our own threads and the start come here, never a thread of the app
    /// in the middle of its work and never a signal handler: it locks.
    pub(crate) fn service(&self, event: &Event) -> u64 {
        let mut writer = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        writer.put(&mut &self.service_blocks, &event.encode(), time::now(), ClockMode::Precise, fold::NOTHING)
    }

    /// Touches the block that main writes to and the ones that come next, without changing them. The first store to a
    /// page of a file's mapping waits for the file system, and after the page was written back so does the next
    /// first one: that is for the ticker to wait for, not for main.
    pub(crate) fn touch_ahead(&self) {
        self.main_blocks.touch(TOUCH_MAIN);
        self.pool.ahead(TOUCH_POOL, |number| self.pool_blocks.touch_next(number as usize));
    }

    /// What holds the header.
    pub(crate) fn live(&self) -> &'static Mapping {
        // SAFETY: it points to `memory` or to what `set_live` was given, both of which live forever.
        unsafe { &*self.live.load(Ordering::Acquire) }
    }

    pub(crate) fn set_live(&self, file: &'static Mapping) {
        self.live.store(std::ptr::from_ref(file).cast_mut(), Ordering::SeqCst);
    }

    /// What holds the thread table; it does not move while the guard lives. Taken at a thread's first event, at its
    /// end, when it gets a name, and by the worker for the few microseconds of copying the table.
    pub(crate) fn table(&self) -> MutexGuard<'_, &'static Mapping> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks every writer to take its block along to the file, which the homes have.
    pub(crate) fn ask_to_follow(&self) {
        coarse::MAIN_DOOR.ask(door::FOLLOW);
        self.service_door.ask(door::FOLLOW);
        self.pool.doors(|of_thread| of_thread.ask(door::FOLLOW));
    }

    /// The process was alive at `now`.
    pub(crate) fn alive(&self, now: u64) {
        self.live().u64(header::LAST_ALIVE).fetch_max(now, Ordering::Relaxed);
    }

    /// Adds a writer's losses to the header: at once, so that a kill loses none of them.
    #[cold]
    pub(crate) fn count_losses(&self, clamped: u32, dropped: u32) {
        self.live().u64(header::CLAMPED).fetch_add(clamped.into(), Ordering::Relaxed);
        self.live().u64(header::DROPPED).fetch_add(dropped.into(), Ordering::Relaxed);
    }

    /// Finds out which threads have fallen silent, for the pool. On the ticker's thread.
    pub(crate) fn look_for_silent(&self) {
        if self.pool.is_crowded() {
            self.pool.look_for_silent(clock::boottime(), &self.owners.holders());
        }
    }
}

/// The blocks of a ring with one writer, in turn.
#[derive(Debug)]
pub(crate) struct RingBlocks {
    pub(crate) homes: Homes,
    /// How many blocks the writer was ever given. Stored by it alone; whoever places marks looks at it.
    opened: crate::sync::AtomicU64,
}

/// Blocks of main that are touched ahead: at a tick of 1 ms enough for 8 million events a second.
pub(crate) const TOUCH_MAIN: usize = 8;
/// The same for all others together, of which each takes a thousand words at a time.
const TOUCH_POOL: usize = 4;

impl RingBlocks {
    pub(crate) fn new(memory: &Mapping, kind: RegionKind) -> Self {
        Self { homes: Homes::new(memory, kind), opened: crate::sync::AtomicU64::new(0) }
    }

    /// The number of the block with this sequence number.
    fn number(&self, sequence: u64) -> Option<usize> {
        Some(sequence.checked_rem(self.homes.count() as u64)? as usize)
    }

    /// How many blocks the writer was ever given.
    pub(crate) fn opened_so_far(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Touches the newest block and the `ahead` ones after it.
    pub(crate) fn touch(&self, ahead: usize) {
        let opened = self.opened.load(Ordering::Relaxed);
        if let Some(newest) = opened.checked_sub(1).and_then(|newest| self.number(newest)) {
            self.homes.touch(newest);
        }
        let ahead = ahead.min(self.homes.count() - 1) as u64;
        (opened..opened + ahead)
            .filter_map(|sequence| self.number(sequence))
            .for_each(|number| self.homes.touch_next(number));
    }

    /// Brings what is in memory into the file, as far as that can be done now. Only the worker may call it, after the
    /// homes have a file.
    pub(crate) fn bring(&self) -> Left {
        // Against the one in `next_block`: either the writer sees that there is a file, or this sees the block.
        fence(Ordering::SeqCst);
        let opened = self.opened.load(Ordering::Acquire);
        let oldest = opened.saturating_sub(self.homes.count() as u64);
        let bring = |sequence| Some(self.homes.bring(self.number(sequence)?, sequence + 1 < opened));
        (oldest..opened).filter_map(bring).max().unwrap_or(Left::Nothing)
    }
}

impl BlockSource for &RingBlocks {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        let opened = self.opened.load(Ordering::Relaxed);
        let number = self.number(opened)?;
        // Before the block's life begins, and behind all that was published in earlier ones: what `Ring` asks.
        self.opened.store(opened + 1, Ordering::Release);
        fence(Ordering::SeqCst);
        Some(self.homes.begin(number))
    }

    fn follow(&mut self, block: NonNull<u8>) -> Followed {
        self.homes.follow(block)
    }

    fn is_left_behind(&self, block: NonNull<u8>) -> bool {
        self.homes.is_left_behind(block)
    }

    fn count_losses(&mut self, clamped: u32, dropped: u32) {
        if let Some(recorder) = Recorder::active() {
            recorder.count_losses(clamped, dropped);
        }
    }
}

impl Ring for RingBlocks {
    type Block = RawBlock;

    fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    fn length(&self) -> u64 {
        self.homes.count() as u64
    }

    fn horizon(&self) -> u64 {
        fold::horizon()
    }

    fn block(&self, sequence: u64) -> RawBlock {
        let start = self.homes.at(self.number(sequence).expect("a ring that was opened has a block"));
        // SAFETY: a block of the mapping, which is never unmapped; nobody reaches its words but through atomics.
        unsafe { RawBlock::new(start) }
    }
}

/// Blocks out of the shared pool, for the thread at `place`.
#[derive(Debug)]
pub(crate) struct PoolBlocks {
    pub(crate) recorder: &'static Recorder,
    pub(crate) place: u32,
    /// Of the block that was taken last.
    pub(crate) stale: Stale,
}

impl BlockSource for PoolBlocks {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        let homes = &self.recorder.pool_blocks;
        let words = |number| homes.words(number as usize);
        let (block, stale) = self.recorder.pool.take(self.place, clock::boottime(), words, |handed| {
            if handed.recycled {
                homes.empty(handed.number as usize);
            }
            (homes.begin(handed.number as usize), handed.stale)
        })?;
        self.stale = stale;
        Some(block)
    }

    fn stale(&self) -> &Stale {
        &self.stale
    }

    fn keep(&mut self) -> Kept {
        self.recorder.pool.keep(self.place)
    }

    fn count_losses(&mut self, clamped: u32, dropped: u32) {
        self.recorder.count_losses(clamped, dropped);
    }

    fn follow(&mut self, block: NonNull<u8>) -> Followed {
        self.recorder.pool.locked(|| self.recorder.pool_blocks.follow(block))
    }

    fn is_left_behind(&self, block: NonNull<u8>) -> bool {
        self.recorder.pool_blocks.is_left_behind(block)
    }
}

/// The id of `text`, which is stored once; [`TextId`] 0 where there is no recording or no room. Keep it:
/// this locks, and allocates at a text's first use.
#[must_use]
pub fn text(text: &str) -> TextId {
    Recorder::active().map_or(TextId(0), |r| r.texts.intern(text))
}

/// The text with this id, for who writes a report. Not on a hot path.
pub(crate) fn text_of(id: u32) -> Option<String> {
    Recorder::active()?.texts.text_of(TextId(id))
}

/// Says something about the recorder itself to whoever reads the recording. Not for a hot path.
pub(crate) fn notice(text: &str) {
    if let Some(recorder) = Recorder::active() {
        let text = recorder.texts.intern(text);
        recorder.service(&Event::Notice(text));
    }
}
