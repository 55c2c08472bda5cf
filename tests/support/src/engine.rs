//! The real Perfetto engine, for tests: loads a trace, checks it, and answers SQL.
//!
//! One engine process serves all tests of a program.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

/// The engine's result for a trace.
pub struct Answer {
    /// The problems, each with a count; empty for a good trace.
    pub problems: Vec<Value>,
    /// One array of rows per query; a row is an object.
    pub queries: Vec<Vec<Value>>,
}

struct Server {
    /// It ends when its input does, that is, with this process.
    _process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn start() -> Mutex<Server> {
    let script = crate::root().join("scripts/perfetto/engine.mjs");
    let mut process = Command::new("node")
        .arg(script)
        .arg("--serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("node cannot be started ({e}): run scripts/test, which installs it"));
    let input = process.stdin.take().expect("piped");
    let output = BufReader::new(process.stdout.take().expect("piped"));
    Mutex::new(Server { _process: process, input, output })
}

/// Loads `trace`, checks it and runs `queries`.
///
/// # Panics
/// If there is no engine, it cannot load the trace, or rejects a query.
pub fn ask(trace: &Path, queries: &[&str]) -> Answer {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    let mut line = String::new();
    {
        let mut server = SERVER.get_or_init(start).lock().unwrap_or_else(PoisonError::into_inner);
        let request = json!({"trace": trace.to_str().expect("a UTF-8 path"), "queries": queries});
        writeln!(server.input, "{request}").expect("node is gone: run scripts/test");
        server.output.read_line(&mut line).expect("node is gone: run scripts/test");
    }
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e} in {line:?}"));
    if let Some(error) = answer.get("error") {
        panic!("{}: {error} (no engine? run scripts/test)", trace.display());
    }
    let rows = |v: &Value| v.as_array().cloned().unwrap_or_default();
    // The program writes for Perfetto 53 by default. This engine is 52: it counts the fields that it does not
    // know, and no more.
    let by_the_program = std::env::var("CARGO_PKG_NAME").is_ok_and(|package| package == "anrscope");
    let newer = |problem: &Value| by_the_program && problem["name"] == "unknown_extension_fields";
    let problems = rows(&answer["check"]["problems"]).into_iter().filter(|problem| !newer(problem));
    Answer { problems: problems.collect(), queries: rows(&answer["queries"]).iter().map(rows).collect() }
}

/// Loads `trace`, which must be without a problem, and runs one query.
///
/// # Panics
/// If there is a problem with it, or as for [`ask`].
pub fn rows(trace: &Path, query: &str) -> Vec<Value> {
    let mut answer = ask(trace, &[query]);
    assert!(answer.problems.is_empty(), "{}: {:?}", trace.display(), answer.problems);
    answer.queries.remove(0)
}
