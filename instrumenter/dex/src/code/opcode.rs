//! The instructions of dex files: formats, registers and what they refer to.
//!
//! Source: "Dalvik bytecode" and "Dalvik executable instruction formats" (source.android.com). Which instructions can throw
//! follows ART's verifier, since its rules about exception handlers depend on it: loading a string or a class can.

use Format::*;
use Table::{CallSites, Fields, Handles, Methods, Protos, Strings, Types};

use crate::table::Table;

/// How an instruction is encoded, by the names of the format's documentation: units, registers, and what else there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    F10x,
    F12x,
    F11n,
    F11x,
    F10t,
    F20t,
    F22x,
    F21t,
    F21s,
    F21h,
    F21c,
    F23x,
    F22b,
    F22t,
    F22s,
    F22c,
    F30t,
    F32x,
    F31i,
    F31t,
    F31c,
    F35c,
    F3rc,
    F45cc,
    F4rcc,
    F51l,
}

impl Format {
    /// Returns the length of an instruction in units: 1 to 5.
    #[must_use]
    pub const fn units(self) -> u32 {
        match self {
            Self::F10x | Self::F12x | Self::F11n | Self::F11x | Self::F10t => 1,
            Self::F20t | Self::F22x | Self::F21t | Self::F21s | Self::F21h | Self::F21c => 2,
            Self::F23x | Self::F22b | Self::F22t | Self::F22s | Self::F22c => 2,
            Self::F30t | Self::F32x | Self::F31i | Self::F31t | Self::F31c | Self::F35c | Self::F3rc => 3,
            Self::F45cc | Self::F4rcc => 4,
            Self::F51l => 5,
        }
    }

    /// Returns true if the instruction has the distance of a branch, or of the data of a switch or an array.
    pub(crate) fn has_distance(self) -> bool {
        matches!(self, Self::F10t | Self::F20t | Self::F21t | Self::F22t | Self::F30t | Self::F31t)
    }

    /// Returns true if the index of a method is followed by the index of the prototype that it is called with.
    pub(crate) fn has_proto(self) -> bool {
        matches!(self, Self::F45cc | Self::F4rcc)
    }
}

/// What an instruction does to one of its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Whether the register is read.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
    /// Whether it is the first of a pair.
    pub wide: bool,
}

/// An instruction of the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Opcode {
    pub format: Format,
    /// Of vA, vB and vC, as far as the format has them. Instructions with a list of registers read them all.
    pub roles: [Option<Role>; 3],
    /// The table that the index refers to.
    pub reference: Option<Table>,
    /// Whether an exception handler can be entered from here.
    pub can_throw: bool,
    /// Whether the next instruction can follow.
    pub continues: bool,
}

impl Opcode {
    const fn on(mut self, reference: Table) -> Self {
        self.reference = Some(reference);
        self
    }

    const fn throws(mut self) -> Self {
        self.can_throw = true;
        self
    }

    const fn ends(mut self) -> Self {
        self.continues = false;
        self
    }
}

/// Returns an instruction without registers.
pub(super) const fn plain(format: Format) -> Opcode {
    Opcode { format, roles: [None; 3], reference: None, can_throw: false, continues: true }
}

/// Returns the instruction with this number.
#[must_use]
pub fn opcode(number: u8) -> Option<&'static Opcode> {
    TABLE.get(usize::from(number)).and_then(Option::as_ref)
}

/// Returns true for the four returns.
pub(crate) fn is_return(op: u8) -> bool {
    (RETURN_VOID..=RETURN_OBJECT).contains(&op)
}

pub(crate) const NOP: u8 = 0x00;
pub(crate) const MOVE: u8 = 0x01;
pub(crate) const MOVE_FROM16: u8 = 0x02;
pub(crate) const MOVE_16: u8 = 0x03;
pub(crate) const MOVE_WIDE: u8 = 0x04;
pub(crate) const MOVE_WIDE_FROM16: u8 = 0x05;
pub(crate) const MOVE_WIDE_16: u8 = 0x06;
pub(crate) const MOVE_OBJECT: u8 = 0x07;
pub(crate) const MOVE_OBJECT_FROM16: u8 = 0x08;
pub(crate) const MOVE_OBJECT_16: u8 = 0x09;
pub(crate) const MOVE_RESULT: u8 = 0x0a;
pub(crate) const MOVE_RESULT_OBJECT: u8 = 0x0c;
pub(crate) const MOVE_EXCEPTION: u8 = 0x0d;
pub(crate) const RETURN_VOID: u8 = 0x0e;
#[cfg(test)]
pub(crate) const RETURN: u8 = 0x0f;
pub(crate) const RETURN_WIDE: u8 = 0x10;
pub(crate) const RETURN_OBJECT: u8 = 0x11;
/// `const/4`.
pub const CONST_4: u8 = 0x12;
pub(crate) const CONST_16: u8 = 0x13;
/// `const`.
pub const CONST: u8 = 0x14;
pub(crate) const CONST_HIGH16: u8 = 0x15;
pub(crate) const CONST_STRING: u8 = 0x1a;
pub(crate) const CONST_STRING_JUMBO: u8 = 0x1b;
/// `monitor-enter`.
pub const MONITOR_ENTER: u8 = 0x1d;
/// `monitor-exit`.
pub const MONITOR_EXIT: u8 = 0x1e;
/// `new-instance`.
pub const NEW_INSTANCE: u8 = 0x22;
/// `new-array`.
pub const NEW_ARRAY: u8 = 0x23;
pub(crate) const FILL_ARRAY_DATA: u8 = 0x26;
pub(crate) const THROW: u8 = 0x27;
pub(crate) const GOTO: u8 = 0x28;
pub(crate) const GOTO_16: u8 = 0x29;
pub(crate) const GOTO_32: u8 = 0x2a;
pub(crate) const PACKED_SWITCH: u8 = 0x2b;
pub(crate) const IF_EQ: u8 = 0x32;
pub(crate) const IF_LEZ: u8 = 0x3d;
/// `sget`, the first instruction that reads or writes a static field.
pub const SGET: u8 = 0x60;
/// `sput-short`, the last one.
pub const SPUT_SHORT: u8 = 0x6d;
/// `invoke-virtual`.
pub const INVOKE_VIRTUAL: u8 = 0x6e;
pub(crate) const INVOKE_SUPER: u8 = 0x6f;
pub(crate) const INVOKE_DIRECT: u8 = 0x70;
/// `invoke-static`.
pub const INVOKE_STATIC: u8 = 0x71;
/// `invoke-interface`.
pub const INVOKE_INTERFACE: u8 = 0x72;
/// `invoke-virtual/range`.
pub const INVOKE_VIRTUAL_RANGE: u8 = 0x74;
pub(crate) const INVOKE_SUPER_RANGE: u8 = 0x75;
pub(crate) const INVOKE_DIRECT_RANGE: u8 = 0x76;
/// `invoke-static/range`.
pub const INVOKE_STATIC_RANGE: u8 = 0x77;
/// `invoke-interface/range`.
pub const INVOKE_INTERFACE_RANGE: u8 = 0x78;

/// The instruction set as runs of instructions that are encoded alike: the number of the first, what all have in
/// common, and a word for each.
///
/// A word has a letter for each register: r reads, w writes, u does both, and capital letters mean pairs. An
/// exclamation mark says that this one throws; a dash stands for no registers.
const RUNS: [(u8, Opcode, &str); 61] = [
    (0x00, plain(F10x), "-"),
    // Moves.
    (0x01, plain(F12x), "wr"),
    (0x02, plain(F22x), "wr"),
    (0x03, plain(F32x), "wr"),
    (0x04, plain(F12x), "WR"),
    (0x05, plain(F22x), "WR"),
    (0x06, plain(F32x), "WR"),
    (0x07, plain(F12x), "wr"),
    (0x08, plain(F22x), "wr"),
    (0x09, plain(F32x), "wr"),
    (0x0a, plain(F11x), "w W w w"),
    // Returns.
    (0x0e, plain(F10x).ends(), "-"),
    (0x0f, plain(F11x).ends(), "r R r"),
    // Constants.
    (0x12, plain(F11n), "w"),
    (0x13, plain(F21s), "w"),
    (0x14, plain(F31i), "w"),
    (0x15, plain(F21h), "w"),
    (0x16, plain(F21s), "W"),
    (0x17, plain(F31i), "W"),
    (0x18, plain(F51l), "W"),
    (0x19, plain(F21h), "W"),
    (0x1a, plain(F21c).on(Strings).throws(), "w"),
    (0x1b, plain(F31c).on(Strings).throws(), "w"),
    (0x1c, plain(F21c).on(Types).throws(), "w"),
    // Locks, casts, objects and arrays.
    (0x1d, plain(F11x).throws(), "r r"),
    (0x1f, plain(F21c).on(Types).throws(), "u"),
    (0x20, plain(F22c).on(Types).throws(), "wr"),
    (0x21, plain(F12x).throws(), "wr"),
    (0x22, plain(F21c).on(Types).throws(), "w"),
    (0x23, plain(F22c).on(Types).throws(), "wr"),
    (0x24, plain(F35c).on(Types).throws(), "-"),
    (0x25, plain(F3rc).on(Types).throws(), "-"),
    (0x26, plain(F31t).throws(), "r"),
    // Throw, branches and comparisons.
    (0x27, plain(F11x).throws().ends(), "r"),
    (0x28, plain(F10t).ends(), "-"),
    (0x29, plain(F20t).ends(), "-"),
    (0x2a, plain(F30t).ends(), "-"),
    (0x2b, plain(F31t), "r r"),
    (0x2d, plain(F23x), "wrr wrr wRR wRR wRR"),
    (0x32, plain(F22t), "rr rr rr rr rr rr"),
    (0x38, plain(F21t), "r r r r r r"),
    // Elements of arrays, fields of objects, static fields: seven that read, seven that write.
    (0x44, plain(F23x).throws(), "wrr Wrr wrr wrr wrr wrr wrr rrr Rrr rrr rrr rrr rrr rrr"),
    (0x52, plain(F22c).on(Fields).throws(), "wr Wr wr wr wr wr wr rr Rr rr rr rr rr rr"),
    (0x60, plain(F21c).on(Fields).throws(), "w W w w w w w r R r r r r r"),
    // Calls: virtual, super, direct, static, interface.
    (0x6e, plain(F35c).on(Methods).throws(), "- - - - -"),
    (0x74, plain(F3rc).on(Methods).throws(), "- - - - -"),
    // Negations and conversions.
    (0x7b, plain(F12x), "wr wr WR WR wr WR Wr wr Wr wR wR WR wr Wr Wr wR WR wR wr wr wr"),
    // Arithmetic on int and long, where divisions throw, then on float and double.
    (0x90, plain(F23x), "wrr wrr wrr wrr! wrr! wrr wrr wrr wrr wrr wrr"),
    (0x9b, plain(F23x), "WRR WRR WRR WRR! WRR! WRR WRR WRR WRr WRr WRr"),
    (0xa6, plain(F23x), "wrr wrr wrr wrr wrr WRR WRR WRR WRR WRR"),
    (0xb0, plain(F12x), "ur ur ur ur! ur! ur ur ur ur ur ur"),
    (0xbb, plain(F12x), "UR UR UR UR! UR! UR UR UR Ur Ur Ur"),
    (0xc6, plain(F12x), "ur ur ur ur ur UR UR UR UR UR"),
    (0xd0, plain(F22s), "wr wr wr wr! wr! wr wr wr"),
    (0xd8, plain(F22b), "wr wr wr wr! wr! wr wr wr wr wr wr"),
    // Calls of method handles, and constants for them.
    (0xfa, plain(F45cc).on(Methods).throws(), "-"),
    (0xfb, plain(F4rcc).on(Methods).throws(), "-"),
    (0xfc, plain(F35c).on(CallSites).throws(), "-"),
    (0xfd, plain(F3rc).on(CallSites).throws(), "-"),
    (0xfe, plain(F21c).on(Handles).throws(), "w"),
    (0xff, plain(F21c).on(Protos).throws(), "w"),
];

static TABLE: [Option<Opcode>; 256] = table();

const fn table() -> [Option<Opcode>; 256] {
    let mut table = [None; 256];
    let mut run = 0;
    while run < RUNS.len() {
        let (first, common, words) = RUNS[run];
        let (mut number, mut opcode, mut register, mut at) = (first as usize, common, 0, 0);
        while at < words.len() {
            match words.as_bytes()[at] {
                b' ' => (number, opcode, register) = (number + 1, common, 0),
                b'!' => opcode.can_throw = true,
                b'-' => {}
                letter => {
                    let (reads, writes) =
                        (!letter.eq_ignore_ascii_case(&b'w'), !letter.eq_ignore_ascii_case(&b'r'));
                    opcode.roles[register] = Some(Role { reads, writes, wide: letter.is_ascii_uppercase() });
                    register += 1;
                }
            }
            table[number] = Some(opcode);
            at += 1;
        }
        run += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_instructions_of_the_documentation() {
        assert_eq!(TABLE.iter().flatten().count(), 224);
        for unused in (0x3e..=0x43).chain([0x73, 0x79, 0x7a]).chain(0xe3..=0xf9) {
            assert_eq!(opcode(unused), None, "{unused:#x}");
        }
        // const-string/jumbo, if-le, iput-short, int-to-short, rem-double, rem-double/2addr, ushr-int/lit8,
        // invoke-polymorphic, const-wide.
        for (number, format, units) in [
            (0x1b, F31c, 3),
            (0x37, F22t, 2),
            (0x5f, F22c, 2),
            (0x8f, F12x, 1),
            (0xaf, F23x, 2),
            (0xcf, F12x, 1),
            (0xe2, F22b, 2),
            (0xfa, F45cc, 4),
            (0x18, F51l, 5),
        ] {
            let found = opcode(number).unwrap();
            assert_eq!((found.format, found.format.units()), (format, units));
        }
    }
}
