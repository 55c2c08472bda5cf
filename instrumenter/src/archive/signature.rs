//! The files that sign a jar. They would be false for a changed one, and a JVM refuses it.

/// Whether the entry of this name is a signature file.
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
    fn signatures_lie_in_meta_inf_only() {
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
