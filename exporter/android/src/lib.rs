//! `libanrscope_export.so`: the exporter for apps that share traces from the device.
//!
//! It is a separate library because most apps do not need it: the library that every app carries
//! (`libanrscope.so`) stays small. It records nothing, starts no thread and keeps no state.
//! `dev.anrscope.export.TraceExport` is its Java API, which `Anrscope.exportTrace` finds if the app has
//! `anrscope-export.aar`.

use std::any::Any;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use exporter::{ExportError, ExportInput, ExportOptions, MethodMap, export_perfetto, open_recording};
use jni::objects::{JClass, JString};
use jni::sys::jstring;
use jni::{EnvUnowned, Outcome};

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
    let outcome = env.with_env(|env| -> jni::errors::Result<jstring> {
        let recording = PathBuf::from(recording.try_to_string(env)?);
        let map = if map.is_null() { None } else { Some(PathBuf::from(map.try_to_string(env)?)) };
        let out = PathBuf::from(out.try_to_string(env)?);
        match catch_unwind(AssertUnwindSafe(|| write(&recording, map.as_deref(), &out))) {
            Ok(Ok(())) => Ok(std::ptr::null_mut()),
            Ok(Err(error)) => Ok(env.new_string(error_text(&error))?.into_raw()),
            Err(panic) => Ok(env.new_string(panic_text(&*panic))?.into_raw()),
        }
    });
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
