//! A recording with steps of concurrent work: a pool, a handler, and a hang whose chain comes back to main.

use trace_format::event::{Concurrency, ConcurrencyStep as Step, Message, Wait, WaitKind};
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::{Event, TextId};

use super::{MS, S, clocks, map};

pub const START: u64 = 100 * S;
pub const POOL: u32 = 0x103;
pub const HANDLER: u32 = 0x107;
const FIRST: u32 = 0x104;
const TASK: u32 = 0x101;
const FUTURE: u32 = 0x102;
const SECOND: u32 = 0x105;
const SECOND_FUTURE: u32 = 0x106;
const POSTED: u32 = 0x109;
const LOCK: u32 = 0x108;

/// A step that has only objects.
pub fn step(step: Step, object: u32, other: u32) -> Concurrency {
    let none = TextId::default();
    Concurrency { step, line: 0, method: 0, object, other, class: none, other_class: none }
}

/// Adds events to a thread, by milliseconds since the start.
pub struct Script<'t>(pub &'t mut ThreadBuilder);

impl Script<'_> {
    pub fn at(&mut self, ms: u64, event: Event) -> &mut Self {
        self.0.event(START + ms * MS, event);
        self
    }

    pub fn step(&mut self, ms: u64, step: Concurrency) -> &mut Self {
        self.at(ms, Event::Concurrency(step))
    }

    fn parks(&mut self, ms: u64, lock: u32, class: TextId, owner: u32) -> &mut Self {
        self.at(ms, Event::WaitBegin(Wait { owner, lock: lock.into(), class, ..Wait::new(WaitKind::Park) }))
    }

    /// Enters method 3, `com.example.Worker.run`, of an object.
    fn runs(&mut self, ms: u64, object: u32) -> &mut Self {
        self.at(ms, Event::Enter(3)).step(ms, Concurrency { method: 3, ..step(Step::Started, object, 0) })
    }

    fn ran(&mut self, ms: u64, method: u32) -> &mut Self {
        self.step(ms, Concurrency { method, ..step(Step::Finished, 0, 0) }).at(ms, Event::Exit(method))
    }
}

/// Main waits for a task whose thread has long waited for a monitor that main owns.
pub fn contended() -> RecordingBuilder {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(START));
    let (future, lock) = (b.text("java.util.concurrent.FutureTask"), b.text("com.example.Store"));
    let monitor = Wait { owner: 1, lock: LOCK.into(), class: lock, ..Wait::new(WaitKind::Monitor) };
    b.main("main", |t| {
        let mut t = Script(t);
        t.at(0, Event::Enter(1))
            .step(10, step(Step::Submitted, SECOND, POOL))
            .step(11, step(Step::Future, SECOND_FUTURE, SECOND))
            .parks(100, SECOND_FUTURE, future, 0);
    })
    .thread("pool-1-thread-1", 4251, |t| {
        Script(t).runs(12, SECOND).at(50, Event::WaitBegin(monitor)).at(9_000, Event::WaitEnd);
    })
    .last_alive(START + 12 * S)
}

/// What `map` names: the pool runs `Worker.run` for a second, then the lambda `Sync.save`, for which main waits and which posts
/// a message to main. At the end main waits for a task that waits for main.
pub fn tasks() -> RecordingBuilder {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(START));
    let [future, pool, lambda, worker, handler, lock] = [
        "java.util.concurrent.FutureTask",
        "java.util.concurrent.ThreadPoolExecutor",
        "com.example.Main$$Lambda/0x1",
        "com.example.Worker",
        "android.os.Handler",
        "java.util.concurrent.locks.ReentrantLock",
    ]
    .map(|text| b.text(text));
    let submitted = move |object, line, class| Concurrency {
        method: 1,
        line,
        class,
        other_class: pool,
        ..step(Step::Submitted, object, POOL)
    };
    let message = Message { target: handler, callback: worker, handler: HANDLER, ..Message::default() };
    b.main("main", |t| {
        let mut t = Script(t);
        t.at(0, Event::Enter(1))
            .step(10, submitted(FIRST, 11, worker))
            .step(20, Concurrency { method: 2, class: lambda, ..step(Step::Created, TASK, 0) })
            .step(21, submitted(TASK, 12, lambda))
            .step(22, step(Step::Future, FUTURE, TASK))
            .parks(30, FUTURE, future, 0)
            .at(3_000, Event::WaitEnd)
            .at(3_001, Event::Exit(1))
            .at(3_500, Event::MessageBegin(message))
            .runs(3_500, POSTED)
            .ran(3_600, 3)
            .at(3_600, Event::MessageEnd)
            .at(3_700, Event::MessageBegin(Message { callback: TextId::default(), what: 7, ..message }))
            .at(3_800, Event::Enter(1))
            .step(3_850, submitted(SECOND, 13, worker))
            .step(3_851, step(Step::Future, SECOND_FUTURE, SECOND))
            .parks(4_000, SECOND_FUTURE, future, 0);
    })
    .thread("pool-1-thread-1", 4251, |t| {
        let mut t = Script(t);
        t.runs(12, FIRST)
            .ran(1_000, 3)
            .at(1_000, Event::Enter(2))
            .step(1_000, Concurrency { method: 2, ..step(Step::Started, 0, 0) })
            .step(
                1_100,
                Concurrency {
                    method: 2,
                    line: 44,
                    class: worker,
                    other_class: handler,
                    ..step(Step::Submitted, POSTED, HANDLER)
                },
            )
            .ran(3_000, 2);
    })
    .thread("pool-1-thread-2", 4252, |t| {
        // Main is the first thread of the recording.
        Script(t).runs(3_900, SECOND).parks(3_950, LOCK, lock, 1);
    })
    .last_alive(START + 12 * S)
}
