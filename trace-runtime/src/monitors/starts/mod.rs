//! App starts and pages. The life cycle and the system's messages feed [`trace_rules::startup`]; its
//! findings are recorded (a mark, and the section `Startup`) and reported.

pub(crate) mod lifecycle;

use std::sync::Mutex;

use trace_format::event::{Event, TextId};
use trace_format::section::SectionKind;
use trace_format::sections::startup::{Grade, StartKind as SectionStart, Startup};
use trace_format::time::MS;
use trace_rules::matrix_04::{Matrix04Start, Matrix04StartTimes};
use trace_rules::report::Issue;
use trace_rules::startup::{CreatedBy, Grades, Page, Start, StartConfig, StartKind, Starts};

use crate::files::worker;
use crate::memory::mark::Mark;
use crate::monitors::config::options::{self, Setting, Text};
use crate::monitors::stacks::calls;
use crate::monitors::{matrix_04, reports};
use crate::recorder::{self, Recorder};
use crate::unpoisoned::lock;
use crate::writing::events;
use crate::writing::events::record;

/// The most marks in main's record at which a start may have begun.
const MAX_PLACES: usize = 16;

/// A living activity.
struct Shown {
    activity: u64,
    created_ns: u64,
    drawn_ns: u64,
}

struct State {
    rule: Starts,
    begun_ns: u64,
    application_end_ns: u64,
    splash_end_ns: u64,
    /// Times and marks in main's record; the newest last.
    places: Vec<(u64, Mark)>,
    living: Vec<Shown>,
    splash: Vec<u32>,
    /// Whether a splash page has the focus.
    on_splash: bool,
    /// What Matrix 0.4's report of this process's start needs; `None` once it is reported.
    old: Option<OldTimes>,
}

#[derive(Clone, Copy, Default)]
struct OldTimes {
    first_created_ns: u64,
    splash_focus_ns: u64,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Activities whose windows have the focus. Two sources may report it: the instrumented class and the
/// window's callback.
static FOCUSED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Calls `of` with the state, if starts are enabled.
fn with<R>(of: impl FnOnce(&mut State) -> R) -> Option<R> {
    if !options::is_enabled(Setting::Startup) {
        return None;
    }
    let mut state = lock(&STATE);
    if state.is_none() {
        let begun_ns = Recorder::active()?.start_boottime();
        let config = config();
        *state = Some(State {
            splash: config.splash.clone(),
            rule: Starts::new(config, begun_ns),
            begun_ns,
            application_end_ns: 0,
            splash_end_ns: 0,
            places: vec![(begun_ns, Mark::FIRST)],
            living: Vec::new(),
            on_splash: false,
            old: Some(OldTimes::default()),
        });
    }
    state.as_mut().map(of)
}

fn classes(text: Text) -> Vec<u32> {
    let all = options::text(text);
    all.split(';').map(str::trim).filter(|name| !name.is_empty()).map(|name| recorder::text(name).0).collect()
}

fn config() -> StartConfig {
    StartConfig {
        splash: classes(Text::SplashActivities),
        end_pages: classes(Text::EndActivities),
        has_activity: options::is_enabled(Setting::HasActivity),
        cold_ms: options::number(Setting::ColdMs),
        warm_ms: options::number(Setting::WarmMs),
        drop_ms: options::number(Setting::PageMs),
        grades: Grades {
            cold_ms: options::number(Setting::GoodColdMs),
            hot_ms: options::number(Setting::GoodHotMs),
        },
    }
}

/// Applies changed options.
pub(crate) fn configure() {
    if let Some(state) = lock(&STATE).as_mut() {
        let config = config();
        config.splash.clone_into(&mut state.splash);
        state.rule.set_config(config);
    }
}

/// Handles a message of `ActivityThread.H` that begins on main. Returns whether the application's creation
/// ends with it.
pub(crate) fn message(what: i32, at_ns: u64) -> bool {
    let Some(created_by) = CreatedBy::from_message(what, true) else { return false };
    with(|state| {
        state.place(at_ns);
        let first = state.application_end_ns == 0;
        let start = state.rule.message(created_by, at_ns);
        if first {
            state.application_ends(at_ns);
        }
        if let Some(start) = start {
            state.report(&start, "", at_ns, 0);
        } else if first && !created_by.launches() {
            // Nothing is shown, perhaps ever: all there is to know of this start is known.
            state.section(kind_of(created_by), "", state.begun_ns, at_ns, 0, Grade::Unknown);
        }
        first
    })
    .unwrap_or(false)
}

/// Notes that an activity is created. Returns whether the application's creation ends with it, because no
/// message showed that before.
pub(crate) fn created(activity: u64, at_ns: u64) -> bool {
    with(|state| {
        state.place(at_ns);
        let first = state.application_end_ns == 0;
        if first {
            state.application_ends(at_ns);
        }
        state.rule.created(activity, at_ns);
        if let Some(old) = state.old.as_mut().filter(|old| old.first_created_ns == 0) {
            old.first_created_ns = at_ns;
        }
        state.living.retain(|shown| shown.activity != activity);
        state.living.push(Shown { activity, created_ns: at_ns, drawn_ns: 0 });
        first
    })
    .unwrap_or(false)
}

/// Notes that an activity is destroyed.
pub(crate) fn destroyed(activity: u64) {
    with(|state| {
        state.rule.destroyed(activity);
        state.living.retain(|shown| shown.activity != activity);
    });
    lock(&FOCUSED).retain(|focused| *focused != activity);
}

/// Notes that the activity is about to be drawn for the first time.
pub(crate) fn drawn(activity: u64, at_ns: u64) {
    with(|state| {
        if let Some(shown) = state.living.iter_mut().find(|shown| shown.activity == activity) {
            shown.drawn_ns = at_ns;
            mark(&["first draw"]);
        }
    });
}

/// Notes that the app went to the background.
pub(crate) fn to_back() {
    with(|state| state.rule.to_back());
}

/// Notes that the app comes to the foreground.
pub(crate) fn to_front(at_ns: u64) {
    with(|state| {
        state.place(at_ns);
        state.rule.to_front(at_ns);
    });
}

/// Records that an activity's window gained or lost focus. Two sources may report the same, and only a
/// change is recorded. On a JVM, where activities are not known otherwise, each is recorded. Returns whether it was a change.
pub(crate) fn focused(activity: u64, class: &str, gained: bool, at_ns: u64) -> bool {
    let known = crate::monitors::is_armed();
    if known {
        let mut focused = lock(&FOCUSED);
        if focused.contains(&activity) == gained {
            return false;
        }
        focused.retain(|focused| *focused != activity);
        if gained {
            focused.push(activity);
        }
    }
    events::focus(if class.is_empty() { TextId(0) } else { recorder::text(class) }, gained);
    if known {
        with(|state| state.focus(activity, class, gained, at_ns));
        if gained {
            matrix_04::focused(activity, class, at_ns);
        }
    }
    true
}

impl State {
    fn place(&mut self, at_ns: u64) {
        if let Some(mark) = recorder::mark_here() {
            if self.places.len() == MAX_PLACES {
                // The first is the process's begin, which is needed while that start is open.
                self.places.remove(1);
            }
            self.places.push((at_ns, mark));
        }
    }

    fn application_ends(&mut self, at_ns: u64) {
        self.application_end_ns = at_ns.max(1);
        mark(&["application created"]);
    }

    fn focus(&mut self, activity: u64, class: &str, gained: bool, at_ns: u64) {
        let id = recorder::text(class).0;
        if self.on_splash {
            self.on_splash = false;
            self.splash_end_ns = at_ns;
        } else if gained && self.splash_end_ns == 0 && self.splash.contains(&id) {
            self.on_splash = true;
        }
        if gained {
            self.old_focus(id, class, at_ns);
        }
        let (page, start) = self.rule.focus(activity, id, gained, at_ns);
        let drawn_ns = self.shown(activity).map_or(0, |shown| shown.drawn_ns);
        if let Some(page) = page {
            self.page(&page, activity, class, at_ns, drawn_ns);
        }
        if let Some(start) = start {
            self.report(&start, class, at_ns, drawn_ns);
        }
    }

    /// Matrix 0.4 reports one start per process, at the first focus of a page that is not a splash page.
    fn old_focus(&mut self, class_id: u32, class: &str, at_ns: u64) {
        let Some(old) = self.old.as_mut() else { return };
        if self.splash.contains(&class_id) {
            old.splash_focus_ns = at_ns;
            return;
        }
        let ms = |ns: u64| i64::try_from(ns / MS).unwrap_or(i64::MAX);
        let times = Matrix04StartTimes {
            application_begin: ms(self.begun_ns),
            application_end: ms(self.application_end_ns),
            first_create: ms(old.first_created_ns),
            splash_focus: ms(old.splash_focus_ns),
            focus: ms(at_ns),
        };
        self.old = None;
        if let Some(start) =
            Matrix04Start::from_times(&times).filter(|_| options::is_enabled(Setting::OlderStartup))
        {
            let scene = class.to_owned();
            worker::then(Box::new(move || {
                reports::report(&Issue::Matrix04Startup { start: &start, scene: &scene })
            }));
        }
    }

    fn shown(&self, activity: u64) -> Option<&Shown> {
        self.living.iter().find(|shown| shown.activity == activity)
    }

    fn page(&self, page: &Page, activity: u64, class: &str, at_ns: u64, drawn_ns: u64) {
        let created_ns = self.shown(activity).map_or(at_ns, |shown| shown.created_ns);
        // From the message that launched it, if that was seen.
        let begin_ns = page.launch_ms.map_or(created_ns, |ms| created_ns.min(at_ns.saturating_sub(ms * MS)));
        mark(&["page shown: ", class]);
        self.section(SectionStart::Page, class, begin_ns, at_ns, drawn_ns, Grade::Unknown);
    }

    /// Reports a complete start.
    fn report(&self, start: &Start, class: &str, at_ns: u64, drawn_ns: u64) {
        let grade = if start.bad { Grade::Bad } else { Grade::Good };
        let (kind, grade) = match start.kind {
            StartKind::Cold => (kind_of(start.created_by), grade),
            StartKind::Hot => (SectionStart::Hot, grade),
            StartKind::Warm => (SectionStart::Warm, Grade::Unknown),
        };
        // A service's or a receiver's start was reported when it was over.
        if start.created_by.launches() || class.is_empty() {
            let end_ns = if class.is_empty() { self.application_end_ns } else { at_ns };
            self.section(kind, class, start.slice_from_ns, end_ns, drawn_ns, grade);
        }
        let begin = self.places.iter().rev().find(|(place_ns, _)| *place_ns <= start.slice_from_ns);
        let begin = begin.map(|(_, mark)| *mark);
        let start = *start;
        worker::then(Box::new(move || report_start(&start, begin, at_ns)));
    }

    fn section(
        &self,
        kind: SectionStart,
        class: &str,
        begin_ns: u64,
        end_ns: u64,
        drawn_ns: u64,
        grade: Grade,
    ) {
        use SectionStart::{Cold, Receiver, Relaunch, Service};
        let first = matches!(kind, Cold | Service | Receiver | Relaunch);
        let known = |ns: u64| Some(ns).filter(|ns| *ns > 0);
        let start = Startup {
            kind,
            activity: class.to_owned(),
            begin: begin_ns,
            application_end: known(self.application_end_ns).filter(|_| first),
            end: end_ns,
            // A page that returns was drawn for the first time long before.
            first_draw: known(drawn_ns).filter(|drawn| *drawn >= begin_ns),
            splash_end: known(self.splash_end_ns).filter(|_| first),
            grade,
        };
        worker::append(SectionKind::Startup, start.encode());
    }
}

fn kind_of(created_by: CreatedBy) -> SectionStart {
    match created_by {
        CreatedBy::SERVICE => SectionStart::Service,
        CreatedBy::RECEIVER => SectionStart::Receiver,
        by if by.is_relaunch() => SectionStart::Relaunch,
        _ => SectionStart::Cold,
    }
}

/// Writes a mark to main's ring.
fn mark(parts: &[&str]) {
    record(&Event::Mark(recorder::text(&parts.concat())).encode());
}

/// Reports a start. On the worker.
fn report_start(start: &Start, begin: Option<Mark>, end_ns: u64) {
    reports::report(&Issue::Startup { start });
    if start.with_stack {
        let stack = calls::since(begin.as_ref(), start.slice_from_ns, end_ns);
        // A call may have begun before the start did.
        let cost_ms = start.cost_ms.max(u64::try_from(stack.cost_ms).unwrap_or(0));
        let start = Start { cost_ms, ..*start };
        reports::report(&Issue::StartupStack { start: &start, stack: &stack.text, key: &stack.key });
    }
}
