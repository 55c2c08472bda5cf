//! Writes dex files.
//!
//! ```text
//!   tables -> order -> Remap          header, tables (offsets filled in last)
//!   classes -> sections of data:      type lists, annotations, arrays, code, debug information, class data, strings, map
//! ```
//!
//! Every item of the tables is written, used or not, so that a file which is read and written keeps what it had; unless
//! [`Dex::drop_unused`] is set. The same [`Dex`] gives the same bytes.

mod annotations;
pub(crate) mod classes;
mod code;
mod file;
mod order;
mod output;
mod pool;
mod values;

use self::file::File;
use self::order::Order;
use self::output::Output;
use crate::WriteError;
use crate::leb128::put_uleb;
use crate::model::NO_INDEX;
use crate::uses::Used;
use crate::{Class, Dex, Remap, Table, mutf8};

/// The newest version of files that are no containers.
const MAX_VERSION: u8 = 40;

impl Dex<'_> {
    /// The bytes of the file, of the version that was read; 040 if it was in a container.
    ///
    /// # Errors
    ///
    /// Tables that are too large, code that cannot be written, and indices that are outside of their tables.
    pub fn write(&self) -> Result<Vec<u8>, WriteError> {
        let used = self.drop_unused.then(|| Used::by_all(self)).transpose()?;
        let order = Order::of(self, used.as_ref())?;
        let remap = &order.remap;
        let classes = classes::ordered(self);
        let sizes = [
            (order.strings.len(), 4),
            (order.types.len(), 4),
            (order.protos.len(), 12),
            (order.fields.len(), 8),
            (order.methods.len(), 8),
            (classes.len(), 32),
            (order.call_sites.len(), 4),
            (order.handles.len(), 8),
        ];
        let mut file = File::new(sizes.iter().map(|(size, entry)| size * entry).sum());

        let lists = TypeLists::write(&order, &classes, &mut file)?;
        let directories = annotations::write(&classes, remap, &mut file)?;
        let arrays = Arrays::write(self, &order, &classes, &mut file)?;
        let code = code::write(&classes, remap, &mut file)?;
        let data = class_data(&classes, code, remap, &mut file)?;
        let strings = write_strings(&order, &mut file)?;

        let types = words(order.types.iter().copied());
        let protos = order.protos.iter().zip(lists.protos);
        let protos = words(protos.flat_map(|(proto, list)| [proto.shorty, proto.result, list]));
        // Class and type, or proto, have 16 bits each.
        let fields = order.fields.iter().flat_map(|field| [field.kind << 16 | field.class, field.name]);
        let fields = words(fields);
        let methods =
            order.methods.iter().flat_map(|method| [method.proto << 16 | method.class, method.name]);
        let methods = words(methods);
        let mut definitions = Vec::new();
        let offsets = lists.interfaces.into_iter().zip(directories).zip(data).zip(arrays.static_values);
        for (class, (((interfaces, directory), data), values)) in classes.iter().zip(offsets) {
            let index =
                |table, index: Option<u32>| index.map_or(Ok(NO_INDEX), |index| remap.get(table, index));
            let super_class = index(Table::Types, class.super_class)?;
            let source = index(Table::Strings, class.source_file)?;
            let kind = remap.get(Table::Types, class.class)?;
            let definition = [kind, class.access, super_class, interfaces, source, directory, data, values];
            definition.into_iter().for_each(|word| definitions.u32(word));
        }
        let call_sites = words(arrays.call_sites);
        let handles = self.handle_table(&order)?;
        let tables = [strings, types, protos, fields, methods, definitions, call_sites, handles];
        let tables = (1..).zip(sizes).zip(tables).map(|((kind, (size, _)), bytes)| (kind, size, bytes));
        file.finish(self.version.min(MAX_VERSION), &tables.collect::<Vec<_>>())
    }

    fn handle_table(&self, order: &Order<'_>) -> Result<Vec<u8>, WriteError> {
        let mut bytes = Vec::new();
        for handle in order.handles.iter().filter_map(|&index| self.handles.get(index as usize)) {
            let (table, member) = handle.member();
            let target = order.remap.get(table, member)?;
            [handle.kind, 0, target as u16, 0].into_iter().for_each(|half| bytes.u16(half));
        }
        Ok(bytes)
    }
}

/// Returns the bytes of these words.
fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Writes the strings, and returns the table of their offsets.
fn write_strings(order: &Order<'_>, file: &mut File) -> Result<Vec<u8>, WriteError> {
    let at = file.begin(1);
    let mut table = Vec::with_capacity(order.strings.len() * 4);
    for &(index, string) in &order.strings {
        let units = mutf8::utf16_length(string).ok_or(WriteError::String(index))?;
        let to = &mut file.bytes;
        table.u32(to.len() as u32);
        put_uleb(units as u32, to);
        to.extend_from_slice(string);
        to.push(0);
    }
    file.section(0x2002, order.strings.len(), at);
    Ok(table)
}

/// Offsets of type lists, 0 for empty ones.
struct TypeLists {
    protos: Vec<u32>,
    interfaces: Vec<u32>,
}

impl TypeLists {
    fn write(order: &Order<'_>, classes: &[&Class<'_>], file: &mut File) -> Result<Self, WriteError> {
        let mut pool = file.pool(4);
        let mut list = Vec::new();
        let mut add = |types: &[u32]| {
            if types.is_empty() {
                return 0;
            }
            list.clear();
            list.u32(types.len() as u32);
            types.iter().for_each(|&kind| list.u16(kind as u16));
            pool.add(&list)
        };
        let protos = order.protos.iter().map(|proto| add(&proto.parameters)).collect();
        let mut interfaces = Vec::with_capacity(classes.len());
        for class in classes {
            let types = class.interfaces.iter().map(|&kind| order.remap.get(Table::Types, kind));
            interfaces.push(add(&types.collect::<Result<Vec<_>, _>>()?));
        }
        file.append(0x1001, &pool);
        Ok(Self { protos, interfaces })
    }
}

/// Offsets of encoded arrays, 0 for classes without static values.
struct Arrays {
    call_sites: Vec<u32>,
    static_values: Vec<u32>,
}

impl Arrays {
    fn write(
        dex: &Dex<'_>,
        order: &Order<'_>,
        classes: &[&Class<'_>],
        file: &mut File,
    ) -> Result<Self, WriteError> {
        let mut pool = file.pool(1);
        let mut array = Vec::new();
        let remap = &order.remap;
        let mut call_sites = Vec::with_capacity(order.call_sites.len());
        for site in order.call_sites.iter().filter_map(|&index| dex.call_sites.get(index as usize)) {
            array.clear();
            values::array(site, remap, &mut array)?;
            call_sites.push(pool.add(&array));
        }
        let mut static_values = Vec::with_capacity(classes.len());
        for class in classes {
            array.clear();
            let any = classes::static_values(dex, class, remap, &mut array)?;
            static_values.push(if any { pool.add(&array) } else { 0 });
        }
        file.append(0x2005, &pool);
        Ok(Self { call_sites, static_values })
    }
}

/// Writes the class data, and returns its offset for each class, 0 where it is empty.
fn class_data(
    classes: &[&Class<'_>],
    code: Vec<u32>,
    remap: &Remap,
    file: &mut File,
) -> Result<Vec<u32>, WriteError> {
    let start = file.begin(1);
    let mut code = code.into_iter();
    let mut offsets = Vec::with_capacity(classes.len());
    let mut count = 0;
    for class in classes {
        let at = file.bytes.len() as u32;
        let any = classes::data(class, &mut code, remap, &mut file.bytes)?;
        count += usize::from(any);
        offsets.push(if any { at } else { 0 });
    }
    file.section(0x2000, count, start);
    Ok(offsets)
}
