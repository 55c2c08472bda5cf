//! The app's version and the system on which the recording was made.

use trace_format::sections::process::Process;

use crate::text::clean;

/// A system. A field that the recorder did not write is `None`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SystemInfo {
    /// The kernel's name according to `uname`: `Linux`.
    pub kernel: Option<String>,
    /// Its release: `6.1.75-android14`.
    pub release: Option<String>,
    /// Its build: `#1 SMP PREEMPT`.
    pub version: Option<String>,
    /// The machine: `aarch64`. It may differ from `abi`: a 32-bit app on a 64-bit kernel.
    pub machine: Option<String>,
    /// The ABI of the recorder: `aarch64`, `arm`, `x86_64`, `x86`.
    pub abi: Option<String>,
    /// Android's API level.
    pub sdk: Option<u32>,
    /// Android's build fingerprint.
    pub fingerprint: Option<String>,
    /// Page size in bytes.
    pub page_size: Option<u32>,
    /// The process's parent: for an app the zygote.
    pub parent_pid: Option<u32>,
    /// The app's version: `android:versionName`.
    pub app_version: Option<String>,
    /// The app's version code: `android:versionCode`.
    pub app_version_code: Option<u32>,
}

impl From<&Process> for SystemInfo {
    /// From the recorder's process section.
    fn from(process: &Process) -> Self {
        let words = |text: &Option<String>| text.as_deref().map(|text| clean(text).into_owned());
        let abi = words(&process.abi);
        // Older recorders wrote only the ABI.
        let linux = matches!(process.os.as_deref(), Some("android" | "linux")).then(|| "Linux".to_owned());
        Self {
            kernel: words(&process.kernel).or(linux),
            release: words(&process.kernel_release),
            version: words(&process.kernel_version),
            machine: words(&process.machine).or_else(|| abi.clone()),
            abi,
            sdk: process.sdk,
            fingerprint: words(&process.fingerprint),
            page_size: process.page_size,
            parent_pid: process.parent_pid,
            app_version: words(&process.app_version),
            app_version_code: process.app_version_code,
        }
    }
}

impl SystemInfo {
    /// Whether anything about the system itself is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let of_the_process = Self {
            parent_pid: self.parent_pid,
            app_version: self.app_version.clone(),
            app_version_code: self.app_version_code,
            ..Self::default()
        };
        *self != of_the_process
    }

    /// All known facts by name, for a trace's metadata.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let texts = [
            ("kernel", &self.kernel),
            ("kernel_release", &self.release),
            ("kernel_version", &self.version),
            ("machine", &self.machine),
            ("abi", &self.abi),
            ("fingerprint", &self.fingerprint),
            ("app_version", &self.app_version),
        ];
        let numbers =
            [("sdk", self.sdk), ("page_size", self.page_size), ("app_version_code", self.app_version_code)];
        let texts = texts.map(|(key, text)| Some((key, text.clone()?)));
        let numbers = numbers.map(|(key, number)| Some((key, number?.to_string())));
        texts.into_iter().chain(numbers).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SystemInfo {
        SystemInfo::from(&Process::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn what_older_recorders_wrote_is_read_too() {
        let old = parse("name=p\nabi=x86_64\nos=linux\nversion=0.1.0\n");
        assert_eq!((old.kernel.as_deref(), old.machine.as_deref()), (Some("Linux"), Some("x86_64")));
        assert_eq!((old.sdk, old.page_size, old.is_known()), (None, None, true));
        let new = parse(
            "abi=arm\nos=android\nkernel=Linux\nkernel_release=6.1\nmachine=aarch64\npage_size=16384\nsdk=35\n\
             fingerprint=a/b/c:15\nparent_pid=812\nkernel_version=\n",
        );
        assert_eq!((new.abi.as_deref(), new.machine.as_deref()), (Some("arm"), Some("aarch64")));
        assert_eq!((new.page_size, new.sdk, new.parent_pid), (Some(16384), Some(35), Some(812)));
        assert_eq!(new.version, None);
        assert_eq!(new.facts().count(), 7);
        let app = parse("parent_pid=7\nsdk=0\napp_version=1.2 beta\napp_version_code=12\n");
        assert_eq!((app.app_version.as_deref(), app.app_version_code), (Some("1.2 beta"), Some(12)));
        assert!(!app.is_known());
    }
}
