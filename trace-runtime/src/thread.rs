//! The calling thread's place in the recording.

use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{Ordering, fence};

use trace_format::event::Encoded;
use trace_format::layout::{RegionKind, THREAD_LEN, THREAD_NAME_LEN, thread as entry};

use crate::clock;
use crate::recorder::{PoolBlocks, Recorder, RingBlocks};
use crate::writer::Writer;

/// A thread that has written at least one event.
#[derive(Debug)]
pub(crate) struct ThreadWriter {
    writer: Writer,
    blocks: Blocks,
    recorder: &'static Recorder,
    place: u32,
    /// Nobody has asked yet whether it has a better name than the kernel's.
    unnamed: bool,
}

#[derive(Debug)]
enum Blocks {
    Main(RingBlocks),
    Pool(PoolBlocks),
}

impl ThreadWriter {
    #[inline]
    pub(crate) fn put(&mut self, event: &Encoded) -> u64 {
        match &mut self.blocks {
            Blocks::Main(blocks) => self.writer.put(blocks, event),
            Blocks::Pool(blocks) => self.writer.put(blocks, event),
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.writer.uid()
    }

    /// Whether this is the first time that anybody asks for a name. Main has one already.
    #[inline]
    pub(crate) fn take_unnamed(&mut self) -> bool {
        std::mem::take(&mut self.unnamed)
    }

    pub(crate) fn is_main(&self) -> bool {
        matches!(self.blocks, Blocks::Main(_))
    }
}

/// What the thread-local holds. Without a destructor, so that a look at it stays two instructions; the
/// thread's end is noticed by [`END`].
struct Slot {
    writer: UnsafeCell<Option<ThreadWriter>>,
    state: Cell<SlotState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// No event yet.
    Fresh,
    /// Writing.
    Open,
    /// Inside of the writer, or joining: whatever is recorded meanwhile on this thread would come from
    /// our own callees and is left out.
    Busy,
    /// Ended, or without a place.
    Closed,
}

thread_local! {
    static SLOT: Slot = const { Slot { writer: UnsafeCell::new(None), state: Cell::new(SlotState::Fresh) } };
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
            // SAFETY: the state was Open, so nobody is inside of the writer, and from here on it is Closed.
            if let Some(mut thread) = unsafe { (*slot.writer.get()).take() } {
                thread.end();
            }
        });
    }
}

/// Calls `f` with the calling thread's writer, which joins the recording at its first event. `None` if
/// the thread has no place or is already in here.
#[inline]
pub(crate) fn with_writer<R>(
    recorder: &'static Recorder,
    f: impl FnOnce(&mut ThreadWriter) -> R,
) -> Option<R> {
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
        let result = unsafe { (*slot.writer.get()).as_mut() }.map(f);
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
    // SAFETY: the state is Busy: nobody else looks at the writer.
    unsafe { *slot.writer.get() = joined };
    slot.state.set(state);
}

impl ThreadWriter {
    fn join(recorder: &'static Recorder) -> Option<Self> {
        let tid = gettid();
        let Some(place) = recorder.pool.join() else {
            recorder.count_losses((0, 1));
            return None;
        };
        let uid = recorder.new_uid();
        let main = tid == recorder.main_tid;
        let blocks = if main {
            Blocks::Main(RingBlocks::new(&recorder.mapping, RegionKind::MainRing))
        } else {
            Blocks::Pool(PoolBlocks { recorder, place })
        };
        let thread = Self { writer: Writer::new(uid, tid), blocks, recorder, place, unnamed: !main };
        thread.write_entry(tid, if main { entry::FLAG_MAIN } else { 0 });
        let mut buffer = [0; 16];
        thread.rename(if main { "main" } else { native_name(&mut buffer) });
        Some(thread)
    }

    fn entry(&self) -> usize {
        self.recorder.mapping.region(RegionKind::Threads).offset as usize + self.place as usize * THREAD_LEN
    }

    fn write_entry(&self, tid: u32, flags: u32) {
        let (mapping, at) = (&self.recorder.mapping, self.entry());
        // The place may have been an ended thread's.
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

    /// Gives the thread a name, cut to what its entry holds.
    pub(crate) fn rename(&self, name: &str) {
        let (mapping, at) = (&self.recorder.mapping, self.entry());
        mapping.store_u32(at + entry::NAME_LEN, 0);
        fence(Ordering::Release);
        let length = mapping.store_text(at + entry::NAME, THREAD_NAME_LEN, name);
        fence(Ordering::Release);
        mapping.store_u32(at + entry::NAME_LEN, length as u32);
    }

    fn end(&mut self) {
        self.recorder.mapping.store_u64(self.entry() + entry::ENDED, clock::boottime());
        self.recorder.count_losses(self.writer.take_losses());
        self.recorder.pool.leave(self.place);
    }
}

/// The calling thread's kernel id.
pub(crate) fn gettid() -> u32 {
    nix::unistd::gettid().as_raw() as u32
}

/// The calling thread's name as the kernel knows it (15 bytes at most; man 2 prctl, PR_GET_NAME).
fn native_name(buffer: &mut [u8; 16]) -> &str {
    // SAFETY: PR_GET_NAME writes at most 16 bytes including the terminating zero.
    unsafe { libc::prctl(libc::PR_GET_NAME, buffer.as_mut_ptr()) };
    let length = buffer.iter().position(|b| *b == 0).unwrap_or(buffer.len());
    std::str::from_utf8(&buffer[..length]).unwrap_or("")
}
