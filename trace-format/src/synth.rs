//! Builds small recordings for tests and for demonstrations on systems without the recorder.
//!
//! It is written from the drawing in [`crate::layout`], with offsets in plain numbers, and shares no code
//! with the reader or the recorder: a slip in those shows as a disagreement with this.

use core::ops::Range;

use crate::MapId;
use crate::event::{Clocks, Event, OpenCalls, Stage, TextId};
use crate::ids;
use crate::native_slot;
use crate::section::{self, SectionKind};
use crate::sections::native_stack::NativeStack;

const BLOCK: usize = 8192;
const WORDS: usize = 1016;

/// A recording under construction. Times are CLOCK_BOOTTIME ns.
#[derive(Debug, Default)]
#[must_use]
pub struct RecordingBuilder {
    pid: u32,
    name: String,
    map_id: u64,
    start: Clocks,
    last_alive: u64,
    state: u32,
    texts: Vec<String>,
    service: ThreadBuilder,
    threads: Vec<ThreadBuilder>,
    sections: Vec<u8>,
    native_slots: Vec<u8>,
    version: (u16, u16),
    /// The number of blocks by which the main ring is rotated, as if it had wrapped.
    pub main_ring_blocks: usize,
    process_uid: u32,
    dropped: u64,
}

/// One thread's events under construction.
#[derive(Debug, Default)]
pub struct ThreadBuilder {
    uid: u32,
    tid: u32,
    name: String,
    main: bool,
    ended: u64,
    coarse: bool,
    /// Blocks that were written and overwritten before the first one here.
    skip_blocks: u64,
    blocks: Vec<(u64, Vec<u64>)>,
    /// Blocks that were written and are not in the file.
    lost: Vec<Range<usize>>,
    /// How many open calls are recorded at the start of each block; `None` to record none.
    checkpoints: Option<usize>,
    /// The method calls that are open, outermost first.
    open: Vec<u32>,
    last: u64,
}

impl ThreadBuilder {
    /// Writes an event at `time`.
    ///
    /// # Panics
    /// If `time` runs back.
    pub fn event(&mut self, time: u64, event: Event) -> &mut Self {
        assert!(time >= self.last, "time runs back from {} to {time}", self.last);
        if !self.blocks.is_empty() && time - self.last > 1 << 42 {
            self.put(time, Event::Time(time));
        }
        self.put(time, event);
        match event {
            Event::Enter(id) if ids::is_method(id) => self.open.push(id),
            Event::Exit(id) => {
                let own = self.open.iter().rposition(|open| *open == id);
                self.open.truncate(own.unwrap_or(self.open.len()));
            }
            _ => {}
        }
        self
    }

    fn put(&mut self, time: u64, event: Event) {
        let encoded = event.encode();
        let needed = 1 + encoded.payload().len();
        if self.blocks.last().is_none_or(|(_, words)| words.len() + needed > WORDS) {
            self.new_block(time);
        }
        let (t0, words) = self.blocks.last_mut().expect("just pushed");
        let since = (time - *t0) & ((1 << 43) - 1);
        words.push((u64::from(encoded.begin) << 63) | (u64::from(encoded.id) << 43) | since);
        words.extend_from_slice(encoded.payload());
        self.last = time;
    }

    /// Enters method `id`.
    pub fn enter(&mut self, time: u64, id: u32) -> &mut Self {
        self.event(time, Event::Enter(id))
    }

    /// Leaves method `id`.
    pub fn exit(&mut self, time: u64, id: u32) -> &mut Self {
        self.event(time, Event::Exit(id))
    }

    /// A frame stage from `begin` to `end`.
    pub fn stage(&mut self, stage: Stage, begin: u64, end: u64) -> &mut Self {
        self.event(begin, Event::StageBegin(stage)).event(end, Event::StageEnd(stage))
    }

    /// Says that `blocks` full blocks of this thread were overwritten before the first event here.
    pub fn overwritten(&mut self, blocks: u64) -> &mut Self {
        self.skip_blocks = blocks;
        self
    }

    /// Says that the times of all blocks are coarse.
    pub fn coarse(&mut self) -> &mut Self {
        self.coarse = true;
        self
    }

    /// Opens a new block.
    pub fn new_block(&mut self, time: u64) -> &mut Self {
        self.blocks.push((time, Vec::new()));
        let Some(named) = self.checkpoints.filter(|_| self.blocks.len() > 1) else { return self };
        let ids: Vec<u32> = self.open.iter().copied().take(named.min(1_000)).collect();
        let depth = self.open.len() as u32;
        // One event at least says how many calls are open.
        for first in (0..ids.len().max(1)).step_by(OpenCalls::MAX_IDS) {
            self.put(time, Event::OpenCalls(OpenCalls::new(depth, first as u32, &ids[first..])));
        }
        self
    }

    /// Blocks from here on, but not the first of all, begin with the calls that are open: how many there are, and the ids of the
    /// `named` outermost.
    pub fn checkpoints(&mut self, named: usize) -> &mut Self {
        self.checkpoints = Some(named);
        self
    }

    /// How many blocks there are.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Leaves these blocks out of the file, as if newer ones had taken their place.
    pub fn lose(&mut self, blocks: Range<usize>) -> &mut Self {
        self.lost.push(blocks);
        self
    }

    /// The thread ended at `time`.
    pub fn ended(&mut self, time: u64) -> &mut Self {
        self.ended = time;
        self
    }

    fn encode_blocks(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut base = self.skip_blocks * WORDS as u64;
        for (i, (t0, words)) in self.blocks.iter().enumerate() {
            if self.lost.iter().any(|lost| lost.contains(&i)) {
                base += words.len() as u64;
                continue;
            }
            let mut block = vec![0; BLOCK];
            block[0..4].copy_from_slice(&(words.len() as u32).to_le_bytes());
            block[4..8].copy_from_slice(&self.uid.to_le_bytes());
            block[8..12].copy_from_slice(&self.tid.to_le_bytes());
            block[12] = u8::from(self.coarse);
            block[16..24].copy_from_slice(&(self.skip_blocks + i as u64).to_le_bytes());
            block[24..32].copy_from_slice(&t0.to_le_bytes());
            block[32..40].copy_from_slice(&base.to_le_bytes());
            for (slot, word) in block[64..].chunks_exact_mut(8).zip(words) {
                slot.copy_from_slice(&word.to_le_bytes());
            }
            base += words.len() as u64;
            out.extend_from_slice(&block);
        }
        out
    }
}

impl RecordingBuilder {
    /// A recording of process `pid`.
    pub fn new(pid: u32, name: &str) -> Self {
        Self {
            pid,
            name: name.to_owned(),
            start: Clocks { boottime: 1_000, monotonic: 900, realtime: 1_700_000_000_000_000_000 },
            version: (1, 0),
            ..Self::default()
        }
    }

    /// Sets the process's uid.
    pub fn uid(mut self, uid: u32) -> Self {
        self.process_uid = uid;
        self
    }

    /// Sets the method map's identity.
    pub fn map_id(mut self, id: MapId) -> Self {
        self.map_id = id.0;
        self
    }

    /// Sets the clocks of the header.
    pub fn start(mut self, clocks: Clocks) -> Self {
        self.start = clocks;
        self
    }

    /// Sets the last moment at which the process was seen alive.
    pub fn last_alive(mut self, time: u64) -> Self {
        self.last_alive = time;
        self
    }

    /// Says that so many events found no room.
    pub fn dropped(mut self, events: u64) -> Self {
        self.dropped = events;
        self
    }

    /// Sets the state word: 0 open, 1 ended, 2 disarmed.
    pub fn state(mut self, state: u32) -> Self {
        self.state = state;
        self
    }

    /// Sets the format version, for tests of the version rule.
    pub fn version(mut self, major: u16, minor: u16) -> Self {
        self.version = (major, minor);
        self
    }

    /// Interns `text`.
    pub fn text(&mut self, text: &str) -> TextId {
        if let Some(i) = self.texts.iter().position(|t| t == text) {
            return TextId(i as u32 + 1);
        }
        self.texts.push(text.to_owned());
        TextId(self.texts.len() as u32)
    }

    /// Adds the recorded main thread (its tid is the pid).
    pub fn main(self, name: &str, fill: impl FnOnce(&mut ThreadBuilder)) -> Self {
        let pid = self.pid;
        self.add_thread(name, pid, true, fill)
    }

    /// Adds another thread.
    pub fn thread(self, name: &str, tid: u32, fill: impl FnOnce(&mut ThreadBuilder)) -> Self {
        self.add_thread(name, tid, false, fill)
    }

    fn add_thread(mut self, name: &str, tid: u32, main: bool, fill: impl FnOnce(&mut ThreadBuilder)) -> Self {
        let uid = self.threads.len() as u32 + 1;
        let mut thread = ThreadBuilder { uid, tid, name: name.to_owned(), main, ..ThreadBuilder::default() };
        fill(&mut thread);
        self.threads.push(thread);
        self
    }

    /// Writes to the service ring.
    pub fn service(mut self, fill: impl FnOnce(&mut ThreadBuilder)) -> Self {
        fill(&mut self.service);
        self
    }

    /// Appends a section.
    pub fn section(mut self, kind: SectionKind, payload: &[u8]) -> Self {
        self.sections.extend_from_slice(&section::encode(kind, 1, payload));
        self
    }

    /// Adds a slot for native stacks in this state, with its bytes behind the state ([`crate::native_slot`]).
    pub fn native_slot(mut self, state: u32, capture: &NativeStack) -> Self {
        let payload = capture.encode();
        let mut slot = vec![0; native_slot::LEN];
        slot[..native_slot::at::REGISTERS + 8 * native_slot::REGISTERS]
            .copy_from_slice(&payload[..native_slot::at::REGISTERS + 8 * native_slot::REGISTERS]);
        slot[native_slot::at::STATE..native_slot::at::STATE + 4].copy_from_slice(&state.to_le_bytes());
        slot[native_slot::STACK..native_slot::STACK + capture.stack.len()].copy_from_slice(&capture.stack);
        self.native_slots.extend_from_slice(&slot);
        self
    }

    /// The file.
    #[must_use]
    pub fn build(self) -> Vec<u8> {
        let mut main = Vec::new();
        let mut pool = Vec::new();
        for thread in &self.threads {
            let ring = if thread.main { &mut main } else { &mut pool };
            ring.extend_from_slice(&thread.encode_blocks());
        }
        let rotate = self.main_ring_blocks.checked_rem(main.len() / BLOCK).unwrap_or(0);
        main.rotate_right(rotate * BLOCK);
        let mut regions = vec![
            (1_u32, main),
            (2, pool),
            (3, self.service.encode_blocks()),
            (4, self.thread_table()),
            (5, self.string_table()),
        ];
        if !self.native_slots.is_empty() {
            regions.push((6, self.native_slots.clone()));
        }

        let mut out = vec![0; 4096];
        for (i, (kind, bytes)) in regions.iter().enumerate() {
            let entry = 128 + i * 32;
            out[entry..entry + 4].copy_from_slice(&kind.to_le_bytes());
            let offset = out.len() as u64;
            out[entry + 8..entry + 16].copy_from_slice(&offset.to_le_bytes());
            out[entry + 16..entry + 24].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
            out.resize(out.len().div_ceil(4096) * 4096, 0);
        }
        out.resize(out.len().div_ceil(16384) * 16384, 0);
        let fixed = out.len() as u64;

        out[0..8].copy_from_slice(b"ANRSCOPE");
        out[8..10].copy_from_slice(&self.version.0.to_le_bytes());
        out[10..12].copy_from_slice(&self.version.1.to_le_bytes());
        out[12..16].copy_from_slice(&4096_u32.to_le_bytes());
        out[16..20].copy_from_slice(&8192_u32.to_le_bytes());
        out[20..24].copy_from_slice(&(regions.len() as u32).to_le_bytes());
        out[24..32].copy_from_slice(&fixed.to_le_bytes());
        out[32..36].copy_from_slice(&self.pid.to_le_bytes());
        let main_tid = self.threads.iter().find(|t| t.main).map_or(0, |t| t.tid);
        out[36..40].copy_from_slice(&main_tid.to_le_bytes());
        out[44..48].copy_from_slice(&self.process_uid.to_le_bytes());
        out[48..56].copy_from_slice(&self.map_id.to_le_bytes());
        out[56..64].copy_from_slice(&self.start.boottime.to_le_bytes());
        out[64..72].copy_from_slice(&self.start.monotonic.to_le_bytes());
        out[72..80].copy_from_slice(&self.start.realtime.to_le_bytes());
        out[80..88].copy_from_slice(&self.last_alive.to_le_bytes());
        out[88..92].copy_from_slice(&self.state.to_le_bytes());
        out[96..104].copy_from_slice(&self.dropped.to_le_bytes());
        let name = &self.name.as_bytes()[..self.name.len().min(256)];
        out[768..768 + name.len()].copy_from_slice(name);

        out.extend_from_slice(&self.sections);
        out
    }

    fn thread_table(&self) -> Vec<u8> {
        let mut table = Vec::new();
        for thread in &self.threads {
            let mut entry = [0; 64];
            entry[0..4].copy_from_slice(&thread.uid.to_le_bytes());
            entry[4..8].copy_from_slice(&thread.tid.to_le_bytes());
            let started = thread.blocks.first().map_or(0, |(t0, _)| *t0);
            entry[8..16].copy_from_slice(&started.to_le_bytes());
            entry[16..24].copy_from_slice(&thread.ended.to_le_bytes());
            entry[24..28].copy_from_slice(&u32::from(thread.main).to_le_bytes());
            let name = &thread.name.as_bytes()[..thread.name.len().min(32)];
            entry[28..32].copy_from_slice(&(name.len() as u32).to_le_bytes());
            entry[32..32 + name.len()].copy_from_slice(name);
            table.extend_from_slice(&entry);
        }
        table
    }

    fn string_table(&self) -> Vec<u8> {
        let mut entries = Vec::new();
        for (i, text) in self.texts.iter().enumerate() {
            entries.extend_from_slice(&(i as u32 + 1).to_le_bytes());
            entries.extend_from_slice(&(text.len() as u32).to_le_bytes());
            entries.extend_from_slice(text.as_bytes());
            entries.resize(entries.len().div_ceil(4) * 4, 0);
        }
        let mut table = Vec::new();
        table.extend_from_slice(&(entries.len() as u32).to_le_bytes());
        table.extend_from_slice(&(self.texts.len() as u32).to_le_bytes());
        table.extend_from_slice(&[0; 8]);
        table.extend_from_slice(&entries);
        table
    }
}
