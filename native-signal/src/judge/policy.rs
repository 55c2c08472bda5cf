//! By whose rules is judged.

/// By whose rules a signal is judged. `tests/data/verdicts.tsv` shows both side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Ours: our own record of main first, then the sender; the error state settles it where it speaks.
    ///
    /// A main that is stuck for as long as the shortest timeout of the system's (5 s in the foreground, input; 10 s
    /// in the background, broadcasts) makes a system's signal an ANR; from 2 s (5 s) on it is a suspicion. A shell, a
    /// bug report or another SDK asks for dumps and declares no ANRs.
    #[default]
    Anrscope,
    /// Matrix's `SignalAnrTracer`: any foreign signal is an ANR if the head of the queue is late by more than 2 s in
    /// the foreground or 10 s in the background, or if the error state names us. Its duplicates are duplicates only
    /// for signal 35 within 20 s of a report; a second SIGQUIT is a second report (its issue #849).
    Matrix,
}
