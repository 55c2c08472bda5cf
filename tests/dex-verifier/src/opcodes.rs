//! The opcodes: format, and what each does to registers.
//!
//! Source: "Dalvik bytecode" and "Dalvik executable instruction formats" (source.android.com); which ones throw:
//! `dex_instruction_list.h` of ART.

use Effect::*;
use Format::*;
use Number::*;

/// An instruction format. The two digits are code units and registers, the letter says what else there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    F10x,
    F12x,
    /// 12x whose first operand is read and written: `binop/2addr`.
    F12x2,
    F11n,
    F11x,
    F10t,
    F20t,
    F22x,
    F21t,
    F21s,
    F21h,
    /// 21h of `const-wide/high16`: the literal is shifted by 48, not 16.
    F21hw,
    F21c,
    F23x,
    F22b,
    F22t,
    F22s,
    F22c,
    F32x,
    F30t,
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
    /// Returns the length in code units.
    pub(crate) fn units(self) -> u32 {
        match self {
            F10x | F12x | F12x2 | F11n | F11x | F10t => 1,
            F20t | F22x | F21t | F21s | F21h | F21hw | F21c | F23x | F22b | F22t | F22s | F22c => 2,
            F32x | F30t | F31i | F31t | F31c | F35c | F3rc => 3,
            F45cc | F4rcc => 4,
            F51l => 5,
        }
    }
}

/// What a move, return or move-result copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    Narrow,
    Wide,
    Object,
}

/// A primitive type of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Int,
    Long,
    Float,
    Double,
    Byte,
    Char,
    Short,
}

impl Number {
    /// Whether it takes two registers.
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Long | Double)
    }
}

/// Which comparison a branch makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    /// `if-eq`, `if-ne`.
    Equal,
    /// `if-lt` and its like.
    Order,
    /// `if-eqz`, `if-nez`.
    EqualZero,
    /// `if-ltz` and its like.
    OrderZero,
}

/// The suffix of an array or field access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// No suffix: `int` or `float`.
    Word,
    /// `long` or `double`.
    Wide,
    /// `-object`.
    Object,
    /// `-boolean`.
    Boolean,
    /// `-byte`.
    Byte,
    /// `-char`.
    Char,
    /// `-short`.
    Short,
}

/// The kind of an invoke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    Virtual,
    Super,
    Direct,
    Static,
    Interface,
}

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Nop,
    Move(Cell),
    MoveResult(Cell),
    MoveException,
    ReturnVoid,
    Return(Cell),
    Const,
    ConstWide,
    ConstString,
    ConstClass,
    ConstMethodHandle,
    ConstMethodType,
    MonitorEnter,
    MonitorExit,
    CheckCast,
    InstanceOf,
    ArrayLength,
    NewInstance,
    NewArray,
    FilledNewArray,
    FillArrayData,
    Throw,
    Goto,
    Switch,
    If(Test),
    ArrayGet(Access),
    ArrayPut(Access),
    InstanceGet(Access),
    InstancePut(Access),
    StaticGet(Access),
    StaticPut(Access),
    Invoke(Call),
    InvokePolymorphic,
    InvokeCustom,
    /// Result and operand.
    Unary(Number, Number),
    /// Result and operands. Never throws.
    Binary(Number, Number, Number),
    /// `and-int`, `or-int`, `xor-int`: of two booleans they make a boolean.
    Bits,
    /// Throws when the divisor is 0.
    Division(Number),
    Literal,
    LiteralBits,
    LiteralDivision,
    /// An opcode without meaning in a dex file.
    Unused,
}

impl Effect {
    /// Whether it may throw, so that a try range around it has an edge to its handlers. `monitor-exit` is left out, as
    /// in ART: when it throws, the lock counts as released.
    pub(crate) fn throws(self) -> bool {
        matches!(
            self,
            ConstString
                | ConstClass
                | ConstMethodHandle
                | ConstMethodType
                | MonitorEnter
                | CheckCast
                | InstanceOf
                | ArrayLength
                | NewInstance
                | NewArray
                | FilledNewArray
                | FillArrayData
                | Throw
                | ArrayGet(_)
                | ArrayPut(_)
                | InstanceGet(_)
                | InstancePut(_)
                | StaticGet(_)
                | StaticPut(_)
                | Invoke(_)
                | InvokePolymorphic
                | InvokeCustom
                | Division(_)
                | LiteralDivision
        )
    }

    /// Whether control goes on with the next instruction, at least sometimes.
    pub(crate) fn continues(self) -> bool {
        !matches!(self, ReturnVoid | Return(_) | Throw | Goto | Unused)
    }

    /// Whether a `move-result` may follow.
    pub(crate) fn has_result(self) -> bool {
        matches!(self, Invoke(_) | InvokePolymorphic | InvokeCustom | FilledNewArray)
    }

    /// Returns how many registers the operands A, B and C take: 0 for an operand that is no register.
    pub(crate) fn widths(self) -> [u32; 3] {
        let number = |number: Number| if number.is_wide() { 2 } else { 1 };
        let cell = |cell: Cell| if cell == Cell::Wide { 2 } else { 1 };
        let access = |access: Access| if access == Access::Wide { 2 } else { 1 };
        match self {
            Nop | ReturnVoid | Goto | FilledNewArray | Invoke(_) | InvokePolymorphic | InvokeCustom
            | Unused => [0, 0, 0],
            Move(kind) => [cell(kind), cell(kind), 0],
            MoveResult(kind) | Return(kind) => [cell(kind), 0, 0],
            ConstWide => [2, 0, 0],
            MoveException | Const | ConstString | ConstClass | ConstMethodHandle | ConstMethodType
            | MonitorEnter | MonitorExit | CheckCast | NewInstance | FillArrayData | Throw | Switch => {
                [1, 0, 0]
            }
            InstanceOf | ArrayLength | NewArray | Literal | LiteralBits | LiteralDivision => [1, 1, 0],
            If(Test::Equal | Test::Order) => [1, 1, 0],
            If(Test::EqualZero | Test::OrderZero) => [1, 0, 0],
            ArrayGet(kind) | ArrayPut(kind) => [access(kind), 1, 1],
            InstanceGet(kind) | InstancePut(kind) => [access(kind), 1, 0],
            StaticGet(kind) | StaticPut(kind) => [access(kind), 0, 0],
            Unary(to, from) => [number(to), number(from), 0],
            Binary(to, left, right) => [number(to), number(left), number(right)],
            Bits => [1, 1, 1],
            Division(kind) => [number(kind); 3],
        }
    }
}

/// Returns name, format and effect of an opcode.
#[rustfmt::skip]
pub(crate) fn opcode(op: u8) -> (&'static str, Format, Effect) {
    match op {
        0x00 => ("nop", F10x, Nop),
        0x01 => ("move", F12x, Move(Cell::Narrow)),
        0x02 => ("move/from16", F22x, Move(Cell::Narrow)),
        0x03 => ("move/16", F32x, Move(Cell::Narrow)),
        0x04 => ("move-wide", F12x, Move(Cell::Wide)),
        0x05 => ("move-wide/from16", F22x, Move(Cell::Wide)),
        0x06 => ("move-wide/16", F32x, Move(Cell::Wide)),
        0x07 => ("move-object", F12x, Move(Cell::Object)),
        0x08 => ("move-object/from16", F22x, Move(Cell::Object)),
        0x09 => ("move-object/16", F32x, Move(Cell::Object)),
        0x0a => ("move-result", F11x, MoveResult(Cell::Narrow)),
        0x0b => ("move-result-wide", F11x, MoveResult(Cell::Wide)),
        0x0c => ("move-result-object", F11x, MoveResult(Cell::Object)),
        0x0d => ("move-exception", F11x, MoveException),
        0x0e => ("return-void", F10x, ReturnVoid),
        0x0f => ("return", F11x, Return(Cell::Narrow)),
        0x10 => ("return-wide", F11x, Return(Cell::Wide)),
        0x11 => ("return-object", F11x, Return(Cell::Object)),
        0x12 => ("const/4", F11n, Const),
        0x13 => ("const/16", F21s, Const),
        0x14 => ("const", F31i, Const),
        0x15 => ("const/high16", F21h, Const),
        0x16 => ("const-wide/16", F21s, ConstWide),
        0x17 => ("const-wide/32", F31i, ConstWide),
        0x18 => ("const-wide", F51l, ConstWide),
        0x19 => ("const-wide/high16", F21hw, ConstWide),
        0x1a => ("const-string", F21c, ConstString),
        0x1b => ("const-string/jumbo", F31c, ConstString),
        0x1c => ("const-class", F21c, ConstClass),
        0x1d => ("monitor-enter", F11x, MonitorEnter),
        0x1e => ("monitor-exit", F11x, MonitorExit),
        0x1f => ("check-cast", F21c, CheckCast),
        0x20 => ("instance-of", F22c, InstanceOf),
        0x21 => ("array-length", F12x, ArrayLength),
        0x22 => ("new-instance", F21c, NewInstance),
        0x23 => ("new-array", F22c, NewArray),
        0x24 => ("filled-new-array", F35c, FilledNewArray),
        0x25 => ("filled-new-array/range", F3rc, FilledNewArray),
        0x26 => ("fill-array-data", F31t, FillArrayData),
        0x27 => ("throw", F11x, Throw),
        0x28 => ("goto", F10t, Goto),
        0x29 => ("goto/16", F20t, Goto),
        0x2a => ("goto/32", F30t, Goto),
        0x2b => ("packed-switch", F31t, Switch),
        0x2c => ("sparse-switch", F31t, Switch),
        0x2d => ("cmpl-float", F23x, Binary(Int, Float, Float)),
        0x2e => ("cmpg-float", F23x, Binary(Int, Float, Float)),
        0x2f => ("cmpl-double", F23x, Binary(Int, Double, Double)),
        0x30 => ("cmpg-double", F23x, Binary(Int, Double, Double)),
        0x31 => ("cmp-long", F23x, Binary(Int, Long, Long)),
        0x32 => ("if-eq", F22t, If(Test::Equal)),
        0x33 => ("if-ne", F22t, If(Test::Equal)),
        0x34 => ("if-lt", F22t, If(Test::Order)),
        0x35 => ("if-ge", F22t, If(Test::Order)),
        0x36 => ("if-gt", F22t, If(Test::Order)),
        0x37 => ("if-le", F22t, If(Test::Order)),
        0x38 => ("if-eqz", F21t, If(Test::EqualZero)),
        0x39 => ("if-nez", F21t, If(Test::EqualZero)),
        0x3a => ("if-ltz", F21t, If(Test::OrderZero)),
        0x3b => ("if-gez", F21t, If(Test::OrderZero)),
        0x3c => ("if-gtz", F21t, If(Test::OrderZero)),
        0x3d => ("if-lez", F21t, If(Test::OrderZero)),
        0x44 => ("aget", F23x, ArrayGet(Access::Word)),
        0x45 => ("aget-wide", F23x, ArrayGet(Access::Wide)),
        0x46 => ("aget-object", F23x, ArrayGet(Access::Object)),
        0x47 => ("aget-boolean", F23x, ArrayGet(Access::Boolean)),
        0x48 => ("aget-byte", F23x, ArrayGet(Access::Byte)),
        0x49 => ("aget-char", F23x, ArrayGet(Access::Char)),
        0x4a => ("aget-short", F23x, ArrayGet(Access::Short)),
        0x4b => ("aput", F23x, ArrayPut(Access::Word)),
        0x4c => ("aput-wide", F23x, ArrayPut(Access::Wide)),
        0x4d => ("aput-object", F23x, ArrayPut(Access::Object)),
        0x4e => ("aput-boolean", F23x, ArrayPut(Access::Boolean)),
        0x4f => ("aput-byte", F23x, ArrayPut(Access::Byte)),
        0x50 => ("aput-char", F23x, ArrayPut(Access::Char)),
        0x51 => ("aput-short", F23x, ArrayPut(Access::Short)),
        0x52 => ("iget", F22c, InstanceGet(Access::Word)),
        0x53 => ("iget-wide", F22c, InstanceGet(Access::Wide)),
        0x54 => ("iget-object", F22c, InstanceGet(Access::Object)),
        0x55 => ("iget-boolean", F22c, InstanceGet(Access::Boolean)),
        0x56 => ("iget-byte", F22c, InstanceGet(Access::Byte)),
        0x57 => ("iget-char", F22c, InstanceGet(Access::Char)),
        0x58 => ("iget-short", F22c, InstanceGet(Access::Short)),
        0x59 => ("iput", F22c, InstancePut(Access::Word)),
        0x5a => ("iput-wide", F22c, InstancePut(Access::Wide)),
        0x5b => ("iput-object", F22c, InstancePut(Access::Object)),
        0x5c => ("iput-boolean", F22c, InstancePut(Access::Boolean)),
        0x5d => ("iput-byte", F22c, InstancePut(Access::Byte)),
        0x5e => ("iput-char", F22c, InstancePut(Access::Char)),
        0x5f => ("iput-short", F22c, InstancePut(Access::Short)),
        0x60 => ("sget", F21c, StaticGet(Access::Word)),
        0x61 => ("sget-wide", F21c, StaticGet(Access::Wide)),
        0x62 => ("sget-object", F21c, StaticGet(Access::Object)),
        0x63 => ("sget-boolean", F21c, StaticGet(Access::Boolean)),
        0x64 => ("sget-byte", F21c, StaticGet(Access::Byte)),
        0x65 => ("sget-char", F21c, StaticGet(Access::Char)),
        0x66 => ("sget-short", F21c, StaticGet(Access::Short)),
        0x67 => ("sput", F21c, StaticPut(Access::Word)),
        0x68 => ("sput-wide", F21c, StaticPut(Access::Wide)),
        0x69 => ("sput-object", F21c, StaticPut(Access::Object)),
        0x6a => ("sput-boolean", F21c, StaticPut(Access::Boolean)),
        0x6b => ("sput-byte", F21c, StaticPut(Access::Byte)),
        0x6c => ("sput-char", F21c, StaticPut(Access::Char)),
        0x6d => ("sput-short", F21c, StaticPut(Access::Short)),
        0x6e => ("invoke-virtual", F35c, Invoke(Call::Virtual)),
        0x6f => ("invoke-super", F35c, Invoke(Call::Super)),
        0x70 => ("invoke-direct", F35c, Invoke(Call::Direct)),
        0x71 => ("invoke-static", F35c, Invoke(Call::Static)),
        0x72 => ("invoke-interface", F35c, Invoke(Call::Interface)),
        0x74 => ("invoke-virtual/range", F3rc, Invoke(Call::Virtual)),
        0x75 => ("invoke-super/range", F3rc, Invoke(Call::Super)),
        0x76 => ("invoke-direct/range", F3rc, Invoke(Call::Direct)),
        0x77 => ("invoke-static/range", F3rc, Invoke(Call::Static)),
        0x78 => ("invoke-interface/range", F3rc, Invoke(Call::Interface)),
        0x7b => ("neg-int", F12x, Unary(Int, Int)),
        0x7c => ("not-int", F12x, Unary(Int, Int)),
        0x7d => ("neg-long", F12x, Unary(Long, Long)),
        0x7e => ("not-long", F12x, Unary(Long, Long)),
        0x7f => ("neg-float", F12x, Unary(Float, Float)),
        0x80 => ("neg-double", F12x, Unary(Double, Double)),
        0x81 => ("int-to-long", F12x, Unary(Long, Int)),
        0x82 => ("int-to-float", F12x, Unary(Float, Int)),
        0x83 => ("int-to-double", F12x, Unary(Double, Int)),
        0x84 => ("long-to-int", F12x, Unary(Int, Long)),
        0x85 => ("long-to-float", F12x, Unary(Float, Long)),
        0x86 => ("long-to-double", F12x, Unary(Double, Long)),
        0x87 => ("float-to-int", F12x, Unary(Int, Float)),
        0x88 => ("float-to-long", F12x, Unary(Long, Float)),
        0x89 => ("float-to-double", F12x, Unary(Double, Float)),
        0x8a => ("double-to-int", F12x, Unary(Int, Double)),
        0x8b => ("double-to-long", F12x, Unary(Long, Double)),
        0x8c => ("double-to-float", F12x, Unary(Float, Double)),
        0x8d => ("int-to-byte", F12x, Unary(Byte, Int)),
        0x8e => ("int-to-char", F12x, Unary(Char, Int)),
        0x8f => ("int-to-short", F12x, Unary(Short, Int)),
        0x90 => ("add-int", F23x, Binary(Int, Int, Int)),
        0x91 => ("sub-int", F23x, Binary(Int, Int, Int)),
        0x92 => ("mul-int", F23x, Binary(Int, Int, Int)),
        0x93 => ("div-int", F23x, Division(Int)),
        0x94 => ("rem-int", F23x, Division(Int)),
        0x95 => ("and-int", F23x, Bits),
        0x96 => ("or-int", F23x, Bits),
        0x97 => ("xor-int", F23x, Bits),
        0x98 => ("shl-int", F23x, Binary(Int, Int, Int)),
        0x99 => ("shr-int", F23x, Binary(Int, Int, Int)),
        0x9a => ("ushr-int", F23x, Binary(Int, Int, Int)),
        0x9b => ("add-long", F23x, Binary(Long, Long, Long)),
        0x9c => ("sub-long", F23x, Binary(Long, Long, Long)),
        0x9d => ("mul-long", F23x, Binary(Long, Long, Long)),
        0x9e => ("div-long", F23x, Division(Long)),
        0x9f => ("rem-long", F23x, Division(Long)),
        0xa0 => ("and-long", F23x, Binary(Long, Long, Long)),
        0xa1 => ("or-long", F23x, Binary(Long, Long, Long)),
        0xa2 => ("xor-long", F23x, Binary(Long, Long, Long)),
        0xa3 => ("shl-long", F23x, Binary(Long, Long, Int)),
        0xa4 => ("shr-long", F23x, Binary(Long, Long, Int)),
        0xa5 => ("ushr-long", F23x, Binary(Long, Long, Int)),
        0xa6 => ("add-float", F23x, Binary(Float, Float, Float)),
        0xa7 => ("sub-float", F23x, Binary(Float, Float, Float)),
        0xa8 => ("mul-float", F23x, Binary(Float, Float, Float)),
        0xa9 => ("div-float", F23x, Binary(Float, Float, Float)),
        0xaa => ("rem-float", F23x, Binary(Float, Float, Float)),
        0xab => ("add-double", F23x, Binary(Double, Double, Double)),
        0xac => ("sub-double", F23x, Binary(Double, Double, Double)),
        0xad => ("mul-double", F23x, Binary(Double, Double, Double)),
        0xae => ("div-double", F23x, Binary(Double, Double, Double)),
        0xaf => ("rem-double", F23x, Binary(Double, Double, Double)),
        0xb0 => ("add-int/2addr", F12x2, Binary(Int, Int, Int)),
        0xb1 => ("sub-int/2addr", F12x2, Binary(Int, Int, Int)),
        0xb2 => ("mul-int/2addr", F12x2, Binary(Int, Int, Int)),
        0xb3 => ("div-int/2addr", F12x2, Division(Int)),
        0xb4 => ("rem-int/2addr", F12x2, Division(Int)),
        0xb5 => ("and-int/2addr", F12x2, Bits),
        0xb6 => ("or-int/2addr", F12x2, Bits),
        0xb7 => ("xor-int/2addr", F12x2, Bits),
        0xb8 => ("shl-int/2addr", F12x2, Binary(Int, Int, Int)),
        0xb9 => ("shr-int/2addr", F12x2, Binary(Int, Int, Int)),
        0xba => ("ushr-int/2addr", F12x2, Binary(Int, Int, Int)),
        0xbb => ("add-long/2addr", F12x2, Binary(Long, Long, Long)),
        0xbc => ("sub-long/2addr", F12x2, Binary(Long, Long, Long)),
        0xbd => ("mul-long/2addr", F12x2, Binary(Long, Long, Long)),
        0xbe => ("div-long/2addr", F12x2, Division(Long)),
        0xbf => ("rem-long/2addr", F12x2, Division(Long)),
        0xc0 => ("and-long/2addr", F12x2, Binary(Long, Long, Long)),
        0xc1 => ("or-long/2addr", F12x2, Binary(Long, Long, Long)),
        0xc2 => ("xor-long/2addr", F12x2, Binary(Long, Long, Long)),
        0xc3 => ("shl-long/2addr", F12x2, Binary(Long, Long, Int)),
        0xc4 => ("shr-long/2addr", F12x2, Binary(Long, Long, Int)),
        0xc5 => ("ushr-long/2addr", F12x2, Binary(Long, Long, Int)),
        0xc6 => ("add-float/2addr", F12x2, Binary(Float, Float, Float)),
        0xc7 => ("sub-float/2addr", F12x2, Binary(Float, Float, Float)),
        0xc8 => ("mul-float/2addr", F12x2, Binary(Float, Float, Float)),
        0xc9 => ("div-float/2addr", F12x2, Binary(Float, Float, Float)),
        0xca => ("rem-float/2addr", F12x2, Binary(Float, Float, Float)),
        0xcb => ("add-double/2addr", F12x2, Binary(Double, Double, Double)),
        0xcc => ("sub-double/2addr", F12x2, Binary(Double, Double, Double)),
        0xcd => ("mul-double/2addr", F12x2, Binary(Double, Double, Double)),
        0xce => ("div-double/2addr", F12x2, Binary(Double, Double, Double)),
        0xcf => ("rem-double/2addr", F12x2, Binary(Double, Double, Double)),
        0xd0 => ("add-int/lit16", F22s, Literal),
        0xd1 => ("rsub-int", F22s, Literal),
        0xd2 => ("mul-int/lit16", F22s, Literal),
        0xd3 => ("div-int/lit16", F22s, LiteralDivision),
        0xd4 => ("rem-int/lit16", F22s, LiteralDivision),
        0xd5 => ("and-int/lit16", F22s, LiteralBits),
        0xd6 => ("or-int/lit16", F22s, LiteralBits),
        0xd7 => ("xor-int/lit16", F22s, LiteralBits),
        0xd8 => ("add-int/lit8", F22b, Literal),
        0xd9 => ("rsub-int/lit8", F22b, Literal),
        0xda => ("mul-int/lit8", F22b, Literal),
        0xdb => ("div-int/lit8", F22b, LiteralDivision),
        0xdc => ("rem-int/lit8", F22b, LiteralDivision),
        0xdd => ("and-int/lit8", F22b, LiteralBits),
        0xde => ("or-int/lit8", F22b, LiteralBits),
        0xdf => ("xor-int/lit8", F22b, LiteralBits),
        0xe0 => ("shl-int/lit8", F22b, Literal),
        0xe1 => ("shr-int/lit8", F22b, Literal),
        0xe2 => ("ushr-int/lit8", F22b, Literal),
        0xfa => ("invoke-polymorphic", F45cc, InvokePolymorphic),
        0xfb => ("invoke-polymorphic/range", F4rcc, InvokePolymorphic),
        0xfc => ("invoke-custom", F35c, InvokeCustom),
        0xfd => ("invoke-custom/range", F3rc, InvokeCustom),
        0xfe => ("const-method-handle", F21c, ConstMethodHandle),
        0xff => ("const-method-type", F21c, ConstMethodType),
        _ => ("unused opcode", F10x, Unused),
    }
}

/// Returns the first dex version that has the opcode.
pub(crate) fn since(op: u8) -> u32 {
    match op {
        0xfa..=0xfd => 38,
        0xfe | 0xff => 39,
        _ => 35,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_stand_where_the_bytecode_document_has_them() {
        for (op, name) in [
            (0x0e, "return-void"),
            (0x12, "const/4"),
            (0x1a, "const-string"),
            (0x2b, "packed-switch"),
            (0x31, "cmp-long"),
            (0x3d, "if-lez"),
            (0x44, "aget"),
            (0x51, "aput-short"),
            (0x5b, "iput-object"),
            (0x6d, "sput-short"),
            (0x71, "invoke-static"),
            (0x78, "invoke-interface/range"),
            (0x7b, "neg-int"),
            (0x8f, "int-to-short"),
            (0x90, "add-int"),
            (0x9b, "add-long"),
            (0xa6, "add-float"),
            (0xaf, "rem-double"),
            (0xb0, "add-int/2addr"),
            (0xcf, "rem-double/2addr"),
            (0xd1, "rsub-int"),
            (0xe2, "ushr-int/lit8"),
            (0xff, "const-method-type"),
        ] {
            assert_eq!(opcode(op).0, name);
        }
        let unused: Vec<u8> = (0..=255).filter(|&op| opcode(op).2 == Unused).collect();
        let expected: Vec<u8> = (0x3e..=0x43).chain([0x73, 0x79, 0x7a]).chain(0xe3..=0xf9).collect();
        assert_eq!(unused, expected);
    }
}
