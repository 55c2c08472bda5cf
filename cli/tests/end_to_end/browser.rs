//! The pages in a real browser: HTML reports, and the Perfetto UI as `anrscope open` shows it. The scripts in
//! `scripts/browser` drive a headless Chromium and say what they look at.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::end_to_end::{number, test_data};
use test_support::engine;
use test_support::program;
use test_support::scenario;
use test_support::temp_dir::TempDir;

fn script(name: &str, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/browser").join(name);
    let run = Command::new("node").arg(script).args(arguments).output();
    run.expect("node: run scripts/test, which installs it")
}

/// The real UI.
fn perfetto() -> String {
    let dist = std::env::var_os("ANRSCOPE_PERFETTO")
        .map_or_else(|| test_data("perfetto/web_dist"), std::path::PathBuf::from);
    dist.to_str().unwrap().to_owned()
}

fn demo(directory: &TempDir) -> String {
    program::run(["demo", "--stall", "7", "--out", &directory.name("demo")]);
    directory.name("demo/demo.anrscope")
}

/// The HTML report of a recording, beside it.
fn page(recording: &str, more: &[&str]) -> String {
    let shown = program::run([&["report", recording, "--format", "html"], more].concat());
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let page = Path::new(recording).with_extension("html").to_str().unwrap().to_owned();
    std::fs::write(&page, shown.stdout).unwrap();
    page
}

/// What was seen of each page.
fn inspect(pages: &[&str]) -> Vec<Value> {
    let dist = perfetto();
    let shown = script("report.mjs", &[&[dist.as_str()], pages].concat());
    let stderr = String::from_utf8_lossy(&shown.stderr);
    assert!(shown.status.success(), "{stderr}");
    let seen: Value = serde_json::from_slice(&shown.stdout).unwrap_or_else(|e| panic!("{e}: {shown:?}"));
    seen["pages"].as_array().unwrap().clone()
}

/// At 390, 820 and 1440 px, in light and dark: nothing is too wide, hard to read or hard to hit, nothing is fetched and nothing
/// complains, the charts have their slices and a time axis, taps, clicks and keys tell them. A hang is red and has the owner's stack
/// beside main's; nothing hung is neither. And the button gives the real UI the trace.
#[test]
fn html_reports_can_be_read_anywhere_and_give_their_trace_to_perfetto() {
    let directory = TempDir::new();
    let recording = demo(&directory);
    let mut pages = vec![page(&recording, &[])];
    let (cases, _) = scenario::cases(include_str!("../../../exporter/tests/data/causes.txt"));
    for name in ["storm-of-one-handler", "busy-many-small-calls", "nothing-hung"] {
        let (bytes, map) = scenario::built(cases.iter().find(|case| case.name == name).unwrap());
        let recording = directory.file(&format!("{name}.anrscope"), bytes);
        pages.push(page(&recording, &["--method-map", &directory.file(&format!("{name}.map"), map)]));
    }
    let seen = inspect(&pages.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(seen.len(), pages.len());
    for page in &seen {
        assert_eq!(page["problems"], serde_json::json!([]), "{page:#}");
        assert_eq!(page["looks"], 6, "{page:#}");
        // Messages of a millisecond are thinner than a pixel.
        let wide = page["page"].as_str().is_some_and(|file| file.contains("demo") || file.contains("busy"));
        let (charts, slices) = (page["charts"].as_u64().unwrap(), page["slices"].as_u64().unwrap());
        assert!(if wide { charts == 2 && slices >= 18 } else { charts == 1 }, "{page:#}");
    }
    let shape = |at: usize, key: &str| seen[at][key].clone();
    for page in &seen {
        assert_eq!(page["axes"], page["charts"], "{page:#}");
    }
    let headline = shape(0, "headline");
    assert!(headline.as_str().unwrap().starts_with("ANR in com.example.shop (pid "), "{headline}");
    assert_eq!(
        (shape(0, "alarming"), shape(0, "beside")),
        (true.into(), true.into()),
        "main beside the owner"
    );
    assert!(shape(3, "headline").as_str().unwrap().starts_with("No hang in "), "{:#}", seen[3]);
    assert_eq!((shape(3, "alarming"), shape(3, "beside")), (false.into(), false.into()));
    let arrived = &seen[0]["arrived"];
    assert!(arrived["title"].as_str().unwrap().starts_with("com.example.shop"), "{arrived}");
    let trace = directory.name("demo.pftrace");
    program::run(["export", &recording, "-o", &trace]).ok(&["slices"]);
    let rows = engine::rows(Path::new(&trace), "select count(*) as n from slice");
    assert_eq!(number(arrived, "slices"), number(&rows[0], "n"));
}

#[test]
fn a_damaged_page_is_detected() {
    let directory = TempDir::new();
    let (cases, _) = scenario::cases(include_str!("../../../exporter/tests/data/causes.txt"));
    let case = cases.iter().find(|case| case.name == "busy-json-parse").unwrap();
    let recording = directory.file("a.anrscope", scenario::built(case).0);
    let good = std::fs::read_to_string(page(&recording, &[])).unwrap();
    let fault = "<p style='color:#888;background:#999'>grey</p><div style='width:3000px'>wide</div>\
                 <script>console.error('spoiled'); fetch('https://example.com/x').catch(() => {});</script></body>";
    let bad = good.replace("</body>", fault).replace("default-src 'none'; ", "");
    assert_ne!(good.len() + fault.len(), bad.len() + "</body>".len(), "the policy is gone");
    let seen = inspect(&[&directory.file("bad.html", bad)]);
    let problems = seen[0]["problems"].to_string();
    for problem in
        ["scrolls sideways", "console.error: spoiled", "request: https://example.com/x", "contrast 1."]
    {
        for look in
            ["phone light", "phone dark", "tablet light", "tablet dark", "desktop light", "desktop dark"]
        {
            assert!(
                problems.contains(&format!("{look}: {problem}"))
                    || problems.contains(&format!("{look}: error: {problem}")),
                "{look}: {problem} is not in {problems}"
            );
        }
    }
}

#[test]
fn open_shows_the_hang_in_the_real_ui_in_its_expanded_process() {
    let directory = TempDir::new();
    let recording = demo(&directory);
    let program = env!("CARGO_BIN_EXE_anrscope");
    let shown = script("open.mjs", &[program, &recording, &perfetto(), "CheckoutActivity$PayTask"]);
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let printed = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(
        printed.lines().collect::<Vec<_>>(),
        [
            "the ANRs are pinned, and nothing else",
            "main is in the expanded process",
            "the frames are, too",
            "a tab has the message that hung",
            "its ANR with the cause is selected and in view",
            "the page has no error of the trace to tell",
        ]
    );
}
