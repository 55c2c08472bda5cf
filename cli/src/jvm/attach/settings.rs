//! The settings of an attachment. Rules and waits are those of each; the recorder's properties are those of the first, since a
//! process has one recorder.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jvm_agent::Settings;
use jvm_agent::client::Dir;

use super::client_lock;
use crate::jvm::notices::size;
use crate::jvm::options::Recording;
use crate::jvm::properties::{self, Property};
use crate::recordings::MAP_NAME;

/// The file that the agent reads.
pub(super) const FILE: &str = "agent.settings";

/// What an attachment asks for, and what it gets.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) settings: Settings,
    /// Size of the buffer, bytes.
    pub(super) buffer: u64,
    /// What does not apply, and why.
    pub(super) warnings: Vec<String>,
}

/// Settings for the agent in a process with this directory. `earlier` are those of the attachment that started the recorder, and
/// `buffer` the size that a first one would take, bytes.
///
/// # Errors
/// If a file cannot be copied to where the agent reads it.
pub(super) fn agree(
    dir: &Dir,
    recording: &Recording,
    buffer: u64,
    earlier: Option<Settings>,
) -> anyhow::Result<Agreed> {
    let inside = dir.path();
    let name = inside.to_str().context("the directory's name is not UTF-8")?;
    // The process may have another file system.
    let copied = |file: &Path, name: &str| -> anyhow::Result<PathBuf> {
        let to = inside.join(name);
        let failed = || format!("cannot copy {} to {}", file.display(), to.display());
        let mut copy = dir.write(OsStr::new(name))?;
        copy.set_len(0).with_context(failed)?;
        io::copy(&mut File::open(file).with_context(failed)?, &mut copy).with_context(failed)?;
        Ok(to)
    };
    let mut properties = vec![("anrscope.dir".to_owned(), name.to_owned())];
    properties.extend(properties::settings(recording, buffer, |_| false));
    let settings = recording.settings(inside.join(MAP_NAME), properties, copied)?;
    let mut settings = Settings { client: Some(inside.join(client_lock::NAME)), ..settings };
    let mut warnings = Vec::new();
    if let Some(earlier) = earlier {
        warnings = differences(recording, &settings.properties, &earlier.properties);
        if !recording.jdk.is_empty() && settings.jdk != earlier.jdk {
            let names: Vec<String> = earlier.jdk.names().map(|name| name.replace('/', ".")).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(",") };
            warnings.push(does_not_apply(&format!("--jdk {}", recording.jdk.join(",")), &names));
        }
        settings.properties = earlier.properties;
        settings.jdk = earlier.jdk;
    }
    let buffer = value(&settings.properties, MAIN_WORDS).and_then(bytes).unwrap_or(buffer);
    Ok(Agreed { settings, buffer, warnings })
}

const MAIN_WORDS: &str = "anrscope.mainWords";

/// The options that were given and do not apply.
fn differences(recording: &Recording, wanted: &[Property], earlier: &[Property]) -> Vec<String> {
    let options = [
        ("--buffer", MAIN_WORDS, recording.buffer.is_some()),
        ("--resolution", "anrscope.resolution", recording.resolution.is_some()),
        ("--max-overhead", "anrscope.max_overhead", recording.max_overhead.is_some()),
    ];
    let shown = |name: &str, value: &str| match bytes(value).filter(|_| name == MAIN_WORDS) {
        Some(bytes) => size(bytes),
        None => value.to_owned(),
    };
    let given = options.into_iter().filter(|(_, _, is_given)| *is_given);
    given
        .filter_map(|(option, name, _)| {
            let (wanted, now) = (value(wanted, name)?, value(earlier, name)?);
            (wanted != now)
                .then(|| does_not_apply(&format!("{option} {}", shown(name, wanted)), &shown(name, now)))
        })
        .collect()
}

fn does_not_apply(option: &str, chosen: &str) -> String {
    format!(
        "{option} does not apply: the first attachment to this process chose {chosen}, and only a restart of the program \
         changes it"
    )
}

fn value<'a>(properties: &'a [Property], name: &str) -> Option<&'a str> {
    properties.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
}

/// The buffer of both halves, one of which has so many words of 8 bytes.
fn bytes(words: &str) -> Option<u64> {
    words.parse::<u64>().ok()?.checked_mul(16)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jvm_agent::Waits;

    use super::*;
    use crate::jvm::options::Resolution;
    use crate::scratch::Scratch;

    #[test]
    fn the_recorder_stays_as_the_first_attachment_chose_it() {
        let scratch = Scratch::new();
        let rules = scratch.file("own.rules", b"exclude class a.B\n");
        let dir = Dir::open(scratch.path(), Path::new("/tmp/inside"), 7).unwrap();
        let agree = |recording: &Recording, earlier| {
            let buffer = recording.buffer.unwrap_or(1 << 26);
            agree(&dir, recording, buffer, earlier).unwrap()
        };
        let first = Recording { resolution: Some(Resolution::Exact), ..Recording::default() };
        let first = agree(&first, None);
        assert_eq!((first.buffer, first.warnings.len()), (1 << 26, 0));
        let later = Recording {
            buffer: Some(1 << 20),
            resolution: Some(Resolution::Ms1),
            max_overhead: Some(3.0),
            rules: Some(rules),
            no_waits: true,
            ..Recording::default()
        };
        let later = agree(&later, Some(first.settings.clone()));
        assert_eq!(later.settings.properties, first.settings.properties);
        assert_eq!(later.settings.rules.as_deref(), Some(Path::new("/tmp/inside/rules")));
        assert_eq!((later.settings.waits, later.buffer), (Waits::Off, 1 << 26));
        assert_eq!(fs::read(scratch.path().join("rules")).unwrap(), b"exclude class a.B\n");
        let starts: Vec<_> = later.warnings.iter().map(|line| &line[..line.find(", and").unwrap()]).collect();
        assert_eq!(
            starts,
            [
                "--buffer 1M does not apply: the first attachment to this process chose 64M",
                "--resolution 1ms does not apply: the first attachment to this process chose exact",
            ]
        );
        assert_eq!(agree(&Recording::default(), Some(first.settings)).warnings, Vec::<String>::new());
    }
}
