//! How much of a run a recording covers: `coverage RECORDING [--method-map FILE]` prints JSON.
//!
//! Counted from the events themselves, not with the exporter's model: for each thread its first and last
//! present event, words written, kept and overwritten, how long a method, message or wait was open, and the
//! methods with the most self time.

use std::collections::BTreeMap;
use std::path::Path;

use exporter::{MethodMap, open_recording};
use serde_json::{Value, json};
use trace_format::{Event, Item, Recording, Source, Thread};

/// Maximum number of methods printed per thread.
const TOP: usize = 30;

#[derive(Default)]
struct Counted {
    first: Option<u64>,
    last: u64,
    events: u64,
    enters: u64,
    folded: u64,
    lost: u64,
    covered: u64,
    self_time: BTreeMap<u32, u64>,
    /// Open methods.
    stack: Vec<u32>,
    /// Number of open messages, frames and waits.
    others: u64,
}

impl Counted {
    /// Attributes the time up to `time` to what is open.
    fn pass(&mut self, time: u64) {
        let past = if self.first.is_some() { time.saturating_sub(self.last) } else { 0 };
        self.first.get_or_insert(time);
        self.last = self.last.max(time);
        if let Some(id) = self.stack.last() {
            *self.self_time.entry(*id).or_default() += past;
        }
        if !self.stack.is_empty() || self.others > 0 {
            self.covered += past;
        }
    }

    fn event(&mut self, event: &Event) {
        self.events += 1;
        match event {
            Event::Enter(id) => {
                self.enters += 1;
                self.stack.push(*id);
            }
            Event::Exit(id) => {
                // Its start was overwritten, and no list of open calls has it.
                if let Some(at) = self.stack.iter().rposition(|open| open == id) {
                    self.stack.truncate(at);
                }
            }
            Event::OpenCalls(open) => {
                // Several of these may be needed for all calls.
                self.stack.truncate(open.first as usize);
                self.stack.extend(open.ids());
            }
            Event::Folded(folded) => self.folded += folded.calls,
            Event::MessageBegin(_) | Event::WaitBegin(_) => self.others += 1,
            Event::MessageEnd | Event::WaitEnd => self.others = self.others.saturating_sub(1),
            _ => {}
        }
    }
}

fn thread<S: Source>(recording: &Recording<S>, thread: &Thread, map: &MethodMap) -> Value {
    let mut counted = Counted::default();
    for item in recording.events(thread) {
        match item.expect("the recording can be read") {
            Item::Event { time, event } => {
                counted.pass(time);
                counted.event(&event);
            }
            Item::Lost { words } => counted.lost += words,
            Item::Fault(fault) => panic!("{fault}"),
        }
    }
    let mut top: Vec<(u64, u32)> = counted.self_time.iter().map(|(id, ns)| (*ns, *id)).collect();
    top.sort_unstable_by(|one, other| other.cmp(one));
    let name = |id: u32| {
        map.get(id)
            .map_or_else(|| format!("method {id}"), |method| format!("{}.{}", method.class, method.method))
    };
    let top = top.iter().take(TOP).map(|(ns, id)| json!({"method": name(*id), "self_ns": ns}));
    json!({
        "name": thread.name, "main": thread.main, "started_ns": thread.started, "ended_ns": thread.ended,
        "first_ns": counted.first, "last_ns": counted.last, "covered_ns": counted.covered,
        "written": thread.written(), "kept": thread.words(), "overwritten": thread.overwritten(),
        "lost": counted.lost, "events": counted.events, "enters": counted.enters, "folded": counted.folded,
        "open": counted.stack.iter().map(|id| name(*id)).collect::<Value>(), "top": top.collect::<Value>(),
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (file, map) = match &words[..] {
        [file] => (file, MethodMap::empty()),
        [file, option, map] if option == "--method-map" => {
            (file, MethodMap::load(Path::new(map)).expect("a method map"))
        }
        _ => panic!("coverage RECORDING [--method-map FILE]"),
    };
    let recording = open_recording(Path::new(file)).expect("a recording");
    let threads: Value = recording.threads().iter().map(|t| thread(&recording, t, &map)).collect();
    let header = recording.header();
    println!(
        "{:#}",
        json!({"start_ns": header.start.boottime, "dropped": header.dropped, "threads": threads})
    );
}
