//! An exception that passes through ten calls closes each of them at the right time.

use crate::end_to_end::{number, recording, traced};
use test_support::engine;
use test_support::temp_dir::TempDir;

#[test]
fn an_exception_closes_every_call_that_it_leaves() {
    let directory = TempDir::new();
    let (trace, kept, shown) =
        traced(&directory, "DeepThrow", &["--resolution", "exact", "--max-overhead", "0"]);
    // System.nanoTime is CLOCK_MONOTONIC, the trace's axis CLOCK_BOOTTIME.
    let start = recording(kept.as_ref()).header().start;
    let ahead = start.boottime.wrapping_sub(start.monotonic);
    let notes: Vec<[u64; 4]> = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| {
            let times: Vec<u64> =
                line.split(' ').map(|t| t.parse::<u64>().unwrap().wrapping_add(ahead)).collect();
            times.try_into().unwrap()
        })
        .collect();
    assert_eq!(notes.len(), 1_000);

    let rows = engine::rows(
        trace.as_ref(),
        "select ts, dur, depth, arg_set_id from slice where name = 'DeepThrow.deep' order by ts",
    );
    assert_eq!(rows.len(), notes.len());
    // The two clocks were read one after the other.
    let slack = 20_000;
    for (i, (row, [before, inside, out, after])) in rows.iter().zip(notes).enumerate() {
        let (begin, end) = (number(row, "ts"), number(row, "ts") + number(row, "dur"));
        assert!(before <= begin + slack && begin <= inside + slack, "call {i}: {row}");
        assert!(out <= end + slack && end <= after + slack, "call {i}: {row}");
        // main > caught > (call > deep) ten times over.
        assert_eq!(number(row, "depth"), 3 + 2 * (i as u64 % 10), "call {i}: {row}");
        assert!(
            row["arg_set_id"].is_null(),
            "call {i} was closed by its own exit, not by the exporter: {row}"
        );
    }
}
