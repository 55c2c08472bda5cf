//! What a monitor throws, and what is missing, never reaches the app, and is logged or recorded.

use std::path::Path;

use trace_format::Event;

use test_support::android::{Case, Run, events};

/// The notices of the recording.
fn notices(run: &Run) -> Vec<String> {
    let recording = run.recording();
    let service = events(&recording, recording.service().expect("a service ring"));
    let notices = service.iter().filter_map(|(_, event)| match event {
        Event::Notice(text) => recording.texts().get(*text).map(str::to_owned),
        _ => None,
    });
    notices.collect()
}

fn guards(word: &str) -> Case {
    Case::new("AppGuards").named(word).word(word)
}

#[test]
fn a_monitor_that_throws_is_switched_off_alone_and_a_notice_names_it() {
    let run = guards("monitors").run();
    // `set` returns whether the option was set, and throws nothing, on main or inside a message of main.
    assert_eq!(run.printed, "taken true\ntaken truetrue\nmessages true frames true overlay false\n");
    let notices = notices(&run);
    let says = |text: &str| notices.iter().any(|notice| notice == text);
    assert!(says("the monitor of error states is off: it threw java.lang.SecurityException"), "{notices:?}");
    assert!(notices.iter().any(|n| n.starts_with("no overlay: ")), "{notices:?}");
    assert!(notices.iter().all(|notice| !notice.contains("this text")), "{notices:?}");
}

#[test]
fn an_application_behind_wrapped_contexts_is_found_and_a_missing_one_is_a_notice() {
    let wrapped = guards("wrapped").run();
    assert_eq!(wrapped.printed, "messages true frames true overlay false\n");
    assert!(notices(&wrapped).iter().all(|notice| !notice.contains("Application")));
    let foreign = guards("foreign").run();
    assert_eq!(foreign.printed, "messages false frames false overlay false\n");
    let said = notices(&foreign);
    assert!(said[0].contains("leads to no Application, but to a dev.anrscope.AppGuards$Foreign"), "{said:?}");
}

#[test]
fn a_library_that_cannot_be_loaded_is_one_log_line() {
    // MethodBeat's own line is for JVMs; on Android it leaves the log to the app's side.
    let unloadable = "anrscope: nothing is recorded: java.lang.UnsatisfiedLinkError: Can't load library: /nowhere/libanrscope.so\n";
    let run = guards("missing").library(Path::new("/nowhere/libanrscope.so")).stderr(unloadable).run();
    let logged = "W/anrscope: nothing is recorded: cannot load the native library anrscope: ...\n";
    assert_eq!(run.printed, ["messages false frames false overlay false\n", logged].concat());
}
