//! The `Class-Path` attribute of a jar's manifest, and the URLs in it, on systems whose paths are bytes.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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

/// Returns the files and directories that a `Class-Path` names, relative ones resolved against the (canonical) path of their jar.
///
/// Other elements, such as `http://host/a.jar`, are left out: the JVM ignores them or loads them itself.
pub(crate) fn elements(class_path: &str, jar: &Path) -> Vec<PathBuf> {
    class_path.split_ascii_whitespace().filter_map(|url| element(url, jar)).collect()
}

fn element(url: &str, jar: &Path) -> Option<PathBuf> {
    let scheme = url.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
    let path = match &scheme {
        None => url,
        Some((scheme, rest)) if scheme == "file" => {
            // Only an empty authority or localhost names this machine.
            match rest.strip_prefix("//") {
                Some(rest) if rest.starts_with('/') => rest,
                Some(_) => return None,
                None => rest,
            }
        }
        Some(_) => return None,
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
    Some(out)
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
        let jar = Path::new("/app/lib/main.jar");
        for (url, expected) in [
            ("a.jar", "/app/lib/a.jar"),
            ("../b.jar", "/app/b.jar"),
            ("./sub/c.jar", "/app/lib/sub/c.jar"),
            ("../../../../d.jar", "/d.jar"),
            ("classes/", "/app/lib/classes"),
            ("..", "/app"),
            ("libs/.", "/app/lib/libs"),
            ("b..", "/app/lib/b.."),
            ("my%20lib/%C3%A4.jar", "/app/lib/my lib/ä.jar"),
            ("100%.jar", "/app/lib/100%.jar"),
            ("/abs/e.jar", "/abs/e.jar"),
            ("file:/abs/f.jar", "/abs/f.jar"),
            ("FILE:///abs/g.jar", "/abs/g.jar"),
            ("file:h.jar", "/app/lib/h.jar"),
            ("i.jar#fragment", "/app/lib/i.jar"),
        ] {
            assert_eq!(elements(url, jar), [Path::new(expected)], "{url}");
        }
        for elsewhere in ["http://host/j.jar", "file://host/k.jar"] {
            assert!(elements(elsewhere, jar).is_empty(), "{elsewhere}");
        }
        assert_eq!(elements(" a.jar\t b.jar ", jar).len(), 2);
    }

    proptest! {
        #[test]
        fn urls_lead_back_to_their_path(path in "(/[^/\0]{1,9}){1,4}") {
            prop_assume!(!path.split('/').any(|part| part == "." || part == ".."));
            let url: String = path.bytes().map(|byte| format!("%{byte:02X}")).collect();
            prop_assert_eq!(elements(&format!("file:{url}"), Path::new("/x.jar")), [PathBuf::from(path)]);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(manifest: Vec<u8>) {
            if let Some(class_path) = class_path_in(&manifest) {
                let _ = elements(&class_path, Path::new("/x.jar"));
            }
        }
    }
}
