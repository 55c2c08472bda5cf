//! The facts that a thread dump cannot show, since it is of one moment. A recording may name another cause by them.

use super::observed::Observed;
use super::{CauseId, Owner};

/// Behind "not shown:", in words; `None` if a recording would not name another cause.
pub(super) fn by_dump(cause: CauseId, facts: &Observed, owners: &[Owner], has_span: bool) -> Option<String> {
    let is_dump_alone = facts.dump.is_some() && facts.recorded.is_empty() && facts.waits.is_empty();
    if !is_dump_alone || facts.anr || !facts.hung || cause == CauseId::Unknown {
        return None;
    }
    if cause == CauseId::LockWait && facts.is_of_a_moment() {
        let what = besides(cause, owners).unwrap_or("whether the owner goes on");
        return Some(format!("how long this lasts, and {what}"));
    }
    let what = besides(cause, owners)?;
    Some(if has_span { what.to_owned() } else { format!("how long this lasts, and {what}") })
}

/// The facts besides its length.
fn besides(cause: CauseId, owners: &[Owner]) -> Option<&'static str> {
    Some(match cause {
        CauseId::ObjectWait => "whether it was notified before it waited",
        CauseId::FutureWait | CauseId::PermitWait | CauseId::Park => {
            "which task or thread was to end the wait"
        }
        CauseId::LockWait if owners.is_empty() => "who owns the lock",
        CauseId::LockWait if owners.last().is_some_and(|owner| owner.activity.starts_with("wait for")) => {
            "which task or thread was to end its owner's wait"
        }
        CauseId::RunBlocking => "at which call its coroutine is suspended",
        CauseId::BusyMethod | CauseId::YieldSpin => "how much of the processor it gets",
        CauseId::NetworkIo | CauseId::Sleep | CauseId::ConsoleRead => {
            "whether anybody waits for it: a server is idle in such a call"
        }
        _ => return None,
    })
}
