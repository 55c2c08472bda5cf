//! Instruments a jar and prints how long each step took, in milliseconds:
//!
//! ```text
//! cargo run --release -p anrscope-tools --features instrument --bin time_instrument -- IN.jar OUT.jar --threads 2 --level 6
//! ```
//!
//! `--exits normal` leaves the exception handlers out, and `--short N` is the option of the same name. The maps are written
//! beside OUT.jar. `--cache DIR` redoes only what has changed since the last run. `--floor` only inflates and deflates every
//! class: the least that instrumenting can cost.

mod floor;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use instrumenter::{Exits, Input, MapPaths, Options, instrument};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    let mut is_floor = false;
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--threads" => options.threads = value()?.parse()?,
            "--level" => options.level = value()?.parse()?,
            "--cache" => options.cache = Some(value()?.into()),
            "--short" => options.short = value()?.parse()?,
            "--floor" => is_floor = true,
            "--exits" => options.exits = if value()? == "bare" { Exits::Bare } else { Exits::All },
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    let [input, output] = paths.as_slice() else { return Err("give IN.jar and OUT.jar".into()) };
    if is_floor {
        return floor::copy(input, output, options.level, options.threads);
    }
    let maps = MapPaths::beside(output.with_extension("methodMapping.txt"));
    let start = Instant::now();
    let summary = instrument(&[Input::new(input, output)], &maps, &options, &|_| {})?;
    let total = start.elapsed();
    let times = summary.times;
    let mut out = std::io::stdout().lock();
    for (step, time) in [
        ("read", times.read),
        ("collect", times.collect),
        ("number", times.number),
        ("write", times.write),
        ("commit", times.commit),
        ("total", total),
    ] {
        writeln!(out, "{step:8} {:9.1} ms", time.as_secs_f64() * 1e3)?;
    }
    let size = |path: &PathBuf| std::fs::metadata(path).map(|data| data.len());
    writeln!(out, "classes  {} seen, {} changed", summary.classes, summary.classes_changed)?;
    writeln!(
        out,
        "methods  {} seen, {} traced, {} ignored, {} blocked, {} skipped",
        summary.methods_seen,
        summary.traced,
        summary.ignored,
        summary.blocked,
        summary.skipped.len()
    )?;
    writeln!(out, "bytes    {} -> {}", size(input)?, size(output)?)?;
    for skip in summary.skipped.iter().take(20) {
        writeln!(
            out,
            "skipped  {} {}: {}",
            skip.class,
            skip.method.as_deref().unwrap_or_default(),
            skip.reason
        )?;
    }
    for (_, warning) in summary.warnings.iter().take(20) {
        writeln!(out, "warning  {warning}")?;
    }
    Ok(())
}
