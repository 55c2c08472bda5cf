//! The reports, one by one.

use super::envelope::Envelope;
use super::json::JsonObject;
use crate::frame::{Level, Metric, SceneReport};
use crate::matrix_04::Matrix04Start;
use crate::startup::{Start, StartKind};

/// The kind of a lag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LagKind {
    /// A message.
    Message,
    /// An idle handler.
    IdleHandler,
    /// A touch event.
    Touch,
}

/// Memory in KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The Java heap in use.
    pub dalvik_heap: u64,
    /// The native heap in use.
    pub native_heap: u64,
    /// The address space (VmSize).
    pub vm_size: u64,
}

/// The process's priority and nice value, fields 18 and 19 of its `stat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Priority {
    /// `processPriority`
    pub priority: i32,
    /// `processNice`
    pub nice: i32,
}

/// A page's views, in Matrix 0.4's reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OldView<'a> {
    /// The deepest nesting, the root being 1.
    pub depth: u32,
    /// Views that are not GONE.
    pub count: u32,
    /// The activity's class.
    pub activity: &'a str,
}

/// The details of Matrix 0.4's reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matrix04Method<'a> {
    /// A slow page.
    Enter(OldView<'a>),
    /// A full buffer.
    Full,
}

/// A report. Texts are as the report has them; `stack` and `key` come from [`crate::stack`], `thread_stack` from
/// [`super::thread_stack`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Issue<'a> {
    /// A scene's frames (`Trace_FPS`).
    Fps {
        /// The scene's name.
        scene: &'a str,
        /// Its figures.
        report: &'a SceneReport,
        /// Whether the means of the frame's parts are in it (Matrix from 2.1, API 24).
        means: bool,
        /// The system's API level: the GPU's part is there from 31 on.
        api: u32,
    },
    /// A slow message (`NORMAL`).
    SlowMessage {
        /// How long, ms.
        cost_ms: i64,
        /// Where.
        scene: &'a str,
        /// The lines.
        stack: &'a str,
        /// Its key.
        key: &'a str,
    },
    /// A message that did not end for 5 s (`ANR`).
    Anr {
        /// How long, ms.
        cost_ms: i64,
        /// Where.
        scene: &'a str,
        /// The lines.
        stack: &'a str,
        /// Its key.
        key: &'a str,
        /// Main's Java stack.
        thread_stack: &'a str,
        /// Whether the app was in the foreground.
        foreground: bool,
        /// Its priority.
        priority: Priority,
        /// Its memory.
        memory: Memory,
    },
    /// Something that took 2 s (`LAG`, `LAG_IDLE_HANDLER`, `LAG_TOUCH`).
    Lag {
        /// What.
        kind: LagKind,
        /// Where.
        scene: &'a str,
        /// Main's Java stack.
        thread_stack: &'a str,
        /// Whether the app was in the foreground.
        foreground: bool,
    },
    /// An ANR by its signal (`SIGNAL_ANR`).
    SignalAnr {
        /// Where.
        scene: &'a str,
        /// Main's Java stack.
        thread_stack: &'a str,
        /// Whether the app was in the foreground.
        foreground: bool,
    },
    /// The stack of a slow start (`STARTUP`).
    StartupStack {
        /// The start.
        start: &'a Start,
        /// The lines.
        stack: &'a str,
        /// Its key.
        key: &'a str,
    },
    /// Main's priority was changed (`PRIORITY_MODIFIED`).
    PriorityModified {
        /// Who did it.
        thread_stack: &'a str,
        /// The new value.
        priority: i32,
    },
    /// Main's timer slack was raised (`TIMERSLACK_MODIFIED`).
    TimerSlackModified {
        /// Who did it.
        thread_stack: &'a str,
        /// The new value, ns.
        slack_ns: u64,
    },
    /// A start (`Trace_StartUp`).
    Startup {
        /// The start.
        start: &'a Start,
    },
    /// A start, as Matrix 0.4 reports it.
    Matrix04Startup {
        /// The numbers.
        start: &'a Matrix04Start,
        /// The page.
        scene: &'a str,
    },
    /// A slow method, as Matrix 0.4 reports it.
    Matrix04Method {
        /// Which.
        kind: Matrix04Method<'a>,
        /// How long, ms.
        cost_ms: i64,
        /// The lines.
        stack: &'a str,
        /// Its key.
        key: &'a str,
    },
}

impl Issue<'_> {
    /// Its tag.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Issue::Fps { .. } => "Trace_FPS",
            Issue::Startup { .. } | Issue::Matrix04Startup { .. } => "Trace_StartUp",
            _ => "Trace_EvilMethod",
        }
    }

    /// Its detail, if it has one.
    #[must_use]
    pub fn detail(&self) -> Option<&'static str> {
        Some(match self {
            Issue::Fps { .. } | Issue::Startup { .. } | Issue::Matrix04Startup { .. } => return None,
            Issue::SlowMessage { .. } => "NORMAL",
            Issue::Anr { .. } => "ANR",
            Issue::Lag { kind: LagKind::Message, .. } => "LAG",
            Issue::Lag { kind: LagKind::IdleHandler, .. } => "LAG_IDLE_HANDLER",
            Issue::Lag { kind: LagKind::Touch, .. } => "LAG_TOUCH",
            Issue::SignalAnr { .. } => "SIGNAL_ANR",
            Issue::StartupStack { .. } => "STARTUP",
            Issue::PriorityModified { .. } => "PRIORITY_MODIFIED",
            Issue::TimerSlackModified { .. } => "TIMERSLACK_MODIFIED",
            Issue::Matrix04Method { kind: Matrix04Method::Enter(_), .. } => "ENTER",
            Issue::Matrix04Method { kind: Matrix04Method::Full, .. } => "FULL",
        })
    }

    /// The report: the device, its own keys, and the envelope behind them.
    #[must_use]
    pub fn to_json(&self, envelope: &Envelope<'_>) -> String {
        let mut out = JsonObject::new();
        envelope.device.put(&mut out);
        if let Some(detail) = self.detail() {
            out.text("detail", detail);
        }
        self.put(&mut out);
        envelope.put(&mut out, self.tag());
        out.end()
    }

    fn put(&self, out: &mut JsonObject) {
        match *self {
            Issue::Fps { scene, report, means, api } => put_fps(out, scene, report, means, api),
            Issue::SlowMessage { cost_ms, scene, stack, key } => {
                out.plain("cost", cost_ms).text("scene", scene).text("stack", stack).text("stackKey", key);
            }
            Issue::Anr { cost_ms, scene, stack, key, thread_stack, foreground, priority, memory } => {
                let mut sizes = JsonObject::new();
                sizes
                    .plain("dalvik_heap", memory.dalvik_heap)
                    .plain("native_heap", memory.native_heap)
                    .plain("vm_size", memory.vm_size);
                out.plain("cost", cost_ms).text("stackKey", key).text("scene", scene).text("stack", stack);
                out.text("threadStack", thread_stack)
                    .plain("processPriority", priority.priority)
                    .plain("processNice", priority.nice)
                    .plain("isProcessForeground", foreground)
                    .object("memory", sizes);
            }
            Issue::Lag { scene, thread_stack, foreground, .. }
            | Issue::SignalAnr { scene, thread_stack, foreground, .. } => {
                out.text("scene", scene)
                    .text("threadStack", thread_stack)
                    .plain("isProcessForeground", foreground);
            }
            Issue::StartupStack { start, stack, key } => {
                let warm = start.kind != StartKind::Cold;
                out.plain("cost", start.cost_ms).text("stack", stack).text("stackKey", key);
                out.plain("subType", if warm { 2 } else { 1 });
            }
            Issue::PriorityModified { thread_stack, priority } => {
                out.text("threadStack", thread_stack).plain("processPriority", priority);
            }
            Issue::TimerSlackModified { thread_stack, slack_ns } => {
                out.text("threadStack", thread_stack).plain("processTimerSlack", slack_ns);
            }
            Issue::Startup { start } => {
                out.plain("application_create", start.application_ms)
                    .plain("application_create_scene", start.created_by.0)
                    .plain("first_activity_create", start.first_screen_ms)
                    .plain("startup_duration", start.cost_ms)
                    .plain("is_warm_start_up", start.kind != StartKind::Cold);
            }
            Issue::Matrix04Startup { start, scene } => {
                out.plain("application_create", start.application)
                    .plain("stage_between_app_and_activity", start.between)
                    .plain("first_activity_create", start.activity)
                    .plain("startup_duration", start.all)
                    .plain("splash_activity_duration", start.splash)
                    .plain("is_warm_start_up", start.warm)
                    .text("scene", scene);
            }
            Issue::Matrix04Method { kind, cost_ms, stack, key } => {
                out.plain("subType", -1).plain("cost", cost_ms).text("stack", stack).text("stackKey", key);
                if let Matrix04Method::Enter(view) = kind {
                    let mut info = JsonObject::new();
                    info.plain("viewDeep", view.depth)
                        .plain("viewCount", view.count)
                        .text("activity", view.activity);
                    out.object("viewInfo", info);
                }
            }
        }
    }
}

fn put_fps(out: &mut JsonObject, scene: &str, report: &SceneReport, means: bool, api: u32) {
    let by_level = |values: &[u32; 5]| {
        let mut object = JsonObject::new();
        for (key, value) in Level::KEYS.into_iter().zip(values) {
            object.plain(key, value);
        }
        object
    };
    out.text("scene", scene)
        .object("dropLevel", by_level(&report.counts.frames))
        .object("dropSum", by_level(&report.counts.dropped))
        .fraction("fps", report.centi_fps.into(), 2);
    if !means {
        return;
    }
    for (at, key) in Metric::KEYS.into_iter().enumerate() {
        if at != Metric::Gpu as usize || api >= 31 {
            out.plain(key, report.metrics[at]);
        }
    }
    out.plain("DROP_COUNT", (report.dropped_thousandths + 500) / 1_000);
    out.plain("REFRESH_RATE", report.refresh_hz.round() as u64);
}
