//! Damages to right code, and how many of them are noticed.

use std::collections::BTreeMap;

use dex_verifier::{self_check, verify};

const VALID: &[u8] = include_bytes!("../data/valid.dex");

#[test]
fn what_d8_writes_has_no_findings() {
    let report = verify(VALID).expect("the tables are whole");
    assert_eq!((report.classes, report.methods, report.findings), (1, 9, vec![]));
}

#[test]
fn most_damages_are_noticed() {
    let shares = self_check(&[VALID], 1).expect("the tables are whole");
    let percent: BTreeMap<_, _> =
        shares.iter().map(|share| (share.kind, 100 * share.noticed / share.made)).collect();
    // The rest is right by chance: the other register holds the same type, the other field has the same one.
    for (kind, least) in [
        ("a branch goes one unit farther", 80),
        ("a constant is removed", 80),
        ("a constructor call is removed", 100),
        ("a handler starts one instruction later", 50),
        ("a handler starts one unit earlier", 50),
        ("a return, throw or goto is removed", 60),
        ("a try range ends as late as possible", 60),
        ("a try range starts as early as possible", 60),
        ("an access uses the next field of the table", 100),
        ("an invoke calls the next method of the table", 90),
        ("an invoke is removed", 80),
        ("an invoke passes another first register", 50),
        ("an invoke passes one register less", 90),
        ("another register is read", 70),
        ("another register is written", 80),
        ("check-cast is removed", 60),
        ("monitor-enter or monitor-exit is removed", 70),
        ("move-exception is removed", 40),
        ("move-result is removed", 40),
    ] {
        let found = percent.get(kind).copied();
        assert!(found.is_some_and(|found| found >= least), "{kind}: {found:?} of 100, expected {least}");
    }
}
