//! What the rules cost the watched thread, in ns: `time_messages [ROUNDS]`.
//!
//! Prints for a message and for a frame the best of so many rounds (21), each of 200,000, with the loop in it; the same for
//! Matrix's way of keeping the history re-made: the line's text copied and an entry handed to another thread, a message each.
//! The thread's clock and the recorder are not in it.

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::time::Instant;

use trace_rules::frame::{Stage, Stages};
use trace_rules::looper::{DENSITY, Messages, Tag};

const MESSAGES: u64 = 200_000;

fn ns_each(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64 / MESSAGES as f64
}

fn ours(messages: &mut Messages) {
    for n in 0..MESSAGES {
        let tag = Tag { target: (n % 100) as u32, callback: 7, what: 0 };
        black_box(messages.begin(n * 2_000_000, tag, 4_096));
        black_box(messages.end(n * 2_000_000 + 900_000, Some(tag)));
    }
}

fn frames(stages: &Stages) {
    for n in 1..=MESSAGES {
        let at = n * 16_666_667;
        stages.message_begin(0);
        stages.frame_begin(at, at - 1_000, 0);
        for stage in [Stage::Input, Stage::Animation, Stage::Traversal] {
            stages.stage(at + stage.index() as u64 * 1_000_000, stage, false);
        }
        black_box(stages.message_end(at + 9_000_000, 0));
    }
}

/// `recordMsg(log, duration)`: the text and the duration go to a thread that keeps them.
fn matrix(out: &std::sync::mpsc::Sender<(String, u64)>) {
    for n in 0..MESSAGES {
        let line = String::from(
            ">>>>> Dispatching to Handler (android.view.Choreographer$FrameHandler) {1a2b3c4d} null: 0",
        );
        out.send((black_box(line), n)).expect("the other thread listens");
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(21);
    let mut messages = Messages::new(DENSITY);
    let stages = Stages::default();
    let (out, kept) = channel::<(String, u64)>();
    let keeper =
        std::thread::spawn(move || kept.into_iter().map(|(line, n)| line.len() as u64 + n).sum::<u64>());
    let mut best = [f64::MAX; 3];
    // In turn, so that a busy moment meets all of them.
    for _ in 0..rounds {
        best[0] = best[0].min(ns_each(|| ours(&mut messages)));
        best[1] = best[1].min(ns_each(|| frames(&stages)));
        best[2] = best[2].min(ns_each(|| matrix(&out)));
    }
    drop(out);
    black_box(keeper.join().expect("it ends with the messages"));
    println!("message, pairing and history and threshold: {:.1} ns", best[0]);
    println!("frame, three stages: {:.1} ns", best[1]);
    println!("Matrix's history re-made, a text and a post a message: {:.1} ns", best[2]);
}
