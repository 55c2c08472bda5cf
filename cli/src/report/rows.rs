//! The file of `--rows`, whose name says in which form the rows are written.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::{OsStringValueParser, TypedValueParser};
use exporter::fleet::{Row, write_csv, write_json_lines};

use crate::output::{Output, cannot_write};

#[derive(Clone, Copy, Debug)]
enum Form {
    JsonLines,
    Csv,
}

impl Form {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_ascii_lowercase().to_str()? {
            "jsonl" | "ndjson" | "json" => Some(Self::JsonLines),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// A file for rows.
#[derive(Clone, Debug)]
pub(super) struct RowsFile {
    path: PathBuf,
    form: Form,
}

impl RowsFile {
    /// Parses a path whose extension names a form.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().try_map(|text: OsString| {
            let path = PathBuf::from(text);
            let form = Form::of(&path).ok_or(
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
        self.write_to(BufWriter::new(output.file()), rows).with_context(|| cannot_write(&self.path))?;
        output.commit()
    }

    fn write_to(&self, mut out: impl Write, rows: &[Row]) -> io::Result<()> {
        match self.form {
            Form::JsonLines => write_json_lines(rows, &mut out)?,
            Form::Csv => write_csv(rows, &mut out)?,
        }
        out.flush()
    }
}
