//! The objects loaded in this process, by `dl_iterate_phdr` (man 3).

use super::view::{Segment, View};
use libc::{PT_DYNAMIC, PT_LOAD};
use std::ffi::{CStr, c_int, c_void};
use std::ops::{ControlFlow, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[cfg(target_pointer_width = "64")]
type Phdr = libc::Elf64_Phdr;
#[cfg(target_pointer_width = "32")]
type Phdr = libc::Elf32_Phdr;

// Flags of a segment; the crate libc does not have them on Android.
pub(crate) const PF_X: u32 = 1;
const PF_W: u32 = 2;
const PF_R: u32 = 4;

/// An object, for as long as the loader is held off (see [`find`]).
#[derive(Clone, Copy)]
pub(crate) struct Loaded<'a> {
    /// Its path as the loader gives it; empty for the program on glibc.
    pub(crate) path: &'a [u8],
    /// Whether it is the program itself.
    pub(crate) is_program: bool,
    /// Its load bias: the difference to its linked-for addresses.
    pub(crate) bias: usize,
    headers: &'a [Phdr],
}

impl<'a> Loaded<'a> {
    /// The part of the path behind the last `/`.
    pub(crate) fn file_name(&self) -> &'a [u8] {
        self.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }

    fn ranges(&self, kind: u32) -> impl Iterator<Item = (Range<usize>, u32)> {
        let bias = self.bias;
        self.headers.iter().filter(move |header| header.p_type == kind).map(move |header| {
            let from = bias.wrapping_add(header.p_vaddr as usize);
            (from..from.saturating_add(header.p_memsz as usize), header.p_flags)
        })
    }

    /// Whether an address is in its loaded memory.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.ranges(PT_LOAD).any(|(range, _)| range.contains(&address))
    }

    /// Whether an address is in its code.
    pub(crate) fn is_code(&self, address: usize) -> bool {
        self.ranges(PT_LOAD).any(|(range, flags)| flags & PF_X != 0 && range.contains(&address))
    }

    /// Its read-only memory, where the compiler and the linker put the tables. Execute-only code
    /// is left out, as on Android from 10 on.
    pub(crate) fn view(&self) -> View<'a> {
        let segments = self.ranges(PT_LOAD).filter(|(_, flags)| flags & (PF_R | PF_W) == PF_R);
        View {
            bias: self.bias as u64,
            word: size_of::<usize>(),
            segments: segments
                .map(|(range, _)| Segment {
                    vaddr: range.start.wrapping_sub(self.bias) as u64,
                    // SAFETY: the loader has mapped this range readable and not writable, and does not unload the
                    // object while the callback that `'a` stands for runs.
                    bytes: unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) },
                })
                .collect(),
        }
    }

    /// A copy of the dynamic section. The loader writes into it, so it is read a word at a time and not as a slice.
    pub(crate) fn dynamic(&self) -> Option<Vec<u8>> {
        let (range, _) = self.ranges(PT_DYNAMIC).next()?;
        if range.is_empty() || !range.start.is_multiple_of(size_of::<usize>()) {
            return None;
        }
        if !self.contains(range.start) || !self.contains(range.end - 1) {
            return None;
        }
        let words = range.len() / size_of::<usize>();
        Some(
            (0..words)
                .flat_map(|index| {
                    let word = range.start as *const usize;
                    // SAFETY: aligned and within the object's loaded memory, both checked above; PT_DYNAMIC is always
                    // readable, since the loader reads it.
                    unsafe { word.add(index).read_volatile() }.to_ne_bytes()
                })
                .collect(),
        )
    }
}

/// Calls `visitor` for every loaded object until it breaks with an answer. The loader's lock is held meanwhile: nothing is
/// unloaded, and `visitor` must not load anything.
pub(crate) fn find<T>(visitor: impl FnMut(Loaded<'_>) -> ControlFlow<T>) -> Option<T> {
    struct Search<F, T> {
        visitor: F,
        seen: usize,
        answer: Option<std::thread::Result<T>>,
    }

    unsafe extern "C" fn visit<T, F: FnMut(Loaded<'_>) -> ControlFlow<T>>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: `search` is the pointer given below, to a value of this very type that no other code uses meanwhile.
        let search = unsafe { &mut *search.cast::<Search<F, T>>() };
        // SAFETY: the loader passes a filled-in record, valid for the length of this call.
        let info = unsafe { &*info };
        let path = if info.dlpi_name.is_null() {
            &[][..]
        } else {
            // SAFETY: not null, and a C string for the length of this call.
            unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
        };
        let headers = if info.dlpi_phdr.is_null() {
            &[][..]
        } else {
            // SAFETY: the loader gives the object's program headers and their number.
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
        };
        let loaded = Loaded { path, is_program: search.seen == 0, bias: info.dlpi_addr as usize, headers };
        search.seen += 1;
        // A panic must not pass through the loader, whose lock it would leave locked.
        let answer = match catch_unwind(AssertUnwindSafe(|| (search.visitor)(loaded))) {
            Ok(ControlFlow::Continue(())) => return 0,
            Ok(ControlFlow::Break(answer)) => Ok(answer),
            Err(panic) => Err(panic),
        };
        search.answer = Some(answer);
        1
    }

    fn run<T, F: FnMut(Loaded<'_>) -> ControlFlow<T>>(search: &mut Search<F, T>) {
        // SAFETY: `visit` is made for this very type of search, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit::<T, F>), std::ptr::from_mut(search).cast()) };
    }

    let mut search = Search { visitor, seen: 0, answer: None };
    run(&mut search);
    match search.answer? {
        Ok(answer) => Some(answer),
        Err(panic) => resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::{Dynamic, import_slots, slot_kinds};
    use trace_format::native_slot::Machine;

    #[test]
    fn this_program_imports_write_and_its_slot_is_its_own() {
        let Some(kinds) = Machine::HERE.and_then(slot_kinds) else { return };
        let slots = find(|object| {
            assert!(object.is_program);
            let dynamic = Dynamic::parse(&object.dynamic().unwrap(), size_of::<usize>()).unwrap();
            let slots = import_slots(&object.view(), &dynamic, kinds, b"write").unwrap();
            assert!(slots.iter().all(|&slot| object.contains(object.bias + slot as usize)));
            ControlFlow::Break(slots)
        });
        assert!(!slots.unwrap().is_empty());
    }

    #[test]
    fn every_loaded_object_can_be_read() {
        let Some(kinds) = Machine::HERE.and_then(slot_kinds) else { return };
        let mut seen = 0;
        let answer = find(|object| {
            seen += 1;
            if let Some(dynamic) = object.dynamic()
                && let Ok(dynamic) = Dynamic::parse(&dynamic, size_of::<usize>())
            {
                import_slots(&object.view(), &dynamic, kinds, b"write")
                    .unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(object.path)));
            }
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(answer, None);
        assert!(seen > 2, "{seen}");
    }

    #[test]
    fn a_panic_comes_back_out_of_the_loader() {
        let panic = catch_unwind(|| find(|_| -> ControlFlow<()> { panic!("out") }));
        assert!(panic.is_err());
        // And its lock is free again.
        assert!(find(|_| ControlFlow::Break(())).is_some());
    }
}
