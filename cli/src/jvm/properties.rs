//! The recorder's settings in the program's JVM, as system properties.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::launch::Launch;
use super::options::{Recording, Resolution};

/// Default buffer size. A gigabyte a second of events would fill any; with short calls left out, this holds minutes.
pub(super) const DEFAULT_BUFFER: u64 = 64 << 20;

/// Default limit of the overhead, percent of the program's time.
const DEFAULT_MAX_OVERHEAD: f64 = 3.0;

/// Size of a word of a ring, bytes.
const WORD: u64 = 8;

/// Returns true if the user sets this property, on the command line or in the `variable` that the launcher reads.
pub(super) fn is_given(name: &str, launch: &Launch, variable: Option<&OsStr>) -> bool {
    let start = format!("-D{name}=");
    let on_line = launch.options.iter().any(|word| word.as_bytes().starts_with(start.as_bytes()));
    let in_variable = variable.is_some_and(|text| text.to_string_lossy().contains(&start));
    on_line || in_variable
}

/// A system property: its name and value.
pub(super) type Property = (String, String);

/// The properties of the recorder's settings. A property that the user sets is kept, unless there is an option for it, too.
///
/// `given` says whether the user sets a property.
pub(super) fn settings(options: &Recording, buffer: u64, given: impl Fn(&str) -> bool) -> Vec<Property> {
    let property = |name: &str, value: String| (name.to_owned(), value);
    let mut all = Vec::new();
    for name in ["anrscope.mainWords", "anrscope.poolWords"] {
        if options.buffer.is_some() || !given(name) {
            all.push(property(name, (buffer / 2 / WORD).to_string()));
        }
    }
    // The earlier property has fewer values, and is passed on unchanged.
    if options.resolution.is_some() || !given("anrscope.resolution") && !given("anrscope.clock") {
        let resolution = options.resolution.unwrap_or(Resolution::Ms1);
        all.push(property("anrscope.resolution", resolution.name()));
    }
    if options.max_overhead.is_some() || !given("anrscope.max_overhead") {
        let percent = options.max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD);
        all.push(property("anrscope.max_overhead", percent.to_string()));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::launch::Main;
    use super::*;

    fn formatted(options: &[&str], line: &[&str], variable: Option<&str>) -> String {
        let words = ["x"].iter().chain(options);
        let command = <Recording as clap::Args>::augment_args(clap::Command::new("x"));
        let matches = command.get_matches_from(words);
        let options = <Recording as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
        let launch =
            Launch { options: line.iter().map(OsString::from).collect(), main: Main::Class("Main".into()) };
        let formatted = settings(&options, options.buffer.unwrap_or(DEFAULT_BUFFER), |name| {
            is_given(name, &launch, variable.map(OsStr::new))
        });
        let formatted: Vec<_> =
            formatted.iter().map(|(name, value)| format!("{}={value}", &name["anrscope.".len()..])).collect();
        formatted.join(" ")
    }

    #[test]
    fn options_override_properties_and_those_override_defaults() {
        let default = "mainWords=4194304 poolWords=4194304 resolution=1ms max_overhead=3";
        assert_eq!(formatted(&[], &["-Dx=anrscope.clock"], None), default);
        assert_eq!(
            formatted(&["--buffer", "1M", "--resolution", "exact", "--max-overhead", "0"], &[], None),
            "mainWords=65536 poolWords=65536 resolution=exact max_overhead=0"
        );
        let own = ["-Danrscope.clock=coarse", "-Danrscope.mainWords=9", "-Danrscope.max_overhead=1"];
        assert_eq!(formatted(&[], &own, None), "poolWords=4194304");
        assert_eq!(
            formatted(&["--resolution", "100us", "--max-overhead", "2.5"], &own, None),
            "poolWords=4194304 resolution=100us max_overhead=2.5"
        );
        let variable = Some("-Xmx1g -Danrscope.resolution=exact");
        assert_eq!(formatted(&[], &[], variable), "mainWords=4194304 poolWords=4194304 max_overhead=3");
    }
}
