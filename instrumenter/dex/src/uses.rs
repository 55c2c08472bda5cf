//! Which items of the tables classes use.

use crate::code::{Fault, Use};
use crate::{AnnotationSet, Class, ClassMethod, Dex, MethodCode, Value, WriteError};

/// Types and protos are referred to by 16 bits of which the last value stands for none.
pub(crate) const MAX_TYPES: usize = 0xffff;
/// Fields and methods are referred to by 16 bits.
pub(crate) const MAX_MEMBERS: usize = 0x1_0000;

/// A table of a dex file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Strings,
    Types,
    Protos,
    Fields,
    Methods,
    CallSites,
    Handles,
}

impl Table {
    /// The table's name in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Strings => "strings",
            Self::Types => "types",
            Self::Protos => "protos",
            Self::Fields => "fields",
            Self::Methods => "methods",
            Self::CallSites => "call sites",
            Self::Handles => "method handles",
        }
    }

    /// The number of entries that a file can have.
    fn max(self) -> usize {
        match self {
            Self::Strings => u32::MAX as usize,
            Self::Types | Self::Protos => MAX_TYPES,
            Self::Fields | Self::Methods | Self::CallSites | Self::Handles => MAX_MEMBERS,
        }
    }
}

const TABLES: [Table; 7] = [
    Table::Strings,
    Table::Types,
    Table::Protos,
    Table::Fields,
    Table::Methods,
    Table::CallSites,
    Table::Handles,
];

/// The items that some classes use, with all that those refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    used: [Vec<bool>; 7],
    counts: [usize; 7],
}

impl Used {
    /// What none of the classes of `dex` uses.
    pub(crate) fn by_none(dex: &Dex<'_>) -> Self {
        let sizes = [
            dex.strings.len(),
            dex.types.len(),
            dex.protos.len(),
            dex.fields.len(),
            dex.methods.len(),
            dex.call_sites.len(),
            dex.handles.len(),
        ];
        Self { used: sizes.map(|size| vec![false; size]), ..Self::default() }
    }

    /// What the classes of `dex` use.
    pub(crate) fn by_all(dex: &Dex<'_>) -> Result<Self, WriteError> {
        let mut used = Self::by_none(dex);
        for class in &dex.classes {
            used.add_class(dex, class)?;
        }
        Ok(used)
    }

    pub(crate) fn contains(&self, table: Table, index: u32) -> bool {
        let used = self.used.get(table as usize).and_then(|used| used.get(index as usize));
        used.is_some_and(|&used| used)
    }

    /// A table with more used items than a file can have.
    pub(crate) fn overflow(&self) -> Option<Table> {
        TABLES
            .into_iter()
            .zip(self.counts)
            .find(|(table, count)| *count > table.max())
            .map(|(table, _)| table)
    }

    /// Adds an item. Returns whether it is new.
    fn add(&mut self, table: Table, index: u32) -> Result<bool, WriteError> {
        let used = self.used.get_mut(table as usize).and_then(|used| used.get_mut(index as usize));
        let used = used.ok_or(WriteError::Index { table: table.name(), index })?;
        if std::mem::replace(used, true) {
            return Ok(false);
        }
        if let Some(count) = self.counts.get_mut(table as usize) {
            *count += 1;
        }
        Ok(true)
    }

    fn string(&mut self, index: u32) -> Result<(), WriteError> {
        self.add(Table::Strings, index).map(|_| ())
    }

    fn kind(&mut self, dex: &Dex<'_>, index: u32) -> Result<(), WriteError> {
        if self.add(Table::Types, index)?
            && let Some(&string) = dex.types.get(index as usize)
        {
            self.string(string)?;
        }
        Ok(())
    }

    fn proto(&mut self, dex: &Dex<'_>, index: u32) -> Result<(), WriteError> {
        if self.add(Table::Protos, index)?
            && let Some(proto) = dex.protos.get(index as usize)
        {
            self.string(proto.shorty)?;
            self.kind(dex, proto.result)?;
            proto.parameters.iter().try_for_each(|&kind| self.kind(dex, kind))?;
        }
        Ok(())
    }

    fn field(&mut self, dex: &Dex<'_>, index: u32) -> Result<(), WriteError> {
        if self.add(Table::Fields, index)?
            && let Some(field) = dex.fields.get(index as usize)
        {
            self.kind(dex, field.class)?;
            self.kind(dex, field.kind)?;
            self.string(field.name)?;
        }
        Ok(())
    }

    fn method(&mut self, dex: &Dex<'_>, index: u32) -> Result<(), WriteError> {
        if self.add(Table::Methods, index)?
            && let Some(method) = dex.methods.get(index as usize)
        {
            self.kind(dex, method.class)?;
            self.proto(dex, method.proto)?;
            self.string(method.name)?;
        }
        Ok(())
    }

    fn handle(&mut self, dex: &Dex<'_>, index: u32) -> Result<(), WriteError> {
        if self.add(Table::Handles, index)?
            && let Some(handle) = dex.handles.get(index as usize)
        {
            return if handle.is_of_field() {
                self.field(dex, handle.target)
            } else {
                self.method(dex, handle.target)
            };
        }
        Ok(())
    }

    fn call_site(&mut self, dex: &Dex<'_>, index: u32) -> Result<(), WriteError> {
        if self.add(Table::CallSites, index)?
            && let Some(site) = dex.call_sites.get(index as usize)
        {
            self.values(dex, site)?;
        }
        Ok(())
    }

    fn values(&mut self, dex: &Dex<'_>, values: &[Value]) -> Result<(), WriteError> {
        values.iter().try_for_each(|value| self.value(dex, value))
    }

    fn value(&mut self, dex: &Dex<'_>, value: &Value) -> Result<(), WriteError> {
        match value {
            Value::MethodType(proto) => self.proto(dex, *proto),
            Value::MethodHandle(handle) => self.handle(dex, *handle),
            Value::String(string) => self.string(*string),
            Value::Type(kind) => self.kind(dex, *kind),
            Value::Field(field) | Value::Enum(field) => self.field(dex, *field),
            Value::Method(method) => self.method(dex, *method),
            Value::Array(values) => self.values(dex, values),
            Value::Annotation(annotation) => self.annotations(dex, std::slice::from_ref(annotation)),
            Value::Byte(_)
            | Value::Short(_)
            | Value::Char(_)
            | Value::Int(_)
            | Value::Long(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Null
            | Value::Boolean(_) => Ok(()),
        }
    }

    fn annotations(&mut self, dex: &Dex<'_>, annotations: &[crate::Annotation]) -> Result<(), WriteError> {
        for annotation in annotations {
            self.kind(dex, annotation.kind)?;
            for (name, value) in annotation.elements.iter() {
                self.string(*name)?;
                self.value(dex, value)?;
            }
        }
        Ok(())
    }

    /// Adds all that a class uses.
    pub(crate) fn add_class(&mut self, dex: &Dex<'_>, class: &Class<'_>) -> Result<(), WriteError> {
        self.kind(dex, class.class)?;
        class.super_class.iter().chain(&class.interfaces).try_for_each(|&kind| self.kind(dex, kind))?;
        class.source_file.map_or(Ok(()), |string| self.string(string))?;
        self.values(dex, &class.static_values)?;
        let set = |used: &mut Self, set: &AnnotationSet| used.annotations(dex, set);
        class.annotations.class.iter().try_for_each(|it| set(self, it))?;
        for (field, it) in &class.annotations.fields {
            self.field(dex, *field)?;
            set(self, it)?;
        }
        for (method, it) in &class.annotations.methods {
            self.method(dex, *method)?;
            set(self, it)?;
        }
        for (method, sets) in &class.annotations.parameters {
            self.method(dex, *method)?;
            sets.iter().flatten().try_for_each(|it| set(self, it))?;
        }
        let mut fields = class.static_fields.iter().chain(&class.instance_fields);
        fields.try_for_each(|field| self.field(dex, field.field))?;
        let mut methods = class.direct_methods.iter().chain(&class.virtual_methods);
        methods.try_for_each(|method| self.class_method(dex, method))
    }

    fn class_method(&mut self, dex: &Dex<'_>, method: &ClassMethod<'_>) -> Result<(), WriteError> {
        self.method(dex, method.method)?;
        let mut result = Ok(());
        let mut visit = |item| {
            if result.is_ok() {
                result = match item {
                    Use::String(string) => self.string(string),
                    Use::Type(kind) => self.kind(dex, kind),
                    Use::Proto(proto) => self.proto(dex, proto),
                    Use::Field(field) => self.field(dex, field),
                    Use::Method(method) => self.method(dex, method),
                    Use::CallSite(site) => self.call_site(dex, site),
                    Use::Handle(handle) => self.handle(dex, handle),
                };
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
