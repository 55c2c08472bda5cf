//! The `Class-Path` attribute of a jar's manifest, and the URLs in it, on systems whose paths are bytes.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Reads the `Class-Path` of the jar at `path`, unfolded. `Ok(None)` if it has no such attribute.
///
/// # Errors
/// A message, if the file is not a jar.
pub fn class_path_of(path: &Path) -> Result<Option<String>, String> {
    Ok(super::manifest_of(path)?.as_deref().and_then(class_path_in))
}

/// Finds the `Class-Path` of a manifest's main section.
pub(crate) fn class_path_in(manifest: &[u8]) -> Option<String> {
    let mut value: Option<Vec<u8>> = None;
    for line in manifest.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        if let Some(more) = line.strip_prefix(b" ") {
            if let Some(value) = &mut value {
                value.extend_from_slice(more);
            }
            continue;
        }
        if value.is_some() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, rest) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"Class-Path") {
            value = Some(rest.strip_prefix(b":").unwrap_or(rest).to_vec());
        }
    }
    value.map(|value| String::from_utf8_lossy(&value).trim().to_owned())
}

/// What an element of a `Class-Path` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A file, or with a slash at the end of the URL, a directory.
    Local {
        /// Its path, absolute if that of the jar is.
        path: PathBuf,
        /// Whether the URL ends with a slash.
        directory: bool,
    },
    /// Something else, which the JVM ignores or loads itself.
    Other(String),
}

/// Splits a `Class-Path` into its elements, relative ones resolved against the (canonical) path of their jar.
#[must_use]
pub fn elements(class_path: &str, jar: &Path) -> Vec<Element> {
    class_path.split_ascii_whitespace().map(|url| element(url, jar)).collect()
}

fn element(url: &str, jar: &Path) -> Element {
    let scheme = url.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
    let path = match &scheme {
        None => url,
        Some((scheme, rest)) if scheme == "file" => {
            // Only an empty authority or localhost names this machine.
            match rest.strip_prefix("//") {
                Some(rest) if rest.starts_with('/') => rest,
                Some(_) => return Element::Other(url.to_owned()),
                None => rest,
            }
        }
        Some(_) => return Element::Other(url.to_owned()),
    };
    let path = path.split(['#', '?']).next().unwrap_or_default();
    let decoded = decode(path);
    let mut out = if decoded.starts_with(b"/") {
        PathBuf::from("/")
    } else {
        jar.parent().unwrap_or(Path::new("/")).to_owned()
    };
    // URLs are resolved as text: `a/..` is nothing, even if `a` is a link.
    for part in decoded.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                out.pop();
            }
            name => out.push(std::ffi::OsStr::from_bytes(name)),
        }
    }
    let directory = matches!(path.rsplit('/').next(), None | Some("" | "." | ".."));
    Element::Local { path: out, directory }
}

/// Decodes the percent escapes of a URL's path.
#[must_use]
pub fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = hex
            .filter(|hex| byte == b'%' && hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    out
}

/// The URL of a file or directory with an absolute path.
#[must_use]
pub fn url(path: &Path, directory: bool) -> String {
    let mut url = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~+=@$,".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    if directory && !url.ends_with('/') {
        url.push('/');
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_attribute_is_unfolded_and_looked_for_in_the_main_section_only() {
        let of = |text: &str| class_path_in(text.as_bytes());
        assert_eq!(
            of("Manifest-Version: 1.0\r\nCLASS-path: a.jar b\r\n .jar\r\nX: y\r\n"),
            Some("a.jar b.jar".into())
        );
        assert_eq!(of("Class-Path: a.jar\n  b.jar"), Some("a.jar b.jar".into()));
        assert_eq!(of("Main-Class: A\n\nName: x\nClass-Path: no\n"), None);
        assert_eq!(of(""), None);
        assert_eq!(of("Class-Path:\n"), Some(String::new()));
    }

    #[test]
    fn elements_are_urls_relative_to_their_jar() {
        let local = |path: &str, directory| Element::Local { path: path.into(), directory };
        let jar = Path::new("/app/lib/main.jar");
        for (url, expected) in [
            ("a.jar", local("/app/lib/a.jar", false)),
            ("../b.jar", local("/app/b.jar", false)),
            ("./sub/c.jar", local("/app/lib/sub/c.jar", false)),
            ("../../../../d.jar", local("/d.jar", false)),
            ("classes/", local("/app/lib/classes", true)),
            ("..", local("/app", true)),
            ("libs/.", local("/app/lib/libs", true)),
            ("b..", local("/app/lib/b..", false)),
            ("my%20lib/%C3%A4.jar", local("/app/lib/my lib/ä.jar", false)),
            ("100%.jar", local("/app/lib/100%.jar", false)),
            ("/abs/e.jar", local("/abs/e.jar", false)),
            ("file:/abs/f.jar", local("/abs/f.jar", false)),
            ("FILE:///abs/g.jar", local("/abs/g.jar", false)),
            ("file:h.jar", local("/app/lib/h.jar", false)),
            ("i.jar#fragment", local("/app/lib/i.jar", false)),
            ("http://host/j.jar", Element::Other("http://host/j.jar".into())),
            ("file://host/k.jar", Element::Other("file://host/k.jar".into())),
        ] {
            assert_eq!(elements(url, jar), [expected], "{url}");
        }
        assert_eq!(elements(" a.jar\t b.jar ", jar).len(), 2);
    }

    proptest! {
        #[test]
        fn urls_lead_back_to_their_path(path in "(/[^/\0]{1,9}){1,4}", directory: bool) {
            prop_assume!(!path.split('/').any(|part| part == "." || part == ".."));
            let expected = Element::Local { path: PathBuf::from(&path), directory };
            prop_assert_eq!(elements(&url(Path::new(&path), directory), Path::new("/x.jar")), [expected]);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(manifest: Vec<u8>) {
            if let Some(class_path) = class_path_in(&manifest) {
                let _ = elements(&class_path, Path::new("/x.jar"));
            }
        }
    }
}
