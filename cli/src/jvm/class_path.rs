//! A class path's elements.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Splits a class path into its elements; an empty one is the current directory.
pub(crate) fn split(path: &OsStr) -> Vec<PathBuf> {
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(
            |element| if element.is_empty() { PathBuf::from(".") } else { OsStr::from_bytes(element).into() },
        )
        .collect()
}

/// Splits a class path and replaces `directory/*` by the jars in that directory.
///
/// The launcher leaves the order of those jars open; here they are sorted by name.
pub(crate) fn expand(path: &OsStr) -> Vec<PathBuf> {
    split(path).into_iter().flat_map(|element| jars_of(&element).unwrap_or_else(|| vec![element])).collect()
}

/// The jars that `element` names if it is a wildcard that matches any.
fn jars_of(element: &Path) -> Option<Vec<PathBuf>> {
    let text = element.as_os_str().as_bytes();
    let directory =
        text.strip_suffix(b"*").filter(|directory| directory.is_empty() || directory.ends_with(b"/"))?;
    // A file with that name takes precedence.
    if element.exists() {
        return None;
    }
    let listed = if directory.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(directory)) };
    let mut names: Vec<OsString> = std::fs::read_dir(listed)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| {
            let name = name.as_bytes();
            (name.ends_with(b".jar") || name.ends_with(b".JAR")) && !name.contains(&b':')
        })
        .collect();
    names.sort();
    let join = |name: OsString| {
        let mut path = directory.to_vec();
        path.extend_from_slice(name.as_bytes());
        PathBuf::from(OsString::from_vec(path))
    };
    (!names.is_empty()).then(|| names.into_iter().map(join).collect())
}

/// Joins elements into a class path.
pub(crate) fn join(elements: &[PathBuf]) -> OsString {
    let texts: Vec<&[u8]> = elements.iter().map(|element| element.as_os_str().as_bytes()).collect();
    OsString::from_vec(texts.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn wildcards_name_the_jars_of_a_directory_and_nothing_else() {
        let scratch = Scratch::new();
        let dir = scratch.path().to_str().unwrap();
        for name in ["b.jar", "a.JAR", ".hidden.jar", "c.zip", "d.Jar", "e:f.jar", "G.class", "star/*"] {
            scratch.file(name, b"");
        }
        let names = |path: &str| -> Vec<String> {
            expand(OsStr::new(path)).iter().map(|p| p.to_str().unwrap().replace(dir, "D")).collect()
        };
        assert_eq!(names(&format!("{dir}/*")), ["D/.hidden.jar", "D/a.JAR", "D/b.jar"]);
        assert_eq!(names(&format!("x:{dir}/*:y")), ["x", "D/.hidden.jar", "D/a.JAR", "D/b.jar", "y"]);
        // A wildcard without jars, one that is a file, and one that is no wildcard stay as they are.
        assert_eq!(names(&format!("{dir}/none/*:{dir}/star/*:{dir}/b*")), ["D/none/*", "D/star/*", "D/b*"]);
    }

    #[test]
    fn empty_elements_are_the_current_directory() {
        let split = |path: &str| split(OsStr::new(path));
        assert_eq!(split(""), [PathBuf::from(".")]);
        assert_eq!(split("a::b:"), ["a", ".", "b", "."].map(PathBuf::from));
        assert_eq!(join(&split("a:b")), "a:b");
    }
}
