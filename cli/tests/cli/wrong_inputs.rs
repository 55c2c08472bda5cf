//! Wrong inputs, each with its exit status and the sentence with the cure: a row each in `wrong_inputs.txt`.

use std::fs;
use std::io::Write as _;

use trace_format::synth::RecordingBuilder;

use test_support::program::{Shown, command};
use test_support::temp_dir::TempDir;

const DUMP: &str = "\n----- pid 42 at 2026-01-01 00:00:00.000 -----\nCmd line: com.example\n\n\"main\" prio=5 tid=1 Sleeping\n  at \
                    java.lang.Thread.sleep(Native method)\n  at com.example.Main.run(Main.java:7)\n";

/// A file of each kind.
fn files(directory: &TempDir) {
    let recording = |pid| {
        let builder = RecordingBuilder::new(pid, "com.example");
        let builder = builder.main("main", |t| {
            t.enter(2_000, 1).enter(3_000, 2).exit(4_000, 2).exit(5_000, 1);
        });
        builder.build()
    };
    directory.file("app.anrscope", recording(42));
    directory.file("copy.anrscope", recording(42));
    directory.file("other.anrscope", recording(43));
    directory.file("many/a.anrscope", recording(44));
    directory.file("many/b.anrscope", recording(45));
    fs::create_dir(directory.name("none")).unwrap();
    directory.file("dump.txt", DUMP);
    directory.file("map.txt", "1,1,com.example.Main run ()V\n");
    directory.file("mapping.txt", "com.example.Main -> a.b:\n    void run() -> a\n");
    directory.file("text.txt", "nothing of interest\n".repeat(100));
    directory.file("nothing", b"");
    directory.file("trace.json", "{\"traceEvents\":[]}");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"{\"traceEvents\":[]}").unwrap();
    directory.file("trace.json.gz", packed.finish().unwrap());
    super::instrument::jar(directory, "app.jar", 52);
    let made = run(directory, "export app.anrscope -o trace.pftrace --quiet");
    assert_eq!(made.code, Some(0), "{made:?}");
}

fn run(directory: &TempDir, arguments: &str) -> Shown {
    command().current_dir(directory.name(".")).args(arguments.split(' ')).output().unwrap().into()
}

#[test]
fn each_wrong_input_has_its_exit_status_and_cure_and_leaves_no_file() {
    let directory = TempDir::new();
    files(&directory);
    let rows: Vec<Vec<&str>> = include_str!("wrong_inputs.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.splitn(3, " | ").collect())
        .collect();
    assert!(rows.len() >= 60, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let [status, arguments, sentence] = row[..] else { panic!("{row:?}") };
        let before = directory.listing();
        let Shown { code, stdout, stderr } = run(&directory, arguments);
        let is_right = code == status.parse().ok()
            && stdout.is_empty()
            && stderr.contains("error: ")
            && stderr.contains(sentence)
            && !stderr.contains("panicked");
        if !is_right || before != directory.listing() {
            wrong.push(format!("anrscope {arguments}\n  status {code:?}, not {status}: {stderr}{stdout}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_file_alone_runs_the_command_that_takes_it() {
    let directory = TempDir::new();
    files(&directory);
    for (file, command) in
        [("app.anrscope", "report app.anrscope"), ("dump.txt", "dump dump.txt"), ("many", "report many")]
    {
        let given = run(&directory, file);
        assert_eq!(given.code, Some(0), "{given:?}");
        assert_eq!(given, run(&directory, command));
    }
    // Options follow the file, and the newest of a directory is named.
    assert_eq!(run(&directory, "app.anrscope --json"), run(&directory, "report app.anrscope --format json"));
    assert!(run(&directory, "many").stderr.contains("the newest of 2 recordings"));
}

#[test]
fn a_directory_that_is_created_for_an_output_is_reported() {
    let directory = TempDir::new();
    files(&directory);
    let export = "export app.anrscope -o new/t.pftrace";
    assert!(run(&directory, export).stderr.contains("-> new/t.pftrace (in a new directory)\n"));
    assert!(run(&directory, export).stderr.contains("-> new/t.pftrace\n"));
    let merge = run(&directory, "merge app.anrscope other.anrscope -o newer/m.tar");
    assert!(merge.stderr.contains("-> newer/m.tar (in a new directory)\n"), "{merge:?}");
}

#[test]
fn a_report_is_written_to_a_file_whole_or_not_at_all() {
    let directory = TempDir::new();
    files(&directory);
    for format in ["text", "json", "html", "matrix"] {
        let shown = run(&directory, &format!("report app.anrscope --format {format} --out page --quiet"));
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");
        let page = fs::read_to_string(directory.name("page")).unwrap();
        assert_eq!(page, run(&directory, &format!("report app.anrscope --format {format}")).stdout);
    }
    let before = directory.listing();
    assert_eq!(run(&directory, "report dump.txt -o page").code, Some(1));
    assert!(before == directory.listing());
}

#[test]
fn out_and_json_work_alike_in_every_command_that_prints_a_page() {
    let directory = TempDir::new();
    files(&directory);
    // Without a map beside them no method is known, and there is nothing to plan.
    directory.file("many/methodMapping.txt", "1,1,com.example.Main run ()V\n2,1,com.example.Main step ()V\n");
    let page = |arguments: &str| {
        let shown = run(&directory, arguments);
        assert_eq!(shown.code, Some(0), "{arguments}: {shown:?}");
        shown.stdout
    };
    for command in [
        "report app.anrscope",
        "report --group many",
        "dump dump.txt",
        "dump --group dump.txt",
        "diff app.anrscope other.anrscope",
        "plan many",
    ] {
        for form in ["", " --json"] {
            let printed = page(&format!("{command}{form}"));
            assert_eq!(page(&format!("{command}{form} -o page")), "", "{command}");
            assert_eq!(fs::read_to_string(directory.name("page")).unwrap(), printed, "{command}");
            let parsed = serde_json::from_str::<serde_json::Value>(&printed);
            assert_eq!(parsed.is_ok(), !form.is_empty(), "{command}: {printed}");
        }
    }
    let retraced = page("retrace text.txt --mapping mapping.txt");
    assert_eq!(page("retrace text.txt --mapping mapping.txt --out page"), "");
    assert_eq!(fs::read_to_string(directory.name("page")).unwrap(), retraced);
}
