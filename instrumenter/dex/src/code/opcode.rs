//! The instructions of dex files: names, formats, registers and what they refer to.
//!
//! Source: "Dalvik bytecode" and "Dalvik executable instruction formats" (source.android.com). Which instructions can throw
//! follows ART's verifier, since its rules about exception handlers depend on it: loading a string or a class can.

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
    pub name: &'static str,
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

/// `roles`: a letter for each register; r reads, w writes, u does both, and capital letters mean pairs.
pub(super) const fn op(format: Format, name: &'static str, roles: &str) -> Opcode {
    let letters = roles.as_bytes();
    let mut found = [None; 3];
    let mut at = 0;
    while at < letters.len() {
        let letter = letters[at].to_ascii_lowercase();
        found[at] = Some(Role {
            reads: letter == b'r' || letter == b'u',
            writes: letter == b'w' || letter == b'u',
            wide: letters[at].is_ascii_uppercase(),
        });
        at += 1;
    }
    Opcode { name, format, roles: found, reference: None, can_throw: false, continues: true }
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

static TABLE: [Option<Opcode>; 256] = table();

#[rustfmt::skip]
const fn table() -> [Option<Opcode>; 256] {
    use Format::*;
    use Table::{CallSites, Fields, Handles, Methods, Protos, Strings, Types};
    let mut table = [None; 256];
    table[0x00] = Some(op(F10x, "nop", ""));
    table[0x01] = Some(op(F12x, "move", "wr"));
    table[0x02] = Some(op(F22x, "move/from16", "wr"));
    table[0x03] = Some(op(F32x, "move/16", "wr"));
    table[0x04] = Some(op(F12x, "move-wide", "WR"));
    table[0x05] = Some(op(F22x, "move-wide/from16", "WR"));
    table[0x06] = Some(op(F32x, "move-wide/16", "WR"));
    table[0x07] = Some(op(F12x, "move-object", "wr"));
    table[0x08] = Some(op(F22x, "move-object/from16", "wr"));
    table[0x09] = Some(op(F32x, "move-object/16", "wr"));
    table[0x0a] = Some(op(F11x, "move-result", "w"));
    table[0x0b] = Some(op(F11x, "move-result-wide", "W"));
    table[0x0c] = Some(op(F11x, "move-result-object", "w"));
    table[0x0d] = Some(op(F11x, "move-exception", "w"));
    table[0x0e] = Some(op(F10x, "return-void", "").ends());
    table[0x0f] = Some(op(F11x, "return", "r").ends());
    table[0x10] = Some(op(F11x, "return-wide", "R").ends());
    table[0x11] = Some(op(F11x, "return-object", "r").ends());
    table[0x12] = Some(op(F11n, "const/4", "w"));
    table[0x13] = Some(op(F21s, "const/16", "w"));
    table[0x14] = Some(op(F31i, "const", "w"));
    table[0x15] = Some(op(F21h, "const/high16", "w"));
    table[0x16] = Some(op(F21s, "const-wide/16", "W"));
    table[0x17] = Some(op(F31i, "const-wide/32", "W"));
    table[0x18] = Some(op(F51l, "const-wide", "W"));
    table[0x19] = Some(op(F21h, "const-wide/high16", "W"));
    table[0x1a] = Some(op(F21c, "const-string", "w").on(Strings).throws());
    table[0x1b] = Some(op(F31c, "const-string/jumbo", "w").on(Strings).throws());
    table[0x1c] = Some(op(F21c, "const-class", "w").on(Types).throws());
    table[0x1d] = Some(op(F11x, "monitor-enter", "r").throws());
    table[0x1e] = Some(op(F11x, "monitor-exit", "r").throws());
    table[0x1f] = Some(op(F21c, "check-cast", "u").on(Types).throws());
    table[0x20] = Some(op(F22c, "instance-of", "wr").on(Types).throws());
    table[0x21] = Some(op(F12x, "array-length", "wr").throws());
    table[0x22] = Some(op(F21c, "new-instance", "w").on(Types).throws());
    table[0x23] = Some(op(F22c, "new-array", "wr").on(Types).throws());
    table[0x24] = Some(op(F35c, "filled-new-array", "").on(Types).throws());
    table[0x25] = Some(op(F3rc, "filled-new-array/range", "").on(Types).throws());
    table[0x26] = Some(op(F31t, "fill-array-data", "r").throws());
    table[0x27] = Some(op(F11x, "throw", "r").throws().ends());
    table[0x28] = Some(op(F10t, "goto", "").ends());
    table[0x29] = Some(op(F20t, "goto/16", "").ends());
    table[0x2a] = Some(op(F30t, "goto/32", "").ends());
    table[0x2b] = Some(op(F31t, "packed-switch", "r"));
    table[0x2c] = Some(op(F31t, "sparse-switch", "r"));
    table[0x2d] = Some(op(F23x, "cmpl-float", "wrr"));
    table[0x2e] = Some(op(F23x, "cmpg-float", "wrr"));
    table[0x2f] = Some(op(F23x, "cmpl-double", "wRR"));
    table[0x30] = Some(op(F23x, "cmpg-double", "wRR"));
    table[0x31] = Some(op(F23x, "cmp-long", "wRR"));
    table[0x32] = Some(op(F22t, "if-eq", "rr"));
    table[0x33] = Some(op(F22t, "if-ne", "rr"));
    table[0x34] = Some(op(F22t, "if-lt", "rr"));
    table[0x35] = Some(op(F22t, "if-ge", "rr"));
    table[0x36] = Some(op(F22t, "if-gt", "rr"));
    table[0x37] = Some(op(F22t, "if-le", "rr"));
    table[0x38] = Some(op(F21t, "if-eqz", "r"));
    table[0x39] = Some(op(F21t, "if-nez", "r"));
    table[0x3a] = Some(op(F21t, "if-ltz", "r"));
    table[0x3b] = Some(op(F21t, "if-gez", "r"));
    table[0x3c] = Some(op(F21t, "if-gtz", "r"));
    table[0x3d] = Some(op(F21t, "if-lez", "r"));
    table[0x44] = Some(op(F23x, "aget", "wrr").throws());
    table[0x45] = Some(op(F23x, "aget-wide", "Wrr").throws());
    table[0x46] = Some(op(F23x, "aget-object", "wrr").throws());
    table[0x47] = Some(op(F23x, "aget-boolean", "wrr").throws());
    table[0x48] = Some(op(F23x, "aget-byte", "wrr").throws());
    table[0x49] = Some(op(F23x, "aget-char", "wrr").throws());
    table[0x4a] = Some(op(F23x, "aget-short", "wrr").throws());
    table[0x4b] = Some(op(F23x, "aput", "rrr").throws());
    table[0x4c] = Some(op(F23x, "aput-wide", "Rrr").throws());
    table[0x4d] = Some(op(F23x, "aput-object", "rrr").throws());
    table[0x4e] = Some(op(F23x, "aput-boolean", "rrr").throws());
    table[0x4f] = Some(op(F23x, "aput-byte", "rrr").throws());
    table[0x50] = Some(op(F23x, "aput-char", "rrr").throws());
    table[0x51] = Some(op(F23x, "aput-short", "rrr").throws());
    table[0x52] = Some(op(F22c, "iget", "wr").on(Fields).throws());
    table[0x53] = Some(op(F22c, "iget-wide", "Wr").on(Fields).throws());
    table[0x54] = Some(op(F22c, "iget-object", "wr").on(Fields).throws());
    table[0x55] = Some(op(F22c, "iget-boolean", "wr").on(Fields).throws());
    table[0x56] = Some(op(F22c, "iget-byte", "wr").on(Fields).throws());
    table[0x57] = Some(op(F22c, "iget-char", "wr").on(Fields).throws());
    table[0x58] = Some(op(F22c, "iget-short", "wr").on(Fields).throws());
    table[0x59] = Some(op(F22c, "iput", "rr").on(Fields).throws());
    table[0x5a] = Some(op(F22c, "iput-wide", "Rr").on(Fields).throws());
    table[0x5b] = Some(op(F22c, "iput-object", "rr").on(Fields).throws());
    table[0x5c] = Some(op(F22c, "iput-boolean", "rr").on(Fields).throws());
    table[0x5d] = Some(op(F22c, "iput-byte", "rr").on(Fields).throws());
    table[0x5e] = Some(op(F22c, "iput-char", "rr").on(Fields).throws());
    table[0x5f] = Some(op(F22c, "iput-short", "rr").on(Fields).throws());
    table[0x60] = Some(op(F21c, "sget", "w").on(Fields).throws());
    table[0x61] = Some(op(F21c, "sget-wide", "W").on(Fields).throws());
    table[0x62] = Some(op(F21c, "sget-object", "w").on(Fields).throws());
    table[0x63] = Some(op(F21c, "sget-boolean", "w").on(Fields).throws());
    table[0x64] = Some(op(F21c, "sget-byte", "w").on(Fields).throws());
    table[0x65] = Some(op(F21c, "sget-char", "w").on(Fields).throws());
    table[0x66] = Some(op(F21c, "sget-short", "w").on(Fields).throws());
    table[0x67] = Some(op(F21c, "sput", "r").on(Fields).throws());
    table[0x68] = Some(op(F21c, "sput-wide", "R").on(Fields).throws());
    table[0x69] = Some(op(F21c, "sput-object", "r").on(Fields).throws());
    table[0x6a] = Some(op(F21c, "sput-boolean", "r").on(Fields).throws());
    table[0x6b] = Some(op(F21c, "sput-byte", "r").on(Fields).throws());
    table[0x6c] = Some(op(F21c, "sput-char", "r").on(Fields).throws());
    table[0x6d] = Some(op(F21c, "sput-short", "r").on(Fields).throws());
    table[0x6e] = Some(op(F35c, "invoke-virtual", "").on(Methods).throws());
    table[0x6f] = Some(op(F35c, "invoke-super", "").on(Methods).throws());
    table[0x70] = Some(op(F35c, "invoke-direct", "").on(Methods).throws());
    table[0x71] = Some(op(F35c, "invoke-static", "").on(Methods).throws());
    table[0x72] = Some(op(F35c, "invoke-interface", "").on(Methods).throws());
    table[0x74] = Some(op(F3rc, "invoke-virtual/range", "").on(Methods).throws());
    table[0x75] = Some(op(F3rc, "invoke-super/range", "").on(Methods).throws());
    table[0x76] = Some(op(F3rc, "invoke-direct/range", "").on(Methods).throws());
    table[0x77] = Some(op(F3rc, "invoke-static/range", "").on(Methods).throws());
    table[0x78] = Some(op(F3rc, "invoke-interface/range", "").on(Methods).throws());
    table[0x7b] = Some(op(F12x, "neg-int", "wr"));
    table[0x7c] = Some(op(F12x, "not-int", "wr"));
    table[0x7d] = Some(op(F12x, "neg-long", "WR"));
    table[0x7e] = Some(op(F12x, "not-long", "WR"));
    table[0x7f] = Some(op(F12x, "neg-float", "wr"));
    table[0x80] = Some(op(F12x, "neg-double", "WR"));
    table[0x81] = Some(op(F12x, "int-to-long", "Wr"));
    table[0x82] = Some(op(F12x, "int-to-float", "wr"));
    table[0x83] = Some(op(F12x, "int-to-double", "Wr"));
    table[0x84] = Some(op(F12x, "long-to-int", "wR"));
    table[0x85] = Some(op(F12x, "long-to-float", "wR"));
    table[0x86] = Some(op(F12x, "long-to-double", "WR"));
    table[0x87] = Some(op(F12x, "float-to-int", "wr"));
    table[0x88] = Some(op(F12x, "float-to-long", "Wr"));
    table[0x89] = Some(op(F12x, "float-to-double", "Wr"));
    table[0x8a] = Some(op(F12x, "double-to-int", "wR"));
    table[0x8b] = Some(op(F12x, "double-to-long", "WR"));
    table[0x8c] = Some(op(F12x, "double-to-float", "wR"));
    table[0x8d] = Some(op(F12x, "int-to-byte", "wr"));
    table[0x8e] = Some(op(F12x, "int-to-char", "wr"));
    table[0x8f] = Some(op(F12x, "int-to-short", "wr"));
    table[0x90] = Some(op(F23x, "add-int", "wrr"));
    table[0x91] = Some(op(F23x, "sub-int", "wrr"));
    table[0x92] = Some(op(F23x, "mul-int", "wrr"));
    table[0x93] = Some(op(F23x, "div-int", "wrr").throws());
    table[0x94] = Some(op(F23x, "rem-int", "wrr").throws());
    table[0x95] = Some(op(F23x, "and-int", "wrr"));
    table[0x96] = Some(op(F23x, "or-int", "wrr"));
    table[0x97] = Some(op(F23x, "xor-int", "wrr"));
    table[0x98] = Some(op(F23x, "shl-int", "wrr"));
    table[0x99] = Some(op(F23x, "shr-int", "wrr"));
    table[0x9a] = Some(op(F23x, "ushr-int", "wrr"));
    table[0x9b] = Some(op(F23x, "add-long", "WRR"));
    table[0x9c] = Some(op(F23x, "sub-long", "WRR"));
    table[0x9d] = Some(op(F23x, "mul-long", "WRR"));
    table[0x9e] = Some(op(F23x, "div-long", "WRR").throws());
    table[0x9f] = Some(op(F23x, "rem-long", "WRR").throws());
    table[0xa0] = Some(op(F23x, "and-long", "WRR"));
    table[0xa1] = Some(op(F23x, "or-long", "WRR"));
    table[0xa2] = Some(op(F23x, "xor-long", "WRR"));
    table[0xa3] = Some(op(F23x, "shl-long", "WRr"));
    table[0xa4] = Some(op(F23x, "shr-long", "WRr"));
    table[0xa5] = Some(op(F23x, "ushr-long", "WRr"));
    table[0xa6] = Some(op(F23x, "add-float", "wrr"));
    table[0xa7] = Some(op(F23x, "sub-float", "wrr"));
    table[0xa8] = Some(op(F23x, "mul-float", "wrr"));
    table[0xa9] = Some(op(F23x, "div-float", "wrr"));
    table[0xaa] = Some(op(F23x, "rem-float", "wrr"));
    table[0xab] = Some(op(F23x, "add-double", "WRR"));
    table[0xac] = Some(op(F23x, "sub-double", "WRR"));
    table[0xad] = Some(op(F23x, "mul-double", "WRR"));
    table[0xae] = Some(op(F23x, "div-double", "WRR"));
    table[0xaf] = Some(op(F23x, "rem-double", "WRR"));
    table[0xb0] = Some(op(F12x, "add-int/2addr", "ur"));
    table[0xb1] = Some(op(F12x, "sub-int/2addr", "ur"));
    table[0xb2] = Some(op(F12x, "mul-int/2addr", "ur"));
    table[0xb3] = Some(op(F12x, "div-int/2addr", "ur").throws());
    table[0xb4] = Some(op(F12x, "rem-int/2addr", "ur").throws());
    table[0xb5] = Some(op(F12x, "and-int/2addr", "ur"));
    table[0xb6] = Some(op(F12x, "or-int/2addr", "ur"));
    table[0xb7] = Some(op(F12x, "xor-int/2addr", "ur"));
    table[0xb8] = Some(op(F12x, "shl-int/2addr", "ur"));
    table[0xb9] = Some(op(F12x, "shr-int/2addr", "ur"));
    table[0xba] = Some(op(F12x, "ushr-int/2addr", "ur"));
    table[0xbb] = Some(op(F12x, "add-long/2addr", "UR"));
    table[0xbc] = Some(op(F12x, "sub-long/2addr", "UR"));
    table[0xbd] = Some(op(F12x, "mul-long/2addr", "UR"));
    table[0xbe] = Some(op(F12x, "div-long/2addr", "UR").throws());
    table[0xbf] = Some(op(F12x, "rem-long/2addr", "UR").throws());
    table[0xc0] = Some(op(F12x, "and-long/2addr", "UR"));
    table[0xc1] = Some(op(F12x, "or-long/2addr", "UR"));
    table[0xc2] = Some(op(F12x, "xor-long/2addr", "UR"));
    table[0xc3] = Some(op(F12x, "shl-long/2addr", "Ur"));
    table[0xc4] = Some(op(F12x, "shr-long/2addr", "Ur"));
    table[0xc5] = Some(op(F12x, "ushr-long/2addr", "Ur"));
    table[0xc6] = Some(op(F12x, "add-float/2addr", "ur"));
    table[0xc7] = Some(op(F12x, "sub-float/2addr", "ur"));
    table[0xc8] = Some(op(F12x, "mul-float/2addr", "ur"));
    table[0xc9] = Some(op(F12x, "div-float/2addr", "ur"));
    table[0xca] = Some(op(F12x, "rem-float/2addr", "ur"));
    table[0xcb] = Some(op(F12x, "add-double/2addr", "UR"));
    table[0xcc] = Some(op(F12x, "sub-double/2addr", "UR"));
    table[0xcd] = Some(op(F12x, "mul-double/2addr", "UR"));
    table[0xce] = Some(op(F12x, "div-double/2addr", "UR"));
    table[0xcf] = Some(op(F12x, "rem-double/2addr", "UR"));
    table[0xd0] = Some(op(F22s, "add-int/lit16", "wr"));
    table[0xd1] = Some(op(F22s, "rsub-int", "wr"));
    table[0xd2] = Some(op(F22s, "mul-int/lit16", "wr"));
    table[0xd3] = Some(op(F22s, "div-int/lit16", "wr").throws());
    table[0xd4] = Some(op(F22s, "rem-int/lit16", "wr").throws());
    table[0xd5] = Some(op(F22s, "and-int/lit16", "wr"));
    table[0xd6] = Some(op(F22s, "or-int/lit16", "wr"));
    table[0xd7] = Some(op(F22s, "xor-int/lit16", "wr"));
    table[0xd8] = Some(op(F22b, "add-int/lit8", "wr"));
    table[0xd9] = Some(op(F22b, "rsub-int/lit8", "wr"));
    table[0xda] = Some(op(F22b, "mul-int/lit8", "wr"));
    table[0xdb] = Some(op(F22b, "div-int/lit8", "wr").throws());
    table[0xdc] = Some(op(F22b, "rem-int/lit8", "wr").throws());
    table[0xdd] = Some(op(F22b, "and-int/lit8", "wr"));
    table[0xde] = Some(op(F22b, "or-int/lit8", "wr"));
    table[0xdf] = Some(op(F22b, "xor-int/lit8", "wr"));
    table[0xe0] = Some(op(F22b, "shl-int/lit8", "wr"));
    table[0xe1] = Some(op(F22b, "shr-int/lit8", "wr"));
    table[0xe2] = Some(op(F22b, "ushr-int/lit8", "wr"));
    table[0xfa] = Some(op(F45cc, "invoke-polymorphic", "").on(Methods).throws());
    table[0xfb] = Some(op(F4rcc, "invoke-polymorphic/range", "").on(Methods).throws());
    table[0xfc] = Some(op(F35c, "invoke-custom", "").on(CallSites).throws());
    table[0xfd] = Some(op(F3rc, "invoke-custom/range", "").on(CallSites).throws());
    table[0xfe] = Some(op(F21c, "const-method-handle", "w").on(Handles).throws());
    table[0xff] = Some(op(F21c, "const-method-type", "w").on(Protos).throws());
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
        for (number, name, units) in [
            (0x1b, "const-string/jumbo", 3),
            (0x37, "if-le", 2),
            (0x5f, "iput-short", 2),
            (0x8f, "int-to-short", 1),
            (0xaf, "rem-double", 2),
            (0xcf, "rem-double/2addr", 1),
            (0xe2, "ushr-int/lit8", 2),
            (0xfa, "invoke-polymorphic", 4),
            (0x18, "const-wide", 5),
        ] {
            let found = opcode(number).unwrap();
            assert_eq!((found.name, found.format.units()), (name, units));
        }
    }
}
