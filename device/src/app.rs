//! An app of a user on a device, and where its recordings lie.

use crate::device::{Device, Output};
use crate::error::{Error, Fault};
use crate::quote::quote;

/// The longest list of recordings that is taken.
const MOST: usize = 10_000;

/// Where recordings lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The app's own folder (`no_backup/anrscope`), through run-as: for apps that can be debugged.
    Private,
    /// What the app's content provider gives to the shell.
    Provider,
    /// The app's folder on the shared storage (`Android/data/PACKAGE/files/anrscope`).
    External,
}

impl Place {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 3] = [Self::Private, Self::Provider, Self::External];

    /// How a user is told of it.
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// The file's name, plain: letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// When it was last written to, seconds since 1970 by the device's clock. A mapped file's time may lag.
    pub modified: u64,
    /// Where it lies.
    pub place: Place,
    /// Its sum, where the place tells it beforehand.
    pub(crate) sum: Option<u32>,
}

impl Remote {
    /// The pid in its name, of the process that wrote it.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let stem = self.name.strip_suffix(".anrscope")?;
        let last = stem.rsplit_once('-')?.1;
        last.split('.').next()?.parse().ok()
    }
}

/// What one place holds.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// Which one.
    pub place: Place,
    /// Its recordings, the newest first; or why it cannot be looked at, in the device's words.
    pub recordings: Result<Vec<Remote>, String>,
    /// Names that are not taken, because they are not plain.
    pub strange: Vec<String>,
}

/// An app.
#[derive(Clone, Debug)]
pub struct App {
    device: Device,
    package: String,
    user: u32,
}

impl App {
    /// The app `package` of `user` on `device`.
    ///
    /// # Errors
    /// If that is no package's name.
    pub fn new(device: Device, package: &str, user: u32) -> Result<Self, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        if package.is_empty() || package.starts_with('.') || !package.chars().all(plain) {
            let what = Fault::Malformed("a package is letters, digits, dots and underscores");
            return Err(Error::link(format!("looking for the app {package:?}"), what));
        }
        Ok(Self { device, package: package.into(), user })
    }

    /// Its device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its package.
    #[must_use]
    pub fn package(&self) -> &str {
        &self.package
    }

    /// Its user, 0 for the first.
    #[must_use]
    pub fn user(&self) -> u32 {
        self.user
    }

    /// The same app through a device with other waits.
    pub(crate) fn through(&self, device: Device) -> Self {
        Self { device, ..self.clone() }
    }

    /// `--user N `, where it is not the first.
    pub(crate) fn user_option(&self) -> String {
        if self.user == 0 { String::new() } else { format!("--user {} ", self.user) }
    }

    /// The command that runs `script` as the app, in its folder.
    #[must_use]
    pub fn run_as(&self, script: &str) -> String {
        format!("run-as {} {}sh -c {}", self.package, self.user_option(), quote(script))
    }

    /// The processes of it that live, of the package's own name.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn pids(&self) -> Result<Vec<u32>, Error> {
        let output = self.device.shell_again(&format!("pidof {}", self.package))?;
        Ok(output.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }

    /// What all places hold.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn shelves(&self) -> Result<Vec<Shelf>, Error> {
        Place::ALL.iter().map(|place| self.shelf(*place)).collect()
    }

    /// The recordings of the first place that has any.
    ///
    /// # Errors
    /// If the connection breaks, or no place can be looked at; the error has the reasons of each.
    pub fn recordings(&self) -> Result<Shelf, Error> {
        let (mut empty, mut reasons) = (None, Vec::new());
        for place in Place::ALL {
            let shelf = self.shelf(place)?;
            match &shelf.recordings {
                Ok(recordings) if !recordings.is_empty() => return Ok(shelf),
                Ok(_) => empty = empty.or(Some(shelf)),
                Err(reason) => reasons.push(format!("{}: {reason}", place.name())),
            }
        }
        empty.ok_or_else(|| {
            let doing = format!("looking for recordings of {} (user {})", self.package, self.user);
            Error::link(doing, Fault::Refused(reasons.join("; ")))
        })
    }

    /// What one place holds.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn shelf(&self, place: Place) -> Result<Shelf, Error> {
        let output = self.device.shell_again(&match place {
            Place::Provider => {
                format!("content query {}--uri {}", self.user_option(), self.uri(""))
            }
            _ => self.in_place(
                place,
                "for f in *.anrscope; do if [ -f \"$f\" ]; then stat -c '%s %Y %n' -- \"$f\"; fi; done; exit 0",
            ),
        })?;
        let mut strange = Vec::new();
        let mut take = |remote: Remote| {
            if is_plain(&remote.name) {
                Some(remote)
            } else {
                strange.push(remote.name);
                None
            }
        };
        let recordings = match place {
            _ if output.code == NO_FOLDER && output.stderr.trim().is_empty() => Ok(Vec::new()),
            _ if output.code != 0 => Err(output.said()),
            Place::Provider => match complaint(&output) {
                Some(complaint) => Err(complaint),
                None => Ok(output.stdout.lines().take(MOST).filter_map(row).filter_map(&mut take).collect()),
            },
            _ => {
                let lines = output.stdout.lines().take(MOST);
                Ok(lines.filter_map(|line| stat_line(line, place)).filter_map(&mut take).collect())
            }
        };
        let recordings = recordings.map(|mut recordings: Vec<Remote>| {
            recordings.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name)));
            recordings
        });
        Ok(Shelf { place, recordings, strange })
    }

    /// What the provider has under this path, after `recordings`.
    pub(crate) fn uri(&self, path: &str) -> String {
        quote(&format!("content://{}.anrscope/recordings{path}", self.package))
    }

    /// The command that runs `script` in the folder of `place`; it exits with [`NO_FOLDER`] if there is none.
    pub(crate) fn in_place(&self, place: Place, script: &str) -> String {
        match place {
            Place::Private => {
                self.run_as(&format!("cd no_backup/anrscope 2>/dev/null || exit {NO_FOLDER}; {script}"))
            }
            Place::Provider | Place::External => {
                // The variable is Android's own, and /storage there.
                let folder = format!(
                    "\"${{ANDROID_STORAGE:-/storage}}/emulated/{}/Android/data/{}/files/anrscope\"",
                    self.user, self.package
                );
                format!("cd {folder} 2>/dev/null || exit {NO_FOLDER}; {script}")
            }
        }
    }
}

/// The exit code of a script whose folder is not there.
pub(crate) const NO_FOLDER: i32 = 66;

/// What `content` complains of, on one line: it reports on either stream, and exits with 0.
pub(crate) fn complaint(output: &Output) -> Option<String> {
    let told = complaint_in(&output.stderr).or_else(|| complaint_in(&output.stdout));
    told.or_else(|| (output.code != 0).then(|| output.said()))
}

/// The same in one of its streams: the exception's line, if there is one; a stack follows, which says nothing more.
pub(crate) fn complaint_in(text: &str) -> Option<String> {
    let marks = ["Exception: ", "Exception", "Could not find provider", "[ERROR]"];
    let line = marks.iter().find_map(|mark| text.lines().find(|line| line.contains(mark)));
    line.map(|line| line.trim().to_owned())
}

/// Whether a name may become a file of this machine.
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

/// The value of a column in `Row: 0 name=..., size=..., modified=...`.
pub(crate) fn column<'a>(line: &'a str, wanted: &str) -> Option<&'a str> {
    let fields = line.strip_prefix("Row: ")?.split_once(' ')?.1;
    let mut fields = fields.split(", ").filter_map(|field| field.split_once('='));
    fields.find(|(key, _)| *key == wanted).map(|(_, value)| value.trim())
}

/// A recording of the provider's list. One that also tells sums gives out what does not change.
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
    fn names_that_lead_elsewhere_are_not_taken() {
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
    fn rows_and_lines_are_read_and_what_is_none_is_left_out() {
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
        fn any_line_is_read_or_left_out(line in ".{0,80}") {
            let _ = (row(&line), row(&format!("Row: 1 {line}")), stat_line(&line, Place::External));
        }
    }
}
