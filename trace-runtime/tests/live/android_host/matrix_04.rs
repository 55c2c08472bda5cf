//! What only Matrix 0.4 reports: ENTER with its views, FULL, and its numbers of a start.

use serde_json::{Value, json};

use test_support::android::{Case, recorded_issues};

/// Reports of this detail.
fn of_detail(issues: &[Value], detail: &str) -> Vec<Value> {
    issues.iter().filter(|issue| issue["detail"] == detail).cloned().collect()
}

fn reports(name: &str, sdk: u32, words: &[&str]) -> Vec<Value> {
    let case = Case::new("AppMatrix04").named(&format!("{name}-{sdk}")).sdk(sdk);
    recorded_issues(&words.iter().fold(case, |case, word| case.word(word)).run().recording())
}

#[test]
fn a_page_that_opens_slowly_is_reported_with_the_depth_and_number_of_its_views() {
    for sdk in [21, 34] {
        let issues = reports("enter", sdk, &["older_methods=1"]);
        let enter = of_detail(&issues, "ENTER");
        assert_eq!(enter.len(), 1, "{issues:#?}");
        let enter = &enter[0];
        let home = "dev.anrscope.AppScript$Home";
        assert_eq!(enter["viewInfo"], json!({"viewDeep": 5, "viewCount": 9, "activity": home}));
        assert_eq!((&enter["tag"], &enter["subType"]), (&json!("Trace_EvilMethod"), &json!(-1)));
        let cost = enter["cost"].as_u64().unwrap();
        assert!((3_300..5_000).contains(&cost), "{enter}");
        assert!(enter["stack"].as_str().unwrap().starts_with("0,11,1,"), "no message is a line: {enter}");
        // The methods' times are real, so any of them may be the longest.
        assert_eq!(enter["stackKey"].as_str().unwrap().lines().next(), Some("11"));
    }
}

#[test]
fn quick_pages_or_a_disabled_option_report_nothing() {
    assert_eq!(of_detail(&reports("off", 34, &["older_methods=0"]), "ENTER"), [Value::Null; 0]);
    let issues = reports("quick", 34, &["older_methods=1", "enter_ms=60000"]);
    assert_eq!(of_detail(&issues, "ENTER"), [Value::Null; 0]);
    let issues = reports("all", 34, &["older_methods=1", "enter_ms=1", "startup=0", "touch=0"]);
    let activities: Vec<_> =
        of_detail(&issues, "ENTER").iter().map(|issue| issue["viewInfo"]["activity"].clone()).collect();
    assert_eq!(activities, ["dev.anrscope.AppScript$Home", "dev.anrscope.AppScript$Detail"]);
}

#[test]
fn the_matrix_04_start_has_between_and_splash_costs() {
    let old = |issues: &[Value]| -> Vec<Value> {
        let of_start = issues.iter().filter(|issue| issue["tag"] == "Trace_StartUp");
        of_start.filter(|issue| issue.get("stage_between_app_and_activity").is_some()).cloned().collect()
    };
    let issues = reports("splash", 34, &["older_startup=1", "splash"]);
    let reported = old(&issues);
    assert_eq!(reported.len(), 1, "once a process: {issues:#?}");
    let number = |key: &str| reported[0][key].as_u64().unwrap();
    assert_eq!(reported[0]["scene"], "dev.anrscope.AppScript$Home");
    assert!(number("application_create") >= 400, "{}", reported[0]);
    assert_eq!(reported[0]["is_warm_start_up"], false);
    // From the splash page's focus to that of the page after it, which took 3,200 ms to create.
    assert!((3_900..6_000).contains(&number("splash_activity_duration")), "{}", reported[0]);
    let parts = ["application_create", "stage_between_app_and_activity", "first_activity_create"];
    let all: u64 = parts.into_iter().map(number).sum();
    assert!(all.abs_diff(number("startup_duration")) <= 2, "{}", reported[0]);
    let issues = reports("no-splash", 34, &["older_startup=1"]);
    assert_eq!(old(&issues)[0]["splash_activity_duration"], 0);
    assert_eq!(old(&reports("no-older", 34, &["splash"])), [Value::Null; 0]);
}

#[test]
fn a_message_that_fills_mains_ring_is_reported_as_full() {
    let run = |option: &str| {
        let case = Case::new("FullLife").named(option).property("anrscope.mainWords=16384").word(option);
        recorded_issues(&case.run().recording())
    };
    let issues = run("1");
    let full = of_detail(&issues, "FULL");
    assert_eq!(full.len(), 1, "{issues:#?}");
    assert_eq!((&full[0]["stackKey"], &full[0]["subType"]), (&json!("TypeFull"), &json!(-1)));
    // The call whose begin is gone is around those that are left; 7 of the ring's 8 parts.
    let lines: Vec<Vec<u64>> = full[0]["stack"].as_str().unwrap().lines().map(numbers).collect();
    assert_eq!(lines.iter().map(|line| (line[0], line[1])).collect::<Vec<_>>(), [(0, 300), (1, 301)]);
    assert!((5_000..8_192).contains(&lines[1][2]), "{lines:?}");
    assert_eq!(of_detail(&run("0"), "FULL"), [Value::Null; 0]);
}

fn numbers(line: &str) -> Vec<u64> {
    line.split(',').map(|number| number.parse().unwrap()).collect()
}
