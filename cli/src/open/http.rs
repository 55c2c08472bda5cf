//! An HTTP server for one file and one page.
//!
//! Every client has its own thread: a browser opens connections that it may never use, and a silent one must not delay the page's
//! request.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use exporter::FileSource;
use trace_format::Source as _;

/// The only page that may read the file.
const PAGE: &str = "https://ui.perfetto.dev";
/// Maximum size of a request's head, bytes.
const LONGEST_HEAD: u64 = 16 << 10;
/// Time limit for a request's head.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// A client that takes no byte of its answer for this long is disconnected.
const SILENCE: Duration = Duration::from_secs(20);
/// Minimum a client must take in each [`SILENCE`] after the deadline, bytes.
const LEAST: u64 = 1 << 20;
/// Maximum number of waiting clients. One more disconnects the first.
const CLIENTS: usize = 32;

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// The file, or only its headers.
    File { body: bool },
    /// The answer to a browser's preflight request, before it lets a page on the net fetch from this machine.
    Preflight,
    /// A rejection, with status and text.
    No(&'static str, &'static str),
}

/// State shared by all clients.
struct Served {
    name: String,
    port: u16,
    file: FileSource,
    /// The deadline for a request.
    end: Instant,
    /// Whether the whole file was sent.
    done: AtomicBool,
    /// How many clients are receiving the file.
    sending: AtomicUsize,
}

/// Serves `file` as `/name` until it was fetched once; returns whether it was. A transfer that began before `end` may take longer, as
/// long as the client keeps reading.
///
/// # Errors
/// If the listener fails.
pub(super) fn serve(listener: &TcpListener, name: &str, file: FileSource, end: Instant) -> io::Result<bool> {
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let (done, sending) = (AtomicBool::new(false), AtomicUsize::new(0));
    let served = Arc::new(Served { name: name.to_owned(), port, file, end, done, sending });
    let waiting = Waiting::default();
    while !served.done.load(Ordering::Acquire) {
        // A client counts as receiving before its answer begins, so it is included here.
        if Instant::now() >= end && served.sending.load(Ordering::Acquire) == 0 {
            return Ok(served.done.load(Ordering::Acquire));
        }
        match listener.accept() {
            Ok((stream, _)) => {
                let served = Arc::clone(&served);
                let place = waiting.enter(&stream);
                // Without a thread the client is disconnected: the page tries again.
                let _ = std::thread::Builder::new().name("client".into()).spawn(move || {
                    // An aborted transfer does not end the server.
                    let _ = one(&stream, &served, place);
                });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The clients whose requests have not arrived yet, in order of arrival.
#[derive(Default)]
struct Waiting(Arc<Mutex<Vec<(u64, TcpStream)>>>);

/// A client's entry among them, until it is dropped.
struct Place {
    all: Arc<Mutex<Vec<(u64, TcpStream)>>>,
    number: u64,
}

impl Waiting {
    /// Adds a client. If there are too many, the first one is disconnected.
    fn enter(&self, stream: &TcpStream) -> Place {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= CLIENTS {
            let (_, first) = all.remove(0);
            let _ = first.shutdown(Shutdown::Both);
        }
        let number = all.last().map_or(0, |(number, _)| number + 1);
        if let Ok(stream) = stream.try_clone() {
            all.push((number, stream));
        }
        Place { all: Arc::clone(&self.0), number }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).retain(|(number, _)| *number != self.number);
    }
}

/// A stream whose reads wait until a deadline at most.
struct Until<'s> {
    stream: &'s TcpStream,
    end: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

/// Answers one request.
fn one(stream: &TcpStream, served: &Served, place: Place) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(SILENCE))?;
    let end = served.end.min(Instant::now() + HEAD_TIME);
    let head = read_head(BufReader::new(Until { stream, end }))?;
    drop(place);
    let mut out = stream;
    let allowed =
        format!("Access-Control-Allow-Origin: {PAGE}\r\nVary: Origin\r\nCache-Control: no-cache\r\n");
    match judge(&head, &served.name, served.port) {
        Answer::File { body } => {
            let head = format!(
                "HTTP/1.1 200 OK\r\n{allowed}Content-Type: application/octet-stream\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n",
                served.file.len()
            );
            if !body {
                return out.write_all(head.as_bytes());
            }
            served.sending.fetch_add(1, Ordering::AcqRel);
            let sent = send(stream, &head, served);
            if matches!(sent, Ok(true)) {
                served.done.store(true, Ordering::Release);
            }
            served.sending.fetch_sub(1, Ordering::AcqRel);
            sent.map(|_| ())
        }
        Answer::Preflight => {
            write!(
                out,
                "HTTP/1.1 204 No Content\r\n{allowed}Access-Control-Allow-Methods: GET, HEAD\r\n\
                 Access-Control-Allow-Private-Network: true\r\nAccess-Control-Allow-Local-Network: true\r\n\
                 Connection: close\r\n\r\n"
            )
        }
        Answer::No(status, why) => {
            write!(
                out,
                "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}",
                why.len()
            )
        }
    }
}

/// Sends the file after this head; returns whether all of it was sent.
fn send(mut stream: &TcpStream, head: &str, served: &Served) -> io::Result<bool> {
    stream.write_all(head.as_bytes())?;
    let (mut at, mut piece) = (0, vec![0; 64 << 10]);
    let (mut since, mut before) = (Instant::now(), 0);
    loop {
        let left = usize::try_from(served.file.len() - at).unwrap_or(usize::MAX).min(piece.len());
        let n = served.file.read_at(at, &mut piece[..left])?;
        if n == 0 {
            break;
        }
        stream.write_all(&piece[..n])?;
        at += n as u64;
        if since.elapsed() >= SILENCE {
            // A client that reads a byte now and then would keep the program running forever.
            if Instant::now() >= served.end && at - before < LEAST {
                return Err(io::ErrorKind::TimedOut.into());
            }
            (since, before) = (Instant::now(), at);
        }
    }
    // Wait until the client has read everything and closed: closing first may cost it the last bytes.
    stream.shutdown(Shutdown::Write)?;
    let end = Instant::now() + SILENCE;
    let _ = io::copy(&mut Until { stream, end }.take(1 << 20), &mut io::sink());
    Ok(at == served.file.len())
}

/// Reads the request's lines up to the empty one.
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

/// Chooses the answer. A request is accepted if its host is this server (another name that resolves here is an attack) and its origin
/// is the page. Without an origin it comes from a program on this machine, or from a page that cannot read the answer: the secret in
/// the path protects the file from both.
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
    fn the_page_gets_the_file_from_this_host_only() {
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
        fn any_bytes_are_answered_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(head) = read_head(bytes.as_slice()) {
                prop_assert!(matches!(judge(&head, "a.pftrace", 9001), Answer::No(..)));
            }
        }
    }
}
