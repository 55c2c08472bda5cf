//! A dex file in memory.

use std::borrow::Cow;
use std::sync::Arc;

use crate::code::{Body, Code};
use crate::lookup::Lookup;
use crate::table::{Table, Use};

/// Access flags of dex files. Those of class files are the same for what both have, but have 16 bits.
pub mod access {
    /// A class or member that all code may use.
    pub const PUBLIC: u32 = 0x0001;
    /// A member of the class itself.
    pub const STATIC: u32 = 0x0008;
    /// A class or method that is not overridden, or a field that is not changed.
    pub const FINAL: u32 = 0x0010;
    /// A class or member that a compiler has made.
    pub const SYNTHETIC: u32 = 0x1000;
    /// A method that is `synchronized` in the source, and whose code takes the lock itself.
    pub const DECLARED_SYNCHRONIZED: u32 = 0x2_0000;
}

/// The value that stands for no index in a file, where [`Dex`] has `None`.
pub(crate) const NO_INDEX: u32 = u32::MAX;

/// A dex file: its tables and classes.
///
/// Tables are appended to, directly or by `find_or_add_...`; entries are never moved or changed.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Dex<'a> {
    /// 35 to 41.
    pub version: u8,
    /// MUTF-8 without the final zero.
    pub strings: Vec<Cow<'a, [u8]>>,
    /// String indices of descriptors.
    pub types: Vec<u32>,
    pub protos: Vec<Proto>,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
    pub call_sites: Vec<CallSite>,
    pub handles: Vec<Handle>,
    /// In the order of the file: super classes and interfaces before the classes that use them.
    pub classes: Vec<Class<'a>>,
    /// Whether the writer leaves out what no class uses. The reader does not set it.
    pub drop_unused: bool,
    /// Finds entries of the tables.
    pub lookup: Lookup,
}

impl Dex<'_> {
    /// The number of entries of a table.
    pub(crate) fn size(&self, table: Table) -> usize {
        match table {
            Table::Strings => self.strings.len(),
            Table::Types => self.types.len(),
            Table::Protos => self.protos.len(),
            Table::Fields => self.fields.len(),
            Table::Methods => self.methods.len(),
            Table::CallSites => self.call_sites.len(),
            Table::Handles => self.handles.len(),
        }
    }
}

/// A prototype: what a method takes and returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proto {
    /// String index of the short form, such as `VIL`.
    pub shorty: u32,
    /// Type index.
    pub result: u32,
    /// Type indices.
    pub parameters: Box<[u32]>,
}

impl Proto {
    /// Returns the sort key of the table. The short form follows from it.
    pub(crate) fn key(&self) -> (u32, &[u32]) {
        (self.result, &self.parameters)
    }
}

/// A field that is referred to. Tables have the order of the members: `field_ids` run by class, name and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    /// Type index.
    pub class: u32,
    /// String index.
    pub name: u32,
    /// Type index.
    pub kind: u32,
}

/// A method that is referred to. Tables have the order of the members: `method_ids` run by class, name and proto.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Method {
    /// Type index.
    pub class: u32,
    /// String index.
    pub name: u32,
    /// Proto index.
    pub proto: u32,
}

/// The arguments of a call site's bootstrap: an encoded array.
pub type CallSite = Box<[Value]>;

/// A method handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    /// `METHOD_HANDLE_TYPE_...`: 0 to 3 are of fields, 4 to 8 of methods.
    pub kind: u16,
    /// Field or method index.
    pub target: u32,
}

impl Handle {
    /// Whether the target is a field.
    pub fn is_of_field(&self) -> bool {
        self.kind < 4
    }

    /// The target, with its table.
    pub(crate) fn member(&self) -> Use {
        (if self.is_of_field() { Table::Fields } else { Table::Methods }, self.target)
    }
}

/// A class definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Class<'a> {
    /// Type index.
    pub class: u32,
    /// Access flags.
    pub access: u32,
    /// Type index; `None` only for `java.lang.Object`.
    pub super_class: Option<u32>,
    /// Type indices.
    pub interfaces: Box<[u32]>,
    /// String index.
    pub source_file: Option<u32>,
    /// Of the class, its fields, methods and parameters.
    pub annotations: Annotations,
    /// Values of the first static fields.
    pub static_values: Box<[Value]>,
    pub static_fields: Vec<ClassField>,
    pub instance_fields: Vec<ClassField>,
    /// Static and private methods and constructors.
    pub direct_methods: Vec<ClassMethod<'a>>,
    pub virtual_methods: Vec<ClassMethod<'a>>,
}

impl<'a> Class<'a> {
    /// The methods: direct ones, then virtual ones.
    pub fn methods(&self) -> impl Iterator<Item = &ClassMethod<'a>> {
        self.direct_methods.iter().chain(&self.virtual_methods)
    }
}

/// A field of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassField {
    /// Field index.
    pub field: u32,
    /// Access flags.
    pub access: u32,
}

/// A method of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassMethod<'a> {
    /// Method index.
    pub method: u32,
    /// Access flags.
    pub access: u32,
    /// `None` for abstract and native methods.
    pub code: Option<MethodCode<'a>>,
}

/// The code of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodCode<'a> {
    /// As it was read.
    Read(Code<'a>),
    /// Edited: its layout is decided by the writer.
    Edited(Box<Body>),
}

/// A class's `annotations_directory_item`, with what it points to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Annotations {
    /// Of the class.
    pub class: Option<AnnotationSet>,
    /// By field index.
    pub fields: Box<[(u32, AnnotationSet)]>,
    /// By method index.
    pub methods: Box<[(u32, AnnotationSet)]>,
    /// By method index.
    pub parameters: Box<[(u32, ParameterSets)]>,
}

/// The annotations of a method's parameters; one set a parameter, `None` where the list has no set.
pub type ParameterSets = Box<[Option<AnnotationSet>]>;

/// Annotations of one thing. The reader shares what the file shares.
pub type AnnotationSet = Arc<[Annotation]>;

/// An annotation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Annotation {
    /// `VISIBILITY_...`; `None` within a value.
    pub visibility: Option<u8>,
    /// Type index.
    pub kind: u32,
    /// String index of each name, and the value.
    pub elements: Arc<[(u32, Value)]>,
}

/// An encoded value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Value {
    Byte(i8),
    Short(i16),
    Char(u16),
    Int(i32),
    Long(i64),
    /// The bits, so that every NaN stays as it is.
    Float(u32),
    /// The bits.
    Double(u64),
    /// Proto index.
    MethodType(u32),
    /// Method handle index.
    MethodHandle(u32),
    /// String index.
    String(u32),
    /// Type index.
    Type(u32),
    /// Field index.
    Field(u32),
    /// Method index.
    Method(u32),
    /// Field index.
    Enum(u32),
    Array(Box<[Value]>),
    Annotation(Box<Annotation>),
    Null,
    Boolean(bool),
}
