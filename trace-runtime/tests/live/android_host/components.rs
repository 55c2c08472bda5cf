//! The component behind a stalled message: which receiver or service main runs.

use trace_format::section::SectionKind;
use trace_format::sections::component::{Component, ComponentCall};

use test_support::android::{Case, Run, events, main_thread, sections};
use trace_format::Event;

/// A stall is reported soon; nothing else is.
const SOON: [&str; 4] = ["slow_ms=60000", "lag_ms=300", "anr_ms=60000", "sample_ms=0"];

fn stalled(sdk: u32, what: u32, call: &str, options: &[&str]) -> Run {
    let case = Case::new("ComponentLife").named(&format!("{call}-{sdk}-{}", options.len())).sdk(sdk);
    let case = case.word(&what.to_string()).word(call).word("LAG");
    let run = SOON.iter().chain(options).fold(case, |case, option| case.word(option)).run();
    assert!(run.lines("ended").eq(["true"]) && run.lines("observed").eq(["true"]), "{}", run.printed);
    run
}

fn components(run: &Run) -> Vec<Component> {
    let payloads = sections(&run.recording(), SectionKind::Component);
    payloads.iter().map(|payload| Component::parse(payload).expect("a component")).collect()
}

/// Levels whose records have the same text, `ReceiverData`'s end, and `BindServiceData`'s end. AOSP
/// `core/java/android/app/ActivityThread.java`: read in copies of 21, 28 or 29, 33, 34 and 36; 23, 26, 30 and 31 are
/// between levels that agree, and 35 is taken to be as 34.
const LEVELS: [(&[u32], &str, &str); 3] = [
    (&[21, 23, 26, 28, 29, 30, 31, 33], "}", "}"),
    (&[34, 35], " sentFromUid=-1 sentFromPackage=null}", " bindSeq=0}"),
    (&[36], " sentFromUid=-1 sentFromPackage=null mOptions=null}", " bindSeq=0}"),
];

#[test]
fn the_class_is_in_the_records_own_text_at_every_level() {
    for (levels, receiver_end, bind_end) in LEVELS {
        for sdk in levels {
            let run = Case::new("ComponentLife").named(&format!("texts-{sdk}")).sdk(*sdk).word("texts").run();
            let intent = |flags: &str, to: &str| {
                format!(
                    "Intent {{ act=com.example.ACTION cmp=com.evil/.Fake dat=https://example.com/token4111{flags} \
                     cmp=com.example.shop/{to} (has extras) }}"
                )
            };
            let receiver = |flags| {
                let intent = intent(flags, ".PushReceiver");
                format!(
                    "ReceiverData{{intent={intent} packageName=com.example.shop resultCode=-1 resultData=null \
                     resultExtras=null{receiver_end}"
                )
            };
            let token = "token=android.os.BinderProxy@1";
            let service = intent("", "com.example.sync.SyncService");
            let bind = format!("BindServiceData{{{token} intent={service}{bind_end}");
            let (push, sync) = ("com.example.shop.PushReceiver", "com.example.sync.SyncService");
            let rows = [
                ("ReceiverData", receiver(" flg=0x10000010"), push, 1),
                ("ReceiverData", receiver(" flg=0x10"), push, 0),
                (
                    "CreateServiceData",
                    format!(
                        "CreateServiceData{{{token} className={sync} packageName=com.example.shop intent=null}}"
                    ),
                    sync,
                    -1,
                ),
                ("ServiceArgsData", format!("ServiceArgsData{{{token} startId=1 args={service}}}"), sync, 0),
                ("BindServiceData", bind.clone(), sync, 0),
                ("BindServiceData", bind, sync, 0),
            ];
            let names = rows.iter().map(|(_, _, name, foreground)| format!("{name} {foreground}"));
            let printed: Vec<_> = run.lines("name").collect();
            assert_eq!(printed, names.collect::<Vec<_>>(), "at level {sdk}");
            assert_eq!(
                run.lines("text").collect::<Vec<_>>(),
                rows.iter().map(|row| &row.1).collect::<Vec<_>>()
            );
            let classes = rows.iter().map(|row| format!("android.app.ActivityThread${}", row.0));
            assert_eq!(run.lines("class").collect::<Vec<_>>(), classes.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_stalled_message_of_a_component_is_recorded_with_its_class_and_its_wait() {
    use ComponentCall as C;
    let (push, sync) = ("com.example.shop.PushReceiver", "com.example.sync.SyncService");
    let rows = [
        (34, 113, "receive", C::Receiver, push, Some(true)),
        (21, 113, "background", C::Receiver, push, Some(false)),
        (26, 114, "create", C::ServiceCreate, sync, None),
        (30, 115, "start", C::ServiceStart, sync, None),
        (36, 121, "bind", C::ServiceBind, sync, None),
        (28, 122, "unbind", C::ServiceUnbind, sync, None),
    ];
    for (sdk, what, how, call, class, foreground) in rows {
        // No stack is needed for it.
        let run = stalled(sdk, what, how, &["stacks=0"]);
        let found = components(&run);
        let [component] = &found[..] else { panic!("{how}: {found:?}") };
        assert_eq!((component.call, &*component.class, component.foreground), (call, class, foreground));
        assert!(component.queued_ms.is_some_and(|ms| ms >= 50), "{component:?}");
        let recording = run.recording();
        let begun =
            events(&recording, main_thread(&recording)).into_iter().find_map(|(time, event)| match event {
                Event::MessageBegin(message) if time == component.since => Some(message.what),
                _ => None,
            });
        assert_eq!(begun, Some(what as i32), "{how}");
        // Neither the intent's action nor its data.
        let bytes = std::fs::read(&run.files()[0]).unwrap();
        let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!holds("token4111") && !holds("com.evil") && !holds("com.example.ACTION"), "{how}");
    }
}

#[test]
fn a_message_that_does_not_stall_and_one_that_says_nothing_have_no_component() {
    // A token, a callback, and a record that cannot describe itself.
    for (what, how) in [(116, "destroy"), (113, "registered"), (113, "fails")] {
        let run = stalled(34, what, how, &[]);
        // The service's create, which did not stall, is not recorded either.
        assert_eq!(components(&run), [], "{how}");
        assert!(!run.printed.contains("named no more"), "{}", run.printed);
    }
}

#[test]
fn a_broadcast_with_result_extras_is_not_described() {
    let run = stalled(34, 113, "extras", &[]);
    assert_eq!((components(&run), run.printed.contains("described")), (Vec::new(), false), "{}", run.printed);
}
