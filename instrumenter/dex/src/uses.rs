//! Which items of the tables classes use.

use crate::code::Fault;
use crate::table::{TABLES, Table, Use};
use crate::{Annotation, Annotations, Class, ClassMethod, Dex, Limit, MethodCode, Value, WriteError};

/// The items that some classes use, with all that those refer to.
#[derive(Clone, Debug)]
pub(crate) struct Used<'d> {
    dex: &'d Dex<'d>,
    used: [Vec<bool>; TABLES.len()],
    counts: [usize; TABLES.len()],
}

impl<'d> Used<'d> {
    /// What none of the classes of `dex` uses.
    pub(crate) fn by_none(dex: &'d Dex<'d>) -> Self {
        Self { dex, used: TABLES.map(|table| vec![false; dex.size(table)]), counts: [0; TABLES.len()] }
    }

    /// What the classes of `dex` use.
    pub(crate) fn by_all(dex: &'d Dex<'d>) -> Result<Self, WriteError> {
        let mut used = Self::by_none(dex);
        dex.classes.iter().try_for_each(|class| used.add_class(class))?;
        Ok(used)
    }

    pub(crate) fn contains(&self, table: Table, index: u32) -> bool {
        let used = self.used.get(table as usize).and_then(|used| used.get(index as usize));
        used.is_some_and(|&used| used)
    }

    /// Checks that a file can have as many items as are used.
    pub(crate) fn check(&self) -> Result<(), Limit> {
        TABLES.into_iter().zip(self.counts).try_for_each(|(table, count)| table.check(count))
    }

    /// Adds an item, and what it refers to if it is new.
    fn item(&mut self, table: Table, index: u32) -> Result<(), WriteError> {
        let used = self.used[table as usize].get_mut(index as usize);
        let used = used.ok_or(WriteError::Index { table: table.name(), index })?;
        if std::mem::replace(used, true) {
            return Ok(());
        }
        self.counts[table as usize] += 1;
        // The item is in the table, because `used` is as long.
        let (dex, index) = (self.dex, index as usize);
        match table {
            Table::Strings => Ok(()),
            Table::Types => self.item(Table::Strings, dex.types[index]),
            Table::Protos => {
                let proto = &dex.protos[index];
                self.item(Table::Strings, proto.shorty)?;
                self.item(Table::Types, proto.result)?;
                self.types(&proto.parameters)
            }
            Table::Fields => {
                let field = dex.fields[index];
                self.types(&[field.class, field.kind])?;
                self.item(Table::Strings, field.name)
            }
            Table::Methods => {
                let method = dex.methods[index];
                self.item(Table::Types, method.class)?;
                self.item(Table::Protos, method.proto)?;
                self.item(Table::Strings, method.name)
            }
            Table::CallSites => self.values(&dex.call_sites[index]),
            Table::Handles => {
                let (table, member) = dex.handles[index].member();
                self.item(table, member)
            }
        }
    }

    fn types<'k>(&mut self, kinds: impl IntoIterator<Item = &'k u32>) -> Result<(), WriteError> {
        kinds.into_iter().try_for_each(|kind| self.item(Table::Types, *kind))
    }

    fn values(&mut self, values: &[Value]) -> Result<(), WriteError> {
        values.iter().try_for_each(|value| self.value(value))
    }

    fn value(&mut self, value: &Value) -> Result<(), WriteError> {
        match value {
            Value::MethodType(proto) => self.item(Table::Protos, *proto),
            Value::MethodHandle(handle) => self.item(Table::Handles, *handle),
            Value::String(string) => self.item(Table::Strings, *string),
            Value::Type(kind) => self.item(Table::Types, *kind),
            Value::Field(field) | Value::Enum(field) => self.item(Table::Fields, *field),
            Value::Method(method) => self.item(Table::Methods, *method),
            Value::Array(values) => self.values(values),
            Value::Annotation(annotation) => self.annotations(std::slice::from_ref(annotation)),
            Value::Byte(_) | Value::Short(_) | Value::Char(_) | Value::Int(_) | Value::Long(_) => Ok(()),
            Value::Float(_) | Value::Double(_) | Value::Null | Value::Boolean(_) => Ok(()),
        }
    }

    fn annotations(&mut self, annotations: &[Annotation]) -> Result<(), WriteError> {
        for annotation in annotations {
            self.item(Table::Types, annotation.kind)?;
            for (name, value) in annotation.elements.iter() {
                self.item(Table::Strings, *name)?;
                self.value(value)?;
            }
        }
        Ok(())
    }

    /// Adds all that a class uses.
    pub(crate) fn add_class(&mut self, class: &Class<'_>) -> Result<(), WriteError> {
        self.item(Table::Types, class.class)?;
        self.types(class.super_class.iter().chain(&class.interfaces))?;
        class.source_file.map_or(Ok(()), |string| self.item(Table::Strings, string))?;
        self.values(&class.static_values)?;
        class.annotations.class.iter().try_for_each(|set| self.annotations(set))?;
        let Annotations { fields, methods, parameters, .. } = &class.annotations;
        for (table, members) in [(Table::Fields, fields), (Table::Methods, methods)] {
            for (member, set) in members {
                self.item(table, *member)?;
                self.annotations(set)?;
            }
        }
        for (method, sets) in parameters {
            self.item(Table::Methods, *method)?;
            sets.iter().flatten().try_for_each(|set| self.annotations(set))?;
        }
        let mut fields = class.static_fields.iter().chain(&class.instance_fields);
        fields.try_for_each(|field| self.item(Table::Fields, field.field))?;
        class.methods().try_for_each(|method| self.class_method(method))
    }

    fn class_method(&mut self, method: &ClassMethod<'_>) -> Result<(), WriteError> {
        self.item(Table::Methods, method.method)?;
        let mut result = Ok(());
        let mut visit = |(table, index): Use| {
            if result.is_ok() {
                result = self.item(table, index);
            }
        };
        match &method.code {
            None => {}
            Some(MethodCode::Read(code)) => {
                let broken =
                    |broken| WriteError::Code { method: method.method, fault: Fault::Malformed(broken) };
                code.uses(&mut visit).map_err(broken)?;
            }
            Some(MethodCode::Edited(body)) => body.uses(&mut visit),
        }
        result
    }
}
