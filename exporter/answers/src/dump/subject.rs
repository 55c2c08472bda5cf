//! The subject of an ANR: why the system made a dump.

table! {
    /// What the system waited for.
    AnrKind -> &'static str {
        /// An input event was not taken or not finished.
        InputDispatching = "input_dispatching",
        /// The app has focus, but no window that accepts input.
        NoFocusedWindow = "no_focused_window",
        /// A broadcast receiver did not return.
        Broadcast = "broadcast",
        /// A service's onCreate, onStartCommand or onBind did not return.
        ExecutingService = "executing_service",
        /// A service was started in the foreground and did not call startForeground in time.
        StartForegroundService = "start_foreground_service",
        /// A foreground service ran longer than its type allows (including a short service).
        ForegroundServiceTimeout = "foreground_service_timeout",
        /// A content provider did not answer.
        ContentProvider = "content_provider",
        /// A job's onStartJob, onStopJob or binding.
        JobService = "job_service",
        /// The process did not start in time.
        ProcessStart = "process_start",
        /// The GPU hung.
        GpuHang = "gpu_hang",
        /// The app requested the dump.
        AppRequested = "app_requested",
        /// Something else.
        Other = "other",
    }
}

/// A parsed subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The system's text.
    pub text: String,
    /// What it waited for.
    pub kind: AnrKind,
    /// How long it had waited, in ms, if the subject states it.
    pub waited_ms: Option<u64>,
}

/// The first row whose text is contained in the subject, ignoring case, determines the kind. The texts are
/// those of InputDispatcher, ActiveServices, BroadcastQueue, JobServiceContext and AnrHelper.
const KINDS: [(AnrKind, &[&str]); 13] = [
    (AnrKind::NoFocusedWindow, &["does not have a focused window", "no window has focus"]),
    (AnrKind::GpuHang, &["gpu hang"]),
    (AnrKind::AppRequested, &["app requested: "]),
    (AnrKind::InputDispatching, &["input dispatching timed out", "input event dispatching timed out"]),
    (AnrKind::InputDispatching, &["keydispatchingtimedout"]),
    (AnrKind::StartForegroundService, &["startforegroundservice() did not then call"]),
    (AnrKind::ForegroundServiceTimeout, &["a foreground service of "]),
    (AnrKind::ExecutingService, &["executing service "]),
    (AnrKind::Broadcast, &["broadcast of "]),
    (AnrKind::ContentProvider, &["contentprovider not responding", "content provider"]),
    (AnrKind::JobService, &["no response to onstartjob", "no response to onstopjob"]),
    (AnrKind::JobService, &["timed out while trying to bind", "time-out while trying to bind"]),
    (AnrKind::ProcessStart, &["failed to complete startup"]),
];

impl Subject {
    /// Parses a subject: the text after `Subject: `, or ApplicationExitInfo's description.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        let row = KINDS.iter().find(|(_, parts)| parts.iter().any(|part| lower.contains(part)));
        let kind = row.map_or(AnrKind::Other, |(kind, _)| *kind);
        let waited = lower.find("waited ").and_then(|at| {
            let rest = &lower[at + 7..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            rest[digits..].starts_with("ms").then(|| rest[..digits].parse().ok())?
        });
        Self { text: text.to_owned(), kind, waited_ms: waited }
    }
}

impl AnrKind {
    /// The stable identifier in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_of_every_kind() {
        for (text, kind, waited) in [
            (
                "Input dispatching timed out (1 a.b/a.b.C (server) is not responding. Waited 5002ms for MotionEvent)",
                "input_dispatching",
                Some(5002),
            ),
            ("user request after error: Input dispatching timed out (x)", "input_dispatching", None),
            (
                "Input dispatching timed out (Application does not have a focused window).",
                "no_focused_window",
                None,
            ),
            ("keyDispatchingTimedOut", "input_dispatching", None),
            ("Broadcast of Intent { act=android.intent.action.TIME_TICK flg=0x50000114 }", "broadcast", None),
            ("executing service a.b/.C, waited 20001ms", "executing_service", Some(20001)),
            (
                "Context.startForegroundService() did not then call Service.startForeground(): x",
                "start_foreground_service",
                None,
            ),
            (
                "A foreground service of FOREGROUND_SERVICE_TYPE_SHORT_SERVICE did not stop within a timeout: x",
                "foreground_service_timeout",
                None,
            ),
            ("ContentProvider not responding", "content_provider", None),
            ("No response to onStopJob", "job_service", None),
            ("Process ProcessRecord{1 2:a.b/u0a1} failed to complete startup", "process_start", None),
            (
                "App requested: Buffer processing hung up due to stuck fence. Indicates GPU hang",
                "gpu_hang",
                None,
            ),
            ("App requested: my own", "app_requested", None),
            ("Waited ms", "other", None),
        ] {
            let subject = Subject::parse(text);
            assert_eq!((subject.kind.name(), subject.waited_ms), (kind, waited), "{text}");
        }
    }
}
