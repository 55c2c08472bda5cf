//! `--symbols DIR`: directories of files with symbols.

use std::path::PathBuf;

use anyhow::bail;
use exporter::native::HAS_UNWINDING;

/// The directories, if each is one and this program names functions.
///
/// # Errors
/// If not.
pub(crate) fn checked(directories: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    supported(HAS_UNWINDING || directories.is_empty())?;
    match directories.iter().find(|directory| !directory.is_dir()) {
        Some(other) => bail!(
            "--symbols {}: no such directory: name one with the unstripped libraries of the build",
            other.display()
        ),
        None => Ok(directories),
    }
}

fn supported(named: bool) -> anyhow::Result<()> {
    if !named {
        bail!(
            "--symbols needs a program with the feature native-stacks: use a released one, or build it with \
             `cargo install --locked --path cli --features native-stacks`"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_needed_and_a_program_that_reads_it() {
        assert!(checked(Vec::new()).is_ok() && checked(vec![PathBuf::from(".")]).is_ok());
        let error = checked(vec![PathBuf::from("Cargo.toml")]).unwrap_err().to_string();
        assert!(error.starts_with("--symbols Cargo.toml: no such directory"), "{error}");
        let error = supported(false).unwrap_err().to_string();
        assert!(error.contains("--features native-stacks"), "{error}");
    }
}
