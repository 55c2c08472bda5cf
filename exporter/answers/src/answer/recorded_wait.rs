//! The cause that a single recorded wait is.

use trace_format::event::WaitKind;

use super::activity::{Activity, FrameView, classify, parts};
use super::id::CauseId;

/// Parts of the classes whose objects threads are parked for, and the cause.
const PARKED_FOR: &[(&str, CauseId)] = &[
    ("kotlinx.coroutines.BlockingCoroutine", CauseId::RunBlocking),
    ("Semaphore", CauseId::PermitWait),
    ("Lock", CauseId::LockWait),
    ("$ConditionObject", CauseId::FutureWait),
    ("Future", CauseId::FutureWait),
    ("ForkJoin", CauseId::FutureWait),
    ("CountDownLatch", CauseId::FutureWait),
    ("CyclicBarrier", CauseId::FutureWait),
    ("Phaser", CauseId::FutureWait),
    ("Exchanger", CauseId::FutureWait),
    ("Queue", CauseId::FutureWait),
    ("Deque", CauseId::FutureWait),
    ("Executor", CauseId::FutureWait),
    ("Tasks", CauseId::FutureWait),
];

/// The cause by what is recorded of a wait: its kind, and the class that it waits for or in which it blocks.
///
/// A class often does not say what a call blocks for: a reader may read from a connection, from a file, or from the console.
pub fn of_recorded(kind: WaitKind, class: &str) -> CauseId {
    match kind {
        WaitKind::Monitor => CauseId::LockWait,
        WaitKind::Sleep => CauseId::Sleep,
        WaitKind::Join => CauseId::ThreadJoin,
        WaitKind::ObjectWait => CauseId::ObjectWait,
        WaitKind::Blocking => {
            // Other recorders name the method as well.
            let (of, method) = parts(class);
            let has_method = method.starts_with(|first: char| first.is_lowercase());
            let (class, method) = if has_method { (of, method) } else { (class, "") };
            let call = FrameView::Java { class, method, native: false };
            match classify(std::iter::once(call), "") {
                Activity::Of(id) if id.kind().is_wait() => id,
                _ => CauseId::BlockingCall,
            }
        }
        _ => {
            // `ReentrantLock$NonfairSync`, but not its condition.
            let condition = class.ends_with("$ConditionObject");
            let row = PARKED_FOR
                .iter()
                .find(|(part, cause)| class.contains(part) && !(condition && *cause == CauseId::LockWait));
            row.map_or(CauseId::Park, |(_, cause)| *cause)
        }
    }
}
