//! The agent's settings: a file of lines, whose path is the option of `-agentpath`.
//!
//! ```text
//! # Where the method map is written; with .lines appended the source lines.
//! map=/home/me/out/methodMapping.txt
//! # A file of rules, and whether waits are recorded: off, on, or a file of additional calls. Both may be missing.
//! rules=/home/me/trace.rules
//! waits=on
//! # Packages and classes of the JDK that are traced, one a line.
//! jdk=java.util.concurrent
//! # Leaves SIGQUIT to the JVM. May be missing.
//! sigquit=off
//! # Properties of the recorder, in place of those that the program was started with.
//! property=anrscope.dir=/home/me/out
//! property=anrscope.resolution=1ms
//! # A file that the process which attaches keeps locked: when it is no longer, the attachment ends. May be missing.
//! client=/tmp/anrscope-1000/4711-123456/client.lock
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use crate::jdk::{JdkClasses, JdkError};

/// The longest settings file that is read, bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// Which waits are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// None.
    Off,
    /// Those of the built-in catalogue.
    #[default]
    On,
    /// Those of this file too.
    File(PathBuf),
}

/// The agent's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where the method map is written.
    pub map: PathBuf,
    /// The rules that choose what is traced.
    pub rules: Option<PathBuf>,
    /// Which waits are recorded.
    pub waits: Waits,
    /// Which of the JDK's classes are traced.
    pub jdk: JdkClasses,
    /// Whether SIGQUIT is left to the JVM, and not recorded.
    pub leaves_sigquit: bool,
    /// The recorder's properties by their names, such as `anrscope.dir`.
    pub properties: Vec<(String, String)>,
    /// The file that the process which attaches keeps locked as long as it lives.
    pub client: Option<PathBuf>,
}

/// Why a settings file is refused.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("cannot read {}: {}: give -agentpath the absolute path of a settings file", .0.display(), .1)]
    Read(PathBuf, io::Error),
    /// A line of it, counted from 1, is not one of the format.
    #[error("{}:{}: {}: correct or remove the line", .0.display(), .1, .2)]
    Line(PathBuf, usize, &'static str),
    /// A line names classes of the JDK that cannot be traced.
    #[error("{}:{}: {}", .0.display(), .1, .2)]
    Jdk(PathBuf, usize, JdkError),
    /// It names no map.
    #[error("{} has no line map=FILE: add one", .0.display())]
    NoMap(PathBuf),
    /// A value cannot be written into a line.
    #[error("{0:?} is not UTF-8 or has a line break: choose another name")]
    Value(String),
}

impl Settings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// See [`SettingsError`].
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let failed = |error| SettingsError::Read(path.to_owned(), error);
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() || metadata.len() > MAX_SETTINGS {
            return Err(failed(io::Error::other("not a file, or longer than 1 MiB")));
        }
        Self::parse(path, &fs::read_to_string(path).map_err(failed)?)
    }

    /// Parses the text of a settings file; `path` is used in errors only.
    ///
    /// # Errors
    /// See [`SettingsError`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = |what| SettingsError::Line(path.to_owned(), number, what);
            let (key, value) = line.split_once('=').ok_or_else(|| bad("not KEY=VALUE"))?;
            match (key, value) {
                (_, "") => return Err(bad("no value")),
                ("map", _) => settings.map = value.into(),
                ("rules", _) => settings.rules = Some(value.into()),
                ("waits", "off") => settings.waits = Waits::Off,
                ("waits", "on") => settings.waits = Waits::On,
                ("waits", _) => settings.waits = Waits::File(value.into()),
                ("jdk", _) => {
                    let failed = |error| SettingsError::Jdk(path.to_owned(), number, error);
                    settings.jdk.add(value).map_err(failed)?;
                }
                ("sigquit", "off") => settings.leaves_sigquit = true,
                ("client", _) => settings.client = Some(value.into()),
                ("property", _) => {
                    let (name, value) = value.split_once('=').ok_or_else(|| bad("not NAME=VALUE"))?;
                    settings.properties.push((name.into(), value.into()));
                }
                _ => return Err(bad("an unknown key")),
            }
        }
        if settings.map.as_os_str().is_empty() {
            return Err(SettingsError::NoMap(path.to_owned()));
        }
        Ok(settings)
    }

    /// The text of a settings file.
    ///
    /// # Errors
    /// If a value has a line break, or a path is not UTF-8.
    pub fn text(&self) -> Result<String, SettingsError> {
        let value = |path: &Path| SettingsError::Value(path.display().to_string());
        let path = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| value(path));
        let mut lines = vec![("map", path(&self.map)?)];
        if let Some(rules) = &self.rules {
            lines.push(("rules", path(rules)?));
        }
        lines.push((
            "waits",
            match &self.waits {
                Waits::Off => "off".to_owned(),
                Waits::On => "on".to_owned(),
                Waits::File(file) => path(file)?,
            },
        ));
        lines.extend(self.jdk.names().map(|name| ("jdk", name.replace('/', "."))));
        if self.leaves_sigquit {
            lines.push(("sigquit", "off".to_owned()));
        }
        if let Some(client) = &self.client {
            lines.push(("client", path(client)?));
        }
        for (name, value) in &self.properties {
            lines.push(("property", format!("{name}={value}")));
        }
        let mut text = String::new();
        for (key, value) in lines {
            if value.contains(['\n', '\r']) {
                return Err(SettingsError::Value(value));
            }
            let _ = writeln!(text, "{key}={value}");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(Path::new("s"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_text_is_parsed_as_it_was_meant() {
        for waits in [Waits::Off, Waits::On, Waits::File("/a/calls".into())] {
            let mut jdk = JdkClasses::default();
            jdk.add("java.net").and_then(|()| jdk.add("javax.sql")).unwrap();
            let settings = Settings {
                map: "/a b/=m".into(),
                rules: Some("/r".into()),
                leaves_sigquit: waits == Waits::Off,
                waits,
                jdk,
                properties: vec![("x".into(), "a=b".into()), ("y".into(), String::new())],
                client: Some("/c.lock".into()),
            };
            assert_eq!(parse(&settings.text().unwrap()), Ok(settings));
        }
        assert_eq!(parse("# c\n\nmap=/m\n").unwrap(), Settings { map: "/m".into(), ..Settings::default() });
    }

    #[test]
    fn an_error_names_the_line_and_the_cure() {
        for (text, says) in [
            ("", "s has no line map=FILE"),
            ("map=/m\nx", "s:2: not KEY=VALUE: correct"),
            ("map=", "s:1: no value"),
            ("map=/m\nproperty=x", "s:2: not NAME=VALUE"),
            ("other=1", "s:1: an unknown key"),
            ("map=/m\njdk=java.lang", "s:2: java.lang cannot be traced"),
        ] {
            assert!(parse(text).unwrap_err().starts_with(says), "{text:?}: {:?}", parse(text));
        }
        let settings = Settings { map: "/a\nb".into(), ..Settings::default() };
        assert!(settings.text().unwrap_err().to_string().contains("line break"));
        let error = Settings::read(Path::new("/no/such")).unwrap_err().to_string();
        assert!(error.contains("/no/such") && error.contains("-agentpath"), "{error}");
        assert!(Settings::read(Path::new("/dev/zero")).is_err());
    }
}
