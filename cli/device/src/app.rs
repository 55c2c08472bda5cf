//! An app of one user on a device, and where its recordings are.

use crate::device::{Device, Output};
use crate::error::{Error, Fault};
use crate::quote::quote;

/// The most recordings read from one list; the rest are ignored.
const MAX_LISTED_RECORDINGS: usize = 10_000;

/// A location on the device where recordings are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The app's private directory (`no_backup/anrscope`), read through `run-as`; needs a debuggable app.
    Private,
    /// The app's content provider, which serves recordings to the shell.
    Provider,
    /// The app's directory on shared storage (`Android/data/PACKAGE/files/anrscope`).
    External,
}

impl Place {
    /// All locations, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Private, Self::Provider, Self::External];

    /// The name that messages use for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "run-as",
            Self::Provider => "content provider",
            Self::External => "external files",
        }
    }
}

/// A recording on a device.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// The file's name: letters, digits, `.`, `_` and `-` only.
    pub name: String,
    /// Its size, bytes.
    pub size: u64,
    /// When it was last modified, seconds since 1970 by the device's clock. A mapped file's time may lag behind.
    pub modified: u64,
    /// Where it is stored.
    pub place: Place,
    /// Its checksum, where the list contains it.
    pub(crate) sum: Option<u32>,
}

impl Remote {
    /// Returns the pid in its name, which is that of the process that wrote it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let stem = self.name.strip_suffix(".anrscope")?;
        let last = stem.rsplit_once('-')?.1;
        last.split('.').next()?.parse().ok()
    }
}

/// The recordings of one location.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct RecordingList {
    /// The location.
    pub place: Place,
    /// Its recordings, newest first.
    pub recordings: Vec<Remote>,
    /// Files that were skipped because their names contain other characters.
    pub rejected: Vec<String>,
}

/// An app of one user on a device.
#[derive(Clone, Debug)]
pub struct App {
    device: Device,
    package: String,
    user: u32,
}

impl App {
    /// Creates a handle to the app `package` of `user` on `device`. The app need not be installed.
    ///
    /// # Errors
    /// If `package` is not a valid package name.
    pub fn new(device: Device, package: &str, user: u32) -> Result<Self, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        if package.is_empty() || package.starts_with('.') || !package.chars().all(plain) {
            let expected = "a package is letters, digits, dots and underscores";
            return Err(Error::bad_name("a package", package, expected));
        }
        Ok(Self { device, package: package.into(), user })
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the package name.
    #[must_use]
    pub fn package(&self) -> &str {
        &self.package
    }

    /// Returns the user, 0 for the first.
    #[must_use]
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Returns the same app with another handle of its device, such as one with other timeouts.
    pub(crate) fn through(&self, device: Device) -> Self {
        Self { device, ..self.clone() }
    }

    /// Returns `--user N `, or nothing for the first user.
    pub(crate) fn user_option(&self) -> String {
        if self.user == 0 { String::new() } else { format!("--user {} ", self.user) }
    }

    /// Returns the shell command that runs `script` as the app, in its data directory.
    #[must_use]
    pub fn run_as(&self, script: &str) -> String {
        format!("run-as {} {}sh -c {}", self.package, self.user_option(), quote(script))
    }

    /// Returns the pids of the running processes that have the package's name.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn pids(&self) -> Result<Vec<u32>, Error> {
        let output = self.device.shell_again(&format!("pidof {}", self.package))?;
        Ok(output.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }

    /// Lists the recordings of all locations that can be read.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn recording_lists(&self) -> Result<Vec<RecordingList>, Error> {
        Place::ALL
            .into_iter()
            .filter_map(|place| self.recording_list(place).map(Result::ok).transpose())
            .collect()
    }

    /// Lists the recordings of the first location that has any.
    ///
    /// # Errors
    /// If the connection breaks, or no location can be read; the error then has the reason for each.
    pub fn recordings(&self) -> Result<RecordingList, Error> {
        let (mut empty, mut reasons) = (None, Vec::new());
        for place in Place::ALL {
            match self.recording_list(place)? {
                Ok(list) if !list.recordings.is_empty() => return Ok(list),
                Ok(list) => empty = empty.or(Some(list)),
                Err(reason) => reasons.push(format!("{}: {reason}", place.name())),
            }
        }
        empty.ok_or_else(|| {
            let doing = format!("looking for recordings of {} (user {})", self.package, self.user);
            Error::link(doing, Fault::Refused(reasons.join("; ")))
        })
    }

    /// Lists the recordings of the processes `pids`, in the first location that has any recording.
    ///
    /// # Errors
    /// Like [`recordings`](Self::recordings).
    pub fn recordings_of(&self, pids: &[u32]) -> Result<Vec<Remote>, Error> {
        let mut found = self.recordings()?.recordings;
        found.retain(|remote| remote.pid().is_some_and(|pid| pids.contains(&pid)));
        Ok(found)
    }

    /// Lists the recordings of one location, or returns the device's message if it cannot be read.
    fn recording_list(&self, place: Place) -> Result<Result<RecordingList, String>, Error> {
        let output = self.device.shell_again(&match place {
            Place::Provider => self.content("query", ""),
            _ => self.in_place(
                place,
                "for f in *.anrscope; do if [ -f \"$f\" ]; then stat -c '%s %Y %n' -- \"$f\"; fi; done; exit 0",
            ),
        })?;
        let reason = match place {
            // Without the directory there is no output, and so no recording.
            _ if output.code == NO_DIRECTORY && output.stderr.trim().is_empty() => None,
            _ if output.code != 0 => Some(output.message()),
            Place::Provider => content_error(&output),
            _ => None,
        };
        if let Some(reason) = reason {
            return Ok(Err(reason));
        }
        let lines = output.stdout.lines().take(MAX_LISTED_RECORDINGS);
        let listed = lines.filter_map(|line| match place {
            Place::Provider => row(line),
            _ => stat_line(line, place),
        });
        let (mut recordings, rejected): (Vec<_>, Vec<_>) = listed.partition(|remote| is_plain(&remote.name));
        recordings.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name)));
        let rejected = rejected.into_iter().map(|remote| remote.name).collect();
        Ok(Ok(RecordingList { place, recordings, rejected }))
    }

    /// Returns the command that asks the app's provider about `path` below its `recordings`; `verb` is one of the program
    /// `content`.
    pub(crate) fn content(&self, verb: &str, path: &str) -> String {
        let uri = quote(&format!("content://{}.anrscope/recordings{path}", self.package));
        format!("content {verb} {}--uri {uri}", self.user_option())
    }

    /// Returns the command that runs `script` in the directory of `place`; it exits with [`NO_DIRECTORY`] if that does not exist.
    pub(crate) fn in_place(&self, place: Place, script: &str) -> String {
        match place {
            Place::Private => {
                self.run_as(&format!("cd no_backup/anrscope 2>/dev/null || exit {NO_DIRECTORY}; {script}"))
            }
            Place::Provider | Place::External => {
                // Android sets the variable, to /storage.
                let directory = format!(
                    "\"${{ANDROID_STORAGE:-/storage}}/emulated/{}/Android/data/{}/files/anrscope\"",
                    self.user, self.package
                );
                format!("cd {directory} 2>/dev/null || exit {NO_DIRECTORY}; {script}")
            }
        }
    }
}

/// The exit code of a script whose directory does not exist.
pub(crate) const NO_DIRECTORY: i32 = 66;

/// Returns the error that `content` reports, on one line. It may report on either stream and still exit with 0.
pub(crate) fn content_error(output: &Output) -> Option<String> {
    let reported = content_error_in(&output.stderr).or_else(|| content_error_in(&output.stdout));
    reported.or_else(|| (output.code != 0).then(|| output.message()))
}

/// Returns the error in one of its streams: the exception's line, without the stack trace that follows it.
pub(crate) fn content_error_in(text: &str) -> Option<String> {
    let marks = ["Exception: ", "Exception", "Could not find provider", "[ERROR]"];
    let line = marks.iter().find_map(|mark| text.lines().find(|line| line.contains(mark)));
    line.map(|line| line.trim().to_owned())
}

/// Returns whether `name` is safe to use as a file name on this machine.
pub(crate) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.len() <= 128
        && !name.starts_with(['.', '-'])
        && name.ends_with(".anrscope")
        && name.chars().all(plain)
}

fn stat_line(line: &str, place: Place) -> Option<Remote> {
    let (size, rest) = line.split_once(' ')?;
    let (modified, name) = rest.split_once(' ')?;
    let (size, modified) = (size.parse().ok()?, modified.parse().ok()?);
    Some(Remote { name: name.to_owned(), size, modified, place, sum: None })
}

/// Returns the value of a column in `Row: 0 name=..., size=..., modified=...`.
pub(crate) fn column<'a>(line: &'a str, wanted: &str) -> Option<&'a str> {
    let fields = line.strip_prefix("Row: ")?.split_once(' ')?.1;
    let mut fields = fields.split(", ").filter_map(|field| field.split_once('='));
    fields.find(|(key, _)| *key == wanted).map(|(_, value)| value.trim())
}

/// Parses a line of the provider's list. A provider that lists checksums serves files that do not change.
fn row(line: &str) -> Option<Remote> {
    Some(Remote {
        name: column(line, "name")?.to_owned(),
        size: column(line, "size")?.parse().ok()?,
        modified: column(line, "modified")?.parse().ok()?,
        place: Place::Provider,
        sum: column(line, "cksum").and_then(|sum| sum.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_escape_the_directory_are_rejected() {
        assert!(is_plain("com.example.app-123.anrscope") && is_plain("x_y-1.2.anrscope"));
        for name in [
            "../x.anrscope",
            "a/b.anrscope",
            ".x.anrscope",
            "x",
            "x y.anrscope",
            "C:x.anrscope",
            "é.anrscope",
        ] {
            assert!(!is_plain(name), "{name}");
        }
        assert!(!is_plain(&format!("{}.anrscope", "x".repeat(128))));
    }

    #[test]
    fn rows_and_lines_are_parsed_and_invalid_ones_are_skipped() {
        let remote = row("Row: 0 name=a-7.anrscope, size=12, modified=34, cksum=56").unwrap();
        assert_eq!((remote.size, remote.modified, remote.sum, remote.pid()), (12, 34, Some(56), Some(7)));
        let remote = row("Row: 1 name=a-7.anrscope, size=12, modified=34, live=1").unwrap();
        assert_eq!((remote.size, remote.sum), (12, None));
        let remote = stat_line("12 34 a b-8.1.anrscope", Place::Private).unwrap();
        assert_eq!((remote.name.as_str(), remote.pid()), ("a b-8.1.anrscope", Some(8)));
        for line in ["", "Row: ", "Row: 0 name=a", "No result found.", "x y z"] {
            assert!(row(line).is_none() && stat_line(line, Place::Private).is_none(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_parsed_or_skipped(line in ".{0,80}") {
            let _ = (row(&line), row(&format!("Row: 1 {line}")), stat_line(&line, Place::External));
        }
    }
}
