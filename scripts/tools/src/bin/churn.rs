//! A thousand threads starting and ending: no block leaks, names are kept, main's history is untouched.
//!
//!   churn [--seconds S] [--alive N]

use std::time::Duration;

fn main() {
    let (mut seconds, mut alive) = (60, 1_000);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        match (flag.as_str(), args.next().and_then(|v| v.parse().ok())) {
            ("--seconds", Some(n)) => seconds = n,
            ("--alive", Some(n)) => alive = n,
            _ => {
                eprintln!("usage: churn [--seconds S] [--alive N]");
                std::process::exit(2);
            }
        }
    }
    let directory = test_support::churn::directory(&std::env::temp_dir());
    let seen = test_support::churn::run(&directory, Duration::from_secs(seconds), alive);
    let _ = std::fs::remove_dir_all(&directory);
    println!(
        "churn: {} threads started and ended in {seconds} s, at most {} at a time; the last {} are all in the \
         recording with their names and events; main's history was whole {} times out of {}",
        seen.threads, seen.most_alive, seen.compared, seen.slices, seen.slices
    );
}
