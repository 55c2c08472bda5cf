//! The signature files of a jar. They become invalid when the jar changes, and a JVM then rejects it.

/// Returns whether the entry with this name is a signature file.
pub(crate) fn is_signature(entry: &str) -> bool {
    let Some((directory, file)) = entry.split_at_checked(9) else { return false };
    if !directory.eq_ignore_ascii_case("META-INF/") || file.contains('/') {
        return false;
    }
    let file = file.to_ascii_uppercase();
    file.starts_with("SIG-") || [".SF", ".RSA", ".DSA", ".EC"].iter().any(|end| file.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_signature;

    #[test]
    fn signature_files_are_only_in_meta_inf() {
        for entry in ["META-INF/A.SF", "META-INF/a.rsa", "meta-inf/X.DSA", "META-INF/X.EC", "META-INF/SIG-x"]
        {
            assert!(is_signature(entry), "{entry}");
        }
        for entry in ["META-INF/MANIFEST.MF", "META-INF/x/A.SF", "A.SF", "META-INF/ASF", "größe/xx.SF", "ä"]
        {
            assert!(!is_signature(entry), "{entry}");
        }
    }
}
