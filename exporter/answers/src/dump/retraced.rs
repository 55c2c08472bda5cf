//! Retraces a dump.

use crate::retrace::Mapping;

use super::frame::{Frame, JavaFrame, Place};
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
        if let Some(id) = self.r8_map_id().filter(|id| mapping.is_of(id) == Some(false)) {
            return Some(format!(
                "its frames are of the build with R8's map id {id}; the mapping is of a different build and was ignored"
            ));
        }
        self.retrace(mapping);
        None
    }

    /// The `r8-map-id-...` in the frames' source files, if any: R8 writes the mapping's hash there.
    #[must_use]
    pub fn r8_map_id(&self) -> Option<&str> {
        let threads = self.sections.iter().flat_map(|section| &section.threads);
        threads.flat_map(|thread| &thread.frames).find_map(|frame| match frame {
            Frame::Java(java) => java.place.file.as_ref()?.strip_prefix("r8-map-id-"),
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
    let mut outline: Option<u32> = None;
    thread.expand_frames(|frame, frames| match frame {
        Frame::Java(java) if mapping.is_outline(&java.class, &java.method) => {
            // Outlined code represents a place in its caller, which the caller's row has.
            outline = Some(java.place.line.unwrap_or(0));
        }
        Frame::Java(java) => retrace_java(java, outline.take(), mapping, frames),
        Frame::Native(mut native) => {
            if let Some(name) = native.symbol.as_deref().and_then(|symbol| method_name(symbol, mapping)) {
                native.symbol = Some(name);
            }
            frames.push(Frame::Native(native));
        }
        Frame::Kernel(kernel) => frames.push(Frame::Kernel(kernel)),
    });
}

fn retrace_java(java: JavaFrame, outline: Option<u32>, mapping: &Mapping, out: &mut Vec<Frame>) {
    let Place { file, line, native_method } = &java.place;
    let (file, line) = (file.as_deref(), *line);
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
            place: if *native_method {
                java.place.clone()
            } else {
                Place::in_file(&name.file(file), name.line)
            },
            repeated: if index == last { java.repeated } else { 0 },
            or: if index == last { std::mem::take(&mut or) } else { Vec::new() },
            inlined: index < last,
            synthesized: name.synthesized,
        }));
    }
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
