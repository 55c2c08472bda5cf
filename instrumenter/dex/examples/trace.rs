//! Traces every method worth it in dex files, writes the files to a directory, and reports counts, sizes and speed.
//!
//! ```text
//! cargo run --release -p anrscope-dex --example trace -- [--around] OUTPUT-DIRECTORY FILE.dex...
//! ```
//!
//! `--around` also puts calls around every virtual call and every lock, many more than any catalogue of waits does.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use dex::code::trace::{Argument, Around, Exits, Shape, StaticCall, Traced, Waits};
use dex::code::{
    Body, INVOKE_INTERFACE, INVOKE_INTERFACE_RANGE, INVOKE_VIRTUAL, INVOKE_VIRTUAL_RANGE, MONITOR_ENTER,
    MONITOR_EXIT, Operand, facts,
};
use dex::{Dex, MethodCode};

/// The class whose methods are called.
const METHOD_BEAT: &str = "Ldev/anrscope/MethodBeat;";

#[derive(Default)]
struct Totals {
    with_code: usize,
    candidates: usize,
    traced: usize,
    grown: BTreeMap<u16, usize>,
    after_super: usize,
    at_start_of_constructor: usize,
    handlers: usize,
    refused: BTreeMap<String, usize>,
    units: (u64, u64),
    bytes: (usize, usize),
    times: [Duration; 3],
    sites: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let around = arguments.next_if(|argument| argument == "--around").is_some();
    let out = arguments.next().ok_or("an output directory is missing")?;
    let mut totals = Totals::default();
    for path in arguments {
        let bytes = fs::read(&path)?;
        let new = trace(&bytes, around, &mut totals).map_err(|error| format!("{path}: {error}"))?;
        totals.bytes.0 += bytes.len();
        totals.bytes.1 += new.len();
        fs::write(Path::new(&out).join(Path::new(&path).file_name().ok_or("no file name")?), new)?;
    }
    let Totals { with_code, candidates, traced, handlers, .. } = totals;
    println!(
        "{with_code} methods with code, {candidates} candidates, {traced} traced, {handlers} with a handler"
    );
    println!(
        "constructors: {} behind the super call, {} at the start",
        totals.after_super, totals.at_start_of_constructor
    );
    println!("sites with calls around them: {}", totals.sites);
    println!("registers added: {:?}; refused: {:?}", totals.grown, totals.refused);
    let growth = |(old, new): (f64, f64)| (new / old - 1.0) * 100.0;
    let (old, new) = totals.units;
    println!("units of the traced {old} -> {new} ({:+.1} %)", growth((old as f64, new as f64)));
    let (old, new) = totals.bytes;
    println!("bytes of the files {old} -> {new} ({:+.1} %)", growth((old as f64, new as f64)));
    let [read, edit, write] = totals.times.map(|time| time.as_millis());
    println!("read {read} ms, edit {edit} ms, write {write} ms");
    Ok(())
}

fn trace(bytes: &[u8], around: bool, totals: &mut Totals) -> Result<Vec<u8>, Box<dyn Error>> {
    let start = Instant::now();
    let mut dex = Dex::read(bytes).map_err(|error| format!("{error:?}"))?;
    let read = Instant::now();
    let calls = dex.find_or_add_calls(METHOD_BEAT);
    let on = add_call_on(&mut dex);
    let errors = dex.find_or_add_errors();
    let this = dex.strings.iter().position(|string| &string[..] == b"this").map(|index| index as u32);
    let mut id = 0;
    let mut classes = std::mem::take(&mut dex.classes);
    for class in &mut classes {
        for method in class.direct_methods.iter_mut().chain(&mut class.virtual_methods) {
            let Some(MethodCode::Read(code)) = &method.code else { continue };
            totals.with_code += 1;
            let shape = dex.shape(method, this).ok_or("a method's prototype is missing")?;
            if !facts(code).map_err(|error| format!("{error:?}"))?.worth_tracing(shape.is_constructor) {
                continue;
            }
            totals.candidates += 1;
            id += 1;
            let mut body = Body::read(code).map_err(|error| format!("{error:?}"))?;
            let waits = Waits { sites: sites(&body, &dex, on), task: None, errors };
            match body.trace(&shape, id, calls, Exits::All, Some(&waits).filter(|_| around)) {
                Ok(traced) => {
                    count(totals, &shape, traced);
                    method.code = Some(MethodCode::Edited(Box::new(body)));
                }
                Err(why) => *totals.refused.entry(format!("{why:?}")).or_default() += 1,
            }
        }
    }
    dex.classes = classes;
    let edited = Instant::now();
    let new = dex.write().map_err(|error| format!("{error:?}"))?;
    totals.times[0] += read - start;
    totals.times[1] += edited - read;
    totals.times[2] += edited.elapsed();
    Ok(new)
}

fn count(totals: &mut Totals, shape: &Shape, traced: Traced) {
    totals.traced += 1;
    totals.sites += traced.sites;
    *totals.grown.entry(traced.grown).or_default() += 1;
    totals.handlers += usize::from(traced.has_handler);
    totals.after_super += usize::from(traced.after_super);
    totals.at_start_of_constructor += usize::from(shape.is_constructor && !traced.after_super);
    totals.units.0 += u64::from(traced.units.0);
    totals.units.1 += u64::from(traced.units.1);
}

/// Sites around virtual calls and locks, with calls of `on`, which takes a number and an object.
fn sites(body: &Body, dex: &Dex<'_>, on: u32) -> Vec<Around> {
    let call = |arguments: &[Argument]| StaticCall { method: on, arguments: arguments.to_vec() };
    let mut sites = Vec::new();
    for (at, instruction) in (0..).zip(body.instructions()) {
        let object = Argument::Object(instruction.registers[0]);
        let begin = call(&[Argument::Number(1), object]);
        let end = call(&[Argument::Number(2), Argument::Null]);
        match (instruction.op, instruction.operand) {
            (
                INVOKE_VIRTUAL | INVOKE_VIRTUAL_RANGE | INVOKE_INTERFACE | INVOKE_INTERFACE_RANGE,
                Operand::Index(method),
            ) => {
                let proto =
                    dex.methods.get(method as usize).and_then(|method| dex.protos.get(method.proto as usize));
                let returns = proto.is_some_and(|proto| dex.descriptor(proto.result) != Some(b"V"));
                let more = if returns { 3 } else { 4 };
                let behind = vec![call(&[Argument::Number(more), object])];
                sites.push(Around { at, before: vec![begin], behind, thrown: Some(end) });
            }
            (MONITOR_ENTER, _) => {
                sites.push(Around {
                    at,
                    before: vec![begin.clone()],
                    behind: vec![begin],
                    thrown: Some(end),
                });
            }
            (MONITOR_EXIT, _) => sites.push(Around { at, behind: vec![begin], ..Around::default() }),
            _ => {}
        }
    }
    sites
}

/// Adds the method that is called around others.
fn add_call_on(dex: &mut Dex<'_>) -> u32 {
    let [class, void, int, object] =
        [METHOD_BEAT, "V", "I", "Ljava/lang/Object;"].map(|kind| dex.find_or_add_type(kind));
    let proto = dex.find_or_add_proto(void, &[int, object]);
    dex.find_or_add_method(class, "wb", proto)
}
