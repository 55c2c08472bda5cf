//! Properties of a trace as a whole: several recordings, the map, the output, the number of slices.

use super::*;
use test_support::engine;
use test_support::recordings;

#[test]
fn several_recordings_are_several_processes_of_one_trace() {
    let other = |pid, name: &str| {
        RecordingBuilder::new(pid, name).start(recordings::clocks(101 * S)).main("main", |t| {
            t.enter(101 * S, 1).exit(102 * S, 1).enter(103 * S, 2);
        })
    };
    // Another process, and a restart that was given the same pid and whose thread has a tid in use.
    let files = [
        stalled().build(),
        other(4300, "com.example:remote").build(),
        other(4242, "com.example.app")
            .thread("worker", 4250, |t| {
                t.enter(104 * S, 3);
            })
            .build(),
    ];
    let recordings: Vec<_> = files.iter().map(|f| Recording::open(f).unwrap()).collect();
    let map = map();
    let path = std::path::Path::new("test.anrscope");
    let inputs: Vec<_> = recordings
        .iter()
        .map(|recording| exporter::ExportInput { file: path, recording, map: &map })
        .collect();
    for options in &FORMS {
        let file = TempFile::new("trace");
        let out = std::fs::File::create(&file.0).unwrap();
        let summary = exporter::export(&inputs, options, out).unwrap();
        let rows = engine::rows(
            &file.0,
            "select p.name, p.pid, count() n, sum(t.is_main_thread) main from slice s
               join thread_track tt on s.track_id = tt.id join thread t using (utid) join process p using (upid)
               where t.name not in ('ANR', 'main: messages before an ANR')
                 and s.name is not 'screen shown' and s.name not glob 'Lock contention: *'
               group by upid order by p.pid",
        );
        let found: Vec<_> =
            rows.iter().map(|r| (r["name"].as_str().unwrap(), r["n"].as_u64().unwrap())).collect();
        let [(_, first), ("com.example:remote", 2), ("com.example.app", 3)] = found[..] else {
            panic!("{rows:?}")
        };
        assert_eq!(rows[2]["main"].as_u64(), Some(2), "{rows:?}");
        // The first one's ANR and the two lines of its messages before that are on tracks that are not counted here.
        assert_eq!(summary.counts.slices, first + 2 + 3 + 1 + 2);
    }
}

#[test]
fn a_map_of_a_different_build_is_rejected_with_a_warning_in_the_trace() {
    let bytes = stalled().map_id(trace_format::MapId(0xbad)).build();
    let (file, summary) = export_to_file(&bytes, &FORMS[0]);
    assert!(matches!(summary.warnings[..], [exporter::Warning::MapOfOtherBuild { .. }]));
    let answer = engine::ask(
        &file.0,
        &[
            "select prio, msg from android_logs order by ts",
            "select 1 from slice where name glob 'com.example.*'",
        ],
    );
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    // The warning, the answer's lines where the hang begins, and the ANR.
    let [warning, answered @ .., _anr] = &answer.queries[0][..] else { panic!("{:?}", answer.queries[0]) };
    assert_eq!(answered.len(), 6, "{answered:?}");
    assert!(warning["msg"].as_str().unwrap().contains("is of another build"), "{warning}");
    assert_eq!(warning["prio"], 5);
    assert!(answer.queries[1].is_empty());
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::new(std::io::ErrorKind::StorageFull, "no space left"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let file = stalled().build();
    let recording = Recording::open(&file).unwrap();
    let map = map();
    let input = exporter::ExportInput { file: std::path::Path::new("a"), recording: &recording, map: &map };
    for options in &FORMS {
        let error = exporter::export(&[input], options, Full).unwrap_err();
        assert_eq!(error.to_string(), "cannot write the output: no space left");
    }
}
