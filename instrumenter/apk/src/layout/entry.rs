//! An entry of an APK.

use std::borrow::Cow;

use zip_archive::{Attributes, Inflater, Label, Unreadable};

/// An entry of an APK. Texts are bytes, as in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path, with `/` between directories.
    pub name: Cow<'a, [u8]>,
    #[allow(missing_docs)]
    pub attributes: Attributes,
    /// "Version needed to extract". For new contents it is computed.
    pub needed: u16,
    /// General purpose flags. The flag of a data descriptor (bit 3) is cleared when written.
    pub flags: u16,
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
        let data = Data::New { contents: contents.into(), deflate };
        Self { name: name.into(), ..Self::from_label(&Label::new(b""), 0, data) }
    }

    /// Creates an entry with these headers. "Version needed" is that of new contents.
    pub(crate) fn from_label(label: &Label<'a>, flags: u16, data: Data<'a>) -> Self {
        Self {
            name: label.name.into(),
            attributes: label.attributes,
            needed: 0,
            flags,
            extra: label.extra.into(),
            local_extra: label.local_extra.into(),
            comment: label.comment.into(),
            data,
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

    /// Returns the contents, inflating at most `limit` bytes: the caller says how much memory a foreign archive may take. Stored
    /// contents are the archive's own bytes.
    ///
    /// # Errors
    /// Data that cannot be inflated or has more bytes, and a checksum or size that is wrong.
    pub fn contents(&self, limit: u64) -> Result<Cow<'_, [u8]>, Unreadable> {
        match &self.data {
            Data::New { contents, .. } => Ok(contents.as_ref().into()),
            // Android's libziparchive does not look at the flag of encryption, so an obfuscator may set it.
            Data::Copied { method, crc, size, bytes } => {
                Inflater::default().contents(*method, *crc, u64::from(*size), bytes, limit)
            }
        }
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

/// Returns whether the entry of this name belongs to an existing signature: JAR signature files with their manifest, and the certificate
/// digest of a source stamp. They are wrong as soon as another entry changes, so that a signed APK starts without them.
#[must_use]
pub fn is_of_signature(name: &[u8]) -> bool {
    zip_archive::is_signature(name)
        || name.eq_ignore_ascii_case(b"META-INF/MANIFEST.MF")
        || name == b"stamp-cert-sha256"
}

#[cfg(test)]
mod tests {
    use super::is_of_signature;

    #[test]
    fn signature_files_are_those_of_the_jar_specification_and_the_stamp() {
        for name in ["META-INF/A.SF", "meta-inf/manifest.mf", "stamp-cert-sha256"] {
            assert!(is_of_signature(name.as_bytes()), "{name}");
        }
        for name in [
            "META-INF/services/x",
            "a/stamp-cert-sha256",
            "META-INF/androidx.version",
            "x/META-INF/MANIFEST.MF",
        ] {
            assert!(!is_of_signature(name.as_bytes()), "{name}");
        }
    }
}
