//! One line of progress, drawn over itself, on a terminal only.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a run must last before a line appears, and between two of them.
const QUIET: Duration = Duration::from_millis(200);

/// A line that says what is being done.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `None` where nobody watches.
    state: Option<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    last: Instant,
    drawn: bool,
}

impl Progress {
    /// A line on stderr if that is a terminal and `wanted`.
    pub(crate) fn new(wanted: bool) -> Self {
        let watched = wanted && crate::terminal::stderr().is_terminal();
        Self { state: watched.then(|| Mutex::new(State { last: Instant::now(), drawn: false })) }
    }

    /// Shows `text` in place of what was there, if it is time for it.
    pub(crate) fn show(&self, text: impl FnOnce() -> String) {
        let Some(mut state) = self.state.as_ref().and_then(|state| state.lock().ok()) else { return };
        if state.last.elapsed() >= QUIET {
            state.last = Instant::now();
            state.drawn = true;
            // Cut to what fits the narrowest terminal, since a wrapped line cannot be drawn over.
            let text: String = crate::terminal::one_line(text()).chars().take(78).collect();
            let _ = write!(crate::terminal::commanded(), "\r\x1b[2K{text}");
        }
    }
}

/// How long something still takes that does equal pieces in equal times.
#[derive(Debug)]
pub(crate) struct Estimate {
    began: Instant,
}

impl Estimate {
    /// It begins now.
    pub(crate) fn new() -> Self {
        Self { began: Instant::now() }
    }

    /// `, 12 s left`; nothing as long as too little is done to say.
    pub(crate) fn left(&self, done: u64, total: u64) -> String {
        left_after(self.began.elapsed(), done, total)
    }
}

fn left_after(elapsed: Duration, done: u64, total: u64) -> String {
    // A hundredth says little about the rest.
    if done == 0 || done < total / 100 {
        return String::new();
    }
    let left = elapsed.as_secs_f64() * (total.saturating_sub(done) as f64 / done as f64);
    format!(", {left:.0} s left")
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Ok(state)) = self.state.as_ref().map(|state| state.lock())
            && state.drawn
        {
            let _ = write!(crate::terminal::commanded(), "\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done() {
        let left = |done, total| left_after(Duration::from_secs(10), done, total);
        assert_eq!((left(25, 100), left(100, 100)), (", 30 s left".to_owned(), ", 0 s left".to_owned()));
        assert_eq!((left(0, 100), left(9, 1_000)), (String::new(), String::new()));
        // More than was expected is no time to come.
        assert_eq!(left(200, 100), ", 0 s left");
    }
}
