//! An entry of an APK.

use std::borrow::Cow;

/// 1980-01-01 00:00, the first time that a zip entry can have.
const FIRST_DAY: [u8; 4] = [0, 0, 0x21, 0];
/// "Version made by" of a new entry: 2.0, MS-DOS.
const MADE_BY: u16 = 20;

/// An entry of an APK. Texts are bytes, as in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path, with `/` between directories.
    pub name: Cow<'a, [u8]>,
    /// "Version made by": format version and operating system.
    pub made_by: u16,
    /// "Version needed to extract". For new contents it is computed.
    pub needed: u16,
    /// General purpose flags. The flag of a data descriptor (bit 3) is cleared when written.
    pub flags: u16,
    /// MS-DOS time and date.
    pub time: [u8; 4],
    /// Internal attributes.
    pub internal: u16,
    /// External attributes, such as a file mode.
    pub external: u32,
    /// Extra fields of the central header.
    pub extra: Cow<'a, [u8]>,
    /// Extra fields of the local header. Alignment and 64-bit sizes are dropped when written.
    pub local_extra: Cow<'a, [u8]>,
    /// Comment of the central header.
    pub comment: Cow<'a, [u8]>,
    /// Its contents.
    pub data: Data<'a>,
}

/// The contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data<'a> {
    /// Compressed bytes of an archive, which are copied.
    Copied {
        /// The compression method.
        method: u16,
        /// CRC-32 of the contents.
        crc: u32,
        /// Length of the contents, in bytes.
        size: u32,
        /// The compressed bytes.
        bytes: Cow<'a, [u8]>,
    },
    /// New contents.
    New {
        /// The contents, not compressed.
        contents: Cow<'a, [u8]>,
        /// Whether to deflate them, if that makes them smaller.
        deflate: bool,
    },
}

impl<'a> Entry<'a> {
    /// Creates an entry that was not in the archive. Its time is the first of the format, so that equal inputs give
    /// equal bytes.
    pub fn new(name: impl Into<Cow<'a, [u8]>>, contents: impl Into<Cow<'a, [u8]>>, deflate: bool) -> Self {
        Self {
            name: name.into(),
            made_by: MADE_BY,
            needed: 0,
            flags: 0,
            time: FIRST_DAY,
            internal: 0,
            external: 0,
            extra: Cow::default(),
            local_extra: Cow::default(),
            comment: Cow::default(),
            data: Data::New { contents: contents.into(), deflate },
        }
    }

    /// Replaces the contents; stored data stays stored.
    pub fn replace(&mut self, contents: impl Into<Cow<'a, [u8]>>) {
        let deflate = match self.data {
            Data::Copied { method, .. } => method != super::STORED,
            Data::New { deflate, .. } => deflate,
        };
        self.data = Data::New { contents: contents.into(), deflate };
    }

    /// Returns the contents.
    ///
    /// # Errors
    /// The end of a sentence: "its deflate data is damaged". Also for a checksum or size that is wrong.
    pub fn contents(&self) -> Result<Cow<'_, [u8]>, &'static str> {
        super::contents(&self.data)
    }

    /// Returns the length of the contents, in bytes, as the archive claims it.
    #[must_use]
    pub fn size(&self) -> u32 {
        match &self.data {
            Data::Copied { size, .. } => *size,
            Data::New { contents, .. } => u32::try_from(contents.len()).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether the contents are deflated.
    #[must_use]
    pub fn is_deflated(&self) -> bool {
        match self.data {
            Data::Copied { method, .. } => method == super::DEFLATED,
            Data::New { deflate, .. } => deflate,
        }
    }

    /// Returns the name for messages.
    #[must_use]
    pub fn display_name(&self) -> String {
        display(&self.name)
    }
}

/// Returns a name for messages: without control characters, and not longer than a line.
pub(crate) fn display(name: &[u8]) -> String {
    let name = name.get(..200).unwrap_or(name);
    String::from_utf8_lossy(name).chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Returns whether the entry of this name belongs to an existing signature: JAR signature files, and the certificate
/// digest of a source stamp. They are wrong as soon as another entry changes, so that a signed APK starts without them.
#[must_use]
pub fn is_signature(name: &[u8]) -> bool {
    let Some((directory, file)) = name.split_at_checked(9) else { return false };
    if name == b"stamp-cert-sha256" {
        return true;
    }
    if !directory.eq_ignore_ascii_case(b"META-INF/") || file.contains(&b'/') {
        return false;
    }
    let file = file.to_ascii_uppercase();
    let ends = [b".SF".as_slice(), b".RSA", b".DSA", b".EC"];
    file == b"MANIFEST.MF" || file.starts_with(b"SIG-") || ends.iter().any(|end| file.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_signature;

    #[test]
    fn signature_files_are_those_of_the_jar_specification_and_the_stamp() {
        for name in [
            "META-INF/MANIFEST.MF",
            "META-INF/A.SF",
            "meta-inf/a.rsa",
            "META-INF/X.EC",
            "META-INF/SIG-A",
            "stamp-cert-sha256",
        ] {
            assert!(is_signature(name.as_bytes()), "{name}");
        }
        for name in [
            "META-INF/a/B.SF",
            "META-INF/services/x",
            "A.SF",
            "META-INF/",
            "a/stamp-cert-sha256",
            "META-INF/androidx.version",
        ] {
            assert!(!is_signature(name.as_bytes()), "{name}");
        }
    }
}
