//! The memory use of `anrscope dump --json`, counted by the allocator.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use answers::dump::Dump;
use answers::dump_report::write_json;
use test_support::memory::taken_by;

/// Threads that wait for each other in one chain.
fn chain(threads: u32) -> String {
    let mut text = String::from("----- pid 7 at 2026-01-01 00:00:00 -----\nCmd line: com.example\n\n");
    for tid in 1..=threads {
        let _ = write!(
            text,
            "\"thread-{tid}\" prio=5 tid={tid} Blocked\n  | sysTid={tid} nice=0\n  at com.example.Store.get(Store.java:{tid})\n  \
             - waiting to lock <0x{tid:08x}> (a com.example.Store) held by thread {}\n\n",
            tid + 1
        );
    }
    text.push_str("----- end 7 -----\n");
    text
}

/// Counts what is written.
struct Written(u64);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_memory_of_json_is_a_small_multiple_of_the_text_and_not_of_what_is_written() {
    let text = chain(60_000);
    let mut written = Written(0);
    let mut dump = None;
    let read = taken_by(|| dump = Some(Dump::read(Path::new("dump"), text.as_bytes()).unwrap()));
    let dump = dump.unwrap();
    assert_eq!(dump.sections[0].threads.len(), 60_000);
    let json = taken_by(|| write_json(&[("dump".to_owned(), &dump)], None, &mut written).unwrap());
    assert!(json < 2 * text.len(), "{json} bytes beside the dump, for {}", text.len());
    assert!(read < 16 * text.len(), "{read} bytes for {}", text.len());
    assert!(written.0 > 5 * text.len() as u64, "{} bytes written", written.0);
}
