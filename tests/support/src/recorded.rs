//! A dump as a section of a recording.

use trace_format::event::{Event, Message, Stall};
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;

use crate::art;
use crate::scenario;

/// A recording with the same facts of an ANR as the dump. `elsewhere` is whether the system's subject names
/// another process.
pub fn with_dump(dump: &art::Art, elsewhere: bool) -> Vec<u8> {
    const S: u64 = 1_000_000_000;
    let (start, asked) = (100 * S, 107 * S);
    let since = if dump.in_message { 102 * S } else { 0 };
    let mut b = RecordingBuilder::new(art::PID, &dump.process).start(scenario::clocks(start, 0));
    let message = Message { target: b.text("android.os.Handler"), ..Message::default() };
    let b = b.main("main", |t| {
        t.event(start + S, Event::MessageBegin(message)).event(start + S + 1, Event::MessageEnd);
        if dump.in_message {
            t.event(since, Event::MessageBegin(message));
        }
    });
    let sigquit = scenario::sigquit(asked, since);
    let b = b.service(|t| {
        if dump.in_message {
            t.event(asked - 1, Event::Stall(Stall { stuck_since: since }));
        }
        t.event(asked, Event::Sigquit(sigquit));
    });
    let payload = [&(asked + 1).to_le_bytes()[..], dump.text.as_bytes()].concat();
    let mut b = b.section(SectionKind::DumpText, &payload);
    if !elsewhere {
        let verdict = scenario::verdict(sigquit, "anr", "the system lists us as not responding");
        b = b.section(SectionKind::Verdict, &verdict.encode());
    }
    b.last_alive(asked + S).build()
}
