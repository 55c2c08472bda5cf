//! Checks reports against the written schema, by the reference validator of JSON Schema (Python's jsonschema, which
//! `scripts/install-test-needs` fetches).

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// `docs/report-schema.json`.
pub fn written() -> Value {
    let file = crate::root().join("docs/report-schema.json");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

const VALIDATE: &str = "
import json, sys
from jsonschema import Draft202012Validator
asked = json.load(sys.stdin)
Draft202012Validator.check_schema(asked['schema'])
validator = Draft202012Validator(asked['schema'])
problems = [[e.json_path + ': ' + e.message[:300] for e in validator.iter_errors(d)] for d in asked['documents']]
json.dump(problems, sys.stdout)
";

/// The errors of each document; empty if it is valid.
///
/// # Panics
/// If there is no validator, or the schema is invalid.
pub fn faults(schema: &Value, documents: &[Value]) -> Vec<Vec<String>> {
    let data = crate::test_data();
    let mut python = Command::new("python3")
        .args(["-c", VALIDATE])
        .env("PYTHONPATH", data.join("jsonschema"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3: run scripts/test, which installs it");
    let asked = json!({"schema": schema, "documents": documents});
    python.stdin.take().expect("piped").write_all(asked.to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "no jsonschema (run scripts/test, which fetches it), or no schema");
    let faults: Vec<Vec<String>> = serde_json::from_slice::<Value>(&output.stdout)
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_owned()).collect())
        .collect();
    assert_eq!(faults.len(), documents.len());
    faults
}

/// Asserts that a document fits the written schema.
#[track_caller]
pub fn fits(document: &Value) {
    let faults = faults(&written(), std::slice::from_ref(document)).remove(0);
    assert!(faults.is_empty(), "{faults:#?}");
}
