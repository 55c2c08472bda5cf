//! The ring sizes that an app configures, kept for its next start.
//!
//! On Android recording starts before there is a Context, a manifest or code of the app to ask. Their sizes
//! (options `main_words` and `pool_words`) take effect at the next start, and main opens no file to learn
//! them: they are the text of a symbolic link, which readlink(2) returns without opening anything. The
//! directory is known without a Context: the user's data directory, and in that the package's, which is the
//! process's name up to a colon.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use trace_format::layout::{BLOCK_WORDS, Sizes};

/// Beside the mark of a disarmed app.
const LINK: &str = "sizes";
/// In the app's data directory.
const DIRECTORY: &str = "no_backup/anrscope";
/// Users of a device have uids of this many each (AOSP `UserHandle.PER_USER_RANGE`).
const UIDS_A_USER: u32 = 100_000;

/// The process's data directory: in `ANDROID_DATA`, which the system sets for every process, or `/data`.
fn data_directory(process: &str, uid: u32) -> Option<PathBuf> {
    let package = process.split(':').next().unwrap_or_default();
    if package.is_empty() || package.contains('/') || package.starts_with('.') {
        return None;
    }
    let root = std::env::var_os("ANDROID_DATA").unwrap_or_else(|| "/data".into());
    Some(Path::new(&root).join("user").join((uid / UIDS_A_USER).to_string()).join(package))
}

/// The sizes that an earlier process of this app kept, or `default`. On main, before anything else: one
/// system call.
pub fn of_last_start(process: &str, default: Sizes) -> Sizes {
    let directory = data_directory(process, nix::unistd::getuid().as_raw());
    directory
        .and_then(|data| read(&data.join(DIRECTORY)))
        .map_or(default, |(main, pool)| with(default, main, pool))
}

/// The kept numbers of words.
fn read(directory: &Path) -> Option<(u64, u64)> {
    let link = fs::read_link(directory.join(LINK)).ok()?;
    let (main, pool) = link.to_str()?.split_once(' ')?;
    Some((main.parse().ok()?, pool.parse().ok()?))
}

/// Keeps these numbers of words for the next start, 0 for the default; removes them if both are 0. Not on
/// main.
///
/// # Errors
/// Those of the file system.
pub fn keep(directory: &Path, main_words: u64, pool_words: u64) -> io::Result<()> {
    let wanted = (main_words, pool_words);
    if read(directory).unwrap_or_default() == wanted {
        return Ok(());
    }
    let link = directory.join(LINK);
    if wanted == (0, 0) {
        return fs::remove_file(link);
    }
    fs::create_dir_all(directory)?;
    // Atomically: a start finds the old one or this one.
    let new = directory.join("sizes.new");
    let _ = fs::remove_file(&new);
    std::os::unix::fs::symlink([main_words.to_string(), pool_words.to_string()].join(" "), &new)?;
    fs::rename(new, link)
}

/// `default` with these many words for main's ring and for that of the other threads; 0 leaves it. Bounded so
/// that a typing error does not ask for more than 4 GiB.
pub fn with(default: Sizes, main_words: u64, pool_words: u64) -> Sizes {
    let blocks = |words: u64, default: u32| match words.min(1 << 28) {
        0 => default,
        words => words.div_ceil(BLOCK_WORDS as u64).max(2) as u32,
    };
    let main_blocks = blocks(main_words, default.main_blocks);
    let pool_blocks = blocks(pool_words, default.pool_blocks);
    Sizes { main_blocks, pool_blocks, threads: default.threads.max(pool_blocks + 64), ..default }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_sizes_are_found_and_other_texts_are_ignored() {
        let directory = std::env::temp_dir().join(format!("anrscope-sizes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        assert_eq!(read(&directory), None);
        keep(&directory, 0, 0).unwrap();
        assert!(!directory.exists(), "nothing to keep");
        keep(&directory, 100_000, 0).unwrap();
        keep(&directory, 200_000, 50_000).unwrap();
        keep(&directory, 200_000, 50_000).unwrap();
        assert_eq!(read(&directory), Some((200_000, 50_000)));
        keep(&directory, 0, 0).unwrap();
        assert_eq!(read(&directory), None);
        for text in ["", "1", "x 2", "1 2 3", "-1 2", "99999999999999999999 1", "../../etc"] {
            let _ = fs::remove_file(directory.join(LINK));
            if std::os::unix::fs::symlink(text, directory.join(LINK)).is_ok() {
                assert_eq!(read(&directory), None, "{text}");
            }
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn the_directory_follows_from_the_process() {
        let of =
            |process: &str, uid| data_directory(process, uid).map(|path| path.to_string_lossy().into_owned());
        if std::env::var_os("ANDROID_DATA").is_none() {
            assert_eq!(of("com.example.app:push", 10_123).as_deref(), Some("/data/user/0/com.example.app"));
            assert_eq!(of("com.example.app", 1_010_123).as_deref(), Some("/data/user/10/com.example.app"));
        }
        for none in ["", ":push", "/bin/sh", ".."] {
            assert_eq!(of(none, 0), None, "{none}");
        }
    }

    #[test]
    fn sizes_are_in_whole_blocks_and_bounded() {
        let of = |main, pool| with(Sizes::DEFAULT, main, pool);
        assert_eq!(of(0, 0), Sizes::DEFAULT);
        assert_eq!((of(1, 1).main_blocks, of(1, 1).pool_blocks), (2, 2));
        let large = of(u64::MAX, u64::MAX);
        assert!(large.threads > large.pool_blocks && large.main_blocks < 1 << 19);
    }
}
