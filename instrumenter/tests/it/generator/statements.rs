//! The statements of a random body, nested in each other.

use super::body::{DOUBLE, FUEL, INT_A, INT_B, LOCKS, LONG, Method, OBJECT};

impl Method<'_> {
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

    pub(super) fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }

    pub(super) fn statement(&mut self, depth: u32) {
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
                // A value on the stack below a call.
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

    /// A synchronized block as javac compiles it.
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

    /// A throw or, outside of locks, a return, on some paths.
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

    /// Sets the locals that are not arguments.
    pub(super) fn set_up(&mut self, arguments: bool) {
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

    /// The body of a constructor after its super call: it calls no method of the class, which would create objects
    /// without end.
    pub(super) fn post_super(&mut self) {
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
