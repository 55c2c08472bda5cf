//! Restores the original names from before ProGuard or R8: of classes, of methods, and of frames with their lines.
//!
//! The lines of a `mapping.txt` are read by the `proguard` crate. The data structure differs from that crate's
//! own retracing: it distinguishes inlined frames from ambiguous ones, never enumerates the lines of a range,
//! and no number can overflow.
//!
//! A frame is looked up by class, method and line:
//! 1. rows of one method name that follow each other with one range of lines are one stack of inlined code,
//!    innermost first. Each stack whose range contains the line is a meaning of the frame;
//! 2. if no range contains it, each distinct method of the rows without a range is a meaning;
//! 3. without a line, the rows without a range come first; else the outermost method of each stack, since
//!    the inlined frame is unknown;
//! 4. an outline (code that R8 extracted from several methods) is omitted: the caller's row maps its line;
//! 5. if the class is known but the method is not, only the class is renamed.
//!
//! R8's rewriteFrame rules are for the first frame of an exception, and a dump has none.
//!
//! ```
//! use answers::retrace::Mapping;
//!
//! let text = b"com.example.Main -> a.b:\n    1:3:void run():10:12 -> a\n";
//! let mapping = Mapping::parse("mapping.txt".as_ref(), text)?;
//! assert_eq!(mapping.class("a.b"), Some("com.example.Main"));
//! let frames = mapping.frame("a.b", "a", Some(2), None);
//! assert_eq!((frames[0][0].method.as_str(), frames[0][0].line), ("run", Some(11)));
//! # Ok::<(), answers::retrace::MappingError>(())
//! ```

mod index;
mod lookup;
mod mapping;
mod parse;
mod row;

pub use lookup::FrameName;
pub use mapping::Mapping;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum length of a mapping in bytes. Those of large apps have about 200 MB.
const MAX_LENGTH: u64 = 1 << 30;

/// Why a mapping cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// It cannot be opened or read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The mapping.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file maps no class.
    #[error("cannot read {}:{line}: no class is mapped in this file; pass the mapping.txt that ProGuard or R8 wrote with this build", file.display())]
    NoClass {
        /// The mapping.
        file: PathBuf,
        /// The first line that is not part of a mapping, or the last one.
        line: usize,
    },
    /// The mapping exceeds the maximum length.
    #[error("cannot read {}: it has more than {limit} bytes: is it the right file?", file.display())]
    TooLarge {
        /// The mapping.
        file: PathBuf,
        /// The maximum length.
        limit: u64,
    },
}

impl Mapping {
    /// Reads the mapping at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or maps no class.
    pub fn load(path: &Path) -> Result<Self, MappingError> {
        let failed = |source| MappingError::Read { file: path.to_owned(), source };
        let mut bytes = Vec::new();
        // By content, not by metadata: the file may grow.
        let (file, _) = trace_format::regular_file::open(path).map_err(failed)?;
        let length = file.take(MAX_LENGTH + 1).read_to_end(&mut bytes).map_err(failed)?;
        if length as u64 > MAX_LENGTH {
            return Err(MappingError::TooLarge { file: path.to_owned(), limit: MAX_LENGTH });
        }
        Self::parse(path, &bytes)
    }

    /// Parses the bytes of a mapping; `file` is used in errors only. Lines that are not part of a mapping are
    /// counted ([`Mapping::unread`]), not rejected: tools add their own.
    ///
    /// # Errors
    /// If no class is mapped.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Self, MappingError> {
        let mapping = parse::parse(bytes);
        if mapping.classes.is_empty() {
            let line = mapping.unread.1.unwrap_or(mapping.lines.max(1));
            return Err(MappingError::NoClass { file: file.to_owned(), line });
        }
        Ok(mapping)
    }
}
