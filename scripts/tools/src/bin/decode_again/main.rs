//! Decodes traces with a decoder that shares nothing with the exporter's writer, the crate `perfetto_protos`,
//! generated from Perfetto's
//! own schema, and compares the result with the model, field by field:
//!
//! ```text
//! cargo run -p anrscope-tools --features perfetto-protos --bin decode_again -- RECORDING...
//! ```
//!
//! A `methodMapping.txt` beside a recording is used. Each recording is exported without compression, with it,
//! and numbered for
//! merging. Of each trace: every byte belongs to a field that the schema knows, but for those of [`NEWER`];
//! encoded again it is
//! as long; and slices, instants, counters, frames, stacks, flows, log lines and ANRs, with their arguments,
//! are those of the
//! model. Prints what was compared; ends with 1 at the first difference.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use exporter::{ExportInput, ExportOptions, Format, MethodMap, export};
use trace_format::Recording;

mod decoded;
mod fields;

use test_support::recordings::collect::{Collected, collect};

/// Number of forms in which each recording is exported.
const FORMS: usize = 3;

/// Fails with both sides if they differ.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, model: &[T], decoded: &[T]) -> Result<usize, String> {
    if let Some(at) = (0..model.len().max(decoded.len())).find(|i| model.get(*i) != decoded.get(*i)) {
        return Err(format!(
            "{what}, {at} of {} and {}:\n  model   {:?}\n  decoded {:?}",
            model.len(),
            decoded.len(),
            model.get(at),
            decoded.get(at)
        ));
    }
    Ok(model.len())
}

fn sorted<T: Clone>(all: &[T], key: impl Fn(&T) -> String) -> Vec<T> {
    let mut all = all.to_vec();
    all.sort_by_key(key);
    all
}

/// Compares everything; returns how much of each there was.
fn compare(model: &Collected, decoded: &Collected) -> Result<String, String> {
    let process = |c: &Collected| {
        let info = c.process.as_ref().expect("each recording is of a process");
        let threads: Vec<_> = info.threads.iter().map(|t| (t.tid, t.name.clone())).collect();
        let owner = (info.uid, info.system.parent_pid);
        (info.pid, owner, info.name.clone(), info.started.max(model.start), threads)
    };
    same("process", &[process(model)], &[process(decoded)])?;
    let instants =
        |c: &Collected| -> Vec<_> { c.instants.iter().cloned().zip(c.instant_args.clone()).collect() };
    let debug = |c: &dyn std::fmt::Debug| format!("{c:?}");
    // For merging they are numbered from an offset.
    let flows = |c: &Collected| {
        let first = c.flows.iter().map(|(flow, _)| *flow).min().unwrap_or(0);
        let mut flows: Vec<_> = c.flows.iter().map(|(flow, at)| (flow - first, *at)).collect();
        flows.sort_unstable();
        flows
    };
    let numbers = [
        ("slices", same("slices", &model.slices, &decoded.slices)?),
        (
            "instants",
            same(
                "instants",
                &sorted(&instants(model), |i| debug(i)),
                &sorted(&instants(decoded), |i| debug(i)),
            )?,
        ),
        (
            "counter values",
            same(
                "counters",
                &sorted(&model.counters, |c| debug(c)),
                &sorted(&decoded.counters, |c| debug(c)),
            )?,
        ),
        ("thread times", same("thread times", &model.thread_times, &decoded.thread_times)?),
        ("frames", same("frames", &model.frames, &decoded.frames)?),
        ("stacks", same("stacks", &model.stacks, &decoded.stacks)?),
        ("flow ends", same("flows", &flows(model), &flows(decoded))?),
        ("log lines", same("log", &sorted(&model.logs, |l| debug(l)), &sorted(&decoded.logs, |l| debug(l)))?),
        ("ANRs", same("ANRs", &sorted(&model.anrs, |a| debug(a)), &sorted(&decoded.anrs, |a| debug(a)))?),
    ];
    let arguments: usize = model.slices.iter().map(|s| s.args.len()).sum();
    let counts: Vec<String> = numbers.iter().map(|(what, n)| format!("{n} {what}")).collect();
    Ok(format!("{}, {arguments} arguments of slices", counts.join(", ")))
}

/// Checks the recording in a file; returns the number of slices compared.
fn check_file(file: &Path) -> Result<usize, String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let bytes = std::fs::read(file).map_err(|e| failed(&e))?;
    let beside = file.with_file_name("methodMapping.txt");
    let map =
        if beside.exists() { MethodMap::load(&beside).map_err(|e| failed(&e))? } else { MethodMap::empty() };
    check(file, &bytes, &map)
}

fn check(file: &Path, bytes: &[u8], map: &MethodMap) -> Result<usize, String> {
    let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let recording = Recording::open(bytes).map_err(|e| failed(&e))?;
    let (model, _) = collect(bytes, map);
    let input = ExportInput { file, recording: &recording, map };
    let plain = ExportOptions::new(Format::Perfetto, 0);
    let forms: [_; FORMS] = [
        ("uncompressed", plain.clone()),
        ("compressed", ExportOptions::new(Format::Perfetto, 6)),
        ("merge-safe", ExportOptions { merge_safe: true, ..plain }),
    ];
    for (form, options) in forms {
        let mut trace = Vec::new();
        export(&[input], &options, &mut trace).map_err(|e| failed(&e))?;
        let place = |what: String| format!("{}, {form}: {what}", file.display());
        let seen = fields::check(&trace).map_err(place)?;
        let mut decoded = decoded::decode(&trace).map_err(place)?;
        // Warnings that an export adds to the log are not part of the model.
        decoded.logs.retain(|(_, _, line)| !line.starts_with("export: "));
        let counted = compare(&model, &decoded).map_err(place)?;
        println!("{}, {form}: {} bytes, {seen}; {counted}", file.display(), trace.len());
    }
    Ok(FORMS * model.slices.len())
}

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        eprintln!("usage: decode_again RECORDING...");
        return ExitCode::from(2);
    }
    // The synthetic recordings contain some of everything, including stacks and starts.
    let made = [
        ("made, with something of everything", test_support::recordings::app::app()),
        ("made, with a stall", test_support::recordings::stalled()),
    ];
    let made = made
        .into_iter()
        .map(|(name, b)| check(Path::new(name), &b.build(), &test_support::recordings::map()));
    let (mut traces, mut slices) = (0, 0);
    for checked in made.chain(files.iter().map(|file| check_file(file))) {
        match checked {
            Ok(compared) => {
                traces += FORMS;
                slices += compared;
            }
            Err(difference) => {
                eprintln!("{difference}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{traces} traces with {slices} slices are what the model says");
    ExitCode::SUCCESS
}
