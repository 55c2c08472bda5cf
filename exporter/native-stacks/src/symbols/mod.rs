//! Names for addresses in ELF files.
//!
//! A library is known by its build id. Its symbols come from the files in the given directories that have this build id: unstripped
//! libraries and files of debug data (`.so`, `.so.dbg`, `.build-id/ab/cdef.debug`), libraries stored in an APK, and symbol files of
//! Breakpad's. If none has it, they come from the file at the library's own path, if that is the same build. In a file, names come from
//! DWARF, `.symtab`, `.dynsym` and `.gnu_debugdata`.
//!
//! ```text
//! build id -> index -> files -> module: lines (DWARF) | breakpad | table (.symtab, .dynsym, .gnu_debugdata)
//!                                       -> functions, innermost first -> demangle
//! ```
//! What is read is bounded: 200,000 files of the directories, 8 files of a library, 64 times the length of a file and 2 GiB of a section,
//! 64 MiB of `.gnu_debugdata`. So is the work on DWARF (`effort`).

mod apk;
mod breakpad;
mod demangle;
mod effort;
mod elf;
mod index;
mod lines;
mod minidebug;
mod module;
mod source;
mod table;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trace_format::hex::{hex, unhex};
use trace_format::sections::native_frames::{FrameKind, MAX_FRAMES, NativeFrame, NativeFrames};
use trace_format::sections::native_modules::Mapping;

use crate::unwind::Files;

use elf::ElfFile;
use index::Index;
use module::Module;
use source::Place;

/// Most functions that are inlined into each other at one address.
const MAX_INLINED: usize = 256;
/// How much memory the symbols of libraries may use, in bytes, before those read so far are dropped.
const MAX_BYTES: usize = 2 << 30;
/// Most addresses whose names are remembered, and most bytes of their names: an address may have 256 functions of 4 KiB each.
const MAX_REMEMBERED: usize = 100_000;
const MAX_REMEMBERED_BYTES: usize = 64 << 20;
/// Most libraries that [`Symbols::missing`] lists.
const MAX_LISTED: usize = 10_000;
/// Where a system keeps the debug data of its own libraries.
const SYSTEM_DEBUG: &str = "/usr/lib/debug";

/// A function at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The function, demangled; with `+0x1c` if its length is not known.
    pub function: String,
    /// Its source file, if known.
    pub file: Option<String>,
    /// The line, 0 if unknown.
    pub line: u32,
    /// Whether it was inlined into the next one.
    pub inlined: bool,
}

impl Named {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.function.len() + self.file.as_ref().map_or(0, String::len)
    }
}

/// A library without names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Its build id in hexadecimal; empty if unknown.
    pub build_id: String,
    /// Its path.
    pub path: String,
    /// How many addresses in it were asked for.
    pub addresses: u64,
    /// Why there are no names.
    pub why: Why,
}

/// Why a library has no names.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Why {
    /// No file has its build id.
    NoFile,
    /// A file has its name, but it is of another build.
    OtherBuild {
        /// The file.
        file: PathBuf,
        /// Its build id in hexadecimal; empty without one.
        build_id: String,
    },
    /// Its build id is unknown, and files of different builds have its name.
    Ambiguous,
    /// Its file has no symbols for the addresses.
    NoSymbols(PathBuf),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("no file with this build id"),
            Self::OtherBuild { file, build_id } if build_id.is_empty() => {
                write!(f, "{} has no build id", file.display())
            }
            Self::OtherBuild { file, build_id } => {
                write!(f, "{} is of another build ({build_id})", file.display())
            }
            Self::Ambiguous => {
                f.write_str("its build id is unknown, and files of different builds have its name")
            }
            Self::NoSymbols(file) => write!(f, "{} is stripped", file.display()),
        }
    }
}

/// A library, as it was asked for: build id and path.
type Key = (Vec<u8>, String);

/// What is known of a library.
#[derive(Default)]
struct Asked {
    addresses: u64,
    named: u64,
    why: Option<Why>,
}

/// Symbols in directories and in the files of this system.
#[derive(Default)]
pub struct Symbols {
    directories: Vec<PathBuf>,
    /// Made when a build id is asked for that no `.build-id` tree has.
    index: Option<Index>,
    modules: HashMap<Key, Module>,
    bytes: usize,
    names: HashMap<(Key, u64), Vec<Named>>,
    name_bytes: usize,
    asked: BTreeMap<Key, Asked>,
    /// Libraries some of whose DWARF was left out, and the file that has it.
    gave_up: BTreeMap<Key, PathBuf>,
    elfs: HashMap<Key, Option<Arc<[u8]>>>,
    elf_bytes: usize,
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("directories", &self.directories).finish_non_exhaustive()
    }
}

impl Symbols {
    /// Symbols in these directories, the first one first; then those in the files at their own paths, if their build id agrees. A file
    /// may stand for a directory.
    #[must_use]
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, ..Self::default() }
    }

    /// The functions at an address in a file's own numbering, the innermost first: all but the last are inlined. Empty if unknown.
    pub fn name(&mut self, build_id: &[u8], path: &str, rel_pc: u64) -> Vec<Named> {
        let key = (build_id.to_vec(), path.to_owned());
        let known = (key, rel_pc);
        let names = match self.names.get(&known) {
            Some(names) => names.clone(),
            None => {
                let module = self.module(&known.0);
                let names = module.at(rel_pc);
                let file = module.gave_up.then(|| module.files.first().cloned().unwrap_or_default());
                if let Some(file) = file
                    && self.gave_up.len() < MAX_LISTED
                {
                    self.gave_up.insert(known.0.clone(), file);
                }
                self.name_bytes += path.len() + names.iter().map(Named::bytes).sum::<usize>();
                if self.names.len() >= MAX_REMEMBERED || self.name_bytes > MAX_REMEMBERED_BYTES {
                    self.names.clear();
                    self.name_bytes = 0;
                }
                self.names.insert(known.clone(), names.clone());
                names
            }
        };
        if self.asked.len() < MAX_LISTED || self.asked.contains_key(&known.0) {
            let asked = self.asked.entry(known.0).or_default();
            asked.addresses += 1;
            asked.named += u64::from(!names.is_empty());
        }
        names
    }

    /// Names the frames of a device that lacked the symbols.
    pub fn rename(&mut self, frames: &mut NativeFrames) {
        // An offset shows that only exported functions were known there.
        let is_vague = |frame: &NativeFrame| frame.function.is_empty() || frame.function.contains("+0x");
        let mut renamed = Vec::with_capacity(frames.frames.len());
        for frame in frames.frames.drain(..) {
            let names = match unhex(&frame.build_id).filter(|id| !id.is_empty()) {
                Some(id) if is_vague(&frame) && frame.kind == FrameKind::Native => {
                    self.name(&id, &frame.path, frame.rel_pc)
                }
                _ => Vec::new(),
            };
            renamed.extend(named(frame, names));
        }
        renamed.truncate(MAX_FRAMES);
        frames.frames = renamed;
    }

    /// Libraries of which no address got a name, those with most addresses first.
    #[must_use]
    pub fn missing(&self) -> Vec<Missing> {
        let without = self.asked.iter().filter(|(_, asked)| asked.named == 0);
        let mut missing: Vec<Missing> = without
            .map(|((id, path), asked)| Missing {
                build_id: hex(id),
                path: path.clone(),
                addresses: asked.addresses,
                why: asked.why.clone().unwrap_or(Why::NoFile),
            })
            .collect();
        missing.sort_by_key(|missing| std::cmp::Reverse(missing.addresses));
        missing
    }

    /// Returns sentences about files that were left out or could not be read.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let of_index = self.index.iter().flat_map(|index| &index.notes).cloned();
        let of_files = self
            .gave_up
            .values()
            .map(|file| format!("{}: some of its DWARF is too much work, and is not read", file.display()));
        of_index.chain(of_files).collect()
    }

    fn module(&mut self, key: &Key) -> &mut Module {
        if !self.modules.contains_key(key) {
            let (places, mut why) = self.places(key);
            let mut id = key.0.clone();
            if id.is_empty() {
                // Found by its name.
                id = places.first().and_then(index::build_id).unwrap_or_default();
            }
            let directories = self.directories.clone();
            let module = Module::load(&id, &places, &mut |id| {
                let trees = directories.iter().map(PathBuf::as_path).chain([Path::new(SYSTEM_DEBUG)]);
                // dwz moves common debug data to files of their own, in a tree of debug data.
                let mut found: Vec<_> = trees.flat_map(|tree| index::in_tree(tree, id)).collect();
                if found.is_empty() {
                    found = self.index().with_id(id);
                }
                found
            });
            if why.is_none()
                && let Some(file) = module.files.first()
            {
                why = Some(Why::NoSymbols(file.clone()));
            }
            if self.asked.len() < MAX_LISTED {
                self.asked.entry(key.clone()).or_default().why = why;
            }
            self.bytes += module.bytes();
            if self.bytes > MAX_BYTES {
                self.modules.clear();
                self.bytes = module.bytes();
            }
            self.modules.insert(key.clone(), module);
        }
        self.modules.entry(key.clone()).or_default()
    }

    fn index(&mut self) -> &Index {
        self.index.get_or_insert_with(|| Index::of(&self.directories))
    }

    /// The files of a library, the best first; or why it has no file.
    fn places(&mut self, (id, path): &Key) -> (Vec<Place>, Option<Why>) {
        let mut places = Vec::new();
        if id.is_empty() {
            let found = self.index().by_name(path);
            if found.iter().any(|entry| entry.id != found[0].id) {
                return (Vec::new(), Some(Why::Ambiguous));
            }
            if let Some(entry) = found.first() {
                return (vec![entry.place.clone()], None);
            }
        } else {
            for directory in &self.directories {
                places.extend(index::in_tree(directory, id));
            }
            if places.is_empty() {
                places.extend(self.index().with_id(id));
            }
        }
        let (own, other) = own_file(id, path);
        if let Some(own) = own {
            places.extend(debug_link(&own, id));
            if !id.is_empty() {
                places.extend(index::in_tree(Path::new(SYSTEM_DEBUG), id));
            }
            places.push(own);
        }
        if !places.is_empty() {
            return (places, None);
        }
        let same = self.index().same_name(path);
        let why = match same {
            Some(entry) => Why::OtherBuild { file: entry.place.path.clone(), build_id: shown_id(&entry.id) },
            None => other.unwrap_or(Why::NoFile),
        };
        (places, Some(why))
    }
}

impl Files for Symbols {
    fn elf(&mut self, mapping: &Mapping) -> Option<Arc<[u8]>> {
        let key = (mapping.build_id.clone(), mapping.path.clone());
        if let Some(known) = self.elfs.get(&key) {
            return known.clone();
        }
        let (own, _) = own_file(&key.0, &key.1);
        // Its own file has everything; one of debug data alone has no code and no unwind tables.
        let mut found = own.and_then(|place| with_code(&place, &key.0));
        if found.is_none() {
            let (places, _) = self.places(&key);
            found = places.iter().find_map(|place| with_code(place, &key.0));
        }
        self.elf_bytes += found.as_ref().map_or(0, |bytes| bytes.len());
        if self.elf_bytes > MAX_BYTES || self.elfs.len() >= MAX_LISTED {
            self.elfs.clear();
            self.elf_bytes = found.as_ref().map_or(0, |bytes| bytes.len());
        }
        self.elfs.insert(key, found.clone());
        found
    }
}

/// The bytes of an ELF file with code, if its build id agrees.
fn with_code(place: &Place, id: &[u8]) -> Option<Arc<[u8]>> {
    let mut file = ElfFile::open(place.open().ok()?)?;
    let agrees = id.is_empty() || file.build_id == id;
    let has_code = file.sections.is_empty()
        || file.sections.iter().any(|section| section.is_code() && section.is_present());
    if agrees && has_code { file.whole().ok() } else { None }
}

/// The file at a library's own path, if it is of the same build; or else of which it is.
fn own_file(id: &[u8], path: &str) -> (Option<Place>, Option<Why>) {
    // A path of Windows' could name another computer.
    if !cfg!(unix) || !path.starts_with('/') {
        return (None, None);
    }
    let place = match path.split_once('!') {
        Some((apk, name)) => index::in_apk(Path::new(apk), name),
        None => Some(Place::file(path)),
    };
    let Some(place) = place else { return (None, None) };
    let Some(file) = place.open().ok().and_then(ElfFile::open) else { return (None, None) };
    if file.build_id == id {
        return (Some(place), None);
    }
    (None, Some(Why::OtherBuild { file: place.path, build_id: hex(&file.build_id) }))
}

/// The file that `.gnu_debuglink` names, if its build id agrees.
fn debug_link(own: &Place, id: &[u8]) -> Option<Place> {
    let directory = own.path.parent()?;
    let link = ElfFile::open(own.open().ok()?)?.named(".gnu_debuglink")?;
    let name = std::str::from_utf8(&link[..memchr::memchr(0, &link)?]).ok()?;
    if name.is_empty() || name.contains(['/', '\\']) || id.is_empty() {
        return None;
    }
    let system = Path::new(SYSTEM_DEBUG).join(directory.strip_prefix("/").unwrap_or(directory));
    let places = [directory.join(name), directory.join(".debug").join(name), system.join(name)];
    let is_of_it = |place: &Place| index::build_id(place).is_some_and(|found| found == id);
    places.into_iter().map(Place::file).find(|place| *place != *own && is_of_it(place))
}

/// A build id in hexadecimal, or the module's id of a symbol file.
fn shown_id(id: &[u8]) -> String {
    match std::str::from_utf8(id) {
        Ok(text) if text.len() == 33 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => text.to_owned(),
        _ => hex(id),
    }
}

/// A frame with the names of its address, if there are any: a function that is inlined there becomes a frame of its own.
pub(crate) fn named(frame: NativeFrame, names: Vec<Named>) -> Vec<NativeFrame> {
    if names.is_empty() {
        return vec![frame];
    }
    let frames = names.into_iter().map(|name| NativeFrame {
        kind: if name.inlined { FrameKind::Inlined } else { frame.kind },
        function: name.function,
        file: name.file.unwrap_or_default(),
        line: name.line,
        ..frame.clone()
    });
    frames.collect()
}

/// Names in the bytes of one ELF file, without other files; `None` if it is no ELF file.
#[must_use]
pub fn in_elf(bytes: Vec<u8>, addresses: &[u64]) -> Option<Vec<Vec<Named>>> {
    let mut module = Module::of_elf(bytes)?;
    Some(addresses.iter().map(|address| module.at(*address)).collect())
}

/// Names in the text of one symbol file of Breakpad's; `None` if it is no such file.
#[must_use]
pub fn in_breakpad(text: &[u8], addresses: &[u64]) -> Option<Vec<Vec<Named>>> {
    let mut module = Module::of_breakpad(Arc::from(text))?;
    Some(addresses.iter().map(|address| module.at(*address)).collect())
}
