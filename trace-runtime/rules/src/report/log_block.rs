//! Writes a report as a readable block for the log.

use super::issue::{Memory, Priority};

/// The content of an ANR's block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnrLog<'a> {
    /// How long, ms.
    pub cost_ms: i64,
    /// Where.
    pub scene: &'a str,
    /// Whether the app was in the foreground.
    pub foreground: bool,
    /// Its priority.
    pub priority: Priority,
    /// Whether this is a 64-bit process.
    pub is_64_bit: bool,
    /// Its memory.
    pub memory: Memory,
    /// The costs so far of the stages INPUT, ANIMATION and TRAVERSAL of the frame, ns; `None` outside of a frame.
    pub stages: Option<[u64; 3]>,
    /// Main's `Thread.State`.
    pub state: &'a str,
    /// Main's Java stack.
    pub thread_stack: &'a str,
    /// The key, and the lines in the log's form; `None` if nothing is recorded.
    pub trace: Option<(&'a str, &'a str)>,
}

/// The block of an ANR.
#[must_use]
pub fn anr_log(log: &AnrLog<'_>) -> String {
    let mut out = Block::new("maybe happens ANR", log.cost_ms);
    out.head("[Status]");
    out.line("Scene: ", log.scene);
    out.line("Foreground: ", if log.foreground { "true" } else { "false" });
    out.line("Priority: ", &log.priority.priority.to_string());
    out.line("Nice: ", &log.priority.nice.to_string());
    out.line("is64BitRuntime: ", if log.is_64_bit { "true" } else { "false" });
    out.head("[Memory]");
    out.kib("DalvikHeap: ", log.memory.dalvik_heap);
    out.kib("NativeHeap: ", log.memory.native_heap);
    out.kib("VmSize: ", log.memory.vm_size);
    if let Some(stages) = log.stages {
        out.head("[doFrame]");
        let costs = stages.map(|ns| (ns / 1_000_000).to_string()).join(":");
        out.line("inputCost:animationCost:traversalCost ", &[&costs, " ms"].concat());
    }
    out.head("[Thread]");
    out.line("State: ", log.state);
    out.line("Stack: ", log.thread_stack.trim_end());
    out.trace(log.trace);
    out.end()
}

/// The block of a slow message.
#[must_use]
pub fn slow_log(cost_ms: i64, scene: &str, foreground: bool, trace: Option<(&str, &str)>) -> String {
    let mut out = Block::new("maybe happens Jankiness", cost_ms);
    out.head("[Status]");
    out.line("Scene: ", scene);
    out.line("Foreground: ", if foreground { "true" } else { "false" });
    out.trace(trace);
    out.end()
}

struct Block(String);

impl Block {
    fn new(what: &str, cost_ms: i64) -> Self {
        Block(format!("-\n>>>>>>>>>>>>>>>>>>>>>>> {what}({cost_ms} ms)! <<<<<<<<<<<<<<<<<<<<<<<\n"))
    }

    fn head(&mut self, name: &str) {
        self.0.extend(["|* ", name, "\n"]);
    }

    fn line(&mut self, name: &str, value: &str) {
        self.0.extend(["|*\t\t", name, value, "\n"]);
    }

    fn kib(&mut self, name: &str, kib: u64) {
        self.line(name, &format!("{kib}kb"));
    }

    fn trace(&mut self, trace: Option<(&str, &str)>) {
        self.head("[Trace]");
        match trace {
            Some((key, lines)) => {
                self.line("StackKey: ", key);
                self.0.push_str(lines);
            }
            None => self.line("", "nothing is recorded"),
        }
    }

    fn end(mut self) -> String {
        self.0.extend(std::iter::repeat_n('=', 73));
        self.0
    }
}
