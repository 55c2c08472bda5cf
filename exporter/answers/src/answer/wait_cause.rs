//! The cause that the recorded waits of a hang are.

use trace_format::event::WaitKind;

use super::activity::Activity;
use super::id::CauseId;
use super::observed::{Observed, WaitSum};

/// The cause of waits that are one of a hang: what a stack shows of the caller is more specific than how it waits.
pub(super) fn wait_cause(f: &Observed, sum: &WaitSum) -> CauseId {
    use CauseId as C;
    let recorded = match sum.cause {
        recorded @ (C::FutureWait | C::Park) if sum.kind == WaitKind::Park => {
            f.run_blocking.unwrap_or(recorded)
        }
        recorded => recorded,
    };
    let seen = f.shows_activity(|activity| matches!(activity, Activity::Of(_))).map(|(activity, _)| activity);
    let Some(Activity::Of(caller)) = seen.filter(|_| !matches!(sum.kind, WaitKind::Monitor)) else {
        return recorded;
    };
    match (recorded, caller) {
        (C::Sleep | C::ThreadJoin | C::RunBlocking, _) => recorded,
        // The stack shows runBlocking, and the recording for what the coroutine waits.
        _ if f.run_blocking == Some(recorded) => recorded,
        (_, C::SharedPreferences | C::Sqlite | C::SqlitePool) => caller,
        (C::DiskIo, C::Fsync) => caller,
        // The console is read through the same classes as a file, which does not block for long.
        (C::BlockingCall, C::DiskIo) => recorded,
        (C::BlockingCall, _) if caller.kind().is_wait() => caller,
        (C::Park, C::FutureWait | C::PermitWait) => caller,
        (C::FutureWait | C::ObjectWait | C::Park | C::PermitWait | C::LockWait, _)
            if caller.kind().is_wait() && !matches!(caller, C::FutureWait | C::ObjectWait | C::Park) =>
        {
            caller
        }
        _ => recorded,
    }
}
