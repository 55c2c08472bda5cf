//! The life of an app that puts a marker in every place where it can set a text (`MarkersLife.java`), its
//! ANR, its death and the next start.

use std::path::PathBuf;

use memchr::memmem;

use super::Case;
use super::lifetime::app_recordings;

/// Places of the app's texts, and of the system's texts about it; two more are numbers.
const PLACES: u32 = 33;
/// `Message.arg1` and `arg2`.
const NUMBERS: [(&str, u32); 2] = [("1717171717", 34), ("1818181818", 35)];

/// What is recorded without `redact`, as docs/configuration.md lists: a mark, a counter, a scene, refused
/// options, a callback's and a handler's first word, names of threads; a description, and a dump's threads,
/// thread groups and subject.
pub const ITS_OWN: [u32; 13] = [1, 2, 3, 4, 5, 6, 8, 22, 24, 30, 31, 32, 33];

/// The system's dump of the process.
fn dump(pid: &str) -> String {
    let lock = |tid: u32, holder: u32| {
        format!("  - waiting to lock <0x{tid}> (a java.lang.Object) held by thread {holder}\n\n")
    };
    [
        "Subject: Broadcast of Intent { act=zqmark33.ACTION (has extras) }\n----- pid ",
        pid,
        " at 2026-01-01 00:00:00 -----\n\"main\" prio=5 tid=1 Blocked\n  | group=\"zqmark32\" sCount=1\n  | sysTid=",
        pid,
        " nice=-10\n  at com.example.Shop.pay(Shop.java:7)\n",
        &lock(1, 2),
        "\"zqmark31 it's\" prio=5 tid=2 Blocked\n  | group=\"main\" sCount=1\n  at com.example.Shop.sync(Shop.java:9)\n",
        &lock(2, 1),
    ]
    .concat()
}

/// Runs the app's life: what its listeners received and what it read from the library in the log, and its
/// recordings.
pub fn live(case: impl Fn() -> Case, redact: &str) -> (String, Vec<PathBuf>) {
    let first = case().sdk(36).word("lives").word(redact).dies().run();
    let pid = first.lines("pid").next().unwrap_or_else(|| panic!("{}", first.printed)).to_owned();
    let directory = case().directory();
    let file = directory.join("trace.txt");
    std::fs::write(&file, dump(&pid)).unwrap();
    let next = ["next", redact, &pid, file.to_str().unwrap()];
    let second = next.iter().fold(case().sdk(36), |case, word| case.word(word)).run_again();
    (first.printed + &second.printed, app_recordings(&directory))
}

/// The places whose marker is in these bytes.
pub fn found(bytes: &[u8]) -> Vec<u32> {
    let has = |marker: &str| memmem::find(bytes, marker.as_bytes()).is_some();
    let texts = (1..=PLACES).filter(|place| has(&format!("zqmark{place:02}")));
    texts.chain(NUMBERS.into_iter().filter(|(number, _)| has(number)).map(|(_, place)| place)).collect()
}
