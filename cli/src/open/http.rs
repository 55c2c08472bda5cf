//! A server for one file and one page.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The page that may have the file.
const PAGE: &str = "https://ui.perfetto.dev";
/// The longest head of a request that is read, bytes.
const LONGEST_HEAD: u64 = 16 << 10;
/// How long a client may say nothing.
const SILENCE: Duration = Duration::from_secs(20);

/// What is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// The file, or only its head.
    File { body: bool },
    /// What a browser asks before it lets a page on the net fetch from this machine.
    Preflight,
    /// No, and why.
    No(&'static str, &'static str),
}

/// Gives `file` out as `/name` until it was fetched once; says whether it was, before `end`.
///
/// # Errors
/// If the listener fails.
pub(super) fn serve(
    listener: &TcpListener,
    name: &str,
    file: &File,
    length: u64,
    end: Instant,
) -> io::Result<bool> {
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    while Instant::now() < end {
        match listener.accept() {
            // A client that breaks off is no end: the page tries again.
            Ok((stream, _)) => {
                if one(&stream, name, port, file, length).unwrap_or(false) {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Answers one request; says whether the whole file went out.
fn one(stream: &TcpStream, name: &str, port: u16, mut file: &File, length: u64) -> io::Result<bool> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let head = read_head(BufReader::new(stream))?;
    let answer = judge(&head, name, port);
    let mut out = stream;
    let allowed =
        format!("Access-Control-Allow-Origin: {PAGE}\r\nVary: Origin\r\nCache-Control: no-cache\r\n");
    match answer {
        Answer::File { body } => {
            write!(
                out,
                "HTTP/1.1 200 OK\r\n{allowed}Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n"
            )?;
            if !body {
                return Ok(false);
            }
            file.seek(SeekFrom::Start(0))?;
            let sent = io::copy(&mut file.take(length), &mut out)?;
            out.flush()?;
            // Until the client has taken it all and closed: an early end of ours may cost it the last bytes.
            stream.shutdown(std::net::Shutdown::Write)?;
            let _ = io::copy(&mut stream.take(1 << 20), &mut io::sink());
            Ok(sent == length)
        }
        Answer::Preflight => {
            write!(
                out,
                "HTTP/1.1 204 No Content\r\n{allowed}Access-Control-Allow-Methods: GET, HEAD\r\n\
                 Access-Control-Allow-Private-Network: true\r\nAccess-Control-Allow-Local-Network: true\r\n\
                 Connection: close\r\n\r\n"
            )?;
            Ok(false)
        }
        Answer::No(status, why) => {
            write!(
                out,
                "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}",
                why.len()
            )?;
            Ok(false)
        }
    }
}

/// The request's lines up to the empty one.
fn read_head(from: impl BufRead) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for line in from.take(LONGEST_HEAD).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
        if line.is_empty() {
            return Ok(lines);
        }
        lines.push(line);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// A request is for us if it was sent to our own name (another one that leads here is somebody's trick), and comes from
/// the page. Without an origin it is no page at all, but a program of this machine.
fn judge(head: &[String], name: &str, port: u16) -> Answer {
    let mut words = head.first().map_or("", String::as_str).split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let field = |wanted: &str| {
        let mut values = head.iter().skip(1).filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(wanted).then_some(value.trim())
        });
        (values.next(), values.next().is_some())
    };
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    match field("host") {
        (Some(host), false) if ours.iter().any(|our| our == host) => {}
        _ => return Answer::No("421 Misdirected Request", "not under that name\n"),
    }
    match field("origin") {
        (None, _) | (Some(PAGE), false) => {}
        _ => return Answer::No("403 Forbidden", "not for that page\n"),
    }
    let known = path.split('?').next().and_then(|path| path.strip_prefix('/')) == Some(name);
    match (method, known) {
        ("GET", true) => Answer::File { body: true },
        ("HEAD", true) => Answer::File { body: false },
        ("OPTIONS", true) => Answer::Preflight,
        ("GET" | "HEAD" | "OPTIONS", false) => Answer::No("404 Not Found", "no such file\n"),
        _ => Answer::No("405 Method Not Allowed", "only GET\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(request: &str) -> Answer {
        let head = read_head(request.as_bytes()).unwrap();
        judge(&head, "a.pftrace", 9001)
    }

    fn refused(request: &str) -> &'static str {
        let Answer::No(status, _) = answer(request) else { panic!("{request} was not refused") };
        &status[..3]
    }

    #[test]
    fn the_page_gets_the_file_under_our_own_name_only() {
        let get = "GET /a.pftrace HTTP/1.1\r\n";
        assert_eq!(
            answer(&format!("{get}Host: 127.0.0.1:9001\r\nOrigin: {PAGE}\r\n\r\n")),
            Answer::File { body: true }
        );
        assert_eq!(answer(&format!("{get}host: localhost:9001\r\n\r\n")), Answer::File { body: true });
        for host in ["evil.example:9001", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:9001.evil.example", ""] {
            assert_eq!(refused(&format!("{get}Host: {host}\r\n\r\n")), "421", "{host}");
        }
        assert_eq!(refused(&format!("{get}\r\n")), "421");
        assert_eq!(refused(&format!("{get}Host: 127.0.0.1:9001\r\nHost: evil.example\r\n\r\n")), "421");
        for origin in [
            "https://evil.example",
            "null",
            "http://ui.perfetto.dev",
            "https://ui.perfetto.dev.evil.example",
            "",
        ] {
            assert_eq!(
                refused(&format!("{get}Host: 127.0.0.1:9001\r\nOrigin: {origin}\r\n\r\n")),
                "403",
                "{origin}"
            );
        }
    }

    #[test]
    fn other_files_and_methods_are_refused() {
        let rest = "HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n\r\n";
        assert_eq!(answer(&format!("HEAD /a.pftrace {rest}")), Answer::File { body: false });
        assert_eq!(answer(&format!("OPTIONS /a.pftrace {rest}")), Answer::Preflight);
        assert_eq!(answer(&format!("GET /a.pftrace?x=1 {rest}")), Answer::File { body: true });
        for path in ["/", "/b", "/../a.pftrace", "//a.pftrace", "/a.pftrace/", "a.pftrace"] {
            assert_eq!(refused(&format!("GET {path} {rest}")), "404", "{path}");
        }
        assert_eq!(refused(&format!("POST /a.pftrace {rest}")), "405");
    }

    #[test]
    fn a_head_without_end_is_cut() {
        assert!(read_head(BufReader::new(io::repeat(b'x'))).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(head) = read_head(bytes.as_slice()) {
                prop_assert!(matches!(judge(&head, "a.pftrace", 9001), Answer::No(..)));
            }
        }
    }
}
