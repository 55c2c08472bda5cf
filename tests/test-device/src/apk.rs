//! APKs for the simulated package manager.

/// The content of a simulated APK: the start of a ZIP file, and a line for each property that `system/bin/packages` reads.
///
/// ```
/// let bytes = test_device::Apk::new("com.example.shop").with("version", "7").bytes(1_000);
/// assert!(bytes.starts_with(b"PK\x03\x04\npackage=com.example.shop\nversion=7\n") && bytes.len() == 1_000);
/// ```
#[derive(Clone, Debug)]
pub struct Apk {
    properties: String,
}

impl Apk {
    /// Creates the base APK of a package.
    #[must_use]
    pub fn new(package: &str) -> Self {
        Self { properties: format!("package={package}\n") }
    }

    /// Adds a property: `split`, `needs` (a split), `key`, `version`, `sdk`, `abi`, `test-only`, or `debuggable`.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.properties.push_str(&format!("{name}={value}\n"));
        self
    }

    /// Returns its bytes, filled up to `size`.
    #[must_use]
    pub fn bytes(&self, size: usize) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04\n".to_vec();
        bytes.extend_from_slice(self.properties.as_bytes());
        // Not zeros, so that a byte that is lost or sent twice changes the file.
        let filler = (0_u32..).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x80);
        let missing = size.saturating_sub(bytes.len());
        bytes.extend(filler.take(missing));
        bytes
    }
}
