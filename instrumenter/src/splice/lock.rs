//! Synchronized methods, which acquire a monitor before their first instruction.
//!
//! To measure the wait for that monitor, the flag is removed and the body is put between `monitorenter` and
//! `monitorexit`, in the form that compilers use for a synchronized block. An additional local variable holds the
//! lock.
//!
//! ```text
//!     i(id); lock = this or the class; wb(1, lock); monitorenter(lock); we(1, lock)
//!     body
//!     monitorexit(lock); wr(lock); o(id); xRETURN
//! e:  monitorexit(lock); wr(lock); o(id); athrow           <- catches everything from after monitorenter on
//! ```
//!
//! The flag matters only for the serial version that the JDK and Android compute for a class that declares none. So
//! where the class may be `java.io.Serializable` and the method is not private, the flag stays. Then the duration of the wait
//! cannot be measured, but a wait of zero length still records the owner.
//!
//! Where an agent times the wait ([`Monitors::Agent`]), the flag stays, and the code after `i(id)` is `wt(true, lock)`, which
//! notes the owner.

use trace_format::event::WaitKind;

use super::calls::{StepCalls, WaitCalls};
use super::emit::with_index;
use super::flow::{State, Value};
use super::guard::{Guard, GuardPool, Lost};
use super::local;
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{ALOAD, ALOAD_0, ASTORE, LDC_W, MONITORENTER, MONITOREXIT};
use crate::error::SkipReason;
use crate::waits::call_kind::CallKind;
use crate::waits::serializable::may_be_serializable;
use crate::waits::{Monitors, Waits};

/// How the lock of a synchronized method is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    /// The additional local variable.
    pub(crate) local: u16,
    /// Constant pool index of `java/lang/Object`, its type in frames.
    pub(crate) object: u16,
    /// Whether a `monitorenter` replaces the method's flag.
    pub(crate) rewritten: bool,
    calls: WaitCalls,
    /// The calls with `wt`, if an agent times the wait.
    taken: Option<StepCalls>,
    /// For a static method, the index of its class.
    class: Option<u16>,
}

/// Returns whether removing the flag of `method` has no visible effect.
pub(super) fn flag_is_free(class: &ClassFile<'_>, method: &Method<'_>, waits: Waits<'_>) -> bool {
    if waits.monitors == Monitors::Agent {
        return false;
    }
    // The version of an enum or a record is 0.
    let has_version = class.has_serial_version
        || class.access & access::ENUM != 0
        || class.super_class() == Some(b"java/lang/Record");
    if method.access & access::PRIVATE != 0 || has_version {
        return true;
    }
    let direct: Option<Vec<&str>> =
        class.supertypes.iter().map(|name| core::str::from_utf8(name).ok()).collect();
    direct.is_some_and(|direct| !may_be_serializable(waits.hierarchy, &direct))
}

impl Lock {
    pub(crate) fn new(
        class: &ClassFile<'_>,
        method: &Method<'_>,
        local: u16,
        waits: Waits<'_>,
        (calls, taken): (WaitCalls, Option<StepCalls>),
        pool: &mut Appended,
    ) -> Result<Self, SkipReason> {
        Ok(Self {
            local,
            object: pool.class_named(b"java/lang/Object")?,
            rewritten: flag_is_free(class, method, waits),
            calls,
            taken,
            class: (method.access & access::STATIC != 0).then_some(class.this_class),
        })
    }

    fn local(&self, opcode: u8, out: &mut Vec<u8>) {
        local::access(opcode, self.local, out);
    }

    /// Adds the variable to a state of the method's own.
    pub(crate) fn add_to(&self, state: &mut State<'_>) {
        state.set_local(self.local, Value::Class(self.object));
    }

    /// Appends the code after the enter call, at whose start the method is in the state `first`. Returns its guards, and how
    /// many bytes at its end run with the lock.
    pub(crate) fn take(
        &self,
        guard: GuardPool,
        first: &State<'_>,
        pool: &mut Appended,
        out: &mut Vec<u8>,
    ) -> Result<(Vec<Guard>, u32), SkipReason> {
        match self.class {
            Some(class) => with_index(LDC_W, class, out),
            None => out.push(ALOAD_0),
        }
        self.local(ASTORE, out);
        let mut state = first.clone();
        self.add_to(&mut state);
        let locals = state.frame_locals(pool)?;
        if let Some(calls) = self.taken {
            let taken = |out: &mut Vec<u8>| {
                calls.taken(|out| self.local(ALOAD, out), out);
                Ok(())
            };
            return Ok((vec![guard.guard(locals, Lost::Nothing, out, taken)?], 0));
        }
        let kind = CallKind::Wait(WaitKind::Monitor);
        let begin = |out: &mut Vec<u8>| {
            self.calls.begin(kind.number().into(), |out| self.local(ALOAD, out), out);
            Ok(())
        };
        let end = |out: &mut Vec<u8>| {
            self.calls.end(kind.number(), |out| self.local(ALOAD, out), out);
            Ok(())
        };
        if !self.rewritten {
            let both = |out: &mut Vec<u8>| begin(out).and_then(|()| end(out));
            return Ok((vec![guard.guard(locals, Lost::WaitEnd, out, both)?], 0));
        }
        let before = guard.guard(locals.clone(), Lost::Nothing, out, begin)?;
        self.local(ALOAD, out);
        out.push(MONITORENTER);
        let taken = out.len();
        let after = guard.guard(locals, Lost::WaitEnd, out, end)?;
        Ok((vec![before, after], (out.len() - taken) as u32))
    }

    /// Appends the release of the lock, if it is not the method's flag that releases it.
    pub(crate) fn release(&self, out: &mut Vec<u8>) {
        if self.rewritten {
            self.local(ALOAD, out);
            out.push(MONITOREXIT);
        }
    }

    /// Appends the call that records the release.
    pub(crate) fn released(&self, out: &mut Vec<u8>) {
        self.local(ALOAD, out);
        self.calls.release(out);
    }
}
