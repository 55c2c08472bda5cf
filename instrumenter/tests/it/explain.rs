//! The explanation of a class, compared with the class that was written.

use instrumenter::{
    CallKind, Catalogue, Decision, Error, ExplainedMethod, FocusCall, Input, MapPaths, Options, Purpose,
    instrument,
};
use trace_format::event::WaitKind;

use crate::support::*;

#[test]
fn each_method_lists_the_inserted_code() {
    let directory = directory("explain");
    let options = Options {
        waits: Some(Catalogue::default()),
        explain: Some("fixture.Old".into()),
        ..Options::default()
    };
    let from = directory.join("in.jar");
    jar(&from, &[("fixture/Old.class", old_class()), ("x.class", b"no class")]);
    let to = directory.join("out.jar");
    let summary = instrument_one(&from, &to, &options);
    let [class] = summary.explained.as_slice() else { panic!("{:?}", summary.explained) };
    assert_eq!((class.name.as_str(), class.source_file.as_deref()), ("fixture/Old", Some("Old.java")));
    assert!(class.methods.iter().all(|method| method.decision == Decision::Traced));

    // javap counts positions independently.
    let written =
        entries(&std::fs::read(&to).unwrap()).into_iter().find(|(name, _)| name == "fixture/Old.class");
    std::fs::create_dir_all(directory.join("fixture")).unwrap();
    std::fs::write(directory.join("fixture/Old.class"), written.unwrap().1).unwrap();
    let shown = run("javap", &["-c", "-p", "-cp", text(&directory), "fixture.Old"]);
    let mut purposes = Vec::new();
    for method in &class.methods {
        let name = if method.name == "<init>" { "fixture.Old" } else { &method.name };
        let (old, new) = method.code_bytes.unwrap();
        assert!(old < new);
        let mut in_order = method.inserted.iter().filter_map(|(one, _)| one.old);
        assert!(in_order.next().is_some());
        for (one, _) in &method.inserted {
            // Some method of this name has an instruction there that starts an inserted piece.
            let at = format!(" {}: ", one.new);
            let texts = shown.split("\n\n").filter(|text| text.contains(&format!(" {name}(")));
            assert!(texts.clone().any(|text| text.contains(&at)), "{name} {one:?}\n{shown}");
            purposes.push(one.purpose);
        }
        let lines: Vec<u16> = method.inserted.iter().filter_map(|&(_, line)| line).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| (5..70).contains(line)), "{lines:?}");
    }
    for wanted in [
        Purpose::Enter,
        Purpose::Return,
        Purpose::Handler,
        Purpose::Release,
        Purpose::Wait(CallKind::Wait(WaitKind::Monitor)),
        Purpose::WaitThrown(CallKind::Wait(WaitKind::Monitor)),
    ] {
        assert!(purposes.contains(&wanted), "{wanted:?} in {purposes:?}");
    }
    assert!(!purposes.contains(&Purpose::Throw));
}

#[test]
fn explaining_a_missing_class_is_an_error_before_anything_is_written() {
    let directory = directory("explain_none");
    let from = directory.join("in.jar");
    jar(&from, &[("fixture/Old.class", old_class())]);
    let options = Options { explain: Some("fixture/Older".into()), ..Options::default() };
    let out = directory.join("out.jar");
    let maps = MapPaths::beside(directory.join("methodMapping.txt"));
    let result = instrument(&[Input::new(&from, &out)], &maps, &options, &|_| {});
    assert!(matches!(result, Err(Error::NoSuchClass(class)) if class == "fixture/Older"));
    assert!(!out.exists() && !directory.join("methodMapping.txt").exists());
}

/// The explanation names the file and line that decided about a method.
#[test]
fn the_deciding_rule_is_named() {
    let directory = directory("explain_rules");
    let from = directory.join("in.jar");
    jar(&from, &[("fixture/Old.class", old_class())]);
    let (rules, blocked) = (directory.join("trace.rules"), directory.join("block.txt"));
    std::fs::write(&rules, "# quiet\nexclude method <init>\nalways class fixture.*\nexclude method <init>\n")
        .unwrap();
    std::fs::write(&blocked, "\n-keeppackage fixture/\n").unwrap();
    let decided = |options: Options| {
        let options = Options { explain: Some("fixture.Old".into()), ..options };
        let summary = instrument_one(&from, &directory.join("out.jar"), &options);
        std::fs::remove_file(directory.join("out.jar")).unwrap();
        let [class] = summary.explained.as_slice() else { panic!("{:?}", summary.explained) };
        let reported = |method: &ExplainedMethod| {
            (method.name == "<init>", method.decision.clone(), method.rule.clone())
        };
        class.methods.iter().map(reported).collect::<Vec<_>>()
    };
    let methods = decided(Options {
        rules: Some(rules.clone()),
        block_list: Some(blocked.clone()),
        ..Options::default()
    });
    assert!(methods.len() > 3);
    for (is_constructor, decision, rule) in methods {
        let expected = if is_constructor { (Decision::Excluded, 4) } else { (Decision::Traced, 3) };
        assert_eq!((decision, rule), (expected.0, Some((rules.clone(), expected.1))));
    }
    let by_list = (Decision::Blocked, Some((blocked.clone(), 2)));
    let methods = decided(Options { block_list: Some(blocked), ..Options::default() });
    assert!(methods.into_iter().all(|(_, decision, rule)| (decision, rule) == by_list));
    let methods = decided(Options::matrix());
    assert!(methods.into_iter().all(|(_, decision, rule)| {
        rule.is_none() && matches!(decision, Decision::Traced | Decision::NotWorthIt)
    }));
}

#[test]
fn the_call_of_at_is_explained() {
    let directory = directory("explain_focus");
    let classes = directory.join("classes");
    std::fs::create_dir(&classes).unwrap();
    let files = ["focus/Activities.java", "focuslib/Middle.java", "focuslib/Sealed.java"];
    javac(&classes, &["-cp", text(method_beat()), "--release", "8"], &files);
    let focus = |class: &str, options: Options| {
        let out = directory.join(class.replace('$', "-"));
        let options = Options { explain: Some(format!("focus.Activities${class}")), ..options };
        let mut explained = instrument_one(&classes, &out, &options).explained;
        std::fs::remove_dir_all(&out).unwrap();
        let class = explained.pop().unwrap();
        assert!(class.methods.iter().all(|method| !method.name.contains('-')));
        class.focus
    };
    let part = |class: &str| format!("onWindowFocusChanged-focus-Activities${class}");
    let split =
        |class, above: Option<&str>| Some(FocusCall::Split { part: part(class), above: above.map(part) });
    assert_eq!(focus("Leaf", Options::default()), split("Leaf", Some("Base")));
    assert_eq!(focus("Base", Options::default()), split("Base", None));
    assert_eq!(focus("Empty", Options::default()), Some(FocusCall::Added));
    assert_eq!(focus("WithoutOverride", Options::default()), None);
    let waits = Options { waits: Some(Catalogue::default()), ..Options::default() };
    let reported = focus("Leaf", waits).unwrap().to_string();
    assert!(
        reported.contains("calls at")
            && reported.ends_with("calls super.onWindowFocusChanged-focus-Activities$Base")
    );
}
