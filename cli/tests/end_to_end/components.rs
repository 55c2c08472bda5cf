//! Which component main hung in, and whose writes it waits for where one stops: the program's report of a recording that
//! the library made on fakes of Android's classes.

use serde_json::{Value, json};

use crate::end_to_end::life::library;
use test_support::android::{Case, Run};
use test_support::program;
use test_support::temp_dir::TempDir;

/// Main hangs until its ANR is reported.
const SOON: [&str; 5] = ["slow_ms=60000", "lag_ms=0", "anr_ms=800", "sample_ms=50", "sample_from_ms=100"];

/// The report of a run at this level, as a page on one line and as JSON.
fn reported(sdk: u32, what: &str, call: &str, directory: &TempDir) -> (String, Value) {
    let library = library(directory);
    let case = Case::new("ComponentLife").named(&format!("program-{call}-{sdk}")).sdk(sdk).library(&library);
    // Of no known build: the map below is taken.
    let case = case.property("anrscope.mapId=0").word(what).word(call).word("ANR");
    let run: Run = SOON.iter().fold(case, |case, option| case.word(option)).run();
    assert!(run.lines("ended").eq(["true"]), "{}", run.printed);
    let map = directory.name("methodMapping.txt");
    std::fs::write(&map, "301,1,com.example.Cart save ()V\n302,1,com.example.Settings keep ()V\n").unwrap();
    let files = run.files();
    let recording = files[0].to_str().unwrap();
    let page = program::run(["report", "--method-map", &map, recording]);
    assert_eq!(page.code, Some(0), "{page:?}");
    let shown = program::run(["report", "--format", "json", "--method-map", &map, recording]);
    let mut json: Value = serde_json::from_str(&shown.stdout).unwrap();
    (page.stdout.split_whitespace().collect::<Vec<_>>().join(" "), json["reports"][0].take())
}

#[test]
fn the_report_names_the_receiver_that_main_hung_in() {
    let directory = TempDir::new();
    let (page, json) = reported(34, "113", "background", &directory);
    // A JVM has no API level, so the words are those of all levels.
    let wanted =
        "Component receiver com.example.shop.PushReceiver (background broadcast: the system allows 60 s; ";
    assert!(page.contains(wanted), "{page}");
    let component = &json["hang"]["component"];
    assert_eq!((&component["source"], &component["foreground"]), (&json!("record"), &json!(false)));
    assert!(component["queued_ns"].as_u64() >= Some(50_000_000), "{component}");
}

#[test]
fn the_report_names_a_registered_receiver_by_mains_stack() {
    let directory = TempDir::new();
    for sdk in [25, 26] {
        let (page, json) = reported(sdk, "0", "registered", &directory);
        let wanted = "Component receiver registered by the app dev.anrscope.ComponentLife$Push (by main's stack; the \
                      system allows 10 s for a foreground broadcast, 60 s for a background one; ";
        assert!(page.contains(wanted), "{page}");
        assert_eq!(json["hang"]["component"]["call"], "registered_receiver");
    }
}

#[test]
fn a_service_that_stops_waits_for_writes_and_the_report_names_their_calls() {
    let directory = TempDir::new();
    let (page, json) = reported(34, "116", "applied", &directory);
    let wanted = "for up to 3 writes of SharedPreferences: in the ";
    assert!(page.contains(wanted), "{page}");
    let sites = json!([
        {"site": "com.example.Cart.save:88", "method": "com.example.Cart.save", "count": 2},
        {"site": "com.example.Settings.keep:14", "method": "com.example.Settings.keep", "count": 1},
    ]);
    assert_eq!(json["preference_writes"]["sites"], sites, "{json:#}");
    assert_eq!(
        (&json["answer"]["cause"]["kind"], json["preference_writes"]["count"].as_u64()),
        (&json!("io-wait"), Some(3))
    );
}
