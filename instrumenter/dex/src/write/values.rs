//! Encoded values, arrays and annotations, each in the fewest bytes.

use crate::leb128::put_uleb;
use crate::{Annotation, Remap, Table, Value, WriteError};

/// Appends an `encoded_array`.
pub(super) fn array(values: &[Value], remap: &Remap, to: &mut Vec<u8>) -> Result<(), WriteError> {
    put_uleb(values.len() as u32, to);
    values.iter().try_for_each(|it| value(it, remap, to))
}

/// Appends an `encoded_annotation`.
pub(super) fn annotation(annotation: &Annotation, remap: &Remap, to: &mut Vec<u8>) -> Result<(), WriteError> {
    put_uleb(remap.get(Table::Types, annotation.kind)?, to);
    let elements = annotation.elements.iter().map(|(name, value)| (*name, value));
    let elements = remap.sorted(Table::Strings, elements)?;
    put_uleb(elements.len() as u32, to);
    for (name, element) in elements {
        put_uleb(name, to);
        value(element, remap, to)?;
    }
    Ok(())
}

fn value(value: &Value, remap: &Remap, to: &mut Vec<u8>) -> Result<(), WriteError> {
    match *value {
        Value::Byte(value) => signed(0x00, value.into(), to),
        Value::Short(value) => signed(0x02, value.into(), to),
        Value::Char(value) => unsigned(0x03, value.into(), to),
        Value::Int(value) => signed(0x04, value.into(), to),
        Value::Long(value) => signed(0x06, value, to),
        Value::Float(bits) => floating(0x10, u64::from(bits) << 32, to),
        Value::Double(bits) => floating(0x11, bits, to),
        Value::MethodType(proto) => unsigned(0x15, remap.get(Table::Protos, proto)?, to),
        Value::MethodHandle(handle) => unsigned(0x16, remap.get(Table::Handles, handle)?, to),
        Value::String(string) => unsigned(0x17, remap.get(Table::Strings, string)?, to),
        Value::Type(kind) => unsigned(0x18, remap.get(Table::Types, kind)?, to),
        Value::Field(field) => unsigned(0x19, remap.get(Table::Fields, field)?, to),
        Value::Method(method) => unsigned(0x1a, remap.get(Table::Methods, method)?, to),
        Value::Enum(field) => unsigned(0x1b, remap.get(Table::Fields, field)?, to),
        Value::Array(ref values) => {
            to.push(0x1c);
            array(values, remap, to)?;
        }
        Value::Annotation(ref value) => {
            to.push(0x1d);
            annotation(value, remap, to)?;
        }
        Value::Null => to.push(0x1e),
        Value::Boolean(value) => to.push(0x1f | u8::from(value) << 5),
    }
    Ok(())
}

/// Appends the first `width` bytes (1 to 8) behind the type and the width.
fn push(kind: u8, width: usize, bytes: [u8; 8], to: &mut Vec<u8>) {
    to.push(kind | (width as u8 - 1) << 5);
    to.extend(bytes.iter().take(width));
}

fn signed(kind: u8, value: i64, to: &mut Vec<u8>) {
    // One bit more than those that differ from the sign.
    let bits = 65 - (value ^ (value >> 63)).leading_zeros();
    push(kind, bits.div_ceil(8) as usize, value.to_le_bytes(), to);
}

fn unsigned(kind: u8, value: u32, to: &mut Vec<u8>) {
    let bits = (32 - value.leading_zeros()).max(1);
    push(kind, bits.div_ceil(8) as usize, u64::from(value).to_le_bytes(), to);
}

/// The bits stand at the top, and zeros at the bottom are left out.
fn floating(kind: u8, bits: u64, to: &mut Vec<u8>) {
    let width = (64 - bits.trailing_zeros()).div_ceil(8).max(1);
    let shifted = bits >> (64 - width * 8);
    push(kind, width as usize, shifted.to_le_bytes(), to);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(it: Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        value(&it, &Remap::default(), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn values_take_the_fewest_bytes() {
        assert_eq!(written(Value::Int(0)), [0x04, 0]);
        assert_eq!(written(Value::Int(-1)), [0x04, 0xff]);
        assert_eq!(written(Value::Int(127)), [0x04, 0x7f]);
        assert_eq!(written(Value::Int(128)), [0x24, 0x80, 0]);
        assert_eq!(written(Value::Int(-128)), [0x04, 0x80]);
        assert_eq!(written(Value::Int(-129)), [0x24, 0x7f, 0xff]);
        assert_eq!(written(Value::Char(0xffff)), [0x23, 0xff, 0xff]);
        assert_eq!(written(Value::Char(0x80)), [0x03, 0x80]);
        assert_eq!(written(Value::Long(i64::MIN)), [0xe6, 0, 0, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(written(Value::Float(1.0_f32.to_bits())), [0x30, 0x80, 0x3f]);
        assert_eq!(written(Value::Double(0)), [0x11, 0]);
        assert_eq!(written(Value::Double(2.0_f64.to_bits())), [0x11, 0x40]);
        assert_eq!(written(Value::Double(0.1_f64.to_bits())).len(), 9);
        assert_eq!(written(Value::Boolean(true)), [0x3f]);
    }
}
