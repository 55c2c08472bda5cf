//! The modules that a stack's words touch, with what is needed to unwind and name it later.
//!
//! Everything comes from `/proc/self/maps` and from the modules' own headers in memory, read through the kernel. The loader is not asked
//! (`dl_iterate_phdr`): its lock may be held by the thread that hangs, in a library's initialiser.

mod apk;
mod elf;
mod rows;

use super::memory;
use super::stacks::Line;
use crate::clock::boottime_ns;
use elf::Module;
use rows::Rows;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use trace_format::sections::native_modules::{Mapping, NativeModules};

/// The most words of a stack that count: those that may be return addresses.
const MAX_WORDS: usize = 2_048;
/// The longest vDSO.
const MAX_IMAGE: u64 = 64 << 10;

/// What is needed to unwind and name a stack with these words, which should hold the program counter and the link register too: the executable mappings that
/// they touch, with load bias and build id, generated code, unwind rows, and the memory of the vDSO.
///
/// At most 2,048 distinct words that point into executable memory count. For the worker's thread: it reads `/proc/self/maps`, and allocates.
pub fn modules(words: impl Iterator<Item = u64>) -> NativeModules {
    let mut found = NativeModules { at: boottime_ns(), ..NativeModules::default() };
    let Ok(mut file) = File::open("/proc/self/maps") else { return found };
    let mut text = Vec::new();
    // What was read before an error is right.
    let _ = file.read_to_end(&mut text);
    let maps = Maps(text.split(|&byte| byte == b'\n').filter_map(Line::parse).collect());
    let mut rows = Rows::default();
    let mut known: Vec<(usize, Option<Module>)> = Vec::new();
    for address in maps.code(words) {
        let Some(at) = maps.executable(address) else { continue };
        let place = match known.iter().position(|(line, _)| *line == at) {
            Some(place) => place,
            None => {
                known.push((at, maps.add(at, &mut found)));
                known.len() - 1
            }
        };
        if let (_, Some(module)) = &known[place] {
            rows.add(module, address, &memory::bytes);
        }
    }
    found.rows = rows.into_rows();
    found.mappings.sort_by_key(|mapping| mapping.start);
    found.jit.sort_unstable();
    found
}

struct Maps<'a>(Vec<Line<'a>>);

impl Maps<'_> {
    /// The addresses of code among the words, without the bits that are no part of an address.
    fn code(&self, words: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        let mut code = BTreeSet::new();
        // Signatures of pointers and tags are above the highest address.
        let highest = self.0.iter().map(|line| line.end).filter(|end| end >> 56 == 0).max().unwrap_or(0);
        let mask = match highest.checked_next_power_of_two() {
            Some(above) if cfg!(target_arch = "aarch64") => above - 1,
            _ => u64::MAX,
        };
        // Thumb code has bit 0 set.
        let mask = if cfg!(target_arch = "arm") { mask & !1 } else { mask };
        for word in words {
            let address = word & mask;
            if !code.contains(&address) && self.executable(address).is_some() {
                code.insert(address);
                if code.len() == MAX_WORDS {
                    break;
                }
            }
        }
        code
    }

    /// The place of the executable mapping that holds an address.
    fn executable(&self, address: u64) -> Option<usize> {
        let after = self.0.partition_point(|line| line.start <= address);
        let at = after.checked_sub(1)?;
        // A return address may be the one behind the last call of a mapping.
        let line = self.0.get(at)?;
        (line.rights[2] == b'x' && address < line.end).then_some(at)
    }

    /// Adds an executable mapping, and returns its module if it has one.
    fn add(&self, at: usize, found: &mut NativeModules) -> Option<Module> {
        let line = &self.0[at];
        let is_vdso = line.name == b"[vdso]";
        if !is_vdso && is_generated(line) {
            found.jit.push((line.start, line.end));
            return None;
        }
        let (module, header) = self.header(at).unzip();
        if is_vdso
            && let Some(image) = memory::bytes(line.start, (line.end - line.start).min(MAX_IMAGE) as usize)
        {
            found.images.push((line.start, image));
        }
        let mut path = String::from_utf8_lossy(line.name).into_owned();
        let inside = header.map_or(0, |header| self.0[header].offset);
        if inside != 0 {
            // A library in an APK.
            let entry = apk::entry(&path, inside).or_else(|| module.as_ref()?.name(&memory::bytes));
            if let Some(entry) = entry {
                path = format!("{path}!/{entry}");
            }
        }
        found.mappings.push(Mapping {
            start: line.start,
            end: line.end,
            offset: line.offset.saturating_sub(inside),
            // Without its header a module is taken for one whose addresses are its offsets.
            bias: module.as_ref().map_or(line.start.wrapping_sub(line.offset), |module| module.bias),
            build_id: module.as_ref().and_then(|module| module.build_id(&memory::bytes)).unwrap_or_default(),
            path,
        });
        module
    }

    /// The module of an executable mapping, and the place of the mapping with its header: the nearest of the same file, from here
    /// downwards, that starts as an ELF file does.
    fn header(&self, at: usize) -> Option<(Module, usize)> {
        /// Mappings of one library, and of gaps between them.
        const MAX_MAPPINGS: usize = 64;
        let line = &self.0[at];
        let same = |other: &Line<'_>| (other.inode, other.name) == (line.inode, line.name);
        let below = (0..=at).rev().take(MAX_MAPPINGS).filter(|&place| same(&self.0[place]));
        below.into_iter().find_map(|place| {
            let module = Module::read(self.0[place].start, &memory::bytes)?;
            module.holds_code(line.start, line.end).then_some((module, place))
        })
    }
}

/// Whether a mapping holds generated code: that of ART or of a JVM, which has no file, or one that exists in memory only.
fn is_generated(line: &Line<'_>) -> bool {
    let has = |part: &str| line.name.windows(part.len()).any(|window| window == part.as_bytes());
    line.inode == 0 && !line.name.starts_with(b"/")
        || has("jit-cache")
        || has("dalvik-jit-code-cache")
        || has("jit-zygote-cache")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line<'static> = Line { start: 0, end: 1, rights: b"r-xp", offset: 0, inode: 0, name: b"" };

    #[test]
    fn generated_code_has_no_file() {
        let line = |inode, name: &'static str| Line { inode, name: name.as_bytes(), ..LINE };
        for (inode, name) in [
            (0, ""),
            (0, "[anon:dalvik-jit-code-cache]"),
            (9, "/memfd:jit-cache (deleted)"),
            (9, "/dev/ashmem/dalvik-jit-code-cache (deleted)"),
        ] {
            assert!(is_generated(&line(inode, name)), "{name}");
        }
        assert!(!is_generated(&line(9, "/system/lib64/libc.so")));
    }

    #[test]
    fn many_words_are_bounded() {
        let maps = Maps(vec![Line { start: 0x1000, end: 0x900_0000, ..LINE }]);
        assert_eq!(maps.code(0..0x100_0000).len(), MAX_WORDS);
        assert_eq!(maps.code([0x1000, 0x1000, 0xfff, 0x900_0000].into_iter()).len(), 1);
    }
}
