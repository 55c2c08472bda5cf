//! The agent's settings that the options of `anrscope jvm` and `anrscope attach` ask for.

use std::path::{Path, PathBuf};

use jvm_agent::{Settings, Waits};

use super::options::Recording;
use super::properties::Property;

/// Settings for a method map at this path. `placed` says where the agent finds a file that was given; the second argument is a name for a copy.
///
/// # Errors
/// If `placed` fails, or `--jdk` names what is not traced.
pub(super) fn settings(
    map: PathBuf,
    recording: &Recording,
    properties: Vec<Property>,
    placed: impl Fn(&Path, &str) -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Settings> {
    Ok(Settings {
        map,
        rules: recording.rules.as_ref().map(|file| placed(file, "rules")).transpose()?,
        waits: match (&recording.waits_catalogue, recording.no_waits) {
            (Some(file), _) => Waits::File(placed(file, "waits")?),
            (None, true) => Waits::Off,
            (None, false) => Waits::On,
        },
        jdk: recording.jdk_classes()?,
        leaves_sigquit: false,
        properties,
        client: None,
    })
}
