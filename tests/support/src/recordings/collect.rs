//! A sink that keeps the model, for comparison with traces.

use exporter::facts::{Facts, Survey};
use exporter::model::{
    AnrRow, Arg, Filter, FrameRow, Input, Lane, LogLine, Name, Names, ProcessInfo, Sink, StackRow, Tally,
    Track, Unit, Value, stream,
};
use exporter::{ExportError, MethodMap, Selection};
use trace_format::Recording;
use trace_format::event::Clocks;

/// A slice: where, when, how long, how deep, its name, and its arguments.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChartSlice {
    /// A tid, or the name of a track that is not a thread.
    pub place: String,
    pub ts: u64,
    pub dur: u64,
    pub depth: u64,
    pub name: String,
    pub incomplete: bool,
    /// Its arguments as the engine returns them, by key.
    pub args: Args,
}

/// Arguments by key.
type Args = Vec<(String, String)>;

/// An argument as the engine shows it: numbers in the engine's format, without links.
fn shown(args: &[Arg<'_>]) -> Args {
    let mut shown = Vec::new();
    for arg in args.iter().filter(|arg| arg.is_argument()) {
        let value = match arg.value {
            Value::Int(n) => n.to_string(),
            Value::Uint(n) => n.to_string(),
            Value::Millis(ns) => number(ns as f64 / 1e6),
            Value::Number(n) => number(n),
            Value::Bool(yes) => u8::from(yes).to_string(),
            Value::Text(text) => text.to_owned(),
            other => panic!("{other:?} is no argument"),
        };
        shown.push((arg.key.to_owned(), value));
    }
    shown.sort();
    shown
}

/// A number with a fraction, to the precision on which all readers agree.
pub fn number(n: f64) -> String {
    let text = format!("{n:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A frame on the frame timeline: start and end, expected start, and jank.
pub type FrameFact = (u64, u64, Option<u64>, exporter::model::Jank);

/// A log line: time, the app's tid and tag, and text.
pub type LogFact = (u64, Option<(u32, String)>, String);

#[derive(Debug, Default)]
pub struct Collected {
    pub start: u64,
    pub process: Option<ProcessInfo>,
    pub slices: Vec<ChartSlice>,
    pub instants: Vec<(String, u64, String)>,
    /// The arguments of instants, in their order.
    pub instant_args: Vec<Args>,
    pub counters: Vec<(u64, String, f64)>,
    pub frames: Vec<FrameFact>,
    /// Time, tid, and the functions outermost first.
    pub stacks: Vec<(u64, u32, Vec<String>)>,
    /// Arrows: their number, and the time of each end.
    pub flows: Vec<(u64, u64)>,
    /// Main's CPU time: when, and how much, ns.
    pub thread_times: Vec<(u64, u64)>,
    pub logs: Vec<LogFact>,
    pub anrs: Vec<(u64, String)>,
    place: String,
    now: u64,
    open: Vec<(u64, String, Args)>,
}

impl Collected {
    fn moved(&mut self, at: u64) {
        assert!(at >= self.now, "time runs back from {} to {at}", self.now);
        self.now = at;
    }

    fn linked(&mut self, at: u64, args: &[Arg<'_>]) {
        for arg in args {
            match arg.value {
                Value::Flow(number) => self.flows.push((number, at)),
                Value::ThreadTime(ns) => self.thread_times.push((at, ns)),
                _ => {}
            }
        }
    }

    fn balanced(&self) {
        assert!(self.open.is_empty(), "still open on {}: {:?}", self.place, self.open);
    }
}

impl Sink for Collected {
    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError> {
        assert!(start > 0);
        self.start = start;
        assert!(clocks.windows(2).all(|w| w[0].boottime < w[1].boottime));
        Ok(())
    }

    fn process(&mut self, process: &ProcessInfo) -> Result<(), ExportError> {
        self.process = Some(process.clone());
        Ok(())
    }

    fn track(&mut self, track: Track) -> Result<(), ExportError> {
        self.balanced();
        self.now = 0;
        self.place = match track {
            Track::Thread(i) => self.process.as_ref().unwrap().threads[i].tid.to_string(),
            plain => plain.described().expect("it has a name").0.to_owned(),
        };
        Ok(())
    }

    fn lane(&mut self, lane: Lane<'_>) -> Result<(), ExportError> {
        match lane {
            Lane::Locks(tid, _) => assert!(tid > 0),
            Lane::Queue(name) => assert!(name.starts_with("queue of "), "{name}"),
        }
        self.balanced();
        self.now = 0;
        self.place = lane.name().into_owned();
        Ok(())
    }

    fn begin(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.moved(at);
        self.linked(at, args);
        self.open.push((at, name.text().into_owned(), shown(args)));
        Ok(())
    }

    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.moved(at);
        self.linked(at, args);
        let (ts, name, mut all) = self.open.pop().expect("an end has a begin");
        let incomplete = args.iter().any(|a| a.key == "incomplete");
        all.extend(shown(args));
        all.sort();
        assert!(all.windows(2).all(|w| w[0].0 != w[1].0), "an argument twice: {all:?}");
        let (place, depth) = (self.place.clone(), self.open.len() as u64);
        self.slices.push(ChartSlice { place, ts, dur: at - ts, depth, name, incomplete, args: all });
        Ok(())
    }

    fn instant(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.moved(at);
        self.linked(at, args);
        self.instant_args.push(shown(args));
        self.instants.push((self.place.clone(), at, name.text().into_owned()));
        Ok(())
    }

    fn frame(&mut self, row: &FrameRow) -> Result<(), ExportError> {
        assert!(row.actual.0 <= row.actual.1 && row.expected.is_none_or(|(begin, end)| begin <= end));
        self.frames.push((row.actual.0, row.actual.1, row.expected.map(|(begin, _)| begin), row.jank));
        Ok(())
    }

    fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError> {
        assert!(!row.frames.is_empty() || row.state.is_some());
        if !row.frames.is_empty() {
            let functions = row.frames.iter().map(|frame| frame.function.to_owned()).collect();
            self.stacks.push((row.at, row.tid, functions));
        }
        if let Some(state) = row.state {
            self.instants.push((row.tid.to_string(), row.at, state.name.to_owned()));
            self.instant_args.push(shown(state.args));
        }
        Ok(())
    }

    fn counter(&mut self, at: u64, name: &str, _unit: Unit, value: f64) -> Result<(), ExportError> {
        assert!(value.is_finite());
        self.counters.push((at, name.to_owned(), value));
        Ok(())
    }

    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError> {
        let source = line.source.map(|source| (source.tid, source.tag.to_owned()));
        self.logs.push((line.at, source, line.message.to_owned()));
        Ok(())
    }

    fn anr(&mut self, row: &AnrRow<'_>) -> Result<(), ExportError> {
        self.anrs.push((row.at, row.subject.to_owned()));
        Ok(())
    }

    fn finish(&mut self, _facts: &[(String, String)]) -> Result<(), ExportError> {
        Ok(())
    }
}

/// The model of a recording; slices sorted.
pub fn collect(bytes: &[u8], map: &MethodMap) -> (Collected, Tally) {
    collect_part(bytes, map, &Selection::default())
}

/// The model of a part of a recording; slices sorted.
pub fn collect_part(bytes: &[u8], map: &MethodMap, selection: &Selection) -> (Collected, Tally) {
    let recording = Recording::open(bytes).unwrap();
    let names = Names::new(Some(map));
    let mut collected = Collected::default();
    let file = std::path::Path::new("test.anrscope");
    let answer = |_: &Facts<'_>, _: &Survey| {
        exporter::Report::build(file, &recording, map).map(exporter::model::Diagnosis::from)
    };
    let inputs = [Input { file, recording: &recording, names, answer: &answer, symbols: &[] }];
    let tally = if selection.is_all() {
        stream(&inputs, &mut collected).unwrap()
    } else {
        let mut filter = Filter::new(&mut collected, selection.clone());
        let mut tally = stream(&inputs, &mut filter).unwrap();
        tally.leave_out(filter.left_out());
        tally
    };
    collected.balanced();
    collected.slices.sort();
    assert_eq!(tally.slices, collected.slices.len() as u64);
    assert_eq!(tally.instants, collected.instants.len() as u64);
    assert_eq!(tally.frames, collected.frames.len() as u64);
    assert_eq!(tally.stacks, collected.stacks.len() as u64);
    assert_eq!(tally.counters, collected.counters.len() as u64);
    assert_eq!(tally.incomplete, collected.slices.iter().filter(|s| s.incomplete).count() as u64);
    (collected, tally)
}
