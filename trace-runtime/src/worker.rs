//! The thread that does what needs files or time: sections, and a heartbeat where one is wanted.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use trace_format::event::{Clocks, Event};
use trace_format::section::{self, SectionKind};

use crate::clock;
use crate::recorder::Recorder;

static REQUESTS: OnceLock<Sender<(SectionKind, Vec<u8>)>> = OnceLock::new();

/// BOOTTIME − MONOTONIC may move by this much between two snapshots for no other reason than that clocks
/// are read one after the other.
const CLOCK_NOISE: u64 = 1_000_000;

/// Asks for a section to be appended; nothing happens before the start.
pub(crate) fn append(kind: SectionKind, payload: Vec<u8>) {
    if let Some(requests) = REQUESTS.get() {
        // The worker has ended: there is nobody left to tell.
        let _ = requests.send((kind, payload));
    }
}

/// Starts the worker. With a `heartbeat` it notes that often that the process is alive; without, it sleeps
/// until there is something to do.
pub(crate) fn start(recorder: &'static Recorder, heartbeat: Option<Duration>) -> io::Result<()> {
    let (sender, receiver) = channel();
    native_signal::spawn_quiet("anrscope-worker", move || {
        crate::guard::disarm_on_panic(|| run(recorder, &receiver, heartbeat));
    })?;
    let _ = REQUESTS.set(sender);
    Ok(())
}

fn run(
    recorder: &'static Recorder,
    requests: &Receiver<(SectionKind, Vec<u8>)>,
    heartbeat: Option<Duration>,
) {
    let mut end = 0;
    let mut known = clock::all();
    loop {
        let request = match heartbeat {
            Some(interval) => requests.recv_timeout(interval),
            None => requests.recv().map_err(RecvTimeoutError::from),
        };
        if Recorder::active().is_none() {
            return;
        }
        match request {
            Ok((kind, payload)) => match recorder.mapping.append(end, &section::encode(kind, 1, &payload)) {
                Ok(new_end) => end = new_end,
                Err(error) => crate::notice(&format!("section {kind:?} not written: {error}")),
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if heartbeat.is_some() {
            recorder.alive(clock::boottime());
            note_clock_step(recorder, &mut known);
        }
    }
}

/// Deep sleep moves BOOTTIME against MONOTONIC: a reader that has only the first pair would place
/// MONOTONIC times wrongly from here on.
fn note_clock_step(recorder: &Recorder, known: &mut Clocks) {
    let now = clock::all();
    let ahead = |c: &Clocks| c.boottime.wrapping_sub(c.monotonic) as i64;
    if ahead(&now).abs_diff(ahead(known)) > CLOCK_NOISE {
        recorder.service(&Event::Clock(now));
        *known = now;
    }
}
