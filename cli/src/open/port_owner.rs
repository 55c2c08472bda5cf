//! Finds the process that listens on a port of this machine.

/// A command that finds it where this program cannot.
pub(super) const COMMAND: &str = if cfg!(windows) { "netstat -ano" } else { "lsof -i :9001" };

/// Pid and name of the process that listens on `port`, if this user may see it.
#[cfg(target_os = "linux")]
pub(super) fn of(port: u16) -> Option<(u32, String)> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let inode = tables.iter().find_map(|table| listener_in(table, port))?;
    let wanted = format!("socket:[{inode}]");
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let files = std::fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        for file in files {
            if std::fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str()) {
                let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                return Some((pid, name.trim().to_owned()));
            }
        }
    }
    None
}

/// The inode of the socket that listens on `port`, from the kernel's table.
#[cfg(target_os = "linux")]
fn listener_in(table: &str, port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let at = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        // Queues, timer, retransmits, uid, timeout precede the inode.
        (at == port && state == LISTEN).then(|| fields.nth(5)?.parse().ok())?
    })
}

/// Without /proc: unknown.
#[cfg(not(target_os = "linux"))]
pub(super) fn of(_: u16) -> Option<(u32, String)> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn this_process_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(super::of(port).map(|(pid, _)| pid), Some(std::process::id()));
        assert_eq!(super::listener_in("head\n garbage\n 1: x y 0A\n", 1), None);
    }
}
