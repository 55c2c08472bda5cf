//! Copies a recording from a device, complete and verified, over unreliable connections.
//!
//! The recording of a running process is copied on the device first, since it changes while it is read; the copy is
//! removed at the end. The bytes are appended to `.NAME.part` beside the target. After a lost connection the transfer
//! resumes at the same offset, in this run or in the next one. The file gets its final name once its checksum equals
//! that on the device.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::app::{App, NO_DIRECTORY, Place, Remote, column, content_error, content_error_in, is_plain};
use crate::cksum::Cksum;
use crate::connection::{Stop, Timeouts};
use crate::device::unique_name;
use crate::error::{Error, Fault};

/// Transfers resume at multiples of this, bytes, so that `dd` can skip whole blocks.
const BLOCK_SIZE: u64 = 4096;
/// The longest recording that [`pull`] accepts, bytes. Rings have some 20 MB and sections at most 192 MB.
pub const MAX_RECORDING: u64 = 1 << 30;
/// The most that a file may grow while it is read, bytes.
const MAX_GROWTH: u64 = 64 << 20;
/// How many times in a row the connection may be lost without progress before the transfer fails.
const MAX_STALLED_RETRIES: u32 = 10;

/// The progress of a transfer.
#[derive(Debug)]
pub enum Step<'a> {
    /// Bytes that have arrived, and the expected total.
    Bytes(u64, u64),
    /// The connection was lost; the transfer resumes when the device is back.
    Lost(&'a Error),
}

/// Takes the progress of a transfer.
pub type OnStep<'a> = &'a mut dyn FnMut(Step<'_>);

/// A recording that was pulled.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pulled {
    /// The path of the local file.
    pub path: PathBuf,
    /// Its length, bytes.
    pub bytes: u64,
    /// Its POSIX checksum, as `cksum` prints it.
    pub sum: u32,
    /// Whether the file existed already with the same content.
    pub already: bool,
    /// Whether its process was running.
    pub live: bool,
    /// Whether the checksum was compared with the device's. A file that is still written to has none if the disk had
    /// no room for a copy.
    pub checked: bool,
    /// How many times the connection was lost.
    pub lost: u32,
    /// The copy that could not be removed from the device, if any.
    pub left_behind: Option<String>,
}

/// The file that is read on the device: the recording or a copy of it.
struct Original {
    /// The file's name there.
    name: String,
    sum: u32,
    size: u64,
    copied: bool,
    live: bool,
}

/// Pulls `remote` into `directory`, which is created if necessary: at most `limit` bytes, even if the device reports a
/// smaller length.
///
/// # Errors
/// If the device does not reconnect or refuses, `directory` cannot be written to, or the recording is longer than
/// `limit`. After a lost connection the bytes that arrived stay in `.NAME.part`, and the next pull resumes there.
pub fn pull(
    app: &App,
    remote: &Remote,
    directory: &Path,
    limit: u64,
    on_step: OnStep<'_>,
) -> Result<Pulled, Error> {
    // The fields of `Remote` are public.
    if !is_plain(&remote.name) {
        let expected = "a recording is letters, digits, `.`, `_` and `-`, and ends in .anrscope";
        return Err(Error::bad_name("a recording", &remote.name, expected));
    }
    fs::create_dir_all(directory).map_err(|source| Error::File { path: directory.into(), source })?;
    let pull = Pull { app, remote, directory, limit };
    let original = pull.prepare(false)?;
    let mut result = pull.fetch_and_remove(&original, on_step);
    if matches!(result, Err(Error::WrongSum { .. })) && !original.copied && remote.sum.is_none() {
        // A process whose pid is not in the file's name may be writing to it.
        let again = pull.prepare(true)?;
        if (again.sum, again.size) != (original.sum, original.size) {
            result = pull.fetch_and_remove(&again, on_step);
        } else if again.copied {
            pull.remove(&again.name);
        }
    }
    result
}

/// A recording that is pulled.
struct Pull<'a> {
    app: &'a App,
    remote: &'a Remote,
    directory: &'a Path,
    limit: u64,
}

impl Pull<'_> {
    fn fetch_and_remove(&self, original: &Original, on_step: OnStep<'_>) -> Result<Pulled, Error> {
        let result = self.fetch(original, on_step);
        if result.as_ref().is_err_and(|error| !error.is_lost() && !error.is_interrupt()) {
            // The next pull can resume only after a lost connection.
            let _ = fs::remove_file(self.part_path());
        }
        let left_behind = if original.copied { self.remove(&original.name) } else { None };
        result.map(|pulled| Pulled { left_behind, ..pulled })
    }

    /// Returns the file to read. The recording is copied if its process is running, or if `changes` is set.
    fn prepare(&self, changes: bool) -> Result<Original, Error> {
        if let Some(sum) = self.remote.sum {
            // A provider that lists checksums serves files that do not change.
            return Ok(Original {
                name: self.remote.name.clone(),
                sum,
                size: self.remote.size,
                copied: false,
                live: false,
            });
        }
        let id = unique_name();
        if self.remote.place == Place::Provider {
            return self.prepare_provided(&id);
        }
        let copy = format!(".pull-{id}");
        let lives = match self.remote.pid() {
            _ if changes => "true".to_owned(),
            Some(pid) => format!("[ -d /proc/{pid} ]"),
            None => "false".to_owned(),
        };
        // Also removes copies that an interrupted pull left behind.
        let script = format!(
            "find . -name '.pull-*' -mmin +60 -exec rm -f '{{}}' ';' 2>/dev/null; \
             if {lives}; then if cp {name} {copy} 2>/dev/null; then echo copy; cksum {copy}; \
             else rm -f {copy}; echo live; cksum {name}; fi; else echo still; cksum {name}; fi",
            name = self.remote.name
        );
        let output = self.app.device().shell_again(&self.app.in_place(self.remote.place, &script))?;
        if output.code != 0 {
            let message = if output.code == NO_DIRECTORY {
                "the directory does not exist any more".into()
            } else {
                output.message()
            };
            return Err(Error::command(self.doing(), output.code, message));
        }
        let mut words = output.stdout.split_whitespace();
        let original = self.original(copy, [words.next(), words.next(), words.next()]);
        original.ok_or_else(|| Error::unexpected(&self.doing(), &output.stdout, "a checksum and a length"))
    }

    /// Returns the file to read from the app's provider, which makes copies and checksums itself.
    fn prepare_provided(&self, id: &str) -> Result<Original, Error> {
        let command = self.app.content("query", &format!("/{}?copy={id}", self.remote.name));
        let output = self.app.device().shell_again(&command)?;
        if let Some(message) = content_error(&output) {
            return Err(Error::command(self.doing(), output.code, message));
        }
        let row = output.stdout.lines().find(|line| line.starts_with("Row: ")).unwrap_or_default();
        let columns = ["state", "cksum", "size"].map(|name| column(row, name));
        let original = self.original(format!(".pull-{id}"), columns);
        let original = original.filter(|original| column(row, "name") == Some(original.name.as_str()));
        let expected = "a row with a name, a size, a checksum and a state";
        original.ok_or_else(|| Error::unexpected(&self.doing(), &output.stdout, expected))
    }

    /// Returns the file to read, from what the device says after it has made the `copy`, or not: the state of the recording, its
    /// checksum and its length. `None` if one of them is missing or is not a number.
    fn original(&self, copy: String, [state, sum, size]: [Option<&str>; 3]) -> Option<Original> {
        let (state, sum, size) = (state?, sum?.parse().ok()?, size?.parse().ok()?);
        let copied = state == "copy";
        let name = if copied { copy } else { self.remote.name.clone() };
        Some(Original { name, sum, size, copied, live: state != "still" })
    }

    /// Removes the copy, even after Ctrl-C. Returns its name if that failed.
    fn remove(&self, name: &str) -> Option<String> {
        let timeouts = Timeouts {
            read: Duration::from_secs(5),
            reconnect: Duration::from_secs(10),
            stop: Stop::default(),
        };
        let app = self.app.through(self.app.device().with_timeouts(timeouts));
        let command = match self.remote.place {
            Place::Provider => app.content("delete", &format!("/{name}")),
            place => app.in_place(place, &format!("rm -f {name}")),
        };
        match app.device().shell_again(&command) {
            Ok(output) if output.code == 0 && content_error(&output).is_none() => None,
            _ => Some(name.to_owned()),
        }
    }

    /// Returns the path that a recording is written to until it is complete.
    fn part_path(&self) -> PathBuf {
        self.directory.join(format!(".{}.part", self.remote.name))
    }

    fn fetch(&self, original: &Original, on_step: OnStep<'_>) -> Result<Pulled, Error> {
        let path = self.directory.join(&self.remote.name);
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
        if original.size > self.limit {
            return Err(self.too_large(original.size, self.limit));
        }
        let part = Part::open(self.part_path())?;
        let steady = original.copied || !original.live;
        if !steady || !self.begins_like(original, &part)? {
            part.cut(0)?;
        }
        let mut lost = 0;
        let mut actual = 0;
        for _ in 0..2 {
            self.transfer(original, &part, &mut lost, on_step)?;
            let (sum, length) = sum_of(&part.path).map_err(|source| part.failed(source))?;
            if !steady || (sum, length) == (original.sum, original.size) {
                part.file.sync_all().map_err(|source| part.failed(source))?;
                fs::rename(&part.path, &path).map_err(|source| Error::File { path: path.clone(), source })?;
                return Ok(Pulled { bytes: length, ..pulled(sum, false, steady, lost) });
            }
            part.cut(0)?;
            actual = sum;
        }
        Err(Error::WrongSum { name: self.remote.name.clone(), actual, expected: original.sum })
    }

    /// Transfers all bytes that `part` does not have yet.
    fn transfer(
        &self,
        original: &Original,
        part: &Part,
        lost: &mut u32,
        on_step: OnStep<'_>,
    ) -> Result<(), Error> {
        let mut stalled = 0;
        // A file that is still written to may grow, within limits.
        let growth = if original.live && !original.copied { MAX_GROWTH } else { 0 };
        let most = original.size.saturating_add(growth);
        loop {
            let from = part.length()? / BLOCK_SIZE * BLOCK_SIZE;
            part.cut(from)?;
            let (mut at, mut too_long) = (from, None);
            let result = self.app.device().stream(&self.read_command(original, from), &mut |bytes| {
                let end = at + bytes.len() as u64;
                if end > most {
                    too_long = Some(end);
                    return Err(io::Error::other("the device sent more than the file's size"));
                }
                (&part.file).write_all(bytes).inspect_err(|_| at = u64::MAX)?;
                at += bytes.len() as u64;
                on_step(Step::Bytes(at, original.size));
                Ok(())
            });
            if let Some(size) = too_long {
                return Err(self.too_large(size, most));
            }
            let error = match result {
                // `content` exits with 0 even if the provider failed, and prints the error.
                Ok((0, message))
                    if self.remote.place != Place::Provider || content_error_in(&message).is_none() =>
                {
                    return Ok(());
                }
                Ok((code, message)) => {
                    let message = message.lines().map(str::trim).collect::<Vec<_>>().join("; ");
                    return Err(Error::command(self.doing(), code, message));
                }
                // The local disk failed, not the connection.
                Err(Error::Link { fault: Fault::Io(source), .. }) if at == u64::MAX => {
                    return Err(part.failed(source));
                }
                Err(error) if error.is_lost() => error,
                Err(error) => return Err(error),
            };
            *lost += 1;
            stalled = if at / BLOCK_SIZE > from / BLOCK_SIZE { 0 } else { stalled + 1 };
            if stalled == MAX_STALLED_RETRIES {
                return Err(error);
            }
            on_step(Step::Lost(&error));
            self.app.device().server().wait_for(self.app.device().serial())?;
        }
    }

    fn read_command(&self, original: &Original, from: u64) -> String {
        if self.remote.place == Place::Provider {
            return self.app.content("read", &format!("/{}?from={from}", original.name));
        }
        let skip = from / BLOCK_SIZE;
        self.app.in_place(self.remote.place, &format!("dd if={} bs={BLOCK_SIZE} skip={skip}", original.name))
    }

    /// Returns whether the bytes in `part` are the start of the device's file.
    fn begins_like(&self, original: &Original, part: &Part) -> Result<bool, Error> {
        let length = part.length()? / BLOCK_SIZE * BLOCK_SIZE;
        if length == 0 || length > original.size || self.remote.place == Place::Provider {
            // A provider's file is verified at the end.
            return Ok(length <= original.size);
        }
        part.cut(length)?;
        let here = sum_of(&part.path).map_err(|source| part.failed(source))?;
        let script = format!(
            "dd if={} bs={BLOCK_SIZE} count={} 2>/dev/null | cksum",
            original.name,
            length / BLOCK_SIZE
        );
        let output = self.app.device().shell_again(&self.app.in_place(self.remote.place, &script))?;
        let mut words = output.stdout.split_whitespace().map(str::parse::<u64>);
        let there = (words.next(), words.next());
        Ok(matches!(there, (Some(Ok(sum)), Some(Ok(n))) if (sum, n) == (u64::from(here.0), here.1)))
    }

    fn too_large(&self, size: u64, limit: u64) -> Error {
        Error::TooLarge { name: self.remote.name.clone(), size, limit }
    }

    fn doing(&self) -> String {
        format!("reading {}", self.remote.name)
    }
}

struct Part {
    path: PathBuf,
    file: File,
}

impl Part {
    fn open(path: PathBuf) -> Result<Self, Error> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        // As on the device.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
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

    /// Truncates the file to `length` and seeks to its end.
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
