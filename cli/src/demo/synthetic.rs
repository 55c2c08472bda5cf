//! A synthetic recording of the demo's hang, for systems where the recorder does not run.

use trace_format::MapId;
use trace_format::android::ANR_LIMIT_NS;
use trace_format::event::{Clocks, Event, Forward, Frame, Message, Sigquit, Stage, Stall, Wait, WaitKind};
use trace_format::synth::RecordingBuilder;
use trace_format::time::MS;

use super::methods::Method::*;

const START: u64 = 1_000_000 * MS;

/// Returns a recording of an app that hangs for `stall` seconds (not at all for 0) and is then killed.
pub(super) fn recording(stall: f64, map_id: MapId) -> Vec<u8> {
    let stall = (stall * 1e9) as u64;
    let pid = std::process::id().max(2);
    let start = Clocks { boottime: START, monotonic: START, realtime: 1_700_000_000_000 * MS };
    let mut b = RecordingBuilder::new(pid, "com.example.shop (synthetic)").map_id(map_id).start(start);
    let target = b.text("android.os.Handler");
    let callback = b.text("com.example.shop.CheckoutActivity$PayTask");
    let choreographer = b.text("android.view.Choreographer$FrameHandler");
    let lock = b.text("com.example.shop.PriceStore");
    let hang = START + 160 * 17 * MS;
    let end = hang + stall.max(100 * MS);
    let b = b
        .main("main", |t| {
            for vsync in 1..=150_u64 {
                let at = START + vsync * 17 * MS;
                let frame = Frame { vsync, intended: at, interval: 16_666_667, ..Frame::default() };
                t.event(at, Event::MessageBegin(Message { target: choreographer, ..Message::default() }))
                    .event(at, Event::FrameBegin(frame))
                    .event(at, Event::StageBegin(Stage::Input))
                    .enter(at, OnInput.id())
                    .exit(at + MS, OnInput.id())
                    .event(at + MS, Event::StageEnd(Stage::Input))
                    .stage(Stage::Animation, at + MS, at + 2 * MS)
                    .stage(Stage::Traversal, at + 2 * MS, at + 8 * MS)
                    .event(at + 8 * MS, Event::FrameEnd)
                    .event(at + 8 * MS, Event::MessageEnd);
            }
            if stall > 0 {
                let wait = Wait { owner: 2, lock: 1, class: lock, ..Wait::new(WaitKind::Monitor) };
                t.event(hang, Event::MessageBegin(Message { target, callback, ..Message::default() }))
                    .enter(hang, Pay.id())
                    .enter(hang, CartTotal.id())
                    .enter(hang, PriceOf.id())
                    .event(hang + 1_000, Event::WaitBegin(wait));
            }
        })
        .thread("SyncWorker", pid + 1, |t| {
            t.enter(START + MS, Sync.id()).enter(START + 2 * MS, Upload.id());
        })
        .last_alive(end);
    if stall < ANR_LIMIT_NS {
        return b.build();
    }
    let anr = hang + ANR_LIMIT_NS;
    b.service(|t| {
        t.event(anr, Event::Stall(Stall { stuck_since: hang })).event(
            anr + MS,
            Event::Sigquit(Sigquit {
                sensed: anr + MS,
                si_code: -1,
                si_pid: 1_000,
                si_uid: 1_000,
                forward: Forward::Catcher,
                stuck_since: hang,
            }),
        );
    })
    .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::Recording;

    #[test]
    fn it_is_whole_and_has_an_anr_only_where_it_hangs_long_enough() {
        for (stall, service) in [(0.0, false), (3.0, false), (8.0, true)] {
            let recording = Recording::open(recording(stall, MapId(7))).unwrap();
            assert_eq!(recording.faults(), (&[][..], 0));
            assert_eq!(recording.service().is_some(), service);
            assert_eq!(recording.threads().len(), 2);
        }
    }
}
