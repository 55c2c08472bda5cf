//! Encodes stacks as samples of a profiler: each frame and each stack is declared once.

use std::collections::HashMap;
use std::hash::Hash;

use super::interning::Interning;
use super::packets::{event, packet};
use crate::model::{Cut, NativeCode, StackFrame, StackRow, ThreadState};
use crate::native::MappedFile;
use crate::protobuf::write::Message;

/// Maximum number of distinct texts, frames and stacks per sequence. Beyond it a new sequence starts.
const MAX_KNOWN: usize = 1 << 17;

/// Fields of InternedData.
const FUNCTIONS: u32 = 5;
const FRAMES: u32 = 6;
const STACKS: u32 = 7;
const BUILD_IDS: u32 = 16;
const MAPPING_PATHS: u32 = 17;
const SOURCES: u32 = 18;
const MAPPINGS: u32 = 19;

/// The number of one of several things, which are numbered from 1, and whether it is new.
fn numbered<T: Eq + Hash>(numbers: &mut HashMap<T, u64>, thing: T) -> (u64, bool) {
    let next = numbers.len() as u64 + 1;
    let number = *numbers.entry(thing).or_insert(next);
    (number, number == next)
}

/// Texts or build ids of one kind, which are declared in `FIELD` as their bytes.
#[derive(Debug, Default)]
struct Declared<const FIELD: u32>(HashMap<Box<[u8]>, u64>);

impl<const FIELD: u32> Declared<FIELD> {
    fn number(&mut self, bytes: &[u8], declared: &mut Message) -> u64 {
        if let Some(known) = self.0.get(bytes) {
            return *known;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(bytes.into(), number);
        declared.message(FIELD, |m| m.uint(1, number).data(2, bytes));
        number
    }
}

/// A mapping: the number of its path, or a file as it was mapped.
#[derive(PartialEq, Eq, Hash, Debug)]
enum Mapping {
    Path(u64),
    File(MappedFile),
}

/// What one sequence has declared.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    functions: Declared<FUNCTIONS>,
    paths: Declared<MAPPING_PATHS>,
    sources: Declared<SOURCES>,
    build_ids: Declared<BUILD_IDS>,
    /// Those of names that are in no file, and of files.
    mappings: HashMap<Mapping, u64>,
    /// Function, mapping, source, line, and the address in the file.
    frames: HashMap<(u64, u64, u64, u32, u64), u64>,
    stacks: HashMap<Vec<u64>, u64>,
    /// For the arguments of states, and for what all packets declare.
    texts: Interning,
}

impl Stacks {
    /// Whether a new sequence is due.
    pub(crate) fn is_full(&self) -> bool {
        self.functions.0.len() + self.frames.len() + self.stacks.len() + self.mappings.len() > MAX_KNOWN
    }

    fn frame(&mut self, frame: &StackFrame<'_>) -> u64 {
        let function = self.functions.number(frame.function.as_bytes(), &mut self.texts.declared);
        let mapping = match &frame.native {
            Some(code) => self.file(code),
            None => {
                let path = self.paths.number(frame.mapping.as_bytes(), &mut self.texts.declared);
                let (mapping, new) = numbered(&mut self.mappings, Mapping::Path(path));
                if new {
                    // Each path is one mapping of any size: nothing is looked up in it.
                    let declared = &mut self.texts.declared;
                    declared.message(MAPPINGS, |m| m.uint(1, mapping).uint(5, 1 << 40).uint(7, path));
                }
                mapping
            }
        };
        let rel_pc = frame.native.map_or(0, |code| code.rel_pc);
        let (source, line) = frame.source.map_or((0, 0), |(file, line)| {
            (self.sources.number(file.as_bytes(), &mut self.texts.declared), line)
        });
        let (number, new) = numbered(&mut self.frames, (function, mapping, source, line, rel_pc));
        if new {
            self.texts.declared.message(FRAMES, |m| {
                // Frames are distinguished by their offset in the mapping, so it must be unique where it is not known.
                let rel_pc = frame.native.map_or(number, |code| code.rel_pc);
                m.uint(1, number).uint(2, function).uint(3, mapping).uint(4, rel_pc);
                if source > 0 { m.uint(5, source).uint(6, line.into()) } else { m }
            });
        }
        number
    }

    /// The number of the mapping of native code.
    fn file(&mut self, code: &NativeCode<'_>) -> u64 {
        let (mapping, new) = numbered(&mut self.mappings, Mapping::File(code.file.clone()));
        if !new {
            return mapping;
        }
        let MappedFile { start, end, offset, load_bias, build_id, path } = code.file;
        // The engine writes a slash before each part of a path.
        let part = path.strip_prefix('/').unwrap_or(path);
        let declared = &mut self.texts.declared;
        let path = self.paths.number(part.as_bytes(), declared);
        let id = if build_id.is_empty() { 0 } else { self.build_ids.number(build_id, declared) };
        declared.message(MAPPINGS, |m| {
            m.uint(1, mapping);
            if id > 0 {
                m.uint(2, id);
            }
            m.uint(4, *start).uint(5, *end).uint(6, *load_bias).uint(7, path).uint(8, *offset)
        });
        mapping
    }

    /// The number of a stack; declares new parts.
    fn stack(&mut self, frames: &[StackFrame<'_>]) -> u64 {
        let frames: Vec<u64> = frames.iter().map(|frame| self.frame(frame)).collect();
        let (stack, new) = numbered(&mut self.stacks, frames.clone());
        if new {
            self.texts.declared.message(STACKS, |m| {
                m.uint(1, stack);
                for frame in &frames {
                    m.uint(2, *frame);
                }
                m
            });
        }
        stack
    }

    /// The packet of a sample, without its sequence.
    pub(crate) fn sample(&mut self, m: &mut Message, row: &StackRow<'_>, pid: u32) {
        let stack = self.stack(row.frames);
        m.uint(packet::TIMESTAMP, row.at);
        self.texts.declare(m);
        m.message(packet::PERF_SAMPLE, |m| {
            // 2: user code.
            m.uint(2, pid.into()).uint(3, row.tid.into()).uint(4, stack).uint(5, 2).uint(6, 1);
            match row.cut {
                None => m,
                // StackUnwindError: memory invalid, unwind info.
                Some(cut) => m.uint(16, if cut == Cut::Memory { 2 } else { 3 }),
            }
        });
    }

    /// The packet of a state, without its sequence: an instant on `track` with this stack.
    pub(crate) fn state(
        &mut self,
        m: &mut Message,
        at: u64,
        track: u64,
        state: &ThreadState<'_>,
        frames: &[StackFrame<'_>],
    ) {
        let mut body = Message::default();
        body.uint(event::TYPE, event::INSTANT).uint(event::TRACK, track);
        self.texts.name(&mut body, state.name);
        for arg in state.args.iter().filter(|arg| arg.is_argument()) {
            body.message(event::ANNOTATIONS, |m| self.texts.argument(m, arg));
        }
        if !frames.is_empty() {
            let stack = self.stack(frames);
            body.uint(event::CALLSTACK_IID, stack);
        }
        m.uint(packet::TIMESTAMP, at);
        self.texts.declare(m);
        m.data(packet::TRACK_EVENT, body.bytes());
    }
}
