//! The recorder: who writes where.
//!
//! There is at most one a process. It is made by [`crate::start`], leaked (threads of the app may be in it
//! at any time, so it can never be freed) and reached through one pointer, which is null whenever nothing
//! is to be recorded: before the start, after a fault of our own, in a forked child.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use trace_format::event::{Encoded, Event};
use trace_format::layout::{BLOCK_LEN, RegionKind, State, block, header};

use crate::mapping::Mapping;
use crate::owners::Owners;
use crate::pool::Pool;
use crate::texts::Interner;
use crate::writer::{BlockSource, Writer};

static ACTIVE: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) mapping: Mapping,
    pub(crate) texts: Interner,
    pub(crate) owners: Owners,
    pub(crate) pool: Pool,
    /// The kernel's tid of the recorded main thread.
    pub(crate) main_tid: u32,
    /// Begin of the message that main is in; 0 between messages.
    pub(crate) message_since: AtomicU64,
    next_uid: AtomicU32,
    service: Mutex<(Writer, RingBlocks)>,
}

impl Recorder {
    pub(crate) fn new(mapping: Mapping, pool: Pool, main_tid: u32) -> Self {
        let strings = mapping.region(RegionKind::Strings);
        let service = RingBlocks::new(&mapping, RegionKind::ServiceRing);
        Self {
            texts: Interner::new(strings.offset as usize, strings.length as usize),
            owners: Owners::new(),
            pool,
            main_tid,
            message_since: AtomicU64::new(0),
            // 0 is the service ring's.
            next_uid: AtomicU32::new(1),
            service: Mutex::new((Writer::new(0, 0), service)),
            mapping,
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
        if let (Some(recorder), Some(state)) = (recorder, state) {
            recorder.mapping.store_u32(header::STATE, state as u32);
        }
    }

    /// A uid for a new thread.
    pub(crate) fn new_uid(&self) -> u32 {
        self.next_uid.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes to the service ring. Only our own threads and the start come here, never a thread of the app
    /// in the middle of its work and never a signal handler: it locks.
    pub(crate) fn service(&self, event: &Event) -> u64 {
        let mut service = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let (writer, blocks) = &mut *service;
        writer.put(blocks, &event.encode())
    }

    /// The process was alive at `now`.
    pub(crate) fn alive(&self, now: u64) {
        self.mapping.u64(header::LAST_ALIVE).fetch_max(now, Ordering::Relaxed);
    }

    /// Adds a writer's losses to the header.
    pub(crate) fn count_losses(&self, (clamped, dropped): (u32, u32)) {
        self.mapping.u64(header::CLAMPED).fetch_add(clamped.into(), Ordering::Relaxed);
        self.mapping.u64(header::DROPPED).fetch_add(dropped.into(), Ordering::Relaxed);
    }
}

/// The blocks of a ring with one writer, in turn.
#[derive(Debug)]
pub(crate) struct RingBlocks {
    first: NonNull<u8>,
    count: usize,
    next: usize,
}

// SAFETY: the blocks belong to this value's writer alone, and the mapping outlives everything.
unsafe impl Send for RingBlocks {}

impl RingBlocks {
    pub(crate) fn new(mapping: &Mapping, kind: RegionKind) -> Self {
        let region = mapping.region(kind);
        let length = region.length as usize;
        Self { first: mapping.at(region.offset as usize, length), count: length / BLOCK_LEN, next: 0 }
    }
}

impl BlockSource for RingBlocks {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        let index = self.next;
        self.next = (index + 1).checked_rem(self.count)?;
        // SAFETY: `index < count`, and that many blocks lie behind `first`.
        Some(unsafe { self.first.add(index * BLOCK_LEN) })
    }
}

/// Blocks out of the shared pool, for the thread at `place`.
#[derive(Debug)]
pub(crate) struct PoolBlocks {
    pub(crate) recorder: &'static Recorder,
    pub(crate) place: u32,
}

impl BlockSource for PoolBlocks {
    fn next_block(&mut self) -> Option<NonNull<u8>> {
        let (mapping, pool) = (&self.recorder.mapping, &self.recorder.pool);
        let ring = mapping.region(RegionKind::PoolRing).offset as usize;
        let offset = |number: u32| ring + number as usize * BLOCK_LEN;
        let number = pool.take(self.place, |number| mapping.store_u32(offset(number) + block::HEAD, 0))?;
        Some(mapping.at(offset(number), BLOCK_LEN))
    }
}

/// Records `event` on the calling thread with the time of now, and gives that time; `None` if nothing is
/// being recorded.
#[inline]
pub(crate) fn record(event: &Encoded) -> Option<u64> {
    let recorder = Recorder::active()?;
    crate::thread::with_writer(recorder, |thread| thread.put(event))
}
