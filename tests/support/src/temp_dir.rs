//! A directory for one test.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed at the end of the test, unless it failed.
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = crate::temporary().join(format!("test-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, as text.
    pub fn name(&self, name: &str) -> String {
        self.path.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, with the directories that it needs, and gives its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        self.name(name)
    }

    /// Everything in it with its content.
    pub fn listing(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut listing = BTreeMap::new();
        let mut pending = vec![self.path.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path.clone());
                }
                let content = fs::read(&path).unwrap_or_default();
                listing.insert(path.strip_prefix(&self.path).unwrap().to_owned(), content);
            }
        }
        listing
    }
}

/// Directories that the test of this thread has made at places of its choice.
#[derive(Default)]
struct OfTest {
    directories: Vec<PathBuf>,
    has_failed: bool,
}

thread_local! {
    static OF_TEST: RefCell<OfTest> = RefCell::default();
}

impl Drop for OfTest {
    fn drop(&mut self) {
        if !self.has_failed {
            self.directories.iter().for_each(|directory| drop(fs::remove_dir_all(directory)));
        }
    }
}

/// Removes the directory when the test of this thread ends, unless it failed.
pub fn remove_with_test(directory: PathBuf) {
    static HOOK: Once = Once::new();
    // The harness catches the panic, so that the thread does not end with it.
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = OF_TEST.try_with(|test| test.borrow_mut().has_failed = true);
            before(panic);
        }));
    });
    OF_TEST.with_borrow_mut(|test| test.directories.push(directory));
}

/// Copies what is in one directory, with the directories in it, into another.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
