//! The recording's mapped part: created once, never unmapped while the process lives.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use trace_format::layout::{self, Region, Sizes, header};

/// Memory that lives as long as the process, shared with the file where there is one.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    regions: [Region; 5],
    file: Option<File>,
}

// SAFETY: `base` points to memory that is never unmapped, and it is only reached through atomics here or
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
        let mapped = Self::map_file(&file, fixed);
        let base = mapped.inspect_err(|_| {
            // Half a recording would only confuse: it never held anything.
            let _ = std::fs::remove_file(path);
        })?;
        Ok(Self { base, length: fixed as usize, regions, file: Some(file) })
    }

    fn map_file(file: &File, fixed: u64) -> io::Result<NonNull<u8>> {
        let length = usize::try_from(fixed).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        match nix::fcntl::posix_fallocate(file, 0, fixed as libc::off_t) {
            // Where the file system cannot (some FUSE ones), a sparse file is the best there is.
            Err(nix::Error::EOPNOTSUPP | nix::Error::EINVAL) => file.set_len(fixed)?,
            other => other?,
        }
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing of ours.
        let base = unsafe {
            mmap(
                None,
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED,
                file.as_fd(),
                0,
            )
        }?;
        Ok(base.cast())
    }

    /// Memory only: what is recorded dies with the process, but an ANR it survives can be exported.
    pub(crate) fn anonymous(sizes: &Sizes) -> io::Result<Self> {
        let (regions, fixed) = sizes.regions();
        let length = usize::try_from(fixed).ok().and_then(NonZeroUsize::new);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: as in `map_file`.
        let base = unsafe {
            mmap_anonymous(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_PRIVATE)
        }?;
        Ok(Self { base: base.cast(), length: length.get(), regions, file: None })
    }

    /// Writes what never changes of the header, magic last: a file cut down before that is no recording.
    pub(crate) fn write_header(&self, process: &Process<'_>) {
        for (i, region) in self.regions.iter().enumerate() {
            let entry = header::REGION_TABLE + i * header::REGION_ENTRY;
            self.store_u32(entry, region.kind as u32);
            self.store_u64(entry + 8, region.offset);
            self.store_u64(entry + 16, region.length);
        }
        self.store_u32(header::MAJOR, u32::from(layout::MAJOR) | u32::from(layout::MINOR) << 16);
        self.store_u32(header::HEADER_LEN, layout::HEADER_LEN as u32);
        self.store_u32(header::BLOCK_LEN, layout::BLOCK_LEN as u32);
        self.store_u32(header::REGIONS, self.regions.len() as u32);
        self.store_u64(header::SECTIONS_AT, self.length as u64);
        self.store_u32(header::PID, process.pid);
        self.store_u32(header::MAIN_TID, process.main_tid);
        self.store_u32(header::UID, process.uid);
        self.store_u64(header::MAP_ID, process.map_id);
        self.store_u64(header::START_BOOTTIME, process.start.boottime);
        self.store_u64(header::START_MONOTONIC, process.start.monotonic);
        self.store_u64(header::START_REALTIME, process.start.realtime);
        self.store_text(header::PROCESS_NAME, layout::PROCESS_NAME_LEN, process.name);
        std::sync::atomic::fence(Ordering::Release);
        self.store_u64(header::MAGIC, u64::from_le_bytes(layout::MAGIC));
    }

    /// The region of this kind.
    pub(crate) fn region(&self, kind: layout::RegionKind) -> Region {
        *self.regions.iter().find(|r| r.kind == kind).expect("Sizes::regions makes one of each kind")
    }

    /// Appends bytes behind the mapped part, at `end` bytes behind its start, and gives the new end.
    pub(crate) fn append(&self, end: u64, bytes: &[u8]) -> io::Result<u64> {
        let Some(file) = &self.file else { return Ok(end) };
        file.write_all_at(bytes, self.length as u64 + end)?;
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

    /// Stores as much of `text` as fits into `room` bytes, cut at a character, and gives its length. The
    /// caller is the only writer of those bytes and publishes them with a store of its own.
    pub(crate) fn store_text(&self, offset: usize, room: usize, text: &str) -> usize {
        let length = text.floor_char_boundary(room);
        let to = self.at(offset, length);
        // SAFETY: `to` is valid for `length` bytes, and `text` cannot overlap the mapping.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.as_ptr(), length) };
        length
    }
}

/// What the header says of the process.
#[derive(Debug)]
pub(crate) struct Process<'a> {
    pub(crate) pid: u32,
    pub(crate) main_tid: u32,
    pub(crate) uid: u32,
    pub(crate) map_id: u64,
    pub(crate) name: &'a str,
    pub(crate) start: trace_format::event::Clocks,
}
