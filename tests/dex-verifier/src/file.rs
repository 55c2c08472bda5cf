//! The tables of a dex file, read only as far as the checks of code need them.

use std::ops::Range;

use crate::bytes::{Cursor, half, word};
use crate::error::ReadError;

/// Longest type descriptor that is read, in bytes. Compilers stay far below; hostile files could otherwise share one
/// huge string among all types.
const MAX_DESCRIPTOR: usize = 8192;
/// Most parameters of a prototype: an invoke passes at most 255 registers.
const MAX_PARAMETERS: usize = 255;
/// Most dex files of a container: each may share all of its tables with the others.
const MAX_HEADERS: usize = 256;
const NO_INDEX: u32 = u32::MAX;

/// A prototype: indices into the type table.
#[derive(Clone, Debug)]
pub(crate) struct Proto {
    pub(crate) returns: u32,
    /// Range in [`DexFile::parameters`].
    parameters: Range<usize>,
}

/// A field or method reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// Index into the type table.
    pub(crate) class: u32,
    /// Index into the type table for a field, into the prototypes for a method.
    pub(crate) kind: u32,
    /// Index into the string table.
    pub(crate) name: u32,
}

/// A field or method that a class of the file declares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    /// Index into the field or method table.
    pub(crate) index: u32,
    pub(crate) access: u32,
    /// Offset of the code item; 0 for a field and for a method without code.
    pub(crate) code: usize,
}

/// A class definition.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Index into the type table.
    pub(crate) kind: u32,
    pub(crate) access: u32,
    /// Index into the type table.
    pub(crate) superclass: Option<u32>,
    pub(crate) static_fields: Vec<Declared>,
    pub(crate) instance_fields: Vec<Declared>,
    pub(crate) direct_methods: Vec<Declared>,
    pub(crate) virtual_methods: Vec<Declared>,
}

/// One dex file; in a container of version 041 one of several.
pub(crate) struct DexFile<'a> {
    pub(crate) bytes: &'a [u8],
    /// 35 to 41.
    pub(crate) version: u32,
    strings: Table,
    /// Descriptors by type index.
    pub(crate) types: Vec<&'a [u8]>,
    pub(crate) protos: Vec<Proto>,
    parameters: Vec<u16>,
    pub(crate) fields: Vec<Member>,
    pub(crate) methods: Vec<Member>,
    pub(crate) classes: Vec<Class>,
    call_sites: Table,
    pub(crate) method_handles: u32,
}

#[derive(Clone, Copy, Default)]
struct Table {
    at: usize,
    count: u32,
}

impl Table {
    /// Reads count and offset at `at` of the header and checks that the table is within the file.
    fn read(bytes: &[u8], at: usize, entry: usize) -> Result<Self, ReadError> {
        let outside = ReadError::new(at, "a table is outside of the file");
        let count = word(bytes, at).ok_or(outside)?;
        let start = word(bytes, at + 4).ok_or(outside)? as usize;
        let size = (count as usize).checked_mul(entry).ok_or(outside)?;
        let end = start.checked_add(size).ok_or(outside)?;
        if count != 0 && end > bytes.len() {
            return Err(outside);
        }
        Ok(Self { at: start, count })
    }

    fn entry(self, index: u32, size: usize) -> Option<usize> {
        (index < self.count).then(|| self.at + index as usize * size)
    }
}

impl<'a> DexFile<'a> {
    /// Returns the offsets of the headers in `bytes`: one, or several in a container of version 041.
    pub(crate) fn headers(bytes: &[u8]) -> Result<Vec<usize>, ReadError> {
        let mut headers = vec![0];
        if version(bytes, 0)? < 41 {
            return Ok(headers);
        }
        let mut at = 0usize;
        loop {
            let size = word(bytes, at + 0x20).ok_or(ReadError::new(at, "the header is cut off"))? as usize;
            if size < 0x78 {
                return Err(ReadError::new(at + 0x20, "file_size is smaller than the header"));
            }
            at = at.checked_add(size).ok_or(ReadError::new(at, "file_size is too large"))?;
            if at.checked_add(0x78).is_none_or(|end| end > bytes.len()) {
                return Ok(headers);
            }
            if headers.len() == MAX_HEADERS {
                return Err(ReadError::new(at, "the container has more than 256 dex files"));
            }
            headers.push(at);
        }
    }

    /// Reads the dex file whose header is at `header`.
    pub(crate) fn read(bytes: &'a [u8], header: usize) -> Result<Self, ReadError> {
        let version = version(bytes, header)?;
        if bytes.len() < header + 0x70 {
            return Err(ReadError::new(header, "the header is cut off"));
        }
        if word(bytes, header + 0x28) != Some(0x1234_5678) {
            return Err(ReadError::new(header + 0x28, "the byte order is not little-endian"));
        }
        let mut file = Self {
            bytes,
            version,
            strings: Table::read(bytes, header + 0x38, 4)?,
            types: Vec::new(),
            protos: Vec::new(),
            parameters: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
            classes: Vec::new(),
            call_sites: Table::default(),
            method_handles: 0,
        };
        file.read_types(Table::read(bytes, header + 0x40, 4)?)?;
        file.read_protos(Table::read(bytes, header + 0x48, 12)?)?;
        file.fields = file.read_members(Table::read(bytes, header + 0x50, 8)?, file.types.len())?;
        file.methods = file.read_members(Table::read(bytes, header + 0x58, 8)?, file.protos.len())?;
        file.read_map(header)?;
        file.read_classes(Table::read(bytes, header + 0x60, 32)?)?;
        Ok(file)
    }

    fn read_types(&mut self, table: Table) -> Result<(), ReadError> {
        if table.count > 65_536 {
            return Err(ReadError::new(table.at, "the type table has more than 65,536 entries"));
        }
        for index in 0..table.count {
            let at = table.at + index as usize * 4;
            let bad = ReadError::new(at, "a type has no valid descriptor");
            let string = word(self.bytes, at).ok_or(bad)?;
            let descriptor = self.string(string).ok_or(bad)?;
            if !is_descriptor(descriptor) {
                return Err(bad);
            }
            self.types.push(descriptor);
        }
        Ok(())
    }

    fn read_protos(&mut self, table: Table) -> Result<(), ReadError> {
        if table.count > 65_536 {
            return Err(ReadError::new(table.at, "the prototype table has more than 65,536 entries"));
        }
        for index in 0..table.count {
            let at = table.at + index as usize * 12;
            let bad = ReadError::new(at, "a prototype is broken");
            let returns = word(self.bytes, at + 4).ok_or(bad)?;
            let list = word(self.bytes, at + 8).ok_or(bad)? as usize;
            if returns as usize >= self.types.len() {
                return Err(bad);
            }
            let start = self.parameters.len();
            if list != 0 {
                let count = word(self.bytes, list).ok_or(bad)? as usize;
                if count > MAX_PARAMETERS {
                    return Err(ReadError::new(list, "a prototype has more than 255 parameters"));
                }
                for parameter in 0..count {
                    let kind =
                        list.checked_add(4 + parameter * 2).and_then(|at| half(self.bytes, at)).ok_or(bad)?;
                    if self.types.get(usize::from(kind)).is_none_or(|descriptor| descriptor == b"V") {
                        return Err(bad);
                    }
                    self.parameters.push(kind);
                }
            }
            self.protos.push(Proto { returns, parameters: start..self.parameters.len() });
        }
        Ok(())
    }

    fn read_members(&self, table: Table, kinds: usize) -> Result<Vec<Member>, ReadError> {
        let mut members = Vec::with_capacity(table.count as usize);
        for index in 0..table.count {
            let at = table.at + index as usize * 8;
            let bad = ReadError::new(at, "a field or method reference is broken");
            let class = u32::from(half(self.bytes, at).ok_or(bad)?);
            let kind = u32::from(half(self.bytes, at + 2).ok_or(bad)?);
            let name = word(self.bytes, at + 4).ok_or(bad)?;
            if class as usize >= self.types.len() || kind as usize >= kinds || name >= self.strings.count {
                return Err(bad);
            }
            members.push(Member { class, kind, name });
        }
        Ok(members)
    }

    /// Finds call sites and method handles, which only the map lists.
    fn read_map(&mut self, header: usize) -> Result<(), ReadError> {
        let bad = ReadError::new(header + 0x34, "the map is broken");
        let map = word(self.bytes, header + 0x34).ok_or(bad)? as usize;
        let count = word(self.bytes, map).ok_or(bad)?;
        for index in 0..count.min(64) as usize {
            let at = map.checked_add(4 + index * 12).ok_or(bad)?;
            let kind = half(self.bytes, at).ok_or(bad)?;
            match kind {
                7 => self.call_sites = Table::read(self.bytes, at + 4, 4)?,
                8 => self.method_handles = Table::read(self.bytes, at + 4, 8)?.count,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_classes(&mut self, table: Table) -> Result<(), ReadError> {
        // Every method and field takes at least two bytes; more of them than this are class data that classes share.
        let mut left = self.bytes.len() / 2;
        for index in 0..table.count {
            let at = table.at + index as usize * 32;
            let bad = ReadError::new(at, "a class definition is broken");
            let field = |offset: usize| word(self.bytes, at + offset).ok_or(bad);
            let kind = field(0)?;
            let superclass = field(8)?;
            let data = field(24)? as usize;
            let known = |index: u32| (index as usize) < self.types.len();
            if !known(kind) || (superclass != NO_INDEX && !known(superclass)) {
                return Err(bad);
            }
            let mut class = Class {
                kind,
                access: field(4)?,
                superclass: (superclass != NO_INDEX).then_some(superclass),
                static_fields: Vec::new(),
                instance_fields: Vec::new(),
                direct_methods: Vec::new(),
                virtual_methods: Vec::new(),
            };
            if data != 0 {
                self.read_class_data(&mut class, data, &mut left)?;
            }
            self.classes.push(class);
        }
        Ok(())
    }

    fn read_class_data(&self, class: &mut Class, data: usize, left: &mut usize) -> Result<(), ReadError> {
        let bad = ReadError::new(data, "the class data is broken");
        let mut cursor = Cursor::new(self.bytes, data);
        let mut counts = [0u32; 4];
        for count in &mut counts {
            *count = cursor.unsigned().ok_or(bad)?;
        }
        let [static_fields, instance_fields, direct, virtuals] = counts;
        let mut list = |count: u32, limit: usize, has_code: bool| -> Result<Vec<Declared>, ReadError> {
            *left =
                left.checked_sub(count as usize).ok_or(ReadError::new(data, "classes share their data"))?;
            let mut list = Vec::new();
            let mut index = 0u32;
            for _ in 0..count {
                index = index.checked_add(cursor.unsigned().ok_or(bad)?).ok_or(bad)?;
                let access = cursor.unsigned().ok_or(bad)?;
                let code = if has_code { cursor.unsigned().ok_or(bad)? as usize } else { 0 };
                if index as usize >= limit {
                    return Err(bad);
                }
                list.push(Declared { index, access, code });
            }
            Ok(list)
        };
        class.static_fields = list(static_fields, self.fields.len(), false)?;
        class.instance_fields = list(instance_fields, self.fields.len(), false)?;
        class.direct_methods = list(direct, self.methods.len(), true)?;
        class.virtual_methods = list(virtuals, self.methods.len(), true)?;
        Ok(())
    }

    /// Returns how many strings the file has.
    pub(crate) fn string_count(&self) -> u32 {
        self.strings.count
    }

    /// Returns how many call sites the file has.
    pub(crate) fn call_site_count(&self) -> u32 {
        self.call_sites.count
    }

    /// Returns the modified UTF-8 bytes of a string; `None` if it is outside or is longer than 8 KiB.
    pub(crate) fn string(&self, index: u32) -> Option<&'a [u8]> {
        let at = word(self.bytes, self.strings.entry(index, 4)?)? as usize;
        let mut cursor = Cursor::new(self.bytes, at);
        cursor.unsigned()?;
        let rest = self.bytes.get(cursor.at()..)?;
        let end = rest.iter().take(MAX_DESCRIPTOR).position(|&byte| byte == 0)?;
        rest.get(..end)
    }

    /// Returns a string for a message.
    pub(crate) fn text(&self, index: u32) -> String {
        self.string(index).map_or_else(|| "?".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Returns the parameters of a prototype, as type indices.
    pub(crate) fn parameters(&self, proto: &Proto) -> &[u16] {
        self.parameters.get(proto.parameters.clone()).unwrap_or_default()
    }

    /// Returns a type's descriptor.
    pub(crate) fn descriptor(&self, index: u32) -> Option<&'a [u8]> {
        self.types.get(index as usize).copied()
    }

    /// Returns the prototype of a method reference.
    pub(crate) fn proto_of(&self, method: Member) -> Option<&Proto> {
        self.protos.get(method.kind as usize)
    }

    /// Returns the descriptor of a prototype: `(ILjava/lang/String;)V`.
    pub(crate) fn proto_text(&self, proto: &Proto) -> String {
        let text = |index: u32| String::from_utf8_lossy(self.descriptor(index).unwrap_or(b"?")).into_owned();
        let parameters: String = self.parameters(proto).iter().map(|&index| text(u32::from(index))).collect();
        format!("({parameters}){}", text(proto.returns))
    }

    /// Returns the prototype of a call site, if its method handle invokes a static method.
    pub(crate) fn call_site_proto(&self, index: u32) -> Option<&Proto> {
        let at = word(self.bytes, self.call_sites.entry(index, 4)?)? as usize;
        let mut cursor = Cursor::new(self.bytes, at);
        if cursor.unsigned()? < 3 {
            return None;
        }
        // Encoded values: method handle 0x16, string 0x17, method type 0x15, each with its width in the upper bits.
        let mut at = cursor.at();
        let mut values = [0u32; 3];
        for (value, kind) in values.iter_mut().zip([0x16u8, 0x17, 0x15]) {
            let tag = *self.bytes.get(at)?;
            let width = usize::from(tag >> 5) + 1;
            if tag & 0x1f != kind || width > 4 {
                return None;
            }
            for (shift, &byte) in self.bytes.get(at + 1..at + 1 + width)?.iter().enumerate() {
                *value |= u32::from(byte) << (8 * shift);
            }
            at += 1 + width;
        }
        self.protos.get(*values.last()? as usize)
    }
}

fn version(bytes: &[u8], header: usize) -> Result<u32, ReadError> {
    let bad = ReadError::new(header, "not a dex file of a known version (035 to 041)");
    let magic = header.checked_add(8).and_then(|end| bytes.get(header..end)).ok_or(bad)?;
    match magic {
        b"dex\n035\0" => Ok(35),
        b"dex\n037\0" => Ok(37),
        b"dex\n038\0" => Ok(38),
        b"dex\n039\0" => Ok(39),
        b"dex\n040\0" => Ok(40),
        b"dex\n041\0" => Ok(41),
        _ => Err(bad),
    }
}

/// Whether `bytes` are a type descriptor with at most 255 array dimensions; `V` included.
fn is_descriptor(bytes: &[u8]) -> bool {
    let dimensions = bytes.iter().take_while(|&&byte| byte == b'[').count();
    match bytes.get(dimensions..) {
        Some([b'V']) => dimensions == 0,
        Some([b'Z' | b'B' | b'S' | b'C' | b'I' | b'J' | b'F' | b'D']) => dimensions <= 255,
        Some([b'L', name @ .., b';']) => dimensions <= 255 && !name.is_empty(),
        _ => false,
    }
}
