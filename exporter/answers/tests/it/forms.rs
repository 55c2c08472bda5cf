//! One sample of each form, written for this test.

use std::io::Write;
use std::path::Path;

use answers::dump::{
    AnrKind, Dump, DumpError, Edge, Fact, FactValue, Frame, LockGraph, LockKind, SectionKind, ThreadForm,
};
use answers::dump_report::PageOptions;

use super::{data, open, page};

#[test]
fn a_dump_of_art_with_its_exit_information_is_read_whole() {
    let dump = open("art14-deadlock.txt");
    let subject = dump.subject.as_ref().unwrap();
    assert_eq!((subject.kind, subject.waited_ms), (AnrKind::InputDispatching, Some(5004)));
    let event = &dump.events[0];
    assert_eq!((event.kind.as_str(), event.value("process")), ("anr", Some("com.acme.shop")));
    let fact =
        |facts: &[Fact], key: &str| facts.iter().find(|fact| fact.key == key).map(|fact| fact.value.clone());
    assert_eq!(fact(&dump.facts, "rss_highest_bytes"), Some(FactValue::Number(204_800 << 10)));
    assert_eq!(fact(&dump.facts, "anr_to_dump_ms"), Some(FactValue::Number(10)));

    let [section, channels] = dump.sections.as_slice() else { panic!("{:?}", dump.sections) };
    assert_eq!((section.pid, section.cmdline.as_deref()), (Some(4242), Some("com.acme.shop")));
    assert_eq!(section.time.as_deref(), Some("2026-01-01 11:00:00.456000000+0100"));
    assert_eq!((section.declared_threads, section.threads.len(), section.ended), (Some(5), 6, true));
    let build = FactValue::Text("acme/phone/phone:14/UP1A.1/7:user/release-keys".to_owned());
    assert_eq!(fact(&section.facts, "build_fingerprint"), Some(build));
    for (key, expected) in [
        ("dump_uptime_ms", 88_001_240),
        ("class_loaders", 2),
        ("heap_objects", 188_251),
        ("gc_blocking_time_ns", 2_500_000),
        ("suspend_all_longest_ns", 90_000),
        ("free_until_oome_bytes", 185 << 20),
    ] {
        assert_eq!(fact(&section.facts, key), Some(FactValue::Number(expected)), "{key}");
    }
    assert_eq!((channels.kind, channels.channels.len()), (SectionKind::WaitingChannels, 3));

    let main = section.main().unwrap();
    assert_eq!(
        (main.name.as_deref(), main.state.as_deref(), main.native_state),
        (Some("main"), Some("Blocked"), Some('S'))
    );
    assert_eq!((main.utm, main.stm, main.core, main.nice), (Some(80), Some(10), Some(2), Some(-10)));
    assert_eq!(main.schedstat, Some([900_000_000, 250_000_000, 1200]));
    assert_eq!((main.frames.len(), main.locks.len()), (6, 2));
    assert_eq!((main.locks[0].kind, main.locks[0].frame), (LockKind::WaitingToLock, Some(0)));
    assert_eq!((main.locks[1].kind, main.locks[1].frame), (LockKind::Locked, Some(1)));
    let worker = section.thread(12).unwrap();
    assert!(matches!(&worker.frames[2], Frame::Java(java) if java.repeated == 3));
    let catcher = section.thread(5).unwrap();
    assert_eq!(catcher.held_mutexes, ["mutator lock (shared held)"]);
    let Frame::Native(native) = &catcher.frames[1] else { panic!("{:?}", catcher.frames[1]) };
    assert_eq!(
        (native.pc, native.map_offset, native.build_id.as_deref()),
        (0xcafe, Some(0x1000), Some("0a0b"))
    );
    assert_eq!(section.threads[3].remarks, ["couldn't read /proc/self/task/4270/stack"]);
    assert!(section.threads[4].starting && !section.threads[5].attached);

    let graph = LockGraph::from(section);
    assert_eq!(graph.deadlocks, [[1, 12]]);
    let edge = |from, to, address, class: &str| Edge {
        from,
        to,
        address: Some(address),
        class: Some(class.into()),
        inferred: false,
    };
    assert_eq!(
        graph.edges,
        [
            edge(1, 12, 0x0a11_ce01, "com.acme.shop.PriceStore"),
            edge(12, 1, 0x0b0b_0b02, "com.acme.shop.Cart")
        ]
    );
    assert_eq!(dump.warnings, Vec::<String>::new());

    let page = page(&dump);
    let begin = |line: &str| {
        page.lines().position(|l| l.starts_with(line)).unwrap_or_else(|| panic!("{line:?} is not in\n{page}"))
    };
    let order = [
        "Subject: Input dispatching timed out",
        "com.acme.shop (pid 4242), 2026-01-01 11:00:00.456000000+0100: 6 threads",
        "MAIN \"main\" (tid 1, sysTid 4242) is Blocked: it waits for the lock of com.acme.shop.PriceStore (0x0a11ce01)",
        "    at com.acme.shop.PriceStore.priceOf(PriceStore.kt:41)",
        "The lock of com.acme.shop.PriceStore (0x0a11ce01) is owned by",
        "\"SyncWorker\" (tid 12, sysTid 4261) is Blocked",
        "\"main\" (tid 1, sysTid 4242): a deadlock",
        "DEADLOCK of 2 threads",
        "OTHER THREADS",
        "HEAD",
        "OF THE SYSTEM",
        "THE SYSTEM'S CRITICAL EVENTS",
    ];
    assert!(order.iter().map(|line| begin(line)).is_sorted(), "{page}");
    assert!(page.contains("in the kernel at futex_wait") && page.contains("0.25 s runnable"), "{page}");
}

#[test]
fn an_owner_that_is_not_named_is_the_thread_that_entered_and_does_not_wait() {
    let dump = open("art8-holder-not-named.txt");
    let graph = LockGraph::from(&dump.sections[0]);
    let class = Some("com.android.server.Store".to_owned());
    assert_eq!(graph.edges, [Edge { from: 1, to: 9, address: Some(0x0f09_84ff), class, inferred: true }]);
    assert!(graph.deadlocks.is_empty() && graph.possible_deadlocks.is_empty());
    let page = page(&dump);
    for text in [
        "is owned, as inferred from its \"locked\" line, by\n\"Writer\" (tid 9, sysTid 909) is Native",
        "in the kernel where nothing interrupts it",
        "waits for the lock of an object that the dump does not name",
        "OTHER PROCESSES (1; --all for their threads)\n  com.acme.other (pid 1000): 1 threads; main is Native: it is idle",
    ] {
        assert!(page.contains(text), "{text:?} is not in\n{page}");
    }
    // The first process declares 4 and has 4; the second one's end is missing.
    assert_eq!(dump.warnings.len(), 1);
    assert!(
        dump.warnings[0].contains("the text ends within com.acme.other (pid 1000)"),
        "{:?}",
        dump.warnings
    );
}

#[test]
fn dalvik_native_and_foreign_forms_are_read() {
    let dalvik = open("dalvik4.txt");
    let threads = &dalvik.sections[0].threads;
    let names: Vec<_> = threads.iter().map(|t| t.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["main", "worker", "Binder_1", "AudioTrack"]);
    assert_eq!(LockGraph::from(&dalvik.sections[0]).edges[0].to, 9);
    assert_eq!(
        (threads[3].form, threads[3].nice, threads[2].frames.len()),
        (ThreadForm::Native, Some(-16), 2)
    );

    let native = open("native-with-kernel.txt");
    let threads = &native.sections[0].threads;
    assert_eq!((threads.len(), threads[0].frames.len(), threads[1].frames.len()), (2, 4, 1));
    assert!(
        matches!(&threads[0].frames[0], Frame::Kernel(kernel) if kernel.symbol == "__switch_to+0x70/0xdc")
    );
    assert_eq!(native.sections[0].main().unwrap().name.as_deref(), Some("acmeflinger"));

    let tombstone = open("tombstone.txt");
    let section = &tombstone.sections[0];
    assert_eq!(
        (section.pid, section.cmdline.as_deref(), section.threads.len()),
        (Some(500), Some("com.acme.shop"), 2)
    );
    assert_eq!((section.threads[0].sys_tid, section.threads[0].frames.len()), (Some(512), 2));
    assert_eq!(section.main().unwrap().sys_tid, Some(500));

    let play = open("play-console.txt");
    let section = &play.sections[0];
    assert!(section.threads.iter().all(|t| t.form == ThreadForm::PlayConsole));
    assert_eq!((section.threads[0].frames.len(), section.threads[1].frames.len()), (3, 2));
    assert_eq!(LockGraph::from(section).edges[0].to, 12);

    let crashlytics = open("crashlytics.txt");
    let section = &crashlytics.sections[0];
    assert_eq!(
        (section.threads.len(), section.threads[0].frames.len(), section.threads[0].sys_tid),
        (2, 4, Some(18961))
    );
    assert_eq!(section.threads[1].state.as_deref(), Some("timed waiting"));

    let logcat = open("logcat.txt");
    let section = &logcat.sections[0];
    assert_eq!((section.declared_threads, section.threads.len()), (Some(2), 2));
    assert_eq!(section.threads[0].held_mutexes, ["mutator lock (shared held)"]);
    assert_eq!(section.threads[1].locks[0].kind, LockKind::SleepingOn);

    let quoted = open("quoted.txt");
    let threads = &quoted.sections[0].threads;
    assert_eq!((threads.len(), threads[0].frames.len()), (1, 3));
    let Frame::Java(create) = &threads[0].frames[1] else { panic!() };
    assert_eq!(create.or, ["com.acme.lib.Jobs.instance", "com.acme.lib.Jobs.cancel"]);
}

#[test]
fn a_frozen_process_and_a_truncated_text_are_reported() {
    let frozen = open("frozen.txt");
    assert_eq!(frozen.warnings.len(), 2, "{:?}", frozen.warnings);
    assert!(frozen.warnings[1].contains("did not respond, are not in this text"), "{:?}", frozen.warnings);
    let page_of_frozen = page(&frozen);
    assert!(page_of_frozen.contains("2 do_freezer_trap: frozen by the system"), "{page_of_frozen}");
    let cut = open("cut.txt");
    assert_eq!(cut.sections[0].threads[0].group.as_deref(), Some("main"));
    assert_eq!(cut.warnings.len(), 2, "{:?}", cut.warnings);
    assert!(cut.warnings[1].contains("3 threads; 1 are there"), "{:?}", cut.warnings);
}

#[test]
fn long_running_methods_are_read() {
    let dump = open("art17-long-methods.txt");
    let long = dump.sections[0].long_methods.as_ref().unwrap();
    let runs: Vec<_> = long
        .runs
        .iter()
        .map(|r| (r.thread.as_deref().unwrap(), r.method.as_str(), r.depth, r.end_us))
        .collect();
    assert_eq!(
        runs,
        [
            ("main", "com.acme.Main.work", 0, None),
            ("main", "com.acme.Main.parse", 1, Some(1_700_000)),
            ("pool 1", "a.b.c", 0, Some(400_005))
        ]
    );
    assert!(dump.sections[0].ended);
    let page = page(&dump);
    assert!(page.contains("main 12:   com.acme.Main.parse (500.0 ms)"), "{page}");
    assert!(page.contains("main 12: com.acme.Main.work (still running)"), "{page}");
}

/// The form of newer builds, which leaves the thread names to the dump; and the intermediate one.
#[test]
fn long_running_methods_in_base64_are_read_and_raw_ones_are_skipped_with_a_warning() {
    let dump = open("art17-long-methods-base64.txt");
    let long = dump.sections[0].long_methods.as_ref().unwrap();
    let runs: Vec<_> =
        long.runs.iter().map(|r| (r.thread.as_deref(), r.method.as_str(), r.depth, r.end_us)).collect();
    assert_eq!(
        runs,
        [
            (Some("main"), "com.acme.Main.work", 0, None),
            (Some("main"), "com.acme.Main.parse", 1, Some(1_700_000))
        ]
    );
    assert!(dump.warnings.is_empty() && dump.sections[0].ended, "{:?}", dump.warnings);
    let text = std::fs::read_to_string(data("art17-long-methods-base64.txt")).unwrap();
    let (before, rest) = text.split_once("LongRunningMethods: ").unwrap();
    let raw = format!("{before}LongRunningMethods: \u{2}\u{c}\0\n{}", rest.split_once('\n').unwrap().1);
    let dump = Dump::read(Path::new("raw"), raw.as_bytes()).unwrap();
    assert!(dump.sections[0].long_methods.is_none() && dump.sections[0].threads.len() == 1);
    assert!(dump.warnings.iter().any(|w| w.contains("times have no unit")), "{:?}", dump.warnings);
}

#[test]
fn packed_texts_are_unpacked_and_cut_ones_read_as_far_as_they_go() {
    let text = std::fs::read(data("art14-deadlock.txt")).unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&text).unwrap();
    let packed = packer.finish().unwrap();
    let whole = Dump::read(Path::new("x"), packed.as_slice()).unwrap();
    assert_eq!(whole, open("art14-deadlock.txt"));
    let cut = Dump::read(Path::new("x"), &packed[..packed.len() - 200]).unwrap();
    assert!(
        cut.warnings.iter().any(|warning| warning.contains("the packed text is cut off")),
        "{:?}",
        cut.warnings
    );
}

#[test]
fn what_is_no_dump_is_refused_by_file_and_offset() {
    for (text, offset) in
        [("", 0), ("\n\nSubject: lunch\nat noon. (yes)\n", 2), ("com.acme.Main -> a.b:\n", 0)]
    {
        let error = Dump::read(Path::new("a.txt"), text.as_bytes()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("cannot read a.txt: offset {offset}: no thread dump"))
                && message.contains("give the text"),
            "{message}"
        );
        assert!(matches!(error, DumpError::NoDump { length, .. } if length == text.len() as u64));
    }
    let error = Dump::open(Path::new("no/such/file")).unwrap_err();
    assert!(matches!(error, DumpError::Read { offset: 0, .. }), "{error}");
}

#[test]
fn one_thread_or_all_of_them_can_be_selected() {
    let dump = open("art14-deadlock.txt");
    let written = |options: &PageOptions| {
        let mut page = String::new();
        dump.write_page(&mut page, options).unwrap();
        page
    };
    let one = written(&PageOptions { all: false, thread: Some("OkHttp".into()) });
    assert!(one.contains("\"OkHttp api.acme.com\"") && !one.contains("Signal Catcher"), "{one}");
    let all = written(&PageOptions { all: true, thread: None });
    for thread in &dump.sections[0].threads {
        assert!(all.contains(&thread.title()), "{} is not in\n{all}", thread.title());
    }
}

#[test]
fn what_is_written_piece_by_piece_is_the_document_as_a_whole() {
    let names = ["art14-deadlock.txt", "art8-holder-not-named.txt", "frozen.txt", "art17-long-methods.txt"];
    let dumps: Vec<(String, Dump)> = names.iter().map(|name| ((*name).to_owned(), open(name))).collect();
    let named: Vec<(String, &Dump)> = dumps.iter().map(|(name, dump)| (name.clone(), dump)).collect();
    let mut written = Vec::new();
    answers::dump_report::write_json(&named, None, &mut written).unwrap();
    let (mut files, mut sections) = (Vec::new(), Vec::new());
    for (name, dump) in &dumps {
        let mut value = dump.to_json(name);
        let own = value.as_object_mut().unwrap().remove("sections").unwrap();
        for section in own.as_array().unwrap() {
            let mut section = section.clone();
            section["file"] = serde_json::json!(name);
            sections.push(section);
        }
        files.push(value);
    }
    assert!(sections.len() > 4 && sections.iter().any(|s| !s["long_methods"].is_null()));
    let whole = serde_json::json!({"files": files, "sections": sections});
    assert_eq!(String::from_utf8(written).unwrap(), format!("{whole:#}"));
    let mut one = Vec::new();
    answers::dump_report::write_json(&named[..1], Some("SyncWorker"), &mut one).unwrap();
    let one: serde_json::Value = serde_json::from_slice(&one).unwrap();
    assert_eq!(one["sections"][0]["threads"].as_array().unwrap().len(), 1);
}
