//! Names of native frames from symbols.

use std::path::PathBuf;

use super::model::Dump;

#[cfg(feature = "native-stacks")]
use {
    super::frame::Frame, super::model::Thread, super::native_frame::NativeFrame, crate::text::clean,
    trace_format::hex::unhex,
};

/// A library that has frames in a dump, and no symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingSymbols {
    /// Its path in the dump.
    pub path: String,
    /// Its build id in hexadecimal; empty if the dump does not state it.
    pub build_id: String,
    /// The number of its frames.
    pub frames: u64,
    /// Why there are no symbols, in words.
    pub why: String,
}

/// Symbols of native libraries: unstripped files, debug data, symbol files of Breakpad's.
#[derive(Debug)]
pub struct NativeSymbols {
    #[cfg(feature = "native-stacks")]
    symbols: native_stacks::Symbols,
}

#[cfg_attr(not(feature = "native-stacks"), allow(unused_variables))]
impl NativeSymbols {
    /// Symbols in these directories, the first one first: found by build id, or by the file's name where a dump states
    /// none. A build without the feature `native-stacks` has no reader for them.
    #[must_use]
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self {
            #[cfg(feature = "native-stacks")]
            symbols: native_stacks::Symbols::new(directories),
        }
    }

    /// Libraries of which no frame got a name, those with most frames first.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingSymbols> {
        #[cfg(feature = "native-stacks")]
        let missing = self.symbols.missing().into_iter().map(|missing| MissingSymbols {
            path: missing.path,
            build_id: missing.build_id,
            frames: missing.addresses,
            why: missing.why.to_string(),
        });
        #[cfg(not(feature = "native-stacks"))]
        let missing = std::iter::empty();
        missing.collect()
    }

    /// Returns sentences about files that were left out or could not be read.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        #[cfg(feature = "native-stacks")]
        return self.symbols.notes();
        #[cfg(not(feature = "native-stacks"))]
        Vec::new()
    }
}

#[cfg_attr(not(feature = "native-stacks"), allow(unused_variables))]
impl Dump {
    /// Names the native frames by their libraries' symbols: function, file and line; inlined functions become frames of their own. Frames
    /// without symbols stay as they are.
    pub fn name_native_frames(&mut self, symbols: &mut NativeSymbols) {
        #[cfg(feature = "native-stacks")]
        for thread in self.sections.iter_mut().flat_map(|section| &mut section.threads) {
            name_thread(thread, &mut symbols.symbols);
        }
    }
}

#[cfg(feature = "native-stacks")]
fn name_thread(thread: &mut Thread, symbols: &mut native_stacks::Symbols) {
    thread.expand_frames(|frame, frames| match frame {
        Frame::Native(native) if is_library(&native) => name_frame(native, symbols, frames),
        other => frames.push(other),
    });
}

/// Whether its code is in an ELF file that a linker wrote, rather than ART's compiler (`.oat`, `.odex`, generated code) or the kernel.
#[cfg(feature = "native-stacks")]
fn is_library(frame: &NativeFrame) -> bool {
    let generated = ['[', '<', '?'].iter().any(|first| frame.map.starts_with(*first))
        || ["/memfd:", "memfd:", "/dev/ashmem/"].iter().any(|start| frame.map.starts_with(start));
    let of_art =
        [".oat", ".odex", ".vdex", ".dex", ".art", ".jar"].iter().any(|end| frame.map.ends_with(end));
    !frame.map.is_empty() && !generated && !of_art
}

#[cfg(feature = "native-stacks")]
fn name_frame(native: NativeFrame, symbols: &mut native_stacks::Symbols, out: &mut Vec<Frame>) {
    let id = native.build_id.as_deref().and_then(unhex).unwrap_or_default();
    let map = native.map.trim_end_matches(" (deleted)");
    let named = symbols.name(&id, map, native.pc);
    if named.is_empty() {
        out.push(Frame::Native(native));
        return;
    }
    for name in named {
        // A symbol's text is as foreign as a dump's.
        let function = clean(&name.function).into_owned();
        let (symbol, offset) = match function.rsplit_once("+0x") {
            Some((symbol, offset)) => (symbol.to_owned(), u64::from_str_radix(offset, 16).ok()),
            None => (function, None),
        };
        out.push(Frame::Native(NativeFrame {
            symbol: Some(symbol),
            symbol_offset: offset,
            file: name.file.as_deref().map(|file| clean(file).into_owned()),
            line: Some(name.line).filter(|line| *line > 0),
            inlined: name.inlined,
            ..native.clone()
        }));
    }
}
