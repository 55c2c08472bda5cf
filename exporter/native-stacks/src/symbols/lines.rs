//! Functions, inlined functions, files and lines from DWARF.

use std::sync::Arc;

use gimli::{EndianArcSlice, RunTimeEndian, SectionId};

use super::demangle::{demangle, shortened};
use super::effort::{Effort, Reader};
use super::elf::ElfFile;
use super::{MAX_INLINED, Named};

/// The DWARF of a file.
pub(super) struct Lines {
    context: addr2line::Context<Reader>,
    effort: Effort,
    /// How much memory its sections use.
    pub(super) bytes: usize,
}

impl Lines {
    /// Reads the sections; `alternative` is the file that `.gnu_debugaltlink` names (dwz), if there is one. `None` without `.debug_info`,
    /// or if it is damaged; `gave_up` is set if reading took too much work.
    pub(super) fn of(
        file: &mut ElfFile,
        alternative: Option<&mut ElfFile>,
        gave_up: &mut bool,
    ) -> Option<Self> {
        file.section(".debug_info")?;
        let mut bytes = 0;
        let length = file.len() + alternative.as_ref().map_or(0, |other| other.len());
        let mut dwarf = gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(section(file, id, &mut bytes))).ok()?;
        if let Some(file) = alternative {
            dwarf.load_sup(|id| Ok::<_, gimli::Error>(section(file, id, &mut bytes))).ok()?;
        }
        let effort = Effort::of(length);
        let context = effort.spend(|| addr2line::Context::from_dwarf(dwarf));
        *gave_up |= effort.gave_up();
        let context = context.ok()?;
        Some(Self { context, effort, bytes })
    }

    /// The functions at an address, innermost first. The last one has no name if DWARF does not know it.
    pub(super) fn at(&self, address: u64) -> Vec<Named> {
        self.effort.spend(|| self.frames(address))
    }

    /// Returns true if some of it was left out, because it took too much work.
    pub(super) fn gave_up(&self) -> bool {
        self.effort.gave_up()
    }

    fn frames(&self, address: u64) -> Vec<Named> {
        let mut named = Vec::new();
        // addr2line asks for the range up to the next address.
        if address == u64::MAX {
            return named;
        }
        // Split DWARF, in files of its own, is left out.
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else { return named };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let (file, line) = frame.location.map_or((None, None), |location| (location.file, location.line));
            if named.len() == MAX_INLINED {
                break;
            }
            named.push(Named {
                function: name.map(|name| demangle(&name)).unwrap_or_default(),
                file: file.map(shortened),
                line: line.unwrap_or(0),
                inlined: true,
            });
        }
        if let Some(last) = named.last_mut() {
            last.inlined = false;
        }
        named
    }
}

fn section(file: &mut ElfFile, id: SectionId, read: &mut usize) -> Reader {
    let endian = if file.little_endian { RunTimeEndian::Little } else { RunTimeEndian::Big };
    // Only what names and lines need.
    let needed = matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    );
    let bytes = if needed { file.named(id.name()) } else { None };
    let bytes = bytes.unwrap_or_else(|| Arc::from([]));
    *read += bytes.len();
    Reader(EndianArcSlice::new(bytes, endian))
}
