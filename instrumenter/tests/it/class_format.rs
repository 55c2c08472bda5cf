//! Everything in the class file format: versions, flags, limits, and what is refused with a reason.

use std::fs;

use instrumenter::{Catalogue, Exits, Options, SkipReason, rewrite_class};

use crate::assembler::{Assembler, Body};
use crate::end_to_end::compare;
use crate::support::*;

const CALL_CLASS: &str = "dev/anrscope/MethodBeat";

fn body(code: &[u8]) -> Body {
    Body { code: code.to_vec(), max_stack: 2, max_locals: 2, ..Body::default() }
}

/// Builds a class whose only method is `main` with this body, and rewrites it.
fn main_with(body: &Body) -> (Vec<u8>, Result<Vec<u8>, SkipReason>) {
    let mut class = Assembler::new("Odd");
    class.method(9, "main", "([Ljava/lang/String;)V", body);
    let bytes = class.finish();
    let rewritten = rewrite_class(&bytes, &[40_000], CALL_CLASS, Exits::All, None).unwrap();
    let outcome = match rewritten.skipped.into_iter().next() {
        Some((_, why)) => Err(why),
        None => Ok(rewritten.bytes.unwrap()),
    };
    (bytes, outcome)
}

/// Loads and runs the class in a JVM.
fn runs(name: &str, bytes: &[u8], java: &[&str]) -> Beat {
    let directory = directory(name);
    fs::write(directory.join("Odd.class"), bytes).unwrap();
    let counts = directory.join("beat.txt");
    let property = format!("-Dbeat.out={}", text(&counts));
    let path = class_path(&[&directory, method_beat()]);
    run("java", &[java, &["-Xverify:all", &property, "-cp", &path, "Odd"]].concat());
    Beat::read(&counts)
}

#[test]
fn every_class_file_version_is_rewritten_and_kept() {
    let (bytes, _) = main_with(&body(&[177]));
    for major in 45..=70_u16 {
        for minor in [0_u16, 3, 0xFFFF] {
            let mut bytes = bytes.clone();
            bytes[4..6].copy_from_slice(&minor.to_be_bytes());
            bytes[6..8].copy_from_slice(&major.to_be_bytes());
            let new = rewrite_class(&bytes, &[1], CALL_CLASS, Exits::All, None).unwrap().bytes.unwrap();
            assert_eq!(new[..8], bytes[..8], "{major}.{minor}");
        }
    }
    for (major, newer) in [(71_u16, true), (0xFFFF, true), (44, false), (0, false)] {
        let mut bytes = bytes.clone();
        bytes[6..8].copy_from_slice(&major.to_be_bytes());
        let why = rewrite_class(&bytes, &[1], CALL_CLASS, Exits::All, None).unwrap_err();
        assert_eq!(matches!(why, SkipReason::NewerVersion { .. }), newer, "{major}: {why}");
    }
}

/// Before version 50 handlers have no frame, later they have one; every JVM accepts its own versions.
#[test]
fn versions_with_and_without_frames_run() {
    for major in [45_u8, 46, 48, 49, 50, 51, 52, 61] {
        let mut class = Assembler::new("Odd");
        let yields = class.method_ref("java/lang/Thread", "yield", "()V");
        class.method(9, "main", "([Ljava/lang/String;)V", &body(&[184, yields[0], yields[1], 177]));
        let mut bytes = class.finish();
        bytes[7] = major;
        let new = rewrite_class(&bytes, &[1], CALL_CLASS, Exits::All, None).unwrap().bytes.unwrap();
        let frames = new.windows(13).any(|window| window == b"StackMapTable");
        assert!(frames, "the name is there in any case");
        assert_eq!(runs(&format!("version{major}"), &new, &[]).enters, 1, "{major}");
    }
}

#[test]
fn preview_classes_run() {
    let directory = directory("preview");
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    javac(&classes, &["-g", "--release", "17"], &["fixture/Modern.java"]);
    // javac only marks classes that use a preview feature, and those change from version to version.
    for (path, mut bytes) in files(&classes) {
        bytes[4..6].copy_from_slice(&[0xFF, 0xFF]);
        fs::write(classes.join(path), bytes).unwrap();
    }
    compare(&directory, &classes, "fixture.Modern", &Options::default(), &["--enable-preview"])
        .assert_balanced(10);
}

#[test]
fn a_method_that_just_fits_is_traced_and_one_byte_more_is_not() {
    // Enter call 5 and its guard 4, exit call 5 and its guard 22, handler 10 and its guard 24 bytes; a nop cannot throw, but any
    // stretch has a handler.
    let room = 0xFFFF - 9 - 27 - 34;
    let of_length = |length: usize| {
        let mut code = vec![0; length - 1];
        code.push(177);
        main_with(&body(&code)).1
    };
    let largest = of_length(room).unwrap();
    assert_eq!(runs("largest", &largest, &[]).enters, 1);
    assert_eq!(of_length(room + 1), Err(SkipReason::CodeTooLarge));
    assert_eq!(of_length(0xFFFF), Err(SkipReason::CodeTooLarge));
}

#[test]
fn a_full_constant_pool_is_reported_and_a_nearly_full_one_is_used() {
    let with_entries = |entries: u32| {
        let mut class = Assembler::new("Odd");
        class.method(9, "main", "([Ljava/lang/String;)V", &body(&[177]));
        for _ in u32::from(class.pool_count())..entries {
            class.utf8("");
        }
        let bytes = class.finish();
        rewrite_class(&bytes, &[7], CALL_CLASS, Exits::All, None)
    };
    // Names and classes of the calls, the throwable, the error, the fields and the table: at most 23 entries, and the count is
    // the last index plus one.
    let nearly = with_entries(65_535 - 24).unwrap();
    assert_eq!(runs("nearly_full", &nearly.bytes.unwrap(), &[]).enters, 1);
    assert_eq!(with_entries(65_534), Err(SkipReason::ConstantPoolFull));
}

#[test]
fn the_largest_stack_and_the_last_local_are_handled() {
    let deep = |max_stack| main_with(&Body { max_stack, ..body(&[177]) }).1;
    assert!(deep(0xFFFE).is_ok());
    assert_eq!(deep(0xFFFF), Err(SkipReason::StackTooDeep));
    // A lock needs an additional local: without room for it the method is traced without its waits.
    let mut class = Assembler::new("Odd");
    class.method(0x29, "sync", "()V", &Body { max_locals: 0xFFFE, ..body(&[177]) });
    let bytes = class.finish();
    let waits = Catalogue::default();
    let rewritten = rewrite_class(&bytes, &[7], CALL_CLASS, Exits::All, Some(&waits)).unwrap();
    assert!(rewritten.bytes.is_some());
    assert_eq!(rewritten.skipped, [(0, SkipReason::Waits(Box::new(SkipReason::TooManyLocals)))]);
}

/// A local above 255 holds the lock, with the wide forms.
#[test]
fn a_lock_can_be_in_a_wide_local() {
    let mut class = Assembler::new("Odd");
    let sync = class.method_ref("Odd", "sync", "()V");
    class.method(0x29, "sync", "()V", &Body { max_locals: 300, ..body(&[177]) });
    class.method(9, "main", "([Ljava/lang/String;)V", &body(&[184, sync[0], sync[1], 177]));
    let waits = Catalogue::default();
    let rewritten = rewrite_class(&class.finish(), &[7, 8], CALL_CLASS, Exits::All, Some(&waits)).unwrap();
    assert_eq!(rewritten.skipped, []);
    let beat = runs("wide_lock", &rewritten.bytes.unwrap(), &[]);
    beat.assert_balanced(2);
    assert_eq!((beat.waits, beat.releases), (1, 1));
}

#[test]
fn subroutines_in_every_form_are_skipped_with_a_reason() {
    // jsr, jsr_w, ret, wide ret, even in unreachable code.
    for code in [&[168, 0, 4, 177, 75, 169, 0][..], &[201, 0, 0, 0, 6, 177, 75, 169, 0], &[177, 169, 0]] {
        assert_eq!(main_with(&body(code)).1, Err(SkipReason::Subroutines), "{code:?}");
    }
    assert_eq!(main_with(&body(&[177, 196, 169, 0, 1])).1, Err(SkipReason::Subroutines));
}

/// Switches at each alignment, whose padding the calls change.
#[test]
fn switches_are_padded_for_each_alignment() {
    for shift in 0..4_usize {
        let mut code = vec![0; shift];
        code.extend([3, 170]);
        let at = shift + 1;
        code.resize(code.len() + (3 - at % 4), 0);
        let end = code.len() + 16;
        let offset = (end - at) as i32;
        for word in [offset, 0, 0, offset] {
            code.extend(word.to_be_bytes());
        }
        code.push(177);
        let body = Body {
            frames: [&[251][..], &(end as u16).to_be_bytes()].concat(),
            frame_count: 1,
            ..body(&code)
        };
        let (_, new) = main_with(&body);
        assert_eq!(runs(&format!("switch{shift}"), &new.unwrap(), &[]).enters, 1);
    }
}

/// Native and abstract methods have no code, and a module description has no methods; both are copied.
#[test]
fn methods_without_code_are_copied() {
    let directory = directory("no_code");
    let sources = directory.join("src");
    fs::create_dir(&sources).unwrap();
    fs::write(sources.join("module-info.java"), "module odd.one { requires java.logging; }").unwrap();
    fs::write(
        sources.join("Odd.java"),
        "package p; abstract class Odd { native void n(); abstract void a(); void c() { n(); } }",
    )
    .unwrap();
    let classes = directory.join("classes");
    run(
        "javac",
        &["-d", text(&classes), text(&sources.join("module-info.java")), text(&sources.join("Odd.java"))],
    );
    let summary = instrument_one(&classes, &directory.join("out"), &Options::default());
    assert_eq!((summary.traced, summary.skipped.len()), (1, 0));
    let module = |directory: &std::path::Path| fs::read(directory.join("module-info.class")).unwrap();
    assert_eq!(module(&classes), module(&directory.join("out")));
}

/// Obfuscators use names that are invalid in source code, and drop tables; the instrumenter treats names as bytes.
#[test]
fn names_that_are_invalid_in_source_code_are_handled() {
    let mut class = Assembler::new("a/\u{3b1}\u{2028}");
    let yields = class.method_ref("java/lang/Thread", "yield", "()V");
    for name in ["if", "\u{1f600}", "a b", "1"] {
        class.method(9, name, "()V", &body(&[184, yields[0], yields[1], 177]));
    }
    let rewritten = rewrite_class(&class.finish(), &[1, 2, 3, 4], CALL_CLASS, Exits::All, None).unwrap();
    assert_eq!((rewritten.skipped.len(), rewritten.bytes.is_some()), (0, true));
}

/// A hostile table cannot make the work grow quadratically: the method is still traced.
#[test]
fn the_product_of_waits_and_handlers_is_bounded() {
    let mut class = Assembler::new("Odd");
    let sleep = class.method_ref("java/lang/Thread", "sleep", "(J)V");
    let mut code = Vec::new();
    for _ in 0..4_000 {
        code.extend([9, 184, sleep[0], sleep[1]]);
    }
    let handler = code.len() as u16 + 1;
    code.extend([177, 191]);
    let handlers = (0..40_000).map(|n| [n % 25 * 4, 16_000, handler, 0]).collect();
    let frames = [
        &[255][..],
        &handler.to_be_bytes(),
        &[0, 0, 0, 1, 7],
        &class.class("java/lang/Throwable").to_be_bytes(),
    ];
    let body = Body { code, handlers, frames: frames.concat(), frame_count: 1, max_stack: 2, max_locals: 1 };
    class.method(9, "main", "([Ljava/lang/String;)V", &body);
    let bytes = class.finish();
    let waits = Catalogue::default();
    let rewritten = rewrite_class(&bytes, &[7], CALL_CLASS, Exits::All, Some(&waits)).unwrap();
    assert_eq!(rewritten.skipped, [(0, SkipReason::Waits(Box::new(SkipReason::TableFull)))]);
    assert!(rewritten.bytes.unwrap().len() < 2 * bytes.len());
}
