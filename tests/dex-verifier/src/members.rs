//! The fields and methods that the classes of a file declare.

use std::collections::HashMap;

use crate::file::{Declared, DexFile, Member};
use crate::types::{TypeId, Types};

/// Longest chain of super classes that is searched.
const MAX_DEPTH: usize = 128;

/// A declaration that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// The class that declares it.
    pub(crate) class: TypeId,
    pub(crate) access: u32,
    /// Whether it stands in the list of direct methods (or static fields).
    pub(crate) direct: bool,
}

type Key = (TypeId, u32, u32);

/// Declared members by class, name and type or prototype.
pub(crate) struct Members {
    fields: HashMap<Key, Found>,
    methods: HashMap<Key, Found>,
}

impl Members {
    pub(crate) fn new(file: &DexFile<'_>, types: &Types<'_>) -> Self {
        let (mut fields, mut methods) = (HashMap::new(), HashMap::new());
        for class in &file.classes {
            let insert = |map: &mut HashMap<Key, Found>, table: &[Member], list: &[Declared], direct| {
                for declared in list {
                    let Some(member) = table.get(declared.index as usize) else { continue };
                    let id = types.of(class.kind);
                    if types.of(member.class) == id {
                        let found = Found { class: id, access: declared.access, direct };
                        map.insert((id, member.name, member.kind), found);
                    }
                }
            };
            insert(&mut fields, &file.fields, &class.static_fields, true);
            insert(&mut fields, &file.fields, &class.instance_fields, false);
            insert(&mut methods, &file.methods, &class.direct_methods, true);
            insert(&mut methods, &file.methods, &class.virtual_methods, false);
        }
        Self { fields, methods }
    }

    /// Returns the declaration of a field in its class or a super class of the file.
    pub(crate) fn field(&self, types: &Types<'_>, field: Member) -> Option<Found> {
        find(&self.fields, types, field)
    }

    /// Returns the declaration of a method in its class or a super class of the file.
    pub(crate) fn method(&self, types: &Types<'_>, method: Member) -> Option<Found> {
        find(&self.methods, types, method)
    }
}

fn find(map: &HashMap<Key, Found>, types: &Types<'_>, member: Member) -> Option<Found> {
    let mut class = types.of(member.class);
    for _ in 0..MAX_DEPTH {
        types.class(class)?;
        if let Some(&found) = map.get(&(class, member.name, member.kind)) {
            return Some(found);
        }
        class = types.superclass(class)?;
    }
    None
}
