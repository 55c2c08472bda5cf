//! Installing an app on a device, as `adb install` and `adb install-multiple` do.
//!
//! The requests are those of adb's client (AOSP packages/modules/adb, client/adb_install.cpp and
//! client/commandline.h, Android 13 and later):
//!
//! | device | one APK | several APKs of one app |
//! | --- | --- | --- |
//! | feature `abb_exec` (API 30) | `abb_exec:package␀install␀...␀-S␀SIZE`, then the file | a session by `abb_exec:` |
//! | feature `cmd` (API 24) | `exec:cmd package install ... -S SIZE`, then the file | a session by `exec:cmd package` |
//! | neither | `sync:` to /data/local/tmp, `pm install`, `rm` | a session by `exec:pm` (API 21) |
//!
//! adb tries an incremental install first if the device allows it; this module does not, since only APKs with a signature of
//! scheme v4 profit.

mod apk;
mod manager;
mod push;
mod session;

use std::path::PathBuf;
use std::time::Duration;

use crate::device::Device;
use crate::error::Error;
use crate::install_answer::InstallAnswer;
use apk::Apk;
use manager::PackageManager;

/// How an app is installed. An installed version is replaced, and an app that is marked `testOnly` is accepted (`-r -t`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The user for whom the app is installed; `None` for all users.
    pub user: Option<u32>,
    /// Grant all permissions that the manifest requests (`-g`, since Android 6).
    pub grant: bool,
    /// Accept a lower version code than that of the installed version (`-d`).
    pub downgrade: bool,
    /// If the installed version is signed with another key, uninstall it with its data for all users, and install again.
    pub uninstall_first: bool,
    /// The longest time for which the device may be silent while it takes data, verifies and installs.
    pub wait: Duration,
}

impl Options {
    /// Returns the options that `install` and `install-create` have in common.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["-r".to_owned(), "-t".to_owned()];
        words.extend(self.downgrade.then(|| "-d".to_owned()));
        words.extend(self.grant.then(|| "-g".to_owned()));
        if let Some(user) = self.user {
            words.extend(["--user".to_owned(), user.to_string()]);
        }
        words
    }
}

/// The way in which the files reached the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// One file, streamed to the package manager.
    Stream,
    /// Several files, streamed to a session of the package manager.
    Session,
    /// One file, copied to the device first (before Android 7).
    Push,
}

impl Way {
    /// The name that messages use for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Session => "session",
            Self::Push => "push",
        }
    }
}

/// What happens during an install.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// Bytes were sent.
    Sending {
        /// The file's name.
        name: &'a str,
        /// The bytes of all files that were sent so far.
        sent: u64,
        /// The bytes of all files.
        total: u64,
    },
    /// The device has all files, and verifies and installs them.
    Installing,
    /// The installed version was uninstalled, as [`Options::uninstall_first`] allows.
    Uninstalled {
        /// Its package.
        package: &'a str,
    },
    /// Something could not be removed from the device, which went away. The field says what, and how to remove it.
    LeftBehind(String),
}

/// Takes what happens during an install.
pub type Progress<'a> = &'a mut dyn FnMut(Step<'_>);

/// An installed app.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// The way in which it was installed.
    pub way: Way,
    /// The bytes of all APKs.
    pub bytes: u64,
    /// The package that was uninstalled before, as [`Options::uninstall_first`] allows.
    pub uninstalled: Option<String>,
}

/// Installs an app of one APK, or of a base APK and its splits. The files are streamed, not held in memory.
///
/// After an error, and if the stop flag of the device's timeouts is set, no session and no file stay on the device as long as
/// it is connected.
///
/// # Errors
/// [`Error::PackageManager`] if the device refuses, [`Error::Unreachable`] if it goes away, and others for a file
/// that cannot be sent.
pub fn install(
    device: &Device,
    apks: &[PathBuf],
    options: &Options,
    progress: Progress<'_>,
) -> Result<Installed, Error> {
    let apks: Vec<Apk> = apks.iter().map(|path| Apk::examine(path)).collect::<Result<_, _>>()?;
    let bytes = apks.iter().fold(0_u64, |sum, apk| sum.saturating_add(apk.size));
    let mut uninstalled = None;
    loop {
        match install_once(device, &apks, options, progress) {
            Ok(way) => return Ok(Installed { way, bytes, uninstalled }),
            Err(Error::PackageManager { doing, failure }) => {
                let package = failure.package().filter(|_| failure.needs_uninstall()).map(str::to_owned);
                match package.filter(|_| options.uninstall_first && uninstalled.is_none()) {
                    Some(package) => {
                        uninstall(device, &package, options.wait)?;
                        progress(Step::Uninstalled { package: &package });
                        uninstalled = Some(package);
                    }
                    None => return Err(Error::PackageManager { doing, failure }),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn install_once(
    device: &Device,
    apks: &[Apk],
    options: &Options,
    progress: Progress<'_>,
) -> Result<Way, Error> {
    let manager = PackageManager::new(device, options.wait);
    let (way, answer) = match apks {
        [apk] if manager.streams_one() => {
            let mut words = vec!["install".to_owned()];
            words.extend(options.words());
            // adb appends the size, so that no option before it counts.
            words.extend(["-S".to_owned(), apk.size.to_string()]);
            let mut sink = |sent| {
                progress(Step::Sending { name: &apk.name, sent, total: apk.size });
                if sent == apk.size {
                    progress(Step::Installing);
                }
            };
            (Way::Stream, manager.send(&words, apk, &mut sink)?)
        }
        [apk] => (Way::Push, push::install(device, apk, options, progress)?),
        apks => (Way::Session, session::install(&manager, apks, options, progress)?),
    };
    refused(answer, "install").map(|()| way)
}

/// Uninstalls an app with its data, for all users: with one user left, the old signature would still count.
fn uninstall(device: &Device, package: &str, wait: Duration) -> Result<(), Error> {
    let tool = if device.has_feature("cmd") { "cmd package" } else { "pm" };
    let output =
        manager::patient(device, wait).shell(&format!("{tool} uninstall {}", crate::quote(package)))?;
    refused(InstallAnswer::parse(&(output.stdout + &output.stderr)), "uninstall")
}

fn refused(answer: InstallAnswer, doing: &'static str) -> Result<(), Error> {
    match answer {
        InstallAnswer::Success { .. } => Ok(()),
        InstallAnswer::Failure(failure) => Err(Error::PackageManager { doing, failure }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_those_of_the_package_manager() {
        let wait = Duration::from_secs(1);
        let none = Options { user: None, grant: false, downgrade: false, uninstall_first: false, wait };
        assert_eq!(none.words(), ["-r", "-t"]);
        let all = Options { user: Some(10), grant: true, downgrade: true, ..none };
        assert_eq!(all.words(), ["-r", "-t", "-d", "-g", "--user", "10"]);
    }
}
