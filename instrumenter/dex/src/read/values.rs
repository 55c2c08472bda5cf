//! Encoded values, arrays and annotations.

use super::budget::Budget;
use super::cursor::Cursor;
use super::header::Header;
use crate::{Annotation, Malformed, Table, Value};

/// How deep arrays and annotations may be nested. Compilers need 3.
const MAX_DEPTH: usize = 64;

/// Reads values at a cursor.
pub(super) struct ValueReader<'r, 'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) header: &'r Header,
    pub(super) budget: &'r Budget,
}

impl ValueReader<'_, '_> {
    /// Reads an `encoded_array` that is nested this deep.
    pub(super) fn array(&mut self, depth: usize) -> Result<Box<[Value]>, Malformed> {
        let size = self.size::<Value>()?;
        // A hostile size at each depth must not reserve memory for itself, and collecting results reserves none.
        (0..size).map(|_| self.value(depth)).collect()
    }

    /// Reads an `encoded_annotation` that is nested this deep.
    pub(super) fn annotation(
        &mut self,
        visibility: Option<u8>,
        depth: usize,
    ) -> Result<Annotation, Malformed> {
        let kind = self.cursor.uleb()?;
        self.header.check(Table::Types, kind, self.cursor.at())?;
        let size = self.size::<(u32, Value)>()?;
        let mut elements = Vec::with_capacity(size.min(256));
        let mut previous = None;
        for _ in 0..size {
            let name = self.cursor.uleb()?;
            self.header.check(Table::Strings, name, self.cursor.at())?;
            if previous.is_some_and(|previous| previous >= name) {
                return Err(self.cursor.error("the elements of an annotation are not in order"));
            }
            previous = Some(name);
            elements.push((name, self.value(depth)?));
        }
        Ok(Annotation { visibility, kind, elements: elements.into() })
    }

    fn size<T>(&mut self) -> Result<usize, Malformed> {
        let at = self.cursor.at();
        let size = self.cursor.uleb()? as usize;
        Malformed::when(size > self.cursor.left(), at, "an array is longer than the file")?;
        self.budget.memory::<T>(at, size)?;
        Ok(size)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        Malformed::when(depth > MAX_DEPTH, self.cursor.at(), "values are nested too deeply")?;
        let at = self.cursor.at();
        let bad = |what| Malformed { at, what };
        let head = self.cursor.u8()?;
        let argument = head >> 5;
        let width = usize::from(argument) + 1;
        let kind = head & 0x1f;
        let widest = match kind {
            0x00 | 0x1c..=0x1e => 1,
            0x02 | 0x03 => 2,
            0x04 | 0x10 | 0x15..=0x1b => 4,
            0x06 | 0x11 => 8,
            0x1f => 2,
            _ => return Err(bad("a value has an unknown type")),
        };
        Malformed::when(width > widest, at, "a value is wider than its type")?;
        match kind {
            0x1c => return self.array(depth + 1).map(Value::Array),
            0x1d => {
                let annotation = self.annotation(None, depth + 1)?;
                self.budget.memory::<Annotation>(at, 1)?;
                return Ok(Value::Annotation(Box::new(annotation)));
            }
            0x1e => return Ok(Value::Null),
            0x1f => return Ok(Value::Boolean(argument == 1)),
            _ => {}
        }
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.cursor.take(width)?);
        let unset = (8 - width) * 8;
        let zero_extended = u64::from_le_bytes(bytes);
        let sign_extended = (zero_extended << unset).cast_signed() >> unset;
        // Floating point numbers lack their last bytes.
        let shifted = zero_extended << unset;
        let index = |table| {
            let index = zero_extended as u32;
            self.header.check(table, index, at).map(|()| index)
        };
        Ok(match kind {
            0x00 => Value::Byte(sign_extended as i8),
            0x02 => Value::Short(sign_extended as i16),
            0x03 => Value::Char(zero_extended as u16),
            0x04 => Value::Int(sign_extended as i32),
            0x06 => Value::Long(sign_extended),
            0x10 => Value::Float((shifted >> 32) as u32),
            0x11 => Value::Double(shifted),
            0x15 => Value::MethodType(index(Table::Protos)?),
            0x16 => Value::MethodHandle(index(Table::Handles)?),
            0x17 => Value::String(index(Table::Strings)?),
            0x18 => Value::Type(index(Table::Types)?),
            0x19 => Value::Field(index(Table::Fields)?),
            0x1a => Value::Method(index(Table::Methods)?),
            _ => Value::Enum(index(Table::Fields)?),
        })
    }
}
