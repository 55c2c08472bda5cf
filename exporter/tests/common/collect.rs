//! A sink that keeps the model, to compare traces with.

use exporter::model::{AnrRow, Arg, Input, LogLine, Name, Names, ProcessInfo, Sink, Tally, Track, stream};
use exporter::{ExportError, MethodMap};
use trace_format::Recording;
use trace_format::event::Clocks;

/// A slice: where, when, how long, how deep, its name, and its arguments.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slice {
    /// A tid, or the name of a track that is none of a thread.
    pub(crate) place: String,
    pub(crate) ts: u64,
    pub(crate) dur: u64,
    pub(crate) depth: u64,
    pub(crate) name: String,
    pub(crate) incomplete: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) process: Option<ProcessInfo>,
    pub(crate) slices: Vec<Slice>,
    pub(crate) instants: Vec<(String, u64, String)>,
    pub(crate) counters: Vec<(u64, String, f64)>,
    pub(crate) logs: Vec<(u64, String)>,
    pub(crate) anrs: Vec<(u64, String)>,
    place: String,
    now: u64,
    open: Vec<(u64, String)>,
}

impl Collected {
    fn moved(&mut self, at: u64) {
        assert!(at >= self.now, "time runs back from {} to {at}", self.now);
        self.now = at;
    }

    fn balanced(&self) {
        assert!(self.open.is_empty(), "still open on {}: {:?}", self.place, self.open);
    }
}

impl Sink for Collected {
    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError> {
        assert!(start > 0);
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

    fn begin(&mut self, at: u64, name: Name<'_>, _args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.moved(at);
        self.open.push((at, name.text().into_owned()));
        Ok(())
    }

    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.moved(at);
        let (ts, name) = self.open.pop().expect("an end has a begin");
        let incomplete = args.iter().any(|a| a.key == "incomplete");
        let depth = self.open.len() as u64;
        self.slices.push(Slice { place: self.place.clone(), ts, dur: at - ts, depth, name, incomplete });
        Ok(())
    }

    fn instant(&mut self, at: u64, name: Name<'_>, _args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.moved(at);
        self.instants.push((self.place.clone(), at, name.text().into_owned()));
        Ok(())
    }

    fn counter(&mut self, at: u64, name: &str, value: f64) -> Result<(), ExportError> {
        self.moved(at);
        assert!(value.is_finite());
        self.counters.push((at, name.to_owned(), value));
        Ok(())
    }

    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError> {
        self.logs.push((line.at, line.message.to_owned()));
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
pub(crate) fn collect(bytes: &[u8], map: &MethodMap) -> (Collected, Tally) {
    let recording = Recording::open(bytes).unwrap();
    let names = Names::new(Some(map));
    let mut collected = Collected::default();
    let file = std::path::Path::new("test.anrscope");
    let tally = stream(&[Input { file, recording: &recording, names }], &mut collected).unwrap();
    collected.balanced();
    collected.slices.sort();
    assert_eq!(tally.slices, collected.slices.len() as u64);
    assert_eq!(tally.instants, collected.instants.len() as u64);
    assert_eq!(tally.incomplete, collected.slices.iter().filter(|s| s.incomplete).count() as u64);
    (collected, tally)
}
