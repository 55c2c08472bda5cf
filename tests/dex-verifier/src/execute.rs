//! What each instruction demands of the registers and leaves in them.

use crate::flow::{Flow, Refined, Slot};
use crate::instruction::Instruction;
use crate::opcodes::{Cell, Effect, Number, Test};
use crate::report::Severity;
use crate::structure::Fault;
use crate::types::{Answer, Kind, TypeId};
use crate::value::{BOOLEAN, BYTE, CHAR, DOUBLE, FLOAT, INT, INT16, LONG, Uses, Value};

pub(crate) const WRONG_TYPE: &str = "a register holds the wrong type";
pub(crate) const WRONG_CLASS: &str = "a register holds an object of the wrong class";
pub(crate) const UNINITIALIZED: &str = "an uninitialized object is used";

impl Flow<'_, '_> {
    /// Checks the instruction against the state before it and turns that into the state after it.
    pub(crate) fn execute(&mut self, insn: &Instruction) -> Result<Option<Refined>, Fault> {
        let (a, b, c) = (insn.a, insn.b, insn.c);
        match insn.effect {
            Effect::Nop if a != 0 => return Err(self.fault("control runs into a payload", "")),
            Effect::Nop | Effect::Goto => {}
            Effect::Unused => return Err(self.fault("the opcode does not exist", insn.name)),
            Effect::Move(kind) => self.copy(kind, a, b)?,
            Effect::MoveResult(kind) => self.take_result(kind, a, insn.name)?,
            Effect::MoveException => {
                let class = self.caught()?;
                self.line.set(a, Value::Reference(class));
            }
            Effect::ReturnVoid => self.return_void()?,
            Effect::Return(kind) => self.return_value(kind, a)?,
            Effect::Const => self.line.set(a, Value::constant(insn.literal)),
            Effect::ConstWide => self.line.set_wide(a, LONG | DOUBLE),
            Effect::ConstString => self.line.set(a, Value::Reference(TypeId::STRING)),
            Effect::ConstClass => self.line.set(a, Value::Reference(TypeId::CLASS)),
            Effect::ConstMethodHandle => self.line.set(a, Value::Reference(TypeId::METHOD_HANDLE)),
            Effect::ConstMethodType => self.line.set(a, Value::Reference(TypeId::METHOD_TYPE)),
            Effect::MonitorEnter => self.enter_monitor(a)?,
            Effect::MonitorExit => {
                self.expect_reference(a)?;
                if let Err(rule) = self.line.unlock(a) {
                    self.report(Severity::Lock, rule, String::new());
                }
            }
            Effect::CheckCast => {
                let class = self.cast_type(insn)?;
                self.expect_object(a)?;
                self.line.refine(a, Value::Reference(class));
            }
            Effect::InstanceOf => {
                self.cast_type(insn)?;
                self.expect_object(b)?;
                self.line.set(a, Value::BOOLEAN);
            }
            Effect::NewInstance => {
                let class = self.context.types.of(b);
                if self.context.types.is_abstract(class) {
                    let name = self.context.types.name(class);
                    self.report(Severity::Soft, "new-instance of an abstract class or interface", name);
                }
                // A second run through here must not initialize what an earlier one has left.
                self.line.invalidate(Value::New(self.pc));
                self.line.set(a, Value::New(self.pc));
            }
            Effect::Throw => self.throw(a)?,
            Effect::Switch => self.expect(a, INT, "int")?,
            Effect::If(test) => {
                self.compare(test, a, b)?;
                return Ok(self.refine_by_instance_of(insn));
            }
            Effect::Unary(to, from) => {
                self.expect_number(b, from)?;
                self.set_number(a, to);
            }
            Effect::Binary(..) | Effect::Bits | Effect::Division(_) => self.binary(insn)?,
            Effect::Literal | Effect::LiteralDivision => {
                self.expect(b, INT, "int")?;
                self.line.set(a, Value::INT);
            }
            Effect::LiteralBits => {
                self.expect(b, INT, "int")?;
                let boolean = self.line.get(b).is(BOOLEAN) && matches!(insn.literal, 0 | 1);
                self.line.set(a, if boolean { Value::BOOLEAN } else { Value::INT });
            }
            Effect::ArrayLength => {
                self.expect_array(b)?;
                self.line.set(a, Value::INT);
            }
            Effect::NewArray => self.new_array(insn)?,
            Effect::FilledNewArray => self.filled_new_array(insn)?,
            Effect::FillArrayData => self.fill_array_data(insn)?,
            Effect::ArrayGet(access) => self.array_get(access, a, b, c)?,
            Effect::ArrayPut(access) => self.array_put(access, a, b, c)?,
            Effect::InstanceGet(access) => self.instance_get(access, insn)?,
            Effect::InstancePut(access) => self.instance_put(access, insn)?,
            Effect::StaticGet(access) => self.static_get(access, insn)?,
            Effect::StaticPut(access) => self.static_put(access, insn)?,
            Effect::Invoke(call) => self.invoke(call, insn)?,
            Effect::InvokePolymorphic => self.invoke_polymorphic(insn)?,
            Effect::InvokeCustom => self.invoke_custom(insn)?,
        }
        Ok(None)
    }

    pub(crate) fn shown(&self, value: Value) -> String {
        value.shown(&self.context.types).to_string()
    }

    pub(crate) fn wrong(&self, register: u32, expected: &str) -> Fault {
        let held = self.shown(self.line.get(register));
        let rule = match self.line.get(register) {
            Value::Conflict => "a register is used that holds different types on the paths here",
            Value::Undefined => "a register is used before it is written",
            value if value.is_uninitialized() => UNINITIALIZED,
            _ => WRONG_TYPE,
        };
        self.fault(rule, format!("v{register} holds {held}, expected {expected}"))
    }

    pub(crate) fn expect(&self, register: u32, uses: Uses, name: &str) -> Result<(), Fault> {
        if self.line.get(register).is(uses) { Ok(()) } else { Err(self.wrong(register, name)) }
    }

    /// Demands a register pair that can be used as `uses`.
    pub(crate) fn expect_wide(&self, register: u32, uses: Uses) -> Result<(), Fault> {
        let name = if uses == LONG { "long" } else { "double" };
        match (self.line.get(register), self.line.get(register.saturating_add(1))) {
            (Value::Low(low), Value::High(high)) if low == high && low & uses != 0 => Ok(()),
            (Value::Low(low), _) if low & uses != 0 => {
                Err(self.wrong(register + 1, "the upper half of the pair"))
            }
            _ => Err(self.wrong(register, name)),
        }
    }

    /// Demands null or a reference, initialized or not.
    pub(crate) fn expect_reference(&self, register: u32) -> Result<(), Fault> {
        if self.line.get(register).is_reference() { Ok(()) } else { Err(self.wrong(register, "a reference")) }
    }

    /// Demands null or an initialized object.
    pub(crate) fn expect_object(&self, register: u32) -> Result<(), Fault> {
        match self.line.get(register) {
            Value::Reference(_) => Ok(()),
            value if value.is_null() => Ok(()),
            _ => Err(self.wrong(register, "an object")),
        }
    }

    /// Demands an object that may be assigned to `class`, or null.
    pub(crate) fn expect_class(&self, register: u32, class: TypeId) -> Result<(), Fault> {
        self.expect_object(register)?;
        let Value::Reference(held) = self.line.get(register) else { return Ok(()) };
        if self.context.types.assignable(class, held) == Answer::No {
            let types = &self.context.types;
            let detail = format!("v{register} holds {}, expected {}", types.name(held), types.name(class));
            return Err(self.fault(WRONG_CLASS, detail));
        }
        Ok(())
    }

    fn expect_number(&self, register: u32, number: Number) -> Result<(), Fault> {
        match number {
            Number::Int => self.expect(register, INT, "int"),
            Number::Float => self.expect(register, FLOAT, "float"),
            Number::Long => self.expect_wide(register, LONG),
            Number::Double => self.expect_wide(register, DOUBLE),
            Number::Byte => self.expect(register, BYTE, "byte"),
            Number::Char => self.expect(register, CHAR, "char"),
            Number::Short => self.expect(register, INT16, "short"),
        }
    }

    fn set_number(&mut self, register: u32, number: Number) {
        match number {
            Number::Long => self.line.set_wide(register, LONG),
            Number::Double => self.line.set_wide(register, DOUBLE),
            Number::Int => self.line.set(register, Value::INT),
            Number::Float => self.line.set(register, Value::FLOAT),
            Number::Byte => self.line.set(register, Value::BYTE),
            Number::Char => self.line.set(register, Value::CHAR),
            Number::Short => self.line.set(register, Value::INT16),
        }
    }

    /// Writes what a type takes.
    pub(crate) fn set_slot(&mut self, register: u32, slot: Slot) {
        match slot {
            Slot::Void => {}
            Slot::One(value) => self.line.set(register, value),
            Slot::Two(uses) => self.line.set_wide(register, uses),
        }
    }

    /// Makes a value the result of an invoke.
    pub(crate) fn set_result(&mut self, slot: Slot) {
        self.line.result = match slot {
            Slot::Void => [Value::Conflict, Value::Undefined],
            Slot::One(value) => [value, Value::Undefined],
            Slot::Two(uses) => [Value::Low(uses), Value::High(uses)],
        };
    }

    fn copy(&mut self, kind: Cell, to: u32, from: u32) -> Result<(), Fault> {
        let value = self.line.get(from);
        match kind {
            // ART lets conflicts be copied, as long as they are not used.
            Cell::Narrow if value.is_narrow() || value == Value::Conflict => self.line.set(to, value),
            Cell::Object if value.is_reference() || value == Value::Conflict => {
                self.line.copy_object(to, from)
            }
            Cell::Narrow => return Err(self.wrong(from, "a 32-bit value")),
            Cell::Object => return Err(self.wrong(from, "a reference")),
            Cell::Wide => match (value, self.line.get(from.saturating_add(1))) {
                (Value::Low(low), Value::High(high)) if low == high => self.line.set_wide(to, low),
                (Value::Low(_), _) => return Err(self.wrong(from + 1, "the upper half of the pair")),
                _ => return Err(self.wrong(from, "a 64-bit value")),
            },
        }
        Ok(())
    }

    fn take_result(&mut self, kind: Cell, to: u32, name: &str) -> Result<(), Fault> {
        let [low, high] = self.line.result;
        if low == Value::Undefined {
            return Err(self.fault("move-result does not follow an invoke", name));
        }
        match (kind, low, high) {
            (Cell::Narrow, value, _) if value.is_narrow() => self.line.set(to, value),
            (Cell::Object, Value::Reference(_), _) => self.line.set(to, low),
            (Cell::Wide, Value::Low(uses), Value::High(_)) => self.line.set_wide(to, uses),
            (_, Value::Conflict, _) => {
                return Err(self.fault("move-result of a call that returns nothing", name));
            }
            _ => {
                let detail = format!("{name} of {}", self.shown(low));
                return Err(self.fault("move-result of the wrong kind", detail));
            }
        }
        Ok(())
    }

    /// Returns the class of the exception in the handler that starts here.
    fn caught(&self) -> Result<TypeId, Fault> {
        let types = &self.context.types;
        let mut caught = None;
        for handler in self.code.handlers.iter().flatten().filter(|handler| handler.address == self.pc) {
            let class = handler.catches.map_or(TypeId::THROWABLE, |index| types.of(index));
            if types.assignable(TypeId::THROWABLE, class) == Answer::No {
                return Err(self.fault("a handler catches a class that is no Throwable", types.name(class)));
            }
            caught = Some(caught.map_or(class, |other| types.merge(other, class)));
        }
        match caught {
            Some(class) if self.pc != 0 => Ok(class),
            _ => Err(self.fault("move-exception is not the start of a handler", "")),
        }
    }

    fn return_type(&self) -> TypeId {
        let file = &self.context.file;
        let method = file.methods.get(self.method.index as usize);
        let proto = method.and_then(|&method| file.proto_of(method));
        proto.map_or(TypeId::UNKNOWN, |proto| self.context.types.of(proto.returns))
    }

    fn check_constructor_return(&self) -> Result<(), Fault> {
        if self.method.is_constructor && !self.line.this_initialized {
            return Err(self.fault("a constructor returns before it called another constructor", ""));
        }
        Ok(())
    }

    fn return_void(&self) -> Result<(), Fault> {
        self.check_constructor_return()?;
        if self.context.types.kind(self.return_type()) == Kind::Void {
            return Ok(());
        }
        Err(self.fault("a return does not fit the return type", "return-void"))
    }

    fn return_value(&self, kind: Cell, register: u32) -> Result<(), Fault> {
        self.check_constructor_return()?;
        let returns = self.return_type();
        match (kind, Slot::of(&self.context.types, returns)) {
            (Cell::Narrow, Slot::One(expected)) if expected.is_narrow() => {
                let value = self.line.get(register);
                // Compilers return ints as smaller types, and synthetic methods bytes as booleans.
                let converted = expected != Value::FLOAT
                    && (value == Value::INT || (expected == Value::BOOLEAN && value == Value::BYTE));
                let uses = match expected {
                    Value::BOOLEAN => BOOLEAN,
                    Value::BYTE => BYTE,
                    Value::CHAR => CHAR,
                    Value::INT16 => INT16,
                    Value::FLOAT => FLOAT,
                    _ => INT,
                };
                if converted { Ok(()) } else { self.expect(register, uses, &self.shown(expected)) }
            }
            (Cell::Wide, Slot::Two(uses)) => self.expect_wide(register, uses),
            (Cell::Object, Slot::One(Value::Reference(class))) => self.expect_class(register, class),
            _ => Err(self.fault("a return does not fit the return type", self.context.types.name(returns))),
        }
    }

    fn enter_monitor(&mut self, register: u32) -> Result<(), Fault> {
        self.expect_reference(register)?;
        if let Err(rule) = self.line.lock(register, self.pc) {
            self.report(Severity::Lock, rule, String::new());
            return Ok(());
        }
        // A copy made right before refers to the same lock.
        match self.previous {
            [Some(copy), _] if copy.effect == Effect::Move(Cell::Object) && copy.b == register => {
                self.line.copy_object(copy.a, register);
            }
            [Some(first), Some(second)]
                if first.effect == Effect::ConstClass
                    && second.effect == Effect::ConstClass
                    && first.b == second.b =>
            {
                if first.a == register {
                    self.line.copy_object(second.a, register);
                } else if second.a == register {
                    self.line.copy_object(first.a, register);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn cast_type(&self, insn: &Instruction) -> Result<TypeId, Fault> {
        let class = self.context.types.of(insn.index());
        match self.context.types.kind(class) {
            Kind::Class | Kind::Array(_) => Ok(class),
            _ => Err(self.fault("a cast to a type that is no class", self.context.types.name(class))),
        }
    }

    fn throw(&self, register: u32) -> Result<(), Fault> {
        self.expect_object(register)?;
        match self.line.get(register) {
            Value::Reference(class)
                if self.context.types.assignable(TypeId::THROWABLE, class) == Answer::No =>
            {
                Err(self.fault("a thrown object is no Throwable", self.context.types.name(class)))
            }
            _ => Ok(()),
        }
    }

    fn compare(&self, test: Test, a: u32, b: u32) -> Result<(), Fault> {
        let (first, second) = (self.line.get(a), self.line.get(b));
        match test {
            Test::Order => {
                self.expect(a, INT, "int")?;
                self.expect(b, INT, "int")
            }
            Test::OrderZero => self.expect(a, INT, "int"),
            Test::EqualZero if first.is_reference() || first.is(INT) => Ok(()),
            Test::EqualZero => Err(self.wrong(a, "int or a reference")),
            Test::Equal => {
                let references = first.is_reference() && second.is_reference();
                if references || (first.is(INT) && second.is(INT)) {
                    return Ok(());
                }
                let usable = |value: Value| value.is_reference() || value.is(INT);
                if !usable(first) {
                    return Err(self.wrong(a, "int or a reference"));
                }
                if !usable(second) {
                    return Err(self.wrong(b, "int or a reference"));
                }
                let detail = format!("v{a} holds {}, v{b} {}", self.shown(first), self.shown(second));
                Err(self.fault("an int and a reference are compared", detail))
            }
        }
    }

    fn binary(&mut self, insn: &Instruction) -> Result<(), Fault> {
        let (to, left, right) = match insn.effect {
            Effect::Binary(to, left, right) => (to, left, right),
            Effect::Division(kind) => (kind, kind, kind),
            _ => (Number::Int, Number::Int, Number::Int),
        };
        let in_place = insn.format == crate::opcodes::Format::F12x2;
        let (first, second) = if in_place { (insn.a, insn.b) } else { (insn.b, insn.c) };
        self.expect_number(first, left)?;
        self.expect_number(second, right)?;
        if insn.effect == Effect::Bits
            && self.line.get(first).is(BOOLEAN)
            && self.line.get(second).is(BOOLEAN)
        {
            self.line.set(insn.a, Value::BOOLEAN);
        } else {
            self.set_number(insn.a, to);
        }
        Ok(())
    }
}
