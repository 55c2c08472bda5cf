//! The waits of a method, and the code around them.

use std::collections::HashMap;

use trace_format::event::WaitKind;

use super::layout::{Mark, Prelude};
use super::shuffle;
use crate::class::class_file::ClassFile;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::{Types, words_of};
use crate::class::opcodes::{
    self, ACONST_NULL, BIPUSH, DUP, ICONST_0, INVOKEDYNAMIC, INVOKESTATIC, INVOKEVIRTUAL, MONITORENTER,
    MONITOREXIT, SWAP,
};
use crate::error::SkipReason;
use crate::waits::{WaitObject, Waits};

/// Constant pool indices of `wb`, `we` and `wr`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitCalls {
    begin: u16,
    end: u16,
    release: u16,
}

impl WaitCalls {
    /// Appends a push of `kind` below the object on the stack.
    fn call_on_top(kind: WaitKind, method: u16, out: &mut Vec<u8>) {
        push_kind(kind, out);
        out.push(SWAP);
        call(method, out);
    }

    /// `.. object` to `..`: a wait for it begins.
    pub(crate) fn begin(self, kind: WaitKind, out: &mut Vec<u8>) {
        Self::call_on_top(kind, self.begin, out);
    }

    /// `.. object` to `..`: the wait for it has ended.
    pub(crate) fn end(self, kind: WaitKind, out: &mut Vec<u8>) {
        Self::call_on_top(kind, self.end, out);
    }

    /// A wait has ended; only the end of a monitor wait needs the object.
    pub(crate) fn end_any(self, kind: WaitKind, out: &mut Vec<u8>) {
        push_kind(kind, out);
        out.push(ACONST_NULL);
        call(self.end, out);
    }

    /// `.. object` to `..`: the monitor is released.
    pub(crate) fn release(self, out: &mut Vec<u8>) {
        call(self.release, out);
    }
}

fn push_kind(kind: WaitKind, out: &mut Vec<u8>) {
    match kind.number() as u8 {
        kind @ 0..=5 => out.push(ICONST_0 + kind),
        kind => out.extend_from_slice(&[BIPUSH, kind]),
    }
}

fn call(method: u16, out: &mut Vec<u8>) {
    out.push(INVOKESTATIC);
    out.extend_from_slice(&method.to_be_bytes());
}

/// A call that waits: its kind, and how to access the object.
#[derive(Clone, Copy, Debug)]
struct Blocking {
    kind: WaitKind,
    /// Instructions that move the object to the top and back; `None` records the wait without an object.
    object: Option<(&'static [u8], &'static [u8])>,
}

/// The state that the methods of a class share.
pub(crate) struct ClassWaits<'a> {
    waits: Waits<'a>,
    call_class: u16,
    calls: Option<WaitCalls>,
    /// By index of the method reference, and whether the call is static.
    known: HashMap<(u16, bool), Option<Blocking>>,
}

impl<'a> ClassWaits<'a> {
    pub(crate) fn new(waits: Waits<'a>, call_class: u16) -> Self {
        Self { waits, call_class, calls: None, known: HashMap::new() }
    }

    pub(crate) fn waits(&self) -> Waits<'a> {
        self.waits
    }

    /// Returns the calls, which are added to the constant pool when they are first needed.
    pub(crate) fn calls(&mut self, pool: &mut Appended) -> Result<WaitCalls, SkipReason> {
        if let Some(calls) = self.calls {
            return Ok(calls);
        }
        let [wb, we, wr] = [pool.utf8(b"wb")?, pool.utf8(b"we")?, pool.utf8(b"wr")?];
        let kind_and_object = pool.utf8(b"(ILjava/lang/Object;)V")?;
        let object = pool.utf8(b"(Ljava/lang/Object;)V")?;
        let calls = WaitCalls {
            begin: pool.method(self.call_class, wb, kind_and_object)?,
            end: pool.method(self.call_class, we, kind_and_object)?,
            release: pool.method(self.call_class, wr, object)?,
        };
        self.calls = Some(calls);
        Ok(calls)
    }

    fn blocking(&mut self, class: &ClassFile<'_>, index: u16, is_static: bool) -> Option<Blocking> {
        let waits = self.waits;
        *self.known.entry((index, is_static)).or_insert_with(|| {
            let [owner, name, descriptor] = class.pool.method(index).ok()?;
            let found = waits.catalogue.find(owner, name, descriptor, waits.hierarchy);
            // A class may call inherited methods by its own name.
            let inherited = || {
                let parents = class.supertypes.iter().filter(|_| owner == class.name);
                parents
                    .into_iter()
                    .find_map(|parent| waits.catalogue.find(parent, name, descriptor, waits.hierarchy))
            };
            let (kind, on) = found.or_else(inherited)?;
            let object = object_of(descriptor, on, is_static, name == b"<init>");
            Some(Blocking { kind, object })
        })
    }
}

type Shuffle = (&'static [u8], &'static [u8]);

/// Returns how to access the object of a call, if it has one.
fn object_of(descriptor: &[u8], on: WaitObject, is_static: bool, is_constructor: bool) -> Option<Shuffle> {
    // The receiver of a constructor is not an object yet.
    if is_constructor && on != WaitObject::FirstArgument
        || is_static && on == WaitObject::Receiver
        || on == WaitObject::None
    {
        return None;
    }
    let mut types = Types::try_from(descriptor).ok()?;
    let mut sizes = Vec::new();
    if on == WaitObject::FirstArgument {
        let first = types.next().ok()??;
        if !first.starts_with(b"L") && !first.starts_with(b"[") {
            return None;
        }
    }
    while let Some(argument) = types.next().ok()? {
        sizes.push(words_of(argument.first()));
        if sizes.len() > 4 {
            return None;
        }
    }
    shuffle::below(&sizes)
}

/// The waits of a method, and the code around them.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) marks: Vec<Mark>,
    pub(crate) code: Vec<u8>,
    /// For each mark, the kind of the wait that an exception there ends.
    pub(crate) kinds: Vec<Option<WaitKind>>,
}

/// Stack slots that the code around a wait needs: the object twice, and the kind.
pub(crate) const EXTRA_STACK: u16 = 3;

/// Finds the waits in `code`, except for those before a constructor's super call: no handler can cover them, so they
/// could stay open.
pub(crate) fn find(
    class: &ClassFile<'_>,
    code: &[u8],
    prelude: Option<&Prelude>,
    of_class: &mut ClassWaits<'_>,
    pool: &mut Appended,
) -> Result<Found, SkipReason> {
    let mut found = Found::default();
    for instruction in opcodes::instructions(code) {
        let instruction = instruction?;
        let opcode = instruction.opcode;
        let interesting =
            matches!(opcode, MONITORENTER | MONITOREXIT) || (INVOKEVIRTUAL..INVOKEDYNAMIC).contains(&opcode);
        if !interesting || prelude.is_some_and(|prelude| prelude.contains(instruction.pc)) {
            continue;
        }
        let start = found.code.len();
        let out = &mut found.code;
        let (between, kind) = match opcode {
            MONITORENTER => {
                let calls = of_class.calls(pool)?;
                out.extend_from_slice(&[DUP, DUP]);
                calls.begin(WaitKind::Monitor, out);
                let between = out.len();
                calls.end(WaitKind::Monitor, out);
                (between, Some(WaitKind::Monitor))
            }
            MONITOREXIT => {
                let calls = of_class.calls(pool)?;
                out.push(DUP);
                let between = out.len();
                calls.release(out);
                (between, None)
            }
            _ => {
                let index = opcodes::u2_at(code, instruction.pc + 1)?;
                let Some(blocking) = of_class.blocking(class, index, opcode == INVOKESTATIC) else {
                    continue;
                };
                let calls = of_class.calls(pool)?;
                match blocking.object {
                    Some((up, down)) => {
                        out.extend_from_slice(up);
                        out.push(DUP);
                        calls.begin(blocking.kind, out);
                        out.extend_from_slice(down);
                    }
                    None => {
                        push_kind(blocking.kind, out);
                        out.push(ACONST_NULL);
                        call(calls.begin, out);
                    }
                }
                let between = out.len();
                calls.end_any(blocking.kind, out);
                (between, Some(blocking.kind))
            }
        };
        let (before, after) = (start..between, between..found.code.len());
        found.marks.push(Mark { pc: instruction.pc, next: instruction.next(), before, after });
        found.kinds.push(kind);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_the_one_in_the_catalogue_where_it_can_be_accessed() {
        let has = |descriptor: &str, on, is_static, is_constructor| {
            object_of(descriptor.as_bytes(), on, is_static, is_constructor).is_some()
        };
        assert!(has("(J)V", WaitObject::Receiver, false, false));
        assert!(has("([BII)I", WaitObject::Receiver, false, false));
        assert!(!has("([BIII)I", WaitObject::Receiver, false, false), "too deep");
        assert!(!has("(J)V", WaitObject::Receiver, true, false), "static");
        assert!(!has("(J)V", WaitObject::None, false, false));
        assert!(!has("(I)V", WaitObject::Receiver, false, true), "not yet an object");
        assert!(has("(Ljava/lang/Object;J)V", WaitObject::FirstArgument, true, false));
        assert!(!has("(IJ)V", WaitObject::FirstArgument, true, false), "no object");
        assert!(!has("()V", WaitObject::FirstArgument, true, false));
    }
}
