//! The calling thread's writer and its entry in the recording's thread table.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use trace_format::event::{Concurrency, Encoded, Event, typed_id, types};
use trace_format::layout::{ClockMode, RegionKind, THREAD_LEN, THREAD_NAME_LEN, thread as entry};

use crate::gate::{Gate, LOST_END};
use crate::memory::stale::Stale;
use crate::memory::writer::Writer;
use crate::recorder::Recorder;
use crate::recorder::blocks::RingBlocks;
use crate::recorder::sources::PoolBlocks;
use crate::time::coarse::{self, TIME};
use crate::time::time_word::{CLOSED, Pace, READ_CLOCK};
use crate::time::{self, clock, fold};
use crate::writing::losses;
use crate::writing::overhead;
use crate::writing::seats::Seats;
use crate::writing::short_calls::ShortCalls;
use crate::writing::switches;

/// A thread's writer. `MethodBeat` keeps its address, for use on that thread.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadWriter {
    /// First, because Java reads it.
    writer: Writer,
    blocks: Blocks,
    recorder: &'static Recorder,
    /// Its entry of the thread table, or [`NO_PLACE`].
    place: u32,
    tid: u32,
    short_calls: ShortCalls,
    /// How many of the [`losses`] it has recorded.
    losses: u64,
}

#[derive(Debug)]
enum Blocks {
    Main(&'static RingBlocks),
    Pool(PoolBlocks),
    /// The thread has ended, and still calls.
    Ended,
}

/// No entry: there are more living threads than the thread table has entries.
const NO_PLACE: u32 = u32::MAX;

/// The seats of all threads.
static SEATS: Seats<ThreadWriter> = Seats::new();

impl ThreadWriter {
    /// Writes an event with the exact current time, and returns that time; `None` while recording is paused.
    #[inline]
    pub fn put(&mut self, event: &Encoded) -> Option<u64> {
        let last = self.writer.last();
        let (pace, now) = if TIME.word.load(Ordering::Relaxed) == READ_CLOCK {
            (Pace::Precise, time::now())
        } else {
            coarse::open(last)
        };
        self.put_at(event, pace, now)
    }

    /// Records a method's enter or exit. In coarse mode it has the time word's time.
    #[inline]
    pub(crate) fn method(&mut self, id: u32, begin: bool) {
        let on = switches::is_on(id);
        let precise = TIME.word.load(Ordering::Relaxed) == READ_CLOCK;
        if on && !(precise && self.writer.put_method(id, begin, time::now(), self.limit())) {
            self.method_slowly(id, begin);
        }
    }

    /// As `ThreadWriter::method`, for Java. Returns the address behind the word that Java writes next, 0 if
    /// Java may not write; `behind` is the last returned address.
    #[inline]
    pub fn method_for_java(&mut self, id: u32, begin: bool, behind: u64) -> u64 {
        let precise = TIME.word.load(Ordering::Relaxed) == READ_CLOCK;
        if precise && switches::is_on(id) && self.writer.put_method(id, begin, time::now(), self.limit()) {
            return 0;
        }
        self.method_and_grant(id, begin, behind)
    }

    #[inline(never)]
    fn method_and_grant(&mut self, id: u32, begin: bool, behind: u64) -> u64 {
        self.writer.release(behind);
        self.method(id, begin);
        self.grant()
    }

    /// Records a step of concurrent work for Java, whose payload is `words`, with the exact time: threads' steps are
    /// compared. Returns what [`ThreadWriter::method_for_java`] returns.
    #[inline]
    pub fn step_for_java(&mut self, words: [u64; 3], behind: u64) -> u64 {
        const FIRST: (bool, u32) = (false, typed_id(types::CONCURRENCY, 3));
        self.put_for_java(FIRST, &words, behind).unwrap_or_else(|| {
            self.put_and_grant(&Event::Concurrency(Concurrency::from_words(words)).encode(), behind)
        })
    }

    /// Records a typed event for Java, with the exact time.
    #[inline]
    pub(crate) fn typed_for_java(&mut self, event: &Encoded, behind: u64) -> u64 {
        self.put_for_java((event.begin, event.id), event.payload(), behind)
            .unwrap_or_else(|| self.put_and_grant(event, behind))
    }

    /// Writes where Java has the position, and leaves it to Java; `None` if Java has not.
    #[inline]
    fn put_for_java(&mut self, first: (bool, u32), payload: &[u64], behind: u64) -> Option<u64> {
        if behind == 0 || !coarse::is_coarse_and_open() {
            return None;
        }
        let (Pace::Coarse, now) = coarse::open(self.writer.last()) else { return None };
        self.writer.put_beside_java(first, payload, now, behind)
    }

    /// Takes the position back from Java: nothing is recorded any more.
    pub(crate) fn give_up(&mut self, behind: u64) -> u64 {
        self.writer.release(behind);
        0
    }

    #[cold]
    #[inline(never)]
    fn put_and_grant(&mut self, event: &Encoded, behind: u64) -> u64 {
        self.writer.release(behind);
        let put = crate::guard::disarm_on_panic(|| Recorder::active().and_then(|_| self.put(event)));
        if put.flatten().is_some() { self.grant() } else { 0 }
    }

    /// Lets Java write on, if the clock is coarse. Returns the address behind its next word, else 0.
    fn grant(&mut self) -> u64 {
        if self.writer.mode() == ClockMode::Precise || !coarse::is_coarse_and_open() {
            return 0;
        }
        // The last word of this thread has at most this time.
        let behind = self.writer.grant(TIME.word.load(Ordering::Relaxed).max(self.writer.last()));
        // In case the word, and then main's gate, is closed meanwhile: see there.
        if behind != 0 && !coarse::is_coarse_and_open() {
            self.writer.reclaim_own();
            return 0;
        }
        behind
    }

    /// Records that a call's end took `ns`, which `MethodBeat` has timed. Returns after how many calls it
    /// times the next one.
    pub fn sampled(&mut self, id: u32, ns: i64) -> u32 {
        let now = time::now();
        let calls = self.short_calls.add(id, now);
        overhead::sampled(id, ns, calls, &mut self.short_calls.window);
        if self.limit() != fold::NOTHING
            && Recorder::active().is_some()
            && let Some(folded) = self.short_calls.take(now)
        {
            self.put(&Event::Folded(folded).encode());
        }
        self.short_calls.next()
    }

    /// The slow path: a new block, a closed time word, coarse time, a clock that ran back.
    #[cold]
    #[inline(never)]
    fn method_slowly(&mut self, id: u32, begin: bool) {
        crate::guard::disarm_on_panic(|| {
            if Recorder::active().is_none() {
                return;
            }
            let event = if begin { Event::Enter(id) } else { Event::Exit(id) }.encode();
            let word = TIME.word.load(Ordering::Relaxed);
            if word == CLOSED || word == READ_CLOCK {
                self.put(&event);
            } else {
                self.put_at(&event, Pace::Coarse, word.max(self.writer.last()));
            }
        });
    }

    /// How long a call may take and still be left out, ns.
    #[inline]
    fn limit(&self) -> u64 {
        let limit = if matches!(self.blocks, Blocks::Main(_)) { &TIME.fold_main } else { &TIME.fold_others };
        limit.load(Ordering::Relaxed)
    }

    fn put_at(&mut self, event: &Encoded, pace: Pace, mut now: u64) -> Option<u64> {
        let mode = match pace {
            Pace::Off => return None,
            Pace::Coarse => ClockMode::Coarse,
            Pace::Precise => ClockMode::Precise,
        };
        if mode == ClockMode::Precise && self.writer.mode() == ClockMode::Coarse {
            // What Java wrote last on this thread was at most this.
            now = now.max(TIME.high.load(Ordering::Relaxed));
        }
        if self.place == NO_PLACE && !self.find_place() {
            self.recorder.count_losses(0, 1);
            return Some(now);
        }
        if self.writer.gate().is_asked_to(LOST_END) {
            self.record_losses(now, mode);
        }
        self.put_in_block(event, now, mode)
    }

    fn put_in_block(&mut self, event: &Encoded, now: u64, mode: ClockMode) -> Option<u64> {
        let limit = self.limit();
        match &mut self.blocks {
            Blocks::Main(blocks) => Some(self.writer.put(blocks, event, now, mode, limit)),
            Blocks::Pool(blocks) => Some(self.writer.put(blocks, event, now, mode, limit)),
            Blocks::Ended => {
                self.recorder.count_losses(0, 1);
                None
            }
        }
    }

    /// Records ends that were lost on any thread since this was last done.
    #[cold]
    #[inline(never)]
    fn record_losses(&mut self, now: u64, mode: ClockMode) {
        // A loss that comes after this asks again.
        self.writer.gate().answer(LOST_END);
        let seen = std::mem::replace(&mut self.losses, losses::count());
        for end in losses::since(seen) {
            self.put_in_block(&Event::LostEnd(end).encode(), now, mode);
        }
    }

    /// Its number in the recording.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.writer.uid()
    }

    /// Whether it is the recorded main thread.
    #[must_use]
    pub fn is_main(&self) -> bool {
        matches!(self.blocks, Blocks::Main(_))
    }

    /// The writer at an address that [`address_here`] returned, on the thread that it was returned to.
    ///
    /// # Safety
    /// `address` must be 0 or come from [`address_here`] on the calling thread, and no other reference to
    /// that thread's writer may be in use. It stays valid when the thread's destructors run: see `seats`.
    pub unsafe fn from_address<'a>(address: i64) -> Option<&'a mut Self> {
        // SAFETY: the caller's promise; a seat is the thread's until the kernel knows no such thread any
        // more.
        unsafe { (address as usize as *mut Self).as_mut() }
    }
}

/// Returns the address of the calling thread's writer, which joins the recording under `name` if it has not;
/// 0 if it has no entry.
pub fn address_here(recorder: &'static Recorder, name: Option<&str>) -> i64 {
    with_writer(recorder, |thread| {
        if let Some(name) = name {
            thread.rename(name);
        }
        std::ptr::from_mut(thread) as usize as i64
    })
    .unwrap_or(0)
}

/// The content of the thread-local. It has no destructor, so that reading it takes two instructions; [`END`]
/// notices the thread's end.
struct Slot {
    /// Null before the first event, and without an entry.
    writer: Cell<*mut ThreadWriter>,
    state: Cell<SlotState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// No event yet.
    Fresh,
    /// Writing.
    Open,
    /// In use by this thread, or joining: events that our own callees would record meanwhile are left out.
    Busy,
    /// Ended, or not recorded.
    Closed,
}

thread_local! {
    static SLOT: Slot = const { Slot { writer: Cell::new(std::ptr::null_mut()), state: Cell::new(SlotState::Fresh) } };
    static END: End = const { End };
}

/// Its destructor runs when the thread ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let _ = SLOT.try_with(|slot| {
            if slot.state.replace(SlotState::Closed) != SlotState::Open {
                return;
            }
            // Java may run in destructors that come later, and has the address: the writer stays where it is,
            // and writes nothing.
            // SAFETY: the state was Open, so the writer is not in use, and from here on it is Closed.
            if let Some(thread) = unsafe { slot.writer.get().as_mut() } {
                thread.end();
                SEATS.give_back(thread.tid, NonNull::from(thread));
            }
        });
    }
}

/// Calls `f` with the calling thread's writer, which joins the recording at its first event. `None` if the
/// thread has no entry or its writer is in use.
#[inline]
pub fn with_writer<R>(recorder: &'static Recorder, f: impl FnOnce(&mut ThreadWriter) -> R) -> Option<R> {
    // A thread whose thread-locals are gone is ending: it records no more.
    SLOT.try_with(|slot| {
        match slot.state.get() {
            SlotState::Open => {}
            SlotState::Fresh => join(recorder, slot),
            SlotState::Busy | SlotState::Closed => return None,
        }
        if slot.state.get() != SlotState::Open {
            return None;
        }
        slot.state.set(SlotState::Busy);
        // SAFETY: the state was Open and is Busy now: this is the only reference until it is Open again.
        let result = unsafe { slot.writer.get().as_mut() }.map(f);
        slot.state.set(SlotState::Open);
        result
    })
    .ok()
    .flatten()
}

#[cold]
#[inline(never)]
fn join(recorder: &'static Recorder, slot: &Slot) {
    slot.state.set(SlotState::Busy);
    let joined = ThreadWriter::join(recorder);
    let state = if joined.is_some() { SlotState::Open } else { SlotState::Closed };
    // Registers the destructor; where that is no longer possible the thread is ending.
    let _ = END.try_with(|_| ());
    slot.writer.set(joined.map_or(std::ptr::null_mut(), NonNull::as_ptr));
    slot.state.set(state);
}

impl ThreadWriter {
    fn join(recorder: &'static Recorder) -> Option<NonNull<Self>> {
        let tid = gettid();
        let main = tid == recorder.main_tid;
        if !main && recorder.is_main_only() {
            return None;
        }
        let uid = recorder.new_uid();
        let blocks = if main {
            Blocks::Main(&recorder.main_blocks)
        } else {
            Blocks::Pool(PoolBlocks { recorder, place: NO_PLACE, stale: Stale::NONE })
        };
        let mut seat = SEATS.take(|gate| {
            let gate: &Gate = if main { &coarse::MAIN_GATE } else { gate };
            Self {
                writer: Writer::new(uid, tid, gate),
                blocks,
                recorder,
                place: NO_PLACE,
                tid,
                short_calls: ShortCalls::new(tid),
                losses: losses::count(),
            }
        });
        // SAFETY: the seat is this thread's alone.
        unsafe { seat.as_mut() }.find_place();
        Some(seat)
    }

    /// Takes an entry of the thread table; returns whether one was free.
    #[cold]
    fn find_place(&mut self) -> bool {
        let main = match &self.blocks {
            Blocks::Ended => return false,
            Blocks::Main(_) => true,
            Blocks::Pool(_) => false,
        };
        let Some(place) = self.recorder.pool.join(self.uid(), self.writer.gate()) else { return false };
        self.place = place;
        if let Blocks::Pool(blocks) = &mut self.blocks {
            blocks.place = place;
        }
        self.write_entry(self.tid, if main { entry::FLAG_MAIN } else { 0 });
        let mut buffer = [0; 16];
        self.rename(if main { "main" } else { native_name(&mut buffer) });
        true
    }

    fn entry(&self) -> usize {
        self.recorder.memory.region(RegionKind::Threads).offset as usize + self.place as usize * THREAD_LEN
    }

    fn write_entry(&self, tid: u32, flags: u32) {
        let (mapping, at) = (self.recorder.table(), self.entry());
        // The entry may have been an ended thread's.
        mapping.store_u32(at + entry::UID, 0);
        fence(Ordering::Release);
        mapping.store_u32(at + entry::TID, tid);
        mapping.store_u64(at + entry::STARTED, clock::boottime());
        mapping.store_u64(at + entry::ENDED, 0);
        mapping.store_u32(at + entry::FLAGS, flags);
        mapping.store_u32(at + entry::NAME_LEN, 0);
        fence(Ordering::Release);
        mapping.store_u32(at + entry::UID, self.uid());
    }

    /// Names the thread; the name is cut to what its entry holds.
    pub(crate) fn rename(&self, name: &str) {
        if self.place == NO_PLACE {
            return;
        }
        let name = &(self.recorder.hooks.thread_name)(name);
        let (mapping, at) = (self.recorder.table(), self.entry());
        mapping.store_u32(at + entry::NAME_LEN, 0);
        fence(Ordering::Release);
        let length = mapping.store_text(at + entry::NAME, THREAD_NAME_LEN, name);
        fence(Ordering::Release);
        mapping.store_u32(at + entry::NAME_LEN, length as u32);
    }

    fn end(&mut self) {
        self.writer.end();
        self.blocks = Blocks::Ended;
        if self.place != NO_PLACE {
            self.recorder.table().store_u64(self.entry() + entry::ENDED, clock::boottime());
            self.recorder.pool.leave(self.place);
        }
    }
}

/// The calling thread's kernel id.
pub fn gettid() -> u32 {
    nix::unistd::gettid().as_raw() as u32
}

/// The calling thread's name as the kernel knows it (15 bytes at most; man 2 prctl, PR_GET_NAME).
fn native_name(buffer: &mut [u8; 16]) -> &str {
    // SAFETY: PR_GET_NAME writes at most 16 bytes including the terminating zero.
    unsafe { libc::prctl(libc::PR_GET_NAME, buffer.as_mut_ptr()) };
    let length = buffer.iter().position(|b| *b == 0).unwrap_or(buffer.len());
    std::str::from_utf8(&buffer[..length]).unwrap_or("")
}
