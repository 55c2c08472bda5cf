//! Quoting for the device's shell.

/// Returns `word` quoted so that a POSIX shell reads it as one word.
///
/// ```
/// assert_eq!(device::quote("com.example.app"), "com.example.app");
/// assert_eq!(device::quote("it's here"), r"'it'\''s here'");
/// ```
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn plain_words_are_unchanged_and_others_are_quoted() {
        assert_eq!(quote("com.example.app"), "com.example.app");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's $(x)"), r"'it'\''s $(x)'");
    }

    #[cfg(unix)]
    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_the_quoted_word_back(word in "[^\u{0}]{0,20}") {
            let command = format!("printf %s {}", quote(&word));
            let output = std::process::Command::new("/bin/sh").arg("-c").arg(command).output().unwrap();
            proptest::prop_assert_eq!(output.stdout, word.as_bytes());
        }
    }
}
