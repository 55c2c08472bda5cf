//! A field with the serial version that the JVM would have computed before a method lost its flag.
//!
//! The JVM computes the serial version of a class that declares none, and the flags of its methods count
//! ([`serial_version`]). For example, `class Cart extends ArrayList` with `synchronized void add(...)` has another version
//! without the flag, and could not read what it has written before. So the class declares the old version:
//!
//! ```text
//! private static final synthetic long serialVersionUID = VERSION
//! ```
//!
//! Only reflection shows the field, as it shows the missing flag.

use crate::class::class_file::{ClassFile, access};
use crate::class::constant_pool::Appended;
use crate::class::{overwrite, serial_version};
use crate::error::SkipReason;
use crate::splice::lock::flag_is_free;
use crate::waits::scan::is_locked;
use crate::waits::{LockFlags, Waits};

/// The field, encoded.
pub(crate) struct SerialVersion([u8; 16]);

impl SerialVersion {
    /// Appends the constants of the field, if one of the methods with an id loses its flag only with it. If the class needs no
    /// field, or there is no room for it, the waits come without one.
    pub(crate) fn of<'w>(
        class: &ClassFile<'_>,
        ids: &[u32],
        waits: Option<Waits<'w>>,
        pool: &mut Appended,
    ) -> (Option<Self>, Option<Waits<'w>>) {
        let Some(waits) = waits.filter(|waits| waits.flags == LockFlags::Declared) else {
            return (None, waits);
        };
        let without = Waits { flags: LockFlags::Unseen, ..waits };
        let mut traced = class.methods.iter().zip(ids).filter(|(_, id)| **id != 0);
        let needs = |method| is_locked(class, method) && !flag_is_free(class, method, without);
        if !traced.any(|(method, _)| needs(method)) {
            return (None, Some(without));
        }
        let version = serial_version::default(class).map_err(SkipReason::from);
        match version.and_then(|version| Self::encoded(class, version, pool)) {
            Ok(version) => (Some(version), Some(waits)),
            Err(_) => (None, Some(without)),
        }
    }

    fn encoded(class: &ClassFile<'_>, version: i64, pool: &mut Appended) -> Result<Self, SkipReason> {
        let [name, descriptor, attribute] =
            pool.texts(&class.pool, [b"serialVersionUID", b"J", b"ConstantValue"])?;
        let value = pool.long(version)?;
        let flags = access::PRIVATE | access::STATIC | access::FINAL | access::SYNTHETIC;
        let mut field = [0; 16];
        // One attribute, with two bytes of content.
        for (to, from) in
            field.as_chunks_mut().0.iter_mut().zip([flags, name, descriptor, 1, attribute, 0, 2, value])
        {
            *to = from.to_be_bytes();
        }
        Ok(Self(field))
    }

    /// Inserts the field into `body`, the class file after its constant pool.
    pub(crate) fn insert(&self, class: &ClassFile<'_>, body: &mut Vec<u8>) {
        let (count_at, end) = (class.fields.start - class.pool_end, class.fields.end - class.pool_end);
        let count = class.bytes.get(class.fields.start..).and_then(|bytes| bytes.first_chunk::<2>());
        // A class with 65,535 fields has no room in its constant pool either.
        if let Some(count) = count.and_then(|count| u16::from_be_bytes(*count).checked_add(1)) {
            overwrite(body, count_at, &count.to_be_bytes());
            body.splice(end..end, self.0);
        }
    }
}
