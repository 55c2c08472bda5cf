//! Main hangs in each place from which Android calls an app. A hang is detected by LAG, the timer's ANR, stack samples, and a report with the right unit
//! and method.

use std::path::Path;

use serde_json::Value;
use trace_format::MapId;
use trace_format::section::SectionKind;

use crate::android_host::work::{Line, Options, Work};
use crate::steps;
use test_support::android::{Case, Run, recorded_issues, sections};
use test_support::program;

/// Methods of `com.example.shop.Store` in the cases.
const METHODS: [&str; 2] =
    ["310,9,com.example.shop.Store onEvent (J)V", "311,10,com.example.shop.Store load (J)V"];

/// The innermost of them, in which main sleeps.
const METHOD: &str = "com.example.shop.Store.load";

/// Each unit by its word, and what its slice is called. Nothing sees a descriptor's listener or a popup's touch but main's own calls: they have the name of
/// the outermost one.
const UNITS: [(&str, &str); 8] = [
    ("touch", "android.view.InputEventReceiver: MotionEvent ACTION_DOWN"),
    ("key", "android.view.InputEventReceiver: KeyEvent ACTION_DOWN"),
    ("idle", "android.os.MessageQueue$IdleHandler: com.example.shop.Preload"),
    ("fd", "com.example.shop.Store.onEvent"),
    ("dialog", "android.view.InputEventReceiver: MotionEvent ACTION_DOWN"),
    ("popup", "com.example.shop.Store.onEvent"),
    ("message", "com.example.shop.Pay"),
    ("frame", "Choreographer"),
];

pub(crate) fn works(options: &Options) -> Vec<Work> {
    let of_level = |level: u32| UNITS.into_iter().map(move |(name, _)| Work { level, name, run: hang });
    options.levels.iter().copied().flat_map(of_level).collect()
}

fn hang(options: &Options, level: u32, name: &'static str) -> Line {
    let case = Case::new("HangLife").named(&format!("{level}-{name}")).sdk(level).library(&options.library);
    let case = case.property(&format!("anrscope.mapId={}", MapId::from_lines(METHODS)));
    let case = case.word(name).word(&options.hang_ms.to_string());
    let run = options.limits.iter().fold(case, |case, option| case.word(option)).lenient().run();
    judge(&run, name, options.hang_ms)
}

fn judge(run: &Run, name: &str, hang_ms: u64) -> Line {
    let recording = run.recording();
    let issues = recorded_issues(&recording);
    let has = |detail: &str| issues.iter().any(|issue| issue["detail"] == detail);
    let lag = has("LAG") || name == "idle" && has("LAG_IDLE_HANDLER");
    let anr = has("ANR");
    // Each begins with its time; a stack that is as the one before is not written again.
    let samples: usize = sections(&recording, SectionKind::StackSamples)
        .iter()
        .map(|section| String::from_utf8_lossy(section).into_owned())
        .filter(|text| text.contains("com.example.shop.Store.load("))
        .map(|text| text.lines().filter(|line| line.starts_with('@')).count())
        .sum();
    let file = run.files().remove(0);
    let report = steps::report(&file, Some(Path::new(&map_of(&file))));
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let (unit, method) = (text(&report["hang"]["unit"]["name"]), text(&report["hang"]["method"]));
    let (_, expected) = UNITS.into_iter().find(|(unit, _)| *unit == name).unwrap();
    let long = report["hang"]["duration_ns"].as_u64().unwrap_or(0) >= hang_ms * 950_000;
    let page = program::run(["report", file.to_str().unwrap(), "--method-map", &map_of(&file)]).stdout;
    let denied =
        ["No hang", "was not blocked", "had nothing to do"].into_iter().find(|words| page.contains(words));
    let reported = unit.contains(expected) && method.contains(METHOD) && long && denied.is_none();
    let word = |is: bool| if is { "yes" } else { "NO" };
    Line {
        good: lag && anr && samples > 1 && reported,
        text: format!(
            "unit {unit}, method {method}, LAG {}, ANR {}, samples {samples}, report {}",
            word(lag),
            word(anr),
            match denied {
                Some(words) => format!("says \"{words}\""),
                None if reported => "ok".to_owned(),
                None => "WRONG".to_owned(),
            }
        ),
    }
}

/// The map of the methods, beside the recording.
fn map_of(file: &Path) -> String {
    let map = file.with_extension("txt");
    std::fs::write(&map, METHODS.join("\n") + "\n").unwrap();
    map.to_str().unwrap().to_owned()
}
