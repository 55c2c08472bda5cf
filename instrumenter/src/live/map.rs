//! The method map, which grows while classes are loaded.
//!
//! Its first line states its id ([`MapId::first_line`]), then come the lines of the base map, then those of the classes
//! in the order of loading. The lines of a class are one `write`, so that a process that is killed leaves whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use trace_format::{MapId, ids};

use crate::base_map::{BaseMap, dotted};
use crate::class_facts::ClassFacts;
use crate::error::Error;
use crate::method_map::{DISPATCH, push_method_line, source_lines};
use crate::options::MapPaths;

#[derive(Debug)]
pub(super) struct Map {
    methods: File,
    lines: Option<File>,
    /// Ids of the base map are in the file already.
    base_end: u32,
}

impl Map {
    /// Creates the files. A map that exists may be another process's, which still writes it.
    pub(super) fn create(paths: &MapPaths, id: MapId, base: &BaseMap) -> Result<Self, Error> {
        let mut private = OpenOptions::new();
        private.append(true).create_new(true);
        // As the recording: both say what the program does.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut private, 0o600);
        let open = |path: &Path| private.open(path);
        let mut text = format!("{}\n{},{DISPATCH}\n", id.first_line(), ids::DISPATCH);
        for (&id, line) in &base.lines {
            text.push_str(&format!("{id},{},{}\n", line.access, line.method));
        }
        let path = paths.methods.as_path();
        let mut methods = open(path).map_err(Error::writing(path))?;
        methods.write_all(text.as_bytes()).map_err(Error::writing(path))?;
        let lines = paths.lines.as_deref();
        let lines = lines.map(|path| open(path).map_err(Error::writing(path))).transpose()?;
        Ok(Self { methods, lines, base_end: base.next_id() })
    }

    /// A map that goes to this file.
    #[cfg(test)]
    pub(super) fn with(methods: File) -> Self {
        Self { methods, lines: None, base_end: ids::METHOD_FIRST }
    }

    /// Appends the methods of a class: their indices and ids.
    ///
    /// # Errors
    /// If they could not be written. The map then has no part of them.
    pub(super) fn append(&mut self, facts: &ClassFacts, new: &[(usize, u32)]) -> io::Result<()> {
        let rows = || new.iter().filter_map(|&(index, id)| Some((id, facts, facts.methods.get(index)?)));
        // Source lines only add to names.
        if let Some(file) = &mut self.lines {
            let text = source_lines(rows());
            if !text.is_empty() && append(file, text.as_bytes()).is_err() {
                self.lines = None;
            }
        }
        let mut text = String::new();
        for (id, class, method) in rows() {
            let is_in_base = self.base_end > ids::METHOD_FIRST && id < self.base_end;
            if !is_in_base {
                push_method_line(&mut text, id, class, method);
            }
        }
        if text.is_empty() {
            return Ok(());
        }
        append(&mut self.methods, dotted(text).as_bytes())
    }
}

/// Appends all of `bytes` or nothing.
fn append(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(bytes).inspect_err(|_| {
        // A part of a line would be read as another method's.
        let _ = file.set_len(before);
    })
}
