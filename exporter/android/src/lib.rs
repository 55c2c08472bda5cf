//! `libanrscope_export.so`: the exporter for apps that share traces from the device.
//!
//! It is a separate library because most apps do not need it: the library that every app carries
//! (`libanrscope.so`) stays small. It records nothing, starts no thread and keeps no state.
//! `dev.anrscope.export.TraceExport` is its Java API, which `Anrscope.exportTrace` finds if the app has
//! `anrscope-export.aar`. `anrscope-debug.aar` shows the [`latest_stall`] on the device.

use std::any::Any;
use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::Duration;

use exporter::{
    ExportError, ExportInput, ExportOptions, MethodMap, Output, Report, export_perfetto, open_recording,
};
use jni::objects::{JClass, JString};
use jni::sys::{jlong, jstring};
use jni::{Env, EnvUnowned, Outcome};
use trace_format::sections::native_frames::NativeFrames;
use trace_format::wipe::{self, InFile, WipeError, Wiped};

/// Writes `recording` as a Perfetto trace to `out`, as `anrscope export` does, with the method names of `map`.
/// An existing `out` is replaced only when the new trace is complete.
///
/// # Errors
/// If the recording or the map cannot be read, or the trace cannot be written.
pub fn write(recording: &Path, map: Option<&Path>, out: &Path) -> Result<(), ExportError> {
    let opened = open_recording(recording)?;
    let names = map.map(MethodMap::load).transpose()?.unwrap_or_default();
    whole(out, [Some(recording), map], |mut file| {
        let input = ExportInput { file: recording, recording: &opened, map: &names };
        // Not `export`: it would link the writer of JSON.
        export_perfetto(&[input], &ExportOptions::default(), &mut file).map(|_| ())
    })
}

/// Writes a file whole or not at all, and never over one that was read for it.
fn whole(
    out: &Path,
    read: [Option<&Path>; 2],
    write: impl FnOnce(&File) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let written = || {
        let place = fs::canonicalize(out).ok();
        if place.is_some() && read.into_iter().flatten().any(|read| fs::canonicalize(read).ok() == place) {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is an input: choose another output");
            return Err(ExportError::Write(error));
        }
        let output = Output::create(out)?;
        write(output.file())?;
        if output.temporary().is_some() {
            output.file().sync_all()?;
        }
        Ok(output.commit()?)
    };
    written().map_err(|error| match error {
        ExportError::Write(error) => {
            ExportError::Write(io::Error::new(error.kind(), format!("{}: {error}", out.display())))
        }
        other => other,
    })
}

/// The last stall of main that took at least `least_ms`; see [`Report::latest_stall`]. Writes the report as an HTML
/// page to `page`. Without such a stall it returns `None` and writes nothing.
///
/// The text has the form that `TraceExport` parses, line by line: when the stall began, ms since 1970 by the device's
/// clock; how long it took, or has taken so far, ms; 1 if it ended, else 0; how long main was blocked, and by what, in
/// words; the answer.
///
/// # Errors
/// If the recording or the map cannot be read, or the page cannot be written.
pub fn latest_stall(
    recording: &Path,
    map: Option<&Path>,
    least_ms: u64,
    page: &Path,
) -> Result<Option<String>, ExportError> {
    let opened = open_recording(recording)?;
    let names = map.map(MethodMap::load).transpose()?.unwrap_or_default();
    let report = Report::latest_stall(recording, &opened, &names, least_ms.saturating_mul(1_000_000))?;
    let (Some(span), Some((blocked, reason))) = (report.answer.span, report.sentence()) else {
        return Ok(None);
    };
    let html = report.to_html("", &report.chart(recording, &opened, &names)?, None);
    whole(page, [Some(recording), map], |mut file| Ok(file.write_all(html.as_bytes())?))?;
    let since = report.start.realtime.saturating_add(span.since).saturating_sub(report.start.boottime);
    let (since, duration, ended) = (since / 1_000_000, span.duration / 1_000_000, u8::from(span.ended));
    let headline = report.headline();
    let mut text = format!("{since}\n{duration}\n{ended}\n{blocked}\n{reason}\n{headline}");
    for (label, line) in report.answer.lines() {
        text.push_str(&format!("\n{label}: {line}"));
    }
    Ok(Some(text))
}

/// Replaces the stack bytes of a recording by the frames that this device's files give, in place; a build without the
/// feature `native-stacks` has none. `None` if its process, or another caller, still has it: nothing was changed. Takes
/// the recording's lock only while it writes.
///
/// # Errors
/// If the recording cannot be read or written. Stack bytes may be left in it, and the call can be repeated.
pub fn unwind_stacks(recording: &Path) -> Result<Option<Wiped>, ExportError> {
    let file = File::options().read(true).write(true).open(recording);
    let file = file.map_err(|source| ExportError::Open { file: recording.to_owned(), source })?;
    // Unwinding takes a while, in which others may add to the recording: the system's account of the exit.
    if !try_lock(&file)? {
        return Ok(None);
    }
    unlock(&file);
    let wiping = |error| match error {
        WipeError::Read(source) => ExportError::Recording { file: recording.to_owned(), source },
        error => ExportError::Write(io::Error::other(error)),
    };
    if !wipe::has_stack_bytes(&InFile(&file)).map_err(wiping)? {
        return Ok(Some(Wiped::default()));
    }
    // The bytes go even if unwinding fails.
    let frames = catch_unwind(AssertUnwindSafe(|| frames_of(recording))).unwrap_or_default();
    if !try_lock(&file)? {
        return Ok(None);
    }
    wipe::wipe(&mut InFile(&file), &frames).map_err(wiping).map(Some)
}

/// Takes the lock of a recording, which its process holds while it runs; it ends with `file`. Not the lock of the standard library,
/// which has none for Android.
#[cfg(unix)]
fn try_lock(file: &File) -> Result<bool, ExportError> {
    // SAFETY: flock takes a descriptor that is open and touches no memory.
    let take = || unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    // Another thread of this process may be reading it, which takes milliseconds.
    let pauses = [Duration::ZERO].into_iter().chain([Duration::from_millis(20); 10]);
    if pauses.inspect(|pause| std::thread::sleep(*pause)).any(|_| take()) {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        held if held.kind() == io::ErrorKind::WouldBlock => Ok(false),
        // A file system without locks: the process has none, either.
        none if matches!(none.raw_os_error(), Some(libc::ENOSYS | libc::ENOLCK | libc::EOPNOTSUPP)) => {
            Ok(true)
        }
        error => Err(ExportError::Write(error)),
    }
}

#[cfg(unix)]
fn unlock(file: &File) {
    // SAFETY: as above.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
}

/// Without the recorder, which other systems do not have, nothing holds a recording.
#[cfg(not(unix))]
fn try_lock(_file: &File) -> Result<bool, ExportError> {
    Ok(true)
}

#[cfg(not(unix))]
fn unlock(_file: &File) {}

/// The frames of each capture by the files of this device; none if they cannot be read.
#[cfg(feature = "native-stacks")]
fn frames_of(recording: &Path) -> Vec<NativeFrames> {
    let opened = open_recording(recording).ok();
    let mut symbols = native_stacks::Symbols::new(Vec::new());
    opened.and_then(|opened| native_stacks::recording::unwind(&opened, &mut symbols).ok()).unwrap_or_default()
}

#[cfg(not(feature = "native-stacks"))]
fn frames_of(_recording: &Path) -> Vec<NativeFrames> {
    Vec::new()
}

/// JNI entry point: returns an empty text on success, and `!` with the error message. A panic becomes a message, too: nothing
/// unwinds into the app.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_export_TraceExport_export<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    recording: JString<'local>,
    map: JString<'local>,
    out: JString<'local>,
) -> jstring {
    called(env, |env| {
        let (recording, map, out) = (path(env, &recording)?, optional_path(env, &map)?, path(env, &out)?);
        Ok(write(&recording, map.as_deref(), &out).map(|()| String::new()))
    })
}

/// JNI entry point: returns the stall's lines, an empty text without a stall, and `!` with the error message.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_export_TraceExport_stall<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    recording: JString<'local>,
    map: JString<'local>,
    least_ms: jlong,
    page: JString<'local>,
) -> jstring {
    called(env, |env| {
        let (recording, map, page) = (path(env, &recording)?, optional_path(env, &map)?, path(env, &page)?);
        let least_ms = u64::try_from(least_ms).unwrap_or(0);
        let stall = latest_stall(&recording, map.as_deref(), least_ms, &page);
        Ok(stall.map(Option::unwrap_or_default))
    })
}

/// JNI entry point: returns an empty text if the stack bytes are wiped, `-` if the recording is in use, else `!` with the error message.
#[unsafe(no_mangle)]
extern "system" fn Java_dev_anrscope_export_TraceExport_unwind<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    recording: JString<'local>,
) -> jstring {
    called(env, |env| {
        let wiped = unwind_stacks(&path(env, &recording)?);
        Ok(wiped.map(|wiped| if wiped.is_some() { "" } else { "-" }.to_owned()))
    })
}

fn path(env: &mut Env<'_>, text: &JString<'_>) -> jni::errors::Result<PathBuf> {
    Ok(PathBuf::from(text.try_to_string(env)?))
}

fn optional_path(env: &mut Env<'_>, text: &JString<'_>) -> jni::errors::Result<Option<PathBuf>> {
    if text.is_null() { Ok(None) } else { path(env, text).map(Some) }
}

/// Java's string of the result, or of the error as a message. A panic becomes a message, too.
fn called(
    mut env: EnvUnowned<'_>,
    work: impl FnOnce(&mut Env<'_>) -> jni::errors::Result<Result<String, ExportError>>,
) -> jstring {
    let outcome = env.with_env(|env| {
        let text = match catch_unwind(AssertUnwindSafe(|| work(env))) {
            Ok(result) => result?.unwrap_or_else(|error| format!("!{}", error_text(&error))),
            Err(panic) => format!("!{}", panic_text(&*panic)),
        };
        Ok::<_, jni::errors::Error>(env.new_string(text)?.into_raw())
    });
    match outcome.into_outcome() {
        Outcome::Ok(text) => text,
        // A path was null, or there was no memory for a string. Java takes null for an error.
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

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::Recording;
    use trace_format::native_slot::{Machine, REGISTERS, Reason, state};
    use trace_format::section::SectionKind;
    use trace_format::sections::native_stack::NativeStack;
    use trace_format::synth::RecordingBuilder;

    const MARKER: &[u8; 16] = b"Vq7$eT0^mB4&zL9!";

    fn capture(number: u64) -> NativeStack {
        let mut registers = [0; REGISTERS];
        registers[0] = u64::from_le_bytes(MARKER[..8].try_into().unwrap());
        registers[16] = 0x1_0040;
        NativeStack {
            number,
            tid: 7,
            asked: 10,
            at: 11,
            machine: Machine::X86_64,
            reason: Some(Reason::Stall),
            flags: 0,
            stack_end: 0x9_0000,
            sp: 0x8_0000,
            registers,
            system_call: None,
            mutex: (0, 0),
            previous: None,
            stack: MARKER.repeat(40),
        }
    }

    /// A recording of a main thread that hangs, in a directory of its own.
    fn hang(name: &str) -> (PathBuf, PathBuf) {
        let directory = std::env::temp_dir().join(format!("anrscope-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        let recording = directory.join("hang.anrscope");
        let bytes = RecordingBuilder::new(7, "p").last_alive(9_000_000_000).main("main", |main| {
            main.enter(1_000_000, 1);
        });
        fs::write(&recording, bytes.build()).unwrap();
        (directory, recording)
    }

    fn both(recording: &Path, out: &Path) -> [Result<(), ExportError>; 2] {
        [
            write(recording, None, out),
            latest_stall(recording, None, 1, out).map(|stall| assert!(stall.is_some())),
        ]
    }

    #[cfg(unix)]
    #[test]
    fn an_output_is_private_and_goes_through_no_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (directory, recording) = hang("private");
        let victim = directory.join("victim");
        fs::write(&victim, "theirs").unwrap();
        symlink(&victim, directory.join(".out.part")).unwrap();
        let out = directory.join("out");
        let private = || {
            assert_eq!(fs::symlink_metadata(&out).unwrap().permissions().mode(), 0o100_600);
            fs::remove_file(&out).unwrap();
        };
        write(&recording, None, &out).unwrap();
        private();
        assert!(latest_stall(&recording, None, 1, &out).unwrap().is_some());
        private();
        assert_eq!(fs::read(&victim).unwrap(), b"theirs");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn an_input_is_not_overwritten_and_an_error_names_the_output() {
        let (directory, recording) = hang("input");
        let bytes = fs::read(&recording).unwrap();
        for out in [&recording, &directory, &directory.join("none/out")] {
            for written in both(&recording, out) {
                let error = error_text(&written.unwrap_err());
                assert!(error.contains(&out.display().to_string()), "{error}");
            }
        }
        assert!(fs::read(&recording).unwrap() == bytes);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn two_calls_at_once_leave_a_whole_output_of_one() {
        let (directory, recording) = hang("both");
        let out = directory.join("out");
        let mut whole = both(&recording, &out).map(|_| fs::read(&out).unwrap()).to_vec();
        write(&recording, None, &out).unwrap();
        whole.push(fs::read(&out).unwrap());
        for _ in 0..20 {
            std::thread::scope(|scope| {
                let first = scope.spawn(|| write(&recording, None, &out));
                latest_stall(&recording, None, 1, &out).unwrap();
                first.join().unwrap().unwrap();
            });
            assert!(whole.contains(&fs::read(&out).unwrap()));
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_stack_bytes_of_an_ended_process_become_frames_and_those_of_a_running_one_stay() {
        let path = std::env::temp_dir().join(format!("anrscope-unwind-{}.anrscope", std::process::id()));
        let bytes = RecordingBuilder::new(1 << 30, "p")
            .native_slot(state::FULL, &capture(2))
            .section(SectionKind::NativeStack, &capture(1).encode())
            .build();
        fs::write(&path, &bytes).unwrap();
        let process = File::open(&path).unwrap();
        if cfg!(unix) {
            assert!(try_lock(&process).unwrap());
            assert_eq!(unwind_stacks(&path).unwrap(), None);
            assert!(fs::read(&path).unwrap() == bytes);
        }
        drop(process);
        let frames = if cfg!(feature = "native-stacks") { 2 } else { 0 };
        assert_eq!(unwind_stacks(&path).unwrap(), Some(Wiped { captures: 2, frames }));
        let wiped = fs::read(&path).unwrap();
        assert!(!wiped.windows(8).any(|at| at == &MARKER[..8] || at == &MARKER[8..]));
        let recording = Recording::open(wiped).unwrap();
        let of = |kind| recording.sections().iter().filter(|section| section.kind == Some(kind)).count();
        assert_eq!((of(SectionKind::NativeFrames), of(SectionKind::NativeStack)), (frames, 2));
        assert_eq!(unwind_stacks(&path).unwrap(), Some(Wiped::default()), "nothing is left to do");
        fs::remove_file(&path).unwrap();
        assert!(unwind_stacks(&path).is_err());
    }
}
