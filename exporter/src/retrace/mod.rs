//! Names from before ProGuard or R8: of classes, of methods, and of frames with their lines.
//!
//! The lines of a `mapping.txt` are read by the `proguard` crate. What is kept differs from that crate's own
//! retracing: frames that were inlined are told from frames that are ambiguous, no number of a line can make
//! it count out every line of a range, and no number can overflow.
//!
//! A frame is looked up by class, method and line:
//! 1. rows of one method name that follow each other with one range of lines are one stack of inlined code,
//!    innermost first. Of the stacks whose range has the line, each is a meaning of the frame;
//! 2. where no range has it, the rows without a range are; each distinct method of them is a meaning;
//! 3. without a line, the rows without a range come first; else the outermost method of each stack, since
//!    what was inlined can not be told;
//! 4. an outline (code that R8 took out of several methods) is not shown: its line goes to the caller's
//!    row, which has the place for it;
//! 5. a class that is known without such a method is renamed, its method is not.
//!
//! R8's rewriteFrame rules are for the first frame of an exception, and a dump has none.

mod index;
mod lookup;
mod mapping;
mod parse;

pub use lookup::FrameName;
pub use mapping::Mapping;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The longest mapping that is read. Those of large apps have about 200 MB.
const MAX_LENGTH: u64 = 1 << 30;

/// Why a mapping cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// It cannot be opened or read.
    #[error("{}: {source}", file.display())]
    Read {
        /// The mapping.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No class is mapped in it.
    #[error("{}:{line}: no class is mapped in this file; give the mapping.txt that ProGuard or R8 wrote with this build", file.display())]
    NoClass {
        /// The mapping.
        file: PathBuf,
        /// The first line that is none of a mapping, or the last one.
        line: usize,
    },
    /// It is longer than any mapping.
    #[error("{}: more than {limit} bytes: is it the right file?", file.display())]
    TooLarge {
        /// The mapping.
        file: PathBuf,
        /// The longest that is read.
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
        // By what is there, not by what the metadata says: it may grow.
        let file = crate::regular_file::open(path).map_err(failed)?;
        let length = file.take(MAX_LENGTH + 1).read_to_end(&mut bytes).map_err(failed)?;
        if length as u64 > MAX_LENGTH {
            return Err(MappingError::TooLarge { file: path.to_owned(), limit: MAX_LENGTH });
        }
        Self::parse(path, &bytes)
    }

    /// Reads the bytes of a mapping; `file` is for errors only. Lines that are none of a mapping are counted
    /// ([`Mapping::unread`]), not refused: tools put their own in.
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
