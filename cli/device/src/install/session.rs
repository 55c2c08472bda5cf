//! A session of the package manager, which takes the APKs of an app one after the other.

use crate::error::Error;
use crate::install::apk::Apk;
use crate::install::manager::{CLEANUP_TIMEOUT, PackageManager, clean_up};
use crate::install::{Options, Progress, Step, refused};
use crate::install_answer::InstallAnswer;

/// Installs the APKs. A session that was not committed is abandoned.
pub(super) fn install(
    manager: &PackageManager<'_>,
    apks: &[Apk],
    options: &Options,
    progress: Progress<'_>,
) -> Result<InstallAnswer, Error> {
    let total = apks.iter().fold(0_u64, |sum, apk| sum.saturating_add(apk.size));
    let id = create(manager, total, options)?;
    let answer = fill(manager, id, apks, total, progress).and_then(|()| {
        progress(Step::Installing);
        manager.run(&["install-commit".to_owned(), id.to_string()], "it installed the app")
    });
    if !matches!(answer, Ok(InstallAnswer::Success { .. }))
        && let Some(left) = abandon(manager, id)
    {
        progress(Step::LeftBehind(left));
    }
    answer
}

fn create(manager: &PackageManager<'_>, total: u64, options: &Options) -> Result<u32, Error> {
    let mut words = vec!["install-create".to_owned(), "-S".to_owned(), total.to_string()];
    words.extend(options.words());
    match manager.run(&words, "it created a session")? {
        InstallAnswer::Success { session: Some(id) } => Ok(id),
        InstallAnswer::Success { session: None } => {
            let expected = "Success: created install session [ID]";
            Err(Error::unexpected("creating an install session", "Success without an id", expected))
        }
        failure => refused(failure, "install").map(|()| 0),
    }
}

fn fill(
    manager: &PackageManager<'_>,
    id: u32,
    apks: &[Apk],
    total: u64,
    progress: Progress<'_>,
) -> Result<(), Error> {
    let mut before = 0_u64;
    for (number, apk) in apks.iter().enumerate() {
        let (size, id, name) = (apk.size.to_string(), id.to_string(), apk.name_in_session(number));
        let words = ["install-write", "-S", &size, &id, &name, "-"].map(str::to_owned);
        let mut sink = |sent: u64| {
            progress(Step::Sending { name: &apk.name, sent: before.saturating_add(sent), total });
        };
        refused(manager.send(&words, apk, &mut sink)?, "install")?;
        before = before.saturating_add(apk.size);
    }
    Ok(())
}

/// Abandons the session, even after Ctrl-C. Returns a text about it if the device cannot be reached.
fn abandon(manager: &PackageManager<'_>, id: u32) -> Option<String> {
    let words = ["install-abandon".to_owned(), id.to_string()];
    let abandoned = clean_up(manager.device, |device| {
        // A session that the device has ended itself is unknown to it: any answer will do.
        PackageManager::new(device, CLEANUP_TIMEOUT).run(&words, "it abandoned the session")
    });
    // PackageInstallerService.MAX_AGE_MILLIS (AOSP, API 21 to 36).
    abandoned.is_err().then(|| {
        format!(
            "install session {id} is left on device {}: Android removes it after three days, or run `adb shell pm \
             install-abandon {id}`",
            manager.device.serial()
        )
    })
}
