//! Inserts calls before and behind instructions, and where they throw.
//!
//! ```text
//!     f(object, 3)                       before
//!     invoke-virtual {v1}, wait          in a range of its own, if an exception is to be recorded
//!     move-result v0
//!     g(object, result)                  behind
//! s:  move-exception vN; h(3); throw vN  then the method's own handlers take it
//!
//!     monitor-enter v0
//!     g(v0)                              in a range of its own
//! r:  move-exception vN; monitor-exit v0; throw vN  then the handlers of the monitor-enter take it
//! ```
//!
//! The arguments go to new registers at the end, so nothing that the method or its handlers read changes. So unlike the calls for
//! the entry and the exits, these stand in the method's try ranges: what holds a lock must be covered by the handler that
//! releases it. What `f`, `g` and `h` throw reaches none of these handlers: see `lost.rs`.

use std::collections::BTreeMap;

use super::constructor::Prelude;
use super::{Kind, Shape, Untraceable, emit, grow, locks};
use crate::code::body::{Body, Catch, Range};
use crate::code::insert::{Cover, Insertion};
use crate::code::instruction::{Instruction, Label, Operand};
use crate::code::opcode::{MOVE_EXCEPTION, MOVE_RESULT, MOVE_RESULT_OBJECT, THROW};

/// An argument of an inserted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Argument {
    /// An `int`.
    Number(u32),
    /// What this register holds in front of the instruction: an object.
    Object(u16),
    /// What the instruction, which is a call, returns: an object if `true`, else an `int` or smaller. Only behind it.
    Result(bool),
    #[allow(missing_docs)]
    Null,
}

/// A call to insert.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaticCall {
    /// Method index.
    pub method: u32,
    /// At most five.
    pub arguments: Vec<Argument>,
}

/// Calls around an instruction, which is a call or takes or releases a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The position of the instruction.
    pub at: u32,
    #[allow(missing_docs)]
    pub before: Vec<StaticCall>,
    /// When the instruction has finished and its result was moved.
    pub behind: Vec<StaticCall>,
    /// When the instruction throws; without objects and results.
    pub thrown: Option<StaticCall>,
}

/// The new registers.
struct Scratch {
    /// For arguments; an exception is in the first.
    first: u16,
    /// Objects that the result overwrites, and a result that was dropped.
    saved: u16,
}

/// Arguments of a call.
const MAX_ARGUMENTS: u16 = 5;
/// New registers: an exception, the arguments, two objects and a result.
const SCRATCH: u16 = MAX_ARGUMENTS + 4;

impl Body {
    /// Inserts calls around instructions, which ascend. Sites before a constructor's call of another are left out, because there may be
    /// no enter yet. Returns how many sites were done.
    ///
    /// # Errors
    ///
    /// If there are too many registers. The body is then unfinished and must be dropped.
    pub(super) fn around_calls(&mut self, shape: &Shape, sites: &[Around]) -> Result<usize, Untraceable> {
        let prelude = Prelude::of(self, shape);
        let is_there = |at: u32| (at as usize) < self.instructions.len();
        let sites: Vec<&Around> =
            sites.iter().filter(|site| is_there(site.at) && !prelude.has(site.at)).collect();
        if sites.is_empty() {
            return Ok(0);
        }
        let first = self.registers;
        if u32::from(first) + u32::from(SCRATCH) > emit::MAX_CONST + 1 {
            return Err(Untraceable::Registers);
        }
        self.add_lines(shape);
        self.extend_to_results();
        let scratch = Scratch { first, saved: first + MAX_ARGUMENTS + 1 };
        let moves = grow::moves(self, shape, SCRATCH);
        let start: Vec<Instruction> = grow::code(&moves).collect();
        let behind_start = start.len() as u32;
        let mut insertions = vec![Insertion::at_start(start)];
        let held = if self.has_locks() { locks::held(self) } else { None };
        let mut done = Vec::with_capacity(sites.len());
        let mut releases = Vec::new();
        for site in sites {
            let held = held.as_deref().unwrap_or_default();
            let Some(cover) = self.cover_behind(site.at, held, &mut releases)? else { continue };
            let [before, mut behind] = self.around(site, &scratch);
            behind.cover = cover;
            insertions.extend([before, behind]);
            done.push(site);
        }
        let sites = done;
        let moved = self.insert(insertions);
        self.registers = first + SCRATCH;
        grow::rename_parameters(self, shape, &moves, behind_start);
        let throwing = sites.iter().filter_map(|site| Some((moved.moved(site.at), site.thrown.as_ref()?)));
        self.add_throws(&throwing.collect::<Vec<_>>(), &scratch);
        releases.into_iter().for_each(|release| self.add_release(release, scratch.first));
        let calls = sites.iter().flat_map(|site| site.before.iter().chain(&site.behind).chain(&site.thrown));
        let outs = calls.map(|call| call.arguments.len().min(usize::from(MAX_ARGUMENTS)) as u16).max();
        self.outs = self.outs.max(outs.unwrap_or(0));
        Ok(sites.len())
    }

    /// The code before and behind a site.
    fn around(&self, site: &Around, scratch: &Scratch) -> [Insertion; 2] {
        let next = self.instructions.get(site.at as usize + 1);
        let result = next.filter(|next| is_move_result(next.op));
        let mut before = Vec::new();
        let mut behind = Vec::new();
        let mut saved = scratch.saved;
        let mut kept: BTreeMap<u16, u16> = BTreeMap::new();
        let arguments = || site.behind.iter().flat_map(|call| &call.arguments);
        for argument in arguments() {
            let Argument::Object(register) = *argument else { continue };
            let is_overwritten = result.is_some_and(|result| result.writes(u32::from(register)));
            if is_overwritten && !kept.contains_key(&register) && saved < scratch.saved + 2 {
                before.push(emit::move_to(saved, register, Kind::Object));
                kept.insert(register, saved);
                saved += 1;
            }
        }
        let dropped = scratch.saved + 2;
        let wanted = arguments().find_map(|argument| match argument {
            Argument::Result(is_object) => Some(*is_object),
            _ => None,
        });
        if let (None, Some(is_object)) = (result, wanted) {
            let op = if is_object { MOVE_RESULT_OBJECT } else { MOVE_RESULT };
            behind.push(Instruction::new(op, &[dropped], Operand::None));
        }
        let result_in = result.map_or(dropped, |result| result.registers[0]);
        site.before
            .iter()
            .for_each(|call| put(call, scratch.first + 1, &BTreeMap::new(), dropped, &mut before));
        site.behind.iter().for_each(|call| put(call, scratch.first + 1, &kept, result_in, &mut behind));
        let position = site.at + if result.is_some() { 2 } else { 1 };
        [
            Insertion::new(site.at, before, false, Cover::Next),
            Insertion::new(position, behind, true, Cover::Next),
        ]
    }

    /// A range that ends between a call and the move of its result gets the move too, which cannot throw.
    fn extend_to_results(&mut self) {
        let starts: Vec<u32> = self.tries.iter().map(|range| range.start).skip(1).chain([u32::MAX]).collect();
        for (range, next) in self.tries.iter_mut().zip(starts) {
            let op = self.instructions.get(range.end as usize).map(|instruction| instruction.op);
            if op.is_some_and(is_move_result) && range.end < next {
                range.end += 1;
            }
        }
    }

    /// Gives instructions, at ascending positions, stubs for what they throw.
    fn add_throws(&mut self, sites: &[(u32, &StaticCall)], scratch: &Scratch) {
        // Sites with the same handlers and call share a stub.
        let mut stubs: BTreeMap<(Option<usize>, &StaticCall), (Label, usize)> = BTreeMap::new();
        self.change_handlers(sites, |body, call, handler| {
            let (_, own) = *stubs.entry((handler, call)).or_insert_with(|| {
                let label = body.add_label(u32::MAX);
                (label, body.add_handler(Catch::all(label)))
            });
            own
        });
        for ((handler, call), (label, _)) in stubs {
            let at = self.place_at_end(label);
            self.instructions.push(Instruction::new(MOVE_EXCEPTION, &[scratch.first], Operand::None));
            put(call, scratch.first + 1, &BTreeMap::new(), scratch.first, &mut self.instructions);
            self.instructions.push(Instruction::new(THROW, &[scratch.first], Operand::None));
            if let Some(handler) = handler {
                let end = self.instructions.len() as u32;
                self.tries.push(Range { start: at + 1, end, handler });
            }
        }
    }
}

pub(super) fn is_move_result(op: u8) -> bool {
    (MOVE_RESULT..=MOVE_RESULT_OBJECT).contains(&op)
}

/// Appends a call, with its arguments in registers from `first` on. `moved` says where objects are that are no longer in their
/// registers.
fn put(call: &StaticCall, first: u16, moved: &BTreeMap<u16, u16>, result: u16, out: &mut Vec<Instruction>) {
    let mut count = 0;
    for (register, argument) in (first..first + MAX_ARGUMENTS).zip(&call.arguments) {
        out.push(match *argument {
            Argument::Number(number) => emit::load(register, number),
            Argument::Null => emit::load(register, 0),
            Argument::Object(object) => {
                emit::move_to(register, moved.get(&object).copied().unwrap_or(object), Kind::Object)
            }
            Argument::Result(true) => emit::move_to(register, result, Kind::Object),
            Argument::Result(false) => emit::move_to(register, result, Kind::Plain),
        });
        count += 1;
    }
    out.push(emit::invoke(call.method, first, count));
}
