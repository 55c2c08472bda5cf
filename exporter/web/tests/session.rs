//! What the page's module does with good and with hostile files, natively.

use std::io::Write as _;

use anrscope_web::{Role, Session, add, answer, html, input, output, output_length, trace};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use serde_json::Value;
use trace_format::MapId;
use trace_format::synth::RecordingBuilder;

const MAP: &str = "7,1,com.example.Main onCreate ()V\n";
const DUMP: &str = include_str!("../../answers/tests/data/dump/art14-deadlock.txt");
const BUGREPORT: &[u8] = include_bytes!("../../answers/tests/data/bugreport.zip");
const RECORDING: &[u8] = include_bytes!("../../tests/data/shop.anrscope.gz");

/// A recording of the build of [`MAP`].
fn recording() -> Vec<u8> {
    RecordingBuilder::new(42, "com.example")
        .map_id(MapId::from_lines([MAP.trim_end()]))
        .main("main", |t| {
            t.enter(2_000, 7).exit(3_000, 7);
        })
        .build()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn session(files: &[(&str, &[u8])]) -> Session {
    let mut session = Session::default();
    for (name, bytes) in files {
        session.add(name, bytes.to_vec()).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    }
    session
}

fn refusal(files: &[(&str, &[u8])]) -> String {
    let mut session = Session::default();
    let added = files.iter().try_for_each(|(name, bytes)| session.add(name, bytes.to_vec()).map(drop));
    added.and_then(|()| session.answer().map(drop)).unwrap_err().to_string()
}

fn text(answer: &Value) -> String {
    answer["parts"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect()
}

#[test]
fn a_recording_has_an_answer_a_trace_and_an_html_report_with_names_from_its_map() {
    let session = session(&[("a.anrscope", &recording()), ("methodMapping.txt", MAP.as_bytes())]);
    let answer = session.answer().unwrap();
    assert_eq!((&answer["kind"], &answer["trace"]), (&"recording".into(), &"a.pftrace".into()));
    assert_eq!(answer["warnings"], serde_json::json!([]));
    assert!(text(&answer).starts_with("No hang in com.example (pid 42): "), "{answer:#}");
    let trace = session.trace().unwrap();
    // A trace is one field of `Trace` after the other.
    assert_eq!((trace.len() > 300, trace[0]), (true, 0x0A), "{} bytes", trace.len());
    assert!(session.html().unwrap().contains("com.example.Main.onCreate"));
}

#[test]
fn names_may_come_before_and_after_their_recording_and_packed() {
    let whole = session(&[("a.anrscope", &recording()), ("m.txt", MAP.as_bytes())]).html().unwrap();
    let (map, packed_recording) = (packed(MAP.as_bytes()), packed(&recording()));
    let other = session(&[
        ("m.txt.gz", &map),
        ("m.txt.lines", b"7,Main.java,12\n"),
        ("a.anrscope", &packed_recording),
    ]);
    assert!(other.html().unwrap().contains("com.example.Main.onCreate"));
    assert_ne!(whole, "");
}

#[test]
fn r8s_mapping_restores_a_dumps_names() {
    let obfuscated = include_bytes!("../../answers/tests/data/dump/obfuscated.txt");
    let mapping = include_bytes!("../../answers/tests/data/dump/mapping-r8.txt");
    let mut both = Session::default();
    assert_eq!(both.add("mapping.txt", mapping.to_vec()).unwrap(), Role::Names);
    assert_eq!(both.add("obfuscated.txt", obfuscated.to_vec()).unwrap(), Role::Input);
    let restored = both.answer().unwrap();
    assert_ne!(text(&restored), text(&session(&[("obfuscated.txt", obfuscated)]).answer().unwrap()));
}

#[test]
fn a_bug_report_has_all_its_dumps_with_their_names_above_them() {
    let answer = session(&[("bugreport.zip", BUGREPORT)]).answer().unwrap();
    assert_eq!(answer["parts"].as_array().unwrap().len(), 4);
    let text = text(&answer);
    assert!(text.starts_with("== bugreport.zip:FS/data/anr/anr_2026-01-01-11-00-00-456\n"), "{text}");
    assert_eq!(text.matches("\n\n== bugreport.zip:").count(), 3, "{text}");
}

#[test]
fn a_file_that_the_page_does_not_read_is_refused_with_what_it_is_and_what_to_do() {
    let twice = refusal(&[("a.txt", DUMP.as_bytes()), ("b.txt", DUMP.as_bytes())]);
    assert!(twice.starts_with("b.txt is the second file to analyse. Drop one "), "{twice}");
    for (name, bytes, reason) in [
        (
            "x.pftrace",
            &b"\x0a\x12\x40\x01\x52"[..],
            "x.pftrace is a Perfetto trace. It is ready for a viewer: open it at ui.perfetto.dev",
        ),
        ("x.json", b"{\"traceEvents\":[]}", "x.json is a trace in Chrome's JSON. "),
        ("x.jar", BUGREPORT, "x.jar is an archive of classes. "),
        ("empty", b"", "empty is empty. Save or copy it again"),
        ("note.txt", b"Dear all,\n", "cannot read note.txt: "),
        ("x.zip", b"PK\x03\x04", "cannot read x.zip as a zip archive: "),
        ("methodMapping.txt", MAP.as_bytes(), "These files only restore names."),
        ("m.txt", b"7,1,a.B c\n7,1,a.B c\n", "cannot read m.txt:2: "),
        ("m.txt.lines", b"\xff\xfe\xff", "m.txt.lines is no text"),
        ("cut.anrscope.gz", &packed(&recording())[..60], "cut.anrscope.gz cannot be unpacked"),
        ("a.anrscope", &recording()[..4000], "cannot read a.anrscope: "),
    ] {
        let refusal = refusal(&[(name, bytes)]);
        assert!(refusal.starts_with(reason), "{refusal}");
    }
    let dump = session(&[("a.txt", DUMP.as_bytes())]);
    assert!(dump.trace().unwrap_err().to_string().contains("drop an *.anrscope file"));
}

#[test]
fn texts_that_turn_the_direction_around_are_shown_as_a_sign_of_that() {
    let dump = DUMP.replace("com.acme", "com.\u{202e}acme");
    let answer = session(&[("a.txt", dump.as_bytes())]).answer().unwrap().to_string();
    assert!(answer.contains("com.\u{fffd}acme") && !answer.contains('\u{202e}'), "{answer}");
    assert!(!refusal(&[("a\u{202e}b", b"hello")]).contains('\u{202e}'));
}

/// The functions that the page calls. The state is one for each thread, as for each instance of the module.
#[test]
fn the_exported_functions_take_bytes_and_leave_their_result() {
    let give = |name: &str, bytes: &[u8]| {
        let length = bytes.len() + name.len();
        let at = input(u32::try_from(length).unwrap());
        // SAFETY: `input` returned the start of this many bytes, which nothing else uses before `add`.
        let room = unsafe { std::slice::from_raw_parts_mut(at, length) };
        room[..bytes.len()].copy_from_slice(bytes);
        room[bytes.len()..].copy_from_slice(name.as_bytes());
        add(u32::try_from(name.len()).unwrap())
    };
    // SAFETY: the result stays where it is until the next call, and is copied here.
    let result = || unsafe { std::slice::from_raw_parts(output(), output_length() as usize) }.to_vec();
    assert_eq!(answer(), 1);
    assert!(String::from_utf8(result()).unwrap().starts_with("These files only restore names."));
    assert_eq!((give("empty", b""), result().starts_with(b"empty is empty.")), (1, true));
    assert_eq!((give("m.txt", MAP.as_bytes()), result()), (0, b"names".to_vec()));
    assert_eq!((give("a.anrscope", &recording()), result()), (0, b"input".to_vec()));
    assert_eq!(answer(), 0);
    assert_eq!(serde_json::from_slice::<Value>(&result()).unwrap()["kind"], "recording");
    assert_eq!((html(), result().starts_with(b"<!doctype html>")), (0, true));
    assert_eq!(trace(), 0);
    assert_eq!(
        result(),
        session(&[("a.anrscope", &recording()), ("m.txt", MAP.as_bytes())]).trace().unwrap()
    );
    // A name longer than what was given takes all of it.
    input(3);
    assert_eq!(add(u32::MAX), 1);
}

/// Every call returns; what it returns does not matter.
fn survives(name: &str, bytes: Vec<u8>) {
    let mut session = Session::default();
    let _ = session.add(name, bytes);
    let _ = (session.answer(), session.trace(), session.html());
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut content).unwrap();
    content
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(name in ".{0,20}", bytes in prop::collection::vec(any::<u8>(), 0..4000), kind in 0..6_usize) {
        let start: &[u8] = [&b""[..], &trace_format::layout::MAGIC, b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\"main\" prio=5 tid=1 Blocked\n", b"1,1,a.B c\n"][kind];
        survives(&name, [start, &bytes].concat());
    }

    #[test]
    fn no_cut_or_damage_of_a_good_file_makes_it_panic(which in 0..5_usize, at in 0.0..1.0_f64, flip in 0.0..1.0_f64, bit in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = [DUMP.as_bytes().to_vec(), BUGREPORT.to_vec(), RECORDING.to_vec(), unpacked(RECORDING), recording()][which].clone();
        let place = |part: f64, length: usize| (part * length as f64) as usize;
        if cut {
            bytes.truncate(place(at, bytes.len()));
        }
        let flip = place(flip, bytes.len());
        if let Some(byte) = bytes.get_mut(flip) {
            *byte ^= bit;
        }
        survives("file", bytes);
    }
}
