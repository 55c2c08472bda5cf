//! The events of a recording: methods, and typed events with payload.
//!
//! A typed event has an id from `0xFF000` on that says its type *and* how many payload words follow,
//! so that a reader steps over types it has never heard of:
//!
//! ```text
//! 0xFF000 | payload words (4 bits) << 8 | type (8 bits)
//! ```
//!
//! Payload words follow in the same block and are never split from their event. Where two 32-bit
//! values share a payload word, the first named is the upper half. Text ids refer to the string
//! table; 0 is "no text". Times are CLOCK_BOOTTIME nanoseconds.

use crate::ids;

mod calls;
mod concurrency;
mod payload;
mod wait;
pub use calls::CallId;
pub use concurrency::*;
pub use payload::*;
pub use wait::*;

/// The most payload words an event can have.
pub const MAX_PAYLOAD: usize = 15;

/// Type numbers. A number is never reused; 0xFE and 0xFF with 15 payload words are taken by
/// [`ids::DISPATCH`] and [`ids::INVALID`], so types end at 0xFD.
pub mod types {
    /// The full time, before a gap that the 43-bit field cannot express. Payload: time.
    pub const TIME: u8 = 0x01;
    /// A Looper message. Begin: target and callback text, `what` and the handler's identity, time it was due; and the callback's
    /// identity and 0 if that is known.
    pub const MESSAGE: u8 = 0x02;
    /// `Choreographer#doFrame`. Begin: vsync id, intended vsync time, frame interval in ns, and 1 if its stages are estimated. End:
    /// nothing, or 1 if Choreographer ran no frame in that message.
    pub const FRAME: u8 = 0x03;
    /// A wait. Begin: kind and owner's thread uid, lock identity, class text and the call's number.
    pub const WAIT: u8 = 0x04;
    /// An instant mark of the application. Text.
    pub const MARK: u8 = 0x05;
    /// A span of the application or of start-up. Begin: text.
    pub const SPAN: u8 = 0x06;
    /// An idle handler. Begin: class text.
    pub const IDLE: u8 = 0x07;
    /// A counter sample. Name text, value.
    pub const COUNTER: u8 = 0x08;
    /// An activity gained or lost window focus. Class text and 1 or 0.
    pub const FOCUS: u8 = 0x09;
    /// The cost of a frame as the system measured it, written once it is on the display; see [`super::FrameMetrics`] for the
    /// order of its 13 words.
    pub const FRAME_METRICS: u8 = 0x0A;
    /// Input events that a frame handled. Its intended vsync, times of the oldest and the newest.
    pub const INPUT_EVENTS: u8 = 0x0B;
    /// Calls that were open when the block began, recorded at the start of the block: how many, the number of the first one named here, and up to 36 of
    /// their ids, outermost first, three in a word; see [`super::OpenCalls`].
    pub const OPEN_CALLS: u8 = 0x0C;
    /// Calls that were too short to be recorded; see [`super::Folded`].
    pub const FOLDED: u8 = 0x0D;
    /// A step of concurrent work; see [`super::Concurrency`].
    pub const CONCURRENCY: u8 = 0x0E;
    /// The end of a call or wait was lost, on this thread or another; see [`super::LostEnd`].
    pub const LOST_END: u8 = 0x0F;
    /// First of the frame stages; see [`super::Stage`].
    pub const STAGE_FIRST: u8 = 0x10;
    /// Last of the frame stages.
    pub const STAGE_LAST: u8 = 0x14;
    /// Service ring: BOOTTIME, MONOTONIC and REALTIME read together.
    pub const CLOCK: u8 = 0x20;
    /// Service ring: a SIGQUIT was sensed.
    pub const SIGQUIT: u8 = 0x21;
    /// Service ring: the looper timer found a message older than its threshold.
    pub const STALL: u8 = 0x22;
    /// Service ring: the message that was reported as stalled has ended.
    pub const RECOVERED: u8 = 0x23;
    /// Service ring: a diagnostic notice of the recorder. Text.
    pub const NOTICE: u8 = 0x24;
    /// Service ring: recording was changed while it ran. Change and method id, events a second.
    pub const CONTROL: u8 = 0x25;
    /// Service ring: a thread's CPU usage. tid and state, time run, time runnable but not running,
    /// voluntary and involuntary context switches.
    pub const USAGE: u8 = 0x26;
    /// Words without meaning: a former writer of the block may still store there. Readers skip them.
    pub const PADDING: u8 = 0x27;
    /// Service ring: coarse time stood still. Since when, until when.
    pub const STANDSTILL: u8 = 0x28;
}

/// One event, decoded.
// A tag of one byte would have fields beside it in its word, and each copy of a method's id would be loaded across two stores.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// A method, or [`ids::DISPATCH`], was entered.
    Enter(u32),
    /// A method, or [`ids::DISPATCH`], was left.
    Exit(u32),
    /// See [`types::TIME`]. The reader has applied it already.
    Time(u64),
    /// A Looper message begins.
    MessageBegin(Message),
    /// The Looper message ends.
    MessageEnd,
    /// A frame begins.
    FrameBegin(Frame),
    /// The frame ends.
    FrameEnd,
    /// What began as a frame ends without being one: Choreographer postponed the frame or expected none. The next frame has its
    /// number. An older reader reads the frame's end instead.
    FrameSkipped,
    /// A frame stage begins.
    StageBegin(Stage),
    /// The frame stage ends.
    StageEnd(Stage),
    /// A wait begins.
    WaitBegin(Wait),
    /// The wait ends.
    WaitEnd,
    /// An instant mark.
    Mark(TextId),
    /// A named span begins.
    SpanBegin(TextId),
    /// The named span ends.
    SpanEnd,
    /// An idle handler begins.
    IdleBegin(TextId),
    /// The idle handler ends.
    IdleEnd,
    /// A counter sample.
    Counter(TextId, f64),
    /// Window focus of an activity class.
    Focus(TextId, bool),
    /// The cost of a frame.
    FrameMetrics(FrameMetrics),
    /// The input that a frame handled.
    InputEvents(InputEvents),
    /// Calls that were open when the block began.
    OpenCalls(OpenCalls),
    /// Calls that were too short to be recorded.
    Folded(Folded),
    /// A step of concurrent work.
    Concurrency(Concurrency),
    /// The end of a call or wait was lost.
    LostEnd(LostEnd),
    /// The three clocks.
    Clock(Clocks),
    /// SIGQUIT.
    Sigquit(Sigquit),
    /// Main is stalled.
    Stall(Stall),
    /// Main has recovered.
    Recovered(Stall),
    /// A diagnostic notice of the recorder.
    Notice(TextId),
    /// Recording was changed.
    Control(Control),
    /// A thread's CPU usage.
    Usage(Usage),
    /// Coarse time stood still.
    Standstill(Standstill),
    /// A type of a later version, or one whose payload is too short.
    Unknown {
        /// The type number.
        ty: u8,
        /// Whether the begin bit is set.
        begin: bool,
    },
}

/// The most payload words of an event that this version writes.
const MAX_WRITTEN: usize = 13;

/// An event as words: the id and begin bit of its first word, and its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// The begin bit.
    pub begin: bool,
    /// The 20-bit id.
    pub id: u32,
    payload: [u64; MAX_WRITTEN],
    len: u8,
}

impl Encoded {
    /// The payload words.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &[u64] {
        &self.payload[..self.len as usize]
    }

    /// True for the begin or the end of a method or a call: see [`ids::is_plain`].
    #[inline]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        ids::is_plain(self.id)
    }

    /// True for the end of a method or a call.
    #[inline]
    #[must_use]
    pub fn is_exit(&self) -> bool {
        !self.begin && self.is_plain()
    }

    /// The first word of the event, at `since_t0` ns after its block was opened.
    #[inline]
    #[must_use]
    pub fn word(&self, since_t0: u64) -> u64 {
        crate::word::pack(self.begin, self.id, since_t0)
    }
}

/// The id of a typed event with `payload` words.
///
/// # Panics
/// In debug builds, if the combination is reserved.
#[inline]
#[must_use]
pub const fn typed_id(ty: u8, payload: usize) -> u32 {
    debug_assert!(payload <= MAX_PAYLOAD && ty <= 0xFD);
    ids::EVENT_FIRST | ((payload as u32) << 8) | ty as u32
}

/// How many payload words follow a word with this id.
#[inline]
#[must_use]
pub const fn payload_len(id: u32) -> usize {
    if id >= ids::EVENT_FIRST && id <= ids::EVENT_LAST { (id >> 8) as usize & MAX_PAYLOAD } else { 0 }
}

/// Whether a word with this id and its payload have no meaning: [`types::PADDING`].
#[inline]
#[must_use]
pub(crate) const fn is_padding(id: u32) -> bool {
    id >= ids::EVENT_FIRST && id <= ids::EVENT_LAST && id as u8 == types::PADDING
}

const fn halves(upper: u32, lower: u32) -> u64 {
    ((upper as u64) << 32) | lower as u64
}

const fn upper(word: u64) -> u32 {
    (word >> 32) as u32
}

const fn lower(word: u64) -> u32 {
    word as u32
}

impl Event {
    /// The event as words.
    #[inline]
    #[must_use]
    pub fn encode(&self) -> Encoded {
        let typed = |begin, ty, words: &[u64]| {
            let mut payload = [0; MAX_WRITTEN];
            payload[..words.len()].copy_from_slice(words);
            Encoded { begin, id: typed_id(ty, words.len()), payload, len: words.len() as u8 }
        };
        match *self {
            Self::Enter(id) => Encoded { begin: true, id, payload: [0; MAX_WRITTEN], len: 0 },
            Self::Exit(id) => Encoded { begin: false, id, payload: [0; MAX_WRITTEN], len: 0 },
            Self::Time(t) => typed(false, types::TIME, &[t]),
            Self::MessageBegin(m) => typed(
                true,
                types::MESSAGE,
                &[
                    halves(m.target.0, m.callback.0),
                    halves(m.what as u32, m.handler),
                    m.due,
                    halves(m.object, 0),
                ][..if m.object == 0 { 3 } else { 4 }],
            ),
            Self::MessageEnd => typed(false, types::MESSAGE, &[]),
            Self::FrameBegin(f) => {
                typed(true, types::FRAME, &[f.vsync, f.intended, f.interval, u64::from(f.estimated)])
            }
            Self::FrameEnd => typed(false, types::FRAME, &[]),
            Self::FrameSkipped => typed(false, types::FRAME, &[1]),
            Self::StageBegin(s) => typed(true, s as u8, &[]),
            Self::StageEnd(s) => typed(false, s as u8, &[]),
            Self::WaitBegin(w) => typed(
                true,
                types::WAIT,
                &[halves(w.kind.number(), w.owner), w.lock, halves(w.class.0, w.call.0)],
            ),
            Self::WaitEnd => typed(false, types::WAIT, &[]),
            Self::Mark(text) => typed(false, types::MARK, &[halves(text.0, 0)]),
            Self::SpanBegin(text) => typed(true, types::SPAN, &[halves(text.0, 0)]),
            Self::SpanEnd => typed(false, types::SPAN, &[]),
            Self::IdleBegin(text) => typed(true, types::IDLE, &[halves(text.0, 0)]),
            Self::IdleEnd => typed(false, types::IDLE, &[]),
            Self::Counter(text, value) => typed(false, types::COUNTER, &[halves(text.0, 0), value.to_bits()]),
            Self::Focus(text, gained) => typed(false, types::FOCUS, &[halves(text.0, u32::from(gained))]),
            Self::FrameMetrics(m) => typed(
                false,
                types::FRAME_METRICS,
                &[
                    m.intended,
                    m.vsync,
                    m.delay,
                    m.input,
                    m.animation,
                    m.layout,
                    m.draw,
                    m.sync,
                    m.command,
                    m.swap,
                    m.total,
                    m.gpu,
                    m.deadline,
                ],
            ),
            Self::InputEvents(i) => typed(false, types::INPUT_EVENTS, &[i.intended, i.oldest, i.newest]),
            Self::OpenCalls(open) => {
                let words = open.encode();
                typed(false, types::OPEN_CALLS, &words[..1 + open.named().div_ceil(OpenCalls::IDS_IN_WORD)])
            }
            Self::Folded(folded) => {
                let hot = folded.hot.map(|(id, share)| halves(id, share));
                let named = folded.hot.iter().take_while(|(id, _)| *id != 0).count();
                let words = [folded.calls, folded.since, hot[0], hot[1], hot[2], hot[3]];
                typed(false, types::FOLDED, &words[..2 + named])
            }
            Self::Concurrency(step) => typed(false, types::CONCURRENCY, &step.to_words()),
            Self::LostEnd(end) => typed(false, types::LOST_END, &[u64::from(end.number())]),
            Self::Clock(c) => typed(false, types::CLOCK, &[c.boottime, c.monotonic, c.realtime]),
            Self::Sigquit(s) => typed(
                false,
                types::SIGQUIT,
                &[
                    s.sensed,
                    halves(s.si_code as u32, s.si_pid),
                    halves(s.si_uid, s.forward.number()),
                    s.stuck_since,
                ],
            ),
            Self::Stall(s) => typed(false, types::STALL, &[s.stuck_since]),
            Self::Recovered(s) => typed(false, types::RECOVERED, &[s.stuck_since]),
            Self::Notice(text) => typed(false, types::NOTICE, &[halves(text.0, 0)]),
            Self::Control(c) => typed(false, types::CONTROL, &[halves(c.change.number(), c.method), c.rate]),
            Self::Usage(u) => typed(
                false,
                types::USAGE,
                &[halves(u.tid, u32::from(u.state)), u.ran, u.waited, halves(u.voluntary, u.involuntary)],
            ),
            Self::Standstill(s) => typed(false, types::STANDSTILL, &[s.since, s.until]),
            Self::Unknown { ty, begin } => typed(begin, ty, &[]),
        }
    }

    /// Decodes the event whose first word has `begin` and `id`, and which is followed by `payload`.
    /// A longer payload than this version knows is legal: later versions append.
    #[must_use]
    pub fn decode(begin: bool, id: u32, payload: &[u64]) -> Self {
        if !(ids::EVENT_FIRST..=ids::EVENT_LAST).contains(&id) {
            return match (CallId::of_word(id), begin) {
                (None, true) => Self::Enter(id),
                (None, false) => Self::Exit(id),
                (Some(call), true) => Self::WaitBegin(Wait { call, ..Wait::new(WaitKind::Blocking) }),
                (Some(_), false) => Self::WaitEnd,
            };
        }
        let ty = id as u8;
        Self::decode_typed(begin, ty, payload).unwrap_or(Self::Unknown { ty, begin })
    }

    fn decode_typed(begin: bool, ty: u8, payload: &[u64]) -> Option<Self> {
        let p = |i: usize| payload.get(i).copied();
        let text = || p(0).map(|w| TextId(upper(w)));
        Some(match (ty, begin) {
            (types::TIME, false) => Self::Time(p(0)?),
            (types::MESSAGE, true) => Self::MessageBegin(Message {
                target: TextId(upper(p(0)?)),
                callback: TextId(lower(p(0)?)),
                what: upper(p(1)?) as i32,
                handler: lower(p(1)?),
                due: p(2)?,
                object: p(3).map_or(0, upper),
            }),
            (types::MESSAGE, false) => Self::MessageEnd,
            (types::FRAME, true) => {
                let estimated = p(3).is_some_and(|flags| flags & 1 != 0);
                Self::FrameBegin(Frame { vsync: p(0)?, intended: p(1)?, interval: p(2)?, estimated })
            }
            (types::FRAME, false) if p(0) == Some(1) => Self::FrameSkipped,
            (types::FRAME, false) => Self::FrameEnd,
            (types::STAGE_FIRST..=types::STAGE_LAST, true) => Self::StageBegin(Stage::from_type(ty)?),
            (types::STAGE_FIRST..=types::STAGE_LAST, false) => Self::StageEnd(Stage::from_type(ty)?),
            (types::WAIT, true) => Self::WaitBegin(Wait {
                kind: WaitKind::from(upper(p(0)?)),
                owner: lower(p(0)?),
                lock: p(1)?,
                class: TextId(upper(p(2)?)),
                call: CallId(lower(p(2)?)),
            }),
            (types::WAIT, false) => Self::WaitEnd,
            (types::MARK, false) => Self::Mark(text()?),
            (types::SPAN, true) => Self::SpanBegin(text()?),
            (types::SPAN, false) => Self::SpanEnd,
            (types::IDLE, true) => Self::IdleBegin(text()?),
            (types::IDLE, false) => Self::IdleEnd,
            (types::COUNTER, false) => Self::Counter(text()?, f64::from_bits(p(1)?)),
            (types::FOCUS, false) => Self::Focus(text()?, lower(p(0)?) != 0),
            (types::FRAME_METRICS, false) => Self::FrameMetrics(FrameMetrics {
                intended: p(0)?,
                vsync: p(1)?,
                delay: p(2)?,
                input: p(3)?,
                animation: p(4)?,
                layout: p(5)?,
                draw: p(6)?,
                sync: p(7)?,
                command: p(8)?,
                swap: p(9)?,
                total: p(10)?,
                gpu: p(11)?,
                deadline: p(12)?,
            }),
            (types::INPUT_EVENTS, false) => {
                Self::InputEvents(InputEvents { intended: p(0)?, oldest: p(1)?, newest: p(2)? })
            }
            (types::OPEN_CALLS, false) => Self::OpenCalls(OpenCalls::decode(payload)?),
            (types::FOLDED, false) => {
                let hot = |i: usize| p(2 + i).map_or((0, 0), |word| (upper(word), lower(word)));
                Self::Folded(Folded { calls: p(0)?, since: p(1)?, hot: [hot(0), hot(1), hot(2), hot(3)] })
            }
            (types::CONCURRENCY, false) => {
                Self::Concurrency(Concurrency::from_words(*payload.first_chunk()?))
            }
            (types::LOST_END, false) => Self::LostEnd(LostEnd::of(lower(p(0)?))),
            (types::CLOCK, false) => {
                Self::Clock(Clocks { boottime: p(0)?, monotonic: p(1)?, realtime: p(2)? })
            }
            (types::SIGQUIT, false) => Self::Sigquit(Sigquit {
                sensed: p(0)?,
                si_code: upper(p(1)?) as i32,
                si_pid: lower(p(1)?),
                si_uid: upper(p(2)?),
                forward: Forward::from(lower(p(2)?)),
                stuck_since: p(3)?,
            }),
            (types::STALL, false) => Self::Stall(Stall { stuck_since: p(0)? }),
            (types::RECOVERED, false) => Self::Recovered(Stall { stuck_since: p(0)? }),
            (types::NOTICE, false) => Self::Notice(text()?),
            (types::CONTROL, false) => Self::Control(Control {
                change: Change::from(upper(p(0)?)),
                method: lower(p(0)?),
                rate: p(1)?,
            }),
            (types::USAGE, false) => Self::Usage(Usage {
                tid: upper(p(0)?),
                state: lower(p(0)?) as u8,
                ran: p(1)?,
                waited: p(2)?,
                voluntary: upper(p(3)?),
                involuntary: lower(p(3)?),
            }),
            (types::STANDSTILL, false) => Self::Standstill(Standstill { since: p(0)?, until: p(1)? }),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
