//! `libanrscope_export.so`: the exporter for apps that share traces from the device.
//!
//! It is a separate library because most apps do not need it: the library that every app carries
//! (`libanrscope.so`) stays small. It records nothing, starts no thread and keeps no state.
//! `dev.anrscope.export.TraceExport` is its Java API, which `Anrscope.exportTrace` finds if the app has
//! `anrscope-export.aar`. `anrscope-debug.aar` shows the [`latest_stall`] on the device.

use std::any::Any;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use exporter::{ExportError, ExportInput, ExportOptions, MethodMap, Report, export_perfetto, open_recording};
use jni::objects::{JClass, JString};
use jni::sys::{jlong, jstring};
use jni::{Env, EnvOutcome, EnvUnowned, Outcome};

/// Writes `recording` as a Perfetto trace to `out`, as `anrscope export` does, with the method names of `map`.
/// An existing `out` is replaced only when the new trace is complete.
///
/// # Errors
/// If the recording or the map cannot be read, or the trace cannot be written.
pub fn write(recording: &Path, map: Option<&Path>, out: &Path) -> Result<(), ExportError> {
    let opened = open_recording(recording)?;
    let map = map.map(MethodMap::load).transpose()?.unwrap_or_default();
    let part = part_of(out).ok_or_else(|| ExportError::Write(io::ErrorKind::InvalidInput.into()))?;
    let written = File::create(&part).map_err(ExportError::Write).and_then(|file| {
        let input = ExportInput { file: recording, recording: &opened, map: &map };
        // Not `export`: it would link the writer of JSON.
        export_perfetto(&[input], &ExportOptions::default(), &file)?;
        file.sync_all().and_then(|()| fs::rename(&part, out)).map_err(ExportError::Write)
    });
    if written.is_err() {
        // Report the original error, not the one of the clean-up.
        let _ = fs::remove_file(&part);
    }
    written
}

/// What stalled main last, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stall {
    /// When it started, ms since 1970 by the device's clock.
    pub since_ms: u64,
    /// How long it took, or has taken so far, ms.
    pub duration_ms: u64,
    /// Whether it ended.
    pub ended: bool,
    /// How long main was blocked, in words.
    pub blocked: String,
    /// By what, in words.
    pub reason: String,
    /// The answer as lines of text.
    pub text: String,
}

impl Stall {
    /// In the form that `TraceExport` parses: the values line by line, then the text.
    fn lines(&self) -> String {
        let Self { since_ms, duration_ms, ended, blocked, reason, text } = self;
        format!("{since_ms}\n{duration_ms}\n{}\n{blocked}\n{reason}\n{text}", u8::from(*ended))
    }
}

/// The last stall of main that took at least `least_ms`; see [`Report::latest_stall`]. Writes the report as an HTML
/// page to `page`. Without such a stall it returns `None` and writes nothing.
///
/// # Errors
/// If the recording or the map cannot be read, or the page cannot be written.
pub fn latest_stall(
    recording: &Path,
    map: Option<&Path>,
    least_ms: u64,
    page: &Path,
) -> Result<Option<Stall>, ExportError> {
    let opened = open_recording(recording)?;
    let map = map.map(MethodMap::load).transpose()?.unwrap_or_default();
    let report = Report::latest_stall(recording, &opened, &map, least_ms.saturating_mul(1_000_000))?;
    let (Some(span), Some((blocked, reason))) = (report.answer.span, report.sentence()) else {
        return Ok(None);
    };
    let chart = report.chart(recording, &opened, &map)?;
    fs::write(page, report.to_html("", &chart, None)).map_err(ExportError::Write)?;
    let mut text = report.headline();
    for (label, line) in report.answer.lines() {
        text.push_str(&format!("\n{label}: {line}"));
    }
    let since = report.start.realtime.saturating_add(span.since).saturating_sub(report.start.boottime);
    Ok(Some(Stall {
        since_ms: since / 1_000_000,
        duration_ms: span.duration / 1_000_000,
        ended: span.ended,
        blocked,
        reason,
        text,
    }))
}

/// A hidden file beside the output.
fn part_of(out: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(out.file_name()?);
    name.push(".part");
    Some(out.with_file_name(name))
}

/// JNI entry point: returns null on success, else the error message. A panic becomes a message, too: nothing
/// unwinds into the app.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_export_TraceExport_export<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    recording: JString<'local>,
    map: JString<'local>,
    out: JString<'local>,
) -> jstring {
    let outcome = env.with_env(|env| {
        let (recording, map, out) = (path(env, &recording)?, optional_path(env, &map)?, path(env, &out)?);
        let written = caught(|| write(&recording, map.as_deref(), &out));
        java_text(env, written.err())
    });
    returned(outcome)
}

/// JNI entry point: returns the stall's lines, an empty text without a stall, and `!` with the error message.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_export_TraceExport_stall<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    recording: JString<'local>,
    map: JString<'local>,
    least_ms: jlong,
    page: JString<'local>,
) -> jstring {
    let outcome = env.with_env(|env| {
        let (recording, map, page) = (path(env, &recording)?, optional_path(env, &map)?, path(env, &page)?);
        let least_ms = u64::try_from(least_ms).unwrap_or(0);
        let text = match caught(|| latest_stall(&recording, map.as_deref(), least_ms, &page)) {
            Ok(stall) => stall.map_or_else(String::new, |stall| stall.lines()),
            Err(message) => format!("!{message}"),
        };
        java_text(env, Some(text))
    });
    returned(outcome)
}

fn path(env: &mut Env<'_>, text: &JString<'_>) -> jni::errors::Result<PathBuf> {
    Ok(PathBuf::from(text.try_to_string(env)?))
}

fn optional_path(env: &mut Env<'_>, text: &JString<'_>) -> jni::errors::Result<Option<PathBuf>> {
    if text.is_null() { Ok(None) } else { path(env, text).map(Some) }
}

/// The result, or the error as a message. A panic becomes a message, too.
fn caught<T>(work: impl FnOnce() -> Result<T, ExportError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error_text(&error)),
        Err(panic) => Err(panic_text(&*panic)),
    }
}

/// Java's string, null for `None`.
fn java_text(env: &mut Env<'_>, text: Option<String>) -> jni::errors::Result<jstring> {
    text.map_or(Ok(std::ptr::null_mut()), |text| Ok(env.new_string(text)?.into_raw()))
}

fn returned(outcome: EnvOutcome<'_, jstring, jni::errors::Error>) -> jstring {
    match outcome.into_outcome() {
        Outcome::Ok(text) => text,
        // Out of memory for the string: an exception is pending, which Java sees.
        Outcome::Err(_) | Outcome::Panic(_) => std::ptr::null_mut(),
    }
}

/// An error with its causes, in one line.
fn error_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a fault of the exporter: {}", text.unwrap_or("without a text"))
}
