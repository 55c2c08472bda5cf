//! Which cause a recorded wait is.

use trace_format::event::WaitKind;

use super::CauseKind;
use super::activity::{Activity, FrameView, classify};
use super::id::CauseId;
use super::observed::{Observed, WaitSum};

/// The cause of a recorded wait: by its kind and target, or by a stack that names the caller.
pub(super) fn wait_cause(f: &Observed, sum: &WaitSum) -> CauseId {
    use CauseId as C;
    let seen = f.shows_activity(|activity| matches!(activity, Activity::Of(_))).map(|(activity, _)| activity);
    let named = match seen {
        Some(Activity::Of(id)) => Some(id),
        _ => None,
    };
    let what = sum.what.as_deref().unwrap_or_default();
    match sum.kind {
        WaitKind::Monitor => C::LockWait,
        WaitKind::Sleep => C::Sleep,
        WaitKind::Join => C::ThreadJoin,
        WaitKind::Blocking => match classify(std::iter::once(FrameView::java(what)), "") {
            Activity::Of(id) if id.kind().is_wait() && id != C::FutureWait => match named {
                // What was requested is more specific than how it waits.
                Some(caller @ (C::SharedPreferences | C::Sqlite)) => caller,
                // A reader may read from a connection.
                Some(caller @ C::NetworkIo) if id == C::DiskIo => caller,
                _ => id,
            },
            _ => named.filter(|id| id.kind() == CauseKind::IoWait).unwrap_or(C::DiskIo),
        },
        _ => {
            let caller =
                named.filter(|id| id.kind().is_wait() && !matches!(id, C::FutureWait | C::ObjectWait));
            caller.unwrap_or_else(|| match sum.kind {
                WaitKind::ObjectWait => C::ObjectWait,
                WaitKind::Park if f.in_run_blocking => C::RunBlocking,
                _ if what.starts_with("kotlinx.coroutines.BlockingCoroutine") => C::RunBlocking,
                _ if what.contains("Lock$") || what.ends_with("Lock") || what.contains("Semaphore") => {
                    C::LockWait
                }
                _ => C::FutureWait,
            })
        }
    }
}
