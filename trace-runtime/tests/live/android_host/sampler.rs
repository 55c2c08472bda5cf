//! Main's stack and its queue are read while the app and the system behave worst.

use trace_format::Event;
use trace_format::section::SectionKind;

use super::stall::{SOON, detail, only};
use test_support::android::{Case, Run, events, sections};

/// The notices of the recording.
fn notices(run: &Run) -> Vec<String> {
    let recording = run.recording();
    let service = events(&recording, recording.service().unwrap());
    let notices = service.into_iter().filter_map(|(_, event)| match event {
        Event::Notice(text) => Some(recording.texts().get(text).unwrap().to_owned()),
        _ => None,
    });
    notices.collect()
}

fn sampled(how: &str, jvm: &[&str], options: &[&str]) -> Run {
    sampled_at(36, how, jvm, options)
}

fn sampled_at(sdk: u32, how: &str, jvm: &[&str], options: &[&str]) -> Run {
    let case = Case::new("SamplerLife").named(&format!("{how}-{sdk}")).sdk(sdk);
    let case = jvm.iter().fold(case, |case, option| case.jvm(option));
    let run = options.iter().fold(case.word(how), |case, option| case.word(option)).run();
    assert!(run.lines("ended").eq(["true"]), "{}", run.printed);
    run
}

fn snapshot(run: &Run) -> String {
    String::from_utf8(sections(&run.recording(), SectionKind::AnrSnapshot).remove(0)).unwrap()
}

#[test]
fn a_waiting_message_whose_object_locks_itself_is_not_described() {
    let run = sampled("cart", &[], &SOON);
    assert_eq!(run.lines("described").collect::<Vec<_>>(), ["false"], "code of the app ran: {}", run.printed);
    let snapshot = snapshot(&run);
    assert!(snapshot.contains(" what=7 target=android.os.Handler }\n"), "{snapshot}");
    assert!(snapshot.contains("\n(Total messages: 2, shown: 2)\n"), "{snapshot}");
}

#[test]
fn waiting_messages_are_read_while_other_threads_change_the_queue() {
    let run = Case::new("QueueChurn").run();
    assert_eq!(run.printed, "read 5000 (Total messages: 300, shown: 200)\n");
}

#[test]
fn no_more_stacks_are_taken_once_main_is_slow_to_stop_and_a_notice_says_so() {
    // Counted loops have no safepoint.
    let jvm = ["-XX:TieredStopAtLevel=4", "-XX:-UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=0"];
    let run = sampled("slow", &jvm, &["slow_ms=60000", "lag_ms=300", "anr_ms=20000", "sample_ms=50"]);
    let notices = notices(&run);
    let over: Vec<_> = notices.iter().filter(|notice| notice.contains("to stop for its stack")).collect();
    assert_eq!(over.len(), 1, "{notices:?}");
    // The second message hung as well, and what needs no stack came.
    let stacks = run.issues().into_iter().map(|issue| issue["threadStack"].clone()).collect::<Vec<_>>();
    assert!(stacks.len() >= 2 && stacks.last().unwrap() == "", "{stacks:?}");
}

#[test]
fn below_android_11_only_the_dump_of_an_anr_is_copied() {
    for (sdk, copied) in [(28, 1), (30, 0)] {
        let run = sampled_at(sdk, "dump", &[], &["lag_ms=0", "anr_ms=800"]);
        let dumps = sections(&run.recording(), SectionKind::DumpText);
        assert_eq!(dumps.len(), copied, "at level {sdk}: {:?}", notices(&run));
        for dump in dumps {
            let text = String::from_utf8_lossy(&dump[8..]);
            assert!(text.contains("\"main\"") && text.contains("SamplerLife"), "{text}");
        }
        assert_eq!(run.printed.matches("Full thread dump").count(), 2, "the runtime wrote both");
    }
}

#[test]
fn a_fault_in_the_sampler_ends_it_with_a_notice_and_the_app_continues() {
    // On a busy machine the first stack takes long, and the ANR must not come before it.
    let run = sampled("broken", &[], &["slow_ms=60000", "lag_ms=300", "anr_ms=3000"]);
    let notices = notices(&run);
    let wanted = "main's stack is sampled no more: java.lang.ExceptionInInitializerError";
    assert!(notices.iter().any(|notice| notice == wanted), "{notices:?}");
    let issues = run.issues();
    assert_eq!(issues.iter().map(detail).collect::<Vec<_>>(), ["LAG", "ANR"]);
    assert_ne!(only(&issues, "LAG")["threadStack"], "", "what was found before the fault");
    assert_eq!(only(&issues, "ANR")["threadStack"], "");
}

#[test]
fn a_queue_that_the_system_denies_is_not_read_and_one_notice_says_so() {
    let options = [&SOON[..], &["stacks=0"]].concat();
    let run = sampled_at(37, "hidden", &[], &options);
    let notices = notices(&run);
    let wanted = "the waiting messages cannot be read: java.lang.NoSuchFieldException";
    assert_eq!(notices.iter().filter(|notice| *notice == wanted).count(), 1, "{notices:?}");
    let snapshot = snapshot(&run);
    assert!(!snapshot.contains("head=") && !snapshot.contains("what="), "{snapshot}");
    // Switched off, no stack is taken; the reports come.
    assert_eq!(only(&run.issues(), "ANR")["threadStack"], "");
    assert!(sections(&run.recording(), SectionKind::StackSamples).is_empty());
}
