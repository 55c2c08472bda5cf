//! Runs cases: as the judge, or in a process of its own as the simulated app of one.

use super::{cases, control, driver, latency, page, random, second};
use std::panic::catch_unwind;
use std::process::exit;

/// One situation.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Runs on the first thread of a process of its own.
    pub(crate) simulate: fn(&'static page::Page),
    /// Runs in the sender's process; panics if the claim does not hold.
    pub(crate) judge: fn(&mut driver::Subject),
}

/// The program.
pub(crate) fn run() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, name, page] = &arguments[..]
        && role == driver::ROLE
    {
        let mut all = cases::all().chain(latency::SIMULATED_APPS);
        let case = all.find(|case| case.name == name).expect("the parent knows the case");
        (case.simulate)(page::Page::open(page));
        return;
    }
    match arguments.split_first() {
        Some((word, words)) if word == random::SIMULATE => return random::run_one(words),
        Some((word, words)) if word == "random" => match random::Plan::parse(words) {
            Ok(plan) => exit(i32::from(!random::run(&plan))),
            Err(wrong) => {
                eprintln!("{wrong}\nrig random [--seed N] [--cases N] [--jobs N] [--withhold] [--verbose]");
                exit(2);
            }
        },
        Some((word, words)) if word == "latency" => {
            return latency::run(words.first().and_then(|number| number.parse().ok()).unwrap_or(10_000));
        }
        Some((word, [])) if word == "race" => return control::race(),
        Some((word, [page, place])) if word == cases::children::PROBE => {
            return cases::children::probe(page, place);
        }
        _ => {}
    }
    if arguments.iter().any(|argument| argument == "--list") {
        cases::all().for_each(|case| println!("{}: test", case.name));
        return;
    }
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let is_exact = arguments.iter().any(|argument| argument == "--exact");
    let is_named =
        |name: &str, word: &String| if is_exact { name == word } else { name.contains(word.as_str()) };
    // A device has none beside the program, and a sanitizer's run time cannot be loaded twice.
    let without_copy =
        cfg!(target_os = "android") || arguments.iter().any(|argument| argument == "--without-copy");
    let no_fork = arguments.iter().any(|argument| argument == "--no-fork");
    let chosen = cases::all()
        .filter(|case| words.is_empty() || words.iter().any(|word| is_named(case.name, word)))
        .filter(|case| !no_fork || cases::fits_thread_sanitizer(case.name));
    let (mut passed, mut failed) = (0, Vec::new());
    for case in chosen {
        if cases::needs_a_copy(case.name) && second::path().is_none() {
            if without_copy {
                println!("case {} ... left out: no libcopy.so", case.name);
            } else {
                println!(
                    "case {} ... FAILED: no libcopy.so (cargo build -p anrscope-signal --examples)",
                    case.name
                );
                failed.push(case.name);
            }
            continue;
        }
        let outcome = catch_unwind(|| {
            let mut subject = driver::Subject::start(&case);
            (case.judge)(&mut subject);
            subject.end();
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
    // A handful of drawn ones too; `rig random` runs them by the thousand.
    if words.is_empty() {
        let plan = random::Plan { cases: 40, no_fork, ..random::Plan::default() };
        if !random::run(&plan) {
            failed.push("random");
        }
    }
    println!("\nrig: {passed} passed; {} failed {}", failed.len(), failed.join(" "));
    exit(i32::from(!failed.is_empty()));
}
