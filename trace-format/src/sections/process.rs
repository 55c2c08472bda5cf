//! The process and the system that it ran on: the payload of [`SectionKind::Process`].
//!
//! ```text
//! name=<process>    abi=<the recorder's target>    os=android | linux    version=<the recorder's>
//! kernel= kernel_release= kernel_version= machine=      as `uname` has them
//! page_size=<bytes>    parent_pid=
//! sdk= fingerprint=                                     Android's
//! app_version= app_version_code=                        the app's, as its manifest has them
//! ```
//!
//! The app's version is known later than the rest, and is in a separate section. A reader takes each value from the first section
//! that has it.

use super::lines::{Keys, Lines};
use super::text_of;
use crate::section::SectionKind;

/// A process and its system. Values that the recorder did not write are not known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Process {
    /// The process's name.
    pub name: Option<String>,
    /// The recorder's target: `aarch64`, `arm`, `x86_64`, `x86`.
    pub abi: Option<String>,
    /// `android` or `linux`.
    pub os: Option<String>,
    /// The recorder's version.
    pub version: Option<String>,
    /// The kernel's name, as `uname` has it: `Linux`.
    pub kernel: Option<String>,
    /// Its release: `6.1.75-android14`.
    pub kernel_release: Option<String>,
    /// Its build: `#1 SMP PREEMPT`.
    pub kernel_version: Option<String>,
    /// The machine: `aarch64`. It may differ from `abi`: a 32-bit app on a 64-bit kernel.
    pub machine: Option<String>,
    /// Bytes of a page.
    pub page_size: Option<u32>,
    /// The process's parent: the zygote of an app.
    pub parent_pid: Option<u32>,
    /// Android's API level.
    pub sdk: Option<u32>,
    /// Android's build.
    pub fingerprint: Option<String>,
    /// The app's version: `android:versionName`.
    pub app_version: Option<String>,
    /// The number of the app's version: `android:versionCode`.
    pub app_version_code: Option<u32>,
}

impl Process {
    /// The section's payload. Empty texts are left out.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut lines = Lines::default();
        let filled = |value: &Option<String>| value.clone().filter(|value| !value.trim().is_empty());
        for (key, value) in [
            ("name", &self.name),
            ("abi", &self.abi),
            ("os", &self.os),
            ("version", &self.version),
            ("kernel", &self.kernel),
            ("kernel_release", &self.kernel_release),
            ("kernel_version", &self.kernel_version),
            ("machine", &self.machine),
        ] {
            lines.texts(key, filled(value).as_deref());
        }
        lines.numbers("page_size", self.page_size);
        lines.numbers("parent_pid", self.parent_pid);
        lines.numbers("sdk", self.sdk);
        lines.texts("fingerprint", filled(&self.fingerprint).as_deref());
        lines.texts("app_version", filled(&self.app_version).as_deref());
        lines.numbers("app_version_code", self.app_version_code);
        lines.into_bytes()
    }

    /// Reads a payload; `None` if it is too long. A number that is 0 is not known.
    #[must_use]
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let text = text_of(SectionKind::Process, payload)?;
        let keys = Keys::new(&text);
        let number = |key| keys.number(key).filter(|number| *number > 0);
        Some(Self {
            name: keys.owned("name"),
            abi: keys.owned("abi"),
            os: keys.owned("os"),
            version: keys.owned("version"),
            kernel: keys.owned("kernel"),
            kernel_release: keys.owned("kernel_release"),
            kernel_version: keys.owned("kernel_version"),
            machine: keys.owned("machine"),
            page_size: number("page_size"),
            parent_pid: number("parent_pid"),
            sdk: number("sdk"),
            fingerprint: keys.owned("fingerprint"),
            app_version: keys.owned("app_version"),
            app_version_code: number("app_version_code"),
        })
    }

    /// Whether it ran on another system than Android. `false` if the system is not known.
    #[must_use]
    pub fn is_off_android(&self) -> bool {
        self.os.as_deref() == Some("linux") && self.sdk.is_none()
    }

    /// Adds values from a later section where they are not known yet.
    pub fn complete(&mut self, later: Self) {
        macro_rules! take {
            ($($field:ident)*) => {$(self.$field = self.$field.take().or(later.$field);)*};
        }
        take!(name abi os version kernel kernel_release kernel_version machine page_size parent_pid sdk fingerprint);
        take!(app_version app_version_code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn processes_round_trip(
            texts in prop::collection::vec(prop::option::of("[a-z/:]([a-zé #.]{0,9}[a-z])?"), 10),
            numbers in prop::collection::vec(prop::option::of(1u32..), 4),
        ) {
            let text = |i: usize| texts[i].clone();
            let process = Process {
                name: text(0), abi: text(1), os: text(2), version: text(3), kernel: text(4),
                kernel_release: text(5), kernel_version: text(6), machine: text(7), fingerprint: text(8),
                page_size: numbers[0], parent_pid: numbers[1], sdk: numbers[2],
                app_version: text(9), app_version_code: numbers[3],
            };
            let payload = process.encode();
            prop_assert_eq!(Process::parse(&payload), Some(process.clone()));
            (0..payload.len()).for_each(|cut| drop(Process::parse(&payload[..cut])));
            // In two sections it is the same, and what was known stays.
            let lines: Vec<&[u8]> = payload.split_inclusive(|byte| *byte == b'\n').collect();
            for cut in 0..=lines.len() {
                let [mut first, later] = [&lines[..cut], &lines[cut..]].map(|part| Process::parse(&part.concat()).unwrap());
                first.complete(later);
                prop_assert_eq!(&first, &process);
                let other = Some("other".to_owned());
                first.complete(Process { name: other.clone(), app_version: other, sdk: Some(1), ..Process::default() });
                prop_assert_eq!(first.sdk, process.sdk.or(Some(1)));
                prop_assert!(process.app_version.is_none() || first.app_version == process.app_version);
            }
        }
    }
}
