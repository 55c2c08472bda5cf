//! A progress line on a terminal.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Delay before the line appears, and minimum time between two updates.
const QUIET: Duration = Duration::from_millis(200);

/// A progress line.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `None` if it is not shown.
    state: Option<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    last: Instant,
    drawn: bool,
}

impl Progress {
    /// A progress line on stderr, if that is a terminal and the line is `wanted`.
    pub(crate) fn new(wanted: bool) -> Self {
        let watched = wanted && crate::terminal::stderr().is_terminal();
        Self { state: watched.then(|| Mutex::new(State { last: Instant::now(), drawn: false })) }
    }

    /// Replaces the line by `text`, unless the last update was a moment ago.
    pub(crate) fn show(&self, text: impl FnOnce() -> String) {
        self.show_after(QUIET, text);
    }

    /// Replaces the line by `text` at once: for the start of a step that has no updates itself.
    pub(crate) fn show_now(&self, text: impl FnOnce() -> String) {
        self.show_after(Duration::ZERO, text);
    }

    fn show_after(&self, quiet: Duration, text: impl FnOnce() -> String) {
        let Some(mut state) = self.state.as_ref().and_then(|state| state.lock().ok()) else { return };
        if state.last.elapsed() >= quiet {
            state.last = Instant::now();
            state.drawn = true;
            // Cut to the narrowest terminal, since a wrapped line cannot be overwritten.
            let text: String = crate::terminal::one_line(text()).chars().take(78).collect();
            let _ = write!(crate::terminal::commanded(), "\r\x1b[2K{text}");
        }
    }
}

/// Estimates the remaining time from the work done so far: `, 12 s left`; empty until enough is done for an estimate.
pub(crate) fn left_after(elapsed: Duration, done: u64, total: u64) -> String {
    // Less than a hundredth is too little for an estimate.
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
    fn the_remaining_time_is_estimated_from_the_elapsed_time() {
        let left = |done, total| left_after(Duration::from_secs(10), done, total);
        assert_eq!((left(25, 100), left(100, 100)), (", 30 s left".to_owned(), ", 0 s left".to_owned()));
        assert_eq!((left(0, 100), left(9, 1_000)), (String::new(), String::new()));
        // More than the expected total leaves no time.
        assert_eq!(left(200, 100), ", 0 s left");
    }
}
