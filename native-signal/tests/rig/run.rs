//! Runs cases: as the judge, or in a process of its own as the player of one.

use super::{cases, driver, page};
use std::panic::catch_unwind;
use std::process::exit;

/// One situation.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Runs on the first thread of a process of its own.
    pub(crate) play: fn(&'static page::Page),
    /// Runs in the sender's process; panics if the claim does not hold.
    pub(crate) judge: fn(&mut driver::Played),
}

/// The program.
pub(crate) fn run() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, name, page] = &arguments[..]
        && role == driver::ROLE
    {
        let case = cases::all().find(|case| case.name == name).expect("the parent knows the case");
        (case.play)(page::Page::open(page));
        return;
    }
    if arguments.iter().any(|argument| argument == "--list") {
        cases::all().for_each(|case| println!("{}: test", case.name));
        return;
    }
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let chosen =
        cases::all().filter(|case| words.is_empty() || words.iter().any(|word| case.name.contains(*word)));
    let (mut passed, mut failed) = (0, Vec::new());
    for case in chosen {
        let outcome = catch_unwind(|| {
            let mut played = driver::Played::start(&case);
            (case.judge)(&mut played);
            played.end();
        });
        match outcome {
            Ok(()) => {
                println!("case {} ... ok", case.name);
                passed += 1;
            }
            Err(_) => {
                println!("case {} ... FAILED", case.name);
                failed.push(case.name);
            }
        }
    }
    println!("\nrig: {passed} passed; {} failed {}", failed.len(), failed.join(" "));
    exit(i32::from(!failed.is_empty()));
}
