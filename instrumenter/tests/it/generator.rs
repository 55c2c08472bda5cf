//! Random classes that verify: structured code over locals that are all set from the start, so that every
//! frame has the same locals.

use crate::assembler::{Assembler, Body};

/// Marsaglia's xorshift64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

/// Locals behind `this`: the arguments int, long, Object, then int, double, int.
const INT_A: u16 = 0;
const LONG: u16 = 1;
const OBJECT: u16 = 3;
const INT_B: u16 = 4;
const DOUBLE: u16 = 5;
/// Rounds that loops may still make.
const FUEL: u16 = 7;
/// Locks of nested blocks, one local each; unset outside.
const LOCKS: u16 = 8;

struct Refs {
    object: [u8; 2],
    throwable: u16,
    arithmetic: u16,
    runtime: u16,
    runtime_init: [u8; 2],
    object_init: [u8; 2],
    sleep: [u8; 2],
    park: [u8; 2],
    wait: [u8; 2],
    hash: [u8; 2],
    this_init: [u8; 2],
    /// Each method of the class, and whether it is static.
    methods: Vec<([u8; 2], bool)>,
}

struct Frame {
    pc: usize,
    locks: u16,
    /// The class of what a handler has on its stack.
    thrown: Option<u16>,
    before_super: bool,
}

struct Method<'r> {
    code: Vec<u8>,
    handlers: Vec<[u16; 4]>,
    frames: Vec<Frame>,
    random: Random,
    refs: &'r Refs,
    /// Where the locals above begin: 1 if there is a `this`, and far up in some methods.
    base: u16,
    has_this: bool,
    this_class: u16,
    before_super: bool,
    locks: u16,
    /// Index of the method; it calls only later ones.
    number: usize,
}

impl Method<'_> {
    fn op(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    fn local(&mut self, opcode: u8, local: u16) {
        let index = self.base + local;
        match u8::try_from(index) {
            Ok(index) if self.random.below(5) > 0 => self.op(&[opcode, index]),
            _ => {
                let [high, low] = index.to_be_bytes();
                self.op(&[196, opcode, high, low]);
            }
        }
    }

    fn call(&mut self, opcode: u8, method: [u8; 2]) {
        self.op(&[opcode, method[0], method[1]]);
    }

    fn frame(&mut self, thrown: Option<u16>) {
        let frame = Frame { pc: self.code.len(), locks: self.locks, thrown, before_super: self.before_super };
        self.frames.push(frame);
    }

    /// A jump to be aimed later.
    fn jump(&mut self, opcode: u8) -> usize {
        let at = self.code.len();
        match opcode {
            200 => self.op(&[200, 0, 0, 0, 0]),
            _ => self.op(&[opcode, 0, 0]),
        }
        at
    }

    fn goto(&mut self) -> usize {
        let opcode = if self.random.below(4) == 0 { 200 } else { 167 };
        self.jump(opcode)
    }

    /// Aims a jump at what comes next, or at `target`.
    fn aim(&mut self, at: usize, target: usize) {
        let offset = target as i64 - at as i64;
        if self.code[at] == 200 {
            self.code[at + 1..at + 5].copy_from_slice(&(offset as i32).to_be_bytes());
        } else {
            self.code[at + 1..at + 3].copy_from_slice(&i16::try_from(offset).unwrap().to_be_bytes());
        }
    }

    fn push_int(&mut self) {
        match self.random.below(5) {
            0 => {
                let small = self.random.next() as u8;
                self.op(&[16, small]);
            }
            1 => self.local(21, INT_B),
            2 => {
                self.local(22, LONG);
                self.op(&[136]);
            }
            3 => {
                self.local(24, DOUBLE);
                self.op(&[142]);
            }
            _ => self.local(21, INT_A),
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let kinds = match (depth, self.before_super) {
            (0, _) => 4,
            (_, true) => 8,
            _ => 17,
        };
        match self.random.below(kinds) {
            0 => {
                self.push_int();
                self.push_int();
                let operation = [96, 100, 104, 126, 128, 130][self.random.below(6) as usize];
                self.op(&[operation]);
                let to = if self.random.below(2) == 0 { INT_A } else { INT_B };
                self.local(54, to);
            }
            1 => {
                self.local(22, LONG);
                self.push_int();
                self.op(&[133, 97]);
                self.local(55, LONG);
            }
            2 => {
                self.push_int();
                self.op(&[135]);
                self.local(24, DOUBLE);
                self.op(&[99]);
                self.local(57, DOUBLE);
            }
            3 => {
                let count = self.random.below(6) as usize;
                self.op(&[0; 6][..count]);
            }
            4 => self.branch(depth),
            5 => self.repeat(depth),
            6 | 7 => self.switch(depth),
            8 | 9 => self.call_another(),
            10 => self.guard(depth),
            11 => self.lock(depth),
            12 => {
                self.local(21, INT_A);
                self.local(21, INT_B);
                self.op(&[108]);
                self.local(54, INT_B);
            }
            13 => self.wait(),
            14 => self.leave(),
            15 => {
                // A value below that outlives a call.
                self.push_int();
                self.call_value();
                self.op(&[130]);
                self.local(54, INT_A);
            }
            _ => {
                self.local(25, OBJECT);
                let hash = self.refs.hash;
                self.call(182, hash);
                self.op(&[87]);
            }
        }
    }

    fn branch(&mut self, depth: u32) {
        self.push_int();
        let condition = 153 + self.random.below(6) as u8;
        let to_else = self.jump(condition);
        self.statements(depth - 1);
        let to_end = self.goto();
        let other = self.code.len();
        self.aim(to_else, other);
        self.frame(None);
        self.statements(depth - 1);
        let end = self.code.len();
        self.aim(to_end, end);
        self.frame(None);
        self.op(&[0]);
    }

    fn repeat(&mut self, depth: u32) {
        let head = self.code.len();
        self.frame(None);
        let index = (self.base + FUEL).to_be_bytes();
        self.op(&[196, 132, index[0], index[1], 0xFF, 0xFF]);
        self.local(21, FUEL);
        let out = self.jump(155);
        self.statements(depth - 1);
        let back = self.goto();
        self.aim(back, head);
        let end = self.code.len();
        self.aim(out, end);
        self.frame(None);
        self.op(&[0]);
    }

    fn switch(&mut self, depth: u32) {
        self.push_int();
        let cases = 1 + self.random.below(3) as usize;
        let at = self.code.len();
        let table = self.random.below(2) == 0;
        self.op(&[if table { 170 } else { 171 }]);
        while !self.code.len().is_multiple_of(4) {
            self.op(&[0]);
        }
        let operands = self.code.len();
        let size = if table { 12 + 4 * cases } else { 8 + 8 * cases };
        self.code.resize(operands + size, 0);
        let put = |code: &mut Vec<u8>, at: usize, value: i32| {
            code[at..at + 4].copy_from_slice(&value.to_be_bytes())
        };
        if table {
            put(&mut self.code, operands + 4, -1);
            put(&mut self.code, operands + 8, cases as i32 - 2);
        } else {
            put(&mut self.code, operands + 4, cases as i32);
        }
        let mut ends = Vec::new();
        for case in 0..=cases {
            let here = (self.code.len() - at) as i32;
            match case.checked_sub(1) {
                None => put(&mut self.code, operands, here),
                Some(case) if table => put(&mut self.code, operands + 12 + 4 * case, here),
                Some(case) => {
                    put(&mut self.code, operands + 8 + 8 * case, case as i32 * 3 - 1);
                    put(&mut self.code, operands + 12 + 8 * case, here);
                }
            }
            self.frame(None);
            self.statements(depth - 1);
            ends.push(self.goto());
        }
        let end = self.code.len();
        ends.into_iter().for_each(|at| self.aim(at, end));
        self.frame(None);
        self.op(&[0]);
    }

    /// Pushes the result of a method of this class.
    fn call_value(&mut self) {
        let later = self.refs.methods.len() - self.number - 1;
        if later == 0 {
            self.push_int();
            return;
        }
        let (method, is_static) =
            self.refs.methods[self.number + 1 + self.random.below(later as u64) as usize];
        if !is_static {
            let [high, low] = self.this_class.to_be_bytes();
            self.op(&[187, high, low, 89]);
            self.push_int();
            let init = self.refs.this_init;
            self.call(183, init);
        }
        self.push_int();
        self.local(22, LONG);
        self.local(25, OBJECT);
        self.call(if is_static { 184 } else { 182 }, method);
    }

    fn call_another(&mut self) {
        self.call_value();
        self.local(54, INT_B);
    }

    /// A try with one or two handlers, some of which cover each other.
    fn guard(&mut self, depth: u32) {
        let start = self.code.len();
        self.op(&[0]);
        self.statements(depth - 1);
        let end = self.code.len();
        let mut outs = vec![self.goto()];
        let mut covered = end;
        for _ in 0..1 + self.random.below(2) {
            let (catch, shown) = match self.random.below(3) {
                0 => (0, self.refs.throwable),
                1 => (self.refs.arithmetic, self.refs.arithmetic),
                _ => (self.refs.runtime, self.refs.runtime),
            };
            let handler = self.code.len();
            self.frame(Some(shown));
            self.handlers.push([start as u16, covered as u16, handler as u16, catch]);
            match self.random.below(4) {
                0 => self.op(&[191]),
                _ => {
                    self.op(&[87]);
                    self.statements(depth - 1);
                    outs.push(self.goto());
                }
            }
            if self.random.below(2) == 0 {
                covered = self.code.len();
            }
        }
        let after = self.code.len();
        outs.into_iter().for_each(|at| self.aim(at, after));
        self.frame(None);
        self.op(&[0]);
    }

    /// A synchronized block as javac writes it.
    fn lock(&mut self, depth: u32) {
        let lock = LOCKS + self.locks;
        self.local(25, OBJECT);
        self.op(&[89]);
        self.local(58, lock);
        self.op(&[194]);
        self.locks += 1;
        let start = self.code.len();
        self.statements(depth - 1);
        self.local(25, lock);
        self.op(&[195]);
        let end = self.code.len();
        let out = self.goto();
        let handler = self.code.len();
        let throwable = self.refs.throwable;
        self.frame(Some(throwable));
        self.local(25, lock);
        self.op(&[195]);
        let released = self.code.len();
        self.op(&[191]);
        self.handlers.push([start as u16, end as u16, handler as u16, 0]);
        self.handlers.push([handler as u16, released as u16, handler as u16, 0]);
        self.locks -= 1;
        let after = self.code.len();
        self.aim(out, after);
        self.frame(None);
        self.op(&[0]);
    }

    fn wait(&mut self) {
        match self.random.below(3) {
            0 => {
                self.op(&[9]);
                let sleep = self.refs.sleep;
                self.call(184, sleep);
            }
            1 => {
                self.local(25, OBJECT);
                self.op(&[10]);
                let park = self.refs.park;
                self.call(184, park);
            }
            // Throws where the lock is not held.
            _ => {
                self.local(25, OBJECT);
                self.op(&[10]);
                let wait = self.refs.wait;
                self.call(182, wait);
            }
        }
    }

    /// A throw or, outside of locks, a return, on some ways through.
    fn leave(&mut self) {
        self.push_int();
        self.op(&[6, 126]);
        let on = self.jump(154);
        if self.locks == 0 && self.random.below(2) == 0 && self.number != usize::MAX {
            self.push_int();
            self.op(&[172]);
        } else {
            let [high, low] = self.refs.runtime.to_be_bytes();
            self.op(&[187, high, low, 89]);
            let init = self.refs.runtime_init;
            self.call(183, init);
            self.op(&[191]);
        }
        let here = self.code.len();
        self.aim(on, here);
        self.frame(None);
        self.op(&[0]);
    }

    /// Sets the locals that are no arguments.
    fn set_up(&mut self, arguments: bool) {
        if !arguments {
            self.op(&[10]);
            self.local(55, LONG);
            self.local(25, OBJECT);
            self.op(&[87]);
        }
        self.op(&[6]);
        self.local(54, INT_B);
        self.op(&[15]);
        self.local(57, DOUBLE);
        let fuel = 3 + self.random.below(6) as u8;
        self.op(&[16, fuel]);
        self.local(54, FUEL);
    }

    fn finish(self) -> Body {
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

/// A class `name` with `public static int run(int, long, Object)`.
pub(crate) fn class(name: &str, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut class = Assembler::new(name);
    let this_class = class.this_class();
    let count = 2 + random.below(3) as usize;
    let names: Vec<String> =
        (0..count).map(|n| if n == 0 { "run".into() } else { format!("m{n}") }).collect();
    let statics: Vec<bool> = (0..count).map(|n| n == 0 || random.below(3) > 0).collect();
    const DESCRIPTOR: &str = "(IJLjava/lang/Object;)I";
    let methods = names
        .iter()
        .zip(&statics)
        .map(|(method, &is)| (class.method_ref(name, method, DESCRIPTOR), is))
        .collect();
    let refs = Refs {
        object: class.class("java/lang/Object").to_be_bytes(),
        throwable: class.class("java/lang/Throwable"),
        arithmetic: class.class("java/lang/ArithmeticException"),
        runtime: class.class("java/lang/RuntimeException"),
        runtime_init: class.method_ref("java/lang/RuntimeException", "<init>", "()V"),
        object_init: class.method_ref("java/lang/Object", "<init>", "()V"),
        sleep: class.method_ref("java/lang/Thread", "sleep", "(J)V"),
        park: class.method_ref(
            "java/util/concurrent/locks/LockSupport",
            "parkNanos",
            "(Ljava/lang/Object;J)V",
        ),
        wait: class.method_ref("java/lang/Object", "wait", "(J)V"),
        hash: class.method_ref("java/lang/Object", "toString", "()Ljava/lang/String;"),
        this_init: class.method_ref(name, "<init>", "(I)V"),
        methods,
    };
    let start = |random, has_this: bool, base: u16, number: usize| Method {
        code: Vec::new(),
        handlers: Vec::new(),
        frames: Vec::new(),
        random,
        refs: &refs,
        base,
        has_this,
        this_class,
        before_super: false,
        locks: 0,
        number,
    };

    let mut constructor = start(Random::new(random.next()), true, 1, usize::MAX);
    constructor.before_super = true;
    // The object argument's place is taken by a constant.
    constructor.op(&[1]);
    constructor.local(58, OBJECT);
    constructor.set_up(false);
    constructor.statements(2);
    constructor.op(&[42]);
    let init = refs.object_init;
    constructor.call(183, init);
    constructor.before_super = false;
    constructor.number = count - 1;
    constructor.op(&[0]);
    let [high, low] = refs.object;
    constructor.op(&[187, high, low, 89]);
    constructor.call(183, init);
    constructor.local(58, OBJECT);
    constructor.op(&[0]);
    constructor.number = usize::MAX - 1;
    constructor.post_super();
    constructor.op(&[177]);
    let body = constructor.finish();
    class.method(1, "<init>", "(I)V", &body);

    for (number, (method_name, &is_static)) in names.iter().zip(&statics).enumerate() {
        let has_this = !is_static;
        let mut method = start(Random::new(random.next()), has_this, u16::from(has_this), number);
        method.set_up(true);
        method.statements(4);
        for local in [INT_A, INT_B] {
            method.local(21, local);
        }
        method.op(&[130]);
        method.local(22, LONG);
        method.op(&[136, 130]);
        method.local(24, DOUBLE);
        method.op(&[142, 130, 172]);
        let body = method.finish();
        let synchronized = if random.below(3) == 0 { 0x20 } else { 0 };
        class.method(1 | synchronized | if is_static { 8 } else { 0 }, method_name, DESCRIPTOR, &body);
    }
    class.finish()
}

impl Method<'_> {
    /// What a constructor does once it has an object: nothing that calls a method of the class, or it
    /// would make objects without end.
    fn post_super(&mut self) {
        for _ in 0..self.random.below(4) {
            match self.random.below(4) {
                0 => self.wait(),
                1 => {
                    self.local(25, OBJECT);
                    let hash = self.refs.hash;
                    self.call(182, hash);
                    self.op(&[87]);
                }
                _ => self.statement(0),
            }
        }
    }
}
