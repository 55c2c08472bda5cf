//! The app's version and the system on which the recording was made, as the section of the process has them.

use answers::text::clean;
use trace_format::sections::process::Process;

/// Returns the system and the app's version, with clean texts.
pub(crate) fn system(process: &Process) -> Process {
    let words = |text: &Option<String>| text.as_deref().map(|text| clean(text).into_owned());
    Process {
        name: None,
        os: None,
        version: None,
        kernel: words(&process.kernel),
        kernel_release: words(&process.kernel_release),
        kernel_version: words(&process.kernel_version),
        machine: words(&process.machine),
        abi: words(&process.abi),
        fingerprint: words(&process.fingerprint),
        app_version: words(&process.app_version),
        ..process.clone()
    }
}

/// Whether anything about the system itself is known.
pub(crate) fn is_known(system: &Process) -> bool {
    let of_the_process = Process {
        parent_pid: system.parent_pid,
        app_version: system.app_version.clone(),
        app_version_code: system.app_version_code,
        ..Process::default()
    };
    *system != of_the_process
}

/// All known facts by name, for a trace's metadata.
pub(crate) fn known(system: &Process) -> impl Iterator<Item = (&'static str, String)> {
    let texts = [
        ("kernel", &system.kernel),
        ("kernel_release", &system.kernel_release),
        ("kernel_version", &system.kernel_version),
        ("machine", &system.machine),
        ("abi", &system.abi),
        ("fingerprint", &system.fingerprint),
        ("app_version", &system.app_version),
    ];
    let numbers =
        [("sdk", system.sdk), ("page_size", system.page_size), ("app_version_code", system.app_version_code)];
    let texts = texts.map(|(key, text)| Some((key, text.clone()?)));
    let numbers = numbers.map(|(key, number)| Some((key, number?.to_string())));
    texts.into_iter().chain(numbers).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Process {
        system(&Process::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_recorded_system_is_known_and_an_app_version_alone_is_not() {
        let new = parse(
            "abi=arm\nos=android\nkernel=Linux\nkernel_release=6.1\nmachine=aarch64\npage_size=16384\nsdk=35\n\
             fingerprint=a/b/c:15\nparent_pid=812\nkernel_version=\n",
        );
        assert_eq!((new.abi.as_deref(), new.machine.as_deref()), (Some("arm"), Some("aarch64")));
        assert_eq!((new.page_size, new.sdk, new.parent_pid), (Some(16384), Some(35), Some(812)));
        assert_eq!(new.kernel_version, None);
        assert_eq!(known(&new).count(), 7);
        let app = parse("parent_pid=7\nsdk=0\napp_version=1.2 beta\napp_version_code=12\n");
        assert_eq!((app.app_version.as_deref(), app.app_version_code), (Some("1.2 beta"), Some(12)));
        assert!(!is_known(&app));
    }
}
