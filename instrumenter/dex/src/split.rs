//! Divides a dex file whose tables are too large.

use crate::uses::Used;
use crate::write::classes::places;
use crate::{Class, Dex, Lookup, WriteError};

impl<'a> Dex<'a> {
    /// Divides the classes among as many files as their tables need, which may be one. Each is written without the items that its
    /// classes do not use ([`Dex::drop_unused`]), and defines classes in the order of the file.
    ///
    /// # Errors
    ///
    /// A class that does not fit in a file alone, broken code, and indices outside of the tables.
    pub fn split(mut self) -> Result<Vec<Self>, WriteError> {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
        let mut used = Used::by_none(&self);
        for place in places(&self) {
            let Some(class) = self.classes.get(place) else { continue };
            used.add_class(class)?;
            if let Err(too_large) = used.check() {
                if parts.last().is_none_or(Vec::is_empty) {
                    return Err(too_large.into());
                }
                parts.push(Vec::new());
                used = Used::by_none(&self);
                used.add_class(class)?;
                used.check()?;
            }
            if let Some(part) = parts.last_mut() {
                part.push(place);
            }
        }
        let mut classes: Vec<Option<Class<'a>>> =
            std::mem::take(&mut self.classes).into_iter().map(Some).collect();
        self.drop_unused = true;
        let mut take = |place: usize| classes.get_mut(place).and_then(Option::take);
        let parts = parts.into_iter().map(|part| part.into_iter().filter_map(&mut take).collect());
        Ok(parts.map(|classes| Dex { classes, lookup: Lookup::default(), ..self.clone() }).collect())
    }
}
