//! What a thread does, read from its stack: the first table row that matches one of the frames between the
//! innermost one and the app's own code.
//!
//! Frames further out only called the app. The order of the rows is the precedence: what was requested
//! (`QueuedWork.waitToFinish`) is more specific than how it waits (`CountDownLatch.await`, which parks).

mod frame_view;
mod tables;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trace_format::android::{MESSAGE_QUEUE, POLL_METHODS};

use super::id::CauseId;
use super::own::{is_own, is_own_library};
use crate::dump::StateKind;
use tables::{
    C_LIBRARIES, DUMP_FUNCTIONS, ENGINES, JAVA_METHODS, KERNEL_FUNCTIONS, MUTEX_FUNCTIONS, NATIVE_FUNCTIONS,
    STANDARD_FUNCTIONS, SYSTEM_CALLS,
};

pub(super) use frame_view::{ANY, Calls};
pub use frame_view::{FrameView, parts};

/// The activity of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// One of the causes.
    Of(CauseId),
    /// A thread of a binder pool that waits for a call.
    BinderPool,
    /// Running Java code.
    Java,
    /// State and stack do not show it.
    Unclear,
}

impl Activity {
    /// In words, for a lock's owner.
    pub fn words(self) -> &'static str {
        match self {
            Self::Of(cause) => cause.name(),
            Self::BinderPool => "waiting for binder calls",
            Self::Java => "running",
            Self::Unclear => "unclear",
        }
    }
}

/// Counts what several stacks show, most frequent first.
pub fn counted(stacks: impl Iterator<Item = Activity>) -> Vec<(Activity, u64)> {
    let mut counts: BTreeMap<Activity, u64> = BTreeMap::new();
    stacks.for_each(|activity| *counts.entry(activity).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

/// Maximum number of frames examined.
const MAX_FRAMES: usize = 128;
/// Number of innermost native frames that show how the thread waits.
const WAITING_FRAMES: usize = 6;

/// The engine that a frame belongs to.
pub(crate) fn engine(frame: FrameView<'_>) -> Option<&'static str> {
    let fits = |sign: &str| match frame {
        FrameView::Java { class, native, .. } => {
            native && !sign.starts_with("lib") && class.starts_with(sign)
        }
        FrameView::Native { library, .. } => {
            sign.starts_with("lib")
                && library.rsplit(['/', '!']).next().is_some_and(|name| name.starts_with(sign))
        }
        FrameView::Kernel(_) => false,
    };
    ENGINES.iter().find(|(_, signs)| signs.iter().any(|sign| fits(sign))).map(|(name, _)| *name)
}

/// Classifies a stack, innermost frame first, together with the VM's thread state if it is known.
pub fn classify<'a>(frames: impl Iterator<Item = FrameView<'a>>, state: &str) -> Activity {
    let inner = Inner::of(frames);
    if let Some(found) = by_state(state) {
        return found;
    }
    if inner.has_native(&["joinThreadPool"]) {
        return Activity::BinderPool;
    }
    match inner.named() {
        Some(cause) => Activity::Of(cause),
        None => inner.unnamed(state),
    }
}

/// The frames from the innermost one to the app's own code.
struct Inner<'a> {
    frames: Vec<FrameView<'a>>,
    /// The app's own frame behind them.
    own: Option<FrameView<'a>>,
    /// True if one of them is in a library of the app.
    library: bool,
}

impl<'a> Inner<'a> {
    fn of(frames: impl Iterator<Item = FrameView<'a>>) -> Self {
        let mut inner = Self { frames: Vec::new(), own: None, library: false };
        for frame in frames.take(MAX_FRAMES) {
            if let FrameView::Java { class, .. } = frame
                && is_own(class)
            {
                inner.own = Some(frame);
                break;
            }
            inner.library |= matches!(frame, FrameView::Native { library, .. } if is_own_library(library));
            inner.frames.push(frame);
        }
        inner
    }

    /// Functions with their libraries.
    fn natives(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.frames.iter().filter_map(|frame| match frame {
            FrameView::Native { symbol, library } => Some((*symbol, *library)),
            FrameView::Java { .. } | FrameView::Kernel(_) => None,
        })
    }

    fn has_native(&self, parts: &[&str]) -> bool {
        self.natives().any(|(symbol, _)| contains_one(symbol, parts))
    }

    /// True if only the dump stopped the thread.
    fn is_stopped(&self) -> bool {
        DUMP_FUNCTIONS.iter().any(|parts| self.has_native(parts))
    }

    fn java(&self) -> Option<FrameView<'a>> {
        self.frames.iter().find(|frame| matches!(frame, FrameView::Java { .. })).copied()
    }

    /// The cause that a row of the tables names.
    fn named(&self) -> Option<CauseId> {
        let inner = &self.frames[..];
        // Input and frames are dispatched from within the poll: main waits there only if the poll is the innermost
        // frame.
        let polls = self.java().is_some_and(is_poll);
        if let Some(cause) = in_java(inner) {
            // The kernel's function is more specific about file I/O than the call.
            let kernel = in_kernel(inner, &[CauseId::Fsync, CauseId::UninterruptibleIo]);
            let pipe = || reads_text_of_a_pipe(inner).then_some(CauseId::ConsoleRead);
            return kernel.or_else(pipe).filter(|_| cause == CauseId::DiskIo).or(Some(cause));
        }
        if !polls && inner.iter().chain(&self.own).any(|frame| engine(*frame).is_some()) {
            return Some(CauseId::NativeEngine);
        }
        let of_system = &[CauseId::Frozen, CauseId::MemoryPressure, CauseId::BinderCall];
        if let Some(cause) = in_kernel(inner, of_system) {
            return Some(cause);
        }
        let found =
            NATIVE_FUNCTIONS.iter().find(|(_, parts)| self.has_native(parts)).map(|(cause, _)| *cause);
        if let Some(cause) = found.filter(|cause| polls || !matches!(cause, CauseId::Input | CauseId::Vsync))
        {
            return Some(cause);
        }
        if polls {
            return Some(if self.is_stopped() { CauseId::StoppedByDump } else { CauseId::Idle });
        }
        in_kernel(inner, &[CauseId::Fsync, CauseId::NetworkIo]).or_else(|| in_call(inner))
    }

    /// Of a stack that no row names: Java code, native code, or a stop by the dump, by the thread's state.
    fn unnamed(&self, state: &str) -> Activity {
        let has_native = self.natives().next().is_some();
        // Only among the functions that main is in, not among its callers.
        let art = self.natives().take(WAITING_FRAMES).any(|(symbol, library)| {
            symbol.contains("art::") || symbol.starts_with("_ZN3art") || library.ends_with("libart.so")
        });
        let locks =
            |(symbol, _): (&str, &str)| MUTEX_FUNCTIONS.iter().any(|parts| contains_one(symbol, parts));
        if !art && self.natives().take(WAITING_FRAMES).any(locks) {
            return Activity::Of(CauseId::NativeLock);
        }
        let kind = StateKind::from(state);
        let runs = matches!(kind, StateKind::Running | StateKind::Suspended);
        let stopped = self.is_stopped();
        let is_native = kind == StateKind::Native;
        match self.java().or(self.own) {
            None if has_native && stopped && runs => Activity::Of(CauseId::StoppedByDump),
            None if self.natives().next().is_some_and(|(symbol, _)| symbol.contains("epoll_")) => {
                Activity::Of(CauseId::Idle)
            }
            // A system call without a known reason.
            None if self.natives().all(|(_, library)| library.ends_with("libc.so")) => Activity::Unclear,
            None => Activity::Of(CauseId::NativeCode),
            // Returned from native code, where the dump stopped it.
            Some(_) if stopped => Activity::Java,
            Some(_) if (self.library || has_native && !art) && (is_native || has_native) => {
                Activity::Of(CauseId::NativeCode)
            }
            // Methods of the JDK that compute, as Inflater.inflate does: the rows above name those that wait.
            Some(FrameView::Java { native: true, class, .. })
                if state.starts_with("RUNNABLE")
                    && ["java.", "jdk.", "sun."].iter().any(|of| class.starts_with(of)) =>
            {
                Activity::Java
            }
            // ART runs short native methods of the platform without leaving `Runnable`.
            Some(FrameView::Java { native: true, .. }) if state != "Runnable" => {
                Activity::Of(CauseId::NativeCode)
            }
            Some(_) if is_native => Activity::Unclear,
            _ => Activity::Java,
        }
    }
}

/// Thread states that alone show what the thread does.
fn by_state(state: &str) -> Option<Activity> {
    let found = match StateKind::from(state) {
        StateKind::Blocked => CauseId::LockWait,
        StateKind::Gc => CauseId::Gc,
        StateKind::ClassLoading => CauseId::ClassLoading,
        _ => return None,
    };
    Some(Activity::Of(found))
}

/// Returns true if a frame is the main queue's poll for its next message.
pub(crate) fn is_poll(frame: FrameView<'_>) -> bool {
    matches!(frame, FrameView::Java { class: MESSAGE_QUEUE, method, .. } if POLL_METHODS.contains(&method))
}

fn in_java(inner: &[FrameView<'_>]) -> Option<CauseId> {
    let row = JAVA_METHODS.iter().find(|(_, calls)| inner.iter().any(|frame| frame.is_one_of(calls)));
    row.map(|(cause, _)| *cause)
}

/// True if HotSpot reads text through the buffer that `System.in` and another program's output have: who reads a file as text
/// has none there. A file that is read does not block for long.
fn reads_text_of_a_pipe(inner: &[FrameView<'_>]) -> bool {
    let has = |of: &str, name: &str| {
        inner.iter().any(|frame| matches!(frame, FrameView::Java { class, method, .. } if *class == of && method.starts_with(name)))
    };
    has("java.io.FileInputStream", "readBytes")
        && has("java.io.BufferedInputStream", "")
        && has("sun.nio.cs.StreamDecoder", "read")
}

fn in_kernel(inner: &[FrameView<'_>], wanted: &[CauseId]) -> Option<CauseId> {
    let has = |parts: &[&str]| {
        inner.iter().any(|frame| matches!(frame, FrameView::Kernel(symbol) if contains_one(symbol, parts)))
    };
    KERNEL_FUNCTIONS
        .iter()
        .filter(|(cause, _)| wanted.contains(cause))
        .find(|(_, parts)| has(parts))
        .map(|(cause, _)| *cause)
}

/// Returns true if the kernel frames are an uninterruptible wait for a disk.
pub(crate) fn is_uninterruptible<'a>(frames: impl Iterator<Item = FrameView<'a>>) -> bool {
    let inner: Vec<_> =
        frames.take(MAX_FRAMES).take_while(|frame| !matches!(frame, FrameView::Java { .. })).collect();
    in_kernel(&inner, &[CauseId::UninterruptibleIo]).is_some()
}

fn in_call(inner: &[FrameView<'_>]) -> Option<CauseId> {
    let called = |names: &[&str]| {
        inner
            .iter()
            .take(WAITING_FRAMES)
            .any(|frame| matches!(frame, FrameView::Native { symbol, .. } if names.contains(symbol)))
    };
    SYSTEM_CALLS.iter().find(|(_, names)| called(names)).map(|(cause, _)| *cause)
}

fn contains_one(symbol: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| symbol.contains(part))
}

/// Returns true if a native frame belongs to the C library, the standard library, the dynamic linker or the vDSO, which only
/// carry out what their caller asks.
pub fn is_stub(frame: FrameView<'_>) -> bool {
    let FrameView::Native { symbol, library } = frame else { return false };
    let file = library.rsplit(['/', '!']).next().unwrap_or_default();
    let starts =
        |text: &str, of: &[&[&str]]| of.iter().copied().flatten().any(|start| text.starts_with(start));
    starts(file, C_LIBRARIES) || starts(symbol, STANDARD_FUNCTIONS)
}

/// `IPackageManager.getPackageInfo`, where a frame is the client's side of an interface that the AIDL compiler made.
pub fn remote_call<'a>(frames: impl Iterator<Item = FrameView<'a>>) -> Option<String> {
    frames.take(MAX_FRAMES).find_map(|frame| match frame {
        FrameView::Java { class, method, .. } => {
            let interface = class.strip_suffix("$Stub$Proxy")?;
            let interface = interface.rsplit('.').next().unwrap_or(interface);
            Some(format!("{interface}.{method}"))
        }
        _ => None,
    })
}
