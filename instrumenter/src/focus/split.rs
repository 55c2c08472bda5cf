//! Splits or adds `onWindowFocusChanged` in a class file.
//!
//! No code grows: the override is renamed in place, the operands of its calls of `super` are replaced by others of
//! the same length, and new methods are appended. So nothing in the class moves, and no index of a method changes.

use super::Change;
use crate::class::class_file::{ClassFile, access};
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{ALOAD_0, ILOAD_1, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, RETURN};
use crate::class_facts::focus::{DESCRIPTOR, NAME, calls_super};
use crate::error::{Malformed, SkipReason};
use crate::outline::Outline;

struct Writer<'a> {
    pool: Appended,
    class: &'a ClassFile<'a>,
    code_name: u16,
    descriptor: u16,
    name: u16,
    this: u16,
    methods: Vec<u8>,
    added: u16,
}

impl<'a> Writer<'a> {
    fn new(class: &'a ClassFile<'a>) -> Result<Self, SkipReason> {
        let mut pool = Appended::after(&class.pool);
        let texts: [&[u8]; 4] = [b"Code", DESCRIPTOR.as_bytes(), NAME.as_bytes(), class.name];
        let [code_name, descriptor, name, this] = pool.texts(&class.pool, texts)?;
        let this = pool.class(this)?;
        Ok(Self { pool, class, code_name, descriptor, name, this, methods: Vec::new(), added: 0 })
    }

    fn method_of_super(&mut self, name: u16) -> Result<u16, SkipReason> {
        let name_of_super = self.class.super_class();
        let name_of_super = name_of_super
            .ok_or(Malformed { at: self.class.pool_end + 4, what: "a class with no super class" })?;
        let class = self.pool.class_named(name_of_super)?;
        self.pool.method(class, name, self.descriptor)
    }

    /// Appends a method `name(Z)V` with these instructions, which need two stack slots and two locals.
    fn add(&mut self, flags: u16, name: u16, code: &[&[u8]]) {
        let code = code.concat();
        let out = &mut self.methods;
        for field in [flags, name, self.descriptor, 1, self.code_name] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        out.extend_from_slice(&(code.len() as u32 + 12).to_be_bytes());
        out.extend_from_slice(&[0, 2, 0, 2]);
        out.extend_from_slice(&(code.len() as u32).to_be_bytes());
        out.extend_from_slice(&code);
        // No handlers, no attributes.
        out.extend_from_slice(&[0; 4]);
        self.added += 1;
    }
}

fn call(opcode: u8, method: u16) -> [u8; 5] {
    let [high, low] = method.to_be_bytes();
    [ALOAD_0, ILOAD_1, opcode, high, low]
}

fn patch(bytes: &mut [u8], at: usize, value: u16) -> Result<(), Malformed> {
    let slot = bytes.get_mut(at..at.saturating_add(2));
    let slot = slot.ok_or(Malformed { at, what: "the data ends too early" })?;
    slot.copy_from_slice(&value.to_be_bytes());
    Ok(())
}

/// Returns the class with `change` applied, calling `at` of `call_class`. The new methods follow the old ones: the
/// first part, and for [`Change::Add`] the second.
pub(crate) fn split(bytes: &[u8], change: &Change, call_class: &str) -> Result<Vec<u8>, SkipReason> {
    let class = ClassFile::read(bytes)?;
    let outline = Outline::try_from(&class)?;
    let mut writer = Writer::new(&class)?;
    let mut old = bytes.to_vec();

    let at_class = writer.pool.class_named(call_class.as_bytes())?;
    let (at_name, at_type) = (writer.pool.utf8(b"at")?, writer.pool.utf8(b"(Landroid/app/Activity;Z)V")?);
    let at = call(INVOKESTATIC, writer.pool.method(at_class, at_name, at_type)?);
    match change {
        Change::Split { method, part, above, .. } => {
            let old_method = class.methods.get(*method).ok_or(Malformed {
                at: outline.methods_at,
                what: "the class has fewer methods than in the scan",
            })?;
            let part = writer.pool.utf8(part.as_bytes())?;
            let body = writer.pool.method(writer.this, part, writer.descriptor)?;
            let flags = (old_method.access & !access::FINAL) | access::SYNTHETIC;
            patch(&mut old, old_method.at, flags)?;
            patch(&mut old, old_method.at + 2, part)?;
            if let Some(above) = above {
                let above = writer.pool.utf8(above.as_bytes())?;
                let above = writer.method_of_super(above)?;
                for operand in class.methods.iter().flat_map(|method| calls_super(&class, method)) {
                    patch(&mut old, operand, above)?;
                }
            }
            let name = writer.name;
            writer.add(old_method.access, name, &[&at, &call(INVOKEVIRTUAL, body), &[RETURN]]);
        }
        Change::Add { part } => {
            let name = writer.name;
            let above = call(INVOKESPECIAL, writer.method_of_super(name)?);
            match part {
                Some(part) => {
                    let part = writer.pool.utf8(part.as_bytes())?;
                    let body = writer.pool.method(writer.this, part, writer.descriptor)?;
                    writer.add(access::PUBLIC, name, &[&at, &call(INVOKEVIRTUAL, body), &[RETURN]]);
                    writer.add(access::PUBLIC | access::SYNTHETIC, part, &[&above, &[RETURN]]);
                }
                None => writer.add(access::PUBLIC, name, &[&above, &at, &[RETURN]]),
            }
        }
    }
    let count = u16::try_from(class.methods.len()).ok().and_then(|count| count.checked_add(writer.added));
    patch(&mut old, outline.methods_at, count.ok_or(SkipReason::TableFull)?)?;
    patch(&mut old, 8, writer.pool.count())?;

    let mut out = Vec::with_capacity(old.len() + writer.pool.bytes().len() + writer.methods.len());
    out.extend_from_slice(old.get(..class.pool_end).unwrap_or_default());
    out.extend_from_slice(writer.pool.bytes());
    out.extend_from_slice(old.get(class.pool_end..outline.methods_end).unwrap_or_default());
    out.extend_from_slice(&writer.methods);
    out.extend_from_slice(old.get(outline.methods_end..).unwrap_or_default());
    Ok(out)
}
