//! The payloads of events.

words! {
    /// The stages of a frame, in the order in which Choreographer runs them
    /// (AOSP `Choreographer.java`, CALLBACK_INPUT to CALLBACK_COMMIT). Their words are AOSP's.
    #[derive(PartialOrd, Ord)]
    #[repr(u8)]
    Stage {
        /// INPUT callbacks.
        Input(0x10) = "input",
        /// ANIMATION callbacks.
        Animation(0x11) = "animation",
        /// INSETS_ANIMATION callbacks (API 30).
        InsetsAnimation(0x12) = "insets_animation",
        /// TRAVERSAL callbacks: measure, layout, draw.
        Traversal(0x13) = "traversal",
        /// COMMIT callbacks (API 23).
        Commit(0x14) = "commit",
    }
}

impl Stage {
    /// How many stages a frame has.
    pub const COUNT: usize = Self::ALL.len();

    /// The stage's place among [`Stage::ALL`].
    ///
    /// ```
    /// use trace_format::event::Stage;
    ///
    /// let mut costs = [0; Stage::COUNT];
    /// costs[Stage::Traversal.index()] = 8_000_000;
    /// assert_eq!(Stage::ALL[3], Stage::Traversal);
    /// ```
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize - Self::Input as usize
    }

    /// The name of its constant in `Choreographer`, without `CALLBACK_`.
    #[must_use]
    pub const fn constant(self) -> &'static str {
        match self {
            Self::Input => "INPUT",
            Self::Animation => "ANIMATION",
            Self::InsetsAnimation => "INSETS_ANIMATION",
            Self::Traversal => "TRAVERSAL",
            Self::Commit => "COMMIT",
        }
    }

    /// The stage with this event type.
    pub(super) fn from_type(ty: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| *stage as u8 == ty)
    }
}

/// The id of a string in the recording's string table; 0 is "none".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct TextId(pub u32);

/// The start of a Looper message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Message {
    /// The handler's class.
    pub target: TextId,
    /// The callback's class, if the message carries one.
    pub callback: TextId,
    /// `Message.what`.
    pub what: i32,
    /// Which handler: its identity hash code; 0 if unknown, [`Message::NOT_QUEUED`] if no handler had it.
    pub handler: u32,
    /// When the message was due, 0 if unknown.
    pub due: u64,
    /// The callback's identity hash code, 0 if unknown.
    pub object: u32,
}

impl Message {
    /// In [`Message::handler`]: work of the thread that came from no queue, such as an input event that the native Looper
    /// dispatches inside of `MessageQueue.nativePollOnce`. Its target and callback are names, its `what` and `due` are 0.
    ///
    /// No handler has this number: ART stores an object's identity hash code in 28 bits of its lock word (AOSP
    /// `art/runtime/lock_word.h`, API 21 to 34) and HotSpot in 31 (`markWord.hpp`).
    pub const NOT_QUEUED: u32 = u32::MAX;

    /// Whether it came out of a queue.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.handler != Self::NOT_QUEUED
    }
}

/// The start of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The vsync id (API 31), or a running number.
    pub vsync: u64,
    /// The vsync that the frame is for; 0 if unknown.
    pub intended: u64,
    /// The interval between two vsyncs in ns; 0 if unknown.
    pub interval: u64,
    /// Whether the starts of its stages are estimated from public callbacks, and not read from Choreographer's queues.
    pub estimated: bool,
}

/// The cost of a frame as the system measured it (`android.view.FrameMetrics`, API 24), ns. Arrives after the frame, from
/// another thread; `intended` identifies the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameMetrics {
    /// The vsync that the frame was for (API 26), else 0.
    pub intended: u64,
    /// When the frame began (API 26), else 0.
    pub vsync: u64,
    /// UNKNOWN_DELAY_DURATION: main was busy with something else.
    pub delay: u64,
    /// INPUT_HANDLING_DURATION.
    pub input: u64,
    /// ANIMATION_DURATION.
    pub animation: u64,
    /// LAYOUT_MEASURE_DURATION.
    pub layout: u64,
    /// DRAW_DURATION.
    pub draw: u64,
    /// SYNC_DURATION.
    pub sync: u64,
    /// COMMAND_ISSUE_DURATION.
    pub command: u64,
    /// SWAP_BUFFERS_DURATION.
    pub swap: u64,
    /// TOTAL_DURATION.
    pub total: u64,
    /// GPU_DURATION (API 31), else 0.
    pub gpu: u64,
    /// DEADLINE (API 31): how long the frame was allowed to take; else 0.
    pub deadline: u64,
}

/// The input events that a frame handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InputEvents {
    /// The intended vsync of the frame.
    pub intended: u64,
    /// Time of the oldest event.
    pub oldest: u64,
    /// Time of the newest.
    pub newest: u64,
}

impl InputEvents {
    /// The two fields of Android's `FrameInfo` (API 23); `None` if the frame handled no input (then the oldest is the largest
    /// `long`, and the newest 0). [`InputEvents::intended`] is 0.
    ///
    /// ```
    /// use trace_format::event::InputEvents;
    ///
    /// let input = InputEvents::from_frame_info(90_000_000, 98_000_000).unwrap();
    /// assert_eq!((input.span(), input.latency(121_000_000)), (8_000_000, 31_000_000));
    /// assert_eq!(InputEvents::from_frame_info(i64::MAX, 0), None);
    /// ```
    #[must_use]
    pub fn from_frame_info(oldest: i64, newest: i64) -> Option<Self> {
        (0 < oldest && oldest <= newest && newest != i64::MAX).then_some(Self {
            intended: 0,
            oldest: oldest as u64,
            newest: newest as u64,
        })
    }

    /// The time between the oldest and the newest event, ns: Matrix's input event cost.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.newest.saturating_sub(self.oldest)
    }

    /// The input latency, ns: from the oldest event until main has done the frame that shows its effect.
    #[must_use]
    pub fn latency(&self, frame_end: u64) -> u64 {
        frame_end.saturating_sub(self.oldest)
    }
}

/// An end that could not be recorded, because the stack had overflowed or there was no memory.
///
/// The thread that has lost it is unknown, so every thread records the loss before its next event. A reader closes what may have
/// ended: the outermost call of that method and all inside it. Callers further out are certain, because ends are lost from the
/// innermost call on. For example, `main > parse > value > parse` with a lost exit of `value` leaves `main > parse`. Where no
/// such call is open, the loss is another thread's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LostEnd {
    /// The end of the wait that is innermost.
    Wait,
    /// The exit of the method with this id.
    Exit(u32),
    /// Several ends, not all of them known: any open call or wait may have ended.
    Any,
}

impl LostEnd {
    /// The number in the payload: a method's id, 0 for a wait.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Wait => 0,
            Self::Exit(id) => id,
            Self::Any => u32::MAX,
        }
    }

    /// The loss with this [`number`](Self::number).
    #[must_use]
    pub const fn of(number: u32) -> Self {
        match number {
            0 => Self::Wait,
            u32::MAX => Self::Any,
            id => Self::Exit(id),
        }
    }
}

/// Calls of a thread that were open when its block began, for a reader of this block alone. A stack of more
/// calls than fit into one event takes several events, one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenCalls {
    /// How many calls were open.
    pub depth: u32,
    /// The number of the first call that is named here, from 0, which is the outermost.
    pub first: u32,
    /// How many are named here; [`OpenCalls::MAX_IDS`] at most.
    count: u8,
    /// Their ids, 20 bits each, three in a word from its low end on.
    ids: [u64; 12],
}

impl OpenCalls {
    /// The most calls that one event names.
    pub const MAX_IDS: usize = 36;
    pub(super) const IDS_IN_WORD: usize = 3;

    /// Of `depth` open calls those from the number `first` on; [`OpenCalls::MAX_IDS`] of `ids` at most are taken.
    #[must_use]
    pub fn new(depth: u32, first: u32, ids: &[u32]) -> Self {
        let ids = &ids[..ids.len().min(Self::MAX_IDS)];
        let mut words = [0; 12];
        for (word, three) in words.iter_mut().zip(ids.chunks(Self::IDS_IN_WORD)) {
            *word = three.iter().rev().fold(0, |word, id| word << 20 | u64::from(id & 0xF_FFFF));
        }
        Self { depth, first, count: ids.len() as u8, ids: words }
    }

    /// How many calls are named.
    pub(super) fn named(&self) -> usize {
        self.count.into()
    }

    /// The ids, outermost first.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.named())
            .map(|i| (self.ids[i / Self::IDS_IN_WORD] >> (i % Self::IDS_IN_WORD * 20)) as u32 & 0xF_FFFF)
    }

    /// The payload: number of calls (24 bits), number of the first (24), how many are named (16); the ids.
    pub(super) fn encode(&self) -> [u64; 13] {
        let mut words = [0; 13];
        words[0] = u64::from(self.depth & 0xFF_FFFF) << 40
            | u64::from(self.first & 0xFF_FFFF) << 16
            | u64::from(self.count);
        words[1..].copy_from_slice(&self.ids);
        words
    }

    pub(super) fn decode(payload: &[u64]) -> Option<Self> {
        let (head, rest) = payload.split_first()?;
        let count = *head as u16 as usize;
        let words = rest.get(..count.div_ceil(Self::IDS_IN_WORD))?;
        let mut ids = [0; 12];
        ids.get_mut(..words.len())?.copy_from_slice(words);
        let first = (head >> 16) as u32 & 0xFF_FFFF;
        Some(Self { depth: (head >> 40) as u32, first, count: count as u8, ids })
    }
}

/// Calls of this thread that were too short to be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Folded {
    /// About how many calls.
    pub calls: u64,
    /// The start of the interval, CLOCK_BOOTTIME ns; the event's own time is its end.
    pub since: u64,
    /// The methods that were called most often among them, and their sampled shares of the calls, in 1,000,000ths. The id after
    /// the last one is 0.
    pub hot: [(u32, u32); 4],
}

/// The thread that refreshes coarse time did not run. Events recorded meanwhile have the time of the start, and a call
/// that began and ended in this interval was not recorded, however long it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standstill {
    /// Start of the interval, CLOCK_BOOTTIME ns: the last refresh.
    pub since: u64,
    /// Its end.
    pub until: u64,
}

/// The three clocks, read together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clocks {
    /// CLOCK_BOOTTIME, ns.
    pub boottime: u64,
    /// CLOCK_MONOTONIC, ns.
    pub monotonic: u64,
    /// CLOCK_REALTIME, ns since 1970.
    pub realtime: u64,
}

numbered! {
    /// Where a sensed SIGQUIT went.
    Forward {
        /// By `tgkill` to ART's Signal Catcher.
        Catcher = 1 "catcher",
        /// To the handler that was installed before ours.
        PreviousHandler = 2 "older-handler",
        /// Nowhere: the attempt failed.
        Failed = 3 "failed",
        /// Not forwarded: it was seen without being taken (passive mode).
        Passive = 4 "passive",
    }
}

/// A SIGQUIT and what main was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sigquit {
    /// When our handler ran.
    pub sensed: u64,
    /// `siginfo_t.si_code`.
    pub si_code: i32,
    /// `siginfo_t.si_pid`.
    pub si_pid: u32,
    /// `siginfo_t.si_uid`.
    pub si_uid: u32,
    /// Where it went.
    pub forward: Forward,
    /// Start of the message that main was in; 0 if no message was open or none is recorded.
    pub stuck_since: u64,
}

/// A stall, as the looper timer detected it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stall {
    /// Start of the message that main is in.
    pub stuck_since: u64,
}

numbered! {
    /// What was changed while recording ran.
    Change {
        /// Nothing is recorded from here on, until [`Change::Resumed`].
        Paused = 1 "paused",
        /// Recording goes on.
        Resumed = 2 "resumed",
        /// Every event reads the clock from here on.
        Precise = 3 "precise",
        /// Methods have coarse time from here on.
        Coarse = 4 "coarse",
        /// A method is not recorded from here on, on request.
        MethodOff = 5 "method-off",
        /// The method is recorded again.
        MethodOn = 6 "method-on",
        /// A method is not recorded from here on: it was too frequent and too short.
        OverBudget = 7 "over-budget",
    }
}

/// Recording was changed while it ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// The change.
    pub change: Change,
    /// The method, or 0.
    pub method: u32,
    /// Its events a second with [`Change::OverBudget`], else 0.
    pub rate: u64,
}

/// A thread's CPU usage since it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// The thread.
    pub tid: u32,
    /// Its state as a letter (man 5 proc_pid_stat: R running, S sleeping, D in uninterruptible sleep...).
    pub state: u8,
    /// CPU time, ns.
    pub ran: u64,
    /// Time runnable but not running, ns.
    pub waited: u64,
    /// Voluntary context switches.
    pub voluntary: u32,
    /// Involuntary context switches.
    pub involuntary: u32,
}
