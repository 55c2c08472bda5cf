//! The classes that Matrix does not trace.

use super::names::Names;

/// Returns the set of prefixes that Matrix builds from the block list.
pub(super) fn block_set(file: &str, names: Option<&Names>) -> Vec<String> {
    let text = ["[package]\n-keeppackage android/\n-keeppackage com/tencent/matrix/\n", file].concat();
    let text = text.trim().replace('/', ".").replace('\r', "");
    let mut set = Vec::new();
    for line in text.split('\n').filter(|line| !line.starts_with(['#', '['])) {
        let entry = if let Some(class) = line.strip_prefix("-keepclass ") {
            names.map_or(class, |names| names.obfuscated_class(class))
        } else if let Some(package) = line.strip_prefix("-keeppackage ") {
            names.map_or(package, |names| names.obfuscated_package(package))
        } else {
            continue;
        };
        if !set.iter().any(|known| known == entry) {
            set.push(entry.to_owned());
        }
    }
    set
}

/// Returns whether a class of this name is not blocked: the set must not contain its name, and its original name, if
/// the mapping has the name, must not start with an entry.
pub(super) fn needs_trace(class: &str, blocked: &[String], names: Option<&Names>) -> bool {
    let original = names.map_or(class, |names| names.original_class(class)).replace('/', ".");
    !blocked.iter().any(|entry| entry == class || original.starts_with(entry.as_str()))
}

/// Returns whether Matrix reads a file of this name at all.
pub(super) fn is_read(file: &str) -> bool {
    !["R.class", "R$", "Manifest", "BuildConfig"].iter().any(|part| file.contains(part))
}
