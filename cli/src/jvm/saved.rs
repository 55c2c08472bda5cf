//! Saves a run's recordings beside the trace, compacted, with the map that names their methods.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trace_format::compact;
use trace_format::layout::MAGIC;

use super::sparse::Sparse;
use crate::export::named_form;
use crate::output::Output;
use crate::recordings::own_map_of;

/// Extension of a recording.
const END: &str = "anrscope";

/// Where a trace's recordings are saved: beside it, under its name.
#[derive(Debug)]
pub(super) struct Beside {
    /// `directory/NAME`, without extension.
    stem: PathBuf,
}

impl Beside {
    /// The paths beside `trace`; `None` if that is not a regular file, such as a pipe.
    ///
    /// # Errors
    /// If a file with one of the names exists that no run of anrscope has written.
    pub(super) fn of(trace: &Path) -> anyhow::Result<Option<Self>> {
        if trace.metadata().is_ok_and(|meta| !meta.is_file()) {
            return Ok(None);
        }
        let name = trace.file_name().unwrap_or_default().to_string_lossy();
        // `x.json.gz` is the trace of `x`.
        let Some((end, _)) = named_form(trace) else { return Ok(None) };
        let stem = trace.with_file_name(&name[..name.len() - end.len()]);
        let beside = Self { stem };
        for (path, is_ours) in [
            (beside.recording(1), is_recording as fn(&[u8]) -> bool),
            (own_map_of(&beside.recording(1)), is_map),
        ] {
            let mut start = [0; 16];
            let foreign = match File::open(&path) {
                Ok(mut file) => {
                    let read = io::Read::read(&mut file, &mut start)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    !is_ours(&start[..read])
                }
                Err(e) => e.kind() != io::ErrorKind::NotFound,
            };
            if foreign {
                bail!(
                    "{} exists and is not from a run of anrscope: the recording would replace it; choose another --out",
                    path.display()
                );
            }
        }
        Ok(Some(beside))
    }

    /// The path of the `n`th recording, from 1.
    fn recording(&self, n: usize) -> PathBuf {
        let mut name = self.stem.clone().into_os_string();
        if n > 1 {
            name.push(format!("-{n}"));
        }
        name.push(format!(".{END}"));
        PathBuf::from(name)
    }

    /// Saves recordings, each with its map. Returns their new paths.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn keep(&self, recordings: &[(PathBuf, PathBuf)]) -> anyhow::Result<Vec<PathBuf>> {
        let mut kept = Vec::with_capacity(recordings.len());
        for (n, (recording, map)) in (1..).zip(recordings) {
            let to = self.recording(n);
            let own_map = own_map_of(&to);
            files_of_map(map, &own_map).into_iter().try_for_each(|(from, to)| copy(&from, &to))?;
            // After its map, so that it is never read with an earlier one.
            copy_compact(recording, &to)?;
            kept.push(to);
        }
        Ok(kept)
    }
}

/// The two files of a method map, each with its name as a file of the `other` map.
pub(super) fn files_of_map(map: &Path, other: &Path) -> [(PathBuf, PathBuf); 2] {
    ["", ".lines"].map(|end| {
        let with_end = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        (with_end(map), with_end(other))
    })
}

fn is_recording(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Whether it begins as a method map: `1,1,com.example.Main...`. An empty file does not count.
fn is_map(start: &[u8]) -> bool {
    let digits = start.iter().take_while(|byte| byte.is_ascii_digit()).count();
    start.is_empty() || start[0] == b'#' || digits > 0 && start.get(digits) == Some(&b',')
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let output = Output::create(to)?;
    let cannot_copy = || format!("cannot copy {} to {}", from.display(), to.display());
    let mut file = File::open(from).with_context(cannot_copy)?;
    io::copy(&mut file, &mut output.file()).with_context(cannot_copy)?;
    output.commit()
}

/// Copies the used part of a recording.
fn copy_compact(from: &Path, to: &Path) -> anyhow::Result<()> {
    let source = Sparse::open(from).with_context(|| format!("cannot read {}", from.display()))?;
    let output = Output::create(to)?;
    let cannot_copy = || format!("cannot copy {} to {}", from.display(), to.display());
    let mut out = BufWriter::new(output.file());
    compact(&source, &mut out).with_context(cannot_copy)?;
    out.flush().with_context(cannot_copy)?;
    drop(out);
    output.commit()
}

/// Compacts a recording in place. One that a process still writes to is left alone.
///
/// # Errors
/// If it cannot be written.
pub(super) fn shrink(recording: &Path) -> anyhow::Result<()> {
    let file = File::open(recording).with_context(|| format!("cannot read {}", recording.display()))?;
    // The recorder keeps it locked as long as its process lives.
    if file.try_lock().is_err() {
        return Ok(());
    }
    drop(file);
    copy_compact(recording, recording)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch::Scratch;
    use trace_format::Recording;
    use trace_format::synth::RecordingBuilder;

    fn recording() -> Vec<u8> {
        RecordingBuilder::new(1, "p")
            .main("main", |t| {
                t.enter(2_000, 1).exit(3_000, 1);
            })
            .build()
    }

    #[test]
    fn a_recording_is_saved_under_the_traces_name_with_its_map() {
        let scratch = Scratch::new();
        let first = scratch.file("run/a.anrscope", &recording());
        let map = scratch.file("run/methodMapping.txt", b"1,1,a.B c ()V\n");
        scratch.file("run/methodMapping.txt.lines", b"1,B.java,3\n");
        for (trace, stem) in [("x.pftrace", "x"), ("y.json.gz", "y"), ("z.v1.JSON", "z.v1")] {
            let trace = scratch.path().join(trace);
            // The second time it replaces what is there.
            for _ in 0..2 {
                let beside = Beside::of(&trace).unwrap().unwrap();
                let both = [(first.clone(), map.clone()), (first.clone(), map.clone())];
                let kept = beside.keep(&both).unwrap();
                let names = [format!("{stem}.anrscope"), format!("{stem}-2.anrscope")];
                assert_eq!(kept, names.map(|name| scratch.path().join(name)));
                for recording in kept {
                    Recording::open(fs::read(&recording).unwrap()).unwrap();
                    let map = own_map_of(&recording);
                    assert_eq!(fs::read(&map).unwrap(), b"1,1,a.B c ()V\n");
                    assert!(map.with_extension("txt.lines").is_file());
                }
            }
        }
        assert!(Beside::of(Path::new("/dev/null")).unwrap().is_none());
    }

    #[test]
    fn a_file_of_another_program_is_not_replaced() {
        let scratch = Scratch::new();
        let trace = scratch.path().join("x.pftrace");
        let other = scratch.file("x.anrscope", b"my notes");
        assert!(Beside::of(&trace).unwrap_err().to_string().contains("x.anrscope"));
        fs::remove_file(other).unwrap();
        scratch.file("x.methodMapping.txt", b"my notes");
        assert!(Beside::of(&trace).unwrap_err().to_string().contains("x.methodMapping.txt"));
    }

    #[test]
    fn a_recording_that_is_written_to_stays() {
        let scratch = Scratch::new();
        let mut whole = recording();
        let path = scratch.file("a.anrscope", &whole);
        let writer = File::open(&path).unwrap();
        writer.lock().unwrap();
        shrink(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        drop(writer);
        shrink(&path).unwrap();
        let small = fs::read(&path).unwrap();
        assert!(small.len() < whole.len());
        whole.truncate(5_000);
        fs::write(&path, &whole).unwrap();
        shrink(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole, "a cut recording is not made to look whole");
    }
}
