//! Checks without a recorder that a program does what its label says: where its threads are at its end.

use crate::chains::label::{Program, matches, names};

/// A thread at the end of a program: its name, and its methods, the innermost first.
struct Ended<'o> {
    name: &'o str,
    frames: Vec<&'o str>,
}

/// Whether the threads that the program printed are where its label has them.
pub(crate) fn hold(program: &Program, printed: &str) -> Result<(), String> {
    let threads: Vec<Ended<'_>> = printed.lines().filter_map(ended).collect();
    if threads.is_empty() {
        return Err("it did not come to its end".to_owned());
    }
    for fact in &program.facts {
        let is_there =
            |frame: &String, thread: &Ended<'_>| thread.frames.iter().any(|known| names(frame, known));
        let mut named = threads.iter().filter(|thread| matches(&fact.thread, thread.name)).peekable();
        if named.peek().is_none() {
            return Err(format!("there is no thread {}", fact.thread));
        }
        if !named.any(|thread| fact.frames.iter().all(|frame| is_there(frame, thread))) {
            let found = threads.iter().find(|thread| matches(&fact.thread, thread.name));
            let found = found.map(|thread| thread.frames.join(" < ")).unwrap_or_default();
            return Err(format!("{} is not in {}: {found}", fact.thread, fact.frames.join(", ")));
        }
    }
    let own = |frame: &&str| frame.starts_with(&format!("{}.", program.package));
    if let Some(decoys) = &program.alone {
        let others = threads
            .iter()
            .filter(|thread| thread.name != "main" && !decoys.iter().any(|decoy| decoy == thread.name));
        if let Some(other) = others.into_iter().find(|thread| thread.frames.iter().any(own)) {
            return Err(format!("{} is in {}", other.name, other.frames.join(" < ")));
        }
    }
    Ok(())
}

fn ended(line: &str) -> Option<Ended<'_>> {
    let mut words = line.strip_prefix("thread\t")?.split('\t');
    let (name, _state) = (words.next()?, words.next()?);
    Some(Ended { name, frames: words.collect() })
}

/// Tests the check with threads that are there and elsewhere.
pub(crate) fn check(program: &Program) {
    let line = |name: &str, frames: &[String]| format!("thread\t{name}\tWAITING\t{}\n", frames.join("\t"));
    let real = |frame: &String| frame.replace('#', "0").replace('*', "x");
    let all: String = program
        .facts
        .iter()
        .map(|fact| line(&real(&fact.thread), &fact.frames.iter().map(real).collect::<Vec<_>>()))
        .collect();
    assert_eq!(hold(program, &all), Ok(()), "{}", program.name());
    assert!(hold(program, "").is_err());
    let without_one: String = all.lines().skip(1).map(|line| format!("{line}\n")).collect();
    assert!(hold(program, &without_one).is_err(), "{}", program.name());
    if program.alone.is_some() {
        let other = all + &line("another", &[format!("{}.Other.run", program.package)]);
        assert!(hold(program, &other).is_err(), "{}", program.name());
    }
}
