//! The symbols of one library, from all of its files.

use std::path::PathBuf;
use std::sync::Arc;

use super::Named;
use super::breakpad::{self, SymbolFile};
use super::demangle::placed;
use super::elf::ElfFile;
use super::lines::Lines;
use super::minidebug;
use super::source::{Place, Source};
use super::table::Table;

/// Most files that are read for one library.
const MAX_FILES: usize = 8;

/// A library's symbols.
#[derive(Default)]
pub(super) struct Module {
    lines: Option<Lines>,
    breakpad: Option<SymbolFile>,
    table: Table,
    /// Addresses of its code; empty if unknown.
    code: Vec<(u64, u64)>,
    /// The files that were read.
    pub(super) files: Vec<PathBuf>,
    /// True if some of the DWARF was left out, because it took too much work.
    pub(super) gave_up: bool,
}

impl Module {
    /// Reads the files; `alternative` finds the file that a `.gnu_debugaltlink` names by build id.
    pub(super) fn load(
        id: &[u8],
        places: &[Place],
        alternative: &mut dyn FnMut(&[u8]) -> Vec<Place>,
    ) -> Self {
        let mut module = Self::default();
        for place in places.iter().take(MAX_FILES) {
            let Ok(mut source) = place.open() else { continue };
            let Ok(head) = source.head(8) else { continue };
            if head.starts_with(b"\x7fELF") {
                // The file may have been replaced since its build id was read.
                let Some(file) = ElfFile::open(source).filter(|file| file.build_id == id) else { continue };
                module.add(file, alternative);
            } else if head.starts_with(b"MODULE ") && module.breakpad.is_none() {
                let Ok(text) = source.part(0, source.len()) else { continue };
                module.breakpad = Some(SymbolFile::new(text));
            } else {
                continue;
            }
            module.files.push(place.path.clone());
        }
        module
    }

    /// Symbols in the text of a symbol file of Breakpad's.
    pub(super) fn of_breakpad(text: Arc<[u8]>) -> Option<Self> {
        breakpad::identity(&text[..text.len().min(1024)])?;
        Some(Self { breakpad: Some(SymbolFile::new(text)), ..Self::default() })
    }

    /// Symbols in the bytes of an ELF file.
    pub(super) fn of_elf(bytes: Vec<u8>) -> Option<Self> {
        let mut module = Self::default();
        module.add(ElfFile::open(Source::memory(bytes))?, &mut |_| Vec::new());
        Some(module)
    }

    fn add(&mut self, mut file: ElfFile, alternative: &mut dyn FnMut(&[u8]) -> Vec<Place>) {
        if self.lines.is_none() {
            let mut other = alternative_id(&mut file).and_then(|id| {
                alternative(&id).into_iter().find_map(|place| ElfFile::open(place.open().ok()?))
            });
            self.lines = Lines::of(&mut file, other.as_mut(), &mut self.gave_up);
        }
        self.table.add(&mut file);
        let packed = file.named(".gnu_debugdata").and_then(|section| minidebug::unpack(&section));
        if let Some(mut small) = packed.and_then(|bytes| ElfFile::open(Source::memory(bytes))) {
            self.table.add(&mut small);
        }
        if self.code.is_empty() {
            self.code = std::mem::take(&mut file.code);
        }
    }

    /// How much memory it uses, without what is read when it is asked.
    pub(super) fn bytes(&self) -> usize {
        let lines = self.lines.as_ref().map_or(0, |lines| lines.bytes);
        lines + self.breakpad.as_ref().map_or(0, SymbolFile::bytes) + self.table.bytes()
    }

    /// The functions at an address, innermost first.
    pub(super) fn at(&mut self, address: u64) -> Vec<Named> {
        // Functions that the linker dropped are still described, from address 0 on.
        let is_code =
            self.code.is_empty() || self.code.iter().any(|&(start, end)| (start..end).contains(&address));
        if !is_code {
            return Vec::new();
        }
        let mut frames = self.lines.as_ref().map(|lines| lines.at(address)).unwrap_or_default();
        self.gave_up |= self.lines.as_ref().is_some_and(Lines::gave_up);
        if frames.is_empty() || frames.iter().any(|frame| frame.function.is_empty()) {
            let other = self.breakpad.as_ref().map(|file| file.at(address)).unwrap_or_default();
            if !other.is_empty() {
                return other;
            }
        }
        match (frames.last_mut(), self.table.at(address)) {
            (None, Some(hit)) => {
                frames.push(Named {
                    function: placed(hit.name, hit.offset),
                    file: None,
                    line: 0,
                    inlined: false,
                });
            }
            (Some(last), Some(hit)) if says_more(hit.name, &last.function) => {
                last.function = placed(hit.name, hit.offset)
            }
            (Some(last), None) if last.function.is_empty() => {
                frames.pop();
                if let Some(last) = frames.last_mut() {
                    last.inlined = false;
                }
            }
            _ => {}
        }
        frames
    }
}

/// Whether a mangled symbol is the same function as DWARF's, with its namespace, class and parameters: DWARF leaves them out of functions
/// that only their own file knows.
fn says_more(symbol: &str, function: &str) -> bool {
    let base = function.split('<').next().unwrap_or_default().trim_start_matches('~');
    let part = format!("{}{base}", base.len());
    function.is_empty()
        || (symbol.starts_with("_Z") && (symbol.contains(&part) || function.starts_with("operator")))
}

/// The build id in `.gnu_debugaltlink`, behind the file's name.
fn alternative_id(file: &mut ElfFile) -> Option<Vec<u8>> {
    let link = file.named(".gnu_debugaltlink")?;
    let end = memchr::memchr(0, &link)?;
    Some(link[end + 1..].to_vec()).filter(|id| !id.is_empty() && id.len() <= 64)
}
