//! Why main did not come back: rules in a table, on facts that the recording holds.
//!
//! [`Facts`] gathers what is known, [`table::RULES`] says which of it means what, in the order in which the rows are asked;
//! the first that holds is the cause, and further ones are told as *also possible*. A row never concludes from what is
//! missing: where nothing is known, the cause is unknown.

mod dumped;
mod facts;
mod place;
mod table;

pub use facts::Facts;
pub(super) use facts::WaitSum;
pub(super) use place::own_method;
pub use table::{RULES, Rule};

use trace_format::verdict::Confidence;

/// What kept main.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CauseKind {
    /// It computed.
    BusyMethod,
    /// Many short messages, one behind the other.
    MessageStorm,
    /// It waited for a lock that another thread held.
    LockWait,
    /// It waited for another process.
    BinderWait,
    /// It waited for a disk or the network.
    IoWait,
    /// It waited for another thread, or slept.
    ThreadWait,
    /// It waited for the collector, or memory was short.
    GcOrMemory,
    /// It could run and got no processor.
    CpuStarvation,
    /// The process or the device stood still.
    FrozenProcess,
    /// It was in native code.
    NativeStretch,
    /// The system asked because of another process.
    SomebodyElses,
    /// Nothing that is known says why.
    Unknown,
}

impl CauseKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::BusyMethod,
        Self::MessageStorm,
        Self::LockWait,
        Self::BinderWait,
        Self::IoWait,
        Self::ThreadWait,
        Self::GcOrMemory,
        Self::CpuStarvation,
        Self::FrozenProcess,
        Self::NativeStretch,
        Self::SomebodyElses,
        Self::Unknown,
    ];

    /// Its word, the same in all versions.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::BusyMethod => "busy-method",
            Self::MessageStorm => "message-storm",
            Self::LockWait => "lock-wait",
            Self::BinderWait => "binder-wait",
            Self::IoWait => "io-wait",
            Self::ThreadWait => "thread-wait",
            Self::GcOrMemory => "gc-or-memory",
            Self::CpuStarvation => "cpu-starvation",
            Self::FrozenProcess => "frozen-process",
            Self::NativeStretch => "native-stretch",
            Self::SomebodyElses => "somebody-elses",
            Self::Unknown => "unknown",
        }
    }

    /// Whether main waited for somebody or something.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::LockWait | Self::BinderWait | Self::IoWait | Self::ThreadWait)
    }

    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BusyMethod => "busy method",
            Self::MessageStorm => "message storm",
            Self::LockWait => "lock wait",
            Self::BinderWait => "binder wait",
            Self::IoWait => "I/O wait",
            Self::ThreadWait => "wait for another thread",
            Self::GcOrMemory => "GC or memory",
            Self::CpuStarvation => "CPU starvation",
            Self::FrozenProcess => "frozen process",
            Self::NativeStretch => "native stretch",
            Self::SomebodyElses => "somebody else's ANR",
            Self::Unknown => "unknown",
        }
    }

    /// What to look at next.
    #[must_use]
    pub fn next(self) -> &'static str {
        match self {
            Self::BusyMethod => "take that method off the main thread, or make it do less at a time",
            Self::MessageStorm => "find who posts that message so often: merge them, or drop what is stale",
            Self::LockWait => "what the holder does while it holds the lock; main should not wait for it",
            Self::BinderWait => "make the call from another thread: the other process answers when it likes",
            Self::IoWait => "do the reading or writing on another thread",
            Self::ThreadWait => "do not wait on the main thread: let the result be posted to it",
            Self::GcOrMemory => "what fills the heap: a heap dump, and what was allocated in these seconds",
            Self::CpuStarvation => {
                "who took the processors: the other threads of the trace, and a system trace"
            }
            Self::FrozenProcess => {
                "nothing in main: the process did not run; see what the system did with it"
            }
            Self::NativeStretch => "the native stack at that moment, and whether that call belongs on main",
            Self::SomebodyElses => "nothing here: it was another process that did not respond",
            Self::Unknown => "record more: instrumented waits, stack samples, the system's dump",
        }
    }
}

const OTHERS_WAITED_FOR: &str =
    "what the system waited for (a service, a broadcast, a window), and what the other threads did meanwhile";

/// A fact that speaks for a cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// When it was so, BOOTTIME ns, where it is of a moment.
    pub at: Option<u64>,
    /// In words.
    pub text: String,
}

impl Evidence {
    fn new(at: u64, text: String) -> Self {
        Self { at: (at > 0).then_some(at), text }
    }
}

/// A cause, and why one says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// Which.
    pub kind: CauseKind,
    /// How sure.
    pub confidence: Confidence,
    /// The row of the table, in its words.
    pub rule: &'static str,
    /// The facts.
    pub evidence: Vec<Evidence>,
    /// The method, call or message that reports of the same cause are grouped by.
    pub root: Option<String>,
    /// What else the facts allow.
    pub also: Vec<CauseKind>,
    /// What to look at next.
    pub next: &'static str,
    /// What main waited for, as the dump tells it: for where no wait was recorded.
    pub waiting: Option<String>,
}

impl Cause {
    /// The cause that the table finds.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let mut held = RULES.iter().filter_map(|rule| Some((rule, (rule.holds)(facts)?)));
        let Some((rule, evidence)) = held.next() else { return Self::unknown(facts) };
        let mut also: Vec<CauseKind> =
            held.map(|(other, _)| other.cause).filter(|cause| *cause != rule.cause).collect();
        also.dedup();
        also.truncate(3);
        Self {
            kind: rule.cause,
            confidence: rule.confidence,
            rule: rule.when,
            evidence: evidence.into_iter().chain(facts.asked_for()).collect(),
            root: facts.root(rule.cause),
            also,
            next: rule.cause.next(),
            waiting: facts.dumped_wait().filter(|_| rule.cause == CauseKind::LockWait),
        }
    }

    fn unknown(facts: &Facts) -> Self {
        Self {
            kind: CauseKind::Unknown,
            confidence: Confidence::Low,
            rule: "nothing that was recorded says why",
            evidence: facts.what_is_missing().into_iter().chain(facts.asked_for()).collect(),
            root: facts.root(CauseKind::Unknown),
            also: Vec::new(),
            // An idle main is no riddle about main: a service, a broadcast or a window was waited for.
            next: if facts.main_was_idle() { OTHERS_WAITED_FOR } else { CauseKind::Unknown.next() },
            waiting: None,
        }
    }
}
