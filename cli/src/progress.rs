//! One line of progress, drawn over itself, on a terminal only.

use std::io::{self, IsTerminal, Write};
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
        let watched = wanted && io::stderr().is_terminal();
        Self { state: watched.then(|| Mutex::new(State { last: Instant::now(), drawn: false })) }
    }

    /// Shows `text` in place of what was there, if it is time for it.
    pub(crate) fn show(&self, text: impl FnOnce() -> String) {
        let Some(mut state) = self.state.as_ref().and_then(|state| state.lock().ok()) else { return };
        if state.last.elapsed() >= QUIET {
            state.last = Instant::now();
            state.drawn = true;
            // Cut to what fits the narrowest terminal, since a wrapped line cannot be drawn over.
            let text: String = text().chars().take(78).collect();
            let _ = write!(io::stderr(), "\r\x1b[2K{text}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Ok(state)) = self.state.as_ref().map(|state| state.lock())
            && state.drawn
        {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}
