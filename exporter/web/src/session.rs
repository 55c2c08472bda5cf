//! What the page does with the files that it is given.

use std::fmt;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use answers::answer::{Answer, Conclusion};
use answers::dump::Dump;
use answers::dump_report::PageOptions;
use answers::retrace::Mapping;
use exporter::{
    ExportInput, ExportOptions, FileKind, FileSource, MethodMap, Report, export, is_display_control,
    recording_of,
};
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use trace_format::Recording;

/// Maximum length of a file, unpacked, in bytes. A module has 4 GiB of memory at most.
pub const MAX_FILE: u64 = 1 << 30;
/// Maximum number of dumps of an archive that are shown, and of bytes of their text.
const MAX_DUMPS: usize = 1000;
const MAX_TEXT: usize = 32 << 20;

/// Why a file has no answer: a sentence for the page, which says what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

fn refused(reason: impl fmt::Display) -> Refusal {
    Refusal(shown(&reason.to_string()))
}

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It is analysed: a recording, a dump, or an archive of dumps.
    Input,
    /// It has names for an input: a method map with or without lines, or a mapping of R8.
    Names,
}

impl Role {
    /// The word for the page.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Names => "names",
        }
    }
}

/// One analysis: an input, and the files with its names.
#[derive(Debug, Default)]
pub struct Session {
    input: Option<Input>,
    map: Option<MethodMap>,
    lines: Option<String>,
    mapping: Option<Mapping>,
    warnings: Vec<String>,
}

#[derive(Debug)]
enum Input {
    Recording { file: PathBuf, recording: Box<Recording<FileSource>> },
    Dump { file: PathBuf, bytes: Vec<u8> },
}

impl Session {
    /// Takes a file; its content says what it is.
    ///
    /// # Errors
    /// If it cannot be read, is nothing that the page reads, or is the second input.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>) -> Result<Role, Refusal> {
        let file = Path::new(name);
        if file.extension().is_some_and(|extension| extension == "lines") {
            self.lines = Some(String::from_utf8(bytes).map_err(|_| {
                refused(format_args!(
                    "{name} is no text: drop the file that `anrscope instrument` wrote beside its method map"
                ))
            })?);
            return Ok(Role::Names);
        }
        let kind = FileKind::of_content(file, &bytes);
        // The reader of dumps unpacks as it reads.
        let is_dump = matches!(kind, FileKind::ThreadDump | FileKind::Other);
        let bytes = if is_dump { bytes } else { unpacked(name, bytes)? };
        match kind {
            FileKind::MethodMap => self.map = Some(MethodMap::parse(file, bytes).map_err(refused)?),
            FileKind::Mapping => self.set_mapping(file, &bytes)?,
            FileKind::Recording | FileKind::MatrixReport => {
                let recording = Box::new(recording_of(file, bytes).map_err(refused)?);
                self.set_input(name, Input::Recording { file: file.to_owned(), recording })?;
                return Ok(Role::Input);
            }
            FileKind::ThreadDump | FileKind::Zip | FileKind::Other => {
                self.set_input(name, Input::Dump { file: file.to_owned(), bytes })?;
                return Ok(Role::Input);
            }
            kind => return Err(refused(format_args!("{name} is {}. {}", kind.name(), cure(kind)))),
        }
        Ok(Role::Names)
    }

    fn set_mapping(&mut self, file: &Path, bytes: &[u8]) -> Result<(), Refusal> {
        let mapping = Mapping::parse(file, bytes).map_err(refused)?;
        if let (unread, Some(line)) = mapping.unread {
            let file = file.display();
            self.warnings.push(format!(
                "{file}:{line}: this and {} other lines are not lines of a mapping",
                unread - 1
            ));
        }
        self.mapping = Some(mapping);
        Ok(())
    }

    fn set_input(&mut self, name: &str, input: Input) -> Result<(), Refusal> {
        if self.input.is_some() {
            return Err(refused(format_args!(
                "{name} is the second file to analyse. Drop one recording or dump at a time, with its mapping files; \
                 `anrscope export` puts several recordings on one timeline."
            )));
        }
        self.input = Some(input);
        Ok(())
    }

    /// The answer, as JSON for the page. Its `parts` have the text that `anrscope report` or `anrscope dump` prints.
    ///
    /// # Errors
    /// If there is no input, or it has nothing to show.
    pub fn answer(&self) -> Result<Value, Refusal> {
        let answer = match self.input.as_ref() {
            None => Err(refused(
                "These files only restore names. Drop them together with the recording or thread dump that they belong to.",
            )),
            Some(Input::Dump { file, bytes }) => self.dumps(file, bytes),
            Some(Input::Recording { file, recording }) => self.report(file, recording),
        };
        // The page sets them as text; a character that turns the direction around would still deceive.
        answer.map(|mut answer| {
            show(&mut answer);
            answer
        })
    }

    /// The HTML report of a recording.
    ///
    /// # Errors
    /// If the input is no recording, or reading it fails.
    pub fn html(&self) -> Result<String, Refusal> {
        let (file, recording) = self.recording()?;
        let map = self.map();
        let report = Report::build(file, recording, &map).map_err(refused)?;
        let chart = report.chart(file, recording, &map).map_err(refused)?;
        Ok(report.to_html(&trace_name(file), &chart, Some(&self.trace()?)))
    }

    /// The trace of a recording, for Perfetto.
    ///
    /// # Errors
    /// If the input is no recording, or reading it fails.
    pub fn trace(&self) -> Result<Vec<u8>, Refusal> {
        let (file, recording) = self.recording()?;
        let map = self.map();
        let mut trace = Vec::new();
        export(&[ExportInput { file, recording, map: &map }], &ExportOptions::default(), &mut trace)
            .map_err(refused)?;
        Ok(trace)
    }

    fn recording(&self) -> Result<(&Path, &Recording<FileSource>), Refusal> {
        match &self.input {
            Some(Input::Recording { file, recording }) => Ok((file, recording)),
            _ => Err(refused("Only a recording has a trace and an HTML report: drop an *.anrscope file.")),
        }
    }

    /// The method map with all that is known about names.
    fn map(&self) -> MethodMap {
        let mut map = self.map.clone().unwrap_or_default();
        if let Some(lines) = &self.lines {
            map.set_source_lines(lines.clone());
        }
        self.mapping.as_ref().map(|mapping| map.retraced(mapping)).unwrap_or(map)
    }

    fn report(&self, file: &Path, recording: &Recording<FileSource>) -> Result<Value, Refusal> {
        let map = self.map();
        let report = Report::build(file, recording, &map).map_err(refused)?;
        let warnings = report.warnings.iter().map(ToString::to_string);
        let summary = summary(report.headline(), &report.answer);
        Ok(json!({
            "kind": "recording",
            "process": report.process,
            "trace": trace_name(file),
            "named": !map.is_empty(),
            "warnings": self.warnings.iter().cloned().chain(warnings).collect::<Vec<_>>(),
            "parts": [part(&file.display().to_string(), summary, report.to_string())],
        }))
    }

    fn dumps(&self, file: &Path, bytes: &[u8]) -> Result<Value, Refusal> {
        let mut warnings = self.warnings.clone();
        let mut pages: Vec<(String, Value, String)> = Vec::new();
        let (mut length, mut left_out) = (0, 0);
        // Only the text of a dump is kept: an archive may have hundreds.
        let opened = Dump::read_each(file, Cursor::new(bytes), &mut |name, mut dump| {
            if pages.len() == MAX_DUMPS || length > MAX_TEXT {
                left_out += 1;
                return;
            }
            warnings.extend(dump.warnings.iter().map(|warning| format!("{name}: {warning}")));
            let other_build = self.mapping.as_ref().and_then(|mapping| dump.retrace_of_build(mapping));
            warnings.extend(other_build.map(|warning| format!("{name}: {warning}")));
            let mut text = String::new();
            // Writing to a string does not fail.
            let _ = dump.write_page(&mut text, &PageOptions::default());
            length += text.len();
            let answer = Answer::from(&dump);
            pages.push((name, summary(answer.headline(), &answer), text));
        });
        let opened = opened.map_err(refused)?;
        warnings.extend(opened.warnings);
        if left_out > 0 {
            warnings.push(format!(
                "{left_out} more dumps are not shown: unpack the archive and drop them one at a time"
            ));
        }
        let several = pages.len() > 1;
        let parts = pages.into_iter().enumerate().map(|(number, (name, summary, text))| {
            // As the program writes several dumps.
            let gap = if number > 0 { "\n" } else { "" };
            let text = if several { format!("{gap}== {name}\n{text}") } else { text };
            part(&name, summary, text)
        });
        Ok(json!({"kind": "dump", "warnings": warnings, "parts": parts.collect::<Vec<_>>()}))
    }
}

/// The answer in a few labelled lines, for the top of the page.
fn summary(headline: String, answer: &Answer) -> Value {
    let hung = match answer.conclusion {
        Conclusion::Anr => true,
        // A dump in which nothing is found may be of a healthy process.
        Conclusion::Hang => answer.span.is_some() || answer.is_known(),
        _ => false,
    };
    let mut lines = if answer.conclusion == Conclusion::NoHang { Vec::new() } else { answer.lines() };
    for (label, text) in &mut lines {
        if *label == "What to do" {
            *text = answer.advice();
        }
    }
    json!({"headline": headline, "hung": hung, "lines": lines})
}

fn part(name: &str, mut summary: Value, text: String) -> Value {
    summary["name"] = name.into();
    summary["text"] = text.into();
    summary
}

/// The name of a recording's trace.
fn trace_name(file: &Path) -> String {
    file.with_extension("pftrace").file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The content of a file that may be packed with gzip.
fn unpacked(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return Ok(bytes);
    }
    let mut content = Vec::new();
    let read = MultiGzDecoder::new(bytes.as_slice()).take(MAX_FILE + 1).read_to_end(&mut content);
    match read {
        Ok(length) if length as u64 > MAX_FILE => Err(refused(format_args!(
            "{name} unpacks to more than {} MiB, too much for a browser: use the program `anrscope`.",
            MAX_FILE >> 20
        ))),
        Ok(_) => Ok(content),
        Err(error) => Err(refused(format_args!(
            "{name} cannot be unpacked: {error}. Copy it again, or unpack it with gunzip."
        ))),
    }
}

/// What to drop instead of a file of this kind.
fn cure(kind: FileKind) -> &'static str {
    match kind {
        FileKind::PerfettoTrace | FileKind::ChromeTrace => {
            "It is ready for a viewer: open it at ui.perfetto.dev, or drop the recording (*.anrscope) that it was made from."
        }
        FileKind::Classes => {
            "Drop a recording, a thread dump or a bug report; `anrscope instrument` reads classes."
        }
        FileKind::Empty => "Save or copy it again: a copy that was interrupted may leave such a file.",
        _ => "Drop a recording (*.anrscope), a thread dump, or the zip archive of `adb bugreport`.",
    }
}

/// Replaces characters that change how the text around them is displayed, as the program does for a terminal.
fn shown(text: &str) -> String {
    text.replace(is_display_control, "\u{fffd}")
}

fn show(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_display_control) => *text = shown(text),
        Value::Array(values) => values.iter_mut().for_each(show),
        Value::Object(values) => values.values_mut().for_each(show),
        _ => {}
    }
}
