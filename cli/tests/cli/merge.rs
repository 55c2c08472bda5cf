//! Recordings and traces on one time line.

use std::fs;

use serde_json::Value;
use trace_format::event::Clocks;
use trace_format::synth::RecordingBuilder;

use test_support::engine;
use test_support::program::run;
use test_support::temp_dir::TempDir;

const S: u64 = 1_000_000_000;

/// One method on main, a second long.
fn recording(pid: u32, name: &str, booted: u64) -> Vec<u8> {
    let clocks = Clocks { boottime: 50 * S, monotonic: 50 * S, realtime: booted + 50 * S };
    RecordingBuilder::new(pid, name)
        .start(clocks)
        .main("main", |t| {
            t.enter(51 * S, 1).exit(52 * S, 1);
        })
        .service(|t| {
            t.event(50 * S, trace_format::Event::Clock(clocks));
        })
        .build()
}

const BOOTED: u64 = 1_700_000_000 * S;
const ROWS: &str = "select p.name, p.pid, s.ts, s.dur from slice s join thread_track tt on s.track_id = tt.id
    join thread t using (utid) join process p using (upid) order by p.pid";

#[test]
fn recordings_and_a_trace_become_one() {
    let directory = TempDir::new();
    let app = directory.file("app.anrscope", recording(42, "com.example", BOOTED));
    let remote = directory.file("remote.anrscope", recording(43, "com.example:remote", BOOTED + S));
    let other = directory.file("other.anrscope", recording(60, "system", BOOTED));
    let (system, out) = (directory.name("system.pftrace"), directory.name("both.pftrace"));
    assert_eq!(run(["export", &other, "-o", &system]).code, Some(0));
    run(["merge", &app, &remote, &system, "-o", &out]).ok(&["3 files -> "]);
    let rows = engine::rows(out.as_ref(), ROWS);
    let found: Vec<_> =
        rows.iter().map(|r| (r["name"].as_str().unwrap(), r["pid"].as_u64().unwrap())).collect();
    assert_eq!(found, [("com.example", 42), ("com.example:remote", 43), ("system", 60)]);
    assert!(rows.iter().all(|r| r["ts"] == 51 * S && r["dur"] == S), "{rows:?}");

    // Compressed as a whole it is the same trace; cut, all but its last packet.
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, &fs::read(&system).unwrap()).unwrap();
    let gz = directory.file("system.gz", gz.finish().unwrap());
    run(["merge", &app, &remote, &gz, "-o", &out]).ok(&["3 files -> "]);
    assert_eq!(engine::rows(out.as_ref(), ROWS), rows);
    let whole = fs::read(&system).unwrap();
    let cut = directory.file("cut.pftrace", &whole[..whole.len() - 1]);
    run(["merge", &app, &cut, "-o", &out]).ok(&["warning: ", "ends in the middle of a packet"]);
    assert!(!engine::rows(out.as_ref(), ROWS).is_empty());
}

#[test]
fn conflicting_tracks_are_an_error_unless_exported_with_merge_safe() {
    let directory = TempDir::new();
    let inputs = [1, 2].map(|i| directory.file(&format!("{i}.anrscope"), recording(40 + i, "app", BOOTED)));
    let traces = [1, 2].map(|i| directory.name(&format!("{i}.pftrace")));
    let out = directory.name("out.pftrace");
    for (input, trace) in inputs.iter().zip(&traces) {
        assert_eq!(run(["export", input, "-o", trace]).code, Some(0));
    }
    run(["merge", &traces[0], &traces[1], "-o", &out])
        .failed(1, &["have a track with the number", "--merge-safe"]);
    assert!(!directory.path().join("out.pftrace").exists());
    for (input, trace) in inputs.iter().zip(&traces) {
        assert_eq!(run(["export", input, "-o", trace, "--merge-safe"]).code, Some(0));
    }
    run(["merge", &traces[0], &traces[1], "-o", &out]).ok(&["2 files -> "]);
    assert_eq!(engine::rows(out.as_ref(), ROWS).len(), 2);

    let json = directory.name("t.json");
    assert_eq!(run(["export", &inputs[0], "-o", &json]).code, Some(0));
    run(["merge", &json, &traces[1], "-o", &out]).failed(1, &["is not a Perfetto trace", ".tar"]);
    run(["merge", &directory.name("gone"), &traces[1], "-o", &out]).failed(1, &["cannot open"]);
    run(["merge", &traces[1], "-o", &out]).failed(2, &[]);
    let junk = directory.file("junk", [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    run(["merge", &junk, &traces[1], "-o", &out]).failed(1, &["junk"]);
}

/// A field of protobuf's wire format: a number, or bytes.
fn number(field: u64, value: u64) -> Vec<u8> {
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    let mut out = number(field, value.len() as u64);
    // The wire type of bytes is 2, and that of numbers 0.
    out[0] |= 2;
    out.extend_from_slice(value);
    out
}

fn packet(fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, &fields.concat())
}

/// A trace of the system that has the app's process, with another parent, and its ANR.
fn system_trace(anr: bool) -> Vec<u8> {
    let clock = |id, at| bytes(1, &[number(1, id), number(2, at)].concat());
    let mut trace = packet(&[
        number(10, 9),
        number(13, 1),
        bytes(6, &[clock(6, 50 * S), clock(1, BOOTED + 50 * S), number(2, 6)].concat()),
    ]);
    let process = |pid: u64, parent: u64, name: &str| {
        bytes(1, &[number(1, pid), number(2, parent), bytes(3, name.as_bytes())].concat())
    };
    let tree = [process(1500, 700, "system_server"), process(42, 701, "com.example")].concat();
    trace.extend(packet(&[number(8, 50 * S), bytes(2, &tree)]));
    let described = bytes(
        60,
        &[number(1, 7001), bytes(3, &[number(1, 1500), bytes(6, b"system_server")].concat())].concat(),
    );
    trace.extend(packet(&[number(8, 50 * S), described]));
    let counters =
        ["ErrorId:com.example 42#aa-bb", "Subject(for ErrorId aa-bb):Input dispatching timed out (x)"];
    for (uuid, name) in (7002..).zip(counters).filter(|_| anr) {
        let counter = [number(1, uuid), bytes(2, name.as_bytes()), number(5, 7001), bytes(8, &[])].concat();
        trace.extend(packet(&[number(8, 50 * S), bytes(60, &counter)]));
        let event = [number(9, 4), number(11, uuid), number(30, 1)].concat();
        trace.extend(packet(&[number(8, 57 * S), number(10, 9), number(58, 6), bytes(11, &event)]));
    }
    trace
}

/// Content of the system's trace is not repeated: there is one ANR, one system_server, and one process of the app.
#[test]
fn an_anr_and_a_process_in_both_traces_are_merged() {
    let directory = TempDir::new();
    let clocks = Clocks { boottime: 50 * S, monotonic: 50 * S, realtime: BOOTED + 50 * S };
    let sigquit = trace_format::event::Sigquit {
        sensed: 57 * S,
        si_code: 0,
        si_pid: 1500,
        si_uid: 1000,
        forward: trace_format::event::Forward::Catcher,
        stuck_since: 51 * S,
    };
    let app = RecordingBuilder::new(42, "com.example")
        .start(clocks)
        .main("main", |t| {
            t.event(51 * S, trace_format::Event::MessageBegin(trace_format::event::Message::default()));
            t.enter(51 * S, 1);
        })
        .service(|t| {
            t.event(50 * S, trace_format::Event::Clock(clocks))
                .event(57 * S, trace_format::Event::Sigquit(sigquit));
        })
        .section(trace_format::section::SectionKind::Process, b"name=com.example\nparent_pid=812\n")
        .last_alive(58 * S);
    let app = directory.file("app.anrscope", app.build());
    let out = directory.name("both.pftrace");
    let anrs = "include perfetto module android.anrs; select anr_type, error_id from android_anrs";
    let processes =
        "select name, pid from process where name in ('system_server', 'com.example') order by name";
    for (anr, wanted) in [(true, "INPUT_DISPATCHING_TIMEOUT"), (false, "UNKNOWN_ANR_TYPE")] {
        let system = directory.file("system.pftrace", system_trace(anr));
        run(["merge", &app, &system, "-o", &out]).ok(&["2 files -> "]);
        let found = engine::rows(out.as_ref(), anrs);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["anr_type"], wanted);
        let of_app: Vec<_> = engine::rows(out.as_ref(), processes);
        let count = |name: &str| of_app.iter().filter(|row| row["name"] == name).count();
        assert_eq!(count("com.example"), 1, "{of_app:?}");
        assert!(!anr || count("system_server") == 1, "{of_app:?}");
    }
}

/// Perfetto reports clocks that run backwards as errors; the order of the traces does not matter.
#[test]
fn interleaved_clock_snapshots_are_not_an_error() {
    let at = |boottime| Clocks { boottime, monotonic: boottime - S, realtime: BOOTED + boottime };
    let recorded = |pid, times: [u64; 2]| {
        let main = |t: &mut trace_format::synth::ThreadBuilder| {
            t.enter(times[0], 1).exit(times[0] + S, 1);
        };
        let app = RecordingBuilder::new(pid, "app").start(at(times[0])).main("main", main);
        app.service(|t| {
            t.event(times[0], trace_format::Event::Clock(at(times[0])))
                .event(times[1], trace_format::Event::Clock(at(times[1])));
        })
        .build()
    };
    let directory = TempDir::new();
    let one = directory.file("1.anrscope", recorded(41, [50 * S, 70 * S]));
    let two = directory.file("2.anrscope", recorded(42, [40 * S, 60 * S]));
    let (trace, out) = (directory.name("2.pftrace"), directory.name("out.pftrace"));
    assert_eq!(run(["export", &two, "-o", &trace]).code, Some(0));
    for inputs in [[&one, &two], [&two, &one], [&one, &trace]] {
        run(["merge", inputs[0], inputs[1], "-o", &out]).ok(&["2 files -> "]);
        let rows = engine::rows(out.as_ref(), ROWS);
        let found: Vec<_> = rows.iter().map(|r| (&r["pid"], &r["ts"])).collect();
        assert_eq!(found, [(&41.into(), &(50 * S).into()), (&42.into(), &(40 * S).into())]);
    }
}

#[test]
fn two_boots_are_reported() {
    let directory = TempDir::new();
    let one = directory.file("1.anrscope", recording(41, "app", BOOTED));
    let two = directory.file("2.anrscope", recording(42, "app", BOOTED + 3600 * S));
    run(["merge", &one, &two, "-o", &directory.name("out.pftrace")]).ok(&["different boots"]);
}

#[test]
fn an_archive_has_all_of_them_and_a_manifest() {
    let directory = TempDir::new();
    let app = directory.file("app.anrscope", recording(42, "com.example", BOOTED));
    let other = directory.file("other.anrscope", recording(60, "system", BOOTED));
    let (json, out) = (directory.name("other.json"), directory.name("both.tar"));
    assert_eq!(run(["export", &other, "-o", &json]).code, Some(0));
    run(["merge", &app, &json, "-o", &out]).ok(&["is JSON", "2 files -> "]);

    // Taken apart by the system's own tar.
    let tar = |arguments: &[&str]| {
        let shown = std::process::Command::new("tar").args(arguments).output().expect("tar");
        assert!(shown.status.success(), "{shown:?}");
        String::from_utf8(shown.stdout).unwrap()
    };
    assert_eq!(
        tar(&["-tf", &out]).lines().collect::<Vec<_>>(),
        ["perfetto_manifest.json", "app.pftrace", "other.json"]
    );
    let text = tar(&["-xOf", &out, "perfetto_manifest.json"]);
    assert!(text.starts_with("{\"perfetto_manifest\""), "{text}");
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let manifest = &manifest["perfetto_manifest"];
    assert_eq!((&manifest["version"], &manifest["trace_time"]["clock"]), (&1.into(), &"BOOTTIME".into()));
    assert_eq!(manifest["files"][0]["path"], "app.pftrace");
    assert_eq!(manifest["files"][1]["clocks"]["sync_to"]["file"], "app.pftrace");
    tar(&["-xf", &out, "-C", directory.path().to_str().unwrap()]);
    assert_eq!(engine::rows(directory.name("app.pftrace").as_ref(), ROWS).len(), 1);
    assert_eq!(engine::rows(directory.name("other.json").as_ref(), ROWS).len(), 1);
}

#[test]
fn a_run_that_is_given_twice_is_reported() {
    let directory = TempDir::new();
    let app = directory.file("app.anrscope", recording(42, "com.example", BOOTED));
    let copy = directory.file("copy.anrscope", recording(42, "com.example", BOOTED));
    let (plain, safe) = (directory.name("plain.pftrace"), directory.name("safe.pftrace"));
    assert_eq!(run(["export", &app, "-o", &plain]).code, Some(0));
    assert_eq!(run(["export", &app, "-o", &safe, "--merge-safe"]).code, Some(0));
    let packed = {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gz, &fs::read(&plain).unwrap()).unwrap();
        directory.file("packed.gz", gz.finish().unwrap())
    };
    for out in ["out.pftrace", "out.tar"].map(|name| directory.name(name)) {
        run(["merge", &app, &copy, "-o", &out]).failed(
            1,
            &[
                "app.anrscope and ",
                "copy.anrscope are recordings of the same run of pid 42: name one of them",
            ],
        );
        assert!(!fs::exists(&out).unwrap());
        for trace in [&plain, &packed] {
            let said = run(["merge", &app, trace, "-o", &out]);
            let note =
                "are of the same run of pid 42, so their events would be there twice: leave one of them out";
            assert_eq!((said.code, said.stderr.matches(note).count()), (Some(0), 1), "{said:?}");
            fs::remove_file(&out).unwrap();
        }
    }
    // Their tracks have the same numbers, and nothing can be joined.
    run(["merge", &app, &safe, "-o", &directory.name("out.pftrace")]).failed(
        1,
        &["safe.pftrace and ", "app.anrscope are of the same run of pid 42", "leave one of them out"],
    );
    // Another run of the same process number.
    let later = directory.file("later.anrscope", {
        let clocks = Clocks { boottime: 90 * S, monotonic: 90 * S, realtime: BOOTED + 90 * S };
        RecordingBuilder::new(42, "com.example").start(clocks).build()
    });
    run(["merge", &later, &plain, "-o", &directory.name("out.pftrace")]).ok(&["2 files -> "]);
    let said = run(["merge", &later, &plain, "-o", &directory.name("out.tar")]);
    assert!(!said.stderr.contains("same run"), "{said:?}");
}

#[test]
fn a_profile_that_the_platform_saved_is_reported_unless_it_is_an_input() {
    let directory = TempDir::new();
    let clocks = Clocks { boottime: 50 * S, monotonic: 50 * S, realtime: BOOTED + 50 * S };
    let noted =
        "path=/data/user/0/com.example/files/profiling/profile_trigger_anr.pftrace\nbytes=9\ntime_ms=1\n";
    let recording = RecordingBuilder::new(42, "com.example")
        .start(clocks)
        .main("main", |t| {
            t.enter(51 * S, 1).exit(52 * S, 1);
        })
        .section(trace_format::section::SectionKind::PlatformProfile, noted.as_bytes());
    let app = directory.file("app.anrscope", recording.build());
    let other = directory.file("other.anrscope", self::recording(60, "system", BOOTED));
    let (profile, out) = (directory.name("profile_trigger_anr.pftrace"), directory.name("both.pftrace"));
    run(["merge", &app, &other, "-o", &out])
        .ok(&["the platform saved a profile of this recording's ANR at /data/user/0/"]);
    assert_eq!(run(["export", &other, "-o", &profile]).code, Some(0));
    let result = run(["merge", &app, &profile, "-o", &out]);
    assert_eq!(result.code, Some(0));
    assert!(!result.stderr.contains("the platform saved"), "{}", result.stderr);
    let report = run(["report", "--verbose", &app]);
    assert!(report.stdout.contains("profile_trigger_anr.pftrace (9 bytes)"), "{}", report.stdout);
    let json: Value = serde_json::from_str(&run(["report", &app, "--format", "json"]).stdout).unwrap();
    assert!(json.to_string().contains("\"profiles\":[{\"bytes\":9,"), "{json}");
}

#[cfg(target_os = "linux")]
mod bombs {
    use std::io::Write;
    use std::os::unix::process::CommandExt;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use test_support::program::{Shown, command};
    use test_support::temp_dir::TempDir;

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    /// The key and length of a field of bytes.
    fn field(number: u64, length: u64) -> Vec<u8> {
        [varint(number << 3 | 2), varint(length)].concat()
    }

    /// `head`, and `piece` so many times, as `encoder` writes them.
    fn repeated<W: Write>(mut encoder: W, head: &[u8], piece: &[u8], times: u64) -> W {
        encoder.write_all(head).unwrap();
        let many = piece.repeat(50_000);
        for _ in 0..times / 50_000 {
            encoder.write_all(&many).unwrap();
        }
        encoder
    }

    fn gz(head: &[u8], piece: &[u8], times: u64) -> Vec<u8> {
        repeated(GzEncoder::new(Vec::new(), Compression::default()), head, piece, times).finish().unwrap()
    }

    /// A packet of compressed packets.
    fn compressed(head: &[u8], piece: &[u8], times: u64) -> Vec<u8> {
        let zlib = repeated(ZlibEncoder::new(Vec::new(), Compression::default()), head, piece, times);
        let zlib = zlib.finish().unwrap();
        let packet = [field(50, zlib.len() as u64), zlib].concat();
        [field(1, packet.len() as u64), packet].concat()
    }

    /// A packet with one field of so many bytes, without the bytes.
    fn head(number: u64, length: u64) -> Vec<u8> {
        let inner = field(number, length);
        [field(1, inner.len() as u64 + length), inner].concat()
    }

    /// Runs the program with at most 64 MiB of memory of its own (man 2 getrlimit, RLIMIT_DATA): an allocation beyond that fails, and the
    /// program with it. The peak that wait4 reports does not do: it has the size of the process that started the program.
    fn run_in_64_mib(arguments: &[&str]) -> Shown {
        let limit = || {
            let limit = libc::rlimit { rlim_cur: 64 << 20, rlim_max: 64 << 20 };
            // SAFETY: setrlimit(2) reads the place given, and may be called between fork and exec.
            match unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        let mut program = command();
        // SAFETY: the closure makes one system call: no lock, no allocation.
        unsafe { program.pre_exec(limit) };
        program.args(arguments).output().unwrap().into()
    }

    /// A few hundred KB, all of which were seconds and gigabytes.
    #[test]
    fn small_traces_that_unpack_to_gigabytes_are_refused_in_64_mib() {
        let clock = [0x0A, 0];
        let cases = [
            (
                "clocks.gz",
                gz(&head(6, 2 * 100_000_000), &clock, 100_000_000),
                "a snapshot has more than 64 clocks",
            ),
            ("quad.gz", gz(&head(900, 250_000_000), &[0], 240_000_000), "64 times the size"),
            (
                "compressed.pftrace",
                compressed(&head(6, 2 * 60_000_000), &clock, 60_000_000),
                "a snapshot has more than 64 clocks",
            ),
            (
                "many.pftrace",
                compressed(&head(900, 240_000_000), &[0], 240_000_000).repeat(20),
                "64 times the size",
            ),
        ];
        let directory = TempDir::new();
        let other = directory.file("other.pftrace", [0x0A, 5, 0xE2, 0x03, 2, 0x08, 7]);
        let out = directory.name("out.pftrace");
        for (name, bytes, why) in cases {
            let bomb = directory.file(name, &bytes);
            run_in_64_mib(&["merge", &bomb, &other, "-o", &out]).failed(1, &[name, "offset ", why]);
            assert!(!directory.path().join("out.pftrace").exists(), "{name}");
        }
    }
}
