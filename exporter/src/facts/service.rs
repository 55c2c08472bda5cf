//! Reads the service ring, once.

use trace_format::event::{Clocks, Control, Standstill, Usage};
use trace_format::{Event, Item, ReadError, Recording, Source};

use super::MAX_TIME;
use super::skipped::Skipped;

/// Maximum number of changes and of polls of main kept, and of standstills.
const MAX_KEPT: usize = 4096;
/// Maximum number of signals, stalls and notices kept for judging.
const MAX_INCIDENTS: usize = 8192;
/// Maximum number of clock triples kept.
const MAX_CLOCKS: usize = 1 << 16;

/// The events of the service ring, each kind by time.
#[derive(Debug, Default)]
pub(super) struct Service {
    /// SIGQUITs, stalls, recoveries and notices.
    pub(super) incidents: Vec<(u64, Event)>,
    /// What was changed.
    pub(super) changes: Vec<(u64, Control)>,
    /// Polls of main.
    pub(super) usage: Vec<(u64, Usage)>,
    /// When coarse time stood still.
    pub(super) still: Vec<(u64, u64)>,
    /// Clock triples.
    pub(super) clocks: Vec<Clocks>,
    /// Time of the last event.
    pub(super) last: u64,
}

impl Service {
    pub(super) fn of(
        recording: &Recording<dyn Source + '_>,
        skipped: &mut Skipped,
    ) -> Result<Self, ReadError> {
        let mut found = Self::default();
        let Some(ring) = recording.service() else { return Ok(found) };
        for item in recording.events(ring) {
            let Item::Event { time, event } = item? else { continue };
            found.last = time;
            if let Some(what) = found.event(time.min(MAX_TIME), event) {
                skipped.add(what, 1);
            }
        }
        Ok(found)
    }

    /// Keeps an event; returns its kind if the limit is exceeded.
    fn event(&mut self, time: u64, event: Event) -> Option<&'static str> {
        let controlled = self.changes.len() + self.usage.len() < MAX_KEPT;
        match event {
            Event::Sigquit(_) | Event::Stall(_) | Event::Recovered(_) | Event::Notice(_) => {
                if self.incidents.len() >= MAX_INCIDENTS {
                    return Some("ANRs, captures and notices");
                }
                self.incidents.push((time, event));
            }
            Event::Control(control) if controlled => self.changes.push((time, control)),
            Event::Usage(usage) if controlled => self.usage.push((time, usage)),
            Event::Standstill(Standstill { since, until }) if self.still.len() < MAX_KEPT => {
                self.still.push((since, until.min(MAX_TIME)));
            }
            Event::Clock(clocks) if self.clocks.len() < MAX_CLOCKS => self.clocks.push(clocks),
            Event::Control(_) | Event::Usage(_) | Event::Standstill(_) | Event::Clock(_) => {
                return Some("events of the recorder");
            }
            Event::Unknown { .. } => return Some("events of the recorder of later versions"),
            _ => {}
        }
        None
    }
}
