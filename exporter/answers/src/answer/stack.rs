//! Stacks as the answer shows them, independent of their source.

use serde::{Serialize, Serializer};

use super::activity::{FrameView, parts};
use super::exceptions::maker;
use super::own::{is_own, is_own_library};
use crate::dump::{Frame, LockKind, LockLine, Thread, java_frame};

/// Maximum number of frames of a stack in an answer and in a report's JSON, from the innermost on.
pub const MAX_STACK_FRAMES: usize = 512;

/// A place in the code.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Place"))]
pub struct Site {
    /// Class and method, or the function.
    pub name: String,
    /// The source file, if known.
    pub file: Option<String>,
    /// The line, from 1, if known.
    pub line: Option<u32>,
    /// True if the line is the method's first: a recorded call has no line of its own.
    pub line_is_first: bool,
}

impl Site {
    /// A place of which the name alone is known.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// `a.b.C.d (C.java:7)`; with the method's first line, `a.b.C.d (C.java, from line 5)`.
    #[must_use]
    pub fn title(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) if self.line_is_first => {
                format!("{} ({file}, from line {line})", self.name)
            }
            (Some(file), Some(line)) => format!("{} ({file}:{line})", self.name),
            (Some(file), None) => format!("{} ({file})", self.name),
            (None, _) => self.name.clone(),
        }
    }
}

/// A place in a file of native code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NativePlace"))]
pub struct NativeLine {
    /// The file's name, without its directories; empty if unknown.
    pub library: String,
    /// The file's build id in hexadecimal; empty if unknown.
    pub build_id: String,
    /// The address in the numbering of the file, in hexadecimal.
    #[serde(serialize_with = "serialize_hexadecimal")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub rel_pc: u64,
    /// True if the function was inlined into that of the next frame.
    pub inlined: bool,
}

fn serialize_hexadecimal<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{address:#x}"))
}

/// A frame of a stack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StackFrame"))]
pub struct StackLine {
    /// Class and method, or the native function, and its place.
    #[serde(flatten)]
    pub site: Site,
    /// True for the app's own code.
    pub own: bool,
    /// In a stack from samples, the number of samples with this frame.
    pub samples: Option<u64>,
    /// In a stack from recorded calls, the time for which the call was open.
    pub open_ns: Option<u64>,
    /// The place in native code, if it is a frame of a native stack.
    pub native: Option<NativeLine>,
}

/// Serializes a stack, without what is too far out.
pub(super) fn serialize_stack<S: Serializer>(lines: &[StackLine], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines.iter().take(MAX_STACK_FRAMES))
}

impl StackLine {
    /// A place in the code, without samples or times.
    #[must_use]
    pub fn new(name: String, file: Option<String>, line: Option<u32>) -> Self {
        let own = is_own(parts(&name).0);
        let site = Site { name, file, line, line_is_first: false };
        Self { site, own, samples: None, open_ns: None, native: None }
    }

    /// A recorded method, wait or message; `source` has the file and first line of a method.
    pub fn recorded(name: &str, source: Option<(&str, u32)>, open_ns: u64) -> Self {
        let file = source.map(|(file, _)| file).filter(|file| !file.is_empty()).map(str::to_owned);
        let line = source.map(|(_, line)| line).filter(|line| *line > 0 && file.is_some());
        let mut recorded = Self { open_ns: Some(open_ns), ..Self::new(name.to_owned(), file, line) };
        recorded.site.line_is_first = line.is_some();
        recorded
    }

    /// A line as Java's `StackTraceElement` writes it.
    pub fn sampled(text: &str, samples: Option<u64>) -> Self {
        let line = match java_frame(text) {
            Some(java) => Self::dumped(&Frame::Java(java)),
            None => Self::new(text.split('(').next().unwrap_or_default().to_owned(), None, None),
        };
        Self { samples, ..line }
    }

    /// A frame of a dump.
    pub(crate) fn dumped(frame: &Frame) -> Self {
        match frame {
            Frame::Java(java) => {
                let name = format!("{}.{}", java.class, java.method);
                Self::new(name, java.place.file.clone(), java.place.line)
            }
            Frame::Native(native) => {
                let name = match &native.symbol {
                    Some(symbol) => symbol.clone(),
                    None => format!("{}+{:#x}", native.library(), native.pc),
                };
                let file = native.file_name().map(str::to_owned);
                // Without a line of its source, the place to change is the app's own method that called into it.
                let own = native.line.is_some() && is_own_library(&native.map);
                Self { own, ..Self::new(name, file, native.line) }
            }
            Frame::Kernel(kernel) => Self { own: false, ..Self::new(kernel.symbol.clone(), None, None) },
        }
    }
}

/// The stack of a dumped thread.
pub(super) fn of_thread(thread: &Thread) -> Vec<StackLine> {
    thread.frames.iter().take(MAX_STACK_FRAMES).map(StackLine::dumped).collect()
}

/// The class of the object that a frame's method is called of, where the lock that it holds names it: a buffer may belong to
/// another program's output.
fn receiver<'t>(thread: &'t Thread, at: usize, class: &str) -> Option<&'t str> {
    let is_of_frame = |lock: &&LockLine| lock.kind == LockKind::Locked && lock.frame == Some(at);
    let lock = || thread.locks.iter().find(is_of_frame)?.class.as_deref();
    (class == "java.io.BufferedInputStream").then(lock)?
}

/// The frames of a dumped thread, for classification.
pub fn seen(thread: &Thread) -> impl Iterator<Item = FrameView<'_>> {
    thread.frames.iter().enumerate().map(|(at, frame)| match frame {
        Frame::Java(java) => {
            let class = receiver(thread, at, &java.class).unwrap_or(&java.class);
            FrameView::Java { class, method: &java.method, native: java.place.native_method }
        }
        Frame::Native(native) => {
            FrameView::Native { symbol: native.symbol.as_deref().unwrap_or_default(), library: &native.map }
        }
        Frame::Kernel(kernel) => FrameView::Kernel(&kernel.symbol),
    })
}

/// The root: the innermost frame in the app's own code, which is not the constructor of an exception that it makes.
pub fn root(stack: &[StackLine]) -> Option<Site> {
    let maker = maker(stack.iter().map(|line| line.site.name.as_str()));
    let is_root = |line: &&StackLine| line.own && maker.is_none_or(|maker| line.site.name == maker);
    stack.iter().find(is_root).map(|line| line.site.clone())
}
