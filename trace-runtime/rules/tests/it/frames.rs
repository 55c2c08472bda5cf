//! Frames: stages, levels, reports of a scene, the overlay.

use trace_format::time::MS;
use trace_rules::Rules;
use trace_rules::frame::matrix::{HeadFps, Matrix04Fps};
use trace_rules::frame::{
    BARS, Counts, DropLevels, InputEvents, Level, Listener, Metric, OVERLAY_MS, Overlay, Sample, Scenes,
    Stage, Stages, dropped, interval_ns,
};

use crate::mid_fps::MidFps;

fn sample(scene: u32, hz: f32, intended_ns: u64, total_ns: u64) -> Sample {
    let mut metrics = [0; 10];
    metrics[Metric::Draw as usize] = total_ns as i64;
    metrics[Metric::Total as usize] = total_ns as i64;
    Sample { scene, intended_ns, refresh_hz: hz, metrics }
}

/// What a frame that drops `n` frames takes.
fn drops(n: u64, hz: f32) -> u64 {
    (n + 1) * interval_ns(hz)
}

#[test]
fn drop_levels_change_at_3_9_24_and_42_at_every_refresh_rate() {
    let edges = [
        (2, Level::Best),
        (3, Level::Normal),
        (8, Level::Normal),
        (9, Level::Middle),
        (23, Level::Middle),
        (24, Level::High),
        (41, Level::High),
        (42, Level::Frozen),
    ];
    for hz in [60.0, 90.0, 120.0] {
        for (n, level) in edges {
            let exact = dropped(drops(n, hz), interval_ns(hz));
            assert_eq!(DropLevels::default().level(exact.whole()), level, "{n} at {hz} Hz");
            // Almost one more is still so many by our rule, and one more by Matrix's, which rounds.
            let almost = dropped(drops(n + 1, hz) - 10_000, interval_ns(hz));
            assert_eq!((u64::from(almost.whole()), u64::from(almost.rounded())), (n, n + 1));
        }
    }
    assert_eq!(dropped(0, 16_666_667).whole(), 0);
    assert_eq!(dropped(u64::MAX, 1).whole(), u32::MAX);
    // Levels that the app set.
    let own = DropLevels { normal: 1, middle: 2, high: 3, frozen: 4 };
    assert_eq!([0, 1, 2, 3, 4].map(|n| own.level(n)), Level::ALL);
}

#[test]
fn the_float_formula_is_matrixs() {
    let mut head = HeadFps::default();
    for (total, hz) in
        [(16_000_000u64, 60.0f32), (50_000_000, 60.0), (50_000_000, 90.0), (123_456_789, 120.0)]
    {
        let theirs = head.frame(total, hz);
        let ours = dropped(total, interval_ns(hz)).thousandths() as f32 / 1_000.0;
        assert!((theirs - ours).abs() < 0.002, "{total} at {hz}: {theirs} and {ours}");
    }
}

#[test]
fn an_invalid_refresh_rate_counts_as_60_hz() {
    for hz in [0.0, -60.0, f32::NAN, f32::INFINITY, 1e9] {
        assert_eq!(interval_ns(hz), 16_666_667);
    }
    assert_eq!([60.0, 90.0, 120.0].map(interval_ns), [16_666_667, 11_111_111, 8_333_333]);
}

#[test]
fn frames_with_impossible_figures_are_left_out() {
    let mut scenes = Scenes::new(Listener::default(), DropLevels::default(), Rules::Anrscope).unwrap();
    for bad in [-1, i64::MAX / 2, i64::MAX] {
        let mut sample = sample(1, 60.0, 0, 10 * MS);
        sample.metrics[Metric::Sync as usize] = bad;
        assert_eq!(scenes.frame(&sample, 0), None);
    }
    let mut gpu = sample(1, 60.0, 0, 10 * MS);
    gpu.metrics[Metric::Gpu as usize] = -1;
    assert!(gpu.plausible(), "the GPU's figure is not asked");
    assert_eq!(scenes.flush(), []);
}

#[test]
fn each_scene_is_reported_after_ten_seconds() {
    let mut scenes = Scenes::new(Listener::default(), DropLevels::default(), Rules::Anrscope).unwrap();
    let mut reports = Vec::new();
    for n in 0..1_300u64 {
        let scene = if n < 700 { 7 } else { 8 };
        // Every hundredth drops 9.
        let total = if n % 100 == 99 { drops(9, 60.0) } else { 8 * MS };
        reports.extend(scenes.frame(&sample(scene, 60.0, n * 16_666_667, total), n * 16_666_667 / MS));
    }
    assert_eq!(reports.len(), 1, "one window of scene 7 was full");
    let report = reports[0];
    assert_eq!((report.scene, report.count), (7, 601));
    assert_eq!(report.counts.frames, [595, 0, 6, 0, 0]);
    assert_eq!((report.counts.dropped, report.counts.total_dropped()), ([0, 0, 54, 0, 0], 54));
    assert_eq!(report.refresh_hz, 60.0);
    let mean = (595 * 8 * MS + 6 * drops(9, 60.0)) / 601;
    assert_eq!(report.metrics[Metric::Total as usize], mean);
    // The page is left: both rests.
    let rest = scenes.flush();
    assert_eq!(rest.iter().map(|r| (r.scene, r.count)).collect::<Vec<_>>(), [(7, 99), (8, 600)]);
    assert_eq!(scenes.flush(), []);
}

#[test]
fn only_matrixs_rule_needs_more_than_20_frames() {
    for (more_than_20, frames, reports) in [(true, 20, 0), (true, 21, 1), (false, 1, 1), (false, 20, 1)] {
        let listener = Listener { more_than_20, ..Listener::default() };
        let mut scenes = Scenes::new(listener, DropLevels::default(), Rules::Matrix).unwrap();
        for n in 0..frames {
            scenes.frame(&sample(1, 60.0, n * 16_666_667, 8 * MS), n * 16);
        }
        let reported = scenes.flush();
        assert_eq!(reported.len(), reports, "{frames} frames");
        assert!(reported.iter().all(|report| report.head_fps.is_some() == (frames > 20)));
    }
}

#[test]
fn a_listener_may_name_a_threshold() {
    let listener = Listener { threshold: 3, interval_ms: 1_000, more_than_20: false };
    let mut scenes = Scenes::new(listener, DropLevels::default(), Rules::Anrscope).unwrap();
    let frames = [
        sample(7, 60.0, 2_000 * MS, drops(3, 60.0) - 1_000),
        sample(7, 60.0, 3_000 * MS, drops(3, 60.0)),
        // 3 at 60 Hz is 6 at 120.
        sample(7, 120.0, 4_000 * MS, drops(5, 120.0)),
        sample(7, 120.0, 5_000 * MS, drops(6, 120.0) + 1_000),
    ];
    for frame in &frames {
        scenes.frame(frame, 0);
    }
    let report = scenes.flush();
    assert_eq!(report.len(), 1);
    assert_eq!((report[0].scene, report[0].counts.dropped), (7, [0, 9, 0, 0, 0]));
    // A window of no length is refused, and says what to do.
    let bad = Scenes::new(Listener { interval_ms: 0, ..listener }, DropLevels::default(), Rules::Anrscope);
    assert!(bad.err().unwrap().to_string().contains("at least 1 ms"));
}

#[test]
fn the_stage_that_is_open_is_known_while_main_hangs() {
    let stages = Stages::default();
    assert_eq!((stages.open(), stages.running(5)), (None, None));
    // The queues' form: each begin is exact.
    stages.frame_begin(100 * MS, 98 * MS, 0);
    stages.stage(100 * MS, Stage::Input, false);
    stages.stage(103 * MS, Stage::Animation, false);
    stages.stage(110 * MS, Stage::Traversal, false);
    let open = stages.open().unwrap();
    assert_eq!((open.stage, open.since_ns, open.estimated), (Stage::Traversal, 110 * MS, false));
    let running = stages.running(5_110 * MS).unwrap();
    assert_eq!(running.stages, [3 * MS, 7 * MS, 0, 5_000 * MS, 0]);
    assert_eq!((running.intended_ns, running.estimated), (98 * MS, 0));
    // It ends after all.
    let costs = stages.message_end(5_120 * MS, 0).unwrap();
    assert_eq!((costs.stages[3], costs.took_ns()), (5_010 * MS, 5_022 * MS));
    assert_eq!((stages.open(), stages.running(6_000 * MS)), (None, None));
    // A message that is no frame has no stages, and none of the frame before.
    stages.stage(6_000 * MS, Stage::Traversal, true);
    assert_eq!((stages.open(), stages.message_end(6_001 * MS, 0)), (None, None));
}

#[test]
fn a_nested_loop_inside_of_a_frame_leaves_its_stages_alone() {
    let stages = Stages::default();
    stages.frame_begin(100 * MS, 0, 0);
    stages.stage(100 * MS, Stage::Input, false);
    stages.stage(101 * MS, Stage::Animation, false);
    // An animation callback shows a dialog with a loop of its own, in which messages and frames run.
    stages.message_begin(1);
    assert_eq!(stages.message_end(110 * MS, 1), None);
    stages.message_begin(1);
    stages.frame_begin(120 * MS, 0, 1);
    stages.stage(121 * MS, Stage::Traversal, false);
    assert_eq!(stages.open().map(|open| (open.stage, open.since_ns)), Some((Stage::Animation, 101 * MS)));
    assert_eq!(stages.message_end(130 * MS, 1), None);
    stages.stage(140 * MS, Stage::Traversal, false);
    let costs = stages.message_end(150 * MS, 0).unwrap();
    assert_eq!(costs.stages, [MS, 39 * MS, 0, 10 * MS, 0]);
}

#[test]
fn a_frame_whose_end_was_lost_is_over_with_the_next_message() {
    let stages = Stages::default();
    stages.frame_begin(100 * MS, 0, 0);
    stages.stage(100 * MS, Stage::Traversal, false);
    stages.message_begin(0);
    assert_eq!(
        (stages.open(), stages.running(200 * MS), stages.message_end(300 * MS, 0)),
        (None, None, None)
    );
}

#[test]
fn from_api_24_on_stages_are_estimated_and_refined_afterwards() {
    let stages = Stages::default();
    stages.frame_begin(100 * MS, 0, 0);
    stages.stage(100 * MS, Stage::Input, true);
    stages.stage(104 * MS, Stage::Animation, true); // our first frame callback, which gets the vsync
    stages.intended(96 * MS);
    stages.stage(106 * MS, Stage::Traversal, true); // our last one
    stages.stage(107 * MS, Stage::Traversal, true); // two windows' pre-draw: it is that already
    stages.stage(108 * MS, Stage::Animation, true); // never back
    assert!(stages.running(109 * MS).unwrap().estimated != 0);
    let mut costs = stages.message_end(112 * MS, 0).unwrap();
    assert_eq!((costs.intended_ns, costs.stages), (96 * MS, [4 * MS, 2 * MS, 0, 6 * MS, 0]));
    assert_eq!(costs.estimated, 0b1011);
    let mut metrics = sample(1, 60.0, 96 * MS, 16 * MS);
    metrics.metrics = [4, 3, 2, 5, 1, 0, 0, 0, 16, 0].map(|ms| ms * MS as i64);
    costs.refine(&metrics);
    assert_eq!((costs.stages, costs.estimated), ([3 * MS, 2 * MS, 0, 6 * MS, 0], 0));
}

#[test]
fn input_latency_needs_an_event() {
    assert_eq!(InputEvents::from_frame_info(i64::MAX, 0), None);
    assert_eq!(InputEvents::from_frame_info(0, 0), None);
    assert_eq!(InputEvents::from_frame_info(5, 4), None);
    let events = InputEvents::from_frame_info(90 * MS as i64, 98 * MS as i64).unwrap();
    assert_eq!((events.span(), events.latency(130 * MS)), (8 * MS, 40 * MS));
}

#[test]
fn matrixs_formulas_are_reproduced_with_their_faults() {
    // MID: 16.67 ms become 16, 33.33 become 33: too high.
    let mut mid = MidFps::default();
    for _ in 0..100 {
        assert_eq!(mid.frame(5 * MS as i64, 16_666_667), 0);
        assert_eq!(mid.frame(20 * MS as i64, 16_666_667), 1);
    }
    assert_eq!(mid.sum_ms(), 100 * (16 + 33));
    assert_eq!(mid.fps().map(|fps| (fps * 10.0) as i32), Some(408));
    let mut smooth = MidFps::default();
    (0..100).for_each(|_| _ = smooth.frame(0, 16_666_667));
    assert_eq!(smooth.fps(), Some(60.0), "62.5, cut to 60");
    // HEAD: frames of two intervals' latency, one every interval, are 30.
    let mut head = HeadFps::default();
    (0..100).for_each(|_| _ = head.frame(33_333_334, 60.0));
    assert!((head.fps().unwrap() - 30.0).abs() < 0.01);
}

#[test]
fn matrix_04_frame_reports_cover_six_seconds_in_units_of_ten_microseconds() {
    let mut old = Matrix04Fps::new(DropLevels::default());
    let ten_ms = 10 * MS;
    // 5.99 s are no slice; the rest stays for the next round.
    (0..599).for_each(|_| old.frame(3, ten_ms));
    assert_eq!(old.report(), []);
    old.frame(3, ten_ms);
    (0..10).for_each(|_| old.frame(4, 700 * MS));
    let reports = old.report();
    assert_eq!(reports.len(), 2);
    assert_eq!((reports[0].scene, reports[0].fps, reports[0].counts.frames), (3, 60.0, [600, 0, 0, 0, 0]));
    // 700 ms are 70,000 units: 43 by 16.00 ms, less one. The 9 frames that make 6 s.
    assert_eq!(
        (reports[1].scene, reports[1].counts.frames, reports[1].counts.dropped),
        (4, [0, 0, 0, 0, 9], [0, 0, 0, 0, 378])
    );
    assert!((reports[1].fps - 1.4286).abs() < 0.001);
    assert_eq!(old.report(), []);
    // The period wraps at 41.94 s, the scene at 1,024.
    old.frame(1_024 + 5, (1 << 22) * 10_000 + 6_000 * MS);
    let report = old.report();
    assert_eq!((report[0].scene, report[0].counts.dropped), (5, [0, 0, 0, 0, 374]));
}

#[test]
fn the_overlay_changes_every_200_ms_at_every_rate() {
    for hz in [60.0f32, 90.0, 120.0] {
        let mut overlay = Overlay::new(DropLevels::default());
        let mut changes = Vec::new();
        let interval = interval_ns(hz);
        for n in 0..(12_000 * MS / interval) {
            let now_ms = n * interval / MS;
            overlay.frame(&sample(1, hz, n * interval, 5 * MS), now_ms);
            if let Some(text) = overlay.refresh(now_ms) {
                changes.push((now_ms, text));
            }
        }
        for pair in changes.windows(2) {
            let apart = pair[1].0 - pair[0].0;
            assert!((OVERLAY_MS..OVERLAY_MS + 17).contains(&apart), "{apart} ms at {hz} Hz");
        }
        assert!(changes.len() >= 55, "{} changes at {hz} Hz", changes.len());
        let (_, last) = changes.last().unwrap();
        assert_eq!((last.fps.as_str(), last.colour), (format!("{hz}.00").as_str(), Level::Best));
        assert_eq!(overlay.bars().len(), BARS);
        assert_eq!(overlay.means(), [Some(hz as u32), Some(hz as u32)]);
    }
}

#[test]
fn the_overlays_colour_depends_on_the_distance_to_the_displays_rate() {
    let overlay = Overlay::new(DropLevels::default());
    let colours = [
        (57.01, Level::Best),
        (57.0, Level::Normal),
        (51.0, Level::Middle),
        (36.0, Level::High),
        (18.01, Level::High),
        (18.0, Level::Frozen),
    ];
    for (fps, colour) in colours {
        assert_eq!(overlay.colour((fps * 100.0f64).round() as u32), colour, "{fps}");
    }
    let mut rgb: Vec<u32> = Level::ALL.map(Level::rgb).to_vec();
    rgb.dedup();
    assert_eq!(rgb.len(), 5);
}

#[test]
fn the_overlay_shows_text_counts_shares_bars_and_means() {
    let mut overlay = Overlay::new(DropLevels::default());
    let mut now_ms = 1_000;
    // Scene 1: bars of 5 frames in 12 intervals each: 25 a second.
    for _ in 0..30 {
        for at in [0u64, 3, 6, 9, 11] {
            let took = if at == 11 { 8 * MS } else { drops(2, 60.0) };
            let took = if at == 9 { drops(1, 60.0) } else { took };
            overlay.frame(&sample(1, 60.0, now_ms * MS + at * 16_666_667, took), now_ms);
        }
        now_ms += 200;
        assert!(overlay.refresh(now_ms - 1).is_none());
        assert!(overlay.refresh(now_ms).is_some());
    }
    assert_eq!(overlay.bars().len(), 30);
    assert!(overlay.bars()[..25].iter().all(|bar| (2_450..2_550).contains(bar)), "{:?}", overlay.bars());
    assert_eq!(overlay.means()[1], None, "no ten seconds yet");
    assert!(matches!(overlay.means()[0], Some(24 | 25)));

    // Scene 2: one frame of each level, and another NORMAL one.
    for n in [3, 4, 10, 30, 50] {
        overlay.frame(&sample(2, 60.0, now_ms * MS, drops(n, 60.0)), now_ms);
        now_ms += 1_000;
    }
    let text = overlay.refresh(now_ms).unwrap();
    assert_eq!((text.sum, text.page), ([2, 1, 1, 1], [2, 1, 1, 1]));
    assert_eq!(text.shares[1], [40, 20, 20, 20]);
    // (2·1 + 14 + 25 + 60) / 5
    assert_eq!(text.weighted[1], "20.2");
    assert_eq!(text.dropped, (30 * (3 * 2 + 1) + 3 + 4 + 10 + 30 + 50).to_string());
    assert_eq!(text.fps.split_once('.').map(|(_, decimals)| decimals.len()), Some(2));

    // Another page has counts of its own; the sum stays.
    overlay.frame(&sample(3, 60.0, now_ms * MS, 8 * MS), now_ms);
    let text = overlay.refresh(now_ms + 200).unwrap();
    assert_eq!((text.sum, text.page), ([2, 1, 1, 1], [0; 4]));
    // Nothing is drawn any more: the figure is what the display could.
    assert!(overlay.refresh(now_ms + 300).is_none());
    assert_eq!(overlay.refresh(now_ms + 500).unwrap().fps, "60.00");
}

#[test]
fn counts_do_not_wrap() {
    let mut counts = Counts::default();
    counts.add(u32::MAX, &DropLevels::default());
    counts.add(u32::MAX, &DropLevels::default());
    assert_eq!((counts.frames[4], counts.dropped[4]), (2, u32::MAX));
}
