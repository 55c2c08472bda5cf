//! What a reader should know about native stacks that are not complete.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Warning;
use crate::answer::is_own_library;
use crate::native::{HAS_UNWINDING, NativeStacks};

/// Maximum number of libraries without names that are listed.
const MAX_LIBRARIES: usize = 3;

/// About native stacks that this build cannot unwind, and the app's libraries whose functions have no names.
pub(crate) fn native_warnings(file: &Path, native: &NativeStacks) -> Option<Warning> {
    let file = file.to_owned();
    if native.not_unwound > 0 && !HAS_UNWINDING {
        return Some(Warning::NotUnwound { file, stacks: native.not_unwound });
    }
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
