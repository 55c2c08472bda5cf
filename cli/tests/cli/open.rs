//! `open`: what it serves, to whom, and when it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use test_support::program::{command, run};
use test_support::temp_dir::TempDir;

/// A port that is free, below those that the system gives out by itself.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let ports = std::iter::repeat_with(|| {
        let n = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        10_000 + (std::process::id().wrapping_mul(31).wrapping_add(n * 97) % 9_000) as u16
    });
    ports.take(1_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// The program while it waits for the page, and the address that it printed.
fn waiting(arguments: &[&str], port: u16) -> (Child, String) {
    let mut child = command()
        .args(["open", "--print-url", "--port", &port.to_string()])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

/// The path that the page fetches, with a slash in front.
fn path(url: &str) -> String {
    let address = url.split("url=").nth(1).unwrap().split('&').next().unwrap();
    let plain = address.replace("%3A", ":").replace("%2F", "/");
    plain.splitn(4, '/').last().map(|path| format!("/{path}")).unwrap()
}

/// Status line and body of the answer to a request with these fields.
fn ask(port: u16, request: &str, fields: &[&str]) -> (String, String, Vec<u8>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\n{}\r\n\r\n", fields.join("\r\n")).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let (status, fields) = head.split_once("\r\n").unwrap();
    (status.to_owned(), fields.to_owned(), answer[end + 4..].to_vec())
}

#[test]
fn the_page_fetches_the_trace_and_the_program_ends() {
    let directory = TempDir::new();
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n * 7) as u8).collect();
    let trace = directory.file("my trace.pftrace", &bytes);
    let port = port();
    let (child, url) = waiting(&[&trace], port);
    assert!(url.starts_with("https://ui.perfetto.dev/#!/?url=http%3A%2F%2F127.0.0.1%3A"), "{url}");
    assert!(url.contains("PinTracksByRegex") && url.contains("my_trace.pftrace"), "{url}");
    let host = format!("Host: 127.0.0.1:{port}");
    let origin = "Origin: https://ui.perfetto.dev";
    let path = path(&url);
    assert!(
        path.len() == 1 + 32 + "/my_trace.pftrace".len() && path.ends_with("/my_trace.pftrace"),
        "{path}"
    );

    // Other clients get nothing and do not end it.
    let (status, fields, _) = ask(port, &format!("GET {path}"), &[&host, "Origin: https://evil.example"]);
    assert!(status.contains("403") && !fields.contains("Allow-Origin"), "{status} {fields}");
    let (status, ..) = ask(port, &format!("GET {path}"), &["Host: rebound.example", origin]);
    assert!(status.contains("421"), "{status}");
    // Another user's program sends no origin, and does not know the address.
    let guess = format!("GET /{:032x}/my_trace.pftrace", 0);
    for request in ["GET /etc/passwd", "GET /my_trace.pftrace", &guess] {
        let (status, ..) = ask(port, request, &[&host]);
        assert!(status.contains("404"), "{request}: {status}");
    }
    let (status, fields, _) = ask(port, &format!("OPTIONS {path}"), &[&host, origin]);
    assert!(
        status.contains("204") && fields.contains("Access-Control-Allow-Private-Network: true"),
        "{fields}"
    );

    let (status, fields, body) = ask(port, &format!("GET {path}"), &[&host, origin]);
    assert!(status.contains("200"), "{status}");
    assert!(fields.contains("Access-Control-Allow-Origin: https://ui.perfetto.dev\r\n"), "{fields}");
    assert!(body == bytes, "{} bytes", body.len());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_recording_is_exported_and_shown_at_its_anr() {
    let directory = TempDir::new();
    let mut builder = trace_format::synth::RecordingBuilder::new(4242, "com.example.shop");
    builder = builder
        .main("main", |t| {
            t.enter(1_000_000_000, 1);
        })
        .service(|t| {
            let stall = trace_format::event::Stall { stuck_since: 2_000_000_000 };
            t.event(7_000_000_000, trace_format::Event::Stall(stall));
        });
    let recording = directory.file("app.anrscope", builder.build());
    let port = port();
    let (child, url) = waiting(&[&recording, "--anr"], port);
    assert!(
        url.contains(
            "&visStart=1000000000&visEnd=7000000000&ts=2000000000&dur=5000000000&com.android.AndroidAnr&"
        ),
        "{url}"
    );
    let host = format!("Host: localhost:{port}");
    let (status, _, body) = ask(port, &format!("GET {}", path(&url)), &[&host]);
    assert!(status.contains("200") && body.len() > 100, "{status}");
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(directory.listing().len(), 1, "nothing is left beside the recording");
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_in_use_is_reported_with_its_owner() {
    let directory = TempDir::new();
    let trace = directory.file("a.pftrace", b"x");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let pid = format!("pid {}", std::process::id());
    run(["open", &trace, "--print-url", "--port", &port]).failed(1, &["is in use by", &pid, "end it"]);
}

#[test]
fn a_timeout_and_a_missing_file_are_errors() {
    let directory = TempDir::new();
    let trace = directory.file("a.pftrace", b"x");
    let (child, _) = waiting(&[&trace, "--wait", "1"], port());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the page did not fetch"), "{output:?}");
    let port = port().to_string();
    run(["open", &directory.name("no.pftrace"), "--port", &port])
        .failed(1, &["no.pftrace", "name an existing trace"]);
}

/// Browsers open connections before they know what for.
#[test]
fn silent_and_slow_connections_do_not_stop_the_page() {
    let directory = TempDir::new();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n * 7) as u8).collect();
    let trace = directory.file("a.pftrace", &bytes);
    let port = port();
    let (child, url) = waiting(&[&trace], port);
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let path = path(&url);
    let host = format!("Host: 127.0.0.1:{port}");
    // More than are served at a time: those that came first are let go.
    let idle: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
    let mut slow = connect();
    write!(slow, "GET {path} HTTP/1.1\r\nHost: ").unwrap();
    // One that has asked for the file and does not take it.
    let mut deaf = connect();
    write!(deaf, "GET {path} HTTP/1.1\r\n{host}\r\n\r\n").unwrap();
    let (status, _, body) = ask(port, &format!("GET {path}"), &[&host]);
    assert!(status.contains("200") && body == bytes, "{status}, {} bytes", body.len());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    drop((idle, slow, deaf));
}

/// The bytes go on coming until the program ends, so this test ends only if they do not keep it.
#[test]
fn a_request_that_arrives_byte_by_byte_does_not_keep_the_program_running() {
    let directory = TempDir::new();
    let trace = directory.file("a.pftrace", b"x");
    let port = port();
    let (mut child, _) = waiting(&[&trace, "--wait", "1"], port);
    let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let status = loop {
        let _ = slow.write_all(b"x");
        std::thread::sleep(std::time::Duration::from_millis(50));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(1));
}
