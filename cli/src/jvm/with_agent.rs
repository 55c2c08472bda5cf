//! The agent in the program's JVM, which changes the classes as they are loaded.
//!
//! The command line stays as it is, with the agent in front. The program sees its own class path, jars and signatures.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use jvm_agent::Settings;
use nix::sys::statvfs::{FsFlags, statvfs};

use super::java::Java;
use super::launch::{self, Launch};
use super::options::Recording;
use super::properties::Property;
use super::run_maps;
use crate::embedded;
use crate::recordings::MAP_NAME;

/// The agent's files.
#[derive(Debug)]
pub(super) struct WithAgent {
    library: PathBuf,
    settings: PathBuf,
    /// The program's method map, once the agent has started.
    pub(super) map: PathBuf,
}

impl WithAgent {
    /// Refuses options in the environment with which the JVM would not start the program with an agent.
    ///
    /// # Errors
    /// If there is one.
    pub(super) fn check_variables() -> anyhow::Result<()> {
        match launch::option_in_variables(&launch::WRITE_ARCHIVES, |name| std::env::var_os(name)) {
            Some((variable, option)) => bail!(
                "{variable} has {option}, and a JVM with an agent does not write archives of classes: take it out for this run"
            ),
            None => Ok(()),
        }
    }

    /// Writes the agent and its settings into `dir`; `properties` are the recorder's.
    ///
    /// # Errors
    /// If they cannot be written, or the JVM could not load the agent from there.
    pub(super) fn prepare(
        dir: &Path,
        recording: &Recording,
        properties: Vec<Property>,
        leaves_sigquit: bool,
    ) -> anyhow::Result<Self> {
        // The JVM would end with its own message, and the program would not run at all.
        if statvfs(dir).is_ok_and(|of| of.flags().contains(FsFlags::ST_NOEXEC)) {
            bail!(
                "{} is mounted noexec, so the JVM cannot load the agent from it: choose another directory with TMPDIR or --keep",
                dir.display()
            );
        }
        let no_room =
            || format!("cannot write to {}: choose another directory with TMPDIR or --keep", dir.display());
        run_maps::remove(dir).with_context(no_room)?;
        let library = embedded::unpack_library(dir).with_context(no_room)?;
        if library.as_os_str().as_bytes().contains(&b'=') {
            bail!("{}: the path of a JVM's agent cannot contain =: choose another --keep", dir.display());
        }
        let map = dir.join(MAP_NAME);
        // The program may run in another directory.
        let absolute = |file: &Path, _: &str| {
            fs::canonicalize(file).with_context(|| format!("cannot find {}", file.display()))
        };
        let settings = recording.settings(map.clone(), properties, absolute)?;
        let settings = Settings { leaves_sigquit, ..settings };
        let file = dir.join("runtime/agent.settings");
        fs::write(&file, settings.text()?).with_context(no_room)?;
        Ok(Self { library, settings: file, map })
    }

    /// Adds the agent and the arguments of the launcher.
    pub(super) fn add_to(&self, command: &mut Command, java: &Java, arguments: &[OsString]) {
        let mut agent = OsString::from("-agentpath:");
        agent.push(&self.library);
        agent.push("=");
        agent.push(&self.settings);
        command.args(java.options_of_calls()).arg(agent);
        command.args(launch::without_archives(arguments, java.version));
    }

    /// Whether the JVM would print that SIGQUIT has a handler which is not its own. HotSpot 8 and 11 do so with `-Xcheck:jni`, 17
    /// and later do not.
    pub(super) fn leaves_sigquit(launch: &Launch, java: &Java) -> bool {
        const CHECK: &str = "-Xcheck:jni";
        let on_line = || launch.options.iter().any(|option| option == CHECK);
        let in_variable = || launch::option_in_variables(&[CHECK], |name| std::env::var_os(name)).is_some();
        java.hotspot && java.version < 17 && (on_line() || in_variable())
    }

    /// What the recorder needs to know about the program besides its settings.
    pub(super) fn properties(dir: &Path, launch: &Launch, java: &Java) -> anyhow::Result<Vec<Property>> {
        let dir = dir.to_str().with_context(|| {
            format!(
                "{}: an agent needs a directory whose name is UTF-8: choose another --keep",
                dir.display()
            )
        })?;
        let name = launch.main.name().to_string_lossy().replace(['\n', '\r'], " ");
        let mut all = vec![("anrscope.dir".to_owned(), dir.to_owned()), ("anrscope.name".to_owned(), name)];
        if java.warns_of_unsafe() {
            all.push(("anrscope.unsafe".to_owned(), "true".to_owned()));
        }
        Ok(all)
    }
}
