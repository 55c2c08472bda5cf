//! Stack bytes of native stacks. They are the user's data: a recording that leaves the device has none.

use std::fs::File;
use std::path::Path;

use trace_format::ReadError;
use trace_format::wipe::{self, InFile, WipeError};

use crate::monitors::past::old_recording;

/// Wipes the recordings of ended processes. Reads and writes files: on a background thread.
pub(crate) fn wipe_all(directory: &Path) {
    let _search = old_recording::lock_search();
    for mut old in old_recording::all(directory) {
        // One that cannot be wiped is tried again at the next start, and not offered for an upload.
        let _ = old.wipe();
    }
}

/// Wipes one recording or copy that nothing writes to. Returns whether it has no stack bytes now; false also if a process has its lock.
/// On a background thread.
pub(crate) fn wipe_file(path: &Path) -> bool {
    let _search = old_recording::lock_search();
    old_recording::open_unused(path)
        .is_some_and(|file| is_clean(wipe::wipe(&mut InFile(&file), &[]).map(|_| true)))
}

/// Whether a recording, which may be in use, has no stack bytes. On a background thread.
pub(crate) fn has_none(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| is_clean(wipe::has_stack_bytes(&InFile(&file)).map(|has| !has)))
}

/// A file that does not begin as a recording is not the library's: a recording has its name only once its header is complete.
fn is_clean(found: Result<bool, WipeError>) -> bool {
    found.unwrap_or_else(|error| matches!(error, WipeError::Read(ReadError::NotARecording)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::past::listing;
    use std::fs;
    use std::os::fd::AsRawFd;
    use trace_format::native_slot::{Machine, REGISTERS, Reason, state};
    use trace_format::section::SectionKind;
    use trace_format::sections::native_stack::NativeStack;
    use trace_format::synth::RecordingBuilder;

    const MARKER: &[u8] = b"a-secret-of-the-user";

    fn recording(pid: u32) -> Vec<u8> {
        let capture = |number| NativeStack {
            number,
            tid: 7,
            asked: 10,
            at: 11,
            machine: Machine::Aarch64,
            reason: Some(Reason::Stall),
            flags: 0,
            stack_end: 0,
            sp: 0,
            registers: [0; REGISTERS],
            system_call: None,
            mutex: (0, 0),
            previous: None,
            stack: MARKER.repeat(90),
        };
        let mut bytes = RecordingBuilder::new(pid, "com.example")
            .native_slot(state::FULL, &capture(2))
            .section(SectionKind::NativeStack, &capture(1).encode())
            .section(SectionKind::Verdict, b"verdict=anr\n")
            .build();
        let torn = trace_format::section::encode(SectionKind::NativeStack, 1, &capture(3).encode());
        bytes.extend_from_slice(&torn[..900]);
        bytes
    }

    fn has_marker(path: &Path) -> bool {
        fs::read(path).unwrap().windows(MARKER.len()).any(|at| at == MARKER)
    }

    #[test]
    fn what_is_offered_for_an_upload_has_no_stack_bytes_and_a_running_process_keeps_its_own() {
        let directory = std::env::temp_dir().join(format!("anrscope-stack-bytes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let [ended, running] = ["ended.anrscope", "running.anrscope"].map(|name| directory.join(name));
        fs::write(&ended, recording(1 << 30)).unwrap();
        fs::write(&running, recording((1 << 30) + 1)).unwrap();
        let process = File::open(&running).unwrap();
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        assert_eq!(unsafe { libc::flock(process.as_raw_fd(), libc::LOCK_EX) }, 0);
        assert!(!has_none(&ended) && !has_none(&running) && !wipe_file(&running));

        let lines = listing::lines(&directory);
        assert!(lines.starts_with("ended.anrscope\t") && lines.lines().count() == 1, "{lines}");
        assert!(lines.contains("\t1\t\tcom.example"), "the rest of the recording is there: {lines}");
        assert!(!has_marker(&ended) && has_none(&ended) && has_marker(&running));
        // A later section goes behind what the wipe appended.
        let mut old = old_recording::OldRecording::open(&ended).unwrap();
        old.append(SectionKind::ExitInformation, b"pid=1\nreason=anr\n\n").unwrap();
        drop(old);
        assert!(old_recording::OldRecording::open(&ended).unwrap().has_exit);
        let read = trace_format::Recording::open(fs::read(&ended).unwrap()).unwrap();
        let stacks = read.sections().iter().filter(|s| s.kind == Some(SectionKind::NativeStack)).count();
        assert_eq!((stacks, read.faults().0.len()), (2, 0));

        drop(process);
        wipe_all(&directory);
        assert!(!has_marker(&running));
        let copy = directory.join(".pull-1");
        fs::write(&copy, recording(std::process::id())).unwrap();
        assert!(wipe_file(&copy) && !has_marker(&copy));
        let mut damaged = recording(1 << 30);
        damaged[12] ^= 1;
        fs::write(&copy, damaged).unwrap();
        assert!(!wipe_file(&copy) && !has_none(&copy), "what is not understood does not leave");
        fs::write(&copy, b"another file of the app's").unwrap();
        assert!(wipe_file(&copy) && has_none(&copy));
        fs::remove_dir_all(directory).unwrap();
    }
}
