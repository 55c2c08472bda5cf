//! The cases: kinds of loops (`loops/KIND.java`) at the end of chains of several depths, and their labels.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::busy_hangs::chain::{Chain, Entry, chain};
use crate::harness;
use test_support::random::Random;

/// Methods from the message's own to the one that calls into the file of the loop.
pub(crate) const DEPTHS: [usize; 3] = [3, 12, 40];

/// A case, its sources and its label.
pub(crate) struct Case {
    pub kind: String,
    pub depth: usize,
    pub entry: Entry,
    /// The process is killed at the end of the time; else the message comes back.
    pub killed: bool,
    /// Its package.
    pub package: String,
    /// Path below the sources' directory, and text.
    pub files: Vec<(String, String)>,
    pub label: Label,
}

/// The content of a correct report.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The message's name has this in it.
    pub message: String,
    /// All that called the loop's method, outermost first.
    pub chain: Vec<String>,
    /// The method whose loop it is.
    pub method: String,
    /// Other correct methods, with the reason.
    pub also: Vec<(String, String)>,
    /// The method with most calls below the loop's, called directly from it; not every loop has one.
    pub callee: Option<String>,
}

impl Case {
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.kind, self.depth)
    }

    /// The word for how it ends.
    pub(crate) fn end(&self) -> &'static str {
        if self.killed { "killed" } else { "ends" }
    }

    /// One line of `labels.jsonl`.
    pub(crate) fn line(&self) -> Value {
        let label = &self.label;
        json!({"case": self.name(), "message": label.message, "chain": label.chain, "method": label.method,
            "also": label.also.iter().map(|(method, why)| json!({"method": method, "why": why})).collect::<Value>(),
            "callee": label.callee, "entry": self.entry.word(), "end": self.end()})
    }
}

/// A file of `loops`: what its first comments say, and the code.
struct Loop {
    kind: String,
    chain: Vec<String>,
    method: String,
    also: Vec<(String, String)>,
    callee: Option<String>,
    code: String,
}

fn loops() -> Vec<Loop> {
    let entries = std::fs::read_dir(harness::directory("busy_hangs").join("loops"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Loop {
    let text = std::fs::read_to_string(file).unwrap();
    let values = |key: &str| -> Vec<String> {
        let lines =
            text.lines().filter_map(|line| line.strip_prefix("// ")?.strip_prefix(key)?.strip_prefix(": "));
        lines.map(str::to_owned).collect()
    };
    let also = values("also").into_iter().map(|value| {
        let (method, why) = value.split_once(": ").expect("also: METHOD: why");
        (method.to_owned(), why.to_owned())
    });
    Loop {
        kind: file.file_stem().unwrap().to_str().unwrap().to_owned(),
        chain: values("chain").iter().flat_map(|value| value.split(", ")).map(str::to_owned).collect(),
        method: values("loop").pop().unwrap_or_else(|| panic!("{}: no line `// loop:`", file.display())),
        also: also.collect(),
        callee: values("callee").pop(),
        code: text.clone(),
    }
}

/// All cases, the same in each run: kind by kind, the least deep first.
pub(crate) fn all() -> Vec<Case> {
    let mut random = Random::new(16);
    let mut cases = Vec::new();
    for (n, made) in loops().iter().enumerate() {
        for (d, depth) in DEPTHS.into_iter().enumerate() {
            // Each kind and each depth with each way in, and with both ends.
            let entry = Entry::ALL[(n + d) % Entry::ALL.len()];
            cases.push(case(&mut random, made, depth, entry, (n + d) % 2 == 1));
        }
    }
    cases
}

fn case(random: &mut Random, made: &Loop, depth: usize, entry: Entry, killed: bool) -> Case {
    // The first method of the loop's file is called by the chain's last.
    let end = made.chain.first().unwrap_or(&made.method);
    let Chain { mut files, message, methods } = chain(random, entry, depth, end);
    let class = end.split('.').next().unwrap().to_owned();
    files.push((class, format!("import dev.anrscope.BusyTime;\n\n{}", made.code)));
    let package = format!("com.example.busy.{}{depth}", made.kind);
    let path = package.replace('.', "/");
    let named = |name: &String| format!("{package}.{name}");
    let label = Label {
        message: named(&message),
        chain: methods.iter().chain(&made.chain).map(named).collect(),
        method: named(&made.method),
        also: made.also.iter().map(|(method, why)| (named(method), why.clone())).collect(),
        callee: made.callee.as_ref().map(named),
    };
    let files = files
        .into_iter()
        .map(|(class, text)| (format!("{path}/{class}.java"), format!("package {package};\n\n{text}")));
    Case { kind: made.kind.clone(), depth, entry, killed, files: files.collect(), package, label }
}

/// The expected labels file.
pub(crate) fn labels(cases: &[Case]) -> String {
    cases.iter().map(|case| format!("{}\n", case.line())).collect()
}
