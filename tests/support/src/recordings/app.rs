//! An app's recording with some of everything: a start, good and bad frames, a late message, a lock, an ANR
//! with everything that the app records about it.

use trace_format::event::{Frame, FrameMetrics, InputEvents, Message, Stage, Stall, Usage, Wait, WaitKind};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::verdict::Outcome;
use trace_format::{Event, TextId};

use super::{MS, S, clocks, map, sigquit};

pub const START: u64 = 100 * S;
pub const INTERVAL: u64 = 16_666_667;
/// Intended vsync of the first frame.
pub const FRAMES: u64 = 101 * S;
/// Start of the frame that dropped four.
pub const LATE_FRAME: u64 = FRAMES + 20 * INTERVAL;
/// Start of the frozen frame.
pub const FROZEN_FRAME: u64 = FRAMES + 30 * INTERVAL;
/// Main dispatches a message that was due 300 ms before.
pub const LATE_MESSAGE: u64 = 106 * S + 300 * MS;
/// Main waits 400 ms for a lock.
pub const LOCK: u64 = 107 * S;
/// Main hangs from here on.
pub const HANG: u64 = 108 * S;
/// The system requests a dump.
pub const ASKED: u64 = HANG + 5 * S + 40 * MS;

/// The recorder's process section.
pub const PROCESS: &str = "name=com.example.app\nabi=aarch64\nos=android\nversion=0.1.0\nkernel=Linux\n\
    kernel_release=6.1.75-android14\nkernel_version=#1 SMP PREEMPT\nmachine=aarch64\npage_size=16384\n\
    parent_pid=812\nsdk=35\nfingerprint=acme/phone/phone:15/AP1A/1:user/release-keys\n";

pub const STARTUPS: [&str; 3] = [
    "kind=cold\nactivity=com.example.app.Main\nbegin=100000000000\napplication_end=100200000000\nend=100800000000\n\
     first_draw=100750000000\nsplash_end=0\ngrade=good\n",
    "kind=page\nactivity=com.example.app.Detail\nbegin=104000000000\napplication_end=0\nend=104300000000\nfirst_draw=0\n\
     splash_end=0\ngrade=unknown\n",
    "kind=service\nactivity=\nbegin=105000000000\napplication_end=0\nend=105010000000\nfirst_draw=0\nsplash_end=0\n\
     grade=unknown\n",
];

pub const SNAPSHOT: &str = "detector=sigquit\nat=113030000000\nmessage_since=108000000000\nstage=TRAVERSAL\n\
    stage_since=108003000000\nforeground=1\nscene=com.example.app.Main\nstate=BLOCKED\npriority=5\nnice=-10\n\
    dalvik_kib=20480\nnative_kib=10240\nvm_kib=2097152\ncgroup=top-app\ninput_ns=1000000\nanimation_ns=500000\n\
    traversal_ns=0\n\n\
    com.example.app.List.measure(List.java:70)\ncom.example.app.List.onMeasure(List.java:31)\n\
    android.os.Looper.loop(Looper.java:288)\n\n\
    Looper (main, tid 2) {81cb6e0}\n\
    \x20 Message 0: { when=-4s900ms what=3 target=com.example.app.Sync$H }\n\
    \x20 Message 1: { when=+40ms callback=com.example.app.Save$1@7c1 target=android.os.Handler }\n\
    \x20 (Total messages: 2, polling=false, quitting=false)\n";

pub const SAMPLES: &str = "@109000000000 0\ncom.example.app.List.measure(List.java:70)\n\
    com.example.app.List.onMeasure(List.java:31)\nandroid.os.Looper.loop(Looper.java:288)\n\
    @110000000000 2\ncom.example.app.List.child(List.java:80)\n\
    @111000000000 2\ncom.example.app.List.measure(List.java:71)\n";

pub const DUMP: &str = "Subject: Input dispatching timed out (4a1 com.example.app/.Main (server) is not responding. Waited 5001ms for MotionEvent)\n\n----- pid 4242 at 2026-01-01 00:00:00.000000000+0000 -----\nCmd line: com.example.app\n\n\
    DALVIK THREADS (3):\n\
    \"main\" prio=5 tid=1 Runnable\n\
    \x20 | group=\"main\" sCount=0 ucsCount=0 flags=0 obj=0x7 self=0xb4\n\
    \x20 | sysTid=4242 nice=-10 cgrp=top-app sched=0/0 handle=0x7\n\
    \x20 at com.example.app.List.measure(List.java:70)\n\
    \x20 at android.os.Looper.loop(Looper.java:288)\n\n\
    \"worker-1\" prio=5 tid=12 Native\n\
    \x20 | group=\"main\" sCount=1 ucsCount=0 flags=1 obj=0x7 self=0xb4\n\
    \x20 | sysTid=4250 nice=-2 cgrp=default sched=0/0 handle=0x7\n\
    \x20 | state=S schedstat=( 1500000 250000 12 ) utm=10 stm=5 core=2 HZ=100\n\
    \x20 native: #00 pc 0009f3b8  /apex/com.android.runtime/lib64/bionic/libc.so (read+8)\n\
    \x20 at com.example.app.Store.read(Native method)\n\
    \x20 - locked <0x0000001a> (a com.example.app.Store)\n\n\
    \"OkHttp\" daemon prio=5 tid=15 Blocked\n\
    \x20 | group=\"main\" sCount=1 ucsCount=0 flags=1 obj=0x7 self=0xb4\n\
    \x20 | sysTid=4299 nice=0 cgrp=default sched=0/0 handle=0x7\n\
    \x20 at com.example.app.Store.write(Store.java:9)\n\
    \x20 - waiting to lock <0x0000001a> (a com.example.app.Store) held by thread 12\n\n\
    ----- end 4242 -----\n";

/// A frame known only from public calls (`estimated`) has no vsync: that is in the system's metrics.
fn frame(t: &mut ThreadBuilder, message: Message, intended: u64, begin: u64, end: u64, estimated: bool) {
    let (number, recorded) = (intended / INTERVAL, if estimated { 0 } else { intended });
    let third = (end - begin) / 3;
    t.event(begin, Event::MessageBegin(Message { due: intended, ..message }))
        .event(
            begin,
            Event::FrameBegin(Frame { vsync: number, intended: recorded, interval: INTERVAL, estimated }),
        )
        .stage(Stage::Input, begin, begin + third)
        .stage(Stage::Animation, begin + third, begin + 2 * third)
        .event(begin + 2 * third, Event::StageBegin(Stage::Traversal))
        .enter(begin + 2 * third, 5)
        .exit(end, 5)
        .event(end, Event::StageEnd(Stage::Traversal))
        .event(end, Event::FrameEnd)
        .event(end, Event::MessageEnd);
}

fn metrics(intended: u64, delay: u64, total: u64) -> Event {
    Event::FrameMetrics(FrameMetrics {
        intended,
        vsync: intended + MS / 2,
        delay,
        input: MS,
        animation: 2 * MS,
        layout: 3 * MS,
        draw: MS,
        total,
        gpu: MS,
        deadline: INTERVAL,
        ..FrameMetrics::default()
    })
}

/// The whole recording.
pub fn app() -> RecordingBuilder {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(map().map_id()).start(clocks(START));
    let mut message = |target: &str, callback: &str, what| Message {
        target: b.text(target),
        callback: if callback.is_empty() { TextId(0) } else { b.text(callback) },
        what,
        handler: 0x1a2b,
        ..Message::default()
    };
    let vsync = message(
        "android.view.Choreographer$FrameHandler",
        "android.view.Choreographer$FrameDisplayEventReceiver",
        0,
    );
    let bind = message("android.app.ActivityThread$H", "", 110);
    let row = message("com.example.app.Row$H", "", 3);
    let pay = message("android.os.Handler", "com.example.app.Main$Pay", 0);
    let (lock, heap) = (b.text("com.example.app.Store"), b.text("Java heap"));
    let (mark, line) = (b.text("basket shown"), b.text("W/Store: 3 attempts so far"));
    let mut b = b
        .main("main", |t| {
            t.event(START, Event::MessageBegin(bind))
                .enter(START + MS, 1)
                .exit(START + 750 * MS, 1)
                .event(START + 760 * MS, Event::MessageEnd)
                .event(START + 770 * MS, Event::Counter(heap, 1_048_576.0));
            for i in 0..20 {
                let at = FRAMES + i * INTERVAL;
                frame(t, vsync, at, at + MS, at + 9 * MS, false);
                if i == 3 {
                    t.event(
                        at + 10 * MS,
                        Event::InputEvents(InputEvents { intended: at, oldest: at - 5 * MS, newest: at }),
                    );
                }
            }
            // Something else delayed the frame, and it took long itself.
            frame(t, vsync, LATE_FRAME, LATE_FRAME + 40 * MS, LATE_FRAME + 90 * MS, true);
            t.event(
                LATE_FRAME + 90 * MS,
                Event::InputEvents(InputEvents {
                    // The vsync that frame callbacks receive.
                    intended: LATE_FRAME + MS / 2,
                    oldest: LATE_FRAME - 5 * MS,
                    newest: LATE_FRAME,
                }),
            );
            frame(t, vsync, FROZEN_FRAME, FROZEN_FRAME + 2 * MS, FROZEN_FRAME + 900 * MS, false);
            // Nothing is drawn for two seconds.
            for i in 0..3 {
                let at = FRAMES + 3 * S + i * INTERVAL;
                frame(t, vsync, at, at + MS, at + 9 * MS, false);
            }
            let due = LATE_MESSAGE - 300 * MS;
            t.event(due - 100 * MS, Event::MessageBegin(row)).event(due + 300 * MS, Event::MessageEnd);
            t.event(LATE_MESSAGE, Event::MessageBegin(Message { due, ..row }))
                .event(LATE_MESSAGE + MS, Event::Mark(mark))
                .event(LATE_MESSAGE + 5 * MS, Event::MessageEnd)
                .event(LOCK - MS, Event::MessageBegin(pay))
                .enter(LOCK - MS, 1)
                .enter(LOCK - MS, 2)
                .event(
                    LOCK,
                    Event::WaitBegin(Wait {
                        owner: 2,
                        lock: 0xBEEF,
                        class: lock,
                        ..Wait::new(WaitKind::Monitor)
                    }),
                )
                .event(LOCK + 400 * MS, Event::WaitEnd)
                .exit(LOCK + 401 * MS, 2)
                .exit(LOCK + 402 * MS, 1)
                .event(LOCK + 403 * MS, Event::MessageEnd)
                .event(HANG, Event::MessageBegin(Message { due: HANG - MS, ..vsync }))
                .event(
                    HANG + MS,
                    Event::FrameBegin(Frame {
                        vsync: 9_999,
                        intended: HANG,
                        interval: INTERVAL,
                        estimated: false,
                    }),
                )
                .stage(Stage::Input, HANG + MS, HANG + 2 * MS)
                .stage(Stage::Animation, HANG + 2 * MS, HANG + 3 * MS)
                .event(HANG + 3 * MS, Event::StageBegin(Stage::Traversal))
                .enter(HANG + 4 * MS, 5);
        })
        .thread("worker-1", 4250, |t| {
            t.enter(START + MS, 3).enter(LOCK - 2 * MS, 4);
            t.event(LOCK + 100 * MS, Event::Mark(line)).exit(LOCK + 399 * MS, 4);
        })
        .thread("FrameMetrics", 4251, |t| {
            for i in 0..20 {
                let at = FRAMES + i * INTERVAL;
                t.event(at + 30 * MS, metrics(at, MS, 12 * MS));
            }
            t.event(LATE_FRAME + 200 * MS, metrics(LATE_FRAME, 40 * MS + MS / 10, 95 * MS));
        })
        .service(|t| {
            t.event(START, Event::Clock(clocks(START)));
            // Main is polled while its message is late.
            for (i, ran) in [(0, 300 * MS), (1, 740 * MS), (2, 750 * MS)] {
                let waited = i * 20 * MS;
                let usage = Usage { tid: 4242, state: b'R', ran, waited, ..Usage::default() };
                t.event(HANG + 2 * S + i * 500 * MS, Event::Usage(usage));
            }
            t.event(HANG + 5 * S, Event::Stall(Stall { stuck_since: HANG }))
                .event(ASKED, Event::Clock(clocks(ASKED)))
                .event(ASKED, Event::Sigquit(sigquit(ASKED, HANG)));
        })
        .last_alive(HANG + 6 * S);
    for startup in STARTUPS {
        b = b.section(SectionKind::Startup, startup.as_bytes());
    }
    let verdict = trace_format::verdict::Verdict {
        sigquit: sigquit(ASKED, HANG),
        ..super::verdict(Outcome::Anr, true)
    };
    b = b.uid(10_123).section(SectionKind::Process, PROCESS.as_bytes());
    let dump = [&(ASKED + 10 * MS).to_le_bytes()[..], DUMP.as_bytes()].concat();
    b.section(SectionKind::AnrSnapshot, SNAPSHOT.as_bytes())
        .section(SectionKind::StackSamples, SAMPLES.as_bytes())
        .section(SectionKind::DumpText, &dump)
        .section(SectionKind::Verdict, &verdict.encode())
        .section(
            SectionKind::SelfMeasurement,
            b"clock=cycle counter\nns_per_event_coarse=1.5\nns_per_event_precise=40\n",
        )
}
