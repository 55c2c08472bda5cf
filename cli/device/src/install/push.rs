//! Installing on systems before Android 7, whose package manager reads APKs only from the device's own files.

use std::io::{self, Read};
use std::time::Duration;

use crate::device::{Device, unique_name};
use crate::error::Error;
use crate::install::apk::{Apk, Content};
use crate::install::manager::{broken, clean_up, patient, share};
use crate::install::{Options, Progress, Step};
use crate::install_answer::InstallAnswer;
use crate::quote::quote;

/// The directory to which the shell may write and from which the package manager may read; adb uses it too.
const DIRECTORY: &str = "/data/local/tmp";

/// Copies the APK to the device, installs it, and removes the copy.
pub(super) fn install(
    device: &Device,
    apk: &Apk,
    options: &Options,
    progress: Progress<'_>,
) -> Result<InstallAnswer, Error> {
    let path = format!("{DIRECTORY}/anrscope-{}.apk", unique_name());
    let answer = copy(device, apk, &path, options.wait, progress).and_then(|()| {
        progress(Step::Installing);
        let words: Vec<String> = options.words().iter().map(|word| quote(word)).collect();
        let output = patient(device, options.wait).shell(&format!(
            "pm install {} {}",
            words.join(" "),
            quote(&path)
        ))?;
        Ok(InstallAnswer::parse(&(output.stdout + &output.stderr)))
    });
    if let Some(left) = remove(device, &path) {
        progress(Step::LeftBehind(left));
    }
    answer
}

/// An APK's content as a reader that reports its progress. An error of the file is kept, since the reader's user cannot.
struct Reporting<'a, 'b> {
    content: Content<'a>,
    sent: u64,
    report: &'b mut dyn FnMut(u64),
    error: Option<Error>,
}

impl Read for Reporting<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.content.next(buffer) {
            Ok(n) => {
                self.sent = self.sent.saturating_add(n as u64);
                (self.report)(self.sent);
                Ok(n)
            }
            Err(error) => {
                self.error = Some(error);
                Err(io::Error::other("the file cannot be read"))
            }
        }
    }
}

fn copy(device: &Device, apk: &Apk, path: &str, wait: Duration, progress: Progress<'_>) -> Result<(), Error> {
    let mut report = |sent| progress(Step::Sending { name: &apk.name, sent, total: apk.size });
    let mut from = Reporting { content: apk.open()?, sent: 0, report: &mut report, error: None };
    let sent = patient(device, wait).files()?.send(path, 0o644, &mut from);
    let (done, error) = (from.sent, from.error);
    sent.map_err(|fault| {
        let doing = format!("it received {} ({} sent)", apk.name, share(done, apk.size));
        error.unwrap_or_else(|| broken(device, wait, &doing, fault))
    })
}

/// Removes the copy, even after Ctrl-C. Returns a text about it if the device cannot be reached.
fn remove(device: &Device, path: &str) -> Option<String> {
    // The shell's standard input is closed or empty: the rm of Android 5 would ask before it removes a read-only file.
    let removed = clean_up(device, |device| device.shell(&format!("rm -f {} </dev/null", quote(path))));
    removed.is_err().then(|| {
        format!(
            "{path} is left on device {}, which went away: remove it with `adb shell rm {path}`",
            device.serial()
        )
    })
}
