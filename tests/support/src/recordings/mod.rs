//! Recordings, maps and files for tests.

pub mod app;
pub mod collect;
pub mod recorded;
pub mod rows;
pub mod tasks;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use exporter::{ExportInput, ExportOptions, ExportSummary, Format, MethodMap, export};
use trace_format::event::{Clocks, Forward, Frame, Message, Sigquit, Stage, Stall, Wait, WaitKind};
use trace_format::synth::RecordingBuilder;
use trace_format::verdict::{Confidence, Counters, Outcome, Policy, Reason, Sender, Verdict};
use trace_format::{Event, Recording};

pub use trace_format::time::{MS, SECOND as S};

/// A file in the temporary directory, deleted on drop.
pub struct TempFile(pub PathBuf);

impl TempFile {
    pub fn new(extension: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("anrscope-exporter-{}-{n}.{extension}", std::process::id())))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn map() -> MethodMap {
    let text = "1,1,com.example.Main onClick (Landroid.view.View;)V\n\
                2,1,com.example.Sync save (ILjava.lang.String;)Z\n\
                3,1,com.example.Worker run ()V\n\
                4,1,com.example.Db write ([B)J\n\
                5,1,com.example.List draw ()V\n";
    let mut map = MethodMap::parse(Path::new("methodMapping.txt"), text.into()).unwrap();
    map.set_source_lines("2,Sync.java,31\n4,Db.java,\n".to_owned());
    map
}

/// All forms of a trace that must have the same content.
pub const FORMS: [ExportOptions; 3] = [
    for_engine(ExportOptions::new(Format::Perfetto, 6)),
    for_engine(ExportOptions::new(Format::Perfetto, 0)),
    for_engine(ExportOptions::new(Format::ChromeJson, 0)),
];

/// The tests use the engine of Perfetto 52, which counts an error for each stack beside an event.
pub const fn for_engine(mut options: ExportOptions) -> ExportOptions {
    options.min_perfetto = 52;
    options
}

/// Exports `bytes` into a file.
pub fn export_to_file(bytes: &[u8], options: &ExportOptions) -> (TempFile, ExportSummary) {
    export_with(bytes, &map(), options)
}

/// Exports `bytes` with the names of `map` into a file.
pub fn export_with(bytes: &[u8], map: &MethodMap, options: &ExportOptions) -> (TempFile, ExportSummary) {
    let recording = Recording::open(bytes).unwrap();
    let input = ExportInput { file: Path::new("test.anrscope"), recording: &recording, map };
    let file = TempFile::new(if options.format == Format::ChromeJson { "json" } else { "pftrace" });
    let summary = export(&[input], options, std::fs::File::create(&file.0).unwrap()).unwrap();
    assert_eq!(summary.bytes, std::fs::metadata(&file.0).unwrap().len());
    (file, summary)
}

/// A clock triple.
pub fn clocks(boottime: u64) -> Clocks {
    Clocks { boottime, monotonic: boottime - 5 * S, realtime: 1_700_000_000 * S + boottime }
}

/// 60 Hz frames, then main hangs on a lock that a worker owns; the system requests a dump after 5 s.
pub fn stalled() -> RecordingBuilder {
    let start = 100 * S;
    let hang = start + 2 * S;
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(start));
    let handler = b.text("android.os.Handler");
    let choreographer = b.text("android.view.Choreographer$FrameHandler");
    let vsync = b.text("android.view.Choreographer$FrameDisplayEventReceiver");
    let click = b.text("com.example.Main$PerformClick");
    let lock = b.text("com.example.Store");
    let (mark, heap) = (b.text("screen shown"), b.text("Java heap"));
    b.main("main", |t| {
        for i in 0..60 {
            let at = start + i * 16_666_667;
            t.event(
                at,
                Event::MessageBegin(Message {
                    target: choreographer,
                    callback: vsync,
                    what: 0,
                    due: at - MS,
                    ..Message::default()
                }),
            )
            .event(
                at + 1_000,
                Event::FrameBegin(Frame {
                    vsync: 1000 + i,
                    intended: at - 2 * MS,
                    interval: 16_666_667,
                    ..Frame::default()
                }),
            )
            .stage(Stage::Input, at + 2_000, at + 500_000)
            .stage(Stage::Animation, at + 600_000, at + MS)
            .event(at + MS + 10, Event::StageBegin(Stage::Traversal))
            .enter(at + MS + 20, 5)
            .exit(at + 5 * MS, 5)
            .event(at + 5 * MS, Event::StageEnd(Stage::Traversal))
            .event(at + 5 * MS + 5, Event::FrameEnd)
            .event(at + 5 * MS + 5, Event::MessageEnd);
        }
        t.event(start + S + 500 * MS, Event::Mark(mark))
            .event(start + S + 500 * MS, Event::Counter(heap, 1_048_576.5))
            .event(start + S + 600 * MS, Event::Counter(heap, 2e6))
            .event(
                hang,
                Event::MessageBegin(Message {
                    target: handler,
                    callback: click,
                    what: 3,
                    ..Message::default()
                }),
            )
            .enter(hang + 1_000, 1)
            .enter(hang + 2_000, 2)
            .event(
                hang + 3_000,
                Event::WaitBegin(Wait {
                    owner: 2,
                    lock: 0xBEEF,
                    class: lock,
                    ..Wait::new(WaitKind::Monitor)
                }),
            );
    })
    .thread("worker-1", 4250, |t| {
        t.enter(start + 1_000, 3).enter(hang - MS, 4);
    })
    .service(|t| {
        t.event(start, Event::Clock(clocks(start)))
            .event(hang + 5 * S, Event::Stall(Stall { stuck_since: hang }))
            .event(hang + 5 * S + 40 * MS, Event::Clock(clocks(hang + 5 * S + 40 * MS)))
            .event(hang + 5 * S + 40 * MS, Event::Sigquit(sigquit(hang + 5 * S + 40 * MS, hang)));
    })
    .last_alive(hang + 8 * S)
}

pub fn sigquit(sensed: u64, stuck_since: u64) -> Sigquit {
    Sigquit { sensed, si_code: 0, si_pid: 1234, si_uid: 1000, forward: Forward::Catcher, stuck_since }
}

/// The process's verdict on [`stalled`]'s signal.
pub fn verdict(outcome: Outcome, reconsidered: bool) -> Verdict {
    let reason = |code: &str, text: &str| Reason { code: code.to_owned(), text: text.to_owned() };
    let hang = 102 * S;
    Verdict {
        sigquit: sigquit(hang + 5 * S + 40 * MS, hang),
        reconsidered,
        policy: Policy::Anrscope,
        outcome,
        confidence: if reconsidered { Confidence::High } else { Confidence::Medium },
        sender: Sender::System,
        foreground: Some(true),
        counters: Counters { sensed: 3, forwarded: 3, rescued: 1, ..Counters::default() },
        reasons: vec![
            reason("sent-by", "sent by the system (uid 1000)"),
            reason("main-stuck", "main has been in one message for 5040 ms: stuck (5000 ms or more)"),
        ],
    }
}
