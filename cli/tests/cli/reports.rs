//! The forms of a report, `diff`, `retrace`, groups and the rows of many recordings.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use trace_format::MapId;
use trace_format::event::{Event, Message};
use trace_format::synth::RecordingBuilder;
use trace_format::time::MS;

use test_support::program::run;
use test_support::scenario;
use test_support::schema;
use test_support::temp_dir::TempDir;

const S: u64 = 1_000_000_000;
const MAP: &str = "1,1,a.Shop load ()V\n2,1,a.Shop draw ()V\n";

/// Thirty messages of `took` ms in `a.Shop.load`, then a hang of `hang` s in `a.Shop.draw`.
fn recording(took: u64, hang: u64) -> Vec<u8> {
    recording_of(MapId::UNKNOWN, [1, 2], took, hang)
}

/// The same of the build with this map, where the methods have these numbers.
fn recording_of(build: MapId, [load, draw]: [u32; 2], took: u64, hang: u64) -> Vec<u8> {
    let mut b = RecordingBuilder::new(42, "com.example").map_id(build);
    let (target, callback) = (b.text("android.os.Handler"), b.text("a.Shop$Load"));
    b.main("main", |t| {
        for i in 0..30 {
            let at = S + i * 300 * MS;
            t.event(at, Event::MessageBegin(Message { target, callback, ..Message::default() }));
            t.enter(at, load).exit(at + took * MS + i * 1_000, load);
            t.event(at + took * MS + i * 1_000, Event::MessageEnd);
        }
        t.event(11 * S, Event::MessageBegin(Message { target, what: 7, ..Message::default() }))
            .enter(11 * S, draw);
    })
    .last_alive((11 + hang) * S)
    .build()
}

fn of(directory: &TempDir, name: &str, took: u64, hang: u64) -> String {
    directory.file("methodMapping.txt", MAP);
    directory.file(name, recording(took, hang))
}

#[test]
fn a_hang_is_reported_in_each_format() {
    let directory = TempDir::new();
    let input = of(&directory, "app.anrscope", 50, 6);
    let form = |form: &str| {
        let shown = run(["report", &input, "--format", form]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown.stdout
    };
    let json: Value = serde_json::from_str(&form("json")).unwrap();
    let report = &json["reports"][0];
    assert_eq!(
        (&report["hung"], report["answer"]["root"]["name"].as_str()),
        (&Value::Bool(true), Some("a.Shop.draw"))
    );
    let issues = form("matrix");
    let details: Vec<Value> =
        issues.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["detail"].clone()).collect();
    assert_eq!(details, ["LAG", "ANR"]);
    let page = form("html");
    assert!(page.starts_with("<!doctype html>") && page.contains("a.Shop.draw") && !page.contains("@DATA@"));
    // Nothing is fetched: the only address is the one that the button opens.
    for part in page.split("https://").skip(1) {
        assert!(part.starts_with("ui.perfetto.dev"), "{}", &part[..40]);
    }
    assert!(!page.contains("http://") && !page.contains("src="));
    run(["report", &input, &input, "--format", "html"]).failed(1, &["an HTML page holds one recording"]);
}

/// Recorded files and every made-up case, as the program prints them.
#[test]
fn the_json_of_forty_recordings_matches_the_schema() {
    let directory = TempDir::new();
    let (cases, _) = scenario::cases(include_str!("../../../exporter/tests/data/causes.txt"));
    let mut files: Vec<String> = cases
        .iter()
        .map(|case| directory.file(&format!("{}.anrscope", case.name), scenario::built(case).0))
        .collect();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exporter/tests/data");
    for name in ["app-life.anrscope", "shop.anrscope"] {
        let packed = fs::File::open(data.join(format!("{name}.gz"))).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        files.push(directory.file(name, bytes));
    }
    assert!(files.len() >= 40, "{}", files.len());
    let shown = run([&["report".to_owned(), "--format".to_owned(), "json".to_owned()], &files[..]].concat());
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["reports"].as_array().unwrap().len(), files.len());
    schema::fits(&document);
}

#[test]
fn a_name_from_a_recording_cannot_break_out_of_the_page() {
    let directory = TempDir::new();
    let bytes = RecordingBuilder::new(42, "</script><script>alert(1)//<!--").main("main", |t| {
        t.enter(S, 1);
    });
    let input = directory.file("app.anrscope", bytes.build());
    let page = run(["report", &input, "--format", "html"]).stdout;
    assert_eq!(page.matches("<script").count(), 2, "ours");
    assert!(!page.contains("alert(1)//<!--"));
}

#[test]
fn matrix_s_data_are_read_as_recordings() {
    let directory = TempDir::new();
    directory.file("methodMapping.txt", MAP);
    let issue = r#"{"tag":"Trace_EvilMethod","detail":"NORMAL","cost":1006,"stack":"0,1048574,1,1006\n1,1,1,1000\n","time":1700000000000}"#;
    let input = directory.file("issue.json", issue);
    let shown = run(["export", &input, "-o", &directory.name("t.json"), "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(fs::read_to_string(directory.name("t.json")).unwrap().contains("a.Shop.load"));
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(parsed(&run(["report", &input, "--format", "matrix"]).stdout), parsed(issue));
    let word = |entered: u64, id: u64, ms: u64| ((entered << 63) | (id << 43) | ms).to_be_bytes();
    let ring = [word(1, 1, 5), word(0, 1, 905)].concat();
    let ring = directory.file("ring.bin", ring);
    let shown = run(["report", &ring]);
    assert!(shown.stdout.contains("made of 2 words of Matrix's ring, big-endian"), "{shown:?}");
    let bad = directory.file("bad.json", r#"{"tag":"Trace_EvilMethod","stack":"0,1\n"}"#);
    run(["report", &bad]).failed(1, &["bad.json: report 1, line 1 of its stack"]);
}

#[test]
fn a_build_that_became_slower_fails_the_check_and_one_that_did_not_passes() {
    let directory = TempDir::new();
    let (fast, slow) = (of(&directory, "fast.anrscope", 50, 1), of(&directory, "slow.anrscope", 80, 1));
    let shown = run(["diff", &fast, &slow, "--fail-above", "20", "--json"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(
        shown.stderr.contains("slower: method a.Shop.load: median 50.014 -> 80.014 ms (+60 %)"),
        "{shown:?}"
    );
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(json["rows"][0]["count"], serde_json::json!([30, 30]));
    assert_eq!(run(["diff", &fast, &slow, "--fail-above", "70"]).code, Some(0));
    assert_eq!(run(["diff", &slow, &fast, "--fail-above", "20"]).code, Some(0), "faster is no failure");
    let same = run(["diff", &fast, &fast, "--fail-above", "0"]);
    assert!(
        same.code == Some(0) && same.stdout.contains("message android.os.Handler: a.Shop$Load"),
        "{same:?}"
    );
}

#[test]
fn directories_are_grouped_and_broken_recordings_are_reported_and_skipped() {
    let directory = TempDir::new();
    for i in 0..3 {
        of(&directory, &format!("{i}.anrscope"), 50, 6 + i);
    }
    directory.file("broken.anrscope", b"ANRSCOPE".repeat(9));
    let (root, target) = (directory.path().display().to_string(), directory.name("fleet.jsonl"));
    let shown = run(["report", "--group", &root, "--rows", &target, "--format", "json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("broken.anrscope") && shown.stderr.contains("3 rows ->"), "{shown:?}");
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    let group = &json["groups"][0];
    assert_eq!((json["unread"].as_u64(), group["count"].as_u64()), (Some(1), Some(3)), "{json}");
    assert_eq!((group["root"].as_str(), group["median_ns"].as_u64()), (Some("a.Shop.draw"), Some(7 * S)));
    let lines = fs::read_to_string(&target).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let hangs: Vec<_> = rows.iter().map(|row| row["hang_ns"].as_u64().unwrap() / S).collect();
    assert_eq!(hangs, [6, 7, 8]);
    assert!(rows.iter().all(|row| row["root"] == "a.Shop.draw" && row["owner"].is_null()), "{lines}");
    // The name's ending chooses the form, in either case.
    let sheet = directory.name("fleet.CSV");
    assert_eq!(run(["report", &root, "--rows", &sheet]).stdout, "", "rows alone");
    let text = fs::read_to_string(&sheet).unwrap();
    assert!(text.starts_with("\"file\",\"process\",\"pid\",") && text.lines().count() == 4, "{text}");
    assert!(run(["report", "--group", &root]).stdout.contains("3 recordings, in 3 of them main hung"));
}

#[test]
fn each_recording_is_read_with_the_map_of_its_build_out_of_a_directory() {
    let directory = TempDir::new();
    // One build has a method more, and the others have other numbers for it. The third has no map.
    let lines = [
        ["1,1,a.Shop load ()V", "2,1,a.Shop draw ()V", "3,1,a.Shop z ()V"],
        ["1,1,a.Shop a ()V", "2,1,a.Shop load ()V", "3,1,a.Shop draw ()V"],
        ["1,1,a.Other b ()V", "2,1,a.Other draw ()V", "3,1,a.Other c ()V"],
    ];
    let ids = lines.map(MapId::from_lines);
    for (build, (id, numbers)) in ids.into_iter().zip([[1, 2], [2, 3], [1, 2]]).enumerate() {
        for copy in 0..2 {
            directory.file(
                &format!("all/{build}-{copy}.anrscope"),
                recording_of(id, numbers, 50, 6 + build as u64),
            );
        }
    }
    for (name, lines) in ["maps/1.0.txt", "maps/old/methodMapping.txt"].into_iter().zip(&lines) {
        directory.file(name, format!("# {name}\n{}\n", lines.join("\n")));
    }
    let (all, maps, target) = (directory.name("all"), directory.name("maps"), directory.name("fleet.ndjson"));
    let grouped = |arguments: &[&str]| {
        let shown = run(["report", "--group", &all, "--json", "--quiet"].iter().chain(arguments));
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let json: Value = serde_json::from_str(&shown.stdout).unwrap();
        let group =
            |group: &Value| (group["root"].as_str().unwrap().to_owned(), group["count"].as_u64().unwrap());
        let mut groups: Vec<_> = json["groups"].as_array().unwrap().iter().map(group).collect();
        groups.sort();
        (groups, shown.stderr)
    };
    let (groups, stderr) = grouped(&["--method-map", &maps, "--rows", &target]);
    assert_eq!(groups, [("a.Shop.draw".to_owned(), 4), (format!("method 2 of build {}", ids[2]), 2)]);
    // Once for the build.
    assert_eq!(stderr.matches(&format!("has the id {} of ", ids[2])).count(), 1, "{stderr}");
    // By number no two builds are one group.
    let mut by_number = vec![
        (format!("method 2 of build {}", ids[0]), 2),
        (format!("method 3 of build {}", ids[1]), 2),
        (format!("method 2 of build {}", ids[2]), 2),
    ];
    by_number.sort();
    assert_eq!(grouped(&[]).0, by_number);
    // Wherever a map is taken.
    for build in ["0", "1"] {
        let file = directory.name(&format!("all/{build}-0.anrscope"));
        assert!(run(["report", &file, "--method-map", &maps]).ok(&[]).contains("a.Shop.draw"));
        let trace = directory.name("t.json");
        run(["export", &file, "-o", &trace, "--method-map", &maps]).ok(&[" -> "]);
        assert!(fs::read_to_string(&trace).unwrap().contains("a.Shop.draw"));
    }
    let [before, after] = ["0", "1"].map(|build| directory.name(&format!("all/{build}-0.anrscope")));
    let compared = run(["diff", &before, &after, "--before-map", &maps, "--after-map", &maps, "--json"]);
    let compared: Value = serde_json::from_str(&compared.ok(&[])).unwrap();
    let rows = compared["rows"].as_array().unwrap();
    let load = rows.iter().find(|row| row["name"] == "a.Shop.load").unwrap();
    assert!(!load["q"].is_null(), "it is known on both sides: {load}");
}

#[test]
fn names_are_restored_in_any_text() {
    let directory = TempDir::new();
    let map = directory.file("methodMapping.txt", MAP);
    let mapping = directory.file("mapping.txt", "com.acme.Cart -> a.b:\n    1:1:void add(int):20:20 -> c\n");
    let text = directory.file("text", "boom a.b\n  at a.b.c(SourceFile:1)\n0,1,1,30\n");
    let shown = run(["retrace", &text, "--mapping", &mapping, "--method-map", &map]);
    let expected = "boom com.acme.Cart\n  at com.acme.Cart.add(Cart.java:20)\n0,1,1,30  a.Shop.load\n";
    assert_eq!(shown.ok(&[]), expected);
    assert_eq!(run(["retrace", "--id", "2", "--method-map", &map]).ok(&[]), "a.Shop.draw ()V\n");
    run(["retrace", "--id", "9", "--method-map", &map]).failed(1, &["no method of this map has the id 9"]);
}
