//! Which signals and stalls make an ANR.
//!
//! * A SIGQUIT that finds main in a message that began at least [`BLOCKED`] ago is an ANR, from that
//!   begin to the moment at which the signal was sensed. Further signals for the same message add
//!   nothing but a count.
//! * A stall that the watchdog found is evidence for the ANR of the same message. Without a SIGQUIT it
//!   is a suspected ANR of its own.
//! * Any other SIGQUIT is somebody asking for a thread dump: a capture.

use trace_format::event::{Sigquit, TextId};
use trace_format::{Event, Item, ReadError, Recording, Source};

use super::survey::MAX_TIME;

/// How old main's message must be for a SIGQUIT to count as an ANR: Matrix's rule for the foreground.
const BLOCKED: u64 = 2_000_000_000;

/// ANRs, captures and notices that are kept one by one.
const MAX_KEPT: usize = 1024;

/// Who noticed an ANR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detector {
    /// The system: it asked for a thread dump.
    Sigquit(Sigquit),
    /// Our own timer; the system may never have noticed.
    Watchdog,
}

/// An ANR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Anr {
    /// Begin of the message that main was in.
    pub since: u64,
    /// When it was detected.
    pub detected: u64,
    /// Who noticed.
    pub detector: Detector,
    /// When the watchdog found the stall, if it did.
    pub watchdog: Option<u64>,
    /// When main went on, if that was recorded.
    pub recovered: Option<u64>,
    /// SIGQUITs for this message beyond the first.
    pub more_signals: u32,
}

impl Anr {
    /// How long main was blocked when it was detected, in ns.
    #[must_use]
    pub fn blocked(&self) -> u64 {
        self.detected - self.since
    }

    /// Our words for it. The system's subject is not known here, so none of its forms is used for a
    /// SIGQUIT; `App requested:` is the platform's form for an ANR that the app itself reports.
    #[must_use]
    pub fn subject(&self) -> String {
        let ms = self.blocked() / 1_000_000;
        match self.detector {
            Detector::Sigquit(_) => format!("main thread blocked {ms} ms (SIGQUIT)"),
            Detector::Watchdog => format!("App requested: main thread blocked {ms} ms (watchdog)"),
        }
    }

    /// An identity that the same recording always gives, in the form of a UUID.
    pub(crate) fn error_id(&self, pid: u32) -> String {
        let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        let bytes = [u64::from(pid), self.since, self.detected].map(u64::to_le_bytes).concat();
        for byte in bytes {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        let hex = format!("{hash:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

/// A thread dump that somebody asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capture {
    /// When the signal was sensed.
    pub at: u64,
    /// The signal.
    pub sigquit: Sigquit,
}

/// What the service ring tells.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Incidents {
    /// ANRs by time of their begin.
    pub anrs: Vec<Anr>,
    /// Captures by time.
    pub captures: Vec<Capture>,
    /// What the recorder says of itself.
    pub notices: Vec<(u64, TextId)>,
    /// How many of all these were too many to keep.
    pub more: u64,
}

impl Incidents {
    /// Reads and judges the service ring.
    ///
    /// # Errors
    /// If the device fails.
    pub fn of<S: Source>(recording: &Recording<S>) -> Result<Self, ReadError> {
        let mut found = Self::default();
        let Some(ring) = recording.service() else { return Ok(found) };
        for item in recording.events(ring) {
            let Item::Event { time, event } = item? else { continue };
            let time = time.min(MAX_TIME);
            if found.anrs.len() + found.captures.len() + found.notices.len() >= MAX_KEPT {
                found.more += 1;
                continue;
            }
            match event {
                Event::Sigquit(s) => found.sigquit(s),
                Event::Stall(s) if s.stuck_since > 0 && s.stuck_since <= time => {
                    found.stall(s.stuck_since, time);
                }
                Event::Recovered(s) => {
                    if let Some(anr) = found.anrs.iter_mut().find(|a| a.since == s.stuck_since) {
                        anr.recovered.get_or_insert(time);
                    }
                }
                Event::Notice(text) => found.notices.push((time, text)),
                _ => {}
            }
        }
        found.anrs.sort_by_key(|a| (a.since, a.detected));
        found.captures.sort_by_key(|c| c.at);
        Ok(found)
    }

    fn sigquit(&mut self, s: Sigquit) {
        let at = s.sensed.min(MAX_TIME);
        let known = (s.stuck_since > 0).then(|| self.anrs.iter_mut().find(|a| a.since == s.stuck_since));
        match known.flatten() {
            Some(anr) if matches!(anr.detector, Detector::Sigquit(_)) => anr.more_signals += 1,
            // The system's word weighs more than our timer's, which becomes evidence.
            Some(anr) => {
                anr.detector = Detector::Sigquit(s);
                anr.detected = at.max(anr.since);
            }
            None if s.stuck_since > 0 && at.saturating_sub(s.stuck_since) >= BLOCKED => {
                self.anrs.push(Anr {
                    since: s.stuck_since,
                    detected: at,
                    detector: Detector::Sigquit(s),
                    watchdog: None,
                    recovered: None,
                    more_signals: 0,
                });
            }
            None => self.captures.push(Capture { at, sigquit: s }),
        }
    }

    fn stall(&mut self, since: u64, at: u64) {
        match self.anrs.iter_mut().find(|a| a.since == since) {
            Some(anr) => {
                anr.watchdog.get_or_insert(at);
            }
            None => self.anrs.push(Anr {
                since,
                detected: at,
                detector: Detector::Watchdog,
                watchdog: Some(at),
                recovered: None,
                more_signals: 0,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::event::{Forward, Stall};
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};

    const S: u64 = 1_000_000_000;

    fn sigquit(at: u64, stuck_since: u64) -> Event {
        let forward = Forward::Catcher;
        Event::Sigquit(Sigquit { sensed: at, si_code: 0, si_pid: 9, si_uid: 1000, forward, stuck_since })
    }

    fn incidents(fill: impl FnOnce(&mut ThreadBuilder)) -> Incidents {
        let bytes = RecordingBuilder::new(42, "p").service(fill).build();
        Incidents::of(&Recording::open(bytes).unwrap()).unwrap()
    }

    #[test]
    fn a_stall_and_many_signals_for_one_message_are_one_anr() {
        let stall = Event::Stall(Stall { stuck_since: 10 * S });
        let found = incidents(|t| {
            t.event(15 * S, stall)
                .event(16 * S, sigquit(16 * S, 10 * S))
                .event(17 * S, sigquit(17 * S, 10 * S))
                .event(18 * S, stall)
                .event(20 * S, Event::Recovered(Stall { stuck_since: 10 * S }));
        });
        let [anr] = found.anrs[..] else { panic!("{found:?}") };
        assert!(matches!(anr.detector, Detector::Sigquit(s) if s.si_pid == 9));
        assert_eq!((anr.since, anr.detected, anr.watchdog), (10 * S, 16 * S, Some(15 * S)));
        assert_eq!((anr.more_signals, anr.recovered, anr.blocked()), (1, Some(20 * S), 6 * S));
        assert_eq!(anr.subject(), "main thread blocked 6000 ms (SIGQUIT)");
        assert!(found.captures.is_empty());
    }

    #[test]
    fn a_signal_that_finds_main_at_work_is_a_capture() {
        let found = incidents(|t| {
            t.event(5 * S, sigquit(5 * S, 0)).event(6 * S, sigquit(6 * S, 5 * S));
        });
        assert_eq!((found.anrs.len(), found.captures.len()), (0, 2));
    }

    #[test]
    fn a_stall_alone_is_suspected_and_says_so() {
        let found = incidents(|t| {
            t.event(15 * S, Event::Stall(Stall { stuck_since: 10 * S }));
        });
        let [anr] = found.anrs[..] else { panic!("{found:?}") };
        assert_eq!(anr.subject(), "App requested: main thread blocked 5000 ms (watchdog)");
        let id = anr.error_id(42);
        assert_eq!((id.len(), id.matches('-').count()), (36, 4));
        assert_ne!(id, anr.error_id(43));
    }

    #[test]
    fn a_storm_is_counted_not_kept() {
        let found = incidents(|t| {
            for i in 0..3000 {
                t.event(S + i, sigquit(S + i, 0));
            }
        });
        assert_eq!((found.captures.len(), found.more), (MAX_KEPT, 3000 - MAX_KEPT as u64));
    }
}
