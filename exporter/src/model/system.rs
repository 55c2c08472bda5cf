//! What a recording says of the system that it was made on.

use trace_format::section::{SectionKind, key_values};
use trace_format::{ReadError, Recording, Source};

use super::clean;

/// The longest section of the process that is read; it has a dozen short lines.
const MAX_SECTION: u64 = 64 << 10;

/// A system. What the recorder did not write is not known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SystemInfo {
    /// The kernel's name, as `uname` has it: `Linux`.
    pub kernel: Option<String>,
    /// Its release: `6.1.75-android14`.
    pub release: Option<String>,
    /// Its build: `#1 SMP PREEMPT`.
    pub version: Option<String>,
    /// The machine: `aarch64`. It may differ from `abi`: a 32-bit app on a 64-bit kernel.
    pub machine: Option<String>,
    /// What the recorder was built for: `aarch64`, `arm`, `x86_64`, `x86`.
    pub abi: Option<String>,
    /// Android's API level.
    pub sdk: Option<u32>,
    /// Android's build.
    pub fingerprint: Option<String>,
    /// Bytes of a page.
    pub page_size: Option<u32>,
    /// The process's parent: the zygote of an app.
    pub parent_pid: Option<u32>,
}

impl SystemInfo {
    fn parse(text: &str) -> Self {
        let value = |key| key_values(text).find(|(k, _)| *k == key).map(|(_, value)| value.trim());
        let words = |key| Some(clean(value(key)?).into_owned()).filter(|text| !text.is_empty());
        let number = |key| value(key)?.parse().ok().filter(|number| *number > 0);
        let abi = words("abi");
        // Older recorders wrote only what they were built for.
        let linux = matches!(value("os"), Some("android" | "linux")).then(|| "Linux".to_owned());
        Self {
            kernel: words("kernel").or(linux),
            release: words("kernel_release"),
            version: words("kernel_version"),
            machine: words("machine").or_else(|| abi.clone()),
            abi,
            sdk: number("sdk"),
            fingerprint: words("fingerprint"),
            page_size: number("page_size"),
            parent_pid: number("parent_pid"),
        }
    }

    /// Reads what the recorder wrote when it started.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn of<S: Source>(recording: &Recording<S>) -> Result<Self, ReadError> {
        let of_process =
            |s: &&trace_format::Section| s.kind == Some(SectionKind::Process) && s.length <= MAX_SECTION;
        let Some(section) = recording.sections().iter().find(of_process) else { return Ok(Self::default()) };
        let payload = recording.payload(section)?;
        Ok(payload.map(|payload| Self::parse(&String::from_utf8_lossy(&payload))).unwrap_or_default())
    }

    /// Whether anything of the system itself is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        *self != Self { parent_pid: self.parent_pid, ..Self::default() }
    }

    /// All that is known, by name, for the facts of a trace.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = [
            ("kernel", &self.kernel),
            ("kernel_release", &self.release),
            ("kernel_version", &self.version),
            ("machine", &self.machine),
            ("abi", &self.abi),
            ("fingerprint", &self.fingerprint),
        ];
        let numbers = [("sdk", self.sdk), ("page_size", self.page_size)];
        let texts = texts.map(|(key, text)| Some((key, text.clone()?)));
        let numbers = numbers.map(|(key, number)| Some((key, number?.to_string())));
        texts.into_iter().chain(numbers).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_older_recorders_wrote_is_read_too() {
        let old = SystemInfo::parse("name=p\nabi=x86_64\nos=linux\nversion=0.1.0\n");
        assert_eq!((old.kernel.as_deref(), old.machine.as_deref()), (Some("Linux"), Some("x86_64")));
        assert_eq!((old.sdk, old.page_size, old.is_known()), (None, None, true));
        let new = SystemInfo::parse(
            "abi=arm\nos=android\nkernel=Linux\nkernel_release=6.1\nmachine=aarch64\npage_size=16384\nsdk=35\n\
             fingerprint=a/b/c:15\nparent_pid=812\nkernel_version=\n",
        );
        assert_eq!((new.abi.as_deref(), new.machine.as_deref()), (Some("arm"), Some("aarch64")));
        assert_eq!((new.page_size, new.sdk, new.parent_pid), (Some(16384), Some(35), Some(812)));
        assert_eq!(new.version, None);
        assert_eq!(new.facts().count(), 7);
        assert!(!SystemInfo::parse("parent_pid=7\nsdk=0\n").is_known());
    }

    proptest! {
        #[test]
        fn no_text_is_too_wild(text in "((abi|os|sdk|page_size|kernel)=.{0,9}\n?){0,9}") {
            let info = SystemInfo::parse(&text);
            prop_assert!(info.facts().all(|(_, value)| !value.is_empty()));
        }
    }
}
