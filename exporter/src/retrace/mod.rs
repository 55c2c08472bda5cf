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

mod lookup;
mod parse;
mod text;

pub use text::MappedText;

use std::collections::HashMap;
use std::fs::File;
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

/// A mapping.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// By the name in the build.
    classes: HashMap<Box<str>, Class>,
    /// Source files by the original class, where the mapping tells them.
    files: HashMap<Box<str>, Box<str>>,
    /// R8's `pg_map_id` and `pg_map_hash`.
    ids: Vec<String>,
    /// Lines that are none of a mapping, and the first of them, from 1.
    unread: (usize, Option<usize>),
    lines: usize,
}

#[derive(Clone, Debug, Default)]
struct Class {
    original: Box<str>,
    file: Option<Box<str>>,
    synthesized: bool,
    /// By the name in the build; the rows in the file's order.
    methods: HashMap<Box<str>, Vec<Row>>,
}

/// One line of a method.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Lines in the build; `None` if the row has no range, or one that stands for none (0:0).
    range: Option<(u32, u32)>,
    /// The class that the method comes from, if that is another one.
    class: Option<Box<str>>,
    method: Box<str>,
    arguments: Box<str>,
    /// Lines of the source.
    source: Option<(u32, Option<u32>)>,
    /// The descriptor in the build, where R8 tells it.
    residual: Option<Box<str>>,
    synthesized: bool,
    outline: bool,
    /// For a call of an outline: the outline's line and the line here, in the build.
    calls: Vec<(u32, u32)>,
}

/// A frame under the names of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameName {
    /// The class, with dots.
    pub class: String,
    /// The method.
    pub method: String,
    /// The line of the source, if it is known.
    pub line: Option<u32>,
    /// Whether the compiler made it up.
    pub synthesized: bool,
    /// The source file, where the mapping tells it.
    source_file: Option<String>,
}

impl FrameName {
    /// The source file, or one that has the class's name; `seen` is what the build calls it, which is the
    /// file's name only as long as R8 leaves it alone.
    #[must_use]
    pub fn file(&self, seen: Option<&str>) -> String {
        if let Some(file) = &self.source_file {
            return file.clone();
        }
        let outer = self.class.rsplit('.').next().unwrap_or_default().split('$').next().unwrap_or_default();
        let kotlin = seen.is_some_and(|file| file.ends_with(".kt")) || outer.ends_with("Kt");
        let stem = if kotlin { outer.strip_suffix("Kt").unwrap_or(outer) } else { outer };
        format!("{stem}.{}", if kotlin { "kt" } else { "java" })
    }
}

impl Mapping {
    /// Reads the mapping at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or maps no class.
    pub fn load(path: &Path) -> Result<Self, MappingError> {
        let failed = |source| MappingError::Read { file: path.to_owned(), source };
        let mut bytes = Vec::new();
        // By what is there, not by what the metadata says: it may be a pipe.
        let length =
            File::open(path).map_err(failed)?.take(MAX_LENGTH + 1).read_to_end(&mut bytes).map_err(failed)?;
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

    /// How many lines are none of a mapping, and the first of them, from 1.
    #[must_use]
    pub fn unread(&self) -> (usize, Option<usize>) {
        self.unread
    }

    /// How many classes are mapped.
    #[must_use]
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Whether this is the mapping of a build whose source files say `r8-map-id-ID`. `None` if the mapping
    /// does not say which one it is.
    #[must_use]
    pub fn is_of(&self, id: &str) -> Option<bool> {
        let same = |own: &String| !id.is_empty() && (own.starts_with(id) || id.starts_with(own.as_str()));
        (!self.ids.is_empty()).then(|| self.ids.iter().any(same))
    }
}
