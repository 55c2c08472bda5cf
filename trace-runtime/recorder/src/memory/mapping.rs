//! The recording's mapped part: created once, never unmapped while the process lives.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use trace_format::layout::{self, BLOCK_LEN, Region, Sizes, header};

use crate::memory::bus_fault;

/// Memory that lives as long as the process, shared with the file where there is one.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    regions: Vec<Region>,
    file: Option<OwnFile>,
}

/// The recording's file, behind a descriptor that the app may close by mistake and get again for a file of
/// its own.
///
/// It is never closed here: by then the number may be the app's.
#[derive(Debug)]
struct OwnFile {
    file: ManuallyDrop<File>,
    /// Device and inode (man 2 stat), which no other file has while this one is mapped.
    identity: (u64, u64),
}

impl OwnFile {
    fn new(file: File) -> io::Result<Self> {
        let identity = identity(&file)?;
        Ok(Self { file: ManuallyDrop::new(file), identity })
    }

    /// The file.
    ///
    /// # Errors
    /// The descriptor was closed, or leads to another file by now.
    fn get(&self) -> io::Result<&File> {
        if identity(&self.file)? == self.identity {
            Ok(&self.file)
        } else {
            Err(io::Error::other("the app has closed the recording's descriptor and uses its number itself"))
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|of| (of.dev(), of.ino()))
}

// SAFETY: `base` points to memory that is never unmapped, and it is only accessed through atomics here or
// through blocks, each of which has one writer.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Creates `path`, which must not exist, with its blocks allocated on disk: a full disk must show
    /// here and not as a SIGBUS in the app later (man 3 posix_fallocate).
    pub(crate) fn create(path: &Path, sizes: &Sizes) -> io::Result<Self> {
        let (regions, fixed) = sizes.regions();
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        // The lock ends with the process: a later process sees that this one writes no more. A process of the
        // app that checks the file just now is waited for. File systems without locks work too.
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        let lock = || Errno::result(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) });
        while lock() == Err(Errno::EINTR) {}
        let made = Self::map_file(&file, fixed).and_then(|base| Ok((base, OwnFile::new(file)?)));
        let (base, file) = made.inspect_err(|_| {
            // An empty recording would only confuse.
            let _ = std::fs::remove_file(path);
        })?;
        Ok(Self { base, length: fixed as usize, regions, file: Some(file) })
    }

    /// Maps the first `fixed` bytes.
    fn map_file(file: &File, fixed: u64) -> io::Result<NonNull<u8>> {
        let length = usize::try_from(fixed).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        // 31 bits on 32-bit systems.
        let size = libc::off_t::try_from(fixed).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // A handler may run on this thread meanwhile, and may end the call (man 3 posix_fallocate).
        let allocated = loop {
            match nix::fcntl::posix_fallocate(file, 0, size) {
                Err(Errno::EINTR) => {}
                other => break other,
            }
        };
        match allocated {
            // Where the file system cannot allocate (some FUSE ones), writing does.
            Err(Errno::EOPNOTSUPP | Errno::EINVAL | Errno::ENOSYS) => write_zeros(file, fixed)?,
            other => other?,
        }
        let base = reserve(length, ProtFlags::PROT_NONE)?;
        // SAFETY: in the place of pages that were just reserved for this, and that no other code knows of.
        let base = unsafe {
            mmap(
                Some(base.addr()),
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED | MapFlags::MAP_FIXED,
                file.as_fd(),
                0,
            )
        }?;
        Ok(base.cast())
    }

    /// Maps memory without a file: the recording ends with the process, but an ANR that the process survives
    /// can be exported.
    pub(crate) fn anonymous(sizes: &Sizes) -> io::Result<Self> {
        let (regions, fixed) = sizes.regions();
        let length = usize::try_from(fixed).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        let base = reserve(length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE)?;
        Ok(Self { base, length: length.get(), regions, file: None })
    }

    /// Writes the constant fields of the header, except for the magic: without that it is no recording.
    pub(crate) fn write_header(&self, process: &Process<'_>) {
        self.write_regions();
        self.store_u32(header::MAJOR, u32::from(layout::MAJOR) | u32::from(layout::MINOR) << 16);
        self.store_u32(header::HEADER_LEN, layout::HEADER_LEN as u32);
        self.store_u32(header::BLOCK_LEN, layout::BLOCK_LEN as u32);
        self.store_u32(header::PID, process.pid);
        self.store_u32(header::MAIN_TID, process.main_tid);
        self.store_u32(header::UID, process.uid);
        self.store_u64(header::MAP_ID, process.map_id);
        self.store_u64(header::START_BOOTTIME, process.start.boottime);
        self.store_u64(header::START_MONOTONIC, process.start.monotonic);
        self.store_u64(header::START_REALTIME, process.start.realtime);
        self.store_text(header::PROCESS_NAME, layout::PROCESS_NAME_LEN, process.name);
    }

    /// Writes the header's fields that say which regions there are, and where the sections start.
    pub(crate) fn write_regions(&self) {
        for (i, region) in self.regions.iter().enumerate() {
            let entry = header::REGION_TABLE + i * header::REGION_ENTRY;
            self.store_u32(entry, region.kind as u32);
            self.store_u64(entry + 8, region.offset);
            self.store_u64(entry + 16, region.length);
        }
        self.store_u32(header::REGIONS, self.regions.len() as u32);
        self.store_u64(header::SECTIONS_AT, self.length as u64);
    }

    /// Copies `length` bytes at `offset`, a multiple of 8, from another mapping of the same layout; up to 7 more.
    pub(crate) fn copy_from(&self, from: &Self, offset: usize, length: usize) {
        for at in (offset..offset + length).step_by(8) {
            self.store_u64(at, from.u64(at).load(Ordering::Relaxed));
        }
    }

    /// Makes the pages of a range writable without changing a byte.
    pub(crate) fn touch(&self, offset: usize, length: usize) {
        (offset..offset + length).step_by(SMALLEST_PAGE).for_each(|at| touch(self.u64(at)));
    }

    /// Whether the file has no name any more: then it cannot be read when this process ends.
    pub(crate) fn is_removed(&self) -> bool {
        let linked = |file: &OwnFile| file.get().and_then(File::metadata).map_or(true, |of| of.nlink() > 0);
        !self.file.as_ref().is_none_or(linked)
    }

    /// The region of this kind.
    pub(crate) fn region(&self, kind: layout::RegionKind) -> Region {
        self.find_region(kind).expect("Sizes::regions makes one of each kind but native stacks")
    }

    /// The region of this kind, if there is one.
    pub(crate) fn find_region(&self, kind: layout::RegionKind) -> Option<Region> {
        self.regions.iter().find(|r| r.kind == kind).copied()
    }

    /// Keeps the app alive if the mapping's pages fail, which those of a file may.
    pub(crate) fn guard(&self) {
        bus_fault::guard(self.base, self.length);
    }

    /// Appends bytes behind the mapped part, at `end` bytes behind its start, and returns the new end.
    ///
    /// # Errors
    /// The file cannot be written, or its descriptor is no longer its own.
    pub(crate) fn append(&self, end: u64, bytes: &[u8]) -> io::Result<u64> {
        let Some(file) = &self.file else { return Ok(end) };
        file.get()?.write_all_at(bytes, self.length as u64 + end)?;
        Ok(end + bytes.len() as u64)
    }

    /// Address of `offset`, for `length` bytes.
    ///
    /// # Panics
    /// If that is not inside: offsets come from [`Sizes::regions`] only.
    pub(crate) fn at(&self, offset: usize, length: usize) -> NonNull<u8> {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length), "{offset}+{length}");
        // SAFETY: inside of the mapping, as just checked.
        unsafe { self.base.add(offset) }
    }

    /// The 32-bit word at `offset`, a multiple of 4.
    pub(crate) fn u32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4));
        // SAFETY: inside and aligned (the mapping starts on a page); memory that is reached both through
        // this and as plain bytes is written by one thread only (see `store_text`).
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast().as_ptr()) }
    }

    /// The 64-bit word at `offset`, a multiple of 8.
    pub(crate) fn u64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as for `u32`.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast().as_ptr()) }
    }

    pub(crate) fn store_u32(&self, offset: usize, value: u32) {
        self.u32(offset).store(value, Ordering::Relaxed);
    }

    pub(crate) fn store_u64(&self, offset: usize, value: u64) {
        self.u64(offset).store(value, Ordering::Relaxed);
    }

    /// Stores as much of `text` as fits into `room` bytes, cut at a character, and returns its length. The
    /// caller is the only writer of those bytes and publishes them with a store of its own.
    pub(crate) fn store_text(&self, offset: usize, room: usize, text: &str) -> usize {
        let length = text.floor_char_boundary(room);
        let to = self.at(offset, length);
        // SAFETY: `to` is valid for `length` bytes, and `text` cannot overlap the mapping.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.as_ptr(), length) };
        length
    }
}

/// Reserves address space for that many bytes, aligned to a block's length: `MethodBeat` derives a block's
/// end from the address. What is before and behind is never used, and costs nothing.
fn reserve(length: NonZeroUsize, access: ProtFlags) -> io::Result<NonNull<u8>> {
    let more = length.checked_add(BLOCK_LEN).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
    let base = unsafe { mmap_anonymous(None, more, access, MapFlags::MAP_PRIVATE) }?;
    let ahead = base.addr().get().next_multiple_of(BLOCK_LEN) - base.addr().get();
    // SAFETY: less than a block's length, which the mapping has beyond `length`.
    Ok(unsafe { base.cast::<u8>().add(ahead) })
}

/// Makes the page of `word` writable without changing it: the kernel sees a store, and a concurrent store to
/// the word is not lost.
pub(crate) fn touch(word: &AtomicU64) {
    // A compiler may turn an addition of a known 0 into a load, or nothing.
    word.fetch_add(std::hint::black_box(0), Ordering::Relaxed);
}

/// Every page size is a multiple of this.
const SMALLEST_PAGE: usize = 4096;

fn write_zeros(file: &File, length: u64) -> io::Result<()> {
    let zeros = [0; 64 * 1024];
    let mut at = 0;
    while at < length {
        let now = zeros.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        file.write_all_at(&zeros[..now], at)?;
        at += now as u64;
    }
    Ok(())
}

/// The process's fields of the header.
#[derive(Debug)]
pub(crate) struct Process<'a> {
    pub(crate) pid: u32,
    pub(crate) main_tid: u32,
    pub(crate) uid: u32,
    pub(crate) map_id: u64,
    pub(crate) name: &'a str,
    pub(crate) start: trace_format::event::Clocks,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use nix::sys::resource::{UsageWho, getrusage};

    use super::*;

    /// Page faults of the calling thread while it stores to each page of the first half of main's ring.
    fn faults_of_stores(mapping: &Mapping) -> i64 {
        let region = mapping.region(layout::RegionKind::MainRing);
        let faults = || getrusage(UsageWho::RUSAGE_THREAD).unwrap().minor_page_faults();
        let before = faults();
        for at in (0..region.length / 2).step_by(SMALLEST_PAGE) {
            mapping.store_u64((region.offset + at) as usize, 1);
        }
        faults() - before
    }

    #[test]
    fn nothing_is_appended_to_a_file_of_the_app_that_got_the_descriptors_number() {
        let directory = std::env::temp_dir().join(format!("anrscope-descriptor-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let sizes = Sizes {
            main_blocks: 2,
            pool_blocks: 2,
            service_blocks: 2,
            threads: 4,
            string_bytes: 4096,
            native_slots: 0,
        };
        let mapping = Mapping::create(&directory.join("recording"), &sizes).unwrap();
        let fixed = std::fs::metadata(directory.join("recording")).unwrap().len();
        assert_eq!(mapping.append(0, b"section").unwrap(), 7);
        let theirs = directory.join("database");
        std::fs::write(&theirs, "rows").unwrap();
        let database = OpenOptions::new().write(true).open(&theirs).unwrap();
        let number = mapping.file.as_ref().unwrap().file.as_raw_fd();
        // SAFETY: both are open descriptors; what the second one led to is closed, as a fault of the app would.
        assert_eq!(unsafe { libc::dup2(database.as_raw_fd(), number) }, number);
        assert!(mapping.append(7, b"section").is_err());
        assert!(!mapping.is_removed());
        assert_eq!(std::fs::read(&theirs).unwrap(), b"rows");
        assert_eq!(std::fs::metadata(directory.join("recording")).unwrap().len(), fixed + 7);
        // SAFETY: nothing but this test uses the number.
        unsafe { libc::close(number) };
        assert!(mapping.append(7, b"section").is_err(), "closed");
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_store_to_a_page_that_was_touched_does_not_wait_for_the_kernel() {
        let mapping = Mapping::anonymous(&Sizes::DEFAULT).unwrap();
        let region = mapping.region(layout::RegionKind::MainRing);
        mapping.touch(region.offset as usize, region.length as usize / 2);
        let touched = faults_of_stores(&mapping);
        // One or two if the kernel is just putting pages together to larger ones.
        let untouched = faults_of_stores(&Mapping::anonymous(&Sizes::DEFAULT).unwrap());
        assert!(
            touched < 3 && untouched > touched,
            "{touched} page faults after touching, {untouched} without"
        );
    }
}
