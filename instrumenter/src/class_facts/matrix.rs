//! Facts that only Matrix's rules need.

use crate::class::class_file::{ClassFile, access};
use crate::error::Malformed;
use crate::outline::Outline;

/// Facts that only Matrix's rules need, recorded for every class with `Compat::Matrix`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MatrixFacts {
    /// Whether it is abstract or an interface.
    pub(crate) is_abstract: bool,
    pub(crate) stop: Option<Stop>,
}

/// Why Matrix stops reading an archive at a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    NoSuperClass,
    /// An attribute that its version of ASM rejects.
    Unknown,
}

impl TryFrom<&ClassFile<'_>> for MatrixFacts {
    type Error = Malformed;

    fn try_from(class: &ClassFile<'_>) -> Result<Self, Malformed> {
        const NEWER: [&[u8]; 4] = [b"NestHost", b"NestMembers", b"PermittedSubclasses", b"Record"];
        let newer = Outline::try_from(class)?
            .attributes
            .iter()
            .any(|&(name, _)| class.pool.utf8(name).is_ok_and(|name| NEWER.contains(&name)));
        let stop = match class.super_class() {
            None => Some(Stop::NoSuperClass),
            Some(_) => newer.then_some(Stop::Unknown),
        };
        Ok(Self { is_abstract: class.access & (access::ABSTRACT | access::INTERFACE) != 0, stop })
    }
}
