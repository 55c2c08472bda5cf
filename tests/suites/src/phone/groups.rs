//! Control groups of version 1 or 2, as far as this machine lets a test make some.

use std::path::{Path, PathBuf};

/// Where the controllers are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A control group of one controller, removed in the end.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
    /// Whether it is one of version 2.
    pub(crate) unified: bool,
}

impl Group {
    /// A new group of a controller. `None` if the machine does not allow it.
    pub(crate) fn new(controller: &str, name: &str) -> Option<Self> {
        let old = Path::new(ROOT).join(controller);
        if old.join("tasks").exists() {
            let path = old.join(name);
            std::fs::create_dir_all(&path).ok()?;
            return Some(Self { path, unified: false });
        }
        let enabled = std::fs::read_to_string(Path::new(ROOT).join("cgroup.controllers")).ok()?;
        if controller != "freezer" {
            enabled.split_ascii_whitespace().find(|known| *known == controller)?;
            std::fs::write(Path::new(ROOT).join("cgroup.subtree_control"), format!("+{controller}")).ok()?;
        }
        let path = Path::new(ROOT).join(name);
        std::fs::create_dir_all(&path).ok()?;
        Some(Self { path, unified: true })
    }

    /// Writes a value.
    pub(crate) fn set(&self, file: &str, value: &str) -> Option<()> {
        std::fs::write(self.path.join(file), value).ok()
    }

    /// Reads a value.
    pub(crate) fn get(&self, file: &str) -> Option<String> {
        Some(std::fs::read_to_string(self.path.join(file)).ok()?.trim().to_owned())
    }

    /// Moves a process into the group.
    pub(crate) fn add(&self, pid: u32) -> Option<()> {
        self.set("cgroup.procs", &pid.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group can be removed once its last process is gone; the kernel may take a moment for that.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.path).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
