//! The list of recordings that ended processes left, for uploads.

use std::path::Path;

use crate::monitors::past::old_recording;

/// Wipes stack bytes. One line per recording: the file's name, the pid, when it started (ms since 1970), 1 with an ANR, how
/// the process ended, its name; separated by tabs. On a background thread.
pub(crate) fn lines(directory: &Path) -> String {
    let mut lines = String::new();
    let _search = old_recording::lock_search();
    for mut old in old_recording::all(directory) {
        // Before it is handed out; if that fails it is not.
        if old.wipe().is_err() {
            continue;
        }
        // The library does not create names that are not text, or that would be read as another file's here.
        let name = old.path.file_name().and_then(|name| name.to_str()).filter(|name| plain(name) == **name);
        let Some(name) = name else { continue };
        let anr = if old.has_anr { "1" } else { "0" };
        let fields = [name, &old.pid.to_string(), &old.start_ms.to_string(), anr, &old.reason, &old.process]
            .map(plain);
        lines.push_str(&fields.join("\t"));
        lines.push('\n');
    }
    lines
}

/// Replaces what could end a field.
fn plain(field: &str) -> String {
    field.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::AsRawFd;
    use trace_format::event::Clocks;
    use trace_format::section::SectionKind;
    use trace_format::synth::RecordingBuilder;

    #[test]
    fn one_line_for_each_recording_of_an_ended_process() {
        let directory = std::env::temp_dir().join(format!("anrscope-finished-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let recording = |pid: u32, name: &str| {
            let start = Clocks { boottime: 1, monotonic: 1, realtime: u64::from(pid) * 1_000_000_000 };
            RecordingBuilder::new((1 << 30) + pid, name).start(start)
        };
        let write =
            |name: &str, builder: RecordingBuilder| fs::write(directory.join(name), builder.build()).unwrap();
        write("plain.anrscope", recording(1, "com.example"));
        write(
            "anr.anrscope",
            recording(2, "com.example:push").section(SectionKind::Verdict, b"verdict=anr\n"),
        );
        let exit = b"pid=3\nreason=low_memory\n\n\"main\" reason=anr\nreason=anr\n";
        write("exit.anrscope", recording(3, "a\tb").section(SectionKind::ExitInformation, exit));
        write("living.anrscope", recording(4, "com.example"));
        fs::write(directory.join("notes.txt"), "mine").unwrap();
        fs::write(directory.join("strange.anrscope"), "no recording").unwrap();
        write("liv\ting.anrscope", recording(5, "com.example"));
        let living = fs::File::open(directory.join("living.anrscope")).unwrap();
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        assert_eq!(unsafe { libc::flock(living.as_raw_fd(), libc::LOCK_EX) }, 0);
        let text = lines(&directory);
        let mut found: Vec<_> = text.lines().collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "anr.anrscope\t1073741826\t2000\t1\t\tcom.example:push",
                "exit.anrscope\t1073741827\t3000\t0\tlow_memory\ta b",
                "plain.anrscope\t1073741825\t1000\t0\t\tcom.example",
            ]
        );
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn as_many_recordings_as_an_app_may_keep_need_few_descriptors() {
        let directory = std::env::temp_dir().join(format!("anrscope-many-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        for n in 0..300 {
            let start = Clocks { boottime: 1, monotonic: 1, realtime: 1_000_000_000 };
            let recording = RecordingBuilder::new((1 << 30) + n, "com.example").start(start).build();
            fs::write(directory.join(format!("{n}.anrscope")), recording).unwrap();
        }
        let open = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        let most = old_recording::all(&directory).map(|_| open()).max().unwrap();
        // Other tests of this process open files, too.
        assert!(most < before + 100, "{before} before, {most} meanwhile");
        assert_eq!(lines(&directory).lines().count(), 300);
        fs::remove_dir_all(directory).unwrap();
    }
}
