//! A check of a finished APK's alignment.

use super::entry::display;
use super::read::placed;
use super::sections::Sections;
use super::{DEFLATED, Data, Malformed, RESOURCES, STORED, is_library, multiple};

/// What [`check`] finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of entries.
    pub entries: usize,
    /// The number of stored entries.
    pub stored: usize,
    /// Stored entries that do not start where Android needs them, in the order of the file's directory.
    pub misaligned: Vec<Misaligned>,
    /// Whether `resources.arsc` is compressed, which Android refuses for apps that target API 30 or later.
    pub resources_compressed: bool,
    /// The number of compressed libraries, which Android does not load if `extractNativeLibs` is false.
    pub libraries_compressed: usize,
}

/// A stored entry at the wrong place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misaligned {
    /// Its name, for messages.
    pub name: String,
    /// Offset of its data, in bytes.
    pub at: usize,
    /// The multiple at which it must start, in bytes.
    pub multiple: usize,
}

/// Checks the alignment of `apk`: stored libraries at 16,384 bytes, other stored entries at 4.
///
/// # Errors
/// As of [`read`](super::read), and a file that is no APK for Android: with 64-bit sizes, or bytes behind the end record.
pub fn check(apk: &[u8]) -> Result<Checked, Malformed> {
    let mut checked = Checked::default();
    Sections::find(apk)?;
    for placed in placed(apk)? {
        let name = placed.entry.name.as_ref();
        let Data::Copied { method, .. } = placed.entry.data else { continue };
        checked.entries += 1;
        if method == STORED {
            checked.stored += 1;
            let multiple = multiple(name);
            if placed.data_at % multiple != 0 {
                checked.misaligned.push(Misaligned { name: display(name), at: placed.data_at, multiple });
            }
        } else if method == DEFLATED {
            checked.resources_compressed |= name == RESOURCES;
            checked.libraries_compressed += usize::from(is_library(name));
        }
    }
    Ok(checked)
}
