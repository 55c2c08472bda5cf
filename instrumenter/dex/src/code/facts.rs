//! What the selection of methods needs to know of code.

use super::instruction::{distance, unit};
use super::opcode::{
    Format, INVOKE_DIRECT, INVOKE_DIRECT_RANGE, INVOKE_INTERFACE, INVOKE_INTERFACE_RANGE, INVOKE_STATIC,
    INVOKE_STATIC_RANGE, INVOKE_SUPER, INVOKE_SUPER_RANGE, INVOKE_VIRTUAL, INVOKE_VIRTUAL_RANGE,
    MONITOR_ENTER, MONITOR_EXIT,
};
use super::scan::{Scan, Step};
use super::{Code, debug};
use crate::error::Malformed;
use crate::table::Table;

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Invoke {
    Virtual,
    Super,
    /// A constructor or a private method.
    Direct,
    Static,
    Interface,
    /// `MethodHandle.invoke` and the like.
    Polymorphic,
    /// A call site.
    Custom,
}

/// A call in the code of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Address, in units.
    pub at: u32,
    #[allow(missing_docs)]
    pub how: Invoke,
    /// Method index; of [`Invoke::Custom`], the index of the call site.
    pub target: u32,
}

/// Facts about the code of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// In the order of the code.
    pub calls: Vec<Call>,
    /// Whether it can branch to itself or backwards, other than by an exception.
    pub has_loop: bool,
    /// Whether it consists of constants, moves, returns, and access to fields and array elements, apart from calls.
    pub is_simple: bool,
    /// Whether it takes or releases locks.
    pub has_locks: bool,
    #[allow(missing_docs)]
    pub instructions: u32,
    /// Length of the code, data of switches and arrays included.
    pub units: u32,
    /// The line of the first entry of the debug information.
    pub first_line: Option<u32>,
}

impl Facts {
    /// Returns whether a method with this code is worth tracing, by the rule of the class-file instrumenter: it calls something,
    /// and it is no constructor that only calls another and sets fields.
    #[must_use]
    pub fn worth_tracing(&self, is_constructor: bool) -> bool {
        let plain = || match self.calls[..] {
            [Call { how: Invoke::Direct | Invoke::Super, .. }] => is_constructor && self.is_simple,
            _ => false,
        };
        !self.calls.is_empty() && !plain()
    }
}

/// Reads the facts about `code`.
///
/// # Errors
///
/// If an instruction is unknown or cut off.
pub fn facts(code: &Code<'_>) -> Result<Facts, Malformed> {
    let mut facts = Facts {
        is_simple: true,
        units: (code.units.len() / 2) as u32,
        first_line: code.debug.as_ref().and_then(|bytes| debug::first_line(bytes)),
        ..Facts::default()
    };
    for step in Scan::new(&code.units) {
        let (pc, step) = step.map_err(|broken| code.malformed(broken))?;
        let Step::Instruction { op, opcode } = step else { continue };
        facts.instructions += 1;
        let how = match op {
            INVOKE_VIRTUAL | INVOKE_VIRTUAL_RANGE => Some(Invoke::Virtual),
            INVOKE_SUPER | INVOKE_SUPER_RANGE => Some(Invoke::Super),
            INVOKE_DIRECT | INVOKE_DIRECT_RANGE => Some(Invoke::Direct),
            INVOKE_STATIC | INVOKE_STATIC_RANGE => Some(Invoke::Static),
            INVOKE_INTERFACE | INVOKE_INTERFACE_RANGE => Some(Invoke::Interface),
            _ => match opcode.reference {
                Some(Table::Methods) => Some(Invoke::Polymorphic),
                Some(Table::CallSites) => Some(Invoke::Custom),
                _ => None,
            },
        };
        if let Some(how) = how {
            let target = unit(&code.units, pc + 1).map_or(0, u32::from);
            facts.calls.push(Call { at: pc, how, target });
            continue;
        }
        facts.has_locks |= matches!(op, MONITOR_ENTER | MONITOR_EXIT);
        // nop, moves, returns and constants; aget; iget, iput, sget, sput.
        facts.is_simple &= matches!(op, 0x00..=0x1c | 0x44..=0x4a | 0x52..=0x6d | 0xfe | 0xff);
        // The data of a switch or an array is no place to branch to.
        let is_branch = opcode.format != Format::F31t;
        let distance = distance(&code.units, pc, opcode.format);
        facts.has_loop |= is_branch && distance.is_some_and(|distance| distance <= 0);
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::opcode::opcode;
    use std::borrow::Cow;

    fn of(list: &[u16]) -> Facts {
        let units: Vec<u8> = list.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        facts(&Code {
            units: Cow::Owned(units),
            debug: Some(Cow::Borrowed(&[7, 1, 0, 0x10, 0])),
            ..Code::default()
        })
        .unwrap()
    }

    #[test]
    fn calls_and_loops_are_found() {
        // invoke-direct v0, 3; invoke-static 4; goto -6; return-void
        let facts = of(&[0x1070, 3, 0, 0x0071, 4, 0, 0xFA28, 0x000E]);
        let call = |at, how, target| Call { at, how, target };
        assert_eq!(facts.calls, [call(0, Invoke::Direct, 3), call(3, Invoke::Static, 4)]);
        assert!(facts.has_loop && !facts.is_simple && !facts.has_locks);
        assert_eq!((facts.instructions, facts.units, facts.first_line), (4, 8, Some(9)));
        assert!(!of(&[0x0128, 0x000E]).has_loop);
        assert!(of(&[0x002A, 0, 0]).has_loop);
        assert!(of(&[0x0038, 0xFFFE]).has_loop);
    }

    #[test]
    fn the_default_rule_is_that_of_class_files() {
        let super_call = [0x1070, 3, 0];
        let with = |more: &[u16]| of(&[&super_call[..], more, &[0x000E]].concat());
        assert!(!of(&[0x000E]).worth_tracing(false));
        assert!(with(&[]).worth_tracing(false) && !with(&[]).worth_tracing(true));
        assert!(!with(&[0x0159, 6]).worth_tracing(true), "sets a field");
        assert!(with(&super_call).worth_tracing(true));
        assert!(with(&[0x0071, 4, 0]).worth_tracing(true));
        assert!(with(&[0x0090, 0]).worth_tracing(true), "computes");
    }

    #[test]
    fn every_opcode_is_scanned() {
        for op in 0..=255_u8 {
            let Some(known) = opcode(op) else { continue };
            let mut list = vec![u16::from(op)];
            list.resize(known.format.units() as usize, 0);
            let facts = of(&list);
            let is_call = matches!(op, 0x6e..=0x78 | 0xfa..=0xfd);
            assert_eq!(facts.calls.is_empty(), !is_call, "{op:#x}");
        }
    }
}
