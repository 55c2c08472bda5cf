//! The model of Matrix's ring against sequences recorded from Matrix's own class.
//!
//! `ANRSCOPE_GOLDEN` names another directory with a `ring.jsonl` of the same form. One line is one
//! sequence: `seed`, `cap` (words), `base` (ms), `ops` and `final_buffer`. Each op has `op` (name and
//! argument) and its results: `res` (the words of a copy, or null), `sIndex`, `diff` (time of the next
//! word) and `recs` (name, index and validity of each record in the list). `tick`, `tick_begin` and
//! `tick_end` let ms pass; `tick_begin` is a message's begin. `hook_calls` counts how often the original
//! began its work.

mod model;

use std::collections::HashMap;
use std::path::PathBuf;

use crate::matrix_ring::model::MatrixRing;
use serde_json::{Value, json};

const DISPATCH: i64 = 0xF_FFFE;
const INVALID: i64 = 0xF_FFFF;

fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("an integer, not {value}"))
}

/// The clock before the first op: the sequences do not have it, but the first op that refreshes the time
/// shows it.
fn ahead(case: &Value) -> i64 {
    let mut passed = 0;
    let mut entered = false;
    for op in case["ops"].as_array().expect("ops") {
        let (name, argument) = (op["op"][0].as_str().expect("a name"), integer(&op["op"][1]));
        if name.starts_with("tick") {
            passed += argument;
        }
        let first = name == "i" && argument < INVALID && !std::mem::replace(&mut entered, true);
        let dispatch = matches!(name, "i" | "o") && argument == DISPATCH;
        if first || dispatch || name == "tick_begin" {
            return integer(&op["diff"]) - passed;
        }
    }
    0
}

fn play(case: &Value) -> Result<usize, String> {
    let base = integer(&case["base"]);
    let mut ring = MatrixRing::new(integer(&case["cap"]) as usize, base);
    let mut uptime = base + ahead(case);
    let mut records = HashMap::new();
    let mut names = HashMap::new();
    let mut entered = false;
    let ops = case["ops"].as_array().expect("ops");
    for (step, op) in ops.iter().enumerate() {
        let (name, argument) = (op["op"][0].as_str().expect("a name"), integer(&op["op"][1]));
        let mut result = Value::Null;
        match name {
            "i" => {
                ring.enter(argument as i32, uptime);
                entered |= argument < INVALID;
            }
            "o" => ring.exit(argument as i32, uptime),
            "tick" | "tick_end" => uptime += argument,
            "tick_begin" => {
                uptime += argument;
                ring.refresh(uptime);
            }
            "mask" => {
                let record = ring.mask_index();
                records.insert(argument, record);
                names.insert(record, format!("r{argument}"));
            }
            "release" => {
                if let Some(record) = records.get(&argument) {
                    ring.release(*record);
                }
            }
            "copy" => {
                let words = records.get(&argument).map(|record| ring.copy_data(*record));
                result = json!(words.unwrap_or_default());
            }
            other => return Err(format!("op {step}: unknown: {other}")),
        }
        let list: Vec<_> =
            ring.records().map(|(r, index)| json!([names[&r], index, ring.is_valid(r)])).collect();
        let got = json!({ "op": op["op"], "res": result, "sIndex": ring.index(), "diff": ring.now(), "recs": list });
        if got != *op {
            return Err(format!("op {step}: expected {op}, got {got}"));
        }
    }
    let buffer = json!(ring.buffer());
    if buffer != case["final_buffer"] {
        return Err(format!("buffer: expected {}, got {buffer}", case["final_buffer"]));
    }
    if case["hook_calls"] != json!(u32::from(entered)) {
        return Err(format!("began {} times, expected {}", u32::from(entered), case["hook_calls"]));
    }
    Ok(ops.len())
}

#[test]
fn sequences_of_the_original_are_reproduced_bit_for_bit() {
    let given = std::env::var_os("ANRSCOPE_GOLDEN").map(PathBuf::from);
    let directory =
        given.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")));
    let path = directory.join("ring.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut cases, mut ops) = (0, 0);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("{}:{}", path.display(), number + 1);
        let case: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{at}: {e}"));
        ops += play(&case).unwrap_or_else(|e| panic!("{at}, seed {}: {e}", case["seed"]));
        cases += 1;
    }
    assert!(cases > 0, "{} holds no sequence", path.display());
    println!("{cases} sequences, {ops} operations");
}
