//! Arrays and fields.

use crate::execute::WRONG_TYPE;
use crate::file::Member;
use crate::flow::{Flow, Slot};
use crate::instruction::Instruction;
use crate::opcodes::Access;
use crate::report::Severity;
use crate::structure::Fault;
use crate::types::{Answer, Kind, TypeId};
use crate::value::{DOUBLE, FLOAT, INT, LONG, Value};

const WRONG_ARRAY: &str = "an array access does not fit the element type";
const WRONG_FIELD: &str = "a field access does not fit the field's type";
const ACC_PRIVATE: u32 = 0x2;
const ACC_STATIC: u32 = 0x8;
const ACC_FINAL: u32 = 0x10;

/// What an array register holds.
enum Array {
    /// Null, or something of which only the file's missing classes know the type.
    Any,
    /// An array with these elements.
    Of(TypeId),
}

impl Flow<'_, '_> {
    /// Returns what the array in `register` holds, or the error if it is certainly no array.
    fn array(&self, register: u32) -> Result<Array, Fault> {
        self.expect_object(register)?;
        let Value::Reference(class) = self.line.get(register) else { return Ok(Array::Any) };
        match self.context.types.kind(class) {
            Kind::Array(element) => Ok(Array::Of(element)),
            _ if class == TypeId::UNKNOWN => Ok(Array::Any),
            _ => {
                let detail =
                    format!("v{register} holds {}, expected an array", self.context.types.name(class));
                Err(self.fault(WRONG_TYPE, detail))
            }
        }
    }

    pub(crate) fn expect_array(&self, register: u32) -> Result<(), Fault> {
        self.array(register).map(drop)
    }

    /// Whether an access without type (`aget`, `iput-wide`, ...) may touch something of type `id`.
    fn fits(&self, access: Access, id: TypeId) -> bool {
        matches!(
            (access, self.context.types.kind(id)),
            (Access::Word, Kind::Primitive(b'I' | b'F'))
                | (Access::Wide, Kind::Primitive(b'J' | b'D'))
                | (Access::Boolean, Kind::Primitive(b'Z'))
                | (Access::Byte, Kind::Primitive(b'B'))
                | (Access::Char, Kind::Primitive(b'C'))
                | (Access::Short, Kind::Primitive(b'S'))
                | (Access::Object, Kind::Class | Kind::Array(_))
        )
    }

    pub(crate) fn array_get(&mut self, access: Access, to: u32, array: u32, index: u32) -> Result<(), Fault> {
        self.expect(index, INT, "an array index")?;
        match self.array(array)? {
            Array::Of(element) if !self.fits(access, element) => {
                return Err(self.fault(WRONG_ARRAY, self.context.types.name(element)));
            }
            Array::Of(element) => self.set_slot(to, Slot::of(&self.context.types, element)),
            Array::Any => {
                let null = self.line.get(array).is_null();
                let slot = match access {
                    Access::Word => Slot::One(Value::constant(1)),
                    Access::Wide => Slot::Two(LONG | DOUBLE),
                    Access::Object if null => Slot::One(Value::NULL),
                    Access::Object => Slot::One(Value::Reference(TypeId::UNKNOWN)),
                    Access::Boolean => Slot::One(Value::BOOLEAN),
                    Access::Byte => Slot::One(Value::BYTE),
                    Access::Char => Slot::One(Value::CHAR),
                    Access::Short => Slot::One(Value::INT16),
                };
                self.set_slot(to, slot);
            }
        }
        Ok(())
    }

    pub(crate) fn array_put(
        &mut self,
        access: Access,
        from: u32,
        array: u32,
        index: u32,
    ) -> Result<(), Fault> {
        self.expect(index, INT, "an array index")?;
        match self.array(array)? {
            Array::Of(element) if !self.fits(access, element) => {
                Err(self.fault(WRONG_ARRAY, self.context.types.name(element)))
            }
            // Which class the elements have is checked at run time.
            Array::Of(_) if access == Access::Object => self.expect_object(from),
            Array::Of(element) => self.expect_stored(from, element),
            Array::Any => match access {
                Access::Object => self.expect_object(from),
                Access::Wide => self.expect_wide(from, LONG).or_else(|_| self.expect_wide(from, DOUBLE)),
                Access::Word => self.expect(from, INT | FLOAT, "int or float"),
                _ => self.expect(from, INT, "int"),
            },
        }
    }

    /// Demands a value that may be stored in a variable of a primitive type or class. Integers of all sizes may be.
    fn expect_stored(&self, register: u32, id: TypeId) -> Result<(), Fault> {
        match Slot::of(&self.context.types, id) {
            Slot::Void => Ok(()),
            Slot::Two(uses) => self.expect_wide(register, uses),
            Slot::One(Value::Reference(class)) => self.expect_class(register, class),
            Slot::One(Value::FLOAT) => self.expect(register, FLOAT, "float"),
            Slot::One(_) => self.expect(register, INT, "int"),
        }
    }

    pub(crate) fn new_array(&mut self, insn: &Instruction) -> Result<(), Fault> {
        self.expect(insn.b, INT, "a length")?;
        self.line.set(insn.a, Value::Reference(self.context.types.of(insn.c)));
        Ok(())
    }

    pub(crate) fn filled_new_array(&mut self, insn: &Instruction) -> Result<(), Fault> {
        let class = self.context.types.of(insn.b);
        let Kind::Array(element) = self.context.types.kind(class) else {
            return Err(self.fault("a new array of a type that is no array", self.context.types.name(class)));
        };
        if matches!(Slot::of(&self.context.types, element), Slot::Two(_)) {
            return Err(self.fault("filled-new-array of a 64-bit type", ""));
        }
        for register in (0..insn.a).filter_map(|position| insn.argument(position)) {
            self.expect_stored(register, element)?;
        }
        self.set_result(Slot::One(Value::Reference(class)));
        Ok(())
    }

    pub(crate) fn fill_array_data(&self, insn: &Instruction) -> Result<(), Fault> {
        let Array::Of(element) = self.array(insn.a)? else { return Ok(()) };
        let width = match self.context.types.kind(element) {
            Kind::Primitive(b'Z' | b'B') => 1,
            Kind::Primitive(b'C' | b'S') => 2,
            Kind::Primitive(b'I' | b'F') => 4,
            Kind::Primitive(_) => 8,
            _ => return Err(self.fault(WRONG_ARRAY, "fill-array-data of objects")),
        };
        let payload = i64::from(self.pc).saturating_add(insn.literal) as usize;
        let found = self.code.units.get(payload.saturating_add(1)).copied();
        if found == Some(width) {
            return Ok(());
        }
        let detail = format!("{} bytes instead of {width}", found.unwrap_or_default());
        Err(self.fault("the array data has the wrong element width", detail))
    }

    fn field(&self, index: u32) -> Result<Member, Fault> {
        let field = self.context.file.fields.get(index as usize).copied();
        field.ok_or_else(|| self.fault("an index is outside of its table", "field"))
    }

    /// Checks the instruction against the field's type, and the declaration if the file has it. Returns the type.
    fn check_field(
        &mut self,
        access: Access,
        field: Member,
        is_static: bool,
        writes: bool,
    ) -> Result<TypeId, Fault> {
        let types = &self.context.types;
        let kind = types.of(field.kind);
        if !self.fits(access, kind) {
            return Err(self.fault(WRONG_FIELD, types.name(kind)));
        }
        if let Some(found) = self.context.members.field(types, field) {
            let name = self.context.file.text(field.name);
            let inside = found.class == self.method.class;
            if (found.access & ACC_STATIC != 0) != is_static {
                self.report(Severity::Soft, "a static and an instance field are mixed up", name);
            } else if writes && found.access & ACC_FINAL != 0 && !inside {
                self.report(Severity::Soft, "a final field of another class is written", name);
            } else if found.access & ACC_PRIVATE != 0 && !inside {
                self.report(Severity::Soft, "a private field of another class is used", name);
            }
        }
        Ok(kind)
    }

    /// Checks the object of an instance field access.
    fn check_holder(&self, register: u32, field: Member) -> Result<(), Fault> {
        let types = &self.context.types;
        let class = types.of(field.class);
        match self.line.get(register) {
            Value::UninitializedThis => {
                // Before its super constructor a constructor may access the fields that its own class declares.
                let declared = self.context.members.field(types, field);
                if declared.is_some_and(|found| found.class == self.method.class) {
                    Ok(())
                } else {
                    Err(self.wrong(register, "an object"))
                }
            }
            Value::Reference(held) if types.assignable(class, held) == Answer::No => {
                let detail =
                    format!("v{register} holds {}, expected {}", types.name(held), types.name(class));
                Err(self.fault(crate::execute::WRONG_CLASS, detail))
            }
            _ => self.expect_object(register),
        }
    }

    pub(crate) fn instance_get(&mut self, access: Access, insn: &Instruction) -> Result<(), Fault> {
        let field = self.field(insn.c)?;
        self.check_holder(insn.b, field)?;
        let kind = self.check_field(access, field, false, false)?;
        self.set_slot(insn.a, Slot::of(&self.context.types, kind));
        Ok(())
    }

    pub(crate) fn instance_put(&mut self, access: Access, insn: &Instruction) -> Result<(), Fault> {
        let field = self.field(insn.c)?;
        self.check_holder(insn.b, field)?;
        let kind = self.check_field(access, field, false, true)?;
        self.expect_stored(insn.a, kind)
    }

    pub(crate) fn static_get(&mut self, access: Access, insn: &Instruction) -> Result<(), Fault> {
        let field = self.field(insn.b)?;
        let kind = self.check_field(access, field, true, false)?;
        self.set_slot(insn.a, Slot::of(&self.context.types, kind));
        Ok(())
    }

    pub(crate) fn static_put(&mut self, access: Access, insn: &Instruction) -> Result<(), Fault> {
        let field = self.field(insn.b)?;
        let kind = self.check_field(access, field, true, true)?;
        self.expect_stored(insn.a, kind)
    }
}
