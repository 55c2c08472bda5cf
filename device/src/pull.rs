//! A recording off a device, whole and checked, whatever the connection does.
//!
//! The recording of a process that lives is copied on the device first, since it changes while it is read; the copy is
//! removed at the end. The bytes go to `.NAME.part` beside the target, every piece behind the one before; a lost
//! connection goes on where it was lost, in this run or in the next one. The file gets its name when its sum is that
//! of the device.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::app::{App, NO_FOLDER, Place, Remote, column, complaint, complaint_in, is_plain};
use crate::cksum::Cksum;
use crate::connection::{Patience, Stop};
use crate::error::{Error, Fault};

/// Transfers go on at multiples of this, so that `dd` can jump there.
const PIECE: u64 = 4096;
/// The longest recording that [`pull`] takes, bytes: one has some 20 MB of rings and at most 192 MB of sections.
pub const MAX_RECORDING: u64 = 1 << 30;
/// What a file that is written to may grow by while it is read, bytes.
const GROWTH: u64 = 64 << 20;
/// How often in a row a connection may be lost without a byte having come.
const FRUITLESS: u32 = 10;

/// What happens meanwhile.
#[derive(Debug)]
pub enum Step<'a> {
    /// So many bytes are here, of so many.
    Bytes(u64, u64),
    /// The connection was lost; it goes on when the device is back.
    Lost(&'a Error),
}

/// What was pulled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pulled {
    /// Where it is.
    pub path: PathBuf,
    /// How long it is, bytes.
    pub bytes: u64,
    /// Its POSIX sum, as `cksum` prints it.
    pub sum: u32,
    /// Whether the same file was here already.
    pub already: bool,
    /// Whether its process lived.
    pub live: bool,
    /// Whether the sum was compared with the device's. A file that is written to, on a disk without room for a copy,
    /// has none.
    pub checked: bool,
    /// How often the connection was lost on the way.
    pub lost: u32,
    /// What was left on the device because it could not be reached any more.
    pub left_behind: Option<String>,
}

/// What is read on the device.
struct Original {
    /// The file's name there.
    name: String,
    sum: u32,
    size: u64,
    copied: bool,
    live: bool,
}

/// Pulls `remote` into `folder`, which is made if need be.
///
/// # Errors
/// If the device stays away, or refuses, or `folder` cannot be written to. If the connection was lost, what arrived stays in
/// `.NAME.part`, and the next pull goes on from there.
pub fn pull(
    app: &App,
    remote: &Remote,
    folder: &Path,
    told: &mut dyn FnMut(Step<'_>),
) -> Result<Pulled, Error> {
    pull_at_most(app, remote, folder, MAX_RECORDING, told)
}

/// [`pull`]s a recording of `limit` bytes at most: a device may say any length.
///
/// # Errors
/// Those of [`pull`], and [`Error::TooLarge`].
pub fn pull_at_most(
    app: &App,
    remote: &Remote,
    folder: &Path,
    limit: u64,
    told: &mut dyn FnMut(Step<'_>),
) -> Result<Pulled, Error> {
    // A public type may have been filled in by anybody.
    if !is_plain(&remote.name) {
        return Err(Error::link(format!("pulling {:?}", remote.name), Fault::Malformed("not a plain name")));
    }
    fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.into(), source })?;
    let original = prepare(app, remote, false)?;
    let mut result = fetch_and_remove(app, remote, &original, folder, limit, told);
    if matches!(result, Err(Error::WrongSum { .. })) && !original.copied && remote.sum.is_none() {
        // Perhaps a process writes to it that its name does not tell.
        let again = prepare(app, remote, true)?;
        if (again.sum, again.size) != (original.sum, original.size) {
            result = fetch_and_remove(app, remote, &again, folder, limit, told);
        } else if again.copied {
            remove(app, remote.place, &again.name);
        }
    }
    result
}

fn fetch_and_remove(
    app: &App,
    remote: &Remote,
    original: &Original,
    folder: &Path,
    limit: u64,
    told: &mut dyn FnMut(Step<'_>),
) -> Result<Pulled, Error> {
    let result = fetch(app, remote, original, folder, limit, told);
    if result.as_ref().is_err_and(|error| !error.is_lost() && !error.is_interrupt()) {
        // Only what a lost connection left is of use to the next pull.
        let _ = fs::remove_file(part_path(folder, remote));
    }
    let left = if original.copied { remove(app, remote.place, &original.name) } else { None };
    result.map(|pulled| Pulled { left_behind: left, ..pulled })
}

/// Says what is to be read. A copy is made of what a living process writes to, and if `changes`.
fn prepare(app: &App, remote: &Remote, changes: bool) -> Result<Original, Error> {
    if let Some(sum) = remote.sum {
        // A provider gives out what does not change.
        return Ok(Original {
            name: remote.name.clone(),
            sum,
            size: remote.size,
            copied: false,
            live: false,
        });
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let id = format!("{:x}-{now:x}", std::process::id());
    if remote.place == Place::Provider {
        return prepare_provided(app, remote, &id);
    }
    let copy = format!(".pull-{id}");
    let lives = match remote.pid() {
        _ if changes => "true".to_owned(),
        Some(pid) => format!("[ -d /proc/{pid} ]"),
        None => "false".to_owned(),
    };
    // Copies that an interrupted pull could not remove any more go now.
    let script = format!(
        "find . -name '.pull-*' -mmin +60 -exec rm -f '{{}}' ';' 2>/dev/null; \
         if {lives}; then if cp {name} {copy} 2>/dev/null; then echo copy; cksum {copy}; \
         else rm -f {copy}; echo live; cksum {name}; fi; else echo still; cksum {name}; fi",
        name = remote.name
    );
    let doing = || format!("reading {}", remote.name);
    let output = app.device().shell_again(&app.in_place(remote.place, &script))?;
    if output.code != 0 {
        let said = if output.code == NO_FOLDER { "the folder is gone".into() } else { output.said() };
        return Err(Error::Command { doing: doing(), code: output.code, said });
    }
    let mut words = output.stdout.split_whitespace();
    let kind = words.next();
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    let (sum, size) = (number(words.next()), number(words.next()));
    let (Some(kind), Some(sum), Some(size)) = (kind, sum.and_then(|sum| u32::try_from(sum).ok()), size)
    else {
        return Err(Error::link(
            format!("{}: the device said {:?}", doing(), output.stdout),
            Fault::Malformed("no sum came"),
        ));
    };
    let copied = kind == "copy";
    let name = if copied { copy } else { remote.name.clone() };
    Ok(Original { name, sum, size, copied, live: kind != "still" })
}

/// The same by the app's provider, which copies and sums by itself.
fn prepare_provided(app: &App, remote: &Remote, id: &str) -> Result<Original, Error> {
    let doing = || format!("reading {}", remote.name);
    let uri = app.uri(&format!("/{}?copy={id}", remote.name));
    let command = format!("content query {}--uri {uri}", app.user_option());
    let output = app.device().shell_again(&command)?;
    if let Some(said) = complaint(&output) {
        return Err(Error::Command { doing: doing(), code: output.code, said });
    }
    let row = output.stdout.lines().find(|line| line.starts_with("Row: ")).unwrap_or_default();
    let number = |name| column(row, name).and_then(|value| value.parse::<u64>().ok());
    let sum = number("cksum").and_then(|sum| u32::try_from(sum).ok());
    let of_row = (column(row, "name"), number("size"), sum, column(row, "state"));
    if let (Some(name), Some(size), Some(sum), Some(state)) = of_row {
        let copied = state == "copy";
        let expected = if copied { format!(".pull-{id}") } else { remote.name.clone() };
        if name == expected {
            return Ok(Original { name: expected, sum, size, copied, live: state != "still" });
        }
    }
    Err(Error::link(
        format!("{}: the provider said {:?}", doing(), output.stdout),
        Fault::Malformed("no row with a name, a sum and a state came"),
    ))
}

/// Removes the copy. Not even an interrupt keeps it from that.
fn remove(app: &App, place: Place, name: &str) -> Option<String> {
    let patience =
        Patience { silence: Duration::from_secs(5), absence: Duration::from_secs(10), stop: Stop::default() };
    let app = app.through(app.device().with_patience(patience));
    let command = match place {
        Place::Provider => {
            format!("content delete {}--uri {}", app.user_option(), app.uri(&format!("/{name}")))
        }
        _ => app.in_place(place, &format!("rm -f {name}")),
    };
    match app.device().shell_again(&command) {
        Ok(output) if output.code == 0 && complaint(&output).is_none() => None,
        _ => Some(name.to_owned()),
    }
}

/// Where a recording arrives.
fn part_path(folder: &Path, remote: &Remote) -> PathBuf {
    folder.join(format!(".{}.part", remote.name))
}

fn fetch(
    app: &App,
    remote: &Remote,
    original: &Original,
    folder: &Path,
    limit: u64,
    told: &mut dyn FnMut(Step<'_>),
) -> Result<Pulled, Error> {
    let path = folder.join(&remote.name);
    let pulled = |sum, already, checked, lost| Pulled {
        path: path.clone(),
        bytes: original.size,
        sum,
        already,
        live: original.live,
        checked,
        lost,
        left_behind: None,
    };
    if let Ok((sum, length)) = sum_of(&path)
        && (sum, length) == (original.sum, original.size)
    {
        return Ok(pulled(sum, true, true, 0));
    }
    if original.size > limit {
        return Err(Error::TooLarge { name: remote.name.clone(), size: original.size, limit });
    }
    let part = Part::open(part_path(folder, remote))?;
    let steady = original.copied || !original.live;
    if !steady || !begins_like(app, remote, original, &part)? {
        part.cut(0)?;
    }
    let mut lost = 0;
    for attempt in 0..2 {
        transfer(app, remote, original, &part, &mut lost, told)?;
        let (sum, length) = sum_of(&part.path).map_err(|source| part.failed(source))?;
        if !steady || (sum, length) == (original.sum, original.size) {
            part.file.sync_all().map_err(|source| part.failed(source))?;
            fs::rename(&part.path, &path).map_err(|source| Error::File { path: path.clone(), source })?;
            return Ok(Pulled { bytes: length, ..pulled(sum, false, steady, lost) });
        }
        part.cut(0)?;
        if attempt == 1 {
            let (actual, expected) = (sum, original.sum);
            return Err(Error::WrongSum { name: remote.name.clone(), actual, expected });
        }
    }
    unreachable!("the second attempt returns")
}

/// Brings all bytes that `part` does not have.
fn transfer(
    app: &App,
    remote: &Remote,
    original: &Original,
    part: &Part,
    lost: &mut u32,
    told: &mut dyn FnMut(Step<'_>),
) -> Result<(), Error> {
    let mut fruitless = 0;
    // A file that changes may grow, but none grows without end.
    let growth = if original.live && !original.copied { GROWTH } else { 0 };
    let most = original.size.saturating_add(growth);
    loop {
        let from = part.length()? / PIECE * PIECE;
        part.cut(from)?;
        let (mut at, mut too_long) = (from, None);
        let result = app.device().stream(&read_command(app, remote, original, from), &mut |bytes| {
            let end = at + bytes.len() as u64;
            if end > most {
                too_long = Some(end);
                return Err(io::Error::other("more came than the file holds"));
            }
            (&part.file).write_all(bytes).inspect_err(|_| at = u64::MAX)?;
            at += bytes.len() as u64;
            told(Step::Bytes(at, original.size));
            Ok(())
        });
        if let Some(size) = too_long {
            return Err(Error::TooLarge { name: remote.name.clone(), size, limit: most });
        }
        let error = match result {
            // A provider that refuses ends with 0 as well, and says so.
            Ok((0, said)) if remote.place != Place::Provider || complaint_in(&said).is_none() => {
                return Ok(());
            }
            Ok((code, said)) => {
                let said = said.lines().map(str::trim).collect::<Vec<_>>().join("; ");
                return Err(Error::Command { doing: format!("reading {}", remote.name), code, said });
            }
            // The disk of this machine, not the link.
            Err(Error::Link { fault: Fault::Io(source), .. }) if at == u64::MAX => {
                return Err(part.failed(source));
            }
            Err(error) if error.is_lost() => error,
            Err(error) => return Err(error),
        };
        *lost += 1;
        fruitless = if at / PIECE > from / PIECE { 0 } else { fruitless + 1 };
        if fruitless == FRUITLESS {
            return Err(error);
        }
        told(Step::Lost(&error));
        app.device().server().wait_for(app.device().serial())?;
    }
}

fn read_command(app: &App, remote: &Remote, original: &Original, from: u64) -> String {
    if remote.place == Place::Provider {
        let uri = app.uri(&format!("/{}?from={from}", original.name));
        return format!("content read {}--uri {uri}", app.user_option());
    }
    let skip = from / PIECE;
    app.in_place(remote.place, &format!("dd if={} bs={PIECE} skip={skip}", original.name))
}

/// Whether the part is the beginning of what the device has.
fn begins_like(app: &App, remote: &Remote, original: &Original, part: &Part) -> Result<bool, Error> {
    let length = part.length()? / PIECE * PIECE;
    if length == 0 || length > original.size || remote.place == Place::Provider {
        // What a provider gives is checked at the end.
        return Ok(length <= original.size);
    }
    part.cut(length)?;
    let here = sum_of(&part.path).map_err(|source| part.failed(source))?;
    let script = format!("dd if={} bs={PIECE} count={} 2>/dev/null | cksum", original.name, length / PIECE);
    let output = app.device().shell_again(&app.in_place(remote.place, &script))?;
    let mut words = output.stdout.split_whitespace().map(str::parse::<u64>);
    let there = (words.next(), words.next());
    Ok(matches!(there, (Some(Ok(sum)), Some(Ok(n))) if (sum, n) == (u64::from(here.0), here.1)))
}

struct Part {
    path: PathBuf,
    file: File,
}

impl Part {
    fn open(path: PathBuf) -> Result<Self, Error> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        match options.open(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::File { path: self.path.clone(), source }
    }

    fn length(&self) -> Result<u64, Error> {
        self.file.metadata().map(|meta| meta.len()).map_err(|source| self.failed(source))
    }

    /// Shortens it to `length`, and goes there.
    fn cut(&self, length: u64) -> Result<(), Error> {
        self.file
            .set_len(length)
            .and_then(|()| (&self.file).seek(SeekFrom::Start(length)))
            .map(|_| ())
            .map_err(|source| self.failed(source))
    }
}

fn sum_of(path: &Path) -> io::Result<(u32, u64)> {
    let mut file = File::open(path)?;
    let mut sum = Cksum::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.finish()),
            n => sum.add(&buffer[..n]),
        }
    }
}
