//! The bytes of events, against those that the engine took.

use std::path::Path;

use trace_format::sections::process::Process;

use super::*;
use crate::MethodMap;
use crate::model::{Names, ThreadInfo};

const START: u64 = 1_000_000_000_000;

fn process() -> ProcessInfo {
    let main = ThreadInfo { tid: 42, recorded_tid: 42, name: Some("main".to_owned()), main: true, rank: 0 };
    ProcessInfo {
        pid: 42,
        uid: 0,
        name: "p".to_owned(),
        started: START,
        description: None,
        system: Process::default(),
        plain_tids: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        threads: vec![main],
    }
}

/// The bytes that `fill` writes on the first thread, in hexadecimal digits.
fn written(fill: impl FnOnce(&mut PerfettoWriter<&mut Vec<u8>>)) -> String {
    let run = |fill: &mut dyn FnMut(&mut PerfettoWriter<&mut Vec<u8>>)| {
        let mut out = Vec::new();
        let mut writer = PerfettoWriter::new(&mut out, 0, true, 0, 52);
        writer.head(START, &[]).unwrap();
        writer.process(&process()).unwrap();
        writer.track(Track::Thread(0)).unwrap();
        fill(&mut writer);
        writer.finish(&[]).unwrap();
        out
    };
    let before = run(&mut |_| ()).len();
    let mut fill = Some(fill);
    let all = run(&mut |writer| fill.take().expect("called once")(writer));
    all[before..].iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn events_have_the_bytes_that_the_engine_took() {
    // perfetto.md §1.1.
    let map = MethodMap::parse(Path::new("m"), b"7,1,A b ()V".to_vec()).unwrap();
    let names = Names::new(Some(&map));
    let begin_with_new_name = "0a1640dc0b50016209120708011203412e625a0448015001";
    let end = "0a0940dc0b50015a024802";
    let end_at_once = "0a08400050015a024802";
    let again = "0a0b40dc0b50015a0448015001";
    let bytes = written(|w| {
        w.begin(START + 1500, Name::Method(7, &names), &[]).unwrap();
        w.begin(START + 3000, Name::Method(7, &names), &[]).unwrap();
        w.end(START + 4500, &[]).unwrap();
        w.end(START + 4500, &[]).unwrap();
    });
    assert_eq!(bytes, [begin_with_new_name, again, end, end_at_once].concat());
}

#[test]
fn a_name_with_a_large_number_too() {
    let names = Names::new(None);
    let bytes = written(|w| {
        for id in 1..=300 {
            w.begin(START, Name::Method(id, &names), &[]).unwrap();
        }
        w.begin(START + 1500, Name::Method(300, &names), &[]).unwrap();
    });
    assert!(bytes.ends_with("0a0c40dc0b50015a05480150ac02"), "{bytes}");
}
