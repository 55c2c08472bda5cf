//! Opens a dump: a file or a stream, optionally packed with gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::DumpError;
use super::jvm::to_file;
use super::limits;
use super::lines::Lines;
use super::model::Dump;
use super::paste;
use super::paste::utf16::{self, Utf8};
use super::reader::Reader;

/// Number of bytes from which the format is recognised.
const PEEK_LENGTH: usize = 64 << 10;

impl Dump {
    /// Reads the dump in a file, which may be packed with gzip.
    ///
    /// # Errors
    /// If it cannot be read, or contains nothing of a dump.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let failed = |source| DumpError::Read { file: path.to_owned(), offset: 0, source };
        Self::read(path, File::open(path).map_err(failed)?)
    }

    /// Reads a dump, which may be packed with gzip; `file` is used in errors only.
    ///
    /// # Errors
    /// If it cannot be read, or contains nothing of a dump.
    pub fn read(file: &Path, input: impl Read) -> Result<Self, DumpError> {
        let mut input = BufReader::with_capacity(PEEK_LENGTH, input);
        let failed = |source| DumpError::Read { file: file.to_owned(), offset: 0, source };
        if input.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
            let unpacked = flate2::bufread::MultiGzDecoder::new(input);
            read_text(file, Box::new(unpacked))
        } else {
            read_text(file, Box::new(input))
        }
    }
}

/// Reads an unpacked text by its format, which the beginning shows.
fn read_text(file: &Path, mut input: Box<dyn Read + '_>) -> Result<Dump, DumpError> {
    let mut begin = peek(file, &mut input)?;
    if let Some(order) = utf16::order(&begin) {
        input = Box::new(Utf8::new(io::Cursor::new(begin).chain(input), order));
        begin = peek(file, &mut input)?;
    }
    let head = String::from_utf8_lossy(&begin);
    let is_json = head.trim_start().starts_with('{') && head.contains("\"threadDump\"");
    let is_damaged = !is_json && paste::is_damaged(&head);
    let whole = BufReader::with_capacity(PEEK_LENGTH, io::Cursor::new(begin).chain(input));
    if is_json {
        read_json(file, whole)
    } else if is_damaged {
        read_damaged(file, whole)
    } else {
        read_lines(file, whole, None)
    }
}

/// The beginning of a text; shorter if the text ends, or a packed text is truncated.
fn peek(file: &Path, input: &mut Box<dyn Read + '_>) -> Result<Vec<u8>, DumpError> {
    let mut begin = Vec::new();
    match input.by_ref().take(PEEK_LENGTH as u64).read_to_end(&mut begin) {
        Ok(_) => {}
        // The error recurs when the lines are read.
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => *input = Box::new(TruncatedEnd),
        Err(source) => return Err(DumpError::Read { file: file.to_owned(), offset: 0, source }),
    }
    Ok(begin)
}

/// Reads a text that copying has damaged; one too large to be restored in memory is read as it is.
fn read_damaged(file: &Path, mut input: impl BufRead) -> Result<Dump, DumpError> {
    let mut bytes = Vec::new();
    match input.by_ref().take(limits::PASTE + 1).read_to_end(&mut bytes) {
        Ok(_) => {}
        // A truncated packed text is read as far as it goes.
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(source) => return Err(DumpError::Read { file: file.to_owned(), offset: 0, source }),
    }
    if bytes.len() as u64 > limits::PASTE {
        let warning = format!(
            "its begin looks like HTML or lost its line ends: a text of more than {} bytes is read as it is",
            limits::PASTE
        );
        return read_lines(file, io::Cursor::new(bytes).chain(input), Some(warning));
    }
    let text = paste::restored(&String::from_utf8_lossy(&bytes)).into_owned();
    drop(bytes);
    let warning = "copying changed this text: its lines were restored, and line numbers count those";
    read_lines(file, text.as_bytes(), Some(warning.to_owned()))
}

/// The end of a truncated packed text.
struct TruncatedEnd;

impl Read for TruncatedEnd {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

fn read_json(file: &Path, input: impl Read) -> Result<Dump, DumpError> {
    let mut reader = Reader::default();
    let read = to_file::read(input, |line, number| reader.take(line, number));
    match read {
        Err(reason) if reader.found() => reader.warn(format!("the JSON ends early: {reason}")),
        Err(reason) => return Err(DumpError::Json { file: file.to_owned(), reason: reason.to_string() }),
        Ok(()) => {}
    }
    if !reader.found() {
        let reason = "it has no thread".to_owned();
        return Err(DumpError::Json { file: file.to_owned(), reason });
    }
    Ok(reader.finish())
}

fn read_lines(file: &Path, input: impl BufRead, warning: Option<String>) -> Result<Dump, DumpError> {
    let mut lines = Lines::new(input);
    let mut reader = Reader::default();
    let mut begin: Option<(u64, String)> = None;
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            // A truncated packed text is read as far as it goes.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof && reader.found() => {
                reader.warn(format!("offset {}: the packed text is cut off", lines.next));
                break;
            }
            Err(source) => return Err(DumpError::Read { file: file.to_owned(), offset: lines.next, source }),
        };
        if begin.is_none() && !line.trim().is_empty() {
            begin = Some((lines.at, line.chars().take(60).collect()));
        }
        reader.take(&line, lines.number);
    }
    if !reader.found() {
        let (offset, begin) = begin.unwrap_or_default();
        let hint = reader.hint(&begin);
        return Err(DumpError::NoDump { file: file.to_owned(), offset, length: lines.next, begin, hint });
    }
    warning.into_iter().for_each(|warning| reader.warn(warning));
    if lines.cut > 0 {
        let (cut, most) = (lines.cut, limits::LINE);
        reader.warn(format!("{cut} lines are longer than {most} bytes; their ends were not read"));
    }
    if lines.stopped {
        reader.warn(format!("only the first {} bytes were read", limits::TEXT));
    }
    Ok(reader.finish())
}
