//! Selects a part of a trace: a time range, some threads, a minimum duration.

use trace_format::event::Clocks;

use super::Tally;
use super::sink::{
    AnrRow, Arg, FrameRow, Lane, Level, LogLine, Name, OwnedArgs, ProcessInfo, Sink, StackRow, ThreadInfo,
    Track, Unit, borrowed,
};
use crate::ExportError;

/// The selected part of a trace.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Selection {
    /// Omit what ended before this: ns since the trace's first moment.
    pub from: Option<u64>,
    /// Omit what started after this: ns since the trace's first moment.
    pub to: Option<u64>,
    /// Omit shorter slices of threads, with everything inside, ns.
    pub min_duration: u64,
    /// Threads by name or tid, `main` for the recorded main thread; empty for all.
    pub threads: Vec<String>,
}

impl Selection {
    /// Whether everything is selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether `selected` of [`Selection::threads`] matches the thread with this name and tid.
pub(crate) fn is_called(selected: &str, main: bool, name: Option<&str>, tid: u32) -> bool {
    (main && selected == "main") || name == Some(selected) || selected.parse() == Ok(tid)
}

/// A slice that has started and may or may not be selected.
#[derive(Debug)]
struct HeldSlice {
    at: u64,
    /// Also the name of a method: its map may be gone when it is passed on.
    name: Box<str>,
    /// Whether the name will not recur.
    once: bool,
    args: OwnedArgs,
}

/// Passes what is selected on to `sink` unchanged: a slice that extends beyond the time range keeps its start
/// and end. A selected event without duration keeps the slices that contain it, however short they are.
#[derive(Debug)]
pub struct Filter<'k, K> {
    sink: &'k mut K,
    selection: Selection,
    from: u64,
    to: u64,
    /// The minimum duration on the current track.
    min_duration: u64,
    /// The innermost open slices, none of which has been passed on.
    held: Vec<HeldSlice>,
    /// Number of open slices that started too late: they and everything inside are omitted.
    late: usize,
    left_out: Tally,
}

impl<'k, K: Sink> Filter<'k, K> {
    /// Passes on to `sink` what `selection` selects.
    pub fn new(sink: &'k mut K, selection: Selection) -> Self {
        Self {
            sink,
            selection,
            from: 0,
            to: u64::MAX,
            min_duration: 0,
            held: Vec::new(),
            late: 0,
            left_out: Tally::default(),
        }
    }

    /// Counts of what was omitted, by kind.
    #[must_use]
    pub fn left_out(&self) -> &Tally {
        &self.left_out
    }

    /// Forwards to the sink the open slices that are selected by `now`; all of them if `all`.
    fn forward_held(&mut self, now: u64, all: bool) -> Result<(), ExportError> {
        let long = |held: &HeldSlice| now >= self.from && now.saturating_sub(held.at) >= self.min_duration;
        // Inner slices started later: if one is not selected yet, none inside it is.
        let selected = self.held.iter().take_while(|held| all || long(held)).count();
        for held in self.held.drain(..selected) {
            let name = if held.once { Name::Once(&held.name) } else { Name::Text(&held.name) };
            self.sink.begin(held.at, name, &borrowed(&held.args))?;
        }
        Ok(())
    }

    /// A track begins whose slices have to last as long as this.
    fn next_track(&mut self, min_duration: u64) {
        (self.min_duration, self.late) = (min_duration, 0);
        self.held.clear();
    }

    fn in_time(&self, at: u64) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

impl<K: Sink> Sink for Filter<'_, K> {
    fn wants(&self, thread: &ThreadInfo) -> bool {
        let selected =
            |selected: &String| is_called(selected, thread.main, thread.name.as_deref(), thread.recorded_tid);
        self.selection.threads.is_empty() || self.selection.threads.iter().any(selected)
    }

    fn head(&mut self, start: u64, clocks: &[Clocks]) -> Result<(), ExportError> {
        self.from = start.saturating_add(self.selection.from.unwrap_or(0));
        self.to = self.selection.to.map_or(u64::MAX, |to| start.saturating_add(to));
        self.sink.head(start, clocks)
    }

    fn process(&mut self, process: &ProcessInfo) -> Result<(), ExportError> {
        self.sink.process(process)
    }

    fn track(&mut self, track: Track) -> Result<(), ExportError> {
        self.next_track(if matches!(track, Track::Thread(_)) { self.selection.min_duration } else { 0 });
        self.sink.track(track)
    }

    fn lane(&mut self, lane: Lane<'_>) -> Result<(), ExportError> {
        self.next_track(0);
        self.sink.lane(lane)
    }

    fn begin(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        if self.late > 0 || at > self.to {
            self.late += 1;
            return Ok(());
        }
        self.forward_held(at, false)?;
        let args = args.iter().map(|arg| (arg.key, arg.value.map(|text| Box::from(*text)))).collect();
        let once = matches!(name, Name::Once(_));
        self.held.push(HeldSlice { at, name: name.text().into(), once, args });
        Ok(())
    }

    fn end(&mut self, at: u64, args: &[Arg<'_>]) -> Result<(), ExportError> {
        if self.late > 0 {
            self.late -= 1;
        } else {
            self.forward_held(at, false)?;
            if self.held.pop().is_none() {
                return self.sink.end(at, args);
            }
        }
        self.left_out.slices += 1;
        self.left_out.incomplete += u64::from(args.iter().any(|arg| arg.key == "incomplete"));
        Ok(())
    }

    fn instant(&mut self, at: u64, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        if !self.in_time(at) || self.late > 0 {
            self.left_out.instants += 1;
            return Ok(());
        }
        self.forward_held(at, true)?;
        self.sink.instant(at, name, args)
    }

    fn counter(&mut self, at: u64, name: &str, unit: Unit, value: f64) -> Result<(), ExportError> {
        if !self.in_time(at) {
            self.left_out.counters += 1;
            return Ok(());
        }
        self.sink.counter(at, name, unit, value)
    }

    fn frame(&mut self, row: &FrameRow) -> Result<(), ExportError> {
        if row.actual.1 < self.from || row.actual.0 > self.to {
            self.left_out.frames += 1;
            return Ok(());
        }
        self.sink.frame(row)
    }

    fn stack(&mut self, row: &StackRow<'_>) -> Result<(), ExportError> {
        if !self.in_time(row.at) {
            self.left_out.stacks += u64::from(!row.frames.is_empty());
            self.left_out.instants += u64::from(row.state.is_some());
            return Ok(());
        }
        self.sink.stack(row)
    }

    fn log(&mut self, line: &LogLine<'_>) -> Result<(), ExportError> {
        // The exporter's own warnings are about the whole trace.
        let selected = self.in_time(line.at) || (line.source.is_none() && line.level > Level::Info);
        if selected { self.sink.log(line) } else { Ok(()) }
    }

    fn anr(&mut self, row: &AnrRow<'_>) -> Result<(), ExportError> {
        if self.in_time(row.at) { self.sink.anr(row) } else { Ok(()) }
    }

    fn finish(&mut self, facts: &[(String, String)]) -> Result<(), ExportError> {
        self.sink.finish(facts)
    }
}
