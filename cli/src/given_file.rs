//! `anrscope FILE`: runs the command that takes the file, by its content.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, bail};

use crate::file_kind::FileKind;
use crate::recordings;

/// Inserts the command for the file that is where a command is expected; `arguments` begin with the program's name.
///
/// # Errors
/// If there is no such file, or no command takes it.
pub(crate) fn with_command(
    mut arguments: Vec<OsString>,
    is_subcommand: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<OsString>> {
    let Some(first) = arguments.get(1) else { return Ok(arguments) };
    let name = first.to_string_lossy();
    if name.starts_with('-') || is_subcommand(&name) {
        return Ok(arguments);
    }
    let path = Path::new(first);
    // A word without a dot or a slash is a misspelled command; clap prints suggestions.
    if !path.exists() && !name.contains(['.', '/', '\\']) {
        return Ok(arguments);
    }
    let command = command_for(path)?;
    arguments.insert(1, command.into());
    Ok(arguments)
}

fn command_for(path: &Path) -> anyhow::Result<&'static str> {
    let kind = FileKind::of(path).with_context(|| format!("cannot read {}: name a file", path.display()))?;
    match kind {
        // Recordings first: a directory of them has dumps and traces beside them.
        FileKind::Directory if recordings::newest_of(path).is_ok() => Ok("report"),
        // The dump reader explains what is missing in any other text or pipe.
        FileKind::Directory | FileKind::Other | FileKind::Special => Ok("dump"),
        kind => match kind.command() {
            Some(command) => Ok(command),
            None => bail!(kind.instead_of("", path).unwrap_or_else(|| path.display().to_string())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn words(arguments: &[&str]) -> anyhow::Result<Vec<String>> {
        let arguments = arguments.iter().map(OsString::from).collect();
        let with = with_command(arguments, |name| ["report", "dump"].contains(&name))?;
        Ok(with.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn the_command_that_takes_a_file_runs_with_the_options_after_it() {
        let scratch = Scratch::new();
        let file = |name, bytes: &[u8]| scratch.file(name, bytes).into_os_string().into_string().unwrap();
        let recording = file("a", &trace_format::layout::MAGIC);
        let dump = file("b", b"\"main\" prio=5 tid=1 Native\n");
        let trace = file("c", b"{\"traceEvents\":[]}");
        let text = file("d", b"hello\n");
        for (file, command) in [(&recording, "report"), (&dump, "dump"), (&trace, "open"), (&text, "dump")] {
            assert_eq!(words(&["anrscope", file, "--json"]).unwrap(), ["anrscope", command, file, "--json"]);
        }
        let directory = scratch.path().to_str().unwrap();
        assert_eq!(words(&["anrscope", directory]).unwrap()[1], "dump");
        file("e.anrscope", &trace_format::layout::MAGIC);
        assert_eq!(words(&["anrscope", directory]).unwrap()[1], "report");
    }

    #[test]
    fn commands_options_and_words_that_name_no_file_are_unchanged() {
        for arguments in [
            &["anrscope"][..],
            &["anrscope", "report", "x"],
            &["anrscope", "--help"],
            &["anrscope", "reprot"],
        ] {
            assert_eq!(words(arguments).unwrap(), arguments);
        }
    }

    #[test]
    fn a_missing_file_or_one_that_no_command_takes_is_an_error_with_a_cure() {
        let scratch = Scratch::new();
        let map = scratch.file("map.txt", b"1,1,com.example.Main onCreate ()V\n");
        let said = |path: &str| format!("{:#}", words(&["anrscope", path]).unwrap_err());
        assert!(said(map.to_str().unwrap()).contains("--method-map"));
        assert!(said("missing.anrscope").starts_with("cannot read missing.anrscope: name a file: "));
    }
}
