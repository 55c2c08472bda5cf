//! What native code was mapped when a stack was captured, and what is needed to unwind it: the payload of [`SectionKind::NativeModules`].
//!
//! ```text
//! at=<BOOTTIME ns>
//! map START END OFFSET BIAS BUILD_ID PATH     an executable mapping of a file; BUILD_ID is `-` if unknown
//! jit START END                               code that ART or a JVM generated
//! interpreter START END                       the bounds of ART's interpreter in memory
//! cie ADDRESS BYTES                           a CIE of .eh_frame at this address in memory, which the next lines use
//! fde ADDRESS BYTES                           an FDE of .eh_frame
//! exidx FUNCTION ADDRESS BYTES                an entry of .ARM.exidx and its table, for the function at FUNCTION
//! image START BYTES                           the memory of a small object that has no file: the vDSO
//! ```
//! Numbers are hexadecimal, bytes too. `START + BIAS` is not an address of the file: an address in memory less BIAS is the address in the
//! file's own numbering (its `p_vaddr`). Lines that cannot be read are skipped.
//!
//! [`SectionKind::NativeModules`]: crate::section::SectionKind::NativeModules

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::lines::Keys;
use super::{max_len, text_of};
use crate::hex::{hex, unhex};
use crate::section::SectionKind;

/// The longest payload in bytes.
pub const MAX_LEN: usize = max_len(SectionKind::NativeModules) as usize;
/// The most mappings, and the most unwind rows, that are read.
pub const MAX_ROWS: usize = 65_536;
/// The longest path of a mapping: the system's longest, of a library in an APK of such a path. Each frame repeats it, so that longer ones
/// would turn 4 MB into gigabytes.
const MAX_PATH: usize = 8 << 10;

/// An executable mapping of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// An address in memory less this is the address in the file's own numbering.
    pub bias: u64,
    /// The build id, 64 bytes at most; empty if unknown.
    pub build_id: Vec<u8>,
    /// The file, as `/proc/self/maps` has it; `base.apk!/lib/...` for a library inside an APK.
    pub path: String,
}

/// A piece of unwind data, copied from memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnwindRow {
    /// A CIE of `.eh_frame`, with its length field.
    Cie {
        /// Where it was in memory.
        address: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// An FDE of `.eh_frame`, with its length field.
    Fde {
        /// Where it was in memory.
        address: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// An entry of `.ARM.exidx`.
    Exidx {
        /// The function's first address.
        function: u64,
        /// Where the unwind bytes were in memory: in the index itself, or in `.ARM.extab`.
        address: u64,
        /// The bytes: the second word of the entry, or the table that it leads to.
        bytes: Vec<u8>,
    },
}

/// Modules and unwind rows at one time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NativeModules {
    /// When they were read, BOOTTIME ns; 0 if unknown.
    pub at: u64,
    /// Executable mappings of files.
    pub mappings: Vec<Mapping>,
    /// Addresses of generated code.
    pub jit: Vec<(u64, u64)>,
    /// Addresses of ART's interpreter.
    pub interpreter: Vec<(u64, u64)>,
    /// Unwind data of modules whose files may be missing later.
    pub rows: Vec<UnwindRow>,
    /// Memory of objects without a file, with its address.
    pub images: Vec<(u64, Vec<u8>)>,
}

impl NativeModules {
    /// The section's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = format!("at={}\n", self.at);
        for mapping in &self.mappings {
            let Mapping { start, end, offset, bias, build_id, path } = mapping;
            let id = if build_id.is_empty() { "-".to_owned() } else { hex(build_id) };
            let path = path.replace(['\n', '\r'], " ");
            let _ = writeln!(out, "map {start:x} {end:x} {offset:x} {bias:x} {id} {path}");
        }
        for (word, ranges) in [("jit", &self.jit), ("interpreter", &self.interpreter)] {
            for (start, end) in ranges {
                let _ = writeln!(out, "{word} {start:x} {end:x}");
            }
        }
        for row in &self.rows {
            let _ = match row {
                UnwindRow::Cie { address, bytes } => writeln!(out, "cie {address:x} {}", hex(bytes)),
                UnwindRow::Fde { address, bytes } => writeln!(out, "fde {address:x} {}", hex(bytes)),
                UnwindRow::Exidx { function, address, bytes } => {
                    writeln!(out, "exidx {function:x} {address:x} {}", hex(bytes))
                }
            };
        }
        for (start, bytes) in &self.images {
            let _ = writeln!(out, "image {start:x} {}", hex(bytes));
        }
        out.into_bytes()
    }

    /// Reads a payload; `None` if it is too long.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::NativeModules, payload)?;
        let mut found = Self { at: Keys::new(&text).time("at").unwrap_or(0), ..Self::default() };
        for line in text.lines() {
            let _ = found.line(line);
        }
        Some(found)
    }

    /// Reads a line; `None` if it is another one.
    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let mut words = rest.split(' ');
        let mut next = || words.next();
        let number = |word: Option<&str>| u64::from_str_radix(word?, 16).ok();
        let full = |rows: usize| (rows < MAX_ROWS).then_some(());
        match word {
            "map" => {
                full(self.mappings.len())?;
                let (start, end, offset, bias) =
                    (number(next())?, number(next())?, number(next())?, number(next())?);
                let build_id = Some(next()?).filter(|id| *id != "-").map_or(Some(Vec::new()), unhex)?;
                let path = rest.splitn(6, ' ').nth(5).unwrap_or_default().to_owned();
                if start < end && build_id.len() <= 64 && path.len() <= MAX_PATH {
                    self.mappings.push(Mapping { start, end, offset, bias, build_id, path });
                }
            }
            "jit" | "interpreter" => {
                let ranges = if word == "jit" { &mut self.jit } else { &mut self.interpreter };
                full(ranges.len())?;
                let (start, end) = (number(next())?, number(next())?);
                if start < end {
                    ranges.push((start, end));
                }
            }
            "cie" | "fde" => {
                full(self.rows.len())?;
                let (address, bytes) = (number(next())?, unhex(next()?)?);
                self.rows.push(match word {
                    "cie" => UnwindRow::Cie { address, bytes },
                    _ => UnwindRow::Fde { address, bytes },
                });
            }
            "exidx" => {
                full(self.rows.len())?;
                let (function, address, bytes) = (number(next())?, number(next())?, unhex(next()?)?);
                self.rows.push(UnwindRow::Exidx { function, address, bytes });
            }
            "image" => {
                full(self.images.len())?;
                self.images.push((number(next())?, unhex(next()?)?));
            }
            _ => {}
        }
        Some(())
    }
}

/// The lists of a recording as one. A list has only what the stacks touched that it was made for, and an app may map another
/// file where an earlier list has one. So the list that is added first counts, and of a later one only what does not contradict
/// it.
#[derive(Default, Debug)]
pub struct JoinedModules {
    all: NativeModules,
    /// The mappings' ends, by their starts.
    ends: BTreeMap<u64, u64>,
    rows: HashSet<(u64, bool)>,
    images: HashSet<u64>,
    ranges: HashSet<(bool, (u64, u64))>,
}

impl JoinedModules {
    /// Adds what the list has more, up to [`MAX_ROWS`] of each kind.
    pub fn add(&mut self, list: &NativeModules) {
        let all = &mut self.all;
        for mapping in &list.mappings {
            // The last one that starts before the end of this one must end before it.
            let before = self.ends.range(..mapping.end).next_back();
            if self.ends.len() < MAX_ROWS && before.is_none_or(|(_, end)| *end <= mapping.start) {
                self.ends.insert(mapping.start, mapping.end);
                all.mappings.push(mapping.clone());
            }
        }
        add_new(&mut all.rows, &list.rows, |row| {
            self.rows.insert(match row {
                UnwindRow::Cie { address, .. } | UnwindRow::Fde { address, .. } => (*address, false),
                UnwindRow::Exidx { function, .. } => (*function, true),
            })
        });
        add_new(&mut all.images, &list.images, |(start, _)| self.images.insert(*start));
        add_new(&mut all.jit, &list.jit, |range| self.ranges.insert((true, *range)));
        add_new(&mut all.interpreter, &list.interpreter, |range| self.ranges.insert((false, *range)));
    }

    /// The modules of all lists, with mappings in the order of their addresses, at no time of their own.
    #[must_use]
    pub fn finish(mut self) -> NativeModules {
        self.all.mappings.sort_by_key(|mapping| mapping.start);
        self.all
    }
}

/// Adds the items of `more` that are new to `all`, as long as there are fewer than [`MAX_ROWS`].
fn add_new<T: Clone>(all: &mut Vec<T>, more: &[T], mut is_new: impl FnMut(&T) -> bool) {
    for item in more {
        if all.len() < MAX_ROWS && is_new(item) {
            all.push(item.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..40)
    }

    #[test]
    fn a_path_that_no_system_has_is_not_kept() {
        let list = |length: usize| format!("at=1\nmap 1000 2000 0 0 - /{}\n", "p".repeat(length));
        let paths = |length| NativeModules::parse(list(length).as_bytes()).unwrap().mappings.len();
        assert_eq!((paths(8_191), paths(8_192)), (1, 0));
    }

    prop_compose! {
        fn mappings()(start in 0..u64::MAX, length in 1u64..4096, offset: u64, bias: u64, build_id in bytes(), path in "[^\r\n]{0,20}")
        -> Mapping {
            Mapping { start, end: start.saturating_add(length), offset, bias, build_id, path }
        }
    }

    prop_compose! {
        fn rows()(kind in 0..3, function: u64, address: u64, bytes in bytes()) -> UnwindRow {
            match kind {
                0 => UnwindRow::Cie { address, bytes },
                1 => UnwindRow::Fde { address, bytes },
                _ => UnwindRow::Exidx { function, address, bytes },
            }
        }
    }

    proptest! {
        #[test]
        fn modules_round_trip(
            at in 1u64..1 << 60, mappings in prop::collection::vec(mappings(), 0..5), rows in prop::collection::vec(rows(), 0..5),
            jit in prop::collection::vec((0u64..9, 10u64..20), 0..3), interpreter in prop::collection::vec((0u64..9, 10u64..20), 0..3),
            images in prop::collection::vec((any::<u64>(), bytes()), 0..2),
        ) {
            let modules = NativeModules { at, mappings, jit, interpreter, rows, images };
            prop_assert_eq!(NativeModules::parse(&modules.encode()), Some(modules));
        }

        #[test]
        fn no_text_is_too_wild(text in "((map|jit|cie|fde|exidx|image|interpreter) ([0-9a-g]{0,17} ){0,6}\n|.{0,9}\n){0,20}") {
            let found = NativeModules::parse(text.as_bytes()).unwrap();
            prop_assert!(found.mappings.len() + found.rows.len() <= text.len());
        }
    }
}
