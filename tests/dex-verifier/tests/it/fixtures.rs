//! Methods that are wrong on purpose, one rule each, and right ones beside them. See `data/README.md`.

use std::collections::{BTreeMap, BTreeSet};

use dex_verifier::{Inserted, Report, Severity, verify, verify_app};

/// Finding texts by method: `name(I)V`.
type Expected = BTreeMap<String, BTreeSet<String>>;

/// Reads the `# expect` lines in front of each method of a smali text.
fn expectations(smali: &str) -> Expected {
    let mut expected = Expected::new();
    let mut pending = BTreeSet::new();
    for line in smali.lines() {
        if let Some(finding) = line.strip_prefix("# expect ") {
            pending.insert(finding.to_owned());
        } else if let Some(method) = line.strip_prefix(".method ") {
            let name = method.rsplit(' ').next().expect("a method has a name");
            expected.insert(name.to_owned(), std::mem::take(&mut pending));
        }
    }
    expected
}

fn check(smali: &str, dex: &[u8]) {
    compare(smali, &verify(dex).expect("the tables are whole"));
}

fn compare(smali: &str, report: &Report) {
    let expected = expectations(smali);
    assert!(report.methods >= expected.len());
    let mut found: Expected = expected.keys().map(|method| (method.clone(), BTreeSet::new())).collect();
    for (method, finding) in report.all() {
        let key = format!("{}{}", method.name, method.descriptor);
        let text = format!("{}: {}", finding.severity, finding.rule);
        found.get_mut(&key).expect("the smali text has the method").insert(text);
    }
    assert_eq!(found, expected);
}

macro_rules! fixtures {
    ($($test:ident: $file:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                check(
                    include_str!(concat!("../data/", $file, ".smali")),
                    include_bytes!(concat!("../data/", $file, ".dex")),
                );
            }
        )*
    };
}

fixtures! {
    wrong_registers_are_found: "registers",
    wrong_handlers_and_results_are_found: "handlers",
    uninitialized_objects_are_found: "constructors",
    wrong_locks_are_found: "locks",
    wrong_uses_of_method_handles_are_found: "handles",
    wrong_classes_fields_arrays_and_calls_are_found: "references",
}

/// The findings of a file: method, severity and detail.
fn found(report: &Report) -> Vec<(&str, Severity, &str)> {
    report.all().map(|(method, finding)| (&*method.name, finding.severity, &*finding.detail)).collect()
}

#[test]
fn two_locks_that_may_be_one_fail_lock_verification() {
    let report = verify(include_bytes!("../data/nested-locks.dex")).expect("the tables are whole");
    let failed: BTreeSet<_> =
        found(&report).into_iter().map(|(method, severity, _)| (method, severity)).collect();
    assert_eq!(failed, BTreeSet::from([("together", Severity::Lock)]));
    let warnings = report.lock_warnings();
    assert_eq!(warnings, ["Class NestedLocks failed lock verification and will run slower."]);
}

#[test]
fn inserted_calls_that_can_throw_are_found() {
    let report = verify(include_bytes!("../data/inserted.dex")).expect("the tables are whole");
    let inserted = |name, call| (name, Severity::Inserted, call);
    let expected = [
        inserted("bare", "we"),
        inserted("caughtByTheApp", "wr"),
        inserted("continuesElsewhere", "wt"),
        inserted("losesTheErrorsOfTheApp", "wr"),
    ];
    assert_eq!(found(&report), expected);
    assert_eq!(report.inserted, Inserted { ends: 2, covered: 1 });
}

#[test]
fn classes_of_other_dex_files_are_known() {
    let (base, feature) = (include_bytes!("../data/app-base.dex"), include_bytes!("../data/app-feature.dex"));
    let smali = concat!(include_str!("../data/app-base.smali"), include_str!("../data/app-feature.smali"));
    compare(smali, &verify_app(&[feature, base]).expect("the tables are whole"));
    let alone = verify(feature).expect("the tables are whole");
    assert_eq!(alone.findings, []);
}
