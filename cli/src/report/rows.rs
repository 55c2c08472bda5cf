//! The file of `--rows`, whose name says in which form the rows are written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::{OsStringValueParser, TypedValueParser};
use exporter::fleet::{Row, write_csv, write_json_lines};

use crate::output::{Output, cannot_write};

type WriteRows = fn(&[Row], &mut BufWriter<&File>) -> io::Result<()>;

fn form_of(path: &Path) -> Option<WriteRows> {
    match path.extension()?.to_ascii_lowercase().to_str()? {
        "jsonl" | "ndjson" | "json" => Some(|rows, out| write_json_lines(rows, out)),
        "csv" => Some(|rows, out| write_csv(rows, out)),
        _ => None,
    }
}

/// A file for rows.
#[derive(Clone, Debug)]
pub(super) struct RowsFile {
    path: PathBuf,
    form: WriteRows,
}

impl RowsFile {
    /// Parses a path whose extension names a form.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().map(PathBuf::from).try_map(|path| {
            let form = form_of(&path).ok_or(
                "the name of a file of rows ends with .jsonl, .ndjson or .json for JSON Lines, or with .csv",
            )?;
            Ok::<_, &str>(Self { path, form })
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the rows, completely or not at all.
    pub(super) fn write(&self, rows: &[Row]) -> anyhow::Result<()> {
        let output = Output::create(&self.path)?;
        let mut out = BufWriter::new(output.file());
        let written = (self.form)(rows, &mut out).and_then(|()| out.flush());
        written.with_context(|| cannot_write(&self.path))?;
        drop(out);
        output.commit()
    }
}
