//! The Looper's monitor: the Printer, messages in the recording, history.

use trace_format::Event;
use trace_format::event::Message;

use test_support::android::{Case, Run, events, main_thread};

fn printer(scenario: &str) -> Run {
    let run = Case::new("PrinterCases").named(scenario).word(scenario).run();
    assert!(!run.printed.contains(" false\n"), "{}", run.printed);
    run
}

/// Main's messages: begins with their message, and ends.
fn messages(run: &Run) -> Vec<Option<Message>> {
    let recording = run.recording();
    let bounds =
        events(&recording, main_thread(&recording)).into_iter().filter_map(|(_, event)| match event {
            Event::MessageBegin(message) => Some(Some(message)),
            Event::MessageEnd => Some(None),
            _ => None,
        });
    bounds.collect()
}

fn whats(run: &Run) -> Vec<i32> {
    messages(run).into_iter().flatten().map(|message| message.what).collect()
}

#[test]
fn the_previous_printer_keeps_working_and_is_restored() {
    let run = printer("chained");
    assert_eq!(run.printed.lines().count(), 4);
    assert_eq!(whats(&run), [11], "once, though it was started twice, and not after the end");
}

#[test]
fn a_replaced_printer_is_set_again_when_idle_and_at_a_poll() {
    let run = printer("replaced");
    let messages = whats(&run);
    assert!(messages.starts_with(&[21]) && !messages.contains(&22), "{messages:?}");
    assert!(messages.contains(&23) && messages.contains(&24), "{messages:?}");
}

#[test]
fn an_observer_gets_each_message_bound_once() {
    let run = printer("observed");
    assert_eq!(run.printed, "begins true\nends true\n");
    assert_eq!(whats(&run), [51, 52]);
}

#[test]
fn a_printer_that_forwards_to_the_library_reports_no_message_twice() {
    let run = printer("wrapped");
    assert_eq!(whats(&run), [31, 32]);
}

#[test]
fn the_printer_of_another_class_loader_is_left_in_place() {
    let run = printer("twin");
    assert_eq!(messages(&run), []);
    let recording = run.recording();
    let service = events(&recording, recording.service().unwrap());
    let text = |event: &Event| match event {
        Event::Notice(text) => recording.texts().get(*text).map(str::to_owned),
        _ => None,
    };
    let twins =
        service.iter().filter_map(|(_, event)| text(event)).filter(|text| text.contains("another copy"));
    assert_eq!(twins.count(), 1);
}

#[test]
fn a_first_line_of_another_form_disables_the_monitor() {
    let run = printer("foreign");
    assert_eq!(messages(&run), []);
}

#[test]
fn a_handlers_description_is_reduced_to_its_first_word() {
    let run = printer("named");
    let messages = messages(&run);
    let recording = run.recording();
    let names: Vec<_> = messages
        .iter()
        .flatten()
        .map(|message| (recording.texts().get(message.target).unwrap_or(""), message.what, message.handler))
        .collect();
    assert_eq!((messages.len(), names.len()), (1_204, 602), "each has its end");
    assert!(names[..600].iter().all(|name| *name == ("OrderQueue", -41, 0)), "{:?}", names[0]);
    assert_eq!(names[600].0, "OrderQueue");
    assert_eq!((names[601].0, names[601].1), ("android.os.Handler", 42));
}

#[test]
fn nested_loops_and_swallowed_exceptions_stay_apart_in_the_recording() {
    let run = Case::new("MessageLife").run();
    let recording = run.recording();
    let text = |id| recording.texts().get(id).unwrap_or("").to_owned();
    let all = events(&recording, main_thread(&recording));
    let mut recorded = String::new();
    for (_, event) in &all {
        match event {
            Event::MessageBegin(message) => {
                let class = |id| text(id).rsplit(['.', '$']).next().unwrap_or("").to_owned();
                let callback = class(message.callback);
                recorded += &format!("({}{}{callback} ", class(message.target), message.what);
            }
            Event::MessageEnd => recorded += ") ",
            _ => {}
        }
    }
    // 5's end was lost and is recorded before 3's, 6's before the next begin.
    assert_eq!(
        recorded,
        "(Inbox-2 ) (Inbox0Task ) (Inbox3 (Inbox4 ) (Inbox5 ) ) (Inbox6 ) (Inbox0Waiting ) (Inbox01 ) (Inbox7 ) "
    );
    let handler = u32::from_str_radix(run.lines("handler").next().unwrap(), 16).unwrap();
    let begins = all.iter().filter_map(|(_, event)| match event {
        Event::MessageBegin(message) => Some(message),
        _ => None,
    });
    assert!(begins.clone().all(|message| message.handler == handler));
    // Moody describes itself, and the last Runnable is not compared.
    let task = u32::from_str_radix(run.lines("task").next().unwrap(), 16).unwrap();
    let objects: Vec<u32> = begins.map(|message| message.object).collect();
    assert_eq!(objects.iter().filter(|object| **object != 0).count(), 2, "{objects:?}");
    assert_eq!(objects[1], task);
}

#[test]
fn the_history_and_the_density_include_the_open_message() {
    let run = Case::new("MessageLife").named("history").run();
    let lines: Vec<_> = run.printed.lines().filter(|line| line.starts_with('{')).collect();
    let inbox = "{dev.anrscope.MessageLife$Inbox";
    let begins =
        [": -2 -> ", " dev.anrscope.MessageLife$Task: 0 -> ", ": 4 -> ", ": 3 -> ", " Waiting: 0 -> "];
    assert_eq!(lines.len(), begins.len() + 1, "{lines:#?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(&format!("{inbox}{begin}")), "{line}");
    }
    assert!(lines[5].ends_with(" open}"), "{}", lines[5]);
    assert!(run.printed.contains("\nmessages 8\ncleared 0\n"), "{}", run.printed);
}

#[test]
fn a_looper_that_stops_or_resumes_calling_the_printer_is_detected() {
    let run = Case::new("AppSilent").sdk(36).run();
    assert_eq!(run.printed, "calls true\nmessages true\n");
    let bytes = std::fs::read(&run.files()[0]).unwrap();
    let notice = b"the Looper calls no Printer: main's outermost calls stand for its messages";
    assert!(bytes.windows(notice.len()).any(|text| text == notice));
}
