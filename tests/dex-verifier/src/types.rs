//! The types that a file names, its class hierarchy, and what may be assigned to what.
//!
//! Classes outside of the file are unknown: ART postpones a check that needs one to run time, and here such a check
//! passes. A few classes of `java.lang` that every system has are known by heart.

use std::collections::HashMap;

use crate::error::ReadError;
use crate::file::DexFile;

/// Longest chain of super classes that is followed. Real ones are below 30; a cycle ends here, too.
const MAX_DEPTH: usize = 128;
/// Most element types that are added for arrays whose element type the file does not list.
const MAX_ADDED: usize = 65_536;
const ACC_INTERFACE: u32 = 0x200;
const ACC_ABSTRACT: u32 = 0x400;

/// A type. Equal descriptors have equal ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TypeId(u32);

impl TypeId {
    /// A reference of which nothing is known; may be assigned to anything.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX);
    pub(crate) const OBJECT: Self = Self(0);
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const CLASS: Self = Self(2);
    pub(crate) const THROWABLE: Self = Self(3);
    pub(crate) const METHOD_HANDLE: Self = Self(7);
    pub(crate) const METHOD_TYPE: Self = Self(8);
}

/// Classes known without their file: descriptor and super class. The position is the [`TypeId`].
const BUILT_IN: [(&[u8], Option<TypeId>); 10] = [
    (b"Ljava/lang/Object;", None),
    (b"Ljava/lang/String;", Some(TypeId::OBJECT)),
    (b"Ljava/lang/Class;", Some(TypeId::OBJECT)),
    (b"Ljava/lang/Throwable;", Some(TypeId::OBJECT)),
    (b"Ljava/lang/Exception;", Some(TypeId::THROWABLE)),
    (b"Ljava/lang/RuntimeException;", Some(TypeId(4))),
    (b"Ljava/lang/Error;", Some(TypeId::THROWABLE)),
    (b"Ljava/lang/invoke/MethodHandle;", Some(TypeId::OBJECT)),
    (b"Ljava/lang/invoke/MethodType;", Some(TypeId::OBJECT)),
    (b"Ljava/lang/invoke/VarHandle;", Some(TypeId::OBJECT)),
];

/// What a descriptor says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `V`.
    Void,
    /// A primitive, with the letter of its descriptor.
    Primitive(u8),
    /// A class or interface.
    Class,
    /// An array with this element type.
    Array(TypeId),
}

/// The classes of all dex files of an app, by descriptor. Of several with the same name the first counts, as at run time.
#[derive(Default)]
pub(crate) struct Hierarchy<'a> {
    /// Super class and access flags.
    classes: HashMap<&'a [u8], (Option<&'a [u8]>, u32)>,
}

impl<'a> Hierarchy<'a> {
    /// Adds the classes of a file.
    pub(crate) fn add(&mut self, file: &DexFile<'a>) {
        for class in &file.classes {
            let Some(descriptor) = file.descriptor(class.kind) else { continue };
            let superclass = class.superclass.and_then(|index| file.descriptor(index));
            self.classes.entry(descriptor).or_insert((superclass, class.access));
        }
    }
}

/// What is known of a class.
#[derive(Clone, Copy, Debug)]
struct Known {
    superclass: Option<TypeId>,
    access: u32,
    /// Index into the file's classes; `None` for a built-in class or one of another file of the app.
    class: Option<u32>,
}

/// The answer to whether a value of one type may be used as another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Certainly.
    Yes,
    /// Certainly not.
    No,
    /// It depends on classes outside of the file.
    Unknown,
}

/// All types of a file.
pub(crate) struct Types<'a> {
    descriptors: Vec<&'a [u8]>,
    kinds: Vec<Kind>,
    known: Vec<Option<Known>>,
    by_descriptor: HashMap<&'a [u8], TypeId>,
    /// Ids by index into the file's type table.
    by_index: Vec<TypeId>,
}

impl<'a> Types<'a> {
    /// Returns the built-in types alone.
    pub(crate) fn empty() -> Self {
        let mut types = Self {
            descriptors: Vec::new(),
            kinds: Vec::new(),
            known: Vec::new(),
            by_descriptor: HashMap::new(),
            by_index: Vec::new(),
        };
        for (descriptor, superclass) in BUILT_IN {
            let id = types.insert(descriptor, Kind::Class);
            if let Some(known) = types.known.get_mut(id.0 as usize) {
                *known = Some(Known { superclass, access: 0, class: None });
            }
        }
        types
    }

    /// Collects the types of `file`, with what is known of them from all files of the app.
    pub(crate) fn new(file: &DexFile<'a>, hierarchy: &Hierarchy<'a>) -> Result<Self, ReadError> {
        let mut types = Self::empty();
        for &descriptor in &file.types {
            let id = types.add(descriptor);
            types.by_index.push(id);
        }
        if types.descriptors.len() > file.types.len() + BUILT_IN.len() + MAX_ADDED {
            return Err(ReadError::new(0, "too many array types without their element type"));
        }
        for (position, class) in file.classes.iter().enumerate() {
            let id = types.of(class.kind);
            let superclass = class.superclass.map(|index| types.of(index));
            if let Some(known) = types.known.get_mut(id.0 as usize) {
                *known = Some(Known { superclass, access: class.access, class: Some(position as u32) });
            }
        }
        types.add_classes_of_other_files(hierarchy);
        Ok(types)
    }

    fn add_classes_of_other_files(&mut self, hierarchy: &Hierarchy<'a>) {
        // Super classes are added at the end, so that the loop reaches them, too. At most all classes of the app are.
        let mut position = 0;
        while let Some(&descriptor) = self.descriptors.get(position) {
            let missing = self.known.get(position).is_some_and(Option::is_none);
            if let Some(&(superclass, access)) = hierarchy.classes.get(descriptor).filter(|_| missing) {
                let superclass = superclass.map(|descriptor| self.add(descriptor));
                if let Some(known) = self.known.get_mut(position) {
                    *known = Some(Known { superclass, access, class: None });
                }
            }
            position += 1;
        }
    }

    fn insert(&mut self, descriptor: &'a [u8], kind: Kind) -> TypeId {
        let id = TypeId(self.descriptors.len() as u32);
        self.descriptors.push(descriptor);
        self.kinds.push(kind);
        self.known.push(None);
        self.by_descriptor.insert(descriptor, id);
        id
    }

    /// Adds a type and, for an array, its element types.
    fn add(&mut self, descriptor: &'a [u8]) -> TypeId {
        let dimensions = descriptor.iter().take_while(|&&byte| byte == b'[').count();
        let mut id = TypeId::UNKNOWN;
        for skipped in (0..=dimensions).rev() {
            let Some(part) = descriptor.get(skipped..) else { continue };
            let kind = match part.first() {
                Some(b'[') => Kind::Array(id),
                Some(b'L') => Kind::Class,
                Some(b'V') | None => Kind::Void,
                Some(&letter) => Kind::Primitive(letter),
            };
            id = self.by_descriptor.get(part).copied().unwrap_or_else(|| self.insert(part, kind));
            if self.descriptors.len() > 4 * MAX_ADDED {
                // Reported by `new`; nothing more is added, to bound the memory.
                return TypeId::UNKNOWN;
            }
        }
        id
    }

    /// Returns the type at an index of the file's table.
    pub(crate) fn of(&self, index: u32) -> TypeId {
        self.by_index.get(index as usize).copied().unwrap_or(TypeId::UNKNOWN)
    }

    pub(crate) fn kind(&self, id: TypeId) -> Kind {
        self.kinds.get(id.0 as usize).copied().unwrap_or(Kind::Class)
    }

    /// Returns the descriptor for messages.
    pub(crate) fn name(&self, id: TypeId) -> String {
        match self.descriptors.get(id.0 as usize) {
            Some(descriptor) => String::from_utf8_lossy(descriptor).into_owned(),
            None => "a reference of unknown class".to_owned(),
        }
    }

    fn known(&self, id: TypeId) -> Option<Known> {
        self.known.get(id.0 as usize).copied().flatten()
    }

    /// Returns the index of the class definition, if the file has one.
    pub(crate) fn class(&self, id: TypeId) -> Option<u32> {
        self.known(id)?.class
    }

    /// Returns the super class, if it is known and there is one.
    pub(crate) fn superclass(&self, id: TypeId) -> Option<TypeId> {
        self.known(id)?.superclass
    }

    /// Whether the file defines it as an interface.
    pub(crate) fn is_interface(&self, id: TypeId) -> bool {
        self.known(id).is_some_and(|known| known.access & ACC_INTERFACE != 0)
    }

    /// Whether the file defines it as an interface or abstract class.
    pub(crate) fn is_abstract(&self, id: TypeId) -> bool {
        self.known(id).is_some_and(|known| known.access & (ACC_INTERFACE | ACC_ABSTRACT) != 0)
    }

    /// Whether it is an array, or a class of which it is known that it is no interface.
    pub(crate) fn is_definite_class(&self, id: TypeId) -> bool {
        matches!(self.kind(id), Kind::Array(_))
            || self.known(id).is_some_and(|known| known.access & ACC_INTERFACE == 0)
    }

    fn is_reference(&self, id: TypeId) -> bool {
        matches!(self.kind(id), Kind::Class | Kind::Array(_))
    }

    /// Whether a variable of type `target` may hold a reference of type `value`. Interfaces may hold everything, as in
    /// ART, which checks them at the call.
    pub(crate) fn assignable(&self, target: TypeId, value: TypeId) -> Answer {
        let (mut target, mut value) = (target, value);
        loop {
            if target == value || target == TypeId::OBJECT {
                return Answer::Yes;
            }
            if target == TypeId::UNKNOWN || value == TypeId::UNKNOWN {
                return Answer::Unknown;
            }
            match (self.kind(target), self.kind(value)) {
                // At most 255 dimensions: the loop ends.
                (Kind::Array(to), Kind::Array(from)) => {
                    if !self.is_reference(to) || !self.is_reference(from) {
                        return if to == from { Answer::Yes } else { Answer::No };
                    }
                    (target, value) = (to, from);
                }
                (Kind::Array(_), Kind::Class) => return Answer::No,
                (Kind::Class, Kind::Array(_)) if self.known(target).is_none() => return Answer::Unknown,
                (Kind::Class, Kind::Array(_)) => {
                    return if self.is_interface(target) { Answer::Yes } else { Answer::No };
                }
                (Kind::Class, Kind::Class) => return self.assignable_class(target, value),
                _ => return Answer::No,
            }
        }
    }

    fn assignable_class(&self, target: TypeId, value: TypeId) -> Answer {
        if self.is_interface(target) {
            return Answer::Yes;
        }
        let mut at = value;
        for _ in 0..MAX_DEPTH {
            if at == target {
                return Answer::Yes;
            }
            let Some(known) = self.known(at) else { return Answer::Unknown };
            let Some(superclass) = known.superclass else {
                // All super classes are known. An unknown target may still be an interface.
                return if self.known(target).is_some() { Answer::No } else { Answer::Unknown };
            };
            at = superclass;
        }
        Answer::Unknown
    }

    /// Returns the closest type that both `a` and `b` may be assigned to, as far as it is known.
    pub(crate) fn merge(&self, a: TypeId, b: TypeId) -> TypeId {
        if a == b {
            return a;
        }
        if a == TypeId::UNKNOWN || b == TypeId::UNKNOWN {
            return TypeId::UNKNOWN;
        }
        if a == TypeId::OBJECT || b == TypeId::OBJECT {
            return TypeId::OBJECT;
        }
        match (self.kind(a), self.kind(b)) {
            (Kind::Array(first), Kind::Array(second)) => {
                if !self.is_reference(first) || !self.is_reference(second) {
                    return TypeId::OBJECT;
                }
                match self.assignable(first, second) {
                    Answer::Yes if !self.is_interface(first) => a,
                    _ if self.assignable(second, first) == Answer::Yes && !self.is_interface(second) => b,
                    _ => TypeId::UNKNOWN,
                }
            }
            (Kind::Class, Kind::Class) => self.common_superclass(a, b),
            (Kind::Class, Kind::Array(_)) if self.known(a).is_some() => TypeId::OBJECT,
            (Kind::Array(_), Kind::Class) if self.known(b).is_some() => TypeId::OBJECT,
            _ => TypeId::UNKNOWN,
        }
    }

    fn common_superclass(&self, a: TypeId, b: TypeId) -> TypeId {
        let mut chain = [TypeId::UNKNOWN; MAX_DEPTH];
        let mut count = 0;
        let mut at = a;
        for slot in &mut chain {
            *slot = at;
            count += 1;
            match self.superclass(at) {
                Some(superclass) => at = superclass,
                None => break,
            }
        }
        let mut at = b;
        for _ in 0..MAX_DEPTH {
            if chain.iter().take(count).any(|&step| step == at) {
                return at;
            }
            match self.superclass(at) {
                Some(superclass) => at = superclass,
                None => break,
            }
        }
        TypeId::UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_classes_stand_at_their_ids() {
        let types = Types::empty();
        assert_eq!(types.name(TypeId::OBJECT), "Ljava/lang/Object;");
        assert_eq!(types.name(TypeId::THROWABLE), "Ljava/lang/Throwable;");
        assert_eq!(types.name(TypeId::METHOD_HANDLE), "Ljava/lang/invoke/MethodHandle;");
        assert_eq!(types.name(TypeId::METHOD_TYPE), "Ljava/lang/invoke/MethodType;");
        assert_eq!(types.name(TypeId(4)), "Ljava/lang/Exception;");
    }

    #[test]
    fn assignability_follows_supers_and_elements() {
        let mut types = Types::empty();
        let ints = types.add(b"[I");
        let floats = types.add(b"[F");
        let strings = types.add(b"[Ljava/lang/String;");
        let objects = types.add(b"[Ljava/lang/Object;");
        let view = types.add(b"Landroid/view/View;");
        assert_eq!(types.assignable(TypeId::THROWABLE, TypeId(5)), Answer::Yes);
        assert_eq!(types.assignable(TypeId(5), TypeId::THROWABLE), Answer::No);
        assert_eq!(types.assignable(objects, strings), Answer::Yes);
        assert_eq!(types.assignable(strings, objects), Answer::No);
        assert_eq!(types.assignable(objects, ints), Answer::No);
        assert_eq!(types.assignable(ints, floats), Answer::No);
        assert_eq!(types.assignable(TypeId::OBJECT, ints), Answer::Yes);
        assert_eq!(types.assignable(view, TypeId::STRING), Answer::Unknown);
        assert_eq!(types.assignable(TypeId::STRING, view), Answer::Unknown);
        assert_eq!(types.merge(ints, floats), TypeId::OBJECT);
        assert_eq!(types.merge(objects, strings), objects);
        assert_eq!(types.merge(TypeId(5), TypeId(6)), TypeId::THROWABLE);
        assert_eq!(types.merge(view, TypeId::STRING), TypeId::UNKNOWN);
    }
}
