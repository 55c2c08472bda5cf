//! What a reader should know about native stacks that are not complete.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use answers::answer::is_own_library;

use crate::Warning;
use crate::native::{HAS_UNWINDING, NativeStacks};

/// Maximum number of libraries without names that are listed.
const MAX_LIBRARIES: usize = 3;

/// About native stacks that this build cannot unwind, symbols that were not read, and the app's libraries whose functions have no names.
pub(crate) fn native_warnings(file: &Path, native: &NativeStacks) -> Vec<Warning> {
    let file = file.to_owned();
    if native.not_unwound > 0 && !HAS_UNWINDING {
        return vec![Warning::NotUnwound { file, stacks: native.not_unwound }];
    }
    let notes = native.notes.iter().map(|note| Warning::SymbolsLeftOut { note: note.clone() });
    notes.chain(without_symbols(file, native)).collect()
}

fn without_symbols(file: PathBuf, native: &NativeStacks) -> Option<Warning> {
    let frames = native.all.iter().flat_map(|stack| &stack.frames).filter(|frame| frame.function.is_empty());
    let mut unnamed: BTreeMap<(String, String), u64> = BTreeMap::new();
    for place in frames
        .filter_map(|frame| frame.native.as_ref())
        .filter(|place| HAS_UNWINDING && !place.build_id.is_empty() && is_own_library(&place.path))
    {
        *unnamed.entry((place.library().to_owned(), place.build_id.to_string())).or_default() += 1;
    }
    if unnamed.is_empty() {
        return None;
    }
    let frames = unnamed.values().sum();
    let mut most: Vec<_> = unnamed.into_iter().collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let libraries = most.into_iter().take(MAX_LIBRARIES).map(|(library, _)| library).collect();
    Some(Warning::NoSymbols { file, libraries, frames })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_that_were_not_read_are_named() {
        let notes =
            vec!["/symbols/libgame.so: some of its DWARF is too much work, and is not read".to_owned()];
        let warnings = native_warnings(
            Path::new("a.anrscope"),
            &NativeStacks { notes: notes.clone(), ..NativeStacks::default() },
        );
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(texts, notes);
    }
}
