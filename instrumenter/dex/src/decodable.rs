//! Classes whose code cannot be given new indices.

use crate::table::Use;
use crate::{Class, Dex, Malformed, MethodCode};

impl Dex<'_> {
    /// Returns the first method of a class, by its index, with code that is not understood: an unknown instruction, broken debug
    /// information, or a reference outside of the tables. ART loads such a class, and refuses it when it is used.
    ///
    /// [`Dex::write`] copies such code if no index moves, as in a file to whose tables nothing was added, and is an error otherwise.
    #[must_use]
    pub fn undecodable(&self, class: &Class<'_>) -> Option<(u32, Malformed)> {
        class.methods().find_map(|method| {
            let Some(MethodCode::Read(code)) = &method.code else { return None };
            let mut is_outside = false;
            let mut visit = |(table, index): Use| is_outside |= index as usize >= self.size(table);
            let broken = code.uses(&mut visit).err();
            let what = "the code of a method refers to an item that is not in the tables";
            let broken = broken.or(is_outside.then_some(Malformed { at: code.at, what }));
            broken.map(|broken| (method.method, broken))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::code::{Code, Fault};
    use crate::{ClassMethod, WriteError};

    /// A file with one class and one method with these units.
    fn with_code(units: &[u16]) -> Dex<'static> {
        let mut dex = Dex { version: 35, ..Dex::default() };
        let class = dex.find_or_add_type("LA;");
        let void = dex.find_or_add_type("V");
        let proto = dex.find_or_add_proto(void, &[]);
        let method = dex.find_or_add_method(class, "run", proto);
        let units: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let code = Code { units: Cow::Owned(units), ..Code::default() };
        let code = Some(MethodCode::Read(code));
        let method = ClassMethod { method, access: 8, code };
        dex.classes.push(Class { class, direct_methods: vec![method], ..Class::default() });
        dex
    }

    #[test]
    fn unknown_instructions_and_references_are_found() {
        // return-void; invoke-static 0; no such instruction; invoke-static 9
        for (units, wanted) in [
            (&[0x000E][..], None),
            (&[0x0071, 0, 0, 0x000E], None),
            (&[0x000E, 0x003E], Some("there is no such instruction")),
            (
                &[0x0071, 9, 0, 0x000E],
                Some("the code of a method refers to an item that is not in the tables"),
            ),
        ] {
            let dex = with_code(units);
            let found = dex.undecodable(&dex.classes[0]);
            assert_eq!(found.map(|(method, broken)| (method, broken.what)), wanted.map(|what| (0, what)));
        }
    }

    #[test]
    fn code_that_is_not_understood_is_kept_where_no_index_moves_and_refused_elsewhere() {
        // What the writer has sorted is read back in order.
        let sorted = with_code(&[0x000E]).write().unwrap();
        let mut dex = Dex::read(&sorted).unwrap();
        let units: &[u8] = &[0x3E, 0, 0x71, 0, 0xFF, 0xFF];
        let Some(MethodCode::Read(code)) = &mut dex.classes[0].direct_methods[0].code else { panic!() };
        code.units = Cow::Borrowed(units);
        let kept = dex.write().unwrap();
        let again = Dex::read(&kept).unwrap();
        let Some(MethodCode::Read(code)) = &again.classes[0].direct_methods[0].code else { panic!() };
        assert_eq!(code.units, units);
        assert_eq!((&again.strings, &again.methods), (&dex.strings, &dex.methods));

        dex.find_or_add_string("\u{1}moves all others");
        let refused = dex.write();
        assert!(
            matches!(refused, Err(WriteError::Code { method: 0, fault: Fault::Malformed(_) })),
            "{refused:?}"
        );
    }
}
