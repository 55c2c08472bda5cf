//! The `Class-Path` of a manifest.

/// The most bytes of a line, without its end; continuation lines start with a space.
const LINE: usize = 72;

/// Returns `manifest` with its `Class-Path` set to `class_path`, or removed if that is empty.
pub(crate) fn with_class_path(manifest: &[u8], class_path: &str) -> Vec<u8> {
    let end_of_line: &[u8] = if manifest.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let mut out = Vec::with_capacity(manifest.len() + class_path.len() + 64);
    let mut rest = manifest;
    let mut dropping = false;
    // An empty line ends the main section; the attributes after it belong to single entries.
    while !rest.is_empty() {
        let length = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
        let (line, tail) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        if line.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
            break;
        }
        rest = tail;
        if line.first() != Some(&b' ') {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            dropping = name.eq_ignore_ascii_case(b"Class-Path");
        }
        if !dropping {
            out.extend_from_slice(line);
        }
    }
    if out.last().is_some_and(|&byte| byte != b'\n') {
        out.extend_from_slice(end_of_line);
    }
    if out.is_empty() {
        out.extend_from_slice(b"Manifest-Version: 1.0");
        out.extend_from_slice(end_of_line);
    }
    if !class_path.is_empty() {
        wrap(&format!("Class-Path: {class_path}"), end_of_line, &mut out);
    }
    if rest.is_empty() {
        rest = end_of_line;
    }
    out.extend_from_slice(rest);
    out
}

/// Appends an attribute in lines of at most [`LINE`] bytes, without splitting a character.
fn wrap(attribute: &str, end_of_line: &[u8], out: &mut Vec<u8>) {
    let mut room = LINE;
    let mut rest = attribute;
    loop {
        let mut cut = room.min(rest.len());
        while !rest.is_char_boundary(cut) {
            cut -= 1;
        }
        let (line, tail) = rest.split_at(cut);
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(end_of_line);
        if tail.is_empty() {
            return;
        }
        out.push(b' ');
        room = LINE - 1;
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(manifest: &str, class_path: &str) -> String {
        String::from_utf8(with_class_path(manifest.as_bytes(), class_path)).unwrap()
    }

    #[test]
    fn the_attribute_is_replaced_with_its_continuation_lines() {
        let manifest = "Manifest-Version: 1.0\r\nclass-path: a.jar b\r\n .jar\r\nMain-Class: A\r\n\r\n\
                        Name: x\r\nClass-Path: stays\r\n\r\n";
        assert_eq!(
            changed(manifest, "c.jar"),
            "Manifest-Version: 1.0\r\nMain-Class: A\r\nClass-Path: c.jar\r\n\r\nName: x\r\nClass-Path: stays\r\n\r\n"
        );
        assert_eq!(
            changed(manifest, ""),
            "Manifest-Version: 1.0\r\nMain-Class: A\r\n\r\nName: x\r\nClass-Path: stays\r\n\r\n"
        );
    }

    #[test]
    fn a_manifest_without_a_final_newline_or_without_content_works() {
        assert_eq!(changed("Main-Class: A", "b"), "Main-Class: A\nClass-Path: b\n\n");
        assert_eq!(changed("", "b"), "Manifest-Version: 1.0\nClass-Path: b\n\n");
        assert_eq!(changed("Class-Path: a", ""), "Manifest-Version: 1.0\n\n");
    }

    #[test]
    fn long_paths_are_wrapped_at_72_bytes() {
        let path = format!("{}ä{}", "x".repeat(59), "y".repeat(200));
        let text = changed("Manifest-Version: 1.0\n", &path);
        assert!(text.lines().all(|line| line.len() <= 72));
        assert!(text.replace("\n ", "").contains(&format!("Class-Path: {path}\n")));
    }
}
