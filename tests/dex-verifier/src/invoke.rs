//! Calls: receivers, arguments, and what a constructor call initializes.

use crate::execute::{UNINITIALIZED, WRONG_CLASS};
use crate::file::{Member, Proto};
use crate::flow::{Flow, Slot};
use crate::instruction::Instruction;
use crate::opcodes::{Call, Effect};
use crate::report::Severity;
use crate::structure::Fault;
use crate::types::{Answer, TypeId};
use crate::value::{FLOAT, INT, Value};

const ACC_PRIVATE: u32 = 0x2;
const ACC_STATIC: u32 = 0x8;

impl Flow<'_, '_> {
    fn callee(&self, insn: &Instruction) -> Result<Member, Fault> {
        let method = self.context.file.methods.get(insn.b as usize).copied();
        method.ok_or_else(|| self.fault("an index is outside of its table", "method"))
    }

    fn callee_text(&self, method: Member) -> String {
        let file = &self.context.file;
        let proto = file.proto_of(method).map(|proto| file.proto_text(proto)).unwrap_or_default();
        let class = String::from_utf8_lossy(file.descriptor(method.class).unwrap_or(b"?")).into_owned();
        format!("{class}->{}{proto}", file.text(method.name))
    }

    pub(crate) fn invoke(&mut self, call: Call, insn: &Instruction) -> Result<(), Fault> {
        let context = self.context;
        let method = self.callee(insn)?;
        let name = context.file.string(method.name).unwrap_or_default();
        let constructs = name == b"<init>";
        if name.starts_with(b"<") && !(constructs && call == Call::Direct) {
            return Err(
                self.fault("a constructor is called by the wrong instruction", self.callee_text(method))
            );
        }
        let proto = context.file.proto_of(method);
        let proto = proto.ok_or_else(|| self.fault("an index is outside of its table", "prototype"))?;
        self.check_declaration(call, method)?;
        let mut used = 0;
        if call != Call::Static {
            self.check_receiver(call, insn, method, constructs)?;
            used = 1;
        }
        self.check_arguments(insn, proto, used)?;
        if constructs {
            self.initialize(insn)?;
        }
        self.set_result(Slot::of(&context.types, context.types.of(proto.returns)));
        Ok(())
    }

    /// Compares the instruction with the declaration of the method, if the file has it.
    fn check_declaration(&mut self, call: Call, method: Member) -> Result<(), Fault> {
        let types = &self.context.types;
        let interface = types.is_interface(types.of(method.class));
        if interface && call == Call::Virtual {
            self.report(Severity::Soft, "invoke-virtual of an interface method", self.callee_text(method));
        } else if call == Call::Interface && types.is_definite_class(types.of(method.class)) {
            self.report(Severity::Soft, "invoke-interface of a class", self.callee_text(method));
        }
        let Some(found) = self.context.members.method(types, method) else { return Ok(()) };
        let is_static = found.access & ACC_STATIC != 0;
        if found.access & ACC_PRIVATE != 0 && matches!(call, Call::Virtual | Call::Super) && found.direct {
            return Err(
                self.fault("invoke-virtual or invoke-super of a private method", self.callee_text(method))
            );
        }
        let fits = match call {
            Call::Static => is_static,
            Call::Direct => found.direct && !is_static,
            Call::Virtual | Call::Super | Call::Interface => !found.direct,
        };
        if !fits {
            self.report(
                Severity::Soft,
                "an invoke of the wrong kind for the method",
                self.callee_text(method),
            );
        } else if found.access & ACC_PRIVATE != 0 && found.class != self.method.class {
            self.report(
                Severity::Soft,
                "a private method of another class is called",
                self.callee_text(method),
            );
        }
        Ok(())
    }

    fn check_receiver(
        &mut self,
        call: Call,
        insn: &Instruction,
        method: Member,
        constructs: bool,
    ) -> Result<(), Fault> {
        let types = &self.context.types;
        let register = insn.argument(0).ok_or_else(|| self.fault("an invoke has no receiver", insn.name))?;
        self.expect_reference(register)?;
        let class = types.of(method.class);
        let held = match self.line.get(register) {
            Value::Reference(held) => held,
            value if value.is_uninitialized() && !constructs => {
                let detail =
                    format!("v{register} holds {} in {}", self.shown(value), self.callee_text(method));
                return Err(self.fault(UNINITIALIZED, detail));
            }
            Value::UninitializedThis => self.method.class,
            Value::New(pc) => self.allocated(pc),
            _ => return Ok(()),
        };
        if call != Call::Interface && types.assignable(class, held) == Answer::No {
            let detail = format!("v{register} holds {} in {}", types.name(held), self.callee_text(method));
            return Err(self.fault(WRONG_CLASS, detail));
        }
        Ok(())
    }

    /// Returns the class of the `new-instance` at `pc`.
    fn allocated(&self, pc: u32) -> TypeId {
        match Instruction::decode(&self.code.units, pc as usize) {
            Some(insn) if insn.effect == Effect::NewInstance => self.context.types.of(insn.b),
            _ => TypeId::UNKNOWN,
        }
    }

    fn initialize(&mut self, insn: &Instruction) -> Result<(), Fault> {
        let register = insn.argument(0).unwrap_or_default();
        let value = self.line.get(register);
        let class = match value {
            Value::UninitializedThis => self.method.class,
            Value::New(pc) => self.allocated(pc),
            _ => {
                let detail = format!("v{register} holds {}", self.shown(value));
                return Err(self.fault("a constructor is called on an initialized object", detail));
            }
        };
        self.line.replace(value, Value::Reference(class));
        if value == Value::UninitializedThis {
            self.line.this_initialized = true;
        }
        Ok(())
    }

    /// Checks the arguments behind the first `used` registers.
    fn check_arguments(&self, insn: &Instruction, proto: &Proto, mut used: u32) -> Result<(), Fault> {
        let context = self.context;
        let count = |needed: u32| {
            let detail = format!("{} registers, the prototype takes {needed}", insn.a);
            self.fault("an invoke passes the wrong number of arguments", detail)
        };
        if insn.a > self.code.outs {
            let detail = format!("{} registers, outs_size is {}", insn.a, self.code.outs);
            return Err(self.fault("an invoke passes more arguments than outs_size", detail));
        }
        let parameters = context.file.parameters(proto);
        let slots =
            || parameters.iter().map(|&index| Slot::of(&context.types, context.types.of(u32::from(index))));
        let needed = used + slots().map(|slot| if matches!(slot, Slot::Two(_)) { 2 } else { 1 }).sum::<u32>();
        if needed != insn.a {
            return Err(count(needed));
        }
        for slot in slots() {
            let register = insn.argument(used).ok_or_else(|| count(needed))?;
            used += 1;
            match slot {
                Slot::Void => {}
                Slot::One(Value::Reference(class)) => self.expect_class(register, class)?,
                Slot::One(Value::FLOAT) => self.expect(register, FLOAT, "float")?,
                // ART lets every integer pass for every other one here.
                Slot::One(_) => self.expect(register, INT, "int")?,
                Slot::Two(uses) => {
                    self.expect_wide(register, uses)?;
                    if insn.argument(used) != Some(register + 1) {
                        let detail = format!("v{register}");
                        return Err(self.fault("a 64-bit argument is not passed in a register pair", detail));
                    }
                    used += 1;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn invoke_polymorphic(&mut self, insn: &Instruction) -> Result<(), Fault> {
        let context = self.context;
        let method = self.callee(insn)?;
        let class = context.types.of(method.class);
        let receiver = insn.argument(0).ok_or_else(|| self.fault("an invoke has no receiver", insn.name))?;
        let handle = context.file.descriptor(method.class);
        if !matches!(handle, Some(b"Ljava/lang/invoke/MethodHandle;" | b"Ljava/lang/invoke/VarHandle;")) {
            return Err(self
                .fault("invoke-polymorphic of a method that is not polymorphic", self.callee_text(method)));
        }
        self.expect_class(receiver, class)?;
        let proto = context.file.protos.get(insn.proto as usize);
        let proto = proto.ok_or_else(|| self.fault("an index is outside of its table", "prototype"))?;
        self.check_arguments(insn, proto, 1)?;
        self.set_result(Slot::of(&context.types, context.types.of(proto.returns)));
        Ok(())
    }

    pub(crate) fn invoke_custom(&mut self, insn: &Instruction) -> Result<(), Fault> {
        let context = self.context;
        let proto = context.file.call_site_proto(insn.b);
        let proto = proto.ok_or_else(|| self.fault("a call site is broken", insn.b.to_string()))?;
        self.check_arguments(insn, proto, 0)?;
        self.set_result(Slot::of(&context.types, context.types.of(proto.returns)));
        Ok(())
    }
}
