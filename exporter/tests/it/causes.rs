//! Checks the evidence of the causes. `answers` checks which cause is right.

use std::path::Path;
use test_support::scenario;

use exporter::Report;

const CASES: &str = include_str!("../data/causes.txt");

#[test]
fn every_cause_has_evidence_and_nothing_is_claimed_without() {
    let (cases, _) = scenario::cases(CASES);
    for case in &cases {
        let (recording, map) = scenario::recording(case);
        let report = Report::build(Path::new(&case.name), &recording, &map).unwrap();
        let Some(cause) = report.cause else {
            assert_eq!(case.name, "nothing-hung");
            continue;
        };
        assert!(!cause.evidence.is_empty(), "{}: {cause:?}", case.name);
        assert!(cause.evidence.iter().all(|e| !e.text.is_empty()));
    }
}
