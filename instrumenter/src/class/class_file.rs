//! The outline of a class file: enough to find its methods and copy the rest.
//!
//! ```text
//! magic minor major | constant pool | access this super interfaces | fields | methods | attributes
//!                    ^ grows at its end                                ^ only Code attributes change
//! ```

use core::ops::Range;

use super::constant_pool::ConstantPool;
use super::cursor::Cursor;
use super::text;
use crate::error::{Malformed, SkipReason};

/// The class file versions that are rewritten: 1.0.2 to Java 26, with or without preview features.
pub(crate) const VERSIONS: core::ops::RangeInclusive<u16> = 45..=70;
/// The largest class file that is read; compilers produce no larger ones.
pub(crate) const MAX_CLASS: u64 = 64 << 20;

/// Access flags of the class file format.
pub(crate) mod access {
    pub(crate) const PUBLIC: u16 = 0x0001;
    pub(crate) const PRIVATE: u16 = 0x0002;
    pub(crate) const PROTECTED: u16 = 0x0004;
    pub(crate) const STATIC: u16 = 0x0008;
    pub(crate) const FINAL: u16 = 0x0010;
    /// For a method; a class has [`SUPER`] there.
    pub(crate) const SYNCHRONIZED: u16 = 0x0020;
    /// For a class: set in all class files since Java 1.0.2.
    pub(crate) const SUPER: u16 = 0x0020;
    pub(crate) const NATIVE: u16 = 0x0100;
    pub(crate) const INTERFACE: u16 = 0x0200;
    pub(crate) const ABSTRACT: u16 = 0x0400;
    pub(crate) const SYNTHETIC: u16 = 0x1000;
    pub(crate) const ENUM: u16 = 0x4000;
    pub(crate) const MODULE: u16 = 0x8000;
}

/// A class file with its methods located, but not parsed.
pub(crate) struct ClassFile<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) major: u16,
    pub(crate) pool: ConstantPool<'a>,
    /// The end of the constant pool's entries.
    pub(crate) pool_end: usize,
    pub(crate) access: u16,
    /// Internal name, modified UTF-8.
    pub(crate) name: &'a [u8],
    /// Index of the class's own name.
    pub(crate) this_class: u16,
    /// The superclass, if any, then the interfaces: internal names.
    pub(crate) supertypes: Vec<&'a [u8]>,
    /// Whether it declares a field named `serialVersionUID`.
    pub(crate) has_serial_version: bool,
    pub(crate) source_file: Option<&'a [u8]>,
    /// The content of `BootstrapMethods`, which describes its dynamic call sites.
    pub(crate) bootstrap_methods: Option<Cursor<'a>>,
    pub(crate) methods: Vec<Method<'a>>,
}

/// A method with its `Code` attribute located, but not parsed.
pub(crate) struct Method<'a> {
    /// The position of the method, which starts with its access flags.
    pub(crate) at: usize,
    pub(crate) access: u16,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    /// The whole `Code` attribute, with its name and length.
    pub(crate) code: Option<Range<usize>>,
}

impl Method<'_> {
    pub(crate) fn is_constructor(&self) -> bool {
        self.name == b"<init>"
    }
}

/// Returns name index and content of the attribute at `cursor`.
pub(crate) fn attribute<'a>(cursor: &mut Cursor<'a>) -> Result<(u16, Cursor<'a>), Malformed> {
    let name = cursor.u2()?;
    let length = cursor.u4()?;
    let contents = cursor.sub(length as usize)?;
    Ok((name, contents))
}

/// Name index and content of each attribute.
pub(crate) type Attributes<'a> = Vec<(u16, Cursor<'a>)>;

/// Returns the attributes at `cursor`, which follow their count.
pub(crate) fn attributes<'a>(cursor: &mut Cursor<'a>) -> Result<Attributes<'a>, Malformed> {
    (0..cursor.u2()?).map(|_| attribute(cursor)).collect()
}

impl<'a> ClassFile<'a> {
    /// Returns the internal name of the super class in modified UTF-8; `None` for `java/lang/Object` and for modules.
    pub(crate) fn super_class(&self) -> Option<&'a [u8]> {
        self.supertypes.first().copied()
    }

    /// Returns [`Self::supertypes`] as texts.
    pub(crate) fn names_of_supertypes(&self) -> Box<[Box<str>]> {
        self.supertypes.iter().map(|&name| text::decode(name).into()).collect()
    }

    /// Reads the outline of `bytes`.
    ///
    /// Checks the version first, because the layout of later versions is unknown.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, SkipReason> {
        let mut cursor = Cursor::new(bytes);
        Malformed::when(cursor.u4()? != 0xCAFE_BABE, 0, "no class file magic")?;
        let minor = cursor.u2()?;
        let major = cursor.u2()?;
        if major > *VERSIONS.end() {
            return Err(SkipReason::NewerVersion { major, minor });
        }
        Malformed::when(major < *VERSIONS.start(), 6, "a class file version below 45")?;
        Ok(Self::read_body(bytes, major, cursor)?)
    }

    fn read_body(bytes: &'a [u8], major: u16, mut cursor: Cursor<'a>) -> Result<Self, Malformed> {
        let pool = ConstantPool::read(bytes, &mut cursor)?;
        let pool_end = cursor.at();
        let access = cursor.u2()?;
        let this_class = cursor.u2()?;
        let name = pool.class_name(this_class)?;
        let mut supertypes = Vec::new();
        // `None` for java/lang/Object and for a module.
        match cursor.u2()? {
            0 => {}
            index => supertypes.push(pool.class_name(index)?),
        }
        let interfaces = cursor.u2()?;
        if interfaces != 0 && supertypes.is_empty() {
            return Err(cursor.malformed("interfaces of a class without a superclass"));
        }
        for _ in 0..interfaces {
            supertypes.push(pool.class_name(cursor.u2()?)?);
        }
        let mut has_serial_version = false;
        for _ in 0..cursor.u2()? {
            cursor.skip(2)?;
            has_serial_version |= pool.is_text(cursor.u2()?, b"serialVersionUID");
            cursor.skip(2)?;
            for _ in 0..cursor.u2()? {
                attribute(&mut cursor)?;
            }
        }
        let mut methods = Vec::new();
        for _ in 0..cursor.u2()? {
            methods.push(read_method(&pool, &mut cursor)?);
        }
        let (mut source_file, mut bootstrap_methods) = (None, None);
        for _ in 0..cursor.u2()? {
            let (attribute_name, mut contents) = attribute(&mut cursor)?;
            if pool.is_text(attribute_name, b"SourceFile") {
                source_file = Some(pool.utf8(contents.u2()?)?);
            } else if pool.is_text(attribute_name, b"BootstrapMethods") {
                bootstrap_methods = Some(contents);
            }
        }
        Malformed::when(!cursor.is_empty(), cursor.at(), "bytes after the end of the class")?;
        Ok(Self {
            bytes,
            major,
            pool,
            pool_end,
            access,
            name,
            this_class,
            supertypes,
            has_serial_version,
            source_file,
            bootstrap_methods,
            methods,
        })
    }
}

fn read_method<'a>(pool: &ConstantPool<'a>, cursor: &mut Cursor<'a>) -> Result<Method<'a>, Malformed> {
    let at = cursor.at();
    let access = cursor.u2()?;
    let name = pool.utf8(cursor.u2()?)?;
    let descriptor = pool.utf8(cursor.u2()?)?;
    let mut code = None;
    for _ in 0..cursor.u2()? {
        let start = cursor.at();
        let (attribute_name, _) = attribute(cursor)?;
        if pool.is_text(attribute_name, b"Code") && code.replace(start..cursor.at()).is_some() {
            return Err(Malformed { at: start, what: "a method with two Code attributes" });
        }
    }
    Ok(Method { at, access, name, descriptor, code })
}
