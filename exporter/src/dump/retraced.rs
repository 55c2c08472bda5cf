//! Retraces a dump.

use crate::retrace::{FrameName, Mapping};

use super::frame::{Frame, JavaFrame, Place};
use super::limits;
use super::model::{Dump, Thread};

impl Dump {
    /// Replaces the names in frames, lock lines and long running methods by the original ones from before
    /// ProGuard or R8. Native frames whose symbol is a Java method (compiled code) are renamed too, without
    /// lines.
    pub fn retrace(&mut self, mapping: &Mapping) {
        for section in &mut self.sections {
            for thread in &mut section.threads {
                retrace_thread(thread, mapping);
            }
            for run in section.long_methods.iter_mut().flat_map(|long| &mut long.runs) {
                if let Some(name) = method_name(&run.method, mapping) {
                    run.method = name;
                }
            }
        }
    }

    /// [Retraces](Self::retrace), unless the mapping is of another build; then the dump is unchanged, and the result says so.
    #[must_use]
    pub fn retrace_of_build(&mut self, mapping: &Mapping) -> Option<String> {
        match self.r8_map_id().filter(|id| mapping.is_of(id) == Some(false)).map(str::to_owned) {
            Some(id) => Some(format!(
                "its frames are of the build with R8's map id {id}; the mapping is of a different build and was ignored"
            )),
            None => {
                self.retrace(mapping);
                None
            }
        }
    }

    /// The `r8-map-id-...` in the frames' source files, if any: R8 writes the mapping's hash there.
    #[must_use]
    pub fn r8_map_id(&self) -> Option<&str> {
        let threads = self.sections.iter().flat_map(|section| &section.threads);
        threads.flat_map(|thread| &thread.frames).find_map(|frame| match frame {
            Frame::Java(JavaFrame { place: Place::Source { file, .. }, .. }) => {
                file.strip_prefix("r8-map-id-")
            }
            _ => None,
        })
    }
}

fn retrace_thread(thread: &mut Thread, mapping: &Mapping) {
    for lock in &mut thread.locks {
        if let Some(class) = &mut lock.class {
            *class = object_class(class, mapping);
        }
    }
    let old = std::mem::take(&mut thread.frames);
    // Index of the last new frame for each old one: lock lines are below it.
    let mut places = Vec::with_capacity(old.len());
    let mut outline: Option<u32> = None;
    for frame in old {
        match frame {
            Frame::Java(java) => {
                let line = match java.place {
                    Place::Source { line, .. } => line,
                    Place::Native | Place::Unknown => None,
                };
                if mapping.is_outline(&java.class, &java.method) {
                    // Outlined code represents a place in its caller, which the caller's row has.
                    outline = Some(line.unwrap_or(0));
                } else {
                    let place = outline.take();
                    retrace_java(java, line, place, mapping, &mut thread.frames);
                }
            }
            Frame::Native(mut native) => {
                if let Some(name) = native.symbol.as_deref().and_then(|symbol| method_name(symbol, mapping)) {
                    native.symbol = Some(name);
                }
                thread.frames.push(Frame::Native(native));
            }
            Frame::Kernel(kernel) => thread.frames.push(Frame::Kernel(kernel)),
        }
        // Each frame can expand to many.
        thread.cut_frames += thread.frames.len().saturating_sub(limits::FRAMES) as u64;
        thread.frames.truncate(limits::FRAMES);
        places.push(thread.frames.len().checked_sub(1));
    }
    for lock in &mut thread.locks {
        lock.frame = lock.frame.and_then(|frame| *places.get(frame)?);
    }
}

fn retrace_java(
    java: JavaFrame,
    line: Option<u32>,
    outline: Option<u32>,
    mapping: &Mapping,
    out: &mut Vec<Frame>,
) {
    let file = match &java.place {
        Place::Source { file, .. } => Some(file.as_str()),
        Place::Native | Place::Unknown => None,
    };
    let found = mapping.frame(&java.class, &java.method, line, outline);
    let Some((first, others)) = found.split_first() else {
        out.push(Frame::Java(java));
        return;
    };
    // The alternatives, by the method that contains the code.
    let or = others.iter().filter_map(|frames| frames.last()).map(|name| match name.line {
        Some(line) => format!("{}.{}({}:{line})", name.class, name.method, name.file(file)),
        None => format!("{}.{}", name.class, name.method),
    });
    let mut or: Vec<String> = or.collect();
    or.extend(java.or.iter().map(|name| method_name(name, mapping).unwrap_or_else(|| name.clone())));
    let last = first.len().saturating_sub(1);
    for (index, name) in first.iter().enumerate() {
        out.push(Frame::Java(JavaFrame {
            class: name.class.clone(),
            method: name.method.clone(),
            place: place(name, file, &java.place),
            repeated: if index == last { java.repeated } else { 0 },
            or: if index == last { std::mem::take(&mut or) } else { Vec::new() },
            inlined: index < last,
            synthesized: name.synthesized,
        }));
    }
}

fn place(name: &FrameName, file: Option<&str>, old: &Place) -> Place {
    if *old == Place::Native {
        return Place::Native;
    }
    Place::Source { file: name.file(file), line: name.line }
}

/// `a.b.c` as the original name of that method, without a line.
fn method_name(name: &str, mapping: &Mapping) -> Option<String> {
    let (class, method) = name.rsplit_once('.')?;
    let found = mapping.frame(class, method, None, None);
    let first = found.first()?.last()?;
    Some(format!("{}.{}", first.class, first.method))
}

/// A lock's class, which may be the monitor of a class, `java.lang.Class<a.b>`, or an array, `a.b[]`.
fn object_class(class: &str, mapping: &Mapping) -> String {
    if let Some(of) = class.strip_prefix("java.lang.Class<").and_then(|rest| rest.strip_suffix('>')) {
        return format!("java.lang.Class<{}>", object_class(of, mapping));
    }
    let base = class.trim_end_matches("[]");
    mapping.class(base).map_or_else(|| class.to_owned(), |name| format!("{name}{}", &class[base.len()..]))
}
