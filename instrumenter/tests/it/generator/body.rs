//! The body of a method under construction: code with jumps that get their targets later, handlers, and a frame
//! wherever paths join.

use crate::assembler::Body;

/// Marsaglia's xorshift64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

/// Locals after `this`: the arguments int, long, Object, then int, double, int.
pub(super) const INT_A: u16 = 0;
pub(super) const LONG: u16 = 1;
pub(super) const OBJECT: u16 = 3;
pub(super) const INT_B: u16 = 4;
pub(super) const DOUBLE: u16 = 5;
/// Iterations that loops may still make.
pub(super) const FUEL: u16 = 7;
/// Locks of nested blocks, one local each; unset outside.
pub(super) const LOCKS: u16 = 8;

pub(super) struct Refs {
    pub(super) object: [u8; 2],
    pub(super) throwable: u16,
    pub(super) arithmetic: u16,
    pub(super) runtime: u16,
    pub(super) runtime_init: [u8; 2],
    pub(super) object_init: [u8; 2],
    pub(super) sleep: [u8; 2],
    pub(super) park: [u8; 2],
    pub(super) wait: [u8; 2],
    pub(super) hash: [u8; 2],
    pub(super) this_init: [u8; 2],
    /// For each method of the class, whether it is static.
    pub(super) methods: Vec<([u8; 2], bool)>,
}

pub(super) struct Frame {
    pub(super) pc: usize,
    pub(super) locks: u16,
    /// The class of the exception on a handler's stack.
    pub(super) thrown: Option<u16>,
    pub(super) before_super: bool,
}

pub(super) struct Method<'r> {
    pub(super) code: Vec<u8>,
    pub(super) handlers: Vec<[u16; 4]>,
    pub(super) frames: Vec<Frame>,
    pub(super) random: Random,
    pub(super) refs: &'r Refs,
    /// The index of the first of these locals: 1 if there is a `this`, and large in some methods.
    pub(super) base: u16,
    pub(super) has_this: bool,
    pub(super) this_class: u16,
    pub(super) before_super: bool,
    pub(super) locks: u16,
    /// The index of the method; it calls only later ones.
    pub(super) number: usize,
}

impl Method<'_> {
    pub(super) fn op(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    pub(super) fn local(&mut self, opcode: u8, local: u16) {
        let index = self.base + local;
        match u8::try_from(index) {
            Ok(index) if self.random.below(5) > 0 => self.op(&[opcode, index]),
            _ => {
                let [high, low] = index.to_be_bytes();
                self.op(&[196, opcode, high, low]);
            }
        }
    }

    pub(super) fn call(&mut self, opcode: u8, method: [u8; 2]) {
        self.op(&[opcode, method[0], method[1]]);
    }

    pub(super) fn frame(&mut self, thrown: Option<u16>) {
        let frame = Frame { pc: self.code.len(), locks: self.locks, thrown, before_super: self.before_super };
        self.frames.push(frame);
    }

    /// A jump that gets its target later.
    pub(super) fn jump(&mut self, opcode: u8) -> usize {
        let at = self.code.len();
        match opcode {
            200 => self.op(&[200, 0, 0, 0, 0]),
            _ => self.op(&[opcode, 0, 0]),
        }
        at
    }

    pub(super) fn goto(&mut self) -> usize {
        let opcode = if self.random.below(4) == 0 { 200 } else { 167 };
        self.jump(opcode)
    }

    /// Sets the target of a jump to the next instruction, or to `target`.
    pub(super) fn aim(&mut self, at: usize, target: usize) {
        let offset = target as i64 - at as i64;
        if self.code[at] == 200 {
            self.code[at + 1..at + 5].copy_from_slice(&(offset as i32).to_be_bytes());
        } else {
            self.code[at + 1..at + 3].copy_from_slice(&i16::try_from(offset).unwrap().to_be_bytes());
        }
    }

    pub(super) fn finish(self) -> Body {
        let u2 = |value: u16| value.to_be_bytes();
        let mut frames = Vec::new();
        let mut count = 0;
        let mut previous: Option<usize> = None;
        for frame in &self.frames {
            if previous == Some(frame.pc) {
                continue;
            }
            let delta = previous.map_or(frame.pc, |previous| frame.pc - previous - 1);
            previous = Some(frame.pc);
            count += 1;
            let mut types = Vec::new();
            if self.has_this {
                types.push(if frame.before_super {
                    vec![6]
                } else {
                    [&[7][..], &u2(self.this_class)].concat()
                });
            }
            let unset = self.base - u16::from(self.has_this);
            types.extend((0..unset).map(|_| vec![0]));
            let object = [&[7][..], &self.refs.object].concat();
            types.extend([vec![1], vec![4], object.clone(), vec![1], vec![3], vec![1]]);
            types.extend((0..frame.locks).map(|_| object.clone()));
            frames.push(255);
            frames.extend(u2(delta as u16));
            frames.extend(u2(types.len() as u16));
            frames.extend(types.concat());
            match frame.thrown {
                Some(class) => frames.extend([&[0, 1, 7][..], &u2(class)].concat()),
                None => frames.extend([0, 0]),
            }
        }
        Body {
            code: self.code,
            handlers: self.handlers,
            frames,
            frame_count: count,
            max_stack: 9,
            max_locals: self.base + LOCKS + 8,
        }
    }
}
