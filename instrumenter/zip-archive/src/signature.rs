//! The signature files of a jar. They become invalid when the jar changes, and a JVM then rejects it.

/// Returns whether the entry with this name is a signature file (JAR File Specification, "Signature Validation").
#[must_use]
pub fn is_signature(name: &[u8]) -> bool {
    let Some((directory, file)) = name.split_at_checked(9) else { return false };
    if !directory.eq_ignore_ascii_case(b"META-INF/") || file.contains(&b'/') {
        return false;
    }
    let file = file.to_ascii_uppercase();
    let ends = [b".SF".as_slice(), b".RSA", b".DSA", b".EC"];
    file.starts_with(b"SIG-") || ends.iter().any(|end| file.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_signature;

    #[test]
    fn signature_files_are_only_in_meta_inf() {
        for name in ["META-INF/A.SF", "META-INF/a.rsa", "meta-inf/X.DSA", "META-INF/X.EC", "META-INF/SIG-x"] {
            assert!(is_signature(name.as_bytes()), "{name}");
        }
        for name in ["META-INF/MANIFEST.MF", "META-INF/x/A.SF", "A.SF", "META-INF/ASF", "größe/xx.SF", "ä"]
        {
            assert!(!is_signature(name.as_bytes()), "{name}");
        }
    }
}
