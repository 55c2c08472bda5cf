//! Writes native stacks: each a sample for flame graphs, and an instant that says why it was taken and why it ends.

use std::path::PathBuf;

use super::sink::{
    Arg, Cut, MAX_SHOWN_FRAMES, NativeCode, Sink, StackFrame, StackRow, TallySink, ThreadState, Value,
};
use super::thread::Shared;
use crate::native::{NativeStacks, ThreadStack, reason_word};
use crate::native_warnings::native_warnings;
use crate::{ExportError, Warning};

/// Maximum number of frames in an argument, from the innermost on.
const MAX_LISTED: usize = 24;
/// The source of frames that are in no file.
const GENERATED: &str = "[generated code]";
const JAVA: &str = "Java (within native stacks)";

/// Writes all native stacks of a recording.
pub(super) fn native_stacks<K: Sink>(
    shared: &Shared<'_>,
    symbols: &[PathBuf],
    warnings: &mut Vec<Warning>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let found =
        NativeStacks::of(shared.facts, &shared.names, symbols).map_err(ExportError::reading(shared.file))?;
    warnings.extend(native_warnings(shared.file, &found));
    out.tally.skipped += found.more;
    for stack in &found.all {
        let known = shared.process.threads.iter().find(|thread| thread.recorded_tid == stack.tid);
        let tid = match known {
            Some(known) if !out.sink.wants(known) => continue,
            Some(known) => known.tid,
            None if stack.tid > 0 && !shared.process.has_tid(stack.tid) => stack.tid,
            None => continue,
        };
        write(&found, stack, tid, stack.at.max(shared.start), out)?;
    }
    Ok(())
}

fn write<K: Sink>(
    all: &NativeStacks,
    stack: &ThreadStack,
    tid: u32,
    at: u64,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let shown = &stack.frames[..stack.frames.len().min(MAX_SHOWN_FRAMES)];
    let missing = format!("{} more frames", stack.frames.len() - shown.len());
    let titles: Vec<String> = shown.iter().map(|frame| frame.title()).collect();
    let mut frames = Vec::with_capacity(shown.len() + 1);
    if shown.len() < stack.frames.len() {
        frames.push(StackFrame { function: &missing, mapping: GENERATED, source: None, native: None });
    }
    for (frame, title) in shown.iter().zip(&titles).rev() {
        let place = frame.native.as_ref();
        let file = place.and_then(|place| all.mappings.get(place.mapping? as usize));
        frames.push(StackFrame {
            function: title,
            mapping: match (place, file) {
                (None, _) => JAVA,
                (Some(_), Some(file)) => &file.path,
                (Some(_), None) => GENERATED,
            },
            source: frame.source.as_ref().map(|(file, line)| (&**file, *line)),
            native: place.zip(file).map(|(place, file)| NativeCode { rel_pc: place.rel_pc, file }),
        });
    }
    let name = format!("native stack: {}", reason_word(stack.reason));
    let listed = titles.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(" < ");
    let call = stack.call_words();
    let texts = [
        ("reason", Some(reason_word(stack.reason))),
        ("doing", call.as_deref()),
        ("stack_ends", Some(&*stack.end).filter(|end| !end.is_empty())),
        ("stack", Some(&*listed).filter(|listed| !listed.is_empty())),
    ];
    let mut args: Vec<Arg<'_>> =
        texts.iter().filter_map(|(key, text)| Some(Arg::new(key, Value::Text((*text)?)))).collect();
    args.extend(stack.owner.map(|owner| Arg::new("mutex_owner_tid", Value::Uint(owner.into()))));
    if stack.approximate {
        args.push(Arg::new("java_frames_approximate", Value::Bool(true)));
    }
    let of_the_copy = ["KiB", "stack bytes", "copied"].iter().any(|word| stack.end.contains(word));
    let cut = if of_the_copy { Cut::Memory } else { Cut::UnwindData };
    out.stack(&StackRow {
        at,
        tid,
        name: None,
        frames: &frames,
        sampled: !frames.is_empty(),
        cut: (!stack.end.is_empty()).then_some(cut),
        state: Some(ThreadState { name: &name, args: &args }),
    })
}
