//! Positions of a class's methods and attributes, for the few classes in which more than the code matters.

use crate::class::class_file::{Attributes, ClassFile, attributes};
use crate::class::cursor::Cursor;
use crate::error::Malformed;

pub(crate) struct Outline<'a> {
    /// Position of `methods_count`.
    pub(crate) methods_at: usize,
    /// Position of the end of the last method.
    pub(crate) methods_end: usize,
    /// The attributes of each method.
    pub(crate) methods: Vec<Attributes<'a>>,
    pub(crate) attributes: Attributes<'a>,
}

impl<'a> TryFrom<&ClassFile<'a>> for Outline<'a> {
    type Error = Malformed;

    fn try_from(class: &ClassFile<'a>) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(class.bytes);
        // Access flags, this and super class follow the pool.
        cursor.skip(class.pool_end + 6)?;
        let interfaces = cursor.u2()?;
        cursor.skip(2 * usize::from(interfaces))?;
        for _ in 0..cursor.u2()? {
            cursor.skip(6)?;
            attributes(&mut cursor)?;
        }
        let methods_at = cursor.at();
        let mut methods = Vec::with_capacity(class.methods.len());
        for _ in 0..cursor.u2()? {
            cursor.skip(6)?;
            methods.push(attributes(&mut cursor)?);
        }
        let methods_end = cursor.at();
        Ok(Self { methods_at, methods_end, methods, attributes: attributes(&mut cursor)? })
    }
}

/// Returns the internal names of the annotations among `attributes`, visible at run time or not.
///
/// Reads only the type of each annotation and skips its values, so broken values are an error.
pub(crate) fn annotations(
    class: &ClassFile<'_>,
    attributes: &[(u16, Cursor<'_>)],
) -> Result<Vec<String>, Malformed> {
    const NAMES: [&[u8]; 2] = [b"RuntimeVisibleAnnotations", b"RuntimeInvisibleAnnotations"];
    let mut found = Vec::new();
    for &(name, mut contents) in attributes {
        if !NAMES.contains(&class.pool.utf8(name)?) {
            continue;
        }
        for _ in 0..contents.u2()? {
            found.push(annotation(class, &mut contents)?);
        }
    }
    Ok(found)
}

/// Skips one annotation and returns the internal name of its type.
fn annotation(class: &ClassFile<'_>, cursor: &mut Cursor<'_>) -> Result<String, Malformed> {
    let ty = class.pool.utf8({ *cursor }.u2()?)?;
    let ty = ty.strip_prefix(b"L").and_then(|ty| ty.strip_suffix(b";")).unwrap_or(ty);
    skip_annotation(cursor, 0)?;
    Ok(crate::class::text::decode(ty).into_owned())
}

/// Skips an annotation that `depth` others enclose.
pub(crate) fn skip_annotation(cursor: &mut Cursor<'_>, depth: u32) -> Result<(), Malformed> {
    cursor.skip(2)?;
    (0..cursor.u2()?).try_for_each(|_| {
        cursor.skip(2)?;
        skip_value(cursor, depth)
    })
}

fn skip_value(cursor: &mut Cursor<'_>, depth: u32) -> Result<(), Malformed> {
    // Compilers never nest annotations this deep, and the stack must not overflow.
    Malformed::when(depth > 64, cursor.at(), "annotations nested too deep")?;
    match cursor.u1()? {
        b'e' => cursor.skip(4),
        b'@' => skip_annotation(cursor, depth + 1),
        b'[' => (0..cursor.u2()?).try_for_each(|_| skip_value(cursor, depth + 1)),
        _ => cursor.skip(2),
    }
}
