//! The component of the app that a message of main runs: as its record describes it, or else as main's stack shows it;
//! and how long the system lets it run.

use std::collections::HashSet;
use std::sync::Arc;

use answers::words::rounded;
use trace_format::sections::anr_snapshot::AnrSnapshot;
use trace_format::sections::component::{Component, ComponentCall};

use super::samples::Samples;
use super::unit::frame_name;
use ComponentCall as C;

/// Who calls a component: the start of the framework's class and method, and the methods that it calls. AOSP
/// frameworks/base, API 21 to 36: `ActivityThread.java`, `LoadedApk.java` (up to 25 `Args.run`, from 26 on a lambda in
/// `Args.getRunnable`), `JobService.java` (up to 25) and `JobServiceEngine.java`, `ContentProvider.java`,
/// `Instrumentation.java`.
const CALLS: &[(&str, Methods)] = &[
    ("android.app.ActivityThread.handleReceiver", &[("onReceive", C::Receiver)]),
    ("android.app.LoadedApk$ReceiverDispatcher$Args.", &[("onReceive", C::RegisteredReceiver)]),
    ("android.app.ActivityThread.handleCreateService", &[("onCreate", C::ServiceCreate)]),
    ("android.app.ActivityThread.handleServiceArgs", &[("onStartCommand", C::ServiceStart)]),
    (
        "android.app.ActivityThread.handleBindService",
        &[("onBind", C::ServiceBind), ("onRebind", C::ServiceBind)],
    ),
    ("android.app.ActivityThread.handleUnbindService", &[("onUnbind", C::ServiceUnbind)]),
    ("android.app.ActivityThread.handleStopService", &[("onDestroy", C::ServiceDestroy)]),
    ("android.app.job.JobServiceEngine$JobHandler.", JOBS),
    ("android.app.job.JobService$JobHandler.", JOBS),
    ("android.content.ContentProvider.attachInfo", &[("onCreate", C::ProviderCreate)]),
    ("android.app.Instrumentation.callApplicationOnCreate", &[("onCreate", C::ApplicationCreate)]),
];

/// The methods of a service for jobs.
const JOBS: Methods = &[("onStartJob", C::JobStart), ("onStopJob", C::JobStop)];

/// Methods of components, and what each means.
type Methods = &'static [(&'static str, ComponentCall)];

/// What the system asks for, in words: what the component is, and the method if it has several.
fn phrase(call: ComponentCall) -> (&'static str, Option<&'static str>) {
    match call {
        C::Receiver => ("receiver", None),
        C::RegisteredReceiver => ("receiver registered by the app", None),
        C::ServiceCreate => ("service", Some("onCreate")),
        C::ServiceStart => ("service", Some("onStartCommand")),
        C::ServiceBind => ("service", Some("onBind")),
        C::ServiceUnbind => ("service", Some("onUnbind")),
        C::ServiceDestroy => ("service", Some("onDestroy")),
        C::JobStart => ("job service", Some("onStartJob")),
        C::JobStop => ("job service", Some("onStopJob")),
        C::ProviderCreate => ("content provider", Some("onCreate")),
        C::ApplicationCreate => ("application", Some("onCreate")),
    }
}

/// How long the system lets a component run before an ANR, ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// In the foreground.
    pub foreground_ms: u64,
    /// In the background, if that differs.
    pub background_ms: Option<u64>,
    /// Whether the system waits up to twice as long for a process that gets too little CPU time.
    pub extends: bool,
}

/// The limits of AOSP; vendors multiply them on slow hardware (`Build.HW_TIMEOUT_MULTIPLIER`, from API 31 on).
///
/// * Broadcasts: `ActivityManagerService.java`, `BROADCAST_FG_TIMEOUT` and `BROADCAST_BG_TIMEOUT`, all levels; from 34 on
///   `BroadcastQueueModernImpl.java`, `deliveryTimeoutSoftLocked`, extends them.
/// * Services: `ActiveServices.java`, `SERVICE_TIMEOUT` and `SERVICE_BACKGROUND_TIMEOUT`, up to 33; from 34 on
///   `ActivityManagerConstants.java`, `DEFAULT_SERVICE_TIMEOUT` and `DEFAULT_SERVICE_BACKGROUND_TIMEOUT`, with the same
///   values.
///
/// * Jobs: `JobServiceContext.java`, `OP_TIMEOUT_MILLIS`, all levels; it is an ANR from 34 on.
///
/// Of the others none is known for certain: the system watches a provider only while another process waits for it.
fn limit(call: ComponentCall, sdk: Option<u32>) -> Option<Limit> {
    match call {
        C::Receiver | C::RegisteredReceiver => Some(Limit {
            foreground_ms: 10_000,
            background_ms: Some(60_000),
            extends: sdk.is_some_and(|sdk| sdk >= 34),
        }),
        C::ServiceCreate | C::ServiceStart | C::ServiceBind | C::ServiceUnbind | C::ServiceDestroy => {
            Some(Limit { foreground_ms: 20_000, background_ms: Some(200_000), extends: false })
        }
        C::JobStart | C::JobStop => Some(Limit { foreground_ms: 8_000, background_ms: None, extends: false }),
        C::ProviderCreate | C::ApplicationCreate => None,
    }
}

/// The component that a message of main runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MessageComponent {
    /// What the system asks for.
    pub call: ComponentCall,
    /// Its class. By a stack, the class that declares the method, which the component may have inherited.
    pub class: Arc<str>,
    /// Whether main's stack shows it, and not the message's record.
    pub by_stack: bool,
    /// Whether the broadcast is a foreground one, if known.
    pub foreground: Option<bool>,
    /// How long the message waited in main's queue, ns, if known.
    pub queued: Option<u64>,
    /// How long the system lets it run.
    pub limit: Option<Limit>,
}

impl MessageComponent {
    /// The component and its limit: `receiver a.B (foreground broadcast: the system allows 10 s; 6.1 s in main's queue,
    /// 2.2 s running)`; `ran`: how long it has run, ns.
    pub(crate) fn words(&self, ran: u64) -> String {
        let (what, method) = phrase(self.call);
        let method = method.map_or_else(String::new, |method| format!(", {method}"));
        let mut facts = Vec::new();
        if self.by_stack {
            facts.push("by main's stack".to_owned());
        }
        facts.extend(self.limit_words());
        let queued = self.queued.map_or_else(String::new, |ns| format!("{} in main's queue, ", rounded(ns)));
        facts.push(format!("{queued}{} running", rounded(ran)));
        format!("{what} {}{method} ({})", self.class, facts.join("; "))
    }

    /// The system's limit in words: both of them where foreground or background is unknown.
    pub(crate) fn limit_words(&self) -> Option<String> {
        let limit = self.limit?;
        let one = |ms: u64| {
            let more = match limit.extends {
                true => format!(", up to {} s if the process gets too little CPU time", 2 * ms / 1_000),
                false => String::new(),
            };
            format!("the system allows {} s{more}", ms / 1_000)
        };
        let fore = limit.foreground_ms;
        let Some(back) = limit.background_ms else { return Some(one(fore)) };
        let (fore_s, back_s) = (fore / 1_000, back / 1_000);
        let is_broadcast = matches!(self.call, ComponentCall::Receiver | ComponentCall::RegisteredReceiver);
        Some(match self.foreground {
            Some(true) => format!("foreground broadcast: {}", one(fore)),
            Some(false) => format!("background broadcast: {}", one(back)),
            None if is_broadcast => {
                format!(
                    "the system allows {fore_s} s for a foreground broadcast, {back_s} s for a background one"
                )
            }
            None => format!("the system allows {fore_s} s, or {back_s} s for a caller in the background"),
        })
    }
}

/// The components of a recording.
#[derive(Debug, Default)]
pub(crate) struct Components {
    /// By the time at which the message began.
    pub(super) recorded: Vec<Component>,
    /// By the time of the stack.
    by_stack: Vec<(u64, ComponentCall, Arc<str>)>,
}

impl Components {
    /// Sorts what was recorded, and adds what the stacks show.
    pub(super) fn complete(&mut self, samples: &Samples, snapshots: &[AnrSnapshot]) {
        self.recorded.sort_by_key(|component| component.since);
        let mut known: HashSet<Arc<str>> = HashSet::new();
        let mut shared = |class: &str| match known.get(class) {
            Some(known) => Arc::clone(known),
            None => {
                let class: Arc<str> = class.into();
                known.insert(Arc::clone(&class));
                class
            }
        };
        for (at, search) in samples.fold(Search::default(), Search::step) {
            self.by_stack.extend(search.found.map(|(call, class)| (at, call, shared(class))));
        }
        for snapshot in snapshots {
            let frames: Vec<&str> = snapshot.frames().collect();
            let search = frames.iter().rev().fold(Search::default(), |search, frame| search.step(frame));
            self.by_stack.extend(search.found.map(|(call, class)| (snapshot.at, call, shared(class))));
        }
        self.by_stack.sort_by_key(|(at, ..)| *at);
    }

    /// The component of the message that began at `since` and ended, or was last seen, at `until`.
    pub(crate) fn of_message(&self, since: u64, until: u64, sdk: Option<u32>) -> Option<MessageComponent> {
        let at = self.recorded.partition_point(|component| component.since < since);
        let recorded = self.recorded.get(at).filter(|component| component.since == since);
        let (call, class) = match recorded {
            Some(component) => (component.call, component.class.as_str().into()),
            None => {
                let at = self.by_stack.partition_point(|(at, ..)| *at < since);
                let (_, call, class) = self.by_stack.get(at).filter(|(at, ..)| *at <= until)?;
                (*call, Arc::clone(class))
            }
        };
        let queued_ms = recorded.and_then(|component| component.queued_ms);
        Some(MessageComponent {
            call,
            class,
            by_stack: recorded.is_none(),
            foreground: recorded.and_then(|component| component.foreground),
            queued: queued_ms.map(|ms| ms.saturating_mul(1_000_000)),
            limit: limit(call, sdk),
        })
    }

    /// Whether no component is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.recorded.is_empty() && self.by_stack.is_empty()
    }
}

/// The search for a component in a stack, from the outermost frame inwards.
#[derive(Clone, Copy, Default)]
struct Search<'s> {
    /// The framework calls one of these methods; of which class is not known yet.
    called: Option<Methods>,
    found: Option<(ComponentCall, &'s str)>,
}

impl<'s> Search<'s> {
    fn step(self, frame: &'s str) -> Self {
        if self.found.is_some() {
            return self;
        }
        let name = frame_name(frame);
        if name.starts_with("android.") {
            let row = CALLS.iter().find(|(caller, _)| name.starts_with(caller));
            return Self { called: row.map(|(_, methods)| *methods).or(self.called), found: None };
        }
        // The first frame that is not the framework's is the component's method, or else its class stays unknown.
        let found = self.called.zip(name.rsplit_once('.')).and_then(|(methods, (class, method))| {
            let (_, call) = methods.iter().find(|(known, _)| *known == method)?;
            Some((*call, class))
        });
        Self { called: None, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level and file, the frames as ART writes them, innermost first, and the component.
    type Case = (&'static str, &'static [&'static str], Option<(ComponentCall, &'static str)>);

    const STACKS: &[Case] = {
        &[
            (
                "21: ActivityThread.java, handleReceiver",
                &[
                    "java.lang.Thread.sleep(Native Method)",
                    "com.example.Push.onReceive(Push.java:7)",
                    "android.app.ActivityThread.handleReceiver(ActivityThread.java:2598)",
                    "android.app.ActivityThread.access$1700(ActivityThread.java:151)",
                    "android.app.ActivityThread$H.handleMessage(ActivityThread.java:1380)",
                    "android.os.Handler.dispatchMessage(Handler.java:102)",
                ],
                Some((C::Receiver, "com.example.Push")),
            ),
            (
                "23: LoadedApk.java, Args.run",
                &[
                    "com.example.Net.onReceive(Net.java:7)",
                    "android.app.LoadedApk$ReceiverDispatcher$Args.run(LoadedApk.java:881)",
                    "android.os.Handler.handleCallback(Handler.java:739)",
                ],
                Some((C::RegisteredReceiver, "com.example.Net")),
            ),
            (
                "28: LoadedApk.java, Args.getRunnable",
                &[
                    "com.example.Net.onReceive(Net.java:7)",
                    "android.app.LoadedApk$ReceiverDispatcher$Args.lambda$getRunnable$0(LoadedApk.java:1391)",
                    "android.app.-$$Lambda$LoadedApk$ReceiverDispatcher$Args$_BumDX2UKsnxLVrE6UJsJZkotuA.run(Unknown Source:2)",
                    "android.os.Handler.handleCallback(Handler.java:873)",
                ],
                Some((C::RegisteredReceiver, "com.example.Net")),
            ),
            (
                "34: JobServiceEngine.java",
                &[
                    "com.example.Sync.onStartJob(Sync.java:9)",
                    "android.app.job.JobService$1.onStartJob(JobService.java:106)",
                    "android.app.job.JobServiceEngine$JobHandler.handleMessage(JobServiceEngine.java:141)",
                    "android.os.Handler.dispatchMessage(Handler.java:106)",
                ],
                Some((C::JobStart, "com.example.Sync")),
            ),
            (
                "21: JobService.java",
                &[
                    "com.example.Sync.onStopJob(Sync.java:9)",
                    "android.app.job.JobService$JobHandler.handleMessage(JobService.java:112)",
                ],
                Some((C::JobStop, "com.example.Sync")),
            ),
            (
                "34: ContentProvider.java, called by installProvider in handleBindApplication",
                &[
                    "com.example.Start.onCreate(Start.java:9)",
                    "android.content.ContentProvider.attachInfo(ContentProvider.java:2531)",
                    "android.content.ContentProvider.attachInfo(ContentProvider.java:2500)",
                    "android.app.ActivityThread.installProvider(ActivityThread.java:7612)",
                ],
                Some((C::ProviderCreate, "com.example.Start")),
            ),
            (
                "34: Instrumentation.java",
                &[
                    "com.example.App.onCreate(App.java:9)",
                    "android.app.Instrumentation.callApplicationOnCreate(Instrumentation.java:1266)",
                ],
                Some((C::ApplicationCreate, "com.example.App")),
            ),
            (
                "34: Service.java, whose own onStartCommand is in the framework: the app's class is not shown",
                &[
                    "com.example.Old.onStart(Old.java:9)",
                    "android.app.Service.onStartCommand(Service.java:528)",
                    "android.app.ActivityThread.handleServiceArgs(ActivityThread.java:4882)",
                ],
                None,
            ),
            (
                "a receiver that is still created",
                &[
                    "com.example.Push.<clinit>(Push.java:3)",
                    "java.lang.Class.newInstance(Native Method)",
                    "android.app.ActivityThread.handleReceiver(ActivityThread.java:4500)",
                ],
                None,
            ),
            ("an app that calls its own receiver", &["com.example.Push.onReceive(Push.java:7)"], None),
        ]
    };

    #[test]
    fn the_component_is_the_apps_first_frame_that_the_framework_calls_for_it() {
        for (case, frames, wanted) in STACKS {
            let search = frames.iter().rev().fold(Search::default(), |search, frame| search.step(frame));
            assert_eq!(search.found, *wanted, "{case}");
        }
    }

    #[test]
    fn the_limit_is_that_of_the_kind_and_level_and_both_where_the_caller_is_unknown() {
        let words = |call, sdk, foreground: Option<bool>| {
            let (class, by_stack, queued) = ("a.B".into(), foreground.is_none(), None);
            let limit = limit(call, sdk);
            MessageComponent { call, class, by_stack, foreground, queued, limit }.limit_words()
        };
        for (call, sdk, foreground, wanted) in [
            (C::Receiver, Some(33), Some(true), Some("foreground broadcast: the system allows 10 s")),
            (C::Receiver, None, Some(false), Some("background broadcast: the system allows 60 s")),
            (
                C::Receiver,
                Some(34),
                Some(false),
                Some(
                    "background broadcast: the system allows 60 s, up to 120 s if the process gets too little CPU time",
                ),
            ),
            (
                C::RegisteredReceiver,
                Some(36),
                None,
                Some("the system allows 10 s for a foreground broadcast, 60 s for a background one"),
            ),
            (
                C::ServiceBind,
                Some(21),
                None,
                Some("the system allows 20 s, or 200 s for a caller in the background"),
            ),
            (C::JobStop, Some(30), None, Some("the system allows 8 s")),
            (C::ProviderCreate, Some(34), None, None),
        ] {
            assert_eq!(words(call, sdk, foreground).as_deref(), wanted, "{call} at {sdk:?}");
        }
    }

    #[test]
    fn the_record_of_a_message_counts_before_its_stacks() {
        let mut components = Components::default();
        for (since, class) in [(900, "a.Late"), (100, "a.Early")] {
            let call = ComponentCall::Receiver;
            let (class, foreground) = (class.to_owned(), Some(true));
            components.recorded.push(Component { since, call, class, foreground, queued_ms: Some(6_100) });
        }
        let mut samples = Samples::default();
        let stack = "b.Sync.onStartJob(S.java:1)\nandroid.app.job.JobServiceEngine$JobHandler.handleMessage(J.java:1)\n";
        for at in [150, 450] {
            assert_eq!(samples.add(&format!("@{at} 0\n{stack}")), 0);
        }
        components.complete(&samples, &[]);
        let of = |since, until| components.of_message(since, until, Some(34));
        let early = of(100, 200).unwrap();
        assert_eq!((&*early.class, early.by_stack, early.queued), ("a.Early", false, Some(6_100_000_000)));
        assert_eq!(
            early.words(2_200_000_000),
            "receiver a.Early (foreground broadcast: the system allows 10 s, up to 20 s if the process gets too \
             little CPU time; 6.1 s in main's queue, 2.2 s running)"
        );
        let job = of(400, 500).unwrap();
        assert_eq!((&*job.class, job.call, job.by_stack), ("b.Sync", ComponentCall::JobStart, true));
        assert_eq!(
            job.words(1_000_000_000),
            "job service b.Sync, onStartJob (by main's stack; the system allows 8 s; 1.0 s running)"
        );
        assert_eq!((of(500, 800), of(200, 449)), (None, None));
    }
}
