//! What a thread dump says of main.

use crate::dump::{Dump, Frame, LockGraph, Place, Section, SectionKind, Thread};
use crate::report::place::{Doing, doing, is_own};

/// Kernel and native functions of a binder call that waits for its answer.
const BINDER: &[&str] = &["binder_ioctl", "binder_thread_read", "waitForResponse"];

/// Frames of the kernel and of native code that are looked at for them.
const INNERMOST: usize = 8;

/// Main, in a dump.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Dumped {
    /// Its state, as the dump has it.
    pub(super) state: String,
    pub(super) doing: Option<Doing>,
    /// The innermost Java method, and the innermost of the app's own.
    pub(super) top: Option<String>,
    pub(super) own: Option<String>,
    /// The innermost native function or library.
    pub(super) native: Option<String>,
    /// The class of the lock that it waits for, and who holds it, with what that one does.
    pub(super) lock: Option<(Option<String>, Option<String>)>,
    /// The names of the threads of a dead-lock that main is in, or waits for.
    pub(super) deadlock: Vec<String>,
    /// The freezer holds it.
    pub(super) frozen: bool,
    /// Heap: percent free.
    pub(super) heap_free: Option<u64>,
}

impl Dumped {
    /// Of the section that tells most of the process; nothing if none tells of its main thread.
    pub(super) fn of(dump: &Dump, pid: Option<u32>) -> Option<Self> {
        let own = |section: &&Section| pid.is_none() || section.pid.is_none() || section.pid == pid;
        let threads = || dump.sections.iter().filter(own).filter(|s| s.kind == SectionKind::Threads);
        let frozen = dump.sections.iter().filter(own).any(|section| {
            let main = |channel: &&crate::dump::WaitChannel| Some(channel.sys_tid) == section.pid;
            section.channels.iter().find(main).is_some_and(|c| c.channel.contains("freezer"))
        });
        // Of an app rather than of a native service, which has no state: a system's dump holds both.
        let app = |s: &&Section| s.main().is_some_and(|main| main.state.is_some());
        let section = threads().find(app).or_else(|| threads().find(|s| s.main().is_some()));
        let Some((section, main)) = section.and_then(|s| Some((s, s.main()?))) else {
            return frozen.then(|| Self { frozen, ..Self::default() });
        };
        let mut found = Self { frozen: frozen || kernel(main, &["freezer"]), ..Self::of_thread(main) };
        found.heap_free =
            section.facts.iter().chain(&dump.facts).find(|fact| fact.key == "heap_free_percent").and_then(
                |fact| match &fact.value {
                    crate::dump::FactValue::Number(n) => Some(*n),
                    crate::dump::FactValue::Text(_) => None,
                },
            );
        found.locks(section, main);
        Some(found)
    }

    fn of_thread(main: &Thread) -> Self {
        let java = || main.frames.iter().filter_map(|f| if let Frame::Java(j) = f { Some(j) } else { None });
        let name = |class: &str, method: &str| format!("{class}.{method}");
        let native_frame = main.frames.iter().find_map(|frame| match frame {
            Frame::Native(native) => Some(native),
            _ => None,
        });
        let native = native_frame
            .map(|native| native.symbol.clone().unwrap_or_else(|| native.library().to_owned()))
            .or_else(|| {
                main.frames.iter().find_map(|frame| match frame {
                    Frame::Kernel(kernel) => Some(kernel.symbol.clone()),
                    _ => None,
                })
            });
        let state = main.state.clone().unwrap_or_default();
        let in_native = state.eq_ignore_ascii_case("native");
        let top = java().next();
        let doing = if kernel(main, BINDER) {
            Some(Doing::Binder)
        } else {
            match top {
                Some(top) => {
                    let native =
                        in_native || top.place == Place::Native && !state.eq_ignore_ascii_case("runnable");
                    // `Object.wait!` is how some dumps mark that ART waits there.
                    Some(doing(&top.class, &top.method, native))
                }
                None if native.is_some() => Some(Doing::Native),
                None => None,
            }
        };
        Self {
            doing,
            top: top.map(|f| name(&f.class, &f.method)),
            own: java().find(|f| is_own(&f.class)).map(|f| name(&f.class, &f.method)),
            native,
            state,
            ..Self::default()
        }
    }

    fn locks(&mut self, section: &Section, main: &Thread) {
        let graph = LockGraph::of(section);
        let named = |tid: u32| {
            let thread = section.thread(tid);
            thread.and_then(|t| t.name.clone()).unwrap_or_else(|| format!("tid {tid}"))
        };
        if let Some(wanted) = main.wanted().filter(|_| self.blocked()) {
            let holder = main.tid.and_then(|tid| graph.edge_from(tid)).map(|edge| {
                let does = section.thread(edge.to).map(Self::of_thread).and_then(|d| d.own.or(d.top));
                match does {
                    Some(method) => format!("\"{}\", which was in {method}", named(edge.to)),
                    None => format!("\"{}\"", named(edge.to)),
                }
            });
            self.lock = Some((wanted.class.clone(), holder));
        } else if self.blocked() {
            self.lock = Some((None, None));
        }
        let reached: Vec<u32> = main
            .tid
            .map(|tid| graph.chain(tid, 64).iter().map(|edge| edge.to).chain([tid]).collect())
            .unwrap_or_default();
        if let Some(cycle) =
            graph.deadlocks.iter().find(|cycle| cycle.iter().any(|tid| reached.contains(tid)))
        {
            self.deadlock = cycle.iter().map(|tid| named(*tid)).collect();
        }
    }

    /// Whether main waits to enter a monitor: `Blocked` of ART, `MONITOR` of Dalvik.
    pub(super) fn blocked(&self) -> bool {
        self.state.eq_ignore_ascii_case("blocked") || self.state.eq_ignore_ascii_case("monitor")
    }

    /// Whether main could run, or was stopped only for the dump.
    pub(super) fn runnable(&self) -> bool {
        ["runnable", "suspended"].iter().any(|state| self.state.eq_ignore_ascii_case(state))
    }

    /// Whether main waits for the collector.
    pub(super) fn for_gc(&self) -> bool {
        self.state.starts_with("WaitingForGc") || self.state.starts_with("WaitingPerformingGc")
    }
}

/// Whether one of the innermost frames is of these functions: further out they only say who called.
fn kernel(thread: &Thread, functions: &[&str]) -> bool {
    thread.frames.iter().take(INNERMOST).any(|frame| {
        let symbol = match frame {
            Frame::Kernel(kernel) => Some(&kernel.symbol),
            Frame::Native(native) => native.symbol.as_ref(),
            Frame::Java(_) => None,
        };
        symbol.is_some_and(|symbol| functions.iter().any(|function| symbol.contains(function)))
    })
}
