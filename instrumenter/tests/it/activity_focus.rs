//! `at` is called once for each event, regardless of what an activity and its super classes override.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{
    Decision, Filter, FocusCall, Input, MapPaths, Options, SkipReason, Summary, Warning, instrument,
};

use test_support::temp_dir::copy;

use crate::assembler::{Assembler, Body};
use crate::support::*;

/// The activities, and separately the library between them.
fn compiled(directory: &Path) -> (PathBuf, PathBuf) {
    let (app, library) = (directory.join("app"), directory.join("library"));
    let beat = text(method_beat());
    fs::create_dir(&app).unwrap();
    let files = ["focus/Activities.java", "focuslib/Middle.java", "focuslib/Sealed.java"];
    javac(&app, &["-cp", beat, "--release", "8"], &files);
    fs::create_dir(&library).unwrap();
    fs::rename(app.join("focuslib"), library.join("focuslib")).unwrap();
    // Both are on the class path with the fake runtime.
    (app, library)
}

fn run_it(directory: &Path, parts: &[&Path]) -> (String, Vec<String>) {
    let events = directory.join("events.txt");
    let _ = fs::remove_file(&events);
    let path = class_path(&[parts, &[method_beat()]].concat());
    let counts = format!("-Dbeat.out={}", text(&directory.join("beat.txt")));
    let printed = run("java", &["-Xverify:all", &counts, "-cp", &path, "focus.Activities", text(&events)]);
    let events = fs::read_to_string(events).unwrap();
    (printed, events.lines().map(str::to_owned).collect())
}

/// Two events for each activity, and none for other classes.
fn once_each() -> Vec<String> {
    let names = [
        "Base",
        "Leaf",
        "WithoutSuper",
        "WithoutOverride",
        "Sometimes",
        "Twice",
        "Trivial",
        "Throwing",
        "OfAbstract",
        "OfAbstractMethod",
        "Empty",
        "OfEmpty",
        "BelowMiddle",
        "BelowMiddleSilent",
        "BelowMiddleEmpty",
    ];
    names.iter().flat_map(|name| [true, false].map(|focus| format!("{name} {focus}"))).collect()
}

fn summary_of(inputs: &[(&Path, &Path)], maps: &Path, options: &Options) -> Summary {
    let inputs: Vec<Input> = inputs.iter().map(|(from, to)| Input::new(*from, *to)).collect();
    instrument(&inputs, &MapPaths::beside(maps), options, &|_| {}).unwrap()
}

#[test]
fn at_is_called_once_per_focus_event_for_any_overrides() {
    let directory = directory("focus");
    let (app, library) = compiled(&directory);
    let (plain, none) = run_it(&directory, &[&app, &library]);
    assert!(none.is_empty() && plain.contains("Leaf\n"), "{plain}");

    // The library is only on the class path; the platform's Activity is with the fake runtime.
    let traced = directory.join("traced");
    let class_path = vec![library.clone(), method_beat().to_owned()];
    let options = Options { class_path, ..Options::default() };
    let summary = summary_of(&[(&app, &traced)], &directory.join("map.txt"), &options);
    assert_eq!(summary.skipped, []);
    let (printed, events) = run_it(&directory, &[&traced, &library]);
    assert_eq!(printed, plain);
    assert_eq!(events, once_each());
    Beat::read(&directory.join("beat.txt")).assert_balanced(40);
    assert!(
        summary.warnings.iter().any(
            |(_, warning)| matches!(warning, Warning::FinalFocus(class) if class.ends_with("BelowSealed"))
        ),
        "{:?}",
        summary.warnings
    );
    let map = fs::read_to_string(directory.join("map.txt")).unwrap();
    assert!(map.contains("Activities$Leaf onWindowFocusChanged (Z)V"), "{map}");
    assert!(!map.contains("onWindowFocusChanged-"), "{map}");

    // All of it is instrumented, so no class that is not changed is in between.
    let all = [directory.join("all-app"), directory.join("all-library")];
    let inputs = [(app.as_path(), all[0].as_path()), (&library, &all[1])];
    summary_of(&inputs, &directory.join("all.txt"), &Options::default());
    let (printed, events) = run_it(&directory, &[&all[0], &all[1]]);
    assert_eq!((printed, events), (plain, once_each()));
}

/// The change of a class does not depend on its subclasses, and an instrumented class above it is recognised.
#[test]
fn a_changed_activity_changes_only_its_own_class() {
    let directory = directory("focus-leaf");
    let (app, library) = compiled(&directory);
    let whole = directory.join("whole");
    let class_path = vec![library.clone()];
    let options = Options { class_path, ..Options::default() };
    summary_of(&[(&app, &whole)], &directory.join("map.txt"), &options);

    let leaf = directory.join("leaf");
    fs::create_dir_all(leaf.join("focus")).unwrap();
    let class = Path::new("focus/Activities$Leaf.class");
    fs::copy(app.join(class), leaf.join(class)).unwrap();
    let again = directory.join("again");
    let options = Options {
        class_path: vec![whole.clone()],
        base_map: Some(directory.join("map.txt")),
        ..Options::default()
    };
    summary_of(&[(&leaf, &again)], &directory.join("again.txt"), &options);
    assert_eq!(fs::read(again.join(class)).unwrap(), fs::read(whole.join(class)).unwrap());
}

#[test]
fn a_blocked_activity_does_not_change_and_an_unknown_super_class_is_reported() {
    let directory = directory("focus-blocked");
    let (app, library) = compiled(&directory);
    let mut filter = Filter::default();
    filter.block("focus");
    let traced = directory.join("traced");
    let options = Options { filter, class_path: vec![library], ..Options::default() };
    let summary = summary_of(&[(&app, &traced)], &directory.join("map.txt"), &options);
    assert_eq!((summary.focus, summary.classes_changed), (0, 0));

    let mut class = crate::assembler::Assembler::below("a/Screen", "com/lib/BaseActivity");
    class.method(
        1,
        "<init>",
        "()V",
        &crate::assembler::Body { code: vec![177], max_locals: 1, ..Default::default() },
    );
    let input = directory.join("unknown.jar");
    jar(&input, &[("a/Screen.class", &class.finish())]);
    let summary = instrument_one(&input, &directory.join("unknown-traced.jar"), &Options::default());
    let reported = summary.warnings.iter().any(|(_, warning)| {
        matches!(warning, Warning::UnknownActivity { super_class, .. } if super_class == "com/lib/BaseActivity")
    });
    assert!(reported, "{:?}", summary.warnings);
}

/// Matrix's rules: a call at every level that has an override with an id, and a new method where there is no
/// override, so several calls for one event; but none in an override without an id, nor in one of an abstract class.
#[test]
fn compat_matrix_calls_at_on_every_level() {
    let directory = directory("focus-matrix");
    let (app, library) = compiled(&directory);
    let (plain, _) = run_it(&directory, &[&app, &library]);
    let traced = directory.join("traced");
    // Its chain of super classes consists of the inputs; it knows Activity by name.
    let all = directory.join("all");
    copy(&app, &all);
    copy(&library, &all);
    summary_of(&[(&all, &traced)], &directory.join("map.txt"), &Options::matrix());
    let (printed, events) = run_it(&directory, &[&traced]);
    assert_eq!(printed, plain);
    let count = |name: &str| events.iter().filter(|event| event.split(' ').next() == Some(name)).count();
    for (name, times) in [
        ("Base", 2),
        ("Leaf", 4),
        // Its own, and those of the two above.
        ("WithoutOverride", 6),
        ("WithoutSuper", 2),
        ("Trivial", 0),
        ("OfAbstract", 2),
        ("OfEmpty", 4),
    ] {
        assert_eq!(count(name), times, "{name}: {events:?}");
    }
}

/// The class has as many methods as the format allows, so that no second part can be added: its methods are traced,
/// and the missing call is reported.
#[test]
fn a_class_without_room_is_traced_without_at() {
    let directory = directory("focus-full");
    let mut class = Assembler::below("a/Full", "android/app/Activity");
    let above = class.method_ref("android/app/Activity", "onWindowFocusChanged", "(Z)V");
    let code = [&[0x2A, 0x1B, 0xB7][..], &above, &[0xB1]].concat();
    class.method(
        1,
        "onWindowFocusChanged",
        "(Z)V",
        &Body { code, max_stack: 2, max_locals: 2, ..Body::default() },
    );
    class.method(9, "nothing", "()V", &Body { code: vec![0xB1], ..Body::default() });
    class.fill_methods(0xFFFF);
    let (from, to) = (directory.join("in.jar"), directory.join("out.jar"));
    jar(&from, &[("a/Full.class", &class.finish())]);
    let options = Options { explain: Some("a.Full".into()), ..Options::default() };
    let summary = instrument_one(&from, &to, &options);
    let [skip] = summary.skipped.as_slice() else { panic!("{:?}", summary.skipped) };
    assert_eq!(
        (skip.method.as_ref(), &skip.reason),
        (None, &SkipReason::Focus(Box::new(SkipReason::TableFull)))
    );
    assert_eq!((summary.traced, summary.unused_ids), (1, 0));
    assert_eq!(summary.explained[0].focus, Some(FocusCall::Failed(SkipReason::TableFull)));
    assert_eq!(summary.explained[0].methods[0].decision, Decision::Traced);
}
