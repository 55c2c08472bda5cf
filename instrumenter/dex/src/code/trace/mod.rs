//! Makes a method record when it is entered and left.
//!
//! ```text
//!     const vN, id; invoke-static {vN} i        once, where no register of the method is in use yet
//!     moves of the parameters                   only if the method had to get more registers
//! a:  the old code, each return a goto          ranges without a catch-all handler get the one at h
//! s:  const vN, id; invoke-static {vN} o; return vX        a stub for each different return
//! h:  move-exception v1; const v0, id; invoke-static {v0} o; throw v1
//! ```
//!
//! The old code keeps its registers: a method that needs more gets them above its parameters' old places, and the parameters, which
//! arrive in the last registers, are moved down at the start. So no operand becomes too large for its instruction.
//!
//! The calls of `i` and `o` stand in no try range. A handler of the method could read a register that they need, and Android inlines
//! no method with a handler. They do not throw where it would matter: `i` runs before the method's own code and makes sure
//! that `o` has stack. Every other inserted call has a handler of its own, which `lost.rs` describes.

mod around;
mod constructor;
mod cover;
mod emit;
mod ends;
mod exits;
mod grow;
mod locks;
mod lost;
mod start;

#[cfg(test)]
mod tests;

pub use self::around::{Argument, Around, StaticCall};
use self::constructor::Prelude;
use self::ends::Ends;
pub use self::ends::{Task, TaskCode};
use super::body::Body;
use super::debug::Debug;
use super::instruction::Instruction;
use super::opcode::{MONITOR_ENTER, THROW};
use crate::error::Limit;

/// Android does not compile longer methods, in units: a method that became one would be interpreted for ever.
const MAX_UNITS: u32 = 10_000;

/// What a value is to instructions that move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An `int`, `float` or smaller.
    Plain,
    /// A `long` or `double`: two registers.
    Wide,
    /// A class or an array.
    Object,
}

/// A parameter of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    #[allow(missing_docs)]
    pub kind: Kind,
    /// Type index.
    pub declared: u32,
}

/// What an edit needs to know of a method besides its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Without the receiver.
    pub parameters: Vec<Parameter>,
    #[allow(missing_docs)]
    pub is_static: bool,
    /// Whether it is an `<init>`.
    pub is_constructor: bool,
    /// The receiver's type and the string `this`, if the dex has that string: for debug information.
    pub this: Option<(u32, u32)>,
}

impl Shape {
    /// The kinds of all values that arrive in registers.
    fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        let receiver = (!self.is_static).then_some(Kind::Object);
        receiver.into_iter().chain(self.parameters.iter().map(|parameter| parameter.kind))
    }
}

/// The methods that are called, by method index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// `i(I)V`.
    pub enter: u32,
    /// `o(I)V`.
    pub exit: u32,
}

/// What a method records besides its enter and exits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The instructions to insert calls around, ascending.
    pub sites: Vec<Around>,
    /// The task whose code the method is. A constructor is no task's code.
    pub task: Option<Task>,
    /// Type indices of the errors that these calls may throw, which are caught and dropped: see
    /// [`find_or_add_errors`](crate::Dex::find_or_add_errors).
    pub errors: [u32; 2],
}

/// Which exits of a method call `o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exits {
    /// Returns and exceptions: every `i` has exactly one `o`.
    #[default]
    All,
    /// Each return and each `throw`, and no handler: an exception of a called method leaves the `i` without an `o`, and a throw
    /// that the method itself catches calls one `o` too many.
    Normal,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// How many registers the method got.
    pub grown: u16,
    /// Whether it is a constructor that is entered behind its call of another constructor.
    pub after_super: bool,
    /// True if it got a handler for its exits.
    pub has_handler: bool,
    /// The number of [`Waits::sites`] that have their calls. A site is left out if it holds a lock, and the handler that releases
    /// the lock needs what the result overwrites; or if it stands before a constructor's call of another.
    pub sites: usize,
    /// Its length in units, before and afterwards.
    pub units: (u32, u32),
}

/// Why a method is not traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Untraceable {
    /// It would be longer than 10,000 units, which Android does not compile.
    #[error("with the calls it would have more than 10,000 code units, which Android does not compile")]
    Huge,
    /// An instruction holds a lock and has no catch-all handler, or the locks depend on the path.
    #[error("an instruction holds a lock outside of a handler for everything")]
    Locks,
    /// Its catch handlers would take more than 64 KiB.
    #[error("its catch handlers would take more than 64 KiB")]
    Handlers,
    /// The calls have no register.
    #[error("all its registers are in use")]
    Registers,
    /// The parameters do not fill the registers that the code has for them.
    #[error("its parameters differ from the registers that the code has for them")]
    Parameters,
}

impl From<Limit> for Untraceable {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Handlers => Self::Handlers,
            Limit::Registers => Self::Registers,
            _ => Self::Huge,
        }
    }
}

impl Body {
    /// Inserts calls of `i` and `o` with the number `id`, and those of `waits`.
    ///
    /// Constructors are entered behind their call of another constructor, or at the start if there is no such call. Code that
    /// methods share needs a body for each.
    ///
    /// # Errors
    ///
    /// If the method must stay as it is. The body is then unfinished and must be dropped.
    pub fn trace(
        &mut self,
        shape: &Shape,
        id: u32,
        calls: Calls,
        exits: Exits,
        waits: Option<&Waits>,
    ) -> Result<Traced, Untraceable> {
        let task = waits.and_then(|waits| waits.task.as_ref());
        let ends = Ends { id, calls, task: task.filter(|_| !shape.is_constructor) };
        let words = shape.kinds().map(|kind| if kind == Kind::Wide { 2 } else { 1 }).sum::<usize>();
        if words != usize::from(self.ins) {
            return Err(Untraceable::Parameters);
        }
        exits::check_handlers(self)?;
        let before = self.compilable_length()?;
        let sites = waits.map_or(Ok(0), |waits| self.around_calls(shape, &waits.sites))?;
        exits::check_handlers(self)?;
        self.add_lines(shape);
        let prelude = Prelude::of(self, shape);
        let handler = match exits {
            Exits::All => exits::cover(self, &prelude)?,
            Exits::Normal => None,
        };
        let grown = start::insert(self, shape, &ends, exits, &prelude, handler.is_some())?;
        exits::append(self, &ends, handler);
        if let Some(waits) = waits {
            self.lose_events(waits.errors, calls)?;
        }
        self.drop_unused_handlers();
        self.outs = self.outs.max(ends.width());
        let after = self.compilable_length()?;
        exits::check_handlers(self)?;
        Ok(Traced {
            grown,
            after_super: !prelude.bodies.is_empty(),
            has_handler: handler.is_some(),
            sites,
            units: (before, after),
        })
    }

    /// Returns the length in units, unless Android would not compile that.
    fn compilable_length(&self) -> Result<u32, Untraceable> {
        Some(self.length()?).filter(|units| *units <= MAX_UNITS).ok_or(Untraceable::Huge)
    }

    /// Makes debug information for a method without any, in which lines are old addresses.
    fn add_lines(&mut self, shape: &Shape) {
        if self.debug.is_none() {
            let parameters = vec![None; shape.parameters.len()];
            self.debug = Some(Debug { parameters, ..self.addresses_as_lines() });
        }
    }

    fn has_locks(&self) -> bool {
        self.instructions.iter().any(|instruction| instruction.op == MONITOR_ENTER)
    }

    /// The positions of `throw`s that record an exit of their own.
    fn throws(&self, prelude: &Prelude) -> Vec<u32> {
        // Inserted ones go on with an exception that was caught.
        let own = |instruction: &Instruction| instruction.op == THROW && instruction.pc != Instruction::NEW;
        let all = (0..).zip(&self.instructions);
        let throws = all.filter(|(position, instruction)| own(instruction) && !prelude.has(*position));
        throws.map(|(position, _)| position).collect()
    }
}
