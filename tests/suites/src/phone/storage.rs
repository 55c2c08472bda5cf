//! A slow disk: a file system in a file in memory, on a loop device that the kernel throttles.

use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::temp_dir::TempDir;

/// Bytes a second that the disk takes and gives: a worn eMMC under load.
const SPEED: u64 = 6 << 20;
/// Bytes a second of a good disk, where memory is what is missing.
const FAST: u64 = 60 << 20;
/// Its size: MB.
const SIZE_MB: u64 = 400;

/// The disk, unmounted in the end.
pub(crate) struct SlowDisk {
    device: String,
    number: String,
    directory: PathBuf,
    image: PathBuf,
}

fn done(command: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(command).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn throttle(number: &str, speed: u64) -> Option<()> {
    let root = Path::new("/sys/fs/cgroup/blkio");
    for file in ["blkio.throttle.write_bps_device", "blkio.throttle.read_bps_device"] {
        std::fs::write(root.join(file), format!("{number} {speed}")).ok()?;
    }
    Some(())
}

impl SlowDisk {
    /// Makes the disk; `None` if the machine does not allow it: it needs root, loop devices and the controller `blkio`.
    pub(crate) fn new(directory: &TempDir) -> Option<Self> {
        let image = Path::new("/dev/shm").join(format!("anrscope-phone-{}", std::process::id()));
        let file = std::fs::File::create(&image).ok()?;
        file.set_len(SIZE_MB << 20).ok()?;
        let shown = image.to_str()?;
        // Its blocks are there from the start: none is written by the kernel's own threads later.
        done("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", shown])?;
        let device = done("losetup", &["-f", "--show", shown])?;
        let name = device.rsplit('/').next()?;
        let number = std::fs::read_to_string(format!("/sys/block/{name}/dev")).ok()?.trim().to_owned();
        let disk = Self { device, number, directory: directory.path().join("disk"), image };
        std::fs::create_dir_all(&disk.directory).ok()?;
        done("mount", &[&disk.device, disk.directory.to_str()?])?;
        throttle(&disk.number, SPEED)?;
        Some(disk)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Fills a file that no cache has, and lets the disk be as fast as a good one.
    pub(crate) fn fill(&self, file: &Path, bytes: usize) -> std::io::Result<()> {
        let _ = throttle(&self.number, 0);
        std::fs::write(file, vec![7; bytes])?;
        std::fs::File::open(file)?.sync_all()?;
        let file = std::fs::File::open(file)?;
        // SAFETY: the descriptor is open; the call takes numbers only.
        unsafe {
            libc::posix_fadvise(std::os::fd::AsRawFd::as_raw_fd(&file), 0, 0, libc::POSIX_FADV_DONTNEED)
        };
        // Each page that is missing is read by itself, as on a fragmented file system.
        let name = self.device.rsplit('/').next().unwrap_or_default();
        let _ = std::fs::write(format!("/sys/block/{name}/queue/read_ahead_kb"), "0");
        let _ = throttle(&self.number, FAST);
        Ok(())
    }

    /// Waits until nothing is left to be written, at full speed, and removes the files.
    pub(crate) fn settle(&self) {
        let _ = throttle(&self.number, 0);
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
        let _ = done("sync", &["-f", self.directory.to_str().unwrap_or("/")]);
        let _ = throttle(&self.number, SPEED);
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = throttle(&self.number, 0);
        let _ = done("umount", &[self.directory.to_str().unwrap_or_default()]);
        let _ = done("losetup", &["-d", &self.device]);
        let _ = std::fs::remove_file(&self.image);
    }
}
