//! Names before R8 and before desugaring.

use std::borrow::Cow;

use dex::{Dex, Method};

use crate::app::names;
use crate::mapping::Mapping;

/// Where D8 puts the copies of `java` classes that old systems lack (r8's `DesugaredLibrary`).
const DESUGARED: &str = "j$/";

/// Returns the names that the source has.
#[derive(Clone, Copy)]
pub(crate) struct Original<'m> {
    pub(crate) mapping: Option<&'m Mapping>,
}

impl Original<'_> {
    /// Of a class, by its internal name in the file.
    pub(crate) fn class<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if let Some(rest) = name.strip_prefix(DESUGARED) {
            return Cow::Owned(format!("java/{rest}"));
        }
        match self.mapping.and_then(|mapping| mapping.class(name)) {
            Some(original) => Cow::Owned(original.to_owned()),
            None => Cow::Borrowed(name),
        }
    }

    /// Of a method: its name and descriptor. `class` is the name in the file.
    fn method(&self, class: &str, name: &str, descriptor: &str) -> (String, String) {
        let descriptor = descriptor.replace("Lj$/", "Ljava/");
        let Some(mapping) = self.mapping else { return (name.to_owned(), descriptor) };
        let original = mapping.method(class, name, &descriptor, None);
        (original.name, original.descriptor)
    }
}

/// A method by its original names.
pub(super) struct Named {
    /// Internal name.
    pub(super) class: String,
    pub(super) name: String,
    pub(super) descriptor: String,
}

impl Original<'_> {
    /// Of a method in the table of a file.
    pub(super) fn named(&self, dex: &Dex<'_>, method: &Method) -> Named {
        let owner = names::class(dex, method.class);
        let descriptor = names::method_descriptor(dex, method.proto);
        let (name, descriptor) = self.method(&owner, &names::string(dex, method.name), &descriptor);
        Named { class: self.class(&owner).into_owned(), name, descriptor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let mapping = Mapping::parse(b"com.acme.Pool -> a.b:\n    void execute(java.lang.Runnable) -> c\n");
        let original = Original { mapping: Some(&mapping) };
        assert_eq!(original.class("a/b"), "com/acme/Pool");
        assert_eq!(original.class("j$/util/function/Supplier"), "java/util/function/Supplier");
        let (name, descriptor) = original.method("a/b", "c", "(Ljava/lang/Runnable;)V");
        assert_eq!((&*name, &*descriptor), ("execute", "(Ljava/lang/Runnable;)V"));
        let plain = Original { mapping: None };
        let (name, descriptor) = plain.method("x/Y", "get", "(Lj$/util/Optional;)V");
        assert_eq!((&*name, &*descriptor), ("get", "(Ljava/util/Optional;)V"));
        assert_eq!(plain.class("a/b"), "a/b");
    }
}
