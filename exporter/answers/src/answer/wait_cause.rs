//! The cause that the recorded waits of a hang are.

use trace_format::event::WaitKind;

use super::activity::Activity;
use super::id::CauseId;
use super::observed::{Observed, WaitSum};

/// The cause of waits that are one of a hang: what a stack shows of the caller is more specific than how it waits.
pub(super) fn wait_cause(f: &Observed, sum: &WaitSum) -> CauseId {
    use CauseId as C;
    let recorded = match sum.cause {
        recorded @ (C::FutureWait | C::Park | C::RunBlocking) if sum.kind == WaitKind::Park => {
            f.run_blocking.unwrap_or(recorded)
        }
        recorded => recorded,
    };
    let seen = f.shows_activity(|activity| matches!(activity, Activity::Of(_))).map(|(activity, _)| activity);
    let Some(Activity::Of(caller)) = seen.filter(|_| !matches!(sum.kind, WaitKind::Monitor)) else {
        return recorded;
    };
    match (recorded, caller) {
        (C::Sleep | C::ThreadJoin, _) => recorded,
        // The stack shows runBlocking, and the recording for what the coroutine waits.
        _ if f.run_blocking == Some(recorded) => recorded,
        (_, C::SharedPreferences | C::Sqlite | C::SqlitePool) => caller,
        (C::DiskIo, C::Fsync) => caller,
        // The console is read through the same classes as a file, which does not block for long.
        (C::BlockingCall, C::DiskIo) => recorded,
        // As is the output of a child process.
        (C::ConsoleRead, C::ProcessWait) => caller,
        (C::BlockingCall, _) if caller.kind().is_wait() => caller,
        (C::Park, C::FutureWait | C::PermitWait) => caller,
        // A coroutine that runs may wait in a call of its own.
        (C::FutureWait | C::RunBlocking | C::ObjectWait | C::Park | C::PermitWait | C::LockWait, _)
            if caller.kind().is_wait() && !matches!(caller, C::FutureWait | C::ObjectWait | C::Park) =>
        {
            caller
        }
        _ => recorded,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trace_format::event::{CallId, Wait};

    use super::*;
    use crate::answer::WantedThread;
    use crate::dump::Dump;

    #[test]
    fn waits_in_run_blocking_have_the_cause_of_their_coroutines_wait() {
        let sum = WaitSum {
            kind: WaitKind::Park,
            class: None,
            call: CallId::of("kotlinx.coroutines.BuildersKt", "runBlocking"),
            cause: CauseId::RunBlocking,
            owner: None,
            method: None,
            since: 0,
            count: 1,
            total: 1,
            first: Wait::new(WaitKind::Park),
        };
        for (known, expected) in [
            (None, CauseId::RunBlocking),
            (Some(CauseId::RunBlocking), CauseId::RunBlocking),
            (Some(CauseId::LockWait), CauseId::LockWait),
            (Some(CauseId::PermitWait), CauseId::PermitWait),
        ] {
            let facts = Observed { run_blocking: known, ..Observed::default() };
            assert_eq!(wait_cause(&facts, &sum), expected);
        }
    }

    #[test]
    fn reads_of_a_childs_output_are_waits_for_it() {
        let text = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n\
            \"main\" #1 prio=5 cpu=1.00ms tid=0x0000000000000001 nid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n\
            \tat java.io.FileInputStream.readBytes(Native Method)\n\tat java.io.BufferedInputStream.read(BufferedInputStream.java:343)\n\
            \t- locked <0x000000069edfc6a0> (a java.lang.ProcessImpl$ProcessPipeInputStream)\n\
            \tat java.io.BufferedReader.readLine(BufferedReader.java:329)\n\tat a.Build.collect(Build.java:36)\n";
        let dump = Dump::read(Path::new("dump"), text.as_bytes()).unwrap();
        let mut facts = Observed { on_jvm: true, ..Observed::default() };
        let read = WaitSum {
            kind: WaitKind::Blocking,
            class: Some("java.io.BufferedReader".to_owned()),
            call: CallId::of("java.io.BufferedReader", "readLine"),
            cause: CauseId::ConsoleRead,
            owner: None,
            method: None,
            since: 0,
            count: 1,
            total: 1,
            first: Wait::new(WaitKind::Blocking),
        };
        assert_eq!(wait_cause(&facts, &read), CauseId::ConsoleRead);
        facts.set_dump(0, &dump, None, WantedThread::Main);
        assert_eq!(wait_cause(&facts, &read), CauseId::ProcessWait);
    }
}
