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
use self::pool::Pool;
use crate::WriteError;
use crate::model::NO_INDEX;
use crate::uses::Used;
use crate::{Class, Dex, Remap, mutf8};

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
        let strings = self.write_strings(&order, &mut file)?;

        let mut types = Vec::new();
        order.types.iter().for_each(|&string| types.u32(string));
        let mut protos = Vec::new();
        for (proto, list) in order.protos.iter().zip(lists.protos) {
            [proto.shorty, proto.result, list].into_iter().for_each(|word| protos.u32(word));
        }
        let mut fields = Vec::new();
        for field in &order.fields {
            fields.u16(field.class as u16);
            fields.u16(field.kind as u16);
            fields.u32(field.name);
        }
        let mut methods = Vec::new();
        for method in &order.methods {
            methods.u16(method.class as u16);
            methods.u16(method.proto as u16);
            methods.u32(method.name);
        }
        let mut definitions = Vec::new();
        let offsets = lists.interfaces.into_iter().zip(directories).zip(data).zip(arrays.static_values);
        for (class, (((interfaces, directory), data), values)) in classes.iter().zip(offsets) {
            let super_class = class.super_class.map_or(Ok(NO_INDEX), |kind| remap.kind(kind))?;
            let source = class.source_file.map_or(Ok(NO_INDEX), |string| remap.string(string))?;
            let words = [
                remap.kind(class.class)?,
                class.access,
                super_class,
                interfaces,
                source,
                directory,
                data,
                values,
            ];
            words.into_iter().for_each(|word| definitions.u32(word));
        }
        let mut call_sites = Vec::new();
        arrays.call_sites.iter().for_each(|&at| call_sites.u32(at));
        let handles = self.handle_table(&order)?;
        let tables = [strings, types, protos, fields, methods, definitions, call_sites, handles];
        let tables = (1..).zip(sizes).zip(tables).map(|((kind, (size, _)), bytes)| (kind, size, bytes));
        file.finish(self.version.min(MAX_VERSION), &tables.collect::<Vec<_>>())
    }

    /// Writes the strings, and returns the table of their offsets.
    fn write_strings(&self, order: &Order, file: &mut File) -> Result<Vec<u8>, WriteError> {
        let at = file.begin(1);
        let mut table = Vec::with_capacity(order.strings.len() * 4);
        for &index in &order.strings {
            let string = self.strings.get(index as usize).map_or(&[][..], |string| string);
            let units = mutf8::utf16_length(string).ok_or(WriteError::String { index })?;
            let to = file.bytes();
            table.u32(to.len() as u32);
            to.uleb(units as u32);
            to.extend_from_slice(string);
            to.push(0);
        }
        file.section(0x2002, order.strings.len(), at);
        Ok(table)
    }

    fn handle_table(&self, order: &Order) -> Result<Vec<u8>, WriteError> {
        let mut table = Vec::new();
        let remap = &order.remap;
        for handle in order.handles.iter().filter_map(|&index| self.handles.get(index as usize)) {
            let target = if handle.is_of_field() {
                remap.field(handle.target)?
            } else {
                remap.method(handle.target)?
            };
            [handle.kind, 0, target as u16, 0].into_iter().for_each(|half| table.u16(half));
        }
        Ok(table)
    }
}

/// Offsets of type lists, 0 for empty ones.
struct TypeLists {
    protos: Vec<u32>,
    interfaces: Vec<u32>,
}

impl TypeLists {
    fn write(order: &Order, classes: &[&Class<'_>], file: &mut File) -> Result<Self, WriteError> {
        let mut pool = Pool::new(4);
        let mut list = Vec::new();
        let mut add = |types: &[u32]| {
            if types.is_empty() {
                return None;
            }
            list.clear();
            list.u32(types.len() as u32);
            types.iter().for_each(|&kind| list.u16(kind as u16));
            Some(pool.add(&list) as u32)
        };
        let protos: Vec<_> = order.protos.iter().map(|proto| add(&proto.parameters)).collect();
        let mut interfaces = Vec::with_capacity(classes.len());
        for class in classes {
            let types =
                class.interfaces.iter().map(|&kind| order.remap.kind(kind)).collect::<Result<Vec<_>, _>>()?;
            interfaces.push(add(&types));
        }
        let at = file.append(0x1001, 4, &pool);
        let absolute = |offsets: Vec<Option<u32>>| {
            offsets.into_iter().map(|offset| offset.map_or(0, |it| at + it)).collect()
        };
        Ok(Self { protos: absolute(protos), interfaces: absolute(interfaces) })
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
        order: &Order,
        classes: &[&Class<'_>],
        file: &mut File,
    ) -> Result<Self, WriteError> {
        let mut pool = Pool::new(1);
        let mut array = Vec::new();
        let remap = &order.remap;
        let mut call_sites = Vec::with_capacity(order.call_sites.len());
        for site in order.call_sites.iter().filter_map(|&index| dex.call_sites.get(index as usize)) {
            array.clear();
            values::array(site, remap, &mut array)?;
            call_sites.push(pool.add(&array) as u32);
        }
        let mut static_values = Vec::with_capacity(classes.len());
        for class in classes {
            array.clear();
            let any = classes::static_values(dex, class, remap, &mut array)?;
            static_values.push(any.then(|| pool.add(&array) as u32));
        }
        let at = file.append(0x2005, 1, &pool);
        call_sites.iter_mut().for_each(|offset| *offset += at);
        let static_values = static_values.into_iter().map(|offset| offset.map_or(0, |it| at + it)).collect();
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
        let at = file.bytes().len() as u32;
        let any = classes::data(class, &mut code, remap, file.bytes())?;
        count += usize::from(any);
        offsets.push(if any { at } else { 0 });
    }
    file.section(0x2000, count, start);
    Ok(offsets)
}
