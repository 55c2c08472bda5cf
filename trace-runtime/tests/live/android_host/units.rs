//! Work of main outside of messages: input, idle handlers, and what no shim reports.

use serde_json::Value;
use trace_format::event::Message;
use trace_format::section::SectionKind;
use trace_format::{Event, Recording};

use super::stall::{detail, only, snapshot};
use test_support::android::{Case, Run, events, main_thread, sections};

/// API levels that differ in what the shims rely on.
const LEVELS: [u32; 4] = [21, 28, 34, 37];

/// Reached soon, and by nothing else that is slow on a busy machine.
const LIMITS: [&str; 3] = ["slow_ms=1000", "lag_ms=1000", "anr_ms=1500"];

fn life(how: &str, name: &str, sdk: u32, (during, ms, after): (u32, u32, u32), options: &[&str]) -> Run {
    let case = Case::new("UnitLife").named(&format!("{name}-{sdk}")).sdk(sdk).word(how);
    let case = [during, ms, after].iter().fold(case, |case, number| case.word(&number.to_string()));
    let run = options.iter().fold(case, |case, option| case.word(option)).run();
    assert!(run.printed.contains("all true\n"), "{sdk} {how}: {}", run.printed);
    run
}

/// The units of main that are not messages: begin, end, and name.
fn units(recording: &Recording<Vec<u8>>) -> Vec<(u64, u64, String)> {
    let text = |id| recording.texts().get(id).unwrap_or("?").to_owned();
    let (mut open, mut units) = (Vec::new(), Vec::new());
    for (time, event) in events(recording, main_thread(recording)) {
        match event {
            Event::MessageBegin(message) => open.push((time, message)),
            Event::MessageEnd => {
                let (begun, message): (u64, Message) = open.pop().expect("a begin");
                if !message.is_queued() {
                    assert_eq!((message.what, message.due), (0, 0));
                    let name = format!("{}: {}", text(message.target), text(message.callback));
                    units.push((begun, time, name));
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    units
}

/// Samples of main's stack.
fn samples(recording: &Recording<Vec<u8>>) -> String {
    let text = |section| String::from_utf8(section).unwrap();
    sections(recording, SectionKind::StackSamples).into_iter().map(text).collect()
}

fn details(issues: &[Value]) -> Vec<&str> {
    issues.iter().map(detail).collect()
}

#[test]
fn a_stall_in_an_input_event_is_reported_under_the_events_name() {
    for sdk in LEVELS {
        let ways = [
            ("touch", "MotionEvent ACTION_DOWN"),
            ("key", "KeyEvent ACTION_DOWN"),
            ("dialog", "MotionEvent ACTION_UP"),
        ];
        for (how, name) in ways {
            let run = life(how, how, sdk, (2, 1_500, 1), &[&LIMITS[..], &["sample_ms=50"]].concat());
            has_all_of(&run, &format!("android.view.InputEventReceiver: {name}"));
        }
    }
}

#[test]
fn a_stall_in_an_idle_handler_is_reported_under_the_handlers_name() {
    for sdk in LEVELS {
        let options = [&LIMITS[..], &["sample_ms=50", "idle_ms=60000"]].concat();
        let run = life("idle", "idle", sdk, (2, 1_500, 1), &options);
        has_all_of(&run, "android.os.MessageQueue$IdleHandler: dev.anrscope.UnitLife$Preload");
    }
}

#[test]
fn an_idle_handler_added_while_the_list_is_replaced_is_kept() {
    // At 37 the handlers have a lock of their own, which an app may read here.
    for sdk in [34, 37] {
        let case = Case::new("IdleRace").named(&sdk.to_string()).sdk(sdk);
        let run = case.property("android.host.hiddenApi=exempt").run();
        assert_eq!(run.printed, "failed 0 lost 0 more 0 thrown null\nkept true\n", "{sdk}");
    }
}

/// Checks LAG, ANR, the slow unit, snapshot and samples of the only unit of this name.
fn has_all_of(run: &Run, name: &str) {
    let recording = run.recording();
    let units = units(&recording);
    assert_eq!(units.len(), 1, "{units:?}");
    let (begun, ended, unit) = &units[0];
    assert_eq!(unit, name);
    let issues = run.issues();
    assert_eq!(details(&issues), ["LAG", "ANR", "NORMAL"], "{name}");
    let lag = only(&issues, "LAG")["threadStack"].as_str().unwrap();
    assert!(lag.contains("at dev.anrscope.UnitLife:payNow("), "{lag}");
    for kind in ["ANR", "NORMAL"] {
        let issue = only(&issues, kind);
        assert_eq!(issue["stackKey"], "201|", "{name}: {issue}");
        let stack = issue["stack"].as_str().unwrap();
        assert!(stack.starts_with("0,1048574,1,"), "{stack}");
    }
    assert_eq!(only(&issues, "NORMAL")["cost"].as_u64().unwrap(), (ended - begun) / 1_000_000);
    let snapshots = sections(&recording, SectionKind::AnrSnapshot);
    let (values, stack, _) = snapshot(&snapshots[0]);
    assert_eq!((snapshots.len(), values["message"].as_str()), (1, name));
    assert_eq!(values["message_since"].parse::<u64>().unwrap(), *begun);
    assert!(stack.contains("dev.anrscope.UnitLife.payNow("), "{stack}");
    assert!(samples(&recording).contains("dev.anrscope.UnitLife.payNow("), "{name}");
}

#[test]
fn an_events_name_is_its_action_only() {
    let run = life("names", "names", 34, (0, 0, 0), &[]);
    let names: Vec<String> = units(&run.recording())
        .into_iter()
        .map(|(_, _, name)| name.strip_prefix("android.view.InputEventReceiver: ").unwrap().to_owned())
        .collect();
    let motions = [
        "DOWN",
        "UP",
        "MOVE",
        "CANCEL",
        "OUTSIDE",
        "POINTER_DOWN",
        "POINTER_UP",
        "HOVER_MOVE",
        "SCROLL",
        "HOVER_ENTER",
        "HOVER_EXIT",
        "BUTTON_PRESS",
        "BUTTON_RELEASE",
    ];
    let mut expected: Vec<String> = motions.map(|name| format!("MotionEvent ACTION_{name}")).to_vec();
    expected.extend(["MotionEvent", "MotionEvent ACTION_POINTER_DOWN"].map(str::to_owned));
    expected.extend(["ACTION_DOWN", "ACTION_UP", "ACTION_MULTIPLE"].map(|name| format!("KeyEvent {name}")));
    expected.extend(
        ["KeyEvent", "KeyEvent ACTION_DOWN", "MotionEvent ACTION_MOVE", "MotionEvent ACTION_SCROLL"]
            .map(str::to_owned),
    );
    assert_eq!(names, expected);
}

#[test]
fn an_event_pairs_around_a_nested_loop_and_an_exception_and_is_no_unit_inside_a_message() {
    let run = life("shapes", "shapes", 34, (0, 0, 0), &[]);
    assert!(run.printed.contains("threw the app's own\n"), "{}", run.printed);
    let recording = run.recording();
    let mut shape = String::new();
    for (_, event) in events(&recording, main_thread(&recording)) {
        match event {
            Event::MessageBegin(message) if message.is_queued() => shape += &format!("({} ", message.what),
            Event::MessageBegin(message) => {
                let name = recording.texts().get(message.callback).unwrap();
                shape += &format!("({} ", name.rsplit('_').next().unwrap());
            }
            Event::MessageEnd => shape += ") ",
            _ => {}
        }
    }
    // 3's end was lost; the touch inside of message 4 and that of the wrapped window are parts of what is
    // open.
    assert_eq!(shape, "(77 ) (UP (1 ) (2 ) (3 ) ) (DOWN ) (4 ) (DOWN ) (5 ) ");
    // It does nothing but throw. A busy machine may take a few milliseconds from it.
    let key = run.printed.split_once("{android.view.InputEventReceiver: KeyEvent ACTION_DOWN -> ");
    let took = key.and_then(|(_, rest)| rest.split_once("}\n")?.0.parse::<u64>().ok());
    assert!(took.is_some_and(|took| took < 100), "{}", run.printed);
}

#[test]
fn a_method_added_to_window_callback_later_reaches_the_app() {
    let run = life("later", "later", 34, (0, 0, 0), &[]);
    assert_eq!(
        run.printed,
        "itself true\nproxy true true false\ntouch true\nlater the app's 7\nthrew theirs\nall true\n"
    );
    let units = units(&run.recording());
    assert_eq!(units.len(), 1, "the proxy reports input, too: {units:?}");
}

/// Begin and end of the method that hung.
fn hung_call(recording: &Recording<Vec<u8>>) -> (u64, u64) {
    let all = events(recording, main_thread(recording));
    let at = |wanted: Event| all.iter().find(|(_, event)| *event == wanted).unwrap().0;
    (at(Event::Enter(200)), at(Event::Exit(200)))
}

#[test]
fn between_messages_the_outermost_recorded_call_stands_for_unreported_work() {
    for sdk in LEVELS {
        let run = life("call", "call", sdk, (2, 1_500, 1), &[&LIMITS[..], &["sample_ms=50"]].concat());
        let recording = run.recording();
        let issues = run.issues();
        assert_eq!(details(&issues), ["LAG", "ANR", "NORMAL"], "{sdk}");
        for kind in ["ANR", "NORMAL"] {
            assert_eq!(only(&issues, kind)["stackKey"], "201|");
        }
        let (begun, ended) = hung_call(&recording);
        assert_eq!(only(&issues, "NORMAL")["cost"].as_u64().unwrap(), (ended - begun) / 1_000_000);
        let (values, stack, _) = snapshot(&sections(&recording, SectionKind::AnrSnapshot)[0]);
        assert_eq!(values["message"], "method 200");
        assert_eq!(values["message_since"].parse::<u64>().unwrap(), begun);
        assert!(stack.contains("dev.anrscope.UnitLife.payNow("), "{stack}");
        assert!(samples(&recording).contains("dev.anrscope.UnitLife.payNow("));
        assert!(units(&recording).is_empty(), "nothing is made up in the record");
    }
}

#[test]
fn between_messages_a_stack_outside_of_the_poll_is_a_unit_if_no_call_is_recorded() {
    for sdk in LEVELS {
        let run = life("plain", "plain", sdk, (2, 1_500, 0), &[&LIMITS[..], &["sample_ms=50"]].concat());
        let recording = run.recording();
        assert_eq!(details(&run.issues()), ["LAG", "ANR"], "{sdk}");
        let (values, stack, _) = snapshot(&sections(&recording, SectionKind::AnrSnapshot)[0]);
        assert_eq!(values["message"], "unknown work outside of messages");
        assert!(stack.contains("dev.anrscope.UnitLife.wait("), "{stack}");
        assert!(samples(&recording).contains("dev.anrscope.UnitLife.wait("));
    }
}

#[test]
fn main_waiting_for_messages_is_never_a_unit() {
    for sdk in [21, 37] {
        let run = life("sleeping", "sleeping", sdk, (0, 2_500, 0), &LIMITS);
        assert_eq!(details(&run.issues()), [""; 0], "{sdk}");
        let recording = run.recording();
        assert!(sections(&recording, SectionKind::AnrSnapshot).is_empty());
        assert!(samples(&recording).is_empty());
    }
}

#[test]
fn a_message_whose_nested_loop_waits_for_messages_is_no_lag() {
    let run = life("modal", "modal", 34, (0, 2_500, 0), &[&LIMITS[..], &["slow=0"]].concat());
    assert_eq!(details(&run.issues()), [""; 0]);
    assert!(sections(&run.recording(), SectionKind::AnrSnapshot).is_empty());
}

#[test]
fn a_sigquit_finds_the_call_that_main_is_in_between_messages() {
    for how in ["call-sigquit", "plain-sigquit"] {
        let run = life(how, how, 34, (1, 0, 0), &["slow_ms=60000", "lag_ms=0", "anr_ms=0"]);
        let recording = run.recording();
        let (values, stack, _) = snapshot(&sections(&recording, SectionKind::AnrSnapshot)[0]);
        let verdicts = sections(&recording, SectionKind::Verdict);
        let verdict = String::from_utf8_lossy(&verdicts[0]).into_owned();
        assert!(stack.contains("dev.anrscope.UnitLife.wait("), "{stack}");
        if how == "call-sigquit" {
            assert_eq!(values["message"], "method 200", "{values:?}");
            assert_eq!(values["message_since"].parse::<u64>().unwrap(), hung_call(&recording).0);
        } else {
            assert_eq!(values["message"], "unknown work outside of messages", "{values:?}");
            assert!(!verdict.contains("running_ms=0"), "{verdict}");
        }
    }
}
