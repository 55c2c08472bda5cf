//! Until instructions can be remapped: nothing moves.

use super::{Body, Code, Fault};
use crate::{Limit, Remap};

impl<'a> Code<'a> {
    pub(crate) fn remapped(&self, remap: &Remap) -> Result<Code<'a>, Fault> {
        let tables = [&remap.strings, &remap.types, &remap.protos, &remap.fields, &remap.methods];
        let same = tables.iter().all(|table| table.iter().zip(0..).all(|(&new, old)| new == old));
        if same { Ok(self.clone()) } else { Err(Limit::Branch.into()) }
    }
}

impl Body {
    pub(crate) fn encoded(&self, _: &Remap) -> Result<Code<'static>, Fault> {
        Err(Limit::Branch.into())
    }
}
