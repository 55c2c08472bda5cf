//! Recordings that the recorder wrote are read whole.

use std::path::Path;

use exporter::{MethodMap, Report};
use test_support::recordings::collect::collect;
use test_support::recordings::recorded::{app_life, shop};
use trace_format::{Recording, layout};

/// Asserts that a recording is of this version and undamaged, and that its page has these facts.
#[track_caller]
fn assert_page_has(bytes: &[u8], map: &MethodMap, facts: &[&str]) {
    let recording = Recording::open(bytes).unwrap();
    assert_eq!(recording.header().version, (layout::MAJOR, layout::MINOR));
    assert_eq!(recording.faults().0, &[][..]);
    assert!(map.is_empty() || recording.header().map_id == map.map_id());
    let page = Report::build(Path::new("a"), &recording, map).unwrap().verbose().to_string();
    for fact in facts {
        assert!(page.contains(fact), "{fact}: {page}");
    }
}

#[test]
fn the_shop_has_its_wait_its_pause_and_its_cost() {
    let (bytes, map) = shop();
    let facts = [
        "30.4 ms  at +0.008 s  for the lock of java.lang.Object (0x257a7019), owned by \"worker\", in com.example.Shop.checkout",
        "paused from +0.038 s to +0.058 s",
        "com.example.Shop.price (asked for)",
        "9.4 ns an event",
    ];
    assert_page_has(&bytes, &map, &facts);
    let (_, tally) = collect(&bytes, &map);
    assert_eq!((tally.slices, tally.methods_off, tally.skipped, tally.faults), (18, 1, 0, 0));
    assert!(tally.paused >= 20_000_000 && tally.main_cost_ppm < 10_000, "{tally:?}");
}

#[test]
fn the_apps_life_has_its_anrs_its_samples_and_its_starts() {
    let bytes = app_life();
    let facts = [
        "main thread blocked for 5.6 s; ",
        "56 of 56 samples of main's stack are in java.lang.Thread.sleep",
        "56/56    dev.anrscope.AppLife.lambda$life$26 (AppLife.java:162)",
        "the system lists us as not responding (poll 1)",
        "5.614 s  TRAVERSAL",
        "the watchdog noticed after 1.000 s",
        "cold of AppScript$Home: 164 ms (good)",
    ];
    assert_page_has(&bytes, &MethodMap::empty(), &facts);
    let (_, tally) = collect(&bytes, &MethodMap::empty());
    assert_eq!((tally.slices, tally.anrs, tally.skipped, tally.faults), (377, 2, 0, 0));
    assert_eq!(Recording::open(&bytes).unwrap().native_slots().unwrap(), []);
}
