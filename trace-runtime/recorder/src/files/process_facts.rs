//! A recording's facts of its process and the system.

#[cfg(target_os = "android")]
use std::ffi::CStr;

use trace_format::section::SectionKind;
use trace_format::sections::process::Process;

use crate::files::worker;

/// The section's payload.
pub(crate) fn section(process_name: &str) -> Vec<u8> {
    let known = |text: &str| Some(text.to_owned());
    #[cfg(target_os = "android")]
    let (sdk, fingerprint) =
        (property_of(c"ro.build.version.sdk").parse().ok(), Some(property_of(c"ro.build.fingerprint")));
    #[cfg(not(target_os = "android"))]
    let (sdk, fingerprint) = (None, None);
    let [kernel, kernel_release, kernel_version, machine] = uname();
    let process = Process {
        name: known(process_name),
        abi: known(std::env::consts::ARCH),
        os: known(std::env::consts::OS),
        version: known(env!("CARGO_PKG_VERSION")),
        kernel,
        kernel_release,
        kernel_version,
        machine,
        page_size: Some(page_size()),
        parent_pid: u32::try_from(nix::unistd::getppid().as_raw()).ok(),
        sdk,
        fingerprint,
        app_version: None,
        app_version_code: None,
    };
    process.encode()
}

/// Records the app's version, in a section of its own: the package manager is another process, and is asked
/// on a thread that may wait for it. Nothing if it did not answer.
pub fn app(version: Option<String>, code: i64) {
    let code = u32::try_from(code).ok().filter(|code| *code > 0);
    let section = Process { app_version: version, app_version_code: code, ..Process::default() }.encode();
    if !section.is_empty() {
        worker::append(SectionKind::Process, section);
    }
}

/// The kernel's name, release and version, and the machine, as the kernel reports them.
fn uname() -> [Option<String>; 4] {
    let mut name = std::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the call writes into the structure that it is given, and all zeros are a value of it (arrays of bytes).
    let name = unsafe {
        if libc::uname(name.as_mut_ptr()) != 0 {
            return [const { None }; 4];
        }
        name.assume_init()
    };
    [&name.sysname[..], &name.release[..], &name.version[..], &name.machine[..]]
        .map(|field| Some(text(field)))
}

/// The text up to the first zero, or to the end of its field.
fn text(field: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The size of a page, in bytes; it comes with the program's start and reads no file.
fn page_size() -> u32 {
    // SAFETY: a question without arguments in memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u32::try_from(size).unwrap_or(0)
}

/// A property of the system, which is read out of shared memory; empty if it is not set.
#[cfg(target_os = "android")]
fn property_of(name: &CStr) -> String {
    /// PROP_VALUE_MAX of bionic's sys/system_properties.h.
    const LONGEST: usize = 92;
    let mut value = [0 as libc::c_char; LONGEST];
    // SAFETY: the name ends with a zero, and the value has the room that the call may fill.
    unsafe { libc::__system_property_get(name.as_ptr(), value.as_mut_ptr()) };
    text(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_named_in_its_own_words() {
        let read = Process::parse(&section("com.example\nx")).unwrap();
        assert_eq!(read.name.as_deref(), Some("com.example x"));
        let own = |file: &str| Some(std::fs::read_to_string(file).unwrap().trim().to_owned());
        assert_eq!(read.kernel, own("/proc/sys/kernel/ostype"));
        assert_eq!(read.kernel_release, own("/proc/sys/kernel/osrelease"));
        assert_eq!(read.kernel_version, own("/proc/sys/kernel/version"));
        assert_eq!(read.parent_pid, Some(std::os::unix::process::parent_id()));
        let page = read.page_size.unwrap();
        assert!(page.is_power_of_two() && page >= 4096, "{page}");
    }
}
