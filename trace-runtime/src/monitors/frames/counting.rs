//! Counts frames for the reports per scene, the observers and the overlay. On the shim's thread
//! `anrscope-frames`, never on main: it locks and allocates.
//!
//! From API 24 on each frame comes as `FrameMetrics` of its window ([`measured`]), and what main recorded
//! of it is found by its time. Below, only what main recorded is known.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use trace_format::android::FRAME_METRICS_DROPPED;
use trace_format::event::TextId;
use trace_rules::frame::{FrameCosts, METRICS, Metric, Sample, SceneReport, Scenes, Stage};
use trace_rules::report::Issue;

use super::matching::{Found, Seen};
use super::matrix_04::Matrix04Frames;
use super::measured::Measured;
use super::of_monotonic;
use super::queue::Finished;
use super::rule::Rule;
use crate::monitors::config::options::{self, Setting, is_enabled, number};
use crate::monitors::frames::overlay;
use crate::monitors::{app_state, reports};
use crate::recorder;
use crate::time::{self, clock};
use crate::unpoisoned::lock;
use crate::writing::events;

/// The longest that a frame's metrics wait until main has ended the frame, ns.
const METRICS_TIMEOUT_NS: u64 = 500_000_000;
const MAX_WAITING: usize = 16;

static COUNTING: Mutex<Option<Counting>> = Mutex::new(None);
/// The system's API level.
static API: AtomicU32 = AtomicU32::new(0);

/// A frame as the app's observers receive it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ObservedFrame {
    pub(crate) scene: TextId,
    /// When the frame began, ns of CLOCK_MONOTONIC.
    pub(crate) begun_ns: u64,
    /// From its intended vsync until it was complete, ns.
    pub(crate) total_ns: u64,
    /// INPUT, ANIMATION, TRAVERSAL, ns.
    pub(crate) stages: [u64; 3],
    /// From the oldest input event that it handled to its end, ns.
    pub(crate) latency_ns: Option<u64>,
    /// Number of whole frames that were dropped because of it.
    pub(crate) dropped: u32,
    /// Whether enough frames were dropped for the observers of dropped frames.
    pub(crate) report_dropped: bool,
}

/// Sets the system's API level; call it before anything else.
pub(crate) fn set_api(level: u32) {
    API.store(level, Ordering::Relaxed);
}

/// The result of [`next`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Next {
    /// No frame waits.
    Nothing,
    /// A frame waits that main has not ended yet: retry a little later.
    Later,
    /// A frame was counted; what observers receive, if anything.
    Counted(Option<ObservedFrame>),
}

/// Queues a window's frame, measured by the system, for [`next`]. Frames before it whose metrics the system
/// dropped (`dropCountSinceLastInvocation`) are in the recording's counter [`FRAME_METRICS_DROPPED`].
pub(crate) fn measured(frame: &Measured) {
    with(|counting| {
        if frame.lost > 0 {
            counting.lost += u64::from(frame.lost);
            events::counter(recorder::text(FRAME_METRICS_DROPPED), counting.lost as f64);
        }
        counting.waiting.push_back((*frame, time::now()));
    });
}

/// Counts the next frame: from API 24 on one that was [`measured`], below that one that main has ended.
pub(crate) fn next() -> Next {
    with(|counting| {
        if API.load(Ordering::Relaxed) >= 24 {
            return counting.next_measured();
        }
        counting.seen.next().map_or(Next::Nothing, |frame| Next::Counted(counting.of_main(&frame)))
    })
}

/// Reports the page that was left.
pub(crate) fn flush() {
    with(|counting| {
        let left = counting.scenes.flush();
        left.iter().for_each(|report| counting.report(report));
        let (lost, outside) = super::lost();
        if !counting.missing_reported && lost + outside > 0 {
            counting.missing_reported = true;
            recorder::notice(
                "frames were not counted: they were not read in time, or were outside of any message",
            );
        }
    });
}

fn with<R>(f: impl FnOnce(&mut Counting) -> R) -> R {
    let mut counting = lock(&COUNTING);
    f(counting.get_or_insert_with(Counting::new))
}

/// A scene with frames.
struct Scene {
    id: u32,
    name: String,
    /// Whether its frames are reported.
    cared: bool,
}

struct Counting {
    /// [`options::changes`] when `rule` was read.
    changes: u64,
    rule: Rule,
    scenes: Scenes,
    matrix_04: Matrix04Frames,
    known: Vec<Scene>,
    seen: Seen,
    /// Frames of windows that are not counted yet, and when they came, ns.
    waiting: VecDeque<(Measured, u64)>,
    /// Frames that main has ended and whose metrics the system dropped: they are counted by what main
    /// recorded.
    dropped: VecDeque<Finished>,
    /// The intended vsync of the frame that was counted last, ns; 0 for none.
    counted_ns: u64,
    /// How many frames' metrics the system has dropped so far.
    lost: u64,
    /// Whether missing frames were reported.
    missing_reported: bool,
}

impl Counting {
    fn new() -> Self {
        let changes = options::changes();
        let rule = Rule::in_force();
        Counting {
            changes,
            scenes: rule.scenes(),
            matrix_04: Matrix04Frames::new(rule.levels),
            rule,
            known: Vec::new(),
            seen: Seen::default(),
            waiting: VecDeque::new(),
            dropped: VecDeque::new(),
            counted_ns: 0,
            lost: 0,
            missing_reported: false,
        }
    }

    /// Starts a new window if options of frames changed: what was counted under the old ones is reported.
    fn follow_options(&mut self) {
        let changes = options::changes();
        if changes == self.changes {
            return;
        }
        self.changes = changes;
        let rule = Rule::in_force();
        if rule != self.rule {
            let left = self.scenes.flush();
            left.iter().for_each(|report| self.report(report));
            self.scenes = rule.scenes();
            self.matrix_04 = Matrix04Frames::new(rule.levels);
            self.known.clear();
            self.rule = rule;
        }
    }

    fn next_measured(&mut self) -> Next {
        if let Some((frame, _)) = self.waiting.front_mut().filter(|(frame, _)| frame.lost > 0) {
            let lost = std::mem::take(&mut frame.lost) as usize;
            let began = of_monotonic(u64::try_from(frame.intended).unwrap_or(0))
                + u64::try_from(frame.metrics[Metric::UnknownDelay as usize]).unwrap_or(0);
            // Without a vsync (API 24 and 25) they cannot be distinguished from those of other windows.
            if frame.intended > 0 {
                self.dropped = self.seen.before(began, lost);
            }
        }
        if let Some(frame) = self.dropped.pop_front() {
            return Next::Counted(self.of_main(&frame));
        }
        self.longest_first();
        let Some(&(frame, came_ns)) = self.waiting.front() else { return Next::Nothing };
        let may_wait =
            self.waiting.len() <= MAX_WAITING && time::now().saturating_sub(came_ns) < METRICS_TIMEOUT_NS;
        match self.measured(&frame, may_wait) {
            None => Next::Later,
            Some(observed) => {
                self.waiting.pop_front();
                Next::Counted(observed)
            }
        }
    }

    /// Of windows that were drawn for one vsync, the one that took longest comes first: it counts.
    fn longest_first(&mut self) {
        let Some(vsync) = self.waiting.front().map(|(frame, _)| frame.intended).filter(|vsync| *vsync > 0)
        else {
            return;
        };
        let total = |at: usize| self.waiting[at].0.metrics[Metric::Total as usize];
        let same = (1..self.waiting.len()).filter(|at| self.waiting[*at].0.intended == vsync);
        if let Some(longest) = same.max_by_key(|at| total(*at)).filter(|at| total(*at) > total(0)) {
            self.waiting.swap(0, longest);
        }
    }

    /// Counts the frame, unless another window's metrics of the same vsync were counted; `None` if main has not ended it and it may still wait.
    fn measured(&mut self, frame: &Measured, may_wait: bool) -> Option<Option<ObservedFrame>> {
        let mut sample = Sample {
            scene: 0,
            intended_ns: of_monotonic(u64::try_from(frame.intended).unwrap_or(0)),
            refresh_hz: super::refresh_hz(),
            metrics: frame.metrics,
        };
        if !sample.plausible() {
            return Some(None);
        }
        let main_ns = sample.main_end_ns() - sample.intended_ns;
        let has_vsync = sample.intended_ns != 0;
        let found = if has_vsync {
            self.seen.at(sample.intended_ns + sample.metric(Metric::UnknownDelay) as u64)
        } else {
            self.seen.in_order()
        };
        let seen = match found {
            Found::NotYet if may_wait => return None,
            Found::NotYet | Found::Nothing => None,
            Found::Frame(seen) => Some(seen),
        };
        if !has_vsync {
            let ended_ns = seen.map_or_else(time::now, |seen| seen.costs.ended_ns);
            sample.intended_ns = ended_ns.saturating_sub(main_ns);
        }
        sample.scene = seen.map_or(app_state::scene().0, |seen| seen.scene);
        frame.record(&sample);
        if has_vsync && sample.intended_ns == self.counted_ns {
            return Some(None);
        }
        self.counted_ns = sample.intended_ns;
        let mut seen = seen.unwrap_or(Finished {
            costs: FrameCosts {
                begun_ns: sample.intended_ns.saturating_add(sample.metric(Metric::UnknownDelay) as u64),
                ..FrameCosts::default()
            },
            ..Finished::default()
        });
        seen.costs.refine(&sample);
        Some(self.count(&sample, &seen))
    }

    /// Counts a frame by what main recorded alone.
    fn of_main(&mut self, frame: &Finished) -> Option<ObservedFrame> {
        let costs = &frame.costs;
        let stage = |stage: Stage| costs.stages[stage.index()];
        let mut metrics = [0; METRICS];
        let mut put = |metric: Metric, ns: u64| metrics[metric as usize] = i64::try_from(ns).unwrap_or(0);
        let delay_ns = costs.begun_ns.saturating_sub(costs.intended_ns);
        let animation_ns = stage(Stage::Animation) + stage(Stage::InsetsAnimation);
        put(Metric::UnknownDelay, delay_ns);
        put(Metric::InputHandling, stage(Stage::Input));
        put(Metric::Animation, animation_ns);
        // With COMMIT, and Choreographer's work around its stages.
        let rest_ns =
            costs.took_ns().saturating_sub(delay_ns).saturating_sub(stage(Stage::Input) + animation_ns);
        put(Metric::LayoutMeasure, rest_ns);
        put(Metric::Total, costs.took_ns());
        let sample = Sample {
            scene: frame.scene,
            intended_ns: costs.intended_ns,
            refresh_hz: super::refresh_hz(),
            metrics,
        };
        self.count(&sample, frame)
    }

    fn count(&mut self, sample: &Sample, seen: &Finished) -> Option<ObservedFrame> {
        if !super::is_wanted() || !app_state::is_foreground() {
            return None;
        }
        self.follow_options();
        let end_ns = sample.intended_ns.saturating_add(sample.total_ns());
        let now_ms = end_ns / 1_000_000;
        overlay::frame(sample, now_ms);
        if is_enabled(Setting::Fps) && self.scene(sample.scene).cared {
            if let Some(report) = self.scenes.frame(sample, now_ms) {
                self.report(&report);
            }
            if is_enabled(Setting::OlderFps) {
                for report in self.matrix_04.frame(sample, now_ms) {
                    self.put(&report, false);
                }
            }
        }
        let costs = &seen.costs;
        let report_from = u32::try_from(number(Setting::TellDropped)).unwrap_or(u32::MAX);
        Some(ObservedFrame {
            scene: TextId(sample.scene),
            begun_ns: clock::to_monotonic(costs.begun_ns),
            total_ns: sample.total_ns(),
            stages: [Stage::Input, Stage::Animation, Stage::Traversal]
                .map(|stage| costs.stages[stage.index()]),
            latency_ns: seen.input.map(|input| input.latency(end_ns)),
            dropped: sample.dropped().whole(),
            report_dropped: report_from > 0 && sample.dropped().reaches(report_from, sample.interval_ns()),
        })
    }

    fn report(&self, report: &SceneReport) {
        self.put(report, API.load(Ordering::Relaxed) >= 24);
    }

    fn put(&self, report: &SceneReport, means: bool) {
        let known = self.known.iter().find(|scene| scene.id == report.scene);
        let scene = known.map_or("", |scene| scene.name.as_str());
        let api = API.load(Ordering::Relaxed);
        reports::report(&Issue::Fps { scene, report, means, api });
    }

    fn scene(&mut self, id: u32) -> &Scene {
        let at = match self.known.iter().position(|scene| scene.id == id) {
            Some(at) => at,
            None => {
                if self.known.len() == app_state::MAX_SCENES {
                    self.known.remove(0);
                }
                let name = app_state::name_of(TextId(id));
                let cared = self.rule.cares(&name);
                self.known.push(Scene { id, name, cared });
                self.known.len() - 1
            }
        };
        &self.known[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::frames::FINISHED;
    use std::sync::MutexGuard;
    use trace_format::time::MS;
    use trace_rules::frame::{InputEvents, interval_ns};

    /// The frames that main has ended are one queue: a test that takes from it runs alone.
    fn counting() -> (MutexGuard<'static, ()>, Counting) {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = lock(&ALONE);
        app_state::set_by_life_cycle(true);
        (alone, Counting::new())
    }

    /// What main recorded of a frame that took that long from its vsync, begun 1 ms after it.
    fn finished(intended_ns: u64, took_ns: u64) -> Finished {
        Finished {
            costs: FrameCosts {
                intended_ns,
                begun_ns: intended_ns + MS,
                ended_ns: intended_ns + took_ns,
                stages: [MS, 2 * MS, 0, took_ns - 5 * MS, MS],
                estimated: 0,
            },
            scene: 3,
            input: Some(InputEvents { intended: 0, oldest: intended_ns - 4 * MS, newest: intended_ns }),
        }
    }

    #[test]
    fn below_api_24_a_frame_is_counted_by_what_main_recorded() {
        let (_alone, mut counting) = counting();
        let observed = counting.of_main(&finished(1_000 * MS, 40 * MS)).unwrap();
        assert_eq!(
            (observed.scene, observed.total_ns, observed.stages),
            (TextId(3), 40 * MS, [MS, 2 * MS, 35 * MS])
        );
        assert_eq!((observed.latency_ns, observed.dropped), (Some(44 * MS), 1));
        assert_eq!(observed.begun_ns, clock::to_monotonic(1_001 * MS));
    }

    #[test]
    fn dropped_frames_are_exact_at_2_3_8_9_23_24_41_42_at_every_rate() {
        let (_alone, mut counting) = counting();
        for hz in [60.0f32, 90.0, 120.0] {
            super::super::set_refresh(hz);
            let interval = interval_ns(hz);
            for dropped in [2u32, 3, 8, 9, 23, 24, 41, 42] {
                let exact = u64::from(dropped + 1) * interval;
                for (took, expected) in [(exact - 1_000, dropped - 1), (exact, dropped)] {
                    let observed = counting.of_main(&finished(1_000 * MS, took)).unwrap();
                    assert_eq!(observed.dropped, expected, "{took} ns at {hz} Hz");
                }
            }
        }
        super::super::set_refresh(60.0);
    }

    #[test]
    fn frames_without_metrics_are_counted_in_order_by_what_main_recorded() {
        let (_alone, mut counting) = counting();
        let now = 5_000 * MS;
        for frame in 0..5 {
            FINISHED.push(&finished(now + frame * 100 * MS, 40 * MS));
        }
        let mut metrics = [0; METRICS];
        metrics[Metric::UnknownDelay as usize] = MS as i64;
        metrics[Metric::Total as usize] = 20 * MS as i64;
        let frame = |number: u64, lost: u32| Measured {
            metrics,
            intended: clock::to_monotonic(now + number * 100 * MS) as i64,
            lost,
            ..Measured::default()
        };
        counting.waiting.push_back((frame(0, 0), time::now()));
        // Three are missing in between: one of them belongs to another window, and never was this one's.
        counting.waiting.push_back((frame(4, 2), time::now()));
        let mut totals = Vec::new();
        while let Next::Counted(observed) = counting.next_measured() {
            let observed = observed.unwrap();
            totals.push((observed.begun_ns, observed.total_ns));
        }
        let begun = |number: u64| clock::to_monotonic(now + MS + number * 100 * MS);
        assert_eq!(
            totals,
            [(begun(0), 20 * MS), (begun(2), 40 * MS), (begun(3), 40 * MS), (begun(4), 20 * MS)]
        );
    }

    #[test]
    fn of_windows_drawn_for_one_vsync_the_longest_is_the_frame() {
        let (_alone, mut counting) = counting();
        let now = 5_000 * MS;
        let frame = |number: u64, total_ms: u64| {
            let mut metrics = [0; METRICS];
            metrics[Metric::Total as usize] = (total_ms * MS) as i64;
            let intended = clock::to_monotonic(now + number * 100 * MS) as i64;
            (Measured { metrics, intended, ..Measured::default() }, time::now())
        };
        // The page, a dialog and a menu; then the dialog alone; then metrics that come when the frame is counted.
        counting.waiting.extend([frame(0, 20), frame(0, 70), frame(0, 30), frame(1, 40), frame(2, 10)]);
        let mut totals = |late: Option<(Measured, u64)>| {
            counting.waiting.extend(late);
            let all = std::iter::from_fn(|| match counting.next_measured() {
                Next::Counted(observed) => Some(observed.map(|observed| observed.total_ns / MS)),
                _ => None,
            });
            all.collect::<Vec<_>>()
        };
        assert_eq!(totals(None), [Some(70), None, None, Some(40), Some(10)]);
        assert_eq!(totals(Some(frame(2, 90))), [None]);
    }

    #[test]
    fn the_systems_metrics_replace_estimates_and_find_their_frame_by_its_start() {
        let (_alone, mut counting) = counting();
        let now = 1_000 * MS;
        // Another frame is before it, of a window that is not tracked.
        FINISHED.push(&finished(now - 50 * MS, 10 * MS));
        FINISHED.push(&finished(now, 12 * MS));
        let mut metrics = [0; METRICS];
        for (part, ms) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1), (5, 1), (6, 6), (7, 2), (8, 20)] {
            metrics[part] = ms * MS as i64;
        }
        let frame = |intended: u64| Measured {
            metrics,
            intended: clock::to_monotonic(intended) as i64,
            ..Measured::default()
        };
        let observed = counting.measured(&frame(now), true).flatten().unwrap();
        assert_eq!((observed.total_ns, observed.stages), (20 * MS, [2 * MS, 3 * MS, 5 * MS]));
        // From the oldest event on, up to the end of the whole frame.
        let latency = observed.latency_ns.unwrap();
        assert!(latency.abs_diff(24 * MS) < MS, "{latency}");
        // A second window's part of the same vsync belongs to the same frame, which is counted once.
        assert_eq!(counting.measured(&frame(now), true), Some(None));
        // A later one, of which main has recorded nothing.
        assert_eq!(counting.measured(&frame(now + 100 * MS), true).flatten().unwrap().latency_ns, None);
        // Impossible metrics are not reported.
        let mut bad = frame(now + 200 * MS);
        bad.metrics[5] = -1;
        assert_eq!(counting.measured(&bad, true), Some(None));
    }
}
