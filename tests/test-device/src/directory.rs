//! The files of a fake device, in a directory.
//!
//! ```text
//! system/bin/*              the programs, scripts over the files below
//! props                     `name=value` lines for getprop
//! users                     user ids, one per line
//! system.pftrace            what perfetto writes
//! full                      the disk is full if this file exists
//! page-size                 the output of getconf
//! install-answer            what the package manager answers to each install instead of installing
//! data/sessions/N/          an install session
//! data/app/PACKAGE/         an installed app: `debuggable`, `users`, `component`, `lib/*.so`, `start` (run by am), and if it was
//!                           installed from APKs these and `key`, `version`, `granted`
//! data/user/N/PACKAGE/      its files for user N
//! proc/PACKAGE              the pids of its processes
//! provider/PACKAGE/         the files of its content provider, if it has one
//! served/PACKAGE/           requests of `content` and `am broadcast` to a real app that a test runs
//! storage/emulated/N/       shared storage
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PROGRAMS: &[(&str, &str)] = &[
    ("am", include_str!("programs/am")),
    ("cmd", include_str!("programs/cmd")),
    ("content", include_str!("programs/content")),
    ("cp", include_str!("programs/cp")),
    ("df", include_str!("programs/df")),
    ("dumpsys", include_str!("programs/dumpsys")),
    ("getconf", include_str!("programs/getconf")),
    ("getprop", include_str!("programs/getprop")),
    ("packages", include_str!("programs/packages")),
    ("perfetto", include_str!("programs/perfetto")),
    ("pidof", include_str!("programs/pidof")),
    ("pm", include_str!("programs/pm")),
    ("rm", include_str!("programs/rm")),
    ("run-as", include_str!("programs/run-as")),
    ("served", include_str!("programs/served")),
];

/// The root of a device's files.
#[derive(Clone, Debug)]
pub struct DeviceDirectory {
    root: PathBuf,
}

/// An app to install.
#[derive(Clone, Copy, Debug)]
pub struct App<'a> {
    /// Its package.
    pub package: &'a str,
    /// Whether run-as accepts it.
    pub debuggable: bool,
    /// Whether it contains libanrscope.so.
    pub library: bool,
}

impl DeviceDirectory {
    /// Creates a phone with Android 14 and no apps in `root`.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn create(root: &Path) -> io::Result<Self> {
        let files = Self { root: std::path::absolute(root)? };
        for name in [
            "system/bin",
            "data/app",
            "data/user/0",
            "proc",
            "provider",
            "served",
            "storage/emulated/0",
            "data/local/tmp",
        ] {
            fs::create_dir_all(files.root.join(name))?;
        }
        for (name, text) in PROGRAMS {
            let path = files.root.join("system/bin").join(name);
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        files.write("props", "ro.build.version.sdk=34\nro.build.version.release=14\nro.product.cpu.abilist=arm64-v8a,armeabi-v7a\nro.product.model=Test\n")?;
        files.write("users", "0\n")?;
        files.write("page-size", "4096\n")?;
        Ok(files)
    }

    /// Installs an app for user 0.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn install(&self, app: App<'_>) -> io::Result<()> {
        let home = format!("data/app/{}", app.package);
        self.write(&format!("{home}/users"), "0\n")?;
        self.write(&format!("{home}/component"), format!("{}/.MainActivity\n", app.package))?;
        if app.debuggable {
            self.write(&format!("{home}/debuggable"), "")?;
        }
        fs::create_dir_all(self.root.join(&home).join("lib"))?;
        if app.library {
            self.write(&format!("{home}/lib/libanrscope.so"), "")?;
        }
        fs::create_dir_all(self.root.join("data/user/0").join(app.package))
    }

    /// Writes a file, and creates its parent directories.
    ///
    /// # Errors
    /// If that fails.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let path = self.path(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, content)
    }

    /// Returns the local path of a path on the device.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name.trim_start_matches('/'))
    }

    /// Returns the local path of the device's `/`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the device's name, which is that of the directory.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.root.join("full").exists()
    }
}
