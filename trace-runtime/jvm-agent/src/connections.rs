//! Asks the kernel where the connections of a process end: `/proc/PID/net/tcp` has the addresses of both ends of each
//! connection and the inode of its socket, and `/proc/PID/fd` the inodes of the process (man 5 proc).

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The line of a dump of a process for which [`end_in`] is true, before the threads.
pub const LINE: &str = "All connections of this process end in it.\n";

/// A process with more open files is not asked: it talks to others, too, and the answer would take long.
const MOST_FILES: usize = 512;

/// True if a process has connections, and each of them ends in it: who waits for an answer waits for another of its threads.
/// The process is given by its directory, such as `/proc/self`; false if that cannot be read.
#[must_use]
pub fn end_in(process: &Path) -> bool {
    let own = sockets(process);
    let tables = ["net/tcp", "net/tcp6"];
    let tables = tables.map(|table| fs::read_to_string(process.join(table)).unwrap_or_default());
    !own.is_empty() && all_end_in(&own, &tables)
}

/// The inodes of the sockets of a process; none if it has too many files.
fn sockets(process: &Path) -> HashSet<String> {
    let files: Vec<_> =
        fs::read_dir(process.join("fd")).into_iter().flatten().flatten().take(MOST_FILES).collect();
    if files.len() == MOST_FILES {
        return HashSet::new();
    }
    let targets = files.iter().filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |target: &str| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    targets.filter_map(|target| inode(&target.to_string_lossy())).collect()
}

/// True if one of these sockets is connected, and the other end of each that is has an address of them.
fn all_end_in(own: &HashSet<String>, tables: &[String]) -> bool {
    let lines = tables.iter().flat_map(|table| table.lines());
    let own: Vec<Socket<'_>> =
        lines.filter_map(Socket::parse).filter(|socket| own.contains(socket.inode)).collect();
    let is_own = |end: End<'_>| {
        own.iter().any(|socket| socket.local == end || socket.listens && socket.local.port == end.port)
    };
    let mut connected = own.iter().filter(|socket| socket.is_connected).peekable();
    // A connection that nobody has accepted yet belongs to the socket that listens; it may listen at all addresses.
    connected.peek().is_some()
        && connected.all(|socket| socket.remote.ip == socket.local.ip && is_own(socket.remote))
}

/// An address with its port, in hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct End<'a> {
    /// Of an address of IPv6 the last quarter, which is the address of IPv4 if it stands for one.
    ip: &'a str,
    port: &'a str,
}

impl<'a> End<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (ip, port) = text.split_once(':')?;
        Some(Self { ip: ip.get(ip.len().checked_sub(8)?..)?, port })
    }
}

/// A row of the kernel's table.
struct Socket<'a> {
    local: End<'a>,
    remote: End<'a>,
    is_connected: bool,
    listens: bool,
    inode: &'a str,
}

impl<'a> Socket<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote) = (End::parse(words.next()?)?, End::parse(words.next()?)?);
        let state = words.next()?;
        let inode = words.nth(5)?;
        // `TCP_ESTABLISHED` and `TCP_LISTEN` (Linux, `include/net/tcp_states.h`).
        Some(Self { local, remote, is_connected: state == "01", listens: state == "0A", inode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// A table of sockets: local and remote port, state and inode; all are at 127.0.0.1, except a remote port of 5000.
    fn table(sockets: &[(u16, u16, &str, u32)]) -> [String; 2] {
        let rows = sockets.iter().map(|(local, remote, state, inode)| {
            let ip = if *remote == 5000 { "0500000A" } else { "0100007F" };
            format!("   0: 0100007F:{local:04X} {ip}:{remote:04X} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0\n")
        });
        ["  sl  local_address rem_address   st ...\n".to_owned() + &rows.collect::<String>(), String::new()]
    }

    #[test]
    fn connections_end_here_if_both_ends_are_own_sockets() {
        let own = HashSet::from(["7", "8", "9"].map(str::to_owned));
        let listens = (80, 0, "0A", 7);
        let ends = |more: &[(u16, u16, &str, u32)]| all_end_in(&own, &table(&[&[listens], more].concat()));
        assert!(ends(&[(4000, 80, "01", 8), (80, 4000, "01", 9)]));
        assert!(ends(&[(4000, 80, "01", 8)]), "not accepted yet");
        assert!(!ends(&[]), "no connection");
        assert!(!ends(&[(4000, 80, "01", 8), (4001, 5000, "01", 9)]), "one goes elsewhere");
        assert!(!ends(&[(80, 4000, "01", 8)]), "the client is another process");
        assert!(!ends(&[(4000, 80, "01", 1)]), "it is another process's");
    }

    #[test]
    fn addresses_of_both_protocols_are_told() {
        let end = |text| End::parse(text).map(|end| (end.ip, end.port));
        assert_eq!(end("0100007F:0050"), Some(("0100007F", "0050")));
        assert_eq!(end("0000000000000000FFFF00000100007F:0050"), Some(("0100007F", "0050")));
        assert_eq!((end("7F:0050"), end("")), (None, None));
    }

    #[test]
    fn own_sockets_are_in_the_tables_of_the_kernel() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let tables = [fs::read_to_string("/proc/self/net/tcp").unwrap()];
        let port = format!("{:04X}", client.local_addr().unwrap().port());
        let socket =
            tables[0].lines().filter_map(Socket::parse).find(|socket| socket.local.port == port).unwrap();
        assert!(socket.is_connected && sockets(Path::new("/proc/self")).contains(socket.inode));
    }
}
