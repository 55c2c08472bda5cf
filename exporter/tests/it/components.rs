//! The component of a stalled message, and the writes that main waits for where one stops: in the report, its JSON and the
//! trace.

use std::path::Path;
use test_support::scenario;
use test_support::schema;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, Report, export};
use serde_json::{Value, json};
use trace_format::Recording;
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

/// A broadcast that hung for 6 s, by its record.
const RECORD: &str = "case receiver busy-method
main
2.0 message android.app.ActivityThread$H #113
2.001 enter com.acme.push.Push.onReceive
component
| since=102000000000
| call=receiver
| class=com.acme.push.Push
| foreground=1
| queued_ms=6100
service
7.0 stall 2.0
alive 8.0
";

/// A job that hung and ended, by main's stack.
const STACK: &str = "case job busy-method
main
2.0 message android.app.job.JobServiceEngine$JobHandler #0
9.0 end
9.5 message android.os.Handler com.acme.Next
9.501 end
samples 3.0 1.0
| com.acme.Sync.index(Sync.java:88)
| com.acme.Sync.onStartJob(Sync.java:9)
| android.app.job.JobService$1.onStartJob(JobService.java:106)
| android.app.job.JobServiceEngine$JobHandler.handleMessage(JobServiceEngine.java:141)
| android.os.Handler.dispatchMessage(Handler.java:106)
service
7.0 stall 2.0
9.0 recovered 2.0
alive 12.0
";

fn case(text: &str) -> scenario::Case {
    scenario::cases(text).0.remove(0)
}

fn report(text: &str) -> Report {
    let (recording, map) = scenario::recording(&case(text));
    Report::build(Path::new("a"), &recording, &map).unwrap()
}

/// The report's page, its lines joined.
fn page(report: &Report) -> String {
    report.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The slices of this name on main's track, in Chrome's form.
fn slices(text: &str, name: &str) -> Vec<Value> {
    let (recording, map) = scenario::recording(&case(text));
    let all = exported(&recording, &map);
    all.into_iter().filter(|event| event["name"] == name && event["tid"] == event["pid"]).collect()
}

/// The events of the trace, in Chrome's form.
fn exported(recording: &Recording<Vec<u8>>, map: &MethodMap) -> Vec<Value> {
    let mut out = Vec::new();
    let input = ExportInput { file: Path::new("a"), recording, map };
    export(&[input], &ExportOptions::new(Format::ChromeJson, 0), &mut out).unwrap();
    let trace: Value = serde_json::from_slice(&out).unwrap();
    trace["traceEvents"].as_array().or(trace.as_array()).unwrap().clone()
}

/// The arguments of a slice that begin with `component`.
fn args(slice: &Value) -> Value {
    let args = slice["args"].as_object().unwrap();
    args.iter().filter(|(key, _)| key.starts_with("component")).map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[test]
fn a_receivers_record_names_it_its_limit_and_its_wait_in_the_queue() {
    let report = report(RECORD);
    let page = page(&report);
    let wanted = "Component receiver com.acme.push.Push (foreground broadcast: the system allows 10 s; 6.1 s in main's queue, \
                  6.0 s running)";
    assert!(page.contains(wanted), "{page}");
    let json = report.to_json("a");
    let component = json!({
        "call": "receiver", "class": "com.acme.push.Push", "source": "record", "foreground": true,
        "queued_ns": 6_100_000_000_u64, "limit_foreground_ms": 10_000, "limit_background_ms": 60_000,
        "limit_extends": false,
    });
    assert_eq!(json["hang"]["component"], component);
    schema::fits(&json!({"schema": exporter::report::SCHEMA_VERSION, "reports": [json]}));
    let slices = slices(RECORD, "android.app.ActivityThread$H: #113 RECEIVER");
    let [slice] = &slices[..] else { panic!("{slices:?}") };
    assert_eq!(
        args(slice),
        json!({"component": "com.acme.push.Push", "component_call": "receiver", "component_source": "record",
            "component_limit": "foreground broadcast: the system allows 10 s", "component_queued_ms": 6100.0})
    );
}

#[test]
fn where_no_record_names_a_component_mains_stack_does() {
    let report = report(STACK);
    let component = report.hang.as_ref().unwrap().component.clone().unwrap();
    assert_eq!((&*component.class, component.by_stack, component.queued), ("com.acme.Sync", true, None));
    let page = page(&report);
    let wanted = "Component job service com.acme.Sync, onStartJob (by main's stack; the system allows 8 s; 7.0 s running)";
    assert!(page.contains(wanted), "{page}");
    let named = slices(STACK, "android.app.job.JobServiceEngine$JobHandler: #0");
    let [slice] = &named[..] else { panic!("{named:?}") };
    assert_eq!(
        args(slice),
        json!({"component": "com.acme.Sync", "component_call": "job_start", "component_source": "stack",
            "component_limit": "the system allows 8 s"})
    );
    let next = slices(STACK, "com.acme.Next");
    assert!(next.iter().all(|slice| args(slice) == json!({})), "{next:?}");
}

#[test]
fn a_message_without_a_component_says_nothing() {
    let plain = RECORD.replace("since=102000000000", "since=101000000000");
    let report = report(&plain);
    assert!(report.hang.is_some() && !report.to_string().contains("Component"), "{report}");
    assert_eq!(report.to_json("a")["hang"]["component"], Value::Null);
}

#[test]
fn a_main_that_waits_for_preferences_at_a_stop_names_the_calls_of_apply_and_no_others() {
    let (cases, _) = scenario::cases(include_str!("../data/causes.txt"));
    let applied = |name: &str| {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let (recording, map) = scenario::recording(case);
        Report::build(Path::new(name), &recording, &map).unwrap()
    };
    let report = applied("preferences-applied-before-a-service-stops");
    let wanted = "main waits in QueuedWork.waitToFinish, where an activity or service stops, for up to 3 writes of \
                  SharedPreferences: in the 2.0 s before, apply() was called at com.acme.Cart.save:88 (2×), \
                  com.acme.Settings.keep:14 (1×)";
    let evidence: Vec<_> = report.answer.cause.evidence.iter().map(|fact| &*fact.text).collect();
    assert!(evidence.contains(&wanted), "{evidence:?}");
    assert!(
        page(&report)
            .contains("for up to 3 writes of SharedPreferences: in the 2.0 s before, apply() was called at "),
        "{report}"
    );
    let json = report.to_json("a");
    let sites = json!([
        {"site": "com.acme.Cart.save:88", "method": "com.acme.Cart.save", "count": 2},
        {"site": "com.acme.Settings.keep:14", "method": "com.acme.Settings.keep", "count": 1},
    ]);
    assert_eq!(
        json["preference_writes"],
        json!({"count": 3, "from_ns": 100_000_000_000_u64, "sites": sites})
    );
    schema::fits(&json!({"schema": exporter::report::SCHEMA_VERSION, "reports": [json]}));
    // The same message hangs in a commit of its own: it waits for that, and not for the end of all writes.
    let own = applied("preferences-flushed-at-pause");
    assert_eq!(own.answer.cause.id, report.answer.cause.id);
    assert_eq!((own.preference_writes, own.answer.cause.evidence.len() > 3), (None, false));
}

/// Classes, methods and descriptors of a start.
const STARTED: &str = "1,1,com.acme.App onCreate ()V
2,1,androidx.startup.InitializationProvider onCreate ()Z
3,1,com.vendor.ads.AdsInitializer create (Landroid/content/Context;)Ljava/lang/Object;
4,1,com.vendor.ads.net.Client connect ()V
5,1,com.google.firebase.provider.FirebaseInitProvider onCreate ()Z
6,1,com.google.firebase.FirebaseApp initializeApp (Landroid/content/Context;)Lcom/google/firebase/FirebaseApp;
7,1,com.acme.Hooks onConnected ()V
8,1,com.vendor.ads.AdsInitializer create (Landroid/content/Context;)Lcom/vendor/ads/Ads;
";

/// A cold start from 100 to 1,000 ms: providers until 700, the application until 800, then an activity.
fn started() -> RecordingBuilder {
    let ms = |ms: u64| 100_000_000_000 + ms * 1_000_000;
    let start = "kind=cold\nactivity=com.acme.Main\nbegin=100100000000\napplication_end=100800000000\nend=101000000000\ngrade=good\n";
    RecordingBuilder::new(42, "com.acme:remote")
        .main("main", |t| {
            t.enter(ms(50), 2).enter(ms(150), 3).enter(ms(150), 8).enter(ms(160), 4);
            t.enter(ms(360), 7).exit(ms(400), 7);
            t.exit(ms(450), 4).exit(ms(450), 8).exit(ms(450), 3).exit(ms(500), 2);
            t.enter(ms(500), 5).enter(ms(510), 6).exit(ms(700), 6).exit(ms(700), 5);
            t.enter(ms(700), 1).enter(ms(710), 6).exit(ms(790), 6).exit(ms(800), 1);
            // Still open when the start ends, and nothing after it counts.
            t.enter(ms(900), 4).exit(ms(1_500), 4).enter(ms(1_600), 5).exit(ms(1_900), 5);
        })
        .section(SectionKind::Startup, start.as_bytes())
}

#[test]
fn a_start_divides_by_provider_initializer_and_library() {
    let recording = Recording::open(started().build()).unwrap();
    let map = MethodMap::parse(Path::new("map"), STARTED.as_bytes().to_vec()).unwrap();
    let report = Report::build(Path::new("a"), &recording, &map).unwrap();
    let json = report.to_json("a");
    let part = |kind: &str, name: &str, inclusive: u64, exclusive: u64, calls: u64| {
        let ns = |ms: u64| ms * 1_000_000;
        json!({"kind": kind, "name": name, "inclusive_ns": ns(inclusive), "exclusive_ns": ns(exclusive), "calls": calls})
    };
    let split = &json["start_split"];
    assert_eq!(
        split["components"],
        json!([
            // What was before the start does not count.
            part("provider", "androidx.startup.InitializationProvider", 400, 100, 1),
            part("initializer", "com.vendor.ads.AdsInitializer", 300, 300, 1),
            part("provider", "com.google.firebase.provider.FirebaseInitProvider", 200, 200, 1),
        ])
    );
    assert_eq!(
        split["libraries"],
        json!([
            // The app's own hook takes 40 ms of it.
            part("library", "com.vendor.ads", 400, 360, 2),
            part("library", "com.google.firebase", 280, 280, 2),
            part("library", "androidx.startup", 400, 100, 1),
        ])
    );
    schema::fits(&json!({"schema": exporter::report::SCHEMA_VERSION, "reports": [json]}));
    let page = page(&report);
    for line in [
        "In the start content provider androidx.startup.InitializationProvider: 400 ms, of it 100 ms its own",
        "initializer com.vendor.ads.AdsInitializer: 300 ms",
        "library com.vendor.ads: 400 ms, of it 360 ms its own",
    ] {
        assert!(page.contains(line), "{line:?} is not in {page}");
    }
    let verbose = report.verbose().to_string();
    assert!(verbose.contains("360.0 ms its own  library com.vendor.ads (2 calls)"), "{verbose}");
    let slices = exported(&recording, &map);
    let launch = slices.iter().find(|event| event["name"] == "launchingActivity#1").unwrap();
    let args = &launch["args"];
    assert_eq!(args["start_component_1"], "initializer com.vendor.ads.AdsInitializer: 300 ms");
    assert_eq!(args["start_library_0"], "library com.vendor.ads: 400 ms, of it 360 ms its own");
    // Without a map nothing is known.
    let report = Report::build(Path::new("a"), &recording, &MethodMap::empty()).unwrap();
    assert_eq!(report.start_split, None);
}
