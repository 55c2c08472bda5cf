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

use dex::code::trace::{Argument, Around, Calls, Exits, Kind, Parameter, Shape, StaticCall, Traced};
use dex::code::{Body, Operand, facts};
use dex::{ClassMethod, Dex, MethodCode, Proto};

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
    let (calls, void) = add_calls(&mut dex);
    let this = dex.strings.iter().position(|string| &string[..] == b"this").map(|index| index as u32);
    let tables = Tables::of(&dex, this);
    let mut id = 0;
    let mut classes = std::mem::take(&mut dex.classes);
    for class in &mut classes {
        for method in class.direct_methods.iter_mut().chain(&mut class.virtual_methods) {
            let Some(MethodCode::Read(code)) = &method.code else { continue };
            totals.with_code += 1;
            let shape = tables.shape(method).ok_or("a method's prototype is missing")?;
            if !facts(code).map_err(|error| format!("{error:?}"))?.worth_tracing(shape.is_constructor) {
                continue;
            }
            totals.candidates += 1;
            id += 1;
            let mut body = Body::read(code).map_err(|error| format!("{error:?}"))?;
            if around {
                let sites = sites(&body, &dex.methods, &dex.protos, calls, void);
                totals.sites += body.around_calls(&shape, &sites).unwrap_or(0);
            }
            match body.trace(&shape, id, calls, Exits::All) {
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
    *totals.grown.entry(traced.grown).or_default() += 1;
    totals.handlers += usize::from(traced.has_handler);
    totals.after_super += usize::from(traced.after_super);
    totals.at_start_of_constructor += usize::from(shape.is_constructor && !traced.after_super);
    totals.units.0 += u64::from(traced.units.0);
    totals.units.1 += u64::from(traced.units.1);
}

/// Sites around virtual calls and locks. `calls` take a number; the method behind them an object too.
fn sites(body: &Body, methods: &[dex::Method], protos: &[Proto], calls: Calls, void: u32) -> Vec<Around> {
    let on = calls.exit + 1;
    let call = |method, arguments: &[Argument]| StaticCall { method, arguments: arguments.to_vec() };
    let mut sites = Vec::new();
    for (at, instruction) in (0..).zip(body.instructions()) {
        let object = Argument::Object(instruction.registers[0]);
        let begin = call(on, &[Argument::Number(1), object]);
        let end = call(on, &[Argument::Number(2), Argument::Null]);
        match (instruction.opcode().name, instruction.operand) {
            (name, Operand::Index(method))
                if name.starts_with("invoke-virtual") || name.starts_with("invoke-interface") =>
            {
                let proto = methods.get(method as usize).and_then(|method| protos.get(method.proto as usize));
                let returns = proto.is_some_and(|proto| proto.result != void);
                let more = if returns { 3 } else { 4 };
                let behind = vec![call(on, &[Argument::Number(more), object])];
                sites.push(Around { at, before: vec![begin], behind, thrown: Some(end) });
            }
            ("monitor-enter", _) => {
                sites.push(Around {
                    at,
                    before: vec![begin.clone()],
                    behind: vec![begin],
                    thrown: Some(end),
                });
            }
            ("monitor-exit", _) => sites.push(Around { at, behind: vec![begin], ..Around::default() }),
            _ => {}
        }
    }
    sites
}

/// Adds what is called to the tables. Returns the calls, and the type `void`.
fn add_calls(dex: &mut Dex<'_>) -> (Calls, u32) {
    let mut string = |text: &'static [u8]| match dex.strings.iter().position(|known| &known[..] == text) {
        Some(known) => known as u32,
        None => {
            dex.strings.push(text.into());
            dex.strings.len() as u32 - 1
        }
    };
    let [class, void, int] = [b"Ldev/anrscope/MethodBeat;".as_slice(), b"V", b"I"].map(&mut string);
    let [i, o, shorty] = [b"i".as_slice(), b"o", b"VI"].map(&mut string);
    let [wb, object, shorty_wb] = [b"wb".as_slice(), b"Ljava/lang/Object;", b"VIL"].map(&mut string);
    let mut kind = |string: u32| match dex.types.iter().position(|known| *known == string) {
        Some(known) => known as u32,
        None => {
            dex.types.push(string);
            dex.types.len() as u32 - 1
        }
    };
    let [class, void, int, object] = [class, void, int, object].map(&mut kind);
    let mut proto = |shorty: u32, parameters: &[u32]| {
        let proto = Proto { shorty, result: void, parameters: parameters.into() };
        match dex.protos.iter().position(|known| *known == proto) {
            Some(known) => known as u32,
            None => {
                dex.protos.push(proto);
                dex.protos.len() as u32 - 1
            }
        }
    };
    let (with_number, with_object) = (proto(shorty, &[int]), proto(shorty_wb, &[int, object]));
    let mut method = |name: u32, proto: u32| {
        dex.methods.push(dex::Method { class, proto, name });
        dex.methods.len() as u32 - 1
    };
    let calls = Calls { enter: method(i, with_number), exit: method(o, with_number) };
    method(wb, with_object);
    (calls, void)
}

/// By method index: what an edit needs to know.
struct Tables {
    shapes: Vec<Option<Shape>>,
}

impl Tables {
    fn of(dex: &Dex<'_>, this: Option<u32>) -> Self {
        let descriptor = |kind: u32| dex.strings.get(*dex.types.get(kind as usize)? as usize);
        let shape = |method: &dex::Method| {
            let proto = dex.protos.get(method.proto as usize)?;
            let parameter = |&declared: &u32| {
                let kind = match descriptor(declared)?.first()? {
                    b'J' | b'D' => Kind::Wide,
                    b'L' | b'[' => Kind::Object,
                    _ => Kind::Plain,
                };
                Some(Parameter { kind, declared })
            };
            Some(Shape {
                parameters: proto.parameters.iter().map(parameter).collect::<Option<_>>()?,
                is_static: false,
                is_constructor: &dex.strings.get(method.name as usize)?[..] == b"<init>",
                this: this.map(|this| (method.class, this)),
            })
        };
        Self { shapes: dex.methods.iter().map(shape).collect() }
    }

    fn shape(&self, method: &ClassMethod<'_>) -> Option<Shape> {
        let shape = self.shapes.get(method.method as usize)?.clone()?;
        Some(Shape { is_static: method.access & 8 != 0, ..shape })
    }
}
