//! The serial version that a JVM computes for a class without a field `serialVersionUID`: a hash of its name, modifiers,
//! interfaces and members (Java Object Serialization Specification 4.6, "Stream Unique Identifiers").

use dex::sha1;

use super::class_file::{ClassFile, Method, access, attribute, attributes};
use super::cursor::Cursor;
use crate::error::Malformed;

/// The flags that count, of a class, a field and a method.
const OF_CLASS: u16 = access::PUBLIC | access::FINAL | access::INTERFACE | access::ABSTRACT;
const OF_FIELD: u16 = 0x00DF;
const OF_METHOD: u16 = 0x0D3F;
/// Of a field.
const TRANSIENT: u16 = 0x0080;

/// Returns the default serial version of `class`, which is no interface.
///
/// # Errors
/// If its fields or attributes are broken.
pub(crate) fn default(class: &ClassFile<'_>) -> Result<i64, Malformed> {
    let mut hashed = Hashed(Vec::new());
    hashed.text(&dotted(class.name));
    hashed.number(modifiers(class)? & OF_CLASS);
    let mut interfaces: Vec<_> = class.supertypes.iter().skip(1).map(|name| dotted(name)).collect();
    interfaces.sort_unstable();
    interfaces.iter().for_each(|name| hashed.text(name));
    let mut fields = fields(class)?;
    fields.sort_by_key(|field| field.name);
    for Member { access, name, descriptor } in fields {
        if access & access::PRIVATE == 0 || access & (access::STATIC | TRANSIENT) == 0 {
            hashed.member(name, access & OF_FIELD, descriptor);
        }
    }
    if class.methods.iter().any(|method| method.name == b"<clinit>") {
        hashed.member(b"<clinit>", access::STATIC, b"()V");
    }
    let mut methods: Vec<&Method<'_>> = class.methods.iter().collect();
    methods.retain(|method| method.access & access::PRIVATE == 0 && method.name != b"<clinit>");
    methods.sort_by_key(|method| (!method.is_constructor(), method.name, method.descriptor));
    for method in methods {
        hashed.member(method.name, method.access & OF_METHOD, &dotted(method.descriptor));
    }
    let [a, b, c, d, e, f, g, h, ..] = sha1(&hashed.0);
    Ok(i64::from_le_bytes([a, b, c, d, e, f, g, h]))
}

/// The bytes that `DataOutputStream` would have written.
struct Hashed(Vec<u8>);

impl Hashed {
    /// Appends a text, as `writeUTF` does.
    fn text(&mut self, text: &[u8]) {
        // No constant of a class file is longer.
        self.0.extend((text.len() as u16).to_be_bytes());
        self.0.extend(text);
    }

    fn number(&mut self, flags: u16) {
        self.0.extend(u32::from(flags).to_be_bytes());
    }

    fn member(&mut self, name: &[u8], flags: u16, descriptor: &[u8]) {
        self.text(name);
        self.number(flags);
        self.text(descriptor);
    }
}

fn dotted(name: &[u8]) -> Vec<u8> {
    name.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect()
}

struct Member<'a> {
    access: u16,
    name: &'a [u8],
    descriptor: &'a [u8],
}

fn fields<'a>(class: &ClassFile<'a>) -> Result<Vec<Member<'a>>, Malformed> {
    let mut cursor = Cursor::new(class.bytes);
    cursor.skip(class.fields.start)?;
    let count = cursor.u2()?;
    let field = |_| {
        let access = cursor.u2()?;
        let name = class.pool.utf8(cursor.u2()?)?;
        let descriptor = class.pool.utf8(cursor.u2()?)?;
        attributes(&mut cursor)?;
        Ok(Member { access, name, descriptor })
    };
    (0..count).map(field).collect()
}

/// Returns the modifiers as `Class.getModifiers` has them. A nested class has its own in `InnerClasses`.
fn modifiers(class: &ClassFile<'_>) -> Result<u16, Malformed> {
    let mut cursor = Cursor::new(class.bytes);
    cursor.skip(class.attributes)?;
    let mut modifiers = class.access;
    for _ in 0..cursor.u2()? {
        let (name, mut contents) = attribute(&mut cursor)?;
        if !class.pool.is_text(name, b"InnerClasses") {
            continue;
        }
        for _ in 0..contents.u2()? {
            let inner = contents.u2()?;
            contents.skip(4)?;
            let flags = contents.u2()?;
            if class.pool.class_name(inner)? == class.name {
                modifiers = flags;
            }
        }
    }
    Ok(modifiers)
}
