//! What a recording says of its process and the system, so that a reader need not ask for it.

#[cfg(target_os = "android")]
use std::ffi::CStr;

/// The lines of the section: `key=value` each.
pub(crate) fn lines(process_name: &str) -> String {
    let mut text = format!(
        "name={}\nabi={}\nos={}\nversion={}\n",
        one_line(process_name),
        std::env::consts::ARCH,
        std::env::consts::OS,
        env!("CARGO_PKG_VERSION"),
    );
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("{key}={}\n", one_line(value)));
        }
    };
    for (key, value) in uname() {
        line(key, &value);
    }
    line("page_size", &page_size().to_string());
    line("parent_pid", &nix::unistd::getppid().to_string());
    #[cfg(target_os = "android")]
    for (key, property) in [("sdk", c"ro.build.version.sdk"), ("fingerprint", c"ro.build.fingerprint")] {
        line(key, &property_of(property));
    }
    text
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// The kernel's own words for itself; nothing if it has none.
fn uname() -> Vec<(&'static str, String)> {
    let mut name = std::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the call writes into the structure that it is given, and all zeros are a value of it (arrays of bytes).
    let name = unsafe {
        if libc::uname(name.as_mut_ptr()) != 0 {
            return Vec::new();
        }
        name.assume_init()
    };
    let fields = [
        ("kernel", &name.sysname[..]),
        ("kernel_release", &name.release[..]),
        ("kernel_version", &name.version[..]),
        ("machine", &name.machine[..]),
    ];
    fields.map(|(key, field)| (key, text(field))).into()
}

/// A text that ends with the first zero, or with its field.
fn text(field: &[libc::c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Bytes of a page; it comes with the program's start and reads no file.
fn page_size() -> u64 {
    // SAFETY: a question without arguments in memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(0)
}

/// A property of the system, which is read out of shared memory; empty if there is none.
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
    use trace_format::section::key_values;

    #[test]
    fn the_system_is_told_in_its_own_words() {
        let lines = lines("com.example\nx");
        let value = |key| key_values(&lines).find(|(k, _)| *k == key).map(|(_, value)| value.to_owned());
        assert_eq!(value("name").as_deref(), Some("com.example x"));
        let told = |file: &str| std::fs::read_to_string(file).unwrap().trim().to_owned();
        assert_eq!(value("kernel"), Some(told("/proc/sys/kernel/ostype")));
        assert_eq!(value("kernel_release"), Some(told("/proc/sys/kernel/osrelease")));
        assert_eq!(value("kernel_version"), Some(told("/proc/sys/kernel/version")));
        assert_eq!(value("parent_pid"), Some(std::os::unix::process::parent_id().to_string()));
        let page: u64 = value("page_size").unwrap().parse().unwrap();
        assert!(page.is_power_of_two() && page >= 4096, "{page}");
    }
}
